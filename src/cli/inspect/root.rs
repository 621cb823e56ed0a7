//! An output folder: its tables and its topics.

use serde_json::json;

use super::labels;
use crate::cli::args::InspectArgs;
use crate::cli::pictures::{at_most, page_width};
use crate::cli::summary::{MOST_TERMS, held_out_curve, topic_table};
use crate::cli::{Failure, figures, plan};
use crate::tables::read::{
    CurvePoint, FigureLine, TableListing, TopicLine, evaluation_figures, listing, topic_lines,
    training_curve,
};

/// Shows the folder at the path.
///
/// # Errors
/// A table cannot be read, or stdout cannot be written.
pub(super) fn show(args: &InspectArgs) -> Result<(), Failure> {
    let tables = listing(&args.path)?;
    let topics = topic_lines(&args.path)?;
    let curve = training_curve(&args.path)?;
    let evaluation = evaluation_figures(&args.path)?;
    if args.json {
        return crate::cli::print_json(&json_of(&tables, &topics, &curve, &evaluation));
    }
    crate::cli::print(&text_of(args, &tables, &topics, &curve, &evaluation))
}

fn text_of(
    args: &InspectArgs,
    tables: &[TableListing],
    topics: &[TopicLine],
    curve: &[CurvePoint],
    evaluation: &[FigureLine],
) -> String {
    let mut text = String::new();
    if tables.is_empty() {
        let path = args.path.display();
        text +=
            &format!("no tables yet; `topicmill status {path}` shows the progress of the run\n");
    }
    for table in tables {
        let (rows, bytes) = (figures::grouped(table.rows), figures::bytes(table.bytes));
        let noun = if table.rows == 1 { "row " } else { "rows" };
        text += &format!("{:<22}{rows:>15} {noun}{bytes:>12}\n", table.name);
    }
    if let Some(line) = held_out_curve(curve) {
        text += &format!("\n{}", plan::rows(&[("training", line)]));
    }
    if topics.is_empty() {
        return text;
    }
    let most = at_most(args.topics);
    text.push_str(&labels::text(topics, evaluation, most));
    text +=
        &format!("\n{}", topic_table(topics, most, args.terms.unwrap_or(MOST_TERMS), page_width()));
    text.push_str(&faults_of(topics));
    text
}

/// Returns a line for each kind of fault, with the topics that have it.
fn faults_of(topics: &[TopicLine]) -> String {
    let named = |has_it: fn(&TopicLine) -> bool| {
        let faulty = topics.iter().filter(|topic| has_it(topic));
        faulty.map(|topic| topic.topic.to_string()).collect()
    };
    let repeats = |topic: &TopicLine| Some(format!("{} of {}", topic.topic, topic.duplicate_of?));
    let faults: [(&str, Vec<String>); 3] = [
        ("dead", named(|topic| topic.dead)),
        ("duplicates", topics.iter().filter_map(repeats).collect()),
        ("junk", named(|topic| topic.junk)),
    ];
    let mut text = String::new();
    for (name, topics) in faults.iter().filter(|(_, topics)| !topics.is_empty()) {
        text += &format!("{name}: {}\n", topics.join(", "));
    }
    text
}

fn json_of(
    tables: &[TableListing],
    topics: &[TopicLine],
    curve: &[CurvePoint],
    evaluation: &[FigureLine],
) -> serde_json::Value {
    let topic = |t: &TopicLine| {
        json!({
            "topic": t.topic,
            "label": t.label.as_ref().map(|line| &line.label),
            "share": t.share,
            "coherence_npmi": t.coherence_npmi,
            "dead": t.dead,
            "duplicate_of": t.duplicate_of,
            "junk": t.junk,
            "top_terms": t.top_terms,
        })
    };
    let point = |p: &CurvePoint| json!({ "round": p.round + 1, "loglik_per_token": p.heldout_loglik_per_token });
    let labels: Vec<_> = topics.iter().filter_map(|t| t.label.as_ref()).collect();
    json!({
        "evaluation": evaluation,
        "labels": labels,
        "heldout": curve.iter().map(point).collect::<Vec<_>>(),
        "tables": tables,
        "topics": topics.iter().map(topic).collect::<Vec<_>>(),
    })
}
