//! Sums over the projected documents from which several tables are made: sizes of topics, figures of the evaluation. All
//! sums are integers, so that their order does not matter.

use bytemuck::{Pod, Zeroable};

use super::labels::LabelSums;
use super::rollup::fixed;
use corpus::ShardDocument;
use corpus::sample::Split;
use lda::evaluate::diagnostics::allocation::{self, Allocation};
use lda::infer::summary::Projection;
use lda::math::FIXED_POINT;
use lda::math::special::ln;

/// Sums over some documents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tally {
    /// Documents, of any status.
    pub(crate) documents: u64,
    /// Sums over the documents of each topic.
    topics: Vec<TopicTally>,
    /// For each split: log-likelihood in units of 2⁻²⁰ nats, tokens, documents.
    pub(crate) likelihood: [[i64; 3]; 3],
    /// The row that [`LabelSums`] reads.
    pub(crate) labels: Vec<i64>,
}

/// Sums over the documents of a topic.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
struct TopicTally {
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
    /// Creates an empty tally, for documents with `labels` labels.
    pub(crate) fn new(topic_count: usize, labels: usize) -> Self {
        Self {
            documents: 0,
            topics: vec![TopicTally::default(); topic_count],
            likelihood: [[0; 3]; 3],
            labels: LabelSums::none(labels),
        }
    }

    /// Adds another tally.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut sums = self.sums();
        (sums.iter_mut().zip(other.sums())).for_each(|(sum, more)| *sum += more);
        *self = Self::from_sums(&sums, self);
    }

    /// Returns all sums in one row, as [`from_sums`](Self::from_sums) reads them.
    pub(crate) fn sums(&self) -> Vec<i64> {
        let mut sums = vec![self.documents as i64];
        sums.extend(self.likelihood.as_flattened());
        sums.extend(bytemuck::cast_slice::<_, i64>(&self.topics));
        sums.extend(&self.labels);
        sums
    }

    /// Returns a tally with these sums, of the shape of `like`.
    pub(crate) fn from_sums(sums: &[i64], like: &Self) -> Self {
        let mut tally = Self::new(like.topics.len(), 0);
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

    /// Returns the log-likelihood per token, in nats, of a split, if it has any token.
    pub(crate) fn log_likelihood(&self, split: Split) -> Option<f64> {
        let [sum, tokens, _] = self.likelihood[split as usize];
        (tokens > 0).then(|| sum as f64 / FIXED_POINT / tokens as f64)
    }
}
