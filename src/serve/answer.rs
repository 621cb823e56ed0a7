//! One document of a stream: from its line to the line that answers it.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{DocumentLine, StreamModel};
use crate::dataflow::project::{Projecting, project_document};
use crate::failure::Failure;
use crate::tables::documents::DocumentRow;
use corpus::bagger::Bagger;
use corpus::boilerplate::leave_out;
use corpus::formats::cutter::Piece;
use corpus::formats::json::{JSON_LINES, LineReader};
use corpus::sample::Split;
use corpus::settings::{Boilerplate, OnDamage};
use corpus::{Body, DocumentStatus, RawDocument, ShardDocument};
use lda::infer::ImpossibleDraw;
use lda::infer::labels::LabelRanker;
use lda::infer::summary::Projection;
use lda::infer::{Inferred, Inferrer, Target};
use lda::model::factors::FactorTable;

/// The name of the stream in the ids of documents without one.
const NAME: &str = "stdin";

/// A topic of a document.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct TopicWeight {
    /// The topic, from 0.
    pub(crate) topic: u16,
    /// θ_dk.
    pub(crate) weight: f32,
}

/// A label that a document is predicted to have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct LabelScore<'m> {
    /// The label.
    pub(crate) label: &'m str,
    /// The share of the document's tokens that it is expected to have, 0–1: `weight` of table `predictions`.
    pub(crate) score: f32,
}

/// An answer: the row of table `documents`, and the document's rows of `document_topics`. Fields
/// that need a projection are null if there was nothing to infer from.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    doc_id: i64,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    status: &'static str,
    tokens_total: i64,
    tokens_in_vocabulary: i64,
    tokens_stopped: i64,
    tokens_unknown: i64,
    topics: Vec<TopicWeight>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'a [LabelScore<'a>]>,
    top_topic: Option<i32>,
    top_weight: Option<f32>,
    entropy: Option<f32>,
    loglik_per_token: Option<f64>,
    dropped_mass: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// The outcome of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answered {
    /// Whether it was not a valid document.
    pub(crate) is_bad: bool,
    /// Tokens in the vocabulary.
    pub(crate) tokens: u64,
}

/// Answers lines one after another, reusing buffers; one per thread.
pub(crate) struct Answerer<'m> {
    reader: LineReader,
    about: About<'m>,
}

/// Everything except the reader, which is borrowed while a document is answered.
struct About<'m> {
    model: &'m StreamModel,
    /// Whether an invalid line ends the stream.
    strict: bool,
    bagger: Bagger<'m>,
    inference: StreamInference<'m>,
}

impl<'m> Answerer<'m> {
    /// Creates one that answers with `model`.
    pub(crate) fn new(model: &'m StreamModel, strict: bool) -> Self {
        Self {
            reader: LineReader::new(NAME, &model.corpus),
            about: About {
                model,
                strict,
                bagger: Bagger::new(&model.drafter, &model.vocabulary),
                inference: StreamInference::new(model),
            },
        }
    }

    /// Appends the answer to a line to `out`, with a line break.
    ///
    /// # Errors
    /// A draw cannot be made; the stream broke or the line is invalid, and the settings forbid that.
    pub(crate) fn answer(
        &mut self,
        document: &DocumentLine,
        out: &mut Vec<u8>,
    ) -> Result<Answered, Failure> {
        let Self { reader, about } = self;
        if let Piece::Truncated { reason, .. } = &document.line
            && about.model.corpus.on_damage == OnDamage::Fail
        {
            return Err(Failure::data(format!(
                "standard input failed at line {}: {reason}; send the lines from there again",
                document.number
            )));
        }
        let mut result = Ok(Answered::default());
        reader.read(&document.line, &mut |raw| result = about.answer(reader, document, raw, out));
        result
    }
}

impl About<'_> {
    fn answer(
        &mut self,
        reader: &LineReader,
        &DocumentLine { doc_id, number, ref line }: &DocumentLine,
        mut raw: RawDocument<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Answered, Failure> {
        let error = match &raw.body {
            Body::Missing { reason, .. } => Some(reader.without_place(line, reason).to_owned()),
            Body::Text { .. } | Body::Counts { .. } => None,
        };
        if self.model.corpus.boilerplate == Boilerplate::Auto {
            leave_out(&mut raw, &JSON_LINES, &mut Vec::new());
        }
        let document = self.bagger.count(raw);
        let is_bad =
            matches!(document.status, DocumentStatus::ParseError | DocumentStatus::TooLarge);
        if self.strict && is_bad {
            return Err(Failure::line("standard input", number, error.unwrap_or_default()));
        }
        self.inference.labels.clear();
        let has_terms = document.status.has_terms();
        let projection = has_terms.then(|| self.inference.infer(document, doc_id)).transpose();
        let projection = projection.map_err(Failure::drawing("standard input, line", number))?;
        let projection = projection.as_ref();
        let row = DocumentRow::new(doc_id, document, Split::Projected, projection);
        let answer = Answer {
            doc_id: row.doc_id,
            id: &row.source_id,
            group_id: row.group_id.as_deref(),
            metadata: metadata(&self.model.corpus.metadata, document),
            status: document.status.name(),
            tokens_total: row.tokens_total,
            tokens_in_vocabulary: row.tokens_in_vocabulary,
            tokens_stopped: row.tokens_stopped,
            tokens_unknown: row.tokens_unknown,
            topics: projection.into_iter().flat_map(listed).collect(),
            labels: (!self.model.labels.is_empty()).then_some(&self.inference.labels[..]),
            top_topic: row.top_topic,
            top_weight: row.top_weight,
            entropy: row.entropy,
            loglik_per_token: row.loglik_per_token,
            dropped_mass: row.dropped_mass,
            line: error.as_ref().map(|_| number),
            error: error.as_deref(),
        };
        serde_json::to_writer(&mut *out, &answer).expect("numbers and texts are JSON");
        out.push(b'\n');
        Ok(Answered { is_bad, tokens: row.tokens_in_vocabulary as u64 })
    }
}

/// Returns the listed topics.
fn listed(projection: &Projection) -> impl Iterator<Item = TopicWeight> {
    let topics = projection.topics.iter();
    topics.map(|&(weight, topic)| TopicWeight { topic, weight })
}

/// Infers documents one after another, reusing buffers.
struct StreamInference<'m> {
    model: &'m StreamModel,
    inferrer: Box<dyn Inferrer>,
    ranker: LabelRanker,
    /// The labels that the last document is predicted to have, by rank; none if topics are not labels.
    labels: Vec<LabelScore<'m>>,
}

impl<'m> StreamInference<'m> {
    fn new(model: &'m StreamModel) -> Self {
        Self {
            model,
            inferrer: model.infer.method.inferrer(),
            ranker: (model.project).label_ranker(&model.label_model, model.infer.method),
            labels: Vec::new(),
        }
    }

    /// Infers a document.
    fn infer(
        &mut self,
        document: &ShardDocument,
        doc_id: u64,
    ) -> Result<Projection, ImpossibleDraw> {
        let (model, bag) = (self.model, document.bag());
        let parts = [&model.factors];
        let onto = Projecting {
            target: Target {
                table: FactorTable::new(&parts),
                topics: &model.topics,
                classifier: model.classifier.as_ref(),
                labels: model.label_model.topics.as_ref(),
            },
            infer: &model.infer,
            seed: model.seed,
            listing: model.project.listing(),
        };
        let (Inferred { proportions, alpha }, projection) =
            project_document((doc_id, bag), onto, None, &mut *self.inferrer)?;
        if !model.labels.is_empty() {
            let ranked = self.ranker.rank(bag, proportions, alpha);
            let scored = ranked.predicted.iter().map(|&topic| LabelScore {
                label: &model.labels[usize::from(topic)].label,
                score: ranked.shares[usize::from(topic)],
            });
            self.labels.extend(scored);
        }
        Ok(projection)
    }
}

/// Returns the values of the job's `corpus.metadata`, by name; those of a bad line are null.
fn metadata(names: &[String], document: &ShardDocument) -> Map<String, Value> {
    let values = document.metadata.iter().cloned().map(Value::from);
    names.iter().cloned().zip(values).collect()
}
