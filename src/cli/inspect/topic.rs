//! One topic of a result: its rows of the tables about topics, its terms, its documents, the topics nearest to it.

use comfy_table::ContentArrangement;
use serde::Serialize;

use super::table::within;
use crate::cli::Failure;
use crate::cli::args::InspectArgs;
use crate::cli::pictures::{bar, page_width, table};
use crate::cli::summary::words_within;
use crate::report::clip;
use crate::tables::phi::PublishedPhi;
use crate::tables::read::rows_of_topic;
use crate::tables::records::records;
use crate::tables::topic_concentration::TopicConcentrationRow;
use crate::tables::topic_documents::TopicDocumentRow;
use crate::tables::topic_passages::TopicPassageRow;
use crate::tables::topic_terms::TopicTermRow;
use crate::tables::topics::{TopicLine, topic_lines};
use lda::evaluate::matching::distances;

/// Number of nearest topics.
const NEAREST: usize = 5;
/// Maximum number of documents that are shown.
const DOCUMENTS: i32 = 10;
/// Number of passages that are shown.
const PASSAGES: usize = 3;
/// Terms that are shown without --terms.
const TERMS: usize = 20;
/// Maximum width of a bar.
const WIDEST_BAR: usize = 40;
/// Characters of a document's id, a volume or a value that are shown.
const WIDEST_VALUE: usize = 40;
/// Characters of a term that are shown.
const WIDEST_TERM: usize = 24;
/// The tables with a row for a topic.
const OF_TOPICS: [&str; 5] =
    ["topic_names", "topic_stability", "topics", "labels", "topic_changes"];

/// Everything about a topic.
#[derive(Serialize)]
struct TopicScreen<'a> {
    #[serde(flatten)]
    topic: &'a TopicLine,
    terms: Vec<TopicTermRow>,
    documents: Vec<TopicDocumentRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passages: Vec<TopicPassageRow>,
    nearest: Vec<NearTopic<'a>>,
}

/// Another topic, and its Hellinger distance, 0 to 1.
#[derive(Serialize)]
struct NearTopic<'a> {
    topic: usize,
    distance: f64,
    top_terms: &'a [String],
}

/// Shows a topic of the output folder at the path.
///
/// # Errors
/// There is no such topic or label; a table cannot be read; stdout cannot be written.
pub(super) fn show(args: &InspectArgs) -> Result<(), Failure> {
    let root = &args.path;
    let topics = topic_lines(root)?;
    let topic = match &args.label {
        Some(label) => find(&topics, label)?,
        None => args.topic.unwrap_or_default(),
    };
    let Some(line) = topics.get(topic) else {
        let failure = Failure::usage(format!("{}: no topic {topic}", root.display()));
        return Err(match topics.len() {
            0 => failure.help("it has no topics: pass the result of a run that has ended"),
            count => failure.help(format!("there are {count} topics, from 0 to {}", count - 1)),
        });
    };
    let number = line.row.topic;
    let is_shown = |row: &TopicDocumentRow| row.topic == number && row.rank <= DOCUMENTS;
    let mut terms = records(root)?.only(|row: &TopicTermRow| row.topic == number)?;
    terms.truncate(args.terms.unwrap_or(if args.json { usize::MAX } else { TERMS }));
    let screen = TopicScreen {
        topic: line,
        terms,
        documents: records(root)?.only(is_shown)?,
        passages: records(root)?
            .only(|row: &TopicPassageRow| row.topic == number && row.rank <= DOCUMENTS)?,
        nearest: nearest(&PublishedPhi::read(root)?, &topics, topic),
    };
    if args.json {
        return crate::cli::print_json(&screen);
    }
    let (mut text, width) = (String::new(), page_width());
    for table in OF_TOPICS {
        let rows = rows_of_topic(&root.join(table), number, 1)?;
        text += &rows.map_or_else(String::new, |rows| within(&rows, 0));
    }
    let mut parts = String::new();
    for row in &line.concentration {
        let TopicConcentrationRow { name, value, share, collection_share, .. } = row;
        let [share, of_all] = [share, collection_share].map(|share| 100.0 * share);
        let value = clip(value, WIDEST_VALUE);
        parts += &format!("  {share:>5.1} %  {name} {value}, with {of_all:.1} % of all tokens\n");
    }
    if !parts.is_empty() {
        text += &format!("\nparts of a tenth and more\n{parts}");
    }
    text += &format!("\nterms\n{}", bars(&screen.terms, width));
    let documents = rows_of_topic(&root.join("topic_documents"), number, DOCUMENTS as usize)?;
    if let Some(documents) = documents.filter(|found| !found.rows.is_empty()) {
        text += &format!("\ndocuments\n{}\n", within(&documents, width));
    }
    if !screen.passages.is_empty() {
        let mut passages = table(">rank|passage");
        passages.set_width(width as u16).set_content_arrangement(ContentArrangement::Dynamic);
        for row in screen.passages.iter().take(PASSAGES) {
            passages.add_row([row.rank.to_string(), row.passage.clone()]);
        }
        text += &format!("\n{}\n", passages.trim_fmt());
    }
    text += "\nnearest topics, by Hellinger distance\n";
    for near in &screen.nearest {
        let words = topics[near.topic].words();
        let words = words_within(&words, words.len(), width.saturating_sub(16));
        text += &format!("  {:>5}  {:.2}  {words}\n", near.topic, near.distance);
    }
    crate::cli::print(&text)
}

/// Returns the topics nearest to `topic`, the nearest first.
fn nearest<'a>(phi: &PublishedPhi, topics: &'a [TopicLine], topic: usize) -> Vec<NearTopic<'a>> {
    let all = phi.distributions();
    let distances = distances(&all[topic..=topic], &all);
    let others = topics.iter().zip(distances).enumerate().filter(|(other, _)| *other != topic);
    let near = |(topic, (line, distance)): (usize, (&'a TopicLine, f64))| {
        let top_terms = &line.row.top_terms[..];
        NearTopic { topic, distance, top_terms }
    };
    let mut nearest: Vec<NearTopic<'a>> = others.map(near).collect();
    nearest.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    nearest.truncate(NEAREST);
    nearest
}

/// Finds the topic of a label.
fn find(topics: &[TopicLine], wanted: &str) -> Result<usize, Failure> {
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

/// Returns a line for each term: its probability, and a bar relative to the first term's.
fn bars(terms: &[TopicTermRow], width: usize) -> String {
    let longest = terms.iter().map(|row| row.term.chars().count()).max();
    let column = longest.unwrap_or_default().min(WIDEST_TERM);
    let widest = width.saturating_sub(column + 14).min(WIDEST_BAR);
    let first = terms.first().map_or(1.0, |row| f64::from(row.weight));
    let mut text = String::new();
    for row in terms {
        let weight = f64::from(row.weight);
        let bar = bar(weight / first, widest);
        let term = clip(&row.term, column);
        let line = format!("  {term:<column$}  {:>5.2} %  {bar}", 100.0 * weight);
        text += &format!("{}\n", line.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fit_the_window() {
        let row = |(term, weight): (String, f32)| TopicTermRow {
            term,
            weight,
            ..TopicTermRow::default()
        };
        let terms = [("whale".to_owned(), 0.5), ("ship".to_owned(), 0.125), ("x".repeat(60), 0.01)];
        let terms = terms.map(row);
        for width in [60, 80, 200] {
            let text = bars(&terms, width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        }
        let text = bars(&terms[..2], 80);
        let bars: Vec<usize> = text.lines().map(|line| line.matches('█').count()).collect();
        assert_eq!(bars, [40, 10], "{text}");
    }
}
