//! Training that starts from another model: its topics are the initial ones, and keep their numbers.
//!
//! If the two models have the same tree-structured prior, each document is first sampled against that model
//! ([`Action::Assign`](super::schedule::Action::Assign)), instead of getting random topics.
//!
//! If the priors differ, training is interactive (Hu, Boyd-Graber & Satinoff 2011): only documents that contain
//! terms around which they differ are visited, and [`Unassigned`] decides which assignments are forgotten. These
//! documents are first sampled against the model, and the resulting counts are removed from it
//! ([`Action::Withdraw`](super::schedule::Action::Withdraw)); the rest stays as it is, and Gibbs passes add the
//! counts of those documents.

use std::fmt::Write;
use std::sync::Arc;

use super::senses;
use crate::bags::Bags;
use crate::infer::Bag;
use crate::model::Priors;
use crate::model::parameters::{
    Entry, Parameters, TermRow, add_to_row, grid_step, on_grid, scaled,
};
use crate::model::tree::{Node, ROOT, Tree};

/// Which assignments are forgotten if the prior over terms has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unassigned {
    /// None: the senses of a term share the counts of its topics evenly.
    Nothing,
    /// Those of the terms around which the trees differ.
    Terms,
    /// Those of all terms of the documents that contain such a term.
    Documents,
}

/// A model that training starts from.
#[derive(Clone, Debug)]
pub struct WarmStart {
    unassigned: Unassigned,
    parameters: Parameters,
    tree: Option<Arc<Tree>>,
    /// α of that model.
    alpha: Vec<f64>,
    /// For each term, its number in that model, if it has one.
    terms: Vec<Option<u32>>,
    /// For each term, whether the trees differ around it.
    changed: Vec<bool>,
    is_partial: bool,
}

impl WarmStart {
    /// Creates a warm start from `parameters`, which are one part, and their `priors`; `terms` are the numbers that
    /// they have for the terms of the model to be trained, whose prior has the structures of `tree`.
    pub fn new(
        unassigned: Unassigned,
        (parameters, priors): (Parameters, &Priors),
        terms: Vec<Option<u32>>,
        tree: Option<&Tree>,
    ) -> Self {
        let before = priors.tree.as_deref();
        let mut numbers = vec![None; parameters.vocabulary_size()];
        for (number, term) in (0..).zip(&terms) {
            if let Some(term) = *term {
                numbers[term as usize] = Some(number);
            }
        }
        let [old, new] =
            [surroundings(before, &|term| numbers[term as usize]), surroundings(tree, &Some)];
        let of = |all: &[Vec<Arc<str>>], term: u32| all.get(term as usize).cloned();
        let changed: Vec<bool> = (0..)
            .zip(&terms)
            .map(|(number, term)| {
                let before = term.and_then(|term| of(&old, term));
                before.unwrap_or_default() != of(&new, number).unwrap_or_default()
            })
            .collect();
        Self {
            unassigned,
            is_partial: changed.contains(&true),
            changed,
            parameters,
            tree: priors.tree.clone(),
            alpha: priors.alpha.clone(),
            terms,
        }
    }

    /// Returns α of the model.
    pub fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// Returns which assignments are forgotten.
    pub fn unassigned(&self) -> Unassigned {
        self.unassigned
    }

    /// Returns whether the prior has changed, so that only some documents are visited again.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Visits all documents, as without a change: the trees differ only because the vocabularies do.
    pub fn of_same_knowledge(self) -> Self {
        Self { unassigned: Unassigned::Nothing, is_partial: false, ..self }
    }

    /// Returns the terms around which the trees differ.
    pub fn changed_terms(&self) -> impl Iterator<Item = u32> {
        let terms = (0..).zip(&self.changed);
        terms.filter_map(|(term, &is_changed)| is_changed.then_some(term))
    }

    /// Returns the parameter rows of these terms, where `priors` are those to be trained with, and their contents
    /// when the documents are withdrawn: nothing or, if all terms are unassigned, the first weights of
    /// cannot-links, which last until each document has been assigned again.
    pub fn changed_rows(&self, priors: &Priors, seed: u64) -> Vec<TermRow> {
        if !self.is_partial {
            return Vec::new();
        }
        let tree = priors.tree.as_deref();
        let rows = |term: u32| match tree {
            Some(tree) => tree.leaves_of(term),
            None => term..term + 1,
        };
        let needs_first = self.unassigned == Unassigned::Documents;
        let first = tree.filter(|_| needs_first);
        let first = first.map(|tree| self.first_weights(tree, priors.topic_count(), seed));
        let begun = |row: u32| first.as_ref().map_or_else(Vec::new, |first| first(row));
        let rows = self.changed_terms().flat_map(rows);
        rows.map(|row| (row, begun(row))).collect()
    }

    /// Returns whether a document is visited again: it contains a term around which the trees differ, or they are
    /// the same.
    pub fn revisits(&self, bag: Bag<'_>) -> bool {
        let is_changed = |&term: &u32| self.changed[term as usize];
        bag.terms.iter().any(is_changed) || !self.is_partial()
    }

    /// Returns the number of documents of a sample that are visited again, and of their tokens.
    pub fn revisited(&self, sample: &Bags) -> [u64; 2] {
        let bags = (0..sample.len()).map(|index| sample.bag(index));
        let revisited = bags.filter(|&bag| self.revisits(bag));
        revisited
            .fold([0; 2], |[documents, tokens], bag| [documents + 1, tokens + bag.token_count()])
    }

    /// Returns the model that training with `priors` starts from: part `part[0]` of `part[1]`.
    pub fn start(&self, priors: &Priors, seed: u64, part: [usize; 2]) -> Parameters {
        let topics = priors.topic_count();
        let rows = priors.row_count(self.terms.len());
        let tree = priors.tree.as_deref();
        let first = tree.map(|tree| self.first_weights(tree, topics, seed));
        let row = |row: u32| {
            let (term, place) = match tree {
                Some(tree) => (tree.term(row), row - tree.leaves_of(tree.term(row)).start),
                None => (row, 0),
            };
            if !self.changed[term as usize] {
                return self.row(term, place, topics);
            }
            let begun = first.as_ref().map_or_else(Vec::new, |first| first(row));
            match self.unassigned {
                Unassigned::Nothing => {
                    let senses = tree.map_or(1, |tree| tree.leaves_of(term).len());
                    let mut row = self.shared_row(term, senses, topics);
                    add_to_row(&mut row, scaled(&begun, 1.0));
                    row
                }
                Unassigned::Terms | Unassigned::Documents => begun,
            }
        };
        Parameters::from_rows(topics, rows, part, row)
    }

    /// Returns the weights that topics begin with on the branches of cannot-links: each topic on the branch whose
    /// terms have most of its counts in the model.
    fn first_weights<'a>(
        &'a self,
        tree: &'a Tree,
        topics: usize,
        seed: u64,
    ) -> impl Fn(u32) -> Vec<Entry> + 'a {
        let known = move |leaf: u32| {
            let term = tree.term(leaf);
            self.shared_row(term, tree.leaves_of(term).len(), topics)
        };
        senses::first_weights(tree, topics, seed, known)
    }

    /// Returns the model's rows of a term.
    fn rows_of(&self, term: u32) -> std::ops::Range<u32> {
        match (self.terms[term as usize], &self.tree) {
            (None, _) => 0..0,
            (Some(term), Some(tree)) => tree.leaves_of(term),
            (Some(term), None) => term..term + 1,
        }
    }

    /// Returns a row of a term, by its place among the term's rows, with the scale applied.
    fn row(&self, term: u32, place: u32, topics: usize) -> Vec<Entry> {
        let rows = self.rows_of(term);
        let row = (rows.start + place..rows.end).next();
        row.map_or_else(Vec::new, |row| self.sum(row..row + 1, 1.0, topics))
    }

    /// Returns the row of each of a term's `senses`: an equal share of all its rows.
    fn shared_row(&self, term: u32, senses: usize, topics: usize) -> Vec<Entry> {
        self.sum(self.rows_of(term), 1.0 / senses as f64, topics)
    }

    /// Returns the sum of some rows, times `share`.
    fn sum(&self, rows: std::ops::Range<u32>, share: f64, topics: usize) -> Vec<Entry> {
        let factor = self.parameters.scale() * share;
        let mut sums = vec![0.0; topics];
        for entry in rows.flat_map(|row| self.parameters.row(row)) {
            sums[entry.topic as usize] += f64::from(entry.value) * factor;
        }
        if self.is_partial() {
            // Counts will be added and subtracted.
            let step = grid_step(sums.iter().sum());
            for sum in &mut sums {
                *sum = on_grid(*sum, step);
            }
        }
        let entry = |(topic, &sum): (u32, &f64)| Entry { topic, value: sum as f32 };
        let sums = (0..).zip(&sums).map(entry);
        sums.filter(|entry| entry.value > 0.0).collect()
    }
}

/// Returns, for each term, descriptions of the structures that its leaves are in, in order, without the names of
/// nodes and the priors of the root's edges, which are measured by η. Terms are described by the numbers that
/// `number` returns.
fn surroundings(tree: Option<&Tree>, number: &dyn Fn(u32) -> Option<u32>) -> Vec<Vec<Arc<str>>> {
    let Some(tree) = tree else {
        return Vec::new();
    };
    let structures: Vec<Arc<str>> = tree
        .structures()
        .iter()
        .map(|node| {
            let mut text = String::new();
            describe(node, number, &mut text);
            text.into()
        })
        .collect();
    // After the root, the structures are the first inner nodes, in this order.
    let of_leaf = |leaf: u32| {
        let top = tree.path(leaf).find(|&node| tree.parent(node) == ROOT)?;
        structures.get(top as usize - 1).cloned()
    };
    (0..tree.vocabulary_size() as u32)
        .map(|term| tree.leaves_of(term).filter_map(of_leaf).collect())
        .collect()
}

fn describe(node: &Node, number: &dyn Fn(u32) -> Option<u32>, text: &mut String) {
    let mut terms: Vec<_> = node.terms.iter().map(|&term| number(term)).collect();
    terms.sort_unstable();
    let leaf_prior = if terms.is_empty() { 0.0 } else { node.leaf_prior };
    let _ = write!(text, "({terms:?} {leaf_prior}");
    for child in &node.children {
        let _ = write!(text, " {}", child.prior);
        describe(child, number, text);
    }
    text.push(')');
}
