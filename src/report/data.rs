//! The data of a page, as JSON. The scripts below `page/` use the same names.

use serde::Serialize;

use crate::tables::read::{CurvePoint, DriftLine, FigureLine, LabelLine};

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct ReportData {
    pub(crate) facts: Facts,
    pub(crate) warnings: Vec<Warning>,
    /// By their numbers.
    pub(crate) topics: Vec<Topic>,
    /// The share of the squared distances that the map shows.
    pub(crate) map_shown: f64,
    /// Topics that placed its axes.
    pub(crate) map_landmarks: usize,
    pub(crate) terms: Terms,
    pub(crate) documents: Documents,
    pub(crate) trends: Vec<Trend>,
    pub(crate) curve: Vec<Point>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) drift: Option<Drift>,
}

/// The facts about the result.
#[derive(Debug, Serialize)]
pub(super) struct Facts {
    pub(crate) inputs: Vec<String>,
    pub(crate) documents: u64,
    pub(crate) documents_with_terms: u64,
    /// Name and documents of each status that has some.
    pub(crate) statuses: Vec<(String, u64)>,
    pub(crate) tokens: u64,
    pub(crate) tokens_in_vocabulary: u64,
    pub(crate) tokens_stopped: u64,
    pub(crate) terms: u64,
    pub(crate) version: String,
    pub(crate) job: String,
    pub(crate) seed: String,
    pub(crate) threshold: String,
}

/// Something that a reader of the result should know.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Warning {
    pub(crate) text: String,
    pub(crate) remedy: String,
    /// The topics that it is about, the first of them.
    pub(crate) topics: Vec<i32>,
}

/// The label of a topic, and how often it was predicted: numbers of documents, as in table `labels`.
#[derive(Debug, Serialize)]
pub(super) struct Label {
    pub(crate) name: String,
    pub(crate) documents: i64,
    pub(crate) evaluated: Option<i64>,
    pub(crate) predicted: Option<i64>,
    pub(crate) hits: Option<i64>,
    pub(crate) f1: Option<f64>,
}

/// How a topic has moved since the result that training started from.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    pub(crate) distance: f64,
    pub(crate) gained: Vec<String>,
    pub(crate) lost: Vec<String>,
}

/// A topic.
#[derive(Debug, Default, Serialize)]
pub(super) struct Topic {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<Label>,
    /// After a warm start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change: Option<Change>,
    pub(crate) share: f64,
    pub(crate) tokens: i64,
    pub(crate) coherence: Option<f64>,
    pub(crate) exclusivity: Option<f64>,
    pub(crate) effective_terms: Option<f64>,
    /// Documents in which it is the largest.
    pub(crate) first_in: Option<i64>,
    pub(crate) dead: bool,
    pub(crate) junk: bool,
    pub(crate) duplicate_of: Option<i32>,
    /// On the map.
    pub(crate) place: Option<[f64; 2]>,
    /// Topic and distance, nearest first.
    pub(crate) nearest: Vec<(usize, f64)>,
    /// Term (a place in `terms`) and −1000 ln of its probability, in turn; most probable first.
    pub(crate) terms: Vec<u32>,
    /// Document (a place in `documents`) and thousandths of it, in turn; largest first.
    pub(crate) documents: Vec<u32>,
}

/// The terms that some topic shows, the most frequent first.
#[derive(Debug, Default, Serialize)]
pub(super) struct Terms {
    pub(crate) texts: Vec<String>,
    /// Tokens in the collection.
    pub(crate) counts: Vec<i64>,
    /// Tokens of all terms of the vocabulary.
    pub(crate) total: i64,
}

/// The documents that some topic shows, in the input's order.
#[derive(Debug, Default, Serialize)]
pub(super) struct Documents {
    /// Their `doc_id`.
    pub(crate) numbers: Vec<i64>,
    pub(crate) ids: Vec<String>,
    /// Names of the columns.
    pub(crate) columns: Vec<String>,
    /// For each column the documents' values.
    pub(crate) values: Vec<Vec<Option<String>>>,
    /// For each document topic and thousandths of it, in turn; largest first.
    pub(crate) topics: Vec<Vec<u32>>,
    /// For each document the topics of the labels that it is predicted to have, the first one first; empty if
    /// topics are no labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) predicted: Vec<Vec<i32>>,
}

/// The values of a metadata column, and how large each topic is in their documents.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Trend {
    pub(crate) name: String,
    /// `time`, `number` or `name`: what the values are ordered by; names by their documents.
    pub(crate) kind: &'static str,
    pub(crate) values: Vec<String>,
    pub(crate) documents: Vec<u64>,
    pub(crate) tokens: Vec<i64>,
    /// Distinct values that the last one covers, if it covers several.
    pub(crate) others: usize,
    /// Documents without a value.
    pub(crate) without: u64,
    /// For each topic its share of the tokens of each value, in millionths.
    pub(crate) shares: Vec<Vec<u32>>,
}

/// A point of the training curve.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(crate) round: i32,
    pub(crate) pass: i32,
    pub(crate) phase: String,
    pub(crate) documents: i64,
    pub(crate) score: f64,
}

/// A figure of quality.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    pub(crate) metric: String,
    pub(crate) method: String,
    pub(crate) split: String,
    pub(crate) unit: String,
    pub(crate) value: f64,
    pub(crate) error: Option<f64>,
}

/// How far new documents have moved.
#[derive(Debug, Serialize)]
pub(super) struct Drift {
    pub(crate) run: DriftRow,
    /// Those with the smallest share of known terms.
    pub(crate) groups: Vec<DriftRow>,
    pub(crate) group_count: usize,
    pub(crate) groups_to_retrain: usize,
}

/// Drift of the run or a group.
#[derive(Debug, Serialize)]
pub(super) struct DriftRow {
    pub(crate) group: Option<String>,
    pub(crate) documents: i64,
    pub(crate) known_terms: Option<f64>,
    pub(crate) known_tokens: Option<f64>,
    topic_shift: Option<f64>,
    pub(crate) loglik_shift: Option<f64>,
    pub(crate) retrain: bool,
}

/// A number to five significant digits.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

impl From<&LabelLine> for Label {
    fn from(line: &LabelLine) -> Self {
        Self {
            name: super::clip(&line.label, super::bounds::NAME_CHARS),
            documents: line.documents,
            evaluated: line.evaluated,
            predicted: line.predicted,
            hits: line.hits,
            f1: line.f1.map(rounded),
        }
    }
}

impl From<CurvePoint> for Point {
    fn from(point: CurvePoint) -> Self {
        Self {
            round: point.round,
            pass: point.pass,
            phase: point.phase,
            documents: point.documents_seen,
            score: rounded(point.heldout_loglik_per_token),
        }
    }
}

impl From<FigureLine> for Figure {
    fn from(line: FigureLine) -> Self {
        Self {
            metric: line.metric,
            method: line.method,
            split: line.split,
            unit: line.unit,
            value: rounded(line.value),
            error: line.standard_error.map(rounded),
        }
    }
}

impl From<DriftLine> for DriftRow {
    fn from(line: DriftLine) -> Self {
        let name = |group: String| super::clip(&group, super::bounds::NAME_CHARS);
        Self {
            group: line.group_id.map(name),
            documents: line.documents,
            known_terms: line.known_term_share.map(rounded),
            known_tokens: line.known_token_share.map(rounded),
            topic_shift: line.topic_shift_js.map(rounded),
            loglik_shift: line.loglik_shift.map(rounded),
            retrain: line.retrain,
        }
    }
}
