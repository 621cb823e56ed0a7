//! Sums over the projected documents: sizes of topics, their best documents, figures for the
//! evaluation. All sums are integers, so that their order does not matter.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use crate::dataflow::process::Process;
use crate::failure::Failure;
use crate::tables::rollup::fixed;
use crate::tables::{FileMetadata, PartInfo, part_name};
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::sample::Split;
use lda::evaluate::diagnostics::allocation::{self, Allocation};
use lda::infer::summary::Projection;
use lda::math::FIXED_POINT;
use lda::math::special::ln;

/// Sums over some documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Documents, of any status.
    pub(crate) documents: u64,
    /// Sums over the documents of each topic.
    pub(super) topics: Vec<TopicTally>,
    /// For each split: log-likelihood in units of 2⁻²⁰ nats, tokens, documents.
    pub(crate) likelihood: [[i64; 3]; 3],
    /// The row that [`LabelSums`](super::LabelSums) reads.
    pub(crate) labels: Vec<i64>,
    /// The documents in which each topic is largest.
    pub(crate) best: BestDocuments,
}

/// Sums over the documents of a topic.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Pod, Zeroable)]
pub(super) struct TopicTally {
    /// Σ_d θ_dk N_d, in units of 2⁻²⁰ tokens.
    tokens: i64,
    /// Σ_d x ln x, x = θ_dk N_d over the documents listed with it; same units.
    entropy: i64,
    /// Σ_d x for the same documents.
    listed: i64,
    /// Documents whose largest proportion is the topic's.
    first: i64,
    /// Documents that hold the topic, as `evaluate::diagnostics::allocation` defines it.
    holding: i64,
    /// Of these, documents whose proportion reaches each of its levels.
    reaching: [i64; 3],
}

impl TopicTally {
    /// Counts a document of `tokens` tokens that has the topic with `weight`; `is_first`: the topic is the
    /// document's largest.
    fn allocate(&mut self, weight: f32, tokens: f64, is_first: bool) {
        if !allocation::holds(weight, tokens, is_first) {
            return;
        }
        self.first += i64::from(is_first);
        self.holding += 1;
        let levels = self.reaching.iter_mut();
        (levels.take(allocation::levels_reached(weight))).for_each(|documents| *documents += 1);
    }
}

impl Tally {
    /// Creates an empty tally, for documents without labels.
    pub(crate) fn new(topic_count: usize, documents_per_topic: usize) -> Self {
        Self {
            documents: 0,
            topics: vec![TopicTally::default(); topic_count],
            likelihood: [[0; 3]; 3],
            labels: Vec::new(),
            best: BestDocuments::new(topic_count, documents_per_topic),
        }
    }

    /// Adds another tally.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut sums = self.sums();
        (sums.iter_mut().zip(other.sums())).for_each(|(sum, more)| *sum += more);
        let mut merged = Self::from_sums(&sums, self);
        merged.best = std::mem::take(&mut self.best);
        merged.best.merge(other.best.topics.iter().cloned());
        *self = merged;
    }

    /// Returns all sums in one row, as [`from_sums`](Self::from_sums) reads them.
    pub(crate) fn sums(&self) -> Vec<i64> {
        let mut sums = vec![self.documents as i64];
        sums.extend(self.likelihood.as_flattened());
        sums.extend(bytemuck::cast_slice::<_, i64>(&self.topics));
        sums.extend(&self.labels);
        sums
    }

    /// Returns a tally with these sums, of the shape of `like`, without best documents.
    pub(crate) fn from_sums(sums: &[i64], like: &Self) -> Self {
        let topics = like.topics.len();
        let mut tally = Self::new(topics, like.best.limit);
        let (sums, labels) = sums.split_at(sums.len() - like.labels.len());
        tally.labels = labels.to_vec();
        let (fixed, per_topic) = sums.split_at(10);
        tally.documents = fixed[0] as u64;
        tally.likelihood.as_flattened_mut().copy_from_slice(&fixed[1..]);
        bytemuck::cast_slice_mut(&mut tally.topics).copy_from_slice(per_topic);
        tally
    }

    /// Returns the tokens of each topic.
    pub(crate) fn tokens(&self) -> Vec<f64> {
        let topics = self.topics.iter();
        topics.map(|sums| sums.tokens as f64 / FIXED_POINT).collect()
    }

    /// Returns the entropy in nats of a topic's spread over the documents that are listed with it:
    /// −Σ_d p ln p with p = x / Σ x, x = θ_dk N_d.
    pub(crate) fn document_entropy(&self, topic: usize) -> Option<f64> {
        let whole = self.topics[topic].listed as f64 / FIXED_POINT;
        let sum = self.topics[topic].entropy as f64 / FIXED_POINT;
        (whole > 0.0).then(|| ln(whole) - sum / whole)
    }

    /// Adds a document with terms, its proportions (θ_d for each topic), and its projection; it is
    /// not counted in [`documents`](Self::documents).
    pub(crate) fn add(
        &mut self,
        number: u64,
        document: &ShardDocument,
        split: Split,
        proportions: &[f32],
        projection: &Projection,
    ) {
        let length = document.tokens_in_vocabulary() as f64;
        let top = usize::from(projection.top.1);
        for (topic, &weight) in proportions.iter().enumerate() {
            let sums = &mut self.topics[topic];
            sums.tokens += fixed(f64::from(weight) * length);
            sums.allocate(weight, length, topic == top);
        }
        for &(weight, topic) in &projection.topics {
            let (topic, mass) = (usize::from(topic), f64::from(weight) * length);
            self.topics[topic].listed += fixed(mass);
            self.topics[topic].entropy += fixed(mass * ln(mass));
            self.best.add(topic, weight, number, &document.source_id);
        }
        let likelihood = &mut self.likelihood[split as usize];
        likelihood[0] += fixed(projection.log_likelihood);
        likelihood[1] += projection.tokens as i64;
        likelihood[2] += 1;
    }

    /// Returns the numbers of documents that hold a topic.
    pub(crate) fn allocation(&self, topic: usize) -> Allocation {
        let sums = &self.topics[topic];
        Allocation { holding: sums.holding, first: sums.first, reaching: sums.reaching }
    }

    /// Returns the log-likelihood per token, in nats, and the documents of a split, if it has any token.
    pub(crate) fn log_likelihood(&self, split: Split) -> Option<(f64, u64)> {
        let [sum, tokens, documents] = self.likelihood[split as usize];
        (tokens > 0).then(|| (sum as f64 / FIXED_POINT / tokens as f64, documents as u64))
    }
}

/// The documents with the largest weight of each topic, largest first; equal weights in the order of
/// the collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BestDocuments {
    limit: usize,
    /// For each topic: weight, document, the input's own id.
    pub(crate) topics: Vec<Vec<(f32, u64, String)>>,
}

impl BestDocuments {
    fn new(topic_count: usize, limit: usize) -> Self {
        Self { limit, topics: vec![Vec::new(); topic_count] }
    }

    /// Considers a document in which `topic` has `weight`.
    pub(crate) fn add(&mut self, topic: usize, weight: f32, document: u64, source_id: &str) {
        let best = &mut self.topics[topic];
        let place = best.partition_point(|&(w, d, _)| w > weight || (w == weight && d < document));
        if place < self.limit {
            best.insert(place, (weight, document, source_id.to_owned()));
            best.truncate(self.limit);
        }
    }

    /// Considers other documents, by topic.
    pub(crate) fn merge(&mut self, topics: impl IntoIterator<Item = Vec<(f32, u64, String)>>) {
        for (topic, best) in topics.into_iter().enumerate() {
            for (weight, document, source_id) in best {
                self.add(topic, weight, document, &source_id);
            }
        }
    }
}

/// Returns the path of the note of a shard, below the output's root.
fn note_name(number: usize) -> String {
    format!("checkpoints/projected/shard-{number:05}.jsonl")
}

/// The first line of a shard's note: what it was projected with, and its parts.
#[derive(Serialize, Deserialize)]
struct NoteHead {
    /// Hash of the model.
    model_hash: Option<String>,
    /// Hash of the settings.
    settings_hash: String,
    /// The parts written, in the order of [`parts`].
    parts: Vec<PartInfo>,
}

/// The parts that a shard's note lists, and the rest of the note: its tally.
type Note = (Vec<PartInfo>, BufReader<File>);

/// Reads the note of a shard, if it has been projected with the same model and settings.
fn read_note(
    process: &Process,
    number: usize,
    parts: &[&str],
    metadata: &FileMetadata,
) -> Result<Option<Note>, Failure> {
    let path = process.output.local(&note_name(number))?;
    let mut note = match File::open(&path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(Failure::io(path)(source)),
    };
    let mut line = Vec::new();
    note.read_until(b'\n', &mut line).map_err(Failure::io(path))?;
    let is_current = |head: &NoteHead| {
        head.model_hash == metadata.model_hash
            && head.settings_hash == metadata.settings_hash
            && head.parts.len() == parts.len()
    };
    let Some(head) = serde_json::from_slice(&line).ok().filter(is_current) else {
        return Ok(None);
    };
    for table in parts {
        if !process.output.is_published(&part_path(table, number))? {
            return Ok(None);
        }
    }
    Ok(Some((head.parts, note)))
}

/// Reads the tally of a shard, if it has been projected with the same model and settings.
pub(crate) fn read(
    process: &Process,
    number: usize,
    parts: &[&str],
    metadata: &FileMetadata,
) -> Result<Option<Tally>, Failure> {
    let note = read_note(process, number, parts, metadata)?;
    Ok(note.and_then(|(_, tally)| serde_json::from_reader(tally).ok()))
}

/// Records that a shard is projected.
pub(crate) fn publish(
    process: &Process,
    number: usize,
    parts: Vec<PartInfo>,
    metadata: &FileMetadata,
    tally: &Tally,
) -> Result<(), Failure> {
    let FileMetadata { model_hash, settings_hash, .. } = metadata.clone();
    let head = serde_json::to_string(&NoteHead { model_hash, settings_hash, parts });
    let tally = serde_json::to_string(tally);
    let note = head.and_then(|head| Ok([head, tally?].join("\n")));
    let note = note.expect("numbers and texts are JSON");
    process.output.write_atomic(&note_name(number), note.as_bytes())
}

/// All tables of which a shard may have a part.
const PARTS: [&str; 3] = ["documents", "document_topics", "predictions"];

/// Returns the tables of which projection writes a part for each shard of a collection: `predictions` only if
/// documents have labels.
pub(super) fn parts(collection: &Collection) -> &'static [&'static str] {
    if collection.labels.is_empty() { &PARTS[..2] } else { &PARTS }
}

/// Returns the path of a shard's part of a table, below the output's root.
pub(crate) fn part_path(table: &str, number: usize) -> String {
    format!("{table}/{}", part_name(number as u64))
}

/// Returns the parts that projection wrote, by their path below the output's root; or the note of a shard that is not
/// projected yet, as this process sees it.
pub(crate) fn written_parts(
    process: &Process,
    collection: &Collection,
    metadata: &FileMetadata,
) -> Result<Result<BTreeMap<String, PartInfo>, String>, Failure> {
    let mut written = BTreeMap::new();
    for number in 0..collection.shards.len() {
        let tables = parts(collection);
        let Some((parts, _)) = read_note(process, number, tables, metadata)? else {
            return Ok(Err(note_name(number)));
        };
        let paths = tables.iter().map(|table| part_path(table, number));
        written.extend(paths.zip(parts));
    }
    Ok(Ok(written))
}
