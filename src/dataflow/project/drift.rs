//! Drift of the new documents, counted while all documents are projected.
//!
//! Every worker sums over the run. Sums over a group go to the worker given by the hash of its
//! name, so that each worker holds some of the groups. They are held as long as they fit into
//! [`MOST_GROUP_BYTES`]; if a collection has more groups than that, no group gets a row, whatever
//! the number of workers.
//!
//! The run's distinct terms are kept and pruned ones; a group's are kept ones alone, because a set
//! of all terms for each group would take many times the memory.
//!
//! The sums survive no restart: what an earlier run has projected is read back and counted again.

mod groups;

use serde::{Deserialize, Serialize};
use timely::worker::Worker;

use super::tally::{FIXED_POINT, fixed};
use crate::corpus::ShardDocument;
use crate::corpus::collection::Collection;
use crate::corpus::sample::Split;
use crate::dataflow::block::MAX_BLOCK_WORDS;
use crate::dataflow::gather::{all_gather, all_gather_blocks};
use crate::dataflow::sum::sum;
use crate::job::DriftSummary;
use groups::Groups;
use lda::evaluate::drift::{DriftFigures, DriftSums, TermSet};
use lda::model::published::PublishedTopic;

/// Bytes that the sums of all groups may take.
pub const MOST_GROUP_BYTES: usize = 1 << 30;

/// How far some new documents have moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriftLine {
    /// Their group; `None` for all of them.
    pub group: Option<String>,
    /// Documents with terms of the vocabulary.
    pub documents: i64,
    /// Their tokens, stop words left out.
    pub tokens: i64,
    /// Of these, tokens of kept terms.
    pub kept_tokens: i64,
    /// Of these, tokens of terms that the model knows.
    pub known_tokens: i64,
    /// The figures.
    pub figures: DriftFigures,
}

/// Drift of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drift {
    /// Of all new documents.
    pub run: DriftLine,
    /// Of each group of them, ascending.
    pub groups: Vec<DriftLine>,
    /// True if there are too many groups for one line each.
    pub too_many_groups: bool,
}

impl Drift {
    /// What the end of a run says of it; `None` without new documents.
    pub fn summary(&self) -> Option<DriftSummary> {
        let figures = &self.run.figures;
        let to_retrain = self.groups.iter().filter(|g| g.figures.advises_training());
        (self.run.documents > 0).then(|| DriftSummary {
            documents: self.run.documents,
            known_term_share: figures.known_term_share,
            known_token_share: figures.known_token_share,
            topic_shift_js: figures.topic_shift_js,
            loglik_shift: figures.loglik_shift,
            retrain: figures.advises_training(),
            groups: self.groups.len(),
            groups_to_retrain: to_retrain.count(),
            too_many_groups: self.too_many_groups,
        })
    }
}

/// What a worker counts drift in.
pub struct DriftCounter {
    /// The terms with weight above the prior in some topic.
    known: TermSet,
    /// Documents trained on.
    trained: DriftSums,
    /// All others with terms of the vocabulary.
    new: DriftSums,
    groups: Groups,
}

/// What is said of a document's projection in its rows of `documents` and `document_topics`.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// Its listed topics, weight and topic.
    pub topics: &'a [(f32, u16)],
    /// Log-likelihood per token, in nats.
    pub loglik_per_token: f64,
}

impl DriftCounter {
    /// For documents of the collection, projected on these topics. Every worker makes one.
    pub fn new(worker: &mut Worker, collection: &Collection, topics: &[PublishedTopic]) -> Self {
        let vocabulary_size = collection.terms_kept as usize;
        let mut known = TermSet::new(vocabulary_size);
        let weights = topics.iter().flat_map(|topic| &topic.weights);
        weights.for_each(|&(term, _)| known.insert(term));
        let empty = DriftSums::new(topics.len(), collection.terms_total as usize);
        let of_group = DriftSums::new(topics.len(), vocabulary_size);
        Self {
            known,
            trained: empty.clone(),
            new: empty,
            groups: Groups::new(worker, &of_group, MOST_GROUP_BYTES),
        }
    }

    /// Counts a document with terms.
    pub fn add(&mut self, document: &ShardDocument, split: Split, listed: Listed<'_>) {
        let is_new = split != Split::Sample;
        let of_run = match is_new {
            true => &mut self.new,
            false => &mut self.trained,
        };
        let known = &self.known;
        count(document, listed, known, of_run);
        let pruned = document.pruned.iter();
        pruned.for_each(|&term| of_run.terms.insert(term));
        if let Some(group) = document.group.as_ref().filter(|_| is_new) {
            (self.groups).add(group, |sums| count(document, listed, known, sums));
        }
    }

    /// Drift of all workers' documents; the same for every worker.
    pub fn finish(self, worker: &mut Worker) -> Drift {
        let (held, too_many_groups) = self.groups.finish(worker);
        let trained = add_up(worker, &self.trained);
        let new = add_up(worker, &self.new);
        let line = |group: Option<String>, sums: &DriftSums| DriftLine {
            group,
            documents: sums.documents,
            tokens: sums.tokens,
            kept_tokens: sums.kept_tokens,
            known_tokens: sums.known_tokens,
            figures: sums.figures(&trained, FIXED_POINT),
        };
        let mine: Vec<DriftLine> = held.iter().map(|(g, s)| line(Some(g.clone()), s)).collect();
        Drift {
            run: line(None, &new),
            groups: gather_lines(worker, &mine),
            too_many_groups,
        }
    }
}

/// Adds one document to some sums, except its pruned terms.
fn count(document: &ShardDocument, listed: Listed<'_>, known: &TermSet, sums: &mut DriftSums) {
    let tokens = document.tokens_in_vocabulary() as i64;
    let length = tokens as f64;
    sums.documents += 1;
    sums.tokens += i64::from(document.tokens_total) - i64::from(document.tokens_stopped);
    sums.kept_tokens += tokens;
    sums.likelihood += fixed(listed.loglik_per_token * length);
    for (&term, &tokens) in document.terms.iter().zip(&document.counts) {
        sums.terms.insert(term);
        if known.contains(term) {
            sums.known_tokens += i64::from(tokens);
        }
    }
    for &(weight, topic) in listed.topics {
        sums.topics[usize::from(topic)] += fixed(f64::from(weight) * length);
    }
}

/// The terms of all workers' sets.
fn union(worker: &mut Worker, mine: &TermSet) -> TermSet {
    let pieces = mine.words().chunks(MAX_BLOCK_WORDS).map(<[u64]>::to_vec);
    let mut all = mine.clone();
    for blocks in all_gather_blocks(worker, pieces.collect()) {
        let words = blocks.iter().flat_map(|block| block.words());
        for (place, &bits) in words.enumerate() {
            all.extend_word(place, bits);
        }
    }
    all
}

/// All workers' sums, added up.
fn add_up(worker: &mut Worker, mine: &DriftSums) -> DriftSums {
    let values = [&fixed_sums(mine), mine.topics.as_slice()].concat();
    let all = sum(worker, &values);
    let mut sums = DriftSums {
        topics: all[SUMS..].to_vec(),
        terms: union(worker, &mine.terms),
        ..DriftSums::default()
    };
    set_fixed_sums(&mut sums, &all[..SUMS]);
    sums
}

/// Sums that do not depend on topics or terms.
const SUMS: usize = 5;

fn fixed_sums(sums: &DriftSums) -> [i64; SUMS] {
    [
        sums.documents,
        sums.tokens,
        sums.kept_tokens,
        sums.known_tokens,
        sums.likelihood,
    ]
}

/// Adds what [`fixed_sums`] gave.
fn set_fixed_sums(sums: &mut DriftSums, values: &[i64]) {
    sums.documents += values[0];
    sums.tokens += values[1];
    sums.kept_tokens += values[2];
    sums.known_tokens += values[3];
    sums.likelihood += values[4];
}

/// The lines of all workers, ascending by group.
fn gather_lines(worker: &mut Worker, mine: &[DriftLine]) -> Vec<DriftLine> {
    let mine = serde_json::to_vec(mine).expect("numbers and texts are JSON");
    let mut all = Vec::new();
    for bytes in all_gather(worker, &mine) {
        let lines: Vec<DriftLine> = serde_json::from_slice(&bytes).expect("written by a peer");
        all.extend(lines);
    }
    all.sort_by(|a, b| a.group.cmp(&b.group));
    all
}
