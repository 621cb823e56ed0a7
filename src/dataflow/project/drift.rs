//! Drift of the new documents, counted while all documents are projected.
//!
//! Every worker sums over the run. Sums over a group go to the worker given by the hash of its
//! name, so that each worker holds some of the groups. They are held as long as they fit into
//! [`MOST_GROUP_BYTES`]; if a collection has more groups than that, no group gets a row, for any
//! number of workers.
//!
//! The run's distinct terms are kept and pruned ones; a group's are kept ones alone, because a set
//! of all terms for each group would take many times the memory.
//!
//! The sums do not survive a restart: what an earlier run has projected is read back and counted again.

mod groups;

use super::kinds::{GROUP_DRIFT, NEW, TRAINED};
use super::tally::{FIXED_POINT, fixed};
use crate::dataflow::outbox::Outbox;
use crate::job::DriftSummary;
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::sample::Split;
use groups::{Groups, pack, unpack};
use lda::evaluate::drift::{DriftFigures, DriftSums, TermSet};
use lda::model::published::PublishedTopic;
use serde::{Deserialize, Serialize};

/// Bytes that the sums of all groups may take.
const MOST_GROUP_BYTES: usize = 1 << 30;

/// How far some new documents have moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DriftLine {
    /// Their group; `None` for all of them.
    pub(crate) group: Option<String>,
    /// Documents with terms of the vocabulary.
    pub(crate) documents: i64,
    /// Their tokens, stop words left out.
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
    /// Of all new documents.
    pub(crate) run: DriftLine,
    /// Of each group of them, ascending.
    pub(crate) groups: Vec<DriftLine>,
    /// True if there are too many groups for one line each.
    pub(crate) too_many_groups: bool,
}

impl Drift {
    /// The line about drift at the end of a run with this many documents held out; `None` without new documents. There
    /// must be others to train on again.
    pub(crate) fn summary(&self, held_out: u64) -> Option<DriftSummary> {
        let figures = &self.run.figures;
        let has_others = self.run.documents.unsigned_abs() > held_out;
        let advises = |figures: &DriftFigures| has_others && figures.advises_training();
        let to_retrain = self.groups.iter().filter(|g| advises(&g.figures));
        (self.run.documents > 0).then(|| DriftSummary {
            documents: self.run.documents,
            known_term_share: figures.known_term_share,
            known_token_share: figures.known_token_share,
            topic_shift_js: figures.topic_shift_js,
            loglik_shift: figures.loglik_shift,
            are_held_out: !has_others,
            retrain: advises(figures),
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
    groups: Groups,
}

/// A document's projection, as its rows of `documents` and `document_topics` have it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed<'a> {
    /// Its listed topics, weight and topic.
    pub(crate) topics: &'a [(f32, u16)],
    /// Log-likelihood per token, in nats.
    pub(crate) loglik_per_token: f64,
}

impl DriftCounter {
    /// For documents of the collection, projected on these topics.
    pub(super) fn new(collection: &Collection, topics: &[PublishedTopic]) -> Self {
        let vocabulary_size = collection.terms_kept as usize;
        let mut known = TermSet::new(vocabulary_size);
        // Under a tree, terms of its structures are listed that no topic has.
        let weights = topics
            .iter()
            .flat_map(|topic| topic.weights.iter().zip(&topic.counts));
        let seen = weights.filter(|&(_, &count)| count > 0.0);
        seen.for_each(|(&(term, _), _)| known.insert(term));
        let empty = DriftSums::new(topics.len(), collection.terms_total as usize);
        let of_group = DriftSums::new(topics.len(), vocabulary_size);
        Self {
            known,
            trained: [empty.clone(), empty.clone()],
            new: [empty.clone(), empty],
            groups: Groups::new(of_group, MOST_GROUP_BYTES),
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
            self.groups.add(group, count, outbox);
        }
    }

    /// Sends what was not sent yet, once all documents are counted.
    pub(super) fn send(&mut self, outbox: &mut Outbox) {
        self.groups.send(outbox);
        for (kind, sums) in [(TRAINED, &self.trained), (NEW, &self.new)] {
            pack("", &sums[0], |piece| outbox.send_all(kind, piece));
        }
    }

    /// Adds what another worker has sent.
    pub(super) fn receive(&mut self, kind: u64, words: &[u64]) {
        match kind {
            GROUP_DRIFT => self.groups.receive(words),
            TRAINED => unpack(words, |_, add| add(&mut self.trained[1])),
            _ => unpack(words, |_, add| add(&mut self.new[1])),
        }
    }

    /// Drift of the groups that this worker owns, and whether they are too many.
    pub(super) fn owned(&self) -> (Vec<DriftLine>, bool) {
        let (held, too_many) = self.groups.held();
        let line = |(group, sums): (&String, _)| self.line(Some(group.clone()), sums);
        (held.iter().map(line).collect(), too_many)
    }

    /// Drift of all documents, given that of the groups of each worker.
    pub(super) fn finish(&self, owned: Vec<(Vec<DriftLine>, bool)>) -> Drift {
        let (mut groups, mut too_many_groups) = (Vec::new(), false);
        for (lines, too_many) in owned {
            groups.extend(lines);
            too_many_groups |= too_many;
        }
        too_many_groups |= groups.len() > self.groups.most();
        if too_many_groups {
            groups.clear();
        }
        groups.sort_by(|a, b| a.group.cmp(&b.group));
        Drift {
            run: self.line(None, &self.new[1]),
            groups,
            too_many_groups,
        }
    }

    fn line(&self, group: Option<String>, sums: &DriftSums) -> DriftLine {
        DriftLine {
            group,
            documents: sums.documents,
            tokens: sums.tokens,
            kept_tokens: sums.kept_tokens,
            known_tokens: sums.known_tokens,
            figures: sums.figures(&self.trained[1], FIXED_POINT),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_too_many_however_many_workers_own_them() {
        let empty = DriftSums::new(1, 1);
        let counter = DriftCounter {
            known: TermSet::new(1),
            trained: [empty.clone(), empty.clone()],
            new: [empty.clone(), empty.clone()],
            groups: Groups::new(empty, 1000),
        };
        let most = counter.groups.most();
        let line = |group: usize| DriftLine {
            group: Some(group.to_string()),
            ..DriftLine::default()
        };
        let dealt = |groups: usize, workers: usize| -> Vec<_> {
            let own = |worker| (worker..groups).step_by(workers).map(line).collect();
            (0..workers).map(|worker| (own(worker), false)).collect()
        };
        assert_eq!(most, 3);
        for workers in 1..=3 {
            let drift = counter.finish(dealt(most, workers));
            let groups: Vec<_> = drift.groups.iter().flat_map(|line| &line.group).collect();
            assert_eq!(groups, ["0", "1", "2"], "{workers} workers");
            let drift = counter.finish(dealt(most + 1, workers));
            assert!(drift.too_many_groups && drift.groups.is_empty());
        }
        let drift = counter.finish(vec![(Vec::new(), true), (vec![line(0)], false)]);
        assert!(drift.too_many_groups && drift.groups.is_empty());
    }
}
