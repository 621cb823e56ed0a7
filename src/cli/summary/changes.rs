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
    let moved = moved(change.distance, &change.gained, &change.lost, TERMS);
    format!("{} {moved}", change.topic)
}

/// "by 0.123 (+king -queen)": with the terms that a topic has gained and lost, at most so many of each.
pub(in crate::cli) fn moved(
    distance: f64,
    gained: &[String],
    lost: &[String],
    most: usize,
) -> String {
    let gained = gained.iter().take(most).map(|term| format!("+{term}"));
    let lost = lost.iter().take(most).map(|term| format!("-{term}"));
    let terms: Vec<String> = gained.chain(lost).collect();
    match terms.is_empty() {
        true => format!("by {distance:.3}"),
        false => format!("by {distance:.3} ({})", terms.join(" ")),
    }
}
