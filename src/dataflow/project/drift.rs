//! Drift of the new documents, counted while all documents are projected.
//!
//! Every worker sums over the run, and over groups by [`Groups`]. Their rows are in one table, which the first worker
//! holds in memory: if a collection has more than [`MOST_GROUPS`], no group gets a row. Groups are counted before any
//! row is made.
//!
//! The run's distinct terms are kept and pruned ones; a group's are kept ones only, because a set
//! of all terms for each group would take many times the memory.
//!
//! The sums do not survive a restart: documents that an earlier run has projected are read back and counted again.

use super::ProjectPlan;
use super::groups::{Groups, PAIRS_A_PIECE, Sums};
use super::kinds::{GROUP_DRIFT, NEW, TRAINED};
use super::tally::{FIXED_POINT, fixed};
use crate::dataflow::outbox::Outbox;
use crate::failure::Failure;
use crate::job::DriftSummary;
use crate::tables::rows::{DRIFT_BUCKET, MOST_GROUPS};
use corpus::ShardDocument;
use corpus::sample::Split;
use lda::evaluate::drift::{DriftFigures, DriftSums, TermSet};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The drift of some new documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DriftLine {
    /// Their group; `None` for all of them.
    pub(crate) group: Option<String>,
    /// Documents with terms of the vocabulary.
    pub(crate) documents: i64,
    /// Their tokens, without stop words.
    pub(crate) tokens: i64,
    /// Of these, tokens of kept terms.
    pub(crate) kept_tokens: i64,
    /// Of these, tokens of terms that the model knows.
    pub(crate) known_tokens: i64,
    /// The figures.
    pub(crate) figures: DriftFigures,
}

/// Drift of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Drift {
    /// All new documents.
    pub(crate) run: DriftLine,
    /// Each group of them, ascending.
    pub(crate) groups: Vec<DriftLine>,
    /// True if there are too many groups for one line each.
    pub(crate) too_many_groups: bool,
    /// The sums over the documents trained on.
    pub(crate) trained: DriftSums,
    /// True if these are of another result.
    pub(crate) is_foreign: bool,
}

impl Drift {
    /// Whether training again is advised because of the run's figures: only if the model is another result's. A random
    /// sample knows the fewer terms of its own collection the smaller it is.
    pub(crate) fn advises_training(&self) -> bool {
        self.is_foreign && self.run.figures.advises_training()
    }

    /// Returns the line about drift at the end of a run with `held_out` held-out documents; `None` without new
    /// documents. It advises training again only if there are other new documents.
    pub(crate) fn summary(&self, held_out: u64) -> Option<DriftSummary> {
        let figures = &self.run.figures;
        let has_others = self.run.documents.unsigned_abs() > held_out;
        let may_advise = self.is_foreign && has_others;
        let advises = |figures: &DriftFigures| may_advise && figures.advises_training();
        let to_retrain = self.groups.iter().filter(|g| advises(&g.figures));
        (self.run.documents > 0).then(|| DriftSummary {
            documents: self.run.documents,
            known_term_share: figures.known_term_share,
            known_token_share: figures.known_token_share,
            topic_shift_js: figures.topic_shift_js,
            loglik_shift: figures.loglik_shift,
            are_held_out: !has_others,
            retrain: self.advises_training(),
            groups: self.groups.len(),
            groups_to_retrain: to_retrain.count(),
            too_many_groups: self.too_many_groups,
        })
    }
}

/// A worker's counters of drift.
pub(super) struct DriftCounter {
    /// The terms with weight above the prior in some topic.
    known: TermSet,
    /// Documents trained on: its own, and in the end all workers'.
    trained: [DriftSums; 2],
    /// All others with terms of the vocabulary.
    new: [DriftSums; 2],
    is_foreign: bool,
    groups: Groups<DriftSums>,
    /// The hashes of the names of the groups that this worker owns, at most one more than [`MOST_GROUPS`].
    names: HashSet<u64>,
}

/// A document's projection, as in its rows of `documents` and `document_topics`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed<'a> {
    /// Its listed topics, weight and topic.
    pub(crate) topics: &'a [(f32, u16)],
    /// Log-likelihood per token, in nats.
    pub(crate) loglik_per_token: f64,
}

impl DriftCounter {
    /// Creates counters for the plan's documents.
    pub(super) fn new(plan: &ProjectPlan, worker: usize) -> Self {
        let (collection, topics) = (&plan.collection, &plan.published);
        let vocabulary_size = collection.terms_kept as usize;
        let mut known = TermSet::new(vocabulary_size);
        // Under a tree, the terms of its structures are listed even in topics without them.
        let weights = topics.iter().flat_map(|topic| topic.weights.iter().zip(&topic.counts));
        let seen = weights.filter(|&(_, &count)| count > 0.0);
        seen.for_each(|(&(term, _), _)| known.insert(term));
        let empty = DriftSums::new(topics.len(), collection.terms_total as usize);
        let of_group = DriftSums::new(topics.len(), vocabulary_size);
        let trained = plan.trained.as_ref().map(|sums| DriftSums::clone(sums));
        Self {
            known,
            trained: [empty.clone(), trained.unwrap_or_else(|| empty.clone())],
            new: [empty.clone(), empty],
            is_foreign: plan.trained.is_some(),
            groups: Groups::new((plan, worker), GROUP_DRIFT, DRIFT_BUCKET, of_group),
            names: HashSet::new(),
        }
    }

    /// Counts a document with terms.
    pub(super) fn add(
        &mut self,
        document: &ShardDocument,
        split: Split,
        listed: Listed<'_>,
        outbox: &mut Outbox,
    ) {
        let is_new = split != Split::Sample;
        let of_run = match is_new {
            true => &mut self.new[0],
            false => &mut self.trained[0],
        };
        let known = &self.known;
        count(document, listed, known, of_run);
        let pruned = document.pruned.iter();
        pruned.for_each(|&term| of_run.terms.insert(term));
        if let Some(group) = document.group.as_ref().filter(|_| is_new) {
            let count = |sums: &mut DriftSums| count(document, listed, known, sums);
            self.groups.add(group, outbox, count);
        }
    }

    /// Sends what has not been sent yet, once all documents are counted.
    pub(super) fn send(&mut self, outbox: &mut Outbox) {
        self.groups.send(outbox);
        for (kind, [own, _]) in [(TRAINED, &mut self.trained), (NEW, &mut self.new)] {
            own.take(|piece| outbox.send_all(kind, piece.to_vec()));
        }
    }

    /// Adds what a worker has sent.
    pub(super) fn receive(&mut self, kind: u64, words: &[u64]) {
        match kind {
            // They are not listed in any case.
            GROUP_DRIFT if self.names.len() as u64 > MOST_GROUPS => {}
            GROUP_DRIFT => self.groups.receive(words, |name| {
                if self.names.len() as u64 <= MOST_GROUPS {
                    self.names.insert(name);
                }
            }),
            TRAINED => self.trained[1].add_piece(words),
            _ => self.new[1].add_piece(words),
        }
    }

    /// Returns how many groups this worker owns, counted up to one above [`MOST_GROUPS`].
    pub(super) fn count(&self) -> i64 {
        self.names.len() as i64
    }

    /// Returns the drift of this worker's groups, given that all workers own `groups`; none if these are too many.
    pub(super) fn owned(&mut self, groups: i64) -> Result<Vec<DriftLine>, Failure> {
        let mut lines = Vec::new();
        if groups as u64 > MOST_GROUPS {
            self.groups.discard()?;
            return Ok(lines);
        }
        for bucket in self.groups.buckets() {
            let trained = &self.trained[1];
            let take = |name, sums: DriftSums| lines.push(line(Some(name), &sums, trained));
            self.groups.each(bucket, take)?;
        }
        Ok(lines)
    }

    /// Returns the drift of all documents, given how many groups all workers own, and their lines.
    pub(super) fn finish(&self, groups: i64, mut lines: Vec<DriftLine>) -> Drift {
        lines.sort_by(|a, b| a.group.cmp(&b.group));
        Drift {
            run: line(None, &self.new[1], &self.trained[1]),
            groups: lines,
            too_many_groups: groups as u64 > MOST_GROUPS,
            trained: self.trained[1].clone(),
            is_foreign: self.is_foreign,
        }
    }
}

/// Returns the line of some documents, given the sums of those trained on.
fn line(group: Option<String>, sums: &DriftSums, trained: &DriftSums) -> DriftLine {
    DriftLine {
        group,
        documents: sums.documents,
        tokens: sums.tokens,
        kept_tokens: sums.kept_tokens,
        known_tokens: sums.known_tokens,
        figures: sums.figures(trained, FIXED_POINT),
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

/// Returns the sums that do not depend on topics or terms.
fn fixed_sums(sums: &mut DriftSums) -> [&mut i64; 5] {
    [
        &mut sums.documents,
        &mut sums.tokens,
        &mut sums.kept_tokens,
        &mut sums.known_tokens,
        &mut sums.likelihood,
    ]
}

/// A piece has the [`fixed_sums`], the number of topics, pairs of topic and mass, and pairs of place and bits of terms.
impl Sums for DriftSums {
    fn take(&mut self, mut send: impl FnMut(&[u64])) {
        let mut sums = std::mem::take(self);
        let numbered = |(place, value): (usize, u64)| (value != 0).then_some([place as u64, value]);
        let topics = sums.topics.iter().map(|&mass| mass as u64).enumerate();
        let terms = sums.terms.words().iter().copied().enumerate();
        let topics: Vec<[u64; 2]> = topics.filter_map(numbered).collect();
        let terms: Vec<[u64; 2]> = terms.filter_map(numbered).collect();
        let mut fixed = fixed_sums(&mut sums).map(|sum| *sum as u64);
        let of_topics = topics.chunks(PAIRS_A_PIECE).map(|chunk| (chunk, &[][..]));
        let of_terms = terms.chunks(PAIRS_A_PIECE).map(|chunk| (&[][..], chunk));
        for (topics, terms) in of_topics.chain(of_terms) {
            let number = [topics.len() as u64];
            let pairs = [topics.as_flattened(), terms.as_flattened()];
            send(&[&fixed[..], &number, pairs[0], pairs[1]].concat());
            fixed.fill(0);
        }
    }

    fn add_piece(&mut self, piece: &[u64]) {
        let fixed = fixed_sums(self);
        let [topics, pairs @ ..] = &piece[fixed.len()..] else {
            return;
        };
        for (sum, &value) in fixed.into_iter().zip(piece) {
            *sum += value as i64;
        }
        let (topics, terms) = pairs.split_at(2 * *topics as usize);
        for pair in topics.chunks_exact(2) {
            self.topics[pair[0] as usize] += pair[1] as i64;
        }
        for pair in terms.chunks_exact(2) {
            self.terms.extend_word(pair[0] as usize, pair[1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_sums_travel_in_pieces() {
        let vocabulary_size = 64 * (PAIRS_A_PIECE * 2 + 5);
        let empty = DriftSums::new(PAIRS_A_PIECE + 1, vocabulary_size);
        let mut sums = empty.clone();
        for (sum, value) in fixed_sums(&mut sums).into_iter().zip([1, 2, 3, 4, -5]) {
            *sum = value;
        }
        sums.topics.fill(-7);
        (0..vocabulary_size as u32).for_each(|term| sums.terms.insert(term));
        let (mut pieces, mut added) = (0, empty);
        sums.clone().take(|piece| {
            pieces += 1;
            added.add_piece(piece);
        });
        assert!(pieces == 2 + 3 && added == sums);
    }

    #[test]
    fn groups_are_counted_over_all_workers_before_there_are_rows() {
        let folder = tempfile::tempdir().unwrap();
        let empty = DriftSums::new(1, 64);
        let counter = |worker| DriftCounter {
            known: TermSet::new(64),
            trained: [empty.clone(), empty.clone()],
            new: [empty.clone(), empty.clone()],
            is_foreign: false,
            groups: Groups::in_buckets(
                (GROUP_DRIFT, worker),
                3,
                folder.path().join("groups"),
                empty.clone(),
            ),
            names: HashSet::new(),
        };
        for workers in 1..=4 {
            let mut all: Vec<_> = (0..workers).map(|w| counter([w, workers])).collect();
            for worker in 0..workers {
                let mut outbox = Outbox::new([worker, workers]);
                for group in 0..600 {
                    let add = |sums: &mut DriftSums| sums.topics[0] += 1;
                    let group = format!("group {group}");
                    all[worker].groups.add(&group, &mut outbox, add);
                }
                all[worker].send(&mut outbox);
                for block in outbox.all().into_iter().filter(|b| b.tag() == GROUP_DRIFT) {
                    all[block.target().unwrap()].receive(GROUP_DRIFT, block.words());
                }
            }
            let groups = all.iter().map(DriftCounter::count).sum::<i64>();
            assert_eq!(groups, 600, "{workers} workers");
            let mut owned = |groups| {
                let lines = all.iter_mut().flat_map(|it| it.owned(groups).unwrap());
                lines.count()
            };
            assert_eq!(owned(MOST_GROUPS as i64), 600);
            assert_eq!(owned(MOST_GROUPS as i64 + 1), 0);
        }
    }
}
