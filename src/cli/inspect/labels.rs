//! The labels of a result: how many documents have each, and how well it is predicted.

use crate::cli::{Failure, figures, pictures, plan};
use crate::report::clip;
use crate::tables::read::{FigureLine, LabelLine, TopicLine};

/// Characters of a label that are shown.
const WIDEST_LABEL: usize = 40;

/// The prefix of the metrics of labels in `evaluation`.
const METRIC: &str = "label_";

/// Returns the `most` largest labels, and the figures of all; empty if topics are not labels.
pub(super) fn text(topics: &[TopicLine], evaluation: &[FigureLine], most: usize) -> String {
    let mut labels: Vec<&LabelLine> = topics.iter().filter_map(|t| t.label.as_ref()).collect();
    if labels.is_empty() {
        return String::new();
    }
    labels.sort_by(|a, b| (b.documents.cmp(&a.documents)).then_with(|| a.label.cmp(&b.label)));
    let mut table = pictures::table("label|>documents|>predicted|>precision|>recall|>F1");
    let count = |count: i64| figures::grouped(count.unsigned_abs());
    let share = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{share:.3}"));
    for line in labels.iter().take(most) {
        table.add_row([
            clip(&line.label, WIDEST_LABEL),
            count(line.documents),
            line.predicted.map_or_else(String::new, count),
            share(line.precision()),
            share(line.recall()),
            share(line.f1),
        ]);
    }
    let mut text = format!("\n{}\n", table.trim_fmt());
    if labels.len() > most {
        let more = figures::grouped((labels.len() - most) as u64);
        text += &format!("… and {more} more, in the table `labels`\n");
    }
    let untrained = topics.iter().filter(|topic| topic.is_untrained()).count();
    let rows = of_all(evaluation, untrained as u64);
    text += &format!("\n{}", plan::rows(&rows));
    text
}

/// Returns the figures over all labels: F1 by its means, and the others.
fn of_all(evaluation: &[FigureLine], untrained: u64) -> Vec<(&'static str, String)> {
    let of_labels = evaluation.iter().filter_map(|line| {
        let name = line.metric.strip_prefix(METRIC)?;
        Some((name, line))
    });
    let (f1, others): (Vec<_>, Vec<_>) = of_labels.partition(|&(name, _)| name == "f1");
    let joined = |all: Vec<String>| all.join(", ");
    let mut rows = Vec::new();
    if !f1.is_empty() {
        let text = |(_, line): &(&str, &FigureLine)| format!("{:.3} {}", line.value, line.method);
        rows.push(("F1", joined(f1.iter().map(text).collect())));
        let text = |(name, line): &(&str, &FigureLine)| {
            format!("{} {:.3}", name.replace('_', " "), line.value)
        };
        rows.push(("means", joined(others.iter().map(text).collect())));
    }
    if untrained > 0 {
        let count = figures::grouped(untrained);
        rows.push((
            "untrained",
            format!("{count} labels without a document in the sample: their topics have no terms"),
        ));
    }
    rows
}

/// Finds the topic of a label.
///
/// # Errors
/// There is no such label.
pub(super) fn find(topics: &[TopicLine], wanted: &str) -> Result<usize, Failure> {
    let labels = || {
        let named = topics.iter().enumerate();
        named.filter_map(|(topic, line)| Some((topic, line.label.as_ref()?.label.as_str())))
    };
    if let Some((topic, _)) = labels().find(|&(_, label)| label == wanted) {
        return Ok(topic);
    }
    let failure = Failure::usage(format!("there is no label {wanted:?}"));
    let likeness = |label: &str| strsim::normalized_damerau_levenshtein(label, wanted);
    let nearest = labels().max_by(|a, b| likeness(a.1).total_cmp(&likeness(b.1)));
    Err(match nearest {
        Some((_, label)) if likeness(label) > 0.5 => {
            failure.help(format!("did you mean {label:?}?"))
        }
        Some(_) => failure.help("the table `labels` lists them"),
        None => failure.help("topics are not labels: the job has no corpus.labels; pass --topic"),
    })
}
