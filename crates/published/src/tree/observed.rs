//! The observed paths of each term in each topic, which form the bucket q (Hu & Boyd-Graber 2012,
//! Section 4).
//!
//! The high bits of an **edge-masked count** are the edges of a path that some token has passed, the
//! root's first; its low bits are the number of tokens on the path itself. It is 0 exactly if O_kλ is
//! 0, and larger where O_kλ tends to be larger: the paper's SW sorts paths by it in descending order.
//! Counts below a node are part of those above, so the mask is always a run of ones.

use super::Tree;
use super::counts::{Assignment, Counts};
use super::document::Ranked;

/// Bits of the count; a mask has the same number, `MAX_DEPTH`.
const COUNT_BITS: u32 = 32;

/// A path that is observed in a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    masked_count: u64,
    pub(super) token: Assignment,
}

impl Path {
    /// Returns the number of tokens on this path itself.
    #[inline]
    pub(super) fn count(&self) -> f64 {
        f64::from(self.masked_count as u32)
    }

    #[cfg(test)]
    pub(super) fn masked_count(&self) -> u64 {
        self.masked_count
    }
}

/// Returns the edge-masked count of a path in a topic.
pub(super) fn masked_count(tree: &Tree, counts: &Counts, token: Assignment) -> u64 {
    let mut mask = 0;
    for node in tree.path(token.leaf) {
        let is_observed = counts.get(node, token.topic) > 0;
        mask = mask >> 1 | u64::from(is_observed) << (u64::BITS - 1);
    }
    debug_assert_eq!(mask as u32, 0, "a path longer than MAX_DEPTH");
    mask | u64::from(counts.get(tree.node(token.leaf), token.topic)) & ((1 << COUNT_BITS) - 1)
}

/// The observed paths of each term, kept up to date.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    topic_count: usize,
    /// The paths of each term; if sorted, from the largest edge-masked count to the smallest.
    paths: Vec<Vec<Path>>,
    /// The index of each path and topic in its term's list; leaves × K.
    places: Vec<u32>,
    is_sorted: bool,
}

const ABSENT: u32 = u32::MAX;

impl Observed {
    pub(super) fn new(tree: &Tree, counts: &Counts, is_sorted: bool) -> Self {
        let topic_count = counts.topic_count();
        let mut observed = Self {
            topic_count,
            paths: vec![Vec::new(); tree.vocabulary_size()],
            places: vec![ABSENT; tree.leaf_count() * topic_count],
            is_sorted,
        };
        for leaf in 0..tree.leaf_count() as u32 {
            for topic in 0..topic_count as u16 {
                observed.set(tree, counts, Assignment { topic, leaf });
            }
        }
        observed
    }

    /// Returns a term's paths, each once for each topic in which one of its edges is observed.
    #[inline]
    pub(super) fn of(&self, term: u32) -> &[Path] {
        &self.paths[term as usize]
    }

    /// Returns a path in a topic, if it is observed there.
    #[inline]
    pub(super) fn find(&self, tree: &Tree, token: Assignment) -> Option<&Path> {
        self.of(tree.term(token.leaf)).get(self.place(token) as usize)
    }

    /// Updates the lists after a token was added to the counts, or removed if not `is_added`.
    pub(super) fn update(
        &mut self,
        tree: &Tree,
        counts: &Counts,
        token: Assignment,
        is_added: bool,
    ) {
        self.set(tree, counts, token);
        let Some(cousins) = tree.cousins(token.leaf) else {
            return;
        };
        // An inner node's first token, or the loss of its last, changes the mask of all paths through it.
        let turned = u32::from(is_added);
        let mut inner = tree.path(token.leaf).skip(1);
        if inner.any(|node| counts.get(node, token.topic) == turned) {
            for &leaf in &cousins.leaves {
                self.set(tree, counts, Assignment { leaf, ..token });
            }
        }
    }

    /// Lists a path with its current edge-masked count, or unlists it if that is 0.
    fn set(&mut self, tree: &Tree, counts: &Counts, token: Assignment) {
        let masked_count = masked_count(tree, counts, token);
        let listed = self.place(token);
        if masked_count == 0 && listed == ABSENT {
            return;
        }
        let is_sorted = self.is_sorted;
        let mut list = List {
            paths: &mut self.paths[tree.term(token.leaf) as usize],
            places: &mut self.places,
            topic_count: self.topic_count,
        };
        let path = Path { masked_count, token };
        if listed == ABSENT {
            *list.place_mut(token) = list.len() as u32;
            list.paths.push(path);
        } else {
            list.paths[listed as usize] = path;
        }
        let place = *list.place_mut(token) as usize;
        if is_sorted {
            list.settle(place);
        }
        if masked_count == 0 {
            let place = *list.place_mut(token) as usize;
            list.swap(place, list.len() - 1);
            list.paths.pop();
            *list.place_mut(token) = ABSENT;
        }
    }

    fn place(&self, token: Assignment) -> u32 {
        self.places[token.leaf as usize * self.topic_count + usize::from(token.topic)]
    }
}

/// The paths of one term, and their indices.
struct List<'a> {
    paths: &'a mut Vec<Path>,
    places: &'a mut [u32],
    topic_count: usize,
}

impl List<'_> {
    fn place_mut(&mut self, token: Assignment) -> &mut u32 {
        &mut self.places[token.leaf as usize * self.topic_count + usize::from(token.topic)]
    }
}

impl Ranked for List<'_> {
    fn len(&self) -> usize {
        self.paths.len()
    }

    fn value(&self, place: usize) -> u64 {
        self.paths[place].masked_count
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.paths.swap(one, other);
        for place in [one, other] {
            *self.place_mut(self.paths[place].token) = place as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lda::model::tree::Node;

    #[test]
    fn a_mask_has_the_edges_that_were_passed() {
        let node = |terms: &[u32], children| Node {
            name: "x".to_owned(),
            prior: 1.0,
            leaf_prior: 1.0,
            children,
            terms: terms.to_vec(),
        };
        let structure = node(&[0], vec![node(&[1, 2], Vec::new())]);
        let tree = Tree::new(4, 0.1, &[structure]).unwrap();
        let mut counts = Counts::new(&tree, 2);
        let token = |leaf| Assignment { topic: 1, leaf };
        let masked = |counts: &Counts, leaf| masked_count(&tree, counts, token(leaf));
        assert_eq!(masked(&counts, 1), 0);
        counts.add(&tree, token(0));
        assert_eq!(masked(&counts, 1), 0b100 << 61);
        counts.add(&tree, token(2));
        // The paper's examples: the first two of three edges, and all three, with seven tokens.
        assert_eq!(masked(&counts, 1), 0b110 << 61);
        (0..7).for_each(|_| counts.add(&tree, token(1)));
        assert_eq!(masked(&counts, 1), 0b111 << 61 | 7);
        counts.add(&tree, token(3));
        assert_eq!(masked(&counts, 3), 0b1 << 63 | 1);
        let other_topic = Assignment { topic: 0, leaf: 1 };
        assert_eq!(masked_count(&tree, &counts, other_topic), 0);
    }
}
