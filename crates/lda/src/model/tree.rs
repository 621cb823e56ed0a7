//! Trees as a prior over a topic's terms (Hu & Boyd-Graber 2012): a term is drawn by a walk from the root to a
//! leaf, with a Dirichlet prior at each inner node.
//!
//! An edge is identified by the node that it leads to.

#[cfg(test)]
pub(crate) mod examples;

use std::collections::VecDeque;
use std::ops::Range;

use super::statistics::MAX_TERMS;

/// The root's number.
pub const ROOT: u32 = 0;

/// The maximum number of edges in a path: an edge-masked count has a bit for each.
pub const MAX_DEPTH: usize = 32;

/// A rooted tree whose leaves bear terms, with a prior β for every edge.
///
/// Nodes are numbered: the root 0, then the other inner nodes level by level, then the leaves. Leaves also have
/// numbers of their own, from 0, ascending by term and then by parent: in a tree without structure, a leaf's number
/// is that of its term.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(try_from = "TreeDescription")]
pub struct Tree {
    eta: f64,
    /// The name of each inner node; the root's is "root".
    names: Vec<String>,
    /// The parent of each node; the root's is itself.
    parents: Vec<u32>,
    /// β of the edge to each node; the root's is 1.
    priors: Vec<f64>,
    /// Σ_j β_{i→j} of each inner node.
    prior_sums: Vec<f64>,
    /// The term of each leaf.
    terms: Vec<u32>,
    /// S_λ of each leaf (Eq. 4).
    smoothing: Vec<f64>,
    /// The first leaf of each term, then the number of leaves.
    starts: Vec<u32>,
    /// For each inner node, itself or the node above it that is a child of the root; the root's is itself.
    tops: Vec<u32>,
    cousins: Vec<Cousins>,
}

/// The paths below one inner child of the root, itself included: counting a token on one of these paths changes the
/// normalisers of all of them, and of no others (the paper's cousin sets, Section 4).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cousins {
    /// Inner nodes, each after its parent.
    pub inner: Vec<u32>,
    /// Leaves by their own numbers, ascending.
    pub leaves: Vec<u32>,
}

/// A leaf while the tree is built: term, parent, β.
type Draft = (u32, u32, f64);

impl Tree {
    /// Builds the tree of these structures, which become the inner children of the root. Terms in none of them are
    /// attached to the root, with the prior `eta`.
    ///
    /// # Errors
    /// Returns an error if the structures are not a valid tree over terms below `vocabulary_size`, or a prior is
    /// invalid.
    pub fn new(vocabulary_size: usize, eta: f64, structures: &[Node]) -> Result<Self, TreeError> {
        let mut tree = Self::only_root(eta);
        check_prior(eta, || tree.names[0].clone())?;
        check_leaves(vocabulary_size)?;
        let mut leaves: Vec<Draft> = Vec::new();
        let mut queue: VecDeque<(&Node, u32, usize)> =
            structures.iter().map(|node| (node, ROOT, 1)).collect();
        while let Some((node, parent, depth)) = queue.pop_front() {
            tree.check(node, parent, depth, vocabulary_size)?;
            let number = tree.push_inner(node, parent);
            let own = node.terms.iter();
            leaves.extend(own.map(|&term| (term, number, node.leaf_prior)));
            let children = node.children.iter();
            queue.extend(children.map(|child| (child, number, depth + 1)));
        }
        let mut is_structured = vec![false; vocabulary_size];
        for &(term, ..) in &leaves {
            is_structured[term as usize] = true;
        }
        let ordinary = (0..).zip(&is_structured).filter(|&(_, within)| !within);
        leaves.extend(ordinary.map(|(term, _)| (term, ROOT, eta)));
        check_leaves(leaves.len())?;
        leaves.sort_by_key(|&(term, parent, _)| (term, parent));
        tree.push_leaves(&leaves, vocabulary_size);
        Ok(tree)
    }

    /// Builds the tree without structure, of plain LDA: all terms are attached to the root.
    ///
    /// # Errors
    /// Returns an error if the prior `eta` is invalid, or there are too many terms.
    pub fn flat(vocabulary_size: usize, eta: f64) -> Result<Self, TreeError> {
        Self::new(vocabulary_size, eta, &[])
    }

    fn only_root(eta: f64) -> Self {
        Self {
            eta,
            names: vec!["root".to_owned()],
            parents: vec![ROOT],
            priors: vec![1.0],
            prior_sums: Vec::new(),
            terms: Vec::new(),
            smoothing: Vec::new(),
            starts: vec![0],
            tops: vec![ROOT],
            cousins: Vec::new(),
        }
    }

    fn check(
        &self,
        node: &Node,
        parent: u32,
        depth: usize,
        vocabulary_size: usize,
    ) -> Result<(), TreeError> {
        let name = || self.name_below(parent, &node.name);
        let refuse = |problem: &str| Err(TreeError(format!("node {}{problem}", name())));
        check_prior(node.prior, name)?;
        check_prior(node.leaf_prior, name)?;
        if node.terms.is_empty() && node.children.is_empty() {
            return refuse(" has neither terms nor nodes below it: leave it out");
        }
        if depth >= MAX_DEPTH {
            return refuse(&format!(
                " is {MAX_DEPTH} edges below the root: a leaf is at most that deep"
            ));
        }
        let mut sorted = node.terms.clone();
        sorted.sort_unstable();
        if let Some(&term) = sorted.last().filter(|&&t| t as usize >= vocabulary_size) {
            return refuse(&format!(
                ": there is no term {term} in a vocabulary of {vocabulary_size}"
            ));
        }
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => refuse(&format!(
                ": term {} is on two of its leaves; one sense is one leaf",
                pair[0]
            )),
            None => Ok(()),
        }
    }

    /// Returns the name of a node below `parent`, after those of the nodes above it: `animals/birds`.
    fn name_below(&self, parent: u32, name: &str) -> String {
        let mut whole = name.to_owned();
        let mut node = parent;
        while node != ROOT {
            whole = format!("{}/{whole}", self.names[node as usize]);
            node = self.parents[node as usize];
        }
        whole
    }

    fn push_inner(&mut self, node: &Node, parent: u32) -> u32 {
        let number = self.names.len() as u32;
        let top = if parent == ROOT {
            self.cousins.push(Cousins::default());
            number
        } else {
            self.tops[parent as usize]
        };
        self.cousins[top as usize - 1].inner.push(number);
        self.tops.push(top);
        self.names.push(node.name.clone());
        self.parents.push(parent);
        self.priors.push(node.prior);
        number
    }

    /// Adds the leaves, which must ascend by term and contain every term.
    fn push_leaves(&mut self, leaves: &[Draft], vocabulary_size: usize) {
        for (number, &(term, parent, prior)) in (0..).zip(leaves) {
            self.parents.push(parent);
            self.priors.push(prior);
            self.terms.push(term);
            self.starts.resize(term as usize + 1, number);
            if parent != ROOT {
                let top = self.tops[parent as usize] as usize;
                self.cousins[top - 1].leaves.push(number);
            }
        }
        self.starts.resize(vocabulary_size + 1, leaves.len() as u32);
        self.prior_sums = vec![0.0; self.names.len()];
        for node in 1..self.parents.len() {
            self.prior_sums[self.parents[node] as usize] += self.priors[node];
        }
        let smoothing = |leaf| self.path(leaf).map(|node| self.prior(node)).product();
        self.smoothing = (0..leaves.len() as u32).map(smoothing).collect();
    }

    /// Returns the nodes below the root: the tree's own description, except for the leaf priors of nodes without
    /// leaves.
    pub fn structures(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = (0..self.inner_count())
            .map(|inner| Node {
                name: self.names[inner].clone(),
                prior: self.priors[inner],
                leaf_prior: self.eta,
                children: Vec::new(),
                terms: Vec::new(),
            })
            .collect();
        for leaf in 0..self.leaf_count() as u32 {
            let parent = self.leaf_parent(leaf);
            if parent != ROOT {
                let node = &mut nodes[parent as usize];
                node.terms.push(self.term(leaf));
                node.leaf_prior = self.prior(self.node(leaf));
            }
        }
        // Children have larger numbers than their parents, and are ordered by number.
        for inner in (1..nodes.len()).rev() {
            let node = nodes.pop().expect("one node per number");
            nodes[self.parents[inner] as usize].children.insert(0, node);
        }
        nodes.swap_remove(0).children
    }

    /// Returns V.
    pub fn vocabulary_size(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns η, the β of the edges from the root to terms.
    pub fn eta(&self) -> f64 {
        self.eta
    }

    /// Returns the number of leaves, at least V.
    pub fn leaf_count(&self) -> usize {
        self.terms.len()
    }

    /// Returns the number of inner nodes, including the root. They have the first numbers.
    pub fn inner_count(&self) -> usize {
        self.names.len()
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.parents.len()
    }

    /// Returns the name of an inner node.
    pub fn name(&self, inner: u32) -> &str {
        &self.names[inner as usize]
    }

    /// Returns the names of the inner nodes on the path to a node, from the root's child down, including its own
    /// name unless it is a leaf.
    pub fn names_to(&self, node: u32) -> Vec<&str> {
        let up = |&node: &u32| Some(self.parent(node)).filter(|&parent| parent != ROOT);
        let way = std::iter::successors((node != ROOT).then_some(node), up);
        let inner = way.filter(|&node| (node as usize) < self.names.len());
        let mut names: Vec<&str> = inner.map(|node| self.name(node)).collect();
        names.reverse();
        names
    }

    /// Returns the term that a node bears, if it is a leaf.
    pub fn term_of(&self, node: u32) -> Option<u32> {
        let leaf = node.checked_sub(self.names.len() as u32)?;
        Some(self.term(leaf))
    }

    /// Returns the parent of a node; the root's is itself.
    #[inline]
    pub fn parent(&self, node: u32) -> u32 {
        self.parents[node as usize]
    }

    /// Returns β of the edge that leads to a node.
    #[inline]
    pub fn prior(&self, node: u32) -> f64 {
        self.priors[node as usize]
    }

    /// Returns Σ_j β_{i→j} over the children of an inner node.
    #[inline]
    pub fn prior_sum(&self, inner: u32) -> f64 {
        self.prior_sums[inner as usize]
    }

    /// Returns the number of a leaf among all nodes.
    #[inline]
    pub fn node(&self, leaf: u32) -> u32 {
        self.names.len() as u32 + leaf
    }

    /// Returns the parent of a leaf.
    #[inline]
    pub fn leaf_parent(&self, leaf: u32) -> u32 {
        self.parent(self.node(leaf))
    }

    /// Returns the term that a leaf bears.
    #[inline]
    pub fn term(&self, leaf: u32) -> u32 {
        self.terms[leaf as usize]
    }

    /// Returns the leaves of a term: its senses.
    #[inline]
    pub fn leaves_of(&self, term: u32) -> Range<u32> {
        self.starts[term as usize]..self.starts[term as usize + 1]
    }

    /// Returns whether a term is in a structure, rather than attached to the root.
    #[inline]
    pub fn is_structured(&self, term: u32) -> bool {
        self.leaf_parent(self.starts[term as usize]) != ROOT
    }

    /// Returns the path to a leaf, from the leaf upwards: the node that each of its edges leads to.
    #[inline]
    pub fn path(&self, leaf: u32) -> impl Iterator<Item = u32> + Clone {
        let up = |&node: &u32| Some(self.parent(node)).filter(|&parent| parent != ROOT);
        std::iter::successors(Some(self.node(leaf)), up)
    }

    /// Returns S_λ = Π β over a leaf's path (Eq. 4).
    #[inline]
    pub fn smoothing(&self, leaf: u32) -> f64 {
        self.smoothing[leaf as usize]
    }

    /// Returns the cousin sets, one for each inner child of the root.
    pub(crate) fn cousin_sets(&self) -> &[Cousins] {
        &self.cousins
    }

    /// Returns the number of the cousin set that a leaf is in; `None` if it is a child of the root.
    #[inline]
    pub(crate) fn cousin_set(&self, leaf: u32) -> Option<usize> {
        let top = self.tops[self.leaf_parent(leaf) as usize];
        (top != ROOT).then(|| top as usize - 1)
    }

    /// Returns the cousin set that a leaf is in; `None` if it is a child of the root.
    #[inline]
    pub fn cousins(&self, leaf: u32) -> Option<&Cousins> {
        self.cousin_set(leaf).map(|set| &self.cousins[set])
    }

    /// Returns the number of terms in structures.
    pub fn structured_count(&self) -> usize {
        let terms = 0..self.vocabulary_size() as u32;
        terms.filter(|&term| self.is_structured(term)).count()
    }

    /// Returns the largest number of leaves of a term.
    pub fn most_senses(&self) -> usize {
        let senses = self.starts.windows(2).map(|pair| pair[1] - pair[0]);
        senses.max().unwrap_or(0) as usize
    }
}

fn check_leaves(leaves: usize) -> Result<(), TreeError> {
    if leaves > MAX_TERMS {
        Err(TreeError(format!(
            "a tree of {leaves} leaves; {MAX_TERMS} are possible: give terms fewer senses"
        )))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;

/// An inner node below the root, in a tree's description.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Node {
    /// Its name in messages.
    pub name: String,
    /// β of the edge that leads to it, > 0.
    pub prior: f64,
    /// β of each edge from it to one of its terms, > 0.
    pub leaf_prior: f64,
    /// Inner nodes below it.
    pub children: Vec<Self>,
    /// Terms on leaves directly below it, each at most once.
    pub terms: Vec<u32>,
}

/// An error in the description of a tree; nodes are named with those above them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct TreeError(String);

/// Refuses an edge prior that is not positive and finite.
fn check_prior(prior: f64, node: impl Fn() -> String) -> Result<(), TreeError> {
    if prior > 0.0 && prior.is_finite() {
        return Ok(());
    }
    let node = node();
    Err(TreeError(format!("node {node}: an edge prior of {prior}; it must be positive and finite")))
}

/// The stored form of a tree.
#[derive(serde::Serialize, serde::Deserialize)]
struct TreeDescription {
    vocabulary_size: usize,
    eta: f64,
    structures: Vec<Node>,
}

impl serde::Serialize for Tree {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let description = TreeDescription {
            vocabulary_size: self.vocabulary_size(),
            eta: self.eta(),
            structures: self.structures(),
        };
        description.serialize(serializer)
    }
}

impl TryFrom<TreeDescription> for Tree {
    type Error = TreeError;

    fn try_from(read: TreeDescription) -> Result<Self, TreeError> {
        Self::new(read.vocabulary_size, read.eta, &read.structures)
    }
}
