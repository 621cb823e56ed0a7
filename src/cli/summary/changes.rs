//! How topics have moved since the result that training started from, in a line.

use crate::cli::figures;
use crate::job::TopicChange;

/// Topics that are named.
const NAMED: usize = 3;
/// Terms that are named of each.
const TERMS: usize = 4;

/// The topics that have moved most, with what they gained and lost; `None` without topics.
pub(super) fn line(changes: &[TopicChange]) -> Option<String> {
    let (named, others) = changes.split_at(NAMED.min(changes.len()));
    let mut parts: Vec<String> = named.iter().map(of_topic).collect();
    if let Some(next) = others.first() {
        let others = figures::counted(others.len() as u64, "other");
        parts.push(format!("{others} by {:.3} at most", next.distance));
    }
    (!parts.is_empty()).then(|| format!("Hellinger distance of topic {}", parts.join("; ")))
}

fn of_topic(change: &TopicChange) -> String {
    let signed = |sign: &str, terms: &[String]| -> Vec<String> {
        let few = terms.iter().take(TERMS);
        few.map(|term| format!("{sign}{term}")).collect()
    };
    let mut terms = signed("+", &change.gained);
    terms.extend(signed("-", &change.lost));
    match terms.is_empty() {
        true => format!("{} by {:.3}", change.topic, change.distance),
        false => format!(
            "{} by {:.3} ({})",
            change.topic,
            change.distance,
            terms.join(" ")
        ),
    }
}
