//! Topics as a table, and their training as a curve.

use crate::cli::figures;
use crate::cli::pictures::{curve, table};
use crate::tables::topics::TopicLine;
use crate::tables::training_log::CurvePoint;

/// Maximum number of terms of a topic, if they fit.
pub(in crate::cli) const MOST_TERMS: usize = 20;
/// Columns before the terms: topic, share, coherence, and the space between them.
const BEFORE_TERMS: usize = 30;

/// Returns the `most` largest topics with up to `most_terms` terms each, `width` characters wide.
pub(in crate::cli) fn topic_table(
    topics: &[TopicLine],
    most: usize,
    most_terms: usize,
    width: usize,
) -> String {
    let mut sorted: Vec<&TopicLine> = topics.iter().collect();
    sorted.sort_by(|a, b| b.row.share.total_cmp(&a.row.share).then(a.row.topic.cmp(&b.row.topic)));
    let mut table = table(">topic|>share|>coherence|top terms");
    for topic in sorted.iter().take(most) {
        let words = topic.words();
        table.add_row([
            topic.row.topic.to_string(),
            format!("{:.1} %", 100.0 * topic.row.share),
            topic.row.coherence_npmi.map_or_else(String::new, |c| format!("{c:.3}")),
            words_within(
                &words,
                most_terms + usize::from(topic.label.is_some()),
                width.saturating_sub(BEFORE_TERMS),
            ),
        ]);
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    if sorted.len() > most {
        let more = sorted.len() - most;
        text += &format!("… and {more} more, in the table `topics`\n");
    }
    text
}

/// Joins as many whole words as fit, at least one and at most `most`.
pub(in crate::cli) fn words_within(words: &[String], most: usize, width: usize) -> String {
    let mut line = String::new();
    for word in words.iter().take(most) {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            break;
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    line
}

/// Returns the held-out likelihood during training as a curve, with its first and last value; `None` for
/// fewer than two evaluations.
pub(in crate::cli) fn held_out_curve(points: &[CurvePoint]) -> Option<String> {
    let measured = points.iter().filter_map(|point| point.heldout_loglik_per_token);
    let values: Vec<f64> = measured.collect();
    let [first, .., last] = values[..] else {
        return None;
    };
    let rounds = points.last()?.round.unsigned_abs() + 1;
    Some(format!(
        "{}  {first:.2} to {last:.2} nats per token in {} rounds",
        curve(&values),
        figures::grouped(rounds.into()),
    ))
}
