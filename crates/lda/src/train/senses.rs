//! Tokens under a tree-structured prior (Hu & Boyd-Graber 2012): once its topic is drawn, a token takes one of its
//! term's leaves, and statistics count leaves instead of terms.
//!
//! A token is remembered in 16 bits as z + K · s: its topic, and the place of its leaf among its term's leaves.
//!
//! The edges of a cannot-link have tiny priors, so the first token of a topic fixes its branch for all later ones.
//! Documents of the first round are sampled independently, and would start every branch in every topic. So each
//! topic starts with a small weight (`start`) on one branch: the one with most of the topic's counts in the model
//! to start from or, without such counts, one dealt in rotation.

use std::collections::BTreeMap;

use crate::infer::Bag;
use crate::infer::sampler::Sampler;
use crate::math::random::{Stage, Stream};
use crate::model::factors::FactorTable;
use crate::model::parameters::{Entry, Parameters};
use crate::model::statistics::Moves;
use crate::model::tree::{ROOT, Tree};

/// The λ̃_kl that a leaf begins with, in units of η: negligible among the root's edges.
const FIRST_WEIGHT: f64 = 1e-3;
/// The first weight must exceed the edge priors of a cannot-link's branches by this factor.
const FAR_BELOW: f64 = 100.0;

/// How many numbers 16 bits can hold.
const NUMBERS: usize = 1 << u16::BITS;

/// Returns how many numbers a token can have.
pub(crate) fn number_count(tree: &Tree, topic_count: usize) -> usize {
    tree.most_senses() * topic_count
}

/// Returns whether tokens of `topic_count` topics can be remembered with their leaves.
pub fn are_remembered(tree: &Tree, topic_count: usize) -> bool {
    number_count(tree, topic_count) <= NUMBERS
}

/// Returns the model that training under a tree starts from: part `part[0]` of `part[1]`.
pub(super) fn start(tree: &Tree, topic_count: usize, seed: u64, part: [usize; 2]) -> Parameters {
    let row = first_weights(tree, topic_count, seed, |_| Vec::new());
    Parameters::from_rows(topic_count, tree.leaf_count(), part, row)
}

/// Returns the row that each leaf begins with: a small weight in each topic that begins on its branch of a
/// cannot-link. `known` returns a leaf's counts by topic in the model to start from, if there is one.
pub(super) fn first_weights(
    tree: &Tree,
    topic_count: usize,
    seed: u64,
    known: impl Fn(u32) -> Vec<Entry>,
) -> impl Fn(u32) -> Vec<Entry> {
    let weight = FIRST_WEIGHT * tree.eta();
    // The branches of each node, in order, and the largest prior of an edge to them.
    let mut branches = vec![(Vec::new(), 0.0f64); tree.inner_count()];
    for node in 1..tree.node_count() as u32 {
        let (children, largest) = &mut branches[tree.parent(node) as usize];
        children.push(node);
        *largest = largest.max(tree.prior(node));
    }
    let is_link = |node: u32| {
        let (children, largest) = &branches[node as usize];
        node != ROOT && children.len() > 1 && largest * FAR_BELOW <= weight
    };
    let links = |leaf: u32| {
        let path = tree.path(leaf);
        path.filter(|&node| is_link(tree.parent(node))).collect::<Vec<_>>()
    };
    let mut counts: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for leaf in 0..tree.leaf_count() as u32 {
        for branch in links(leaf) {
            for entry in known(leaf) {
                *counts.entry((branch, entry.topic)).or_default() += f64::from(entry.value);
            }
        }
    }
    let deal = |(link, (children, _)): (usize, &(Vec<u32>, f64))| {
        if !is_link(link as u32) {
            return Vec::new();
        }
        let count = children.len() as u64;
        let first = Stream::keyed(seed, Stage::Start, 1, link as u64).below(count);
        let begun = |topic: u32| {
            let dealt = children[((u64::from(topic) + first) % count) as usize];
            let of = |branch: u32| counts.get(&(branch, topic)).copied().unwrap_or(0.0);
            let better =
                |best: u32, &branch: &u32| if of(branch) > of(best) { branch } else { best };
            children.iter().fold(dealt, better)
        };
        (0..topic_count as u32).map(begun).collect()
    };
    // For each cannot-link, the branch that each topic begins on.
    let begun: Vec<Vec<u32>> = branches.iter().enumerate().map(deal).collect();
    move |leaf: u32| -> Vec<Entry> {
        let links: Vec<u32> =
            tree.path(leaf).filter(|&node| !begun[tree.parent(node) as usize].is_empty()).collect();
        let begins = |&topic: &u32| {
            let is_begun = |&node: &u32| begun[tree.parent(node) as usize][topic as usize] == node;
            !links.is_empty() && links.iter().all(is_begun)
        };
        let entry = |topic| Entry { topic, value: weight as f32 };
        (0..topic_count as u32).filter(begins).map(entry).collect()
    }
}

/// A sampler of leaves, document by document.
#[derive(Debug, Default)]
pub(super) struct Senses {
    remembered: Vec<u16>,
}

impl Senses {
    /// Draws a leaf for each token of the document sampled last, and counts it `weight` times.
    pub(super) fn count(
        &mut self,
        (sampler, weight): (&Sampler, u32),
        (table, tree): (FactorTable<'_>, &Tree),
        stream: &mut Stream,
        statistics: &mut Moves,
    ) {
        self.draw(sampler, (table, tree), None, stream, |leaf, topic, _| {
            statistics.add(leaf, topic, i64::from(weight));
        });
    }

    /// Draws leaves likewise for a document that counts in the model as `before`, and counts the changes.
    pub(super) fn recount(
        &mut self,
        (sampler, before): (&Sampler, &[u16]),
        (table, tree): (FactorTable<'_>, &Tree),
        stream: &mut Stream,
        statistics: &mut Moves,
    ) {
        let change = |leaf, topic, old: Option<(u32, u16)>| {
            if let Some((old_leaf, old_topic)) = old
                && (old_leaf, old_topic) != (leaf, topic)
            {
                statistics.add(old_leaf, old_topic, -1);
                statistics.add(leaf, topic, 1);
            }
        };
        self.draw(sampler, (table, tree), Some(before), stream, change);
    }

    /// Draws the leaf of each token, and passes it to `visit` with its topic, and with the leaf and topic that the
    /// token had `before`.
    fn draw(
        &mut self,
        sampler: &Sampler,
        (table, tree): (FactorTable<'_>, &Tree),
        before: Option<&[u16]>,
        stream: &mut Stream,
        mut visit: impl FnMut(u32, u16, Option<(u32, u16)>),
    ) {
        let topics = table.topic_count() as u16;
        self.remembered.clear();
        for (term, row, own) in sampler.runs() {
            let first = tree.leaves_of(term).start;
            for &topic in own {
                let old = before.map(|before| {
                    let number = before[self.remembered.len()];
                    (first + u32::from(number / topics), number % topics)
                });
                let same = old.filter(|&(_, old_topic)| old_topic == topic);
                let sense = table.draw_sense(term, row, topic, same.map(|(leaf, _)| leaf), stream);
                visit(first + u32::from(sense), topic, old);
                // Without memory there may be more senses than 16 bits can hold.
                self.remembered.push(topics.wrapping_mul(sense).wrapping_add(topic));
            }
        }
    }

    /// Returns the tokens of the last document as they are to be remembered.
    pub(super) fn remembered(&self) -> &[u16] {
        &self.remembered
    }
}

/// Counts a document as it is `remembered`, without sampling it.
pub(super) fn count_remembered(
    bag: Bag<'_>,
    remembered: &[u16],
    (tree, topic_count): (&Tree, usize),
    statistics: &mut Moves,
) {
    let mut rest = remembered;
    for (&term, &count) in bag.terms.iter().zip(bag.counts).rev() {
        let (own, others) = rest.split_at(count as usize);
        for &number in own {
            let (sense, topic) = (number / topic_count as u16, number % topic_count as u16);
            statistics.add(tree.leaves_of(term).start + u32::from(sense), topic, 1);
        }
        rest = others;
    }
}
