//! Topics as a table, and the curve of their training.

use std::fmt::Write as _;

use crate::cli::figures;
use crate::cli::pictures::{curve, table};
use crate::job::TopicSummary;
use crate::tables::read::{CurvePoint, TopicLine};

/// Terms of a topic, where they fit.
pub(in crate::cli) const MOST_TERMS: usize = 20;
/// Columns before the terms: topic, share, coherence, and the space between them.
const BEFORE_TERMS: usize = 30;

/// A topic of the tables, as a run summarizes it.
pub(in crate::cli) fn summary_of(line: &TopicLine) -> TopicSummary {
    TopicSummary {
        topic: u32::try_from(line.topic).unwrap_or_default(),
        label: line.label.as_ref().map(|line| line.label.clone()),
        share: line.share,
        coherence: line.coherence_npmi,
        dead: line.dead,
        duplicate_of: line
            .duplicate_of
            .and_then(|topic| u32::try_from(topic).ok()),
        junk: line.junk,
        top_terms: line.top_terms.clone(),
    }
}

/// The `most` largest topics with up to `most_terms` of their terms each, `width` characters wide.
pub(in crate::cli) fn topic_table(
    topics: &[TopicSummary],
    most: usize,
    most_terms: usize,
    width: usize,
) -> String {
    let mut sorted: Vec<&TopicSummary> = topics.iter().collect();
    sorted.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.topic.cmp(&b.topic)));
    let mut table = table(">topic|>share|>coherence|top terms");
    for topic in sorted.iter().take(most) {
        let name = topic.label.iter().map(|label| format!("{label}:"));
        let words: Vec<String> = name.chain(topic.top_terms.iter().cloned()).collect();
        table.add_row([
            topic.topic.to_string(),
            format!("{:.1} %", 100.0 * topic.share),
            topic
                .coherence
                .map_or_else(String::new, |c| format!("{c:.3}")),
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
        // Writing to a string cannot fail.
        let _ = writeln!(text, "… and {more} more, in the table `topics`");
    }
    text
}

/// As many words as fit, whole ones, at least one and at most `most`.
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

/// The held-out likelihood during training, as a curve with its ends; `None` for fewer than two
/// evaluations.
pub(in crate::cli) fn held_out_curve(points: &[CurvePoint]) -> Option<String> {
    let [first, .., last] = points else {
        return None;
    };
    let figure = |point: &CurvePoint| point.heldout_loglik_per_token.unwrap_or_default();
    let values: Vec<f64> = points.iter().map(figure).collect();
    let (curve, first, rounds) = (curve(&values), figure(first), last.round.unsigned_abs());
    Some(format!(
        "{curve}  {first:.2} to {:.2} nats per token in {} rounds",
        figure(last),
        figures::grouped(rounds.into()),
    ))
}
