//! Trees for tests.

use super::{Node, Tree};
use crate::math::random::{Stage, Stream};

/// V of the random trees.
pub(crate) const TERMS: u32 = 12;

/// Builds a tree of several levels, with terms on several leaves, below one child of the root or several, and with
/// very different priors.
pub(crate) fn random_tree(seed: u64) -> Tree {
    let mut stream = Stream::keyed(seed, Stage::Synth, 1, 0);
    let structures: Vec<Node> = (0..3).map(|_| random_node(&mut stream, 3)).collect();
    Tree::new(TERMS as usize, 0.3, &structures).unwrap()
}

fn random_node(stream: &mut Stream, levels: u64) -> Node {
    let mut prior = || [0.02, 0.3, 5.0][stream.below(3) as usize];
    let (prior, leaf_prior) = (prior(), prior());
    let first = stream.below(u64::from(TERMS) / 2) as u32;
    let some = (first + 1..TERMS).filter(|_| stream.uniform() < 0.2);
    let terms = [first].into_iter().chain(some).collect();
    let children = match levels {
        1 => 0,
        _ => stream.below(3),
    };
    Node {
        name: "node".to_owned(),
        prior,
        leaf_prior,
        children: (0..children).map(|_| random_node(stream, levels - 1)).collect(),
        terms,
    }
}
