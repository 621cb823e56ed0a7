//! The data of a page, as JSON. The scripts below `page/` use these names; columns are named as in the tables.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use crate::tables::drift::DriftRow;
use crate::tables::evaluation::EvaluationRow;
use crate::tables::labels::LabelRow;
use crate::tables::topic_changes::TopicChangeRow;
use crate::tables::topic_names::TopicNameRow;
use crate::tables::training_log::CurvePoint;
use crate::tables::warnings::Warning;
use corpus::boilerplate::LeftOut;

#[derive(Debug, Serialize)]
pub(super) struct ReportData {
    pub(crate) facts: Facts,
    pub(crate) warnings: Vec<Warning>,
    /// Sorted by number.
    pub(crate) topics: Vec<PageTopic>,
    /// The share of the squared distances that the map shows.
    pub(crate) map_shown: f64,
    /// Number of topics that placed its axes.
    pub(crate) map_landmarks: usize,
    pub(crate) terms: PageTerms,
    pub(crate) documents: PageDocuments,
    pub(crate) trends: Vec<Trend>,
    pub(crate) curve: Vec<CurvePoint>,
    pub(crate) figures: Vec<EvaluationRow>,
    pub(crate) drift: Option<PageDrift>,
}

#[derive(Debug, Serialize)]
pub(super) struct Facts {
    pub(crate) inputs: Vec<String>,
    /// The address of a document, with names of columns in braces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<String>,
    pub(crate) documents: u64,
    /// Whether they are sections of longer texts.
    pub(crate) sections: bool,
    /// Name and number of documents of each status that occurs.
    pub(crate) statuses: Vec<(String, u64)>,
    /// What was left out of texts, by rule.
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) tokens: u64,
    pub(crate) tokens_in_vocabulary: u64,
    pub(crate) tokens_stopped: u64,
    pub(crate) terms: u64,
    pub(crate) version: String,
    pub(crate) job: String,
    pub(crate) seed: String,
    pub(crate) threshold: String,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct PageTopic {
    pub(crate) tokens: i64,
    pub(crate) share: f64,
    pub(crate) coherence_npmi: Option<f64>,
    pub(crate) exclusivity: Option<f64>,
    pub(crate) effective_terms: Option<f64>,
    pub(crate) rank1_documents: Option<i64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) dead: bool,
    pub(crate) duplicate_of: Option<i32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) junk: bool,
    /// The share of the other seeds of its sweep that find it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<LabelRow>,
    /// How it has moved, after a warm start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change: Option<TopicChangeRow>,
    /// What a person has said about it.
    #[serde(flatten)]
    pub(crate) named: Option<TopicNameRow>,
    /// Its place on the map.
    pub(crate) place: Option<[f64; 2]>,
    /// Topic and distance, nearest first.
    pub(crate) nearest: Vec<(usize, f64)>,
    /// Term (a place in `terms`) and −1000 ln of its probability minus that of the term before, alternating; most probable
    /// first.
    pub(crate) terms: Vec<u32>,
    /// Document (a place in `documents`) and its share in thousandths, alternating; largest first.
    pub(crate) documents: Vec<u32>,
    /// The passages of the first of these documents, and the words of each that are the topic's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) passages: Vec<Option<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) passage_words: Vec<Vec<String>>,
}

/// The terms that any topic shows and the most frequent others, the most frequent first.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageTerms {
    pub(crate) texts: Vec<String>,
    /// Tokens in the collection.
    pub(crate) counts: Vec<i64>,
    /// Of these, according to the model: those of all topics, of which each has a share.
    pub(crate) assigned: Vec<u64>,
    /// Tokens of all terms of the vocabulary.
    pub(crate) total: i64,
    /// For each term, the topics that have most of its uses but do not show it: topic and share of its uses in
    /// hundredths, alternating; largest first.
    pub(crate) topics: Vec<Vec<u32>>,
}

/// The documents that topics show and those that values of trends add, in the input's order.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageDocuments {
    /// Their `doc_id`.
    pub(crate) numbers: Vec<i64>,
    /// The folders that all ids begin with.
    pub(crate) front: String,
    /// The rest of each id.
    pub(crate) ids: Vec<String>,
    /// Names of the columns, as in the input.
    pub(crate) columns: Vec<String>,
    /// For each column, the different values.
    pub(crate) texts: Vec<Vec<String>>,
    /// For each column, the documents' values: places in `texts`.
    pub(crate) values: Vec<Vec<Option<u32>>>,
    /// For each document, topic and share in thousandths, alternating; largest first.
    pub(crate) topics: Vec<Vec<u32>>,
    /// For each document, the topics of its predicted labels, the best first; empty if topics are not labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) predicted: Vec<Vec<i32>>,
}

/// The values of a metadata column, and how large each topic is in their documents.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Trend {
    /// The column's name in the input.
    pub(crate) name: String,
    /// `time`, `number` or `name`: what orders the values; names are ordered by their documents.
    pub(crate) kind: &'static str,
    pub(crate) values: Vec<String>,
    pub(crate) documents: Vec<u64>,
    pub(crate) tokens: Vec<i64>,
    /// Number of distinct values that the last one covers, if it covers several.
    pub(crate) others: usize,
    /// Documents without a value.
    pub(crate) without: u64,
    /// For each topic, its share of the tokens of each value, in hundred-thousandths; on the page, −n stands for n zeros.
    #[serde(serialize_with = "in_runs")]
    pub(crate) shares: Vec<Vec<u32>>,
    /// Shares above this have intervals.
    pub(crate) interval_above: u32,
    /// For each topic, how far the 95 % intervals of these shares go below and above them, in hundredths of the share,
    /// alternating.
    pub(crate) intervals: Vec<Vec<u32>>,
}

fn in_runs<S: serde::Serializer>(rows: &[Vec<u32>], serializer: S) -> Result<S::Ok, S::Error> {
    let runs = |row: &Vec<u32>| -> Vec<i64> {
        let run = |run: &[u32]| match (run[0], run.len()) {
            (0, 2..) => vec![-(run.len() as i64)],
            _ => run.iter().map(|&share| share.into()).collect(),
        };
        row.chunk_by(|a, b| a == b).flat_map(run).collect()
    };
    serializer.collect_seq(rows.iter().map(runs))
}

/// How far new documents have moved.
#[derive(Debug, Serialize)]
pub(super) struct PageDrift {
    pub(crate) run: DriftRow,
    /// Those with the smallest share of known terms.
    pub(crate) groups: Vec<DriftRow>,
    pub(crate) group_count: usize,
    pub(crate) groups_to_retrain: usize,
}

/// Returns the data of a page as JSON, with numbers to five significant digits.
pub(super) fn json(data: &impl Serialize) -> String {
    let mut json = Vec::new();
    let mut writer = Serializer::with_formatter(&mut json, FiveDigits);
    data.serialize(&mut writer).expect("numbers, texts and lists are JSON");
    String::from_utf8(json).expect("JSON is UTF-8")
}

struct FiveDigits;

impl Formatter for FiveDigits {
    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let rounded = format!("{value:.4e}").parse().unwrap_or(value);
        CompactFormatter.write_f64(writer, rounded)
    }
}
