//! How topics have moved since the result that training started from, in a line.

use crate::cli::figures;
use crate::tables::read::ChangeLine;

/// Maximum number of topics that are named.
const NAMED: usize = 3;
/// Maximum number of terms that each has gained, and lost, that are named.
const TERMS: usize = 4;

/// Returns the topics that have moved most, with what they gained and lost; `None` without topics.
pub(super) fn line(changes: &[ChangeLine]) -> Option<String> {
    let mut sorted: Vec<_> = changes.iter().enumerate().collect();
    sorted.sort_by(|(_, a), (_, b)| b.distance.total_cmp(&a.distance));
    let (named, others) = sorted.split_at(NAMED.min(sorted.len()));
    let of_topic = |(topic, change): &(usize, &ChangeLine)| {
        let moved = moved(change.distance, &change.gained, &change.lost, TERMS);
        format!("{topic} {moved}")
    };
    let mut parts: Vec<String> = named.iter().map(of_topic).collect();
    if let Some((_, next)) = others.first() {
        let others = figures::counted(others.len() as u64, "other");
        parts.push(format!("{others} by {:.3} at most", next.distance));
    }
    (!parts.is_empty()).then(|| format!("Hellinger distance of topic {}", parts.join("; ")))
}

/// Formats a move: "by 0.123 (+king -queen)", with at most `most` of the terms gained, and of those lost.
pub(in crate::cli) fn moved(
    distance: f64,
    gained: &[String],
    lost: &[String],
    most: usize,
) -> String {
    let gained = gained.iter().take(most).map(|term| format!("+{term}"));
    let lost = lost.iter().take(most).map(|term| format!("-{term}"));
    let terms: Vec<String> = gained.chain(lost).collect();
    if terms.is_empty() {
        format!("by {distance:.3}")
    } else {
        format!("by {distance:.3} ({})", terms.join(" "))
    }
}
