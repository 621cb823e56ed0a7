//! One topic of a result: its figures, its terms, its documents, the topics nearest to it.

use serde_json::{Value, json};

use super::labels;
use crate::cli::args::InspectArgs;
use crate::cli::pictures::{bar, page_width};
use crate::cli::summary::{moved, words_within};
use crate::cli::{Failure, figures, plan};
use crate::report::clip;
use crate::tables::compare::{Neighbourhood, neighbourhood};
use crate::tables::read::{
    LabelLine, PredictionLine, TopicLine, predictions, topic_documents, topic_lines,
};
use crate::tables::topic_documents::TopicDocumentRow;

/// Number of nearest topics.
const NEAREST: usize = 5;
/// Maximum number of documents that are shown.
const DOCUMENTS: usize = 10;
/// Terms that are shown without --terms.
const TERMS: usize = 20;
/// Maximum width of a bar.
const WIDEST_BAR: usize = 40;
/// Characters of a term that are shown.
const WIDEST_TERM: usize = 24;

/// Everything about a topic.
struct View {
    topics: Vec<TopicLine>,
    topic: usize,
    around: Neighbourhood,
    documents: Vec<TopicDocumentRow>,
    predictions: Vec<PredictionLine>,
}

/// Shows a topic of the output folder at the path.
///
/// # Errors
/// There is no such topic or label; a table cannot be read; stdout cannot be written.
pub(super) fn show(args: &InspectArgs) -> Result<(), Failure> {
    let root = &args.path;
    let topics = topic_lines(root)?;
    let topic = match &args.label {
        Some(label) => labels::find(&topics, label)?,
        None => args.topic.unwrap_or_default(),
    };
    if topic >= topics.len() {
        let message = format!("{}: no topic {topic}", root.display());
        let failure = Failure::usage(message);
        return Err(match topics.len() {
            0 => failure.help("it has no topics: pass the result of a run that has ended"),
            count => failure.help(format!("there are {count} topics, from 0 to {}", count - 1)),
        });
    }
    let mut documents = topic_documents(root, DOCUMENTS)?;
    documents.retain(|line| line.topic == topics[topic].topic);
    let numbers = documents.iter().map(|line| line.doc_id).collect();
    let view = View {
        predictions: predictions(root, &numbers)?,
        around: neighbourhood(root, topic, NEAREST)?,
        topics,
        topic,
        documents,
    };
    if args.json {
        return crate::cli::print_json(&view.json(args.terms.unwrap_or(usize::MAX)));
    }
    crate::cli::print(&view.text(args.terms.unwrap_or(TERMS), page_width()))
}

impl View {
    fn line(&self) -> &TopicLine {
        &self.topics[self.topic]
    }

    fn text(&self, terms: usize, width: usize) -> String {
        let mut text = plan::rows(&self.figures());
        text.push_str("\nterms\n");
        text.push_str(&self.bars(terms, width));
        if !self.documents.is_empty() {
            text.push_str("\ndocuments\n");
        }
        for line in &self.documents {
            let (weight, id) = (100.0 * f64::from(line.weight), &line.source_id);
            let line = format!("  {weight:>5.1} %  {id}{}", self.labels_of(line.doc_id));
            text += &format!("{}\n", clip(&line, width));
        }
        text.push_str("\nnearest topics, by Hellinger distance\n");
        for &(topic, distance) in &self.around.nearest {
            let words = self.topics[topic].words();
            let words = words_within(&words, words.len(), width.saturating_sub(16));
            text += &format!("  {topic:>5}  {distance:.2}  {words}\n");
        }
        text
    }

    /// Returns the labels in a document's predictions that are `wanted`.
    fn labels(&self, doc_id: i64, wanted: fn(&PredictionLine) -> bool) -> Vec<&str> {
        let lines = self.predictions.iter();
        let lines = lines.filter(|line| line.doc_id == doc_id && wanted(line));
        let label = |line: &PredictionLine| {
            let topic = self.topics.get(usize::try_from(line.topic).ok()?)?;
            Some(topic.label.as_ref()?.label.as_str())
        };
        lines.filter_map(label).collect()
    }

    /// Formats a document's labels, as in ": art, birds; predicted: art".
    fn labels_of(&self, doc_id: i64) -> String {
        let own = self.labels(doc_id, |line| line.actual == Some(true));
        let predicted = self.labels(doc_id, |line| line.predicted);
        let named = [("", own), ("predicted: ", predicted)];
        let named = named.iter().filter(|(_, labels)| !labels.is_empty());
        let texts: Vec<String> =
            named.map(|(name, labels)| format!("{name}{}", labels.join(", "))).collect();
        if texts.is_empty() { String::new() } else { format!(": {}", texts.join("; ")) }
    }

    /// Returns the topic's figures as rows.
    fn figures(&self) -> Vec<(&'static str, String)> {
        let line = self.line();
        let largest = line.rank1_documents.map_or_else(String::new, |documents| {
            format!("; the largest in {} documents", figures::grouped(documents.unsigned_abs()))
        });
        let mut rows = vec![(
            "topic",
            format!(
                "{}{}: {:.1} % of all tokens ({}){largest}",
                line.topic,
                (line.label.as_ref()).map_or_else(String::new, |line| format!(", {}", line.label)),
                100.0 * line.share,
                figures::grouped(line.tokens.unsigned_abs())
            ),
        )];
        rows.extend(line.label.as_ref().map(|line| ("label", of_label(line))));
        let changed = line.change.as_ref();
        let changed = changed.map(|it| moved(it.distance, &it.gained, &it.lost, usize::MAX));
        rows.extend(changed.map(|by| ("changed", format!("{by}, by Hellinger distance"))));
        let quality = [
            line.coherence_npmi.map(|npmi| format!("{npmi:.3} (NPMI)")),
            line.exclusivity.map(|share| format!("exclusivity {share:.2}")),
            line.effective_terms
                .map(|terms| format!("{} effective terms", figures::about(terms as u64))),
        ];
        rows.push(("coherence", quality.into_iter().flatten().collect::<Vec<_>>().join(", ")));
        let duplicate = line.duplicate_of.map(|other| format!("it repeats topic {other}"));
        let faults = [
            line.dead.then(|| "(almost) no token is left in it".to_owned()),
            duplicate,
            line.junk.then(|| "it is nearly the whole collection's distribution".to_owned()),
        ];
        let faults: Vec<String> = faults.into_iter().flatten().collect();
        if !faults.is_empty() {
            rows.push(("fault", faults.join("; ")));
        }
        rows
    }

    /// Returns a line for each of the first terms: its probability, and a bar relative to the first term's.
    fn bars(&self, most: usize, width: usize) -> String {
        let terms = &self.around.terms[..most.min(self.around.terms.len())];
        let longest = terms.iter().map(|(term, _)| term.chars().count()).max();
        let column = longest.unwrap_or_default().min(WIDEST_TERM);
        let widest = width.saturating_sub(column + 14).min(WIDEST_BAR);
        let first = terms.first().map_or(1.0, |(_, weight)| f64::from(*weight));
        let mut text = String::new();
        for (term, weight) in terms {
            let weight = f64::from(*weight);
            let bar = bar(weight / first, widest);
            let term = clip(term, column);
            let line = format!("  {term:<column$}  {:>5.2} %  {bar}", 100.0 * weight);
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn json(&self, terms: usize) -> Value {
        let line = self.line();
        let term = |(term, weight): &(String, f32)| json!({ "term": term, "weight": figures::single(*weight) });
        let document = |line: &TopicDocumentRow| {
            json!({
                "doc_id": line.doc_id,
                "source_id": line.source_id,
                "weight": figures::single(line.weight),
                "labels": self.labels(line.doc_id, |line| line.actual == Some(true)),
                "predicted": self.labels(line.doc_id, |line| line.predicted),
            })
        };
        let near = |&(topic, distance): &(usize, f64)| json!({ "topic": topic, "distance": distance, "top_terms": self.topics[topic].top_terms });
        json!({
            "topic": line.topic,
            "label": line.label.as_ref().map(|line| &line.label),
            "label_documents": line.label.as_ref().map(|line| line.documents),
            "label_f1": line.label.as_ref().and_then(|line| line.f1),
            "change": line.change,
            "share": line.share,
            "tokens": line.tokens,
            "coherence_npmi": line.coherence_npmi,
            "exclusivity": line.exclusivity,
            "effective_terms": line.effective_terms,
            "rank1_documents": line.rank1_documents,
            "dead": line.dead,
            "duplicate_of": line.duplicate_of,
            "junk": line.junk,
            "terms": self.around.terms.iter().take(terms).map(term).collect::<Vec<_>>(),
            "documents": self.documents.iter().map(document).collect::<Vec<_>>(),
            "nearest": self.around.nearest.iter().map(near).collect::<Vec<_>>(),
        })
    }
}

/// Formats a label's figures: "in 412 documents; predicted for 120, 98 of them correctly: precision 0.817, …".
fn of_label(line: &LabelLine) -> String {
    let count = |count: i64| figures::grouped(count.unsigned_abs());
    let mut text = format!("in {} documents", count(line.documents));
    if let (Some(predicted), Some(hits)) = (line.predicted, line.hits) {
        let (predicted, hits) = (count(predicted), count(hits));
        text += &format!("; predicted for {predicted}, {hits} of them correctly");
    }
    let scores = [("precision", line.precision()), ("recall", line.recall()), ("F1", line.f1)];
    let scores = scores.into_iter();
    let scores: Vec<String> =
        scores.filter_map(|(name, score)| Some(format!("{name} {:.3}", score?))).collect();
    if !scores.is_empty() {
        text += &format!(": {}", scores.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> View {
        let line = |topic: i32| TopicLine {
            topic,
            share: 0.25,
            tokens: 1_234,
            coherence_npmi: (topic > 0).then_some(0.125),
            duplicate_of: (topic == 1).then_some(0),
            top_terms: vec!["whale".to_owned(), "ship".to_owned()],
            ..TopicLine::default()
        };
        View {
            topics: (0..3).map(line).collect(),
            topic: 1,
            around: Neighbourhood {
                terms: vec![
                    ("whale".to_owned(), 0.5),
                    ("ship".to_owned(), 0.125),
                    ("x".repeat(60), 0.01),
                ],
                nearest: vec![(2, 0.31)],
            },
            documents: vec![TopicDocumentRow {
                topic: 1,
                rank: 1,
                doc_id: 7,
                source_id: "moby/1".to_owned(),
                weight: 0.75,
            }],
            predictions: Vec::new(),
        }
    }

    #[test]
    fn a_topic_fits_the_window() {
        for width in [60, 80, 200] {
            let text = view().text(20, width);
            assert!(text.contains("topic       1: 25.0 % of all tokens (1,234)\n"), "{text}");
            assert!(text.contains("coherence   0.125 (NPMI)\n"), "{text}");
            assert!(text.contains("fault       it repeats topic 0\n"), "{text}");
            assert!(
                text.contains("   75.0 %  moby/1\n")
                    && text.contains("      2  0.31  whale ship\n"),
                "{text}"
            );
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        }
        let text = view().text(2, 80);
        let bars: Vec<usize> =
            text.lines().map(|line| line.matches('█').count()).filter(|n| *n > 0).collect();
        assert_eq!(bars, [40, 10], "{text}");
    }

    #[test]
    fn json_has_all_terms() {
        let json = view().json(usize::MAX);
        assert_eq!(json["terms"][1], json!({ "term": "ship", "weight": 0.125 }));
        assert_eq!(json["terms"][2]["weight"].to_string(), "0.01");
        assert_eq!(json["nearest"][0]["top_terms"][0], "whale");
        assert_eq!(
            (&json["documents"][0]["doc_id"], &json["duplicate_of"]),
            (&json!(7), &json!(0))
        );
        assert_eq!(view().json(1)["terms"].as_array().map(Vec::len), Some(1));
    }
}
