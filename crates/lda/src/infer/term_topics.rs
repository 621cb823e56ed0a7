//! Each term's topics, without those that hardly any of its tokens have: the topics that CVB0 visits.
//!
//! After averaging over passes, a term has a tail of topics with a sample or two. At K = 1000, six sevenths of a
//! term's entries together have some 3 % of its prior mass; without them inference takes half the time and loses
//! nothing (docs/measurements/DEFAULTS.md).

use crate::model::factors::FactorTable;

/// Returns the smallest share of a term with which a topic is kept.
///
/// Whole rows have no smoothing that replaces the rest: of K topics the largest share is at least 1 / K, and is
/// always kept.
pub(super) fn least_share(is_whole: bool, topic_count: usize) -> f32 {
    const LEAST: f32 = 1e-3;
    if is_whole { LEAST.min(0.5 / topic_count as f32) } else { LEAST }
}

/// A topic of a term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermTopic {
    /// The topic.
    pub topic: u32,
    /// g_kw; e_kw of a row that is whole.
    pub weight: f32,
}

/// The topics of every term. Built once per model, and never changed.
#[derive(Clone, Debug, Default)]
pub struct TermTopics {
    /// Where each term's topics begin; one longer than there are terms.
    starts: Vec<usize>,
    topics: Vec<TermTopic>,
}

impl TermTopics {
    /// Lists the topics of all terms below `vocabulary_size`; those without factors have none.
    pub fn new(table: FactorTable<'_>, vocabulary_size: usize) -> Self {
        let alpha = &table.smoothing().alpha;
        let (mut starts, mut topics) = (vec![0], Vec::new());
        for term in 0..vocabulary_size as u32 {
            if let Some(row) = table.find(term) {
                let sparse = table.sparse(row);
                let (weights, mass) = match table.whole(row) {
                    Some(factors) => (factors, table.prior_mass(row)),
                    None => (sparse.weights, row.alpha_mass),
                };
                let least = least_share(row.is_whole(), alpha.len()) * mass;
                let entries = sparse.topics.iter().zip(weights);
                let heavy = entries.filter(|(k, g)| alpha[usize::from(**k)] * **g >= least);
                topics.extend(
                    heavy.map(|(&topic, &weight)| TermTopic { topic: u32::from(topic), weight }),
                );
            }
            starts.push(topics.len());
        }
        Self { starts, topics }
    }

    /// Returns the topics of a term, ascending.
    #[inline]
    pub fn of(&self, term: u32) -> &[TermTopic] {
        let term = term as usize;
        &self.topics[self.starts[term]..self.starts[term + 1]]
    }
}
