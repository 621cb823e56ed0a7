//! One document of a stream: from its line to the line that answers it.

use serde::Serialize;
use serde_json::{Map, Value};

use super::bag::Bagger;
use super::lines::{Content, Line};
use super::{Numbered, StreamError, StreamModel};
use crate::corpus::reader::line::LineReader;
use crate::corpus::settings::OnDamage;
use crate::corpus::{Body, DocumentStatus, RawDocument};
use lda::infer::Bag;
use lda::infer::inferrer::{Inferrer, Target};
use lda::infer::project::log_likelihood;
use lda::infer::summary::{dropped_mass, entropy, heaviest, list};
use lda::math::random::{Stage, Stream};
use lda::model::factors::FactorTable;

/// The name of the stream in the ids of documents without one.
const NAME: &str = "stdin";

/// A topic of a document.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TopicWeight {
    /// The topic, from 0.
    pub topic: u16,
    /// θ_dk.
    pub weight: f32,
}

/// An answer; the names are those of the tables `documents` and `document_topics`.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    doc_id: u64,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    status: &'static str,
    tokens_total: u64,
    tokens_in_vocabulary: u64,
    tokens_stopped: u64,
    tokens_unknown: u64,
    topics: Vec<TopicWeight>,
    #[serde(flatten)]
    inferred: Inferred,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// What inference says about a document; null where there was nothing to infer from.
#[derive(Debug, Default, Serialize)]
struct Inferred {
    top_topic: Option<u16>,
    top_weight: Option<f32>,
    entropy: Option<f32>,
    loglik_per_token: Option<f64>,
    dropped_mass: Option<f32>,
}

/// The outcome of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Whether it was no document.
    pub is_bad: bool,
    /// Tokens in the vocabulary.
    pub tokens: u64,
}

/// Answers lines, one after the other, with the same buffers; one per thread.
pub struct Answerer<'a> {
    model: &'a StreamModel,
    /// Whether an invalid line ends the stream.
    strict: bool,
    reader: LineReader,
    bagger: Bagger,
    inferrer: Inferrer,
    listed: Vec<(f32, u16)>,
}

impl<'a> Answerer<'a> {
    /// Answers on `model`.
    pub fn new(model: &'a StreamModel, strict: bool) -> Self {
        Self {
            model,
            strict,
            reader: LineReader::new(NAME, &model.corpus),
            bagger: Bagger::new(&model.tokens, model.vocabulary.kept()),
            inferrer: Inferrer::default(),
            listed: Vec::new(),
        }
    }

    /// Appends the answer to a line to `out`, with a line break.
    ///
    /// # Errors
    /// [`StreamError::Infer`]; [`StreamError::Read`] where the stream broke and the job says that
    /// this is the end; [`StreamError::BadLine`] if lines that are no documents are.
    pub fn answer(
        &mut self,
        document: &Numbered,
        out: &mut Vec<u8>,
    ) -> Result<Answered, StreamError> {
        let Numbered { doc_id, line } = document;
        let mut result = Ok(Answered::default());
        let Self {
            model,
            strict,
            reader,
            bagger,
            inferrer,
            listed,
        } = self;
        let mut about = About {
            model,
            strict: *strict,
            bagger,
            inferrer,
            listed,
        };
        let reader = &*reader;
        let emit = &mut |raw: RawDocument<'_>| {
            result = about.answer(reader, *doc_id, line, &raw, out);
        };
        match &line.content {
            Content::Bytes(bytes) => reader.read(line.offset, bytes, emit),
            Content::TooLarge(bytes) => reader.too_large(line.offset, *bytes, emit),
            Content::Broken(error) if model.corpus.on_damage == OnDamage::Fail => {
                return Err(StreamError::Read {
                    line: line.number,
                    source: std::io::Error::new(error.kind(), error.to_string()),
                });
            }
            Content::Broken(error) => reader.truncated(line.offset, &error.to_string(), emit),
        }
        result
    }
}

/// Everything except the reader, which works while a document is answered.
struct About<'a> {
    model: &'a StreamModel,
    strict: bool,
    bagger: &'a mut Bagger,
    inferrer: &'a mut Inferrer,
    listed: &'a mut Vec<(f32, u16)>,
}

impl About<'_> {
    fn answer(
        &mut self,
        reader: &LineReader,
        doc_id: u64,
        line: &Line,
        raw: &RawDocument<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Answered, StreamError> {
        let error = match &raw.body {
            Body::Missing { reason, .. } => Some(reader.without_place(line.offset, reason)),
            Body::Text { .. } | Body::Counts { .. } => None,
        };
        let (status, bag) = self.bagger.count(raw, &self.model.vocabulary);
        let is_bad = matches!(
            status,
            DocumentStatus::ParseError | DocumentStatus::TooLarge
        );
        if self.strict && is_bad {
            return Err(StreamError::BadLine {
                line: line.number,
                reason: error.unwrap_or_default().to_owned(),
            });
        }
        let words = Bag {
            terms: &bag.terms,
            counts: &bag.counts,
        };
        let tokens = words.token_count();
        let (total, stopped) = (u64::from(bag.tokens_total), u64::from(bag.tokens_stopped));
        self.listed.clear();
        let inferred =
            match status.has_terms() {
                true => infer(self.model, self.inferrer, self.listed, words, doc_id).map_err(
                    |source| StreamError::Infer {
                        line: line.number,
                        source,
                    },
                )?,
                false => Inferred::default(),
            };
        let topics = self.listed.iter();
        let answer = Answer {
            doc_id,
            id: &raw.source_id,
            group_id: raw.group.as_deref(),
            metadata: metadata(&self.model.corpus.metadata, raw),
            status: status.name(),
            tokens_total: total,
            tokens_in_vocabulary: tokens,
            tokens_stopped: stopped,
            tokens_unknown: total.saturating_sub(stopped).saturating_sub(tokens),
            topics: topics
                .map(|&(weight, topic)| TopicWeight { topic, weight })
                .collect(),
            inferred,
            line: error.map(|_| line.number),
            error,
        };
        serde_json::to_writer(&mut *out, &answer).expect("numbers and texts are JSON");
        out.push(b'\n');
        Ok(Answered { is_bad, tokens })
    }
}

/// Infers a document, by the random stream of its number; leaves the topics to list in `listed`.
fn infer(
    model: &StreamModel,
    inferrer: &mut Inferrer,
    listed: &mut Vec<(f32, u16)>,
    words: Bag<'_>,
    doc_id: u64,
) -> Result<Inferred, lda::infer::ImpossibleDraw> {
    let parts = [&model.factors];
    let table = FactorTable::new(&parts);
    let mut stream = Stream::keyed(model.seed, Stage::Project, 0, doc_id);
    let target = Target {
        table,
        topics: &model.topics,
        classifier: model.classifier.as_ref(),
    };
    let proportions = inferrer.infer(words, target, &model.infer, &mut stream)?;
    let (sum, tokens) = log_likelihood(words, proportions, table);
    let settings = &model.project;
    list(proportions, settings.threshold as f32, settings.top, listed);
    let (weight, topic) = heaviest(proportions);
    Ok(Inferred {
        top_topic: Some(topic),
        top_weight: Some(weight),
        entropy: Some(entropy(proportions)),
        loglik_per_token: Some(sum / tokens.max(1) as f64),
        dropped_mass: Some(dropped_mass(listed)),
    })
}

/// The values of the job's `corpus.metadata`, by name; those of a bad line are null.
fn metadata(names: &[String], raw: &RawDocument<'_>) -> Map<String, Value> {
    let value = |text: &Option<_>| {
        text.as_ref()
            .map_or(Value::Null, |t: &std::borrow::Cow<'_, str>| {
                t.as_ref().into()
            })
    };
    let values = raw.metadata.iter().map(value);
    names.iter().cloned().zip(values).collect()
}
