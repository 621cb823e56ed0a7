use super::counts::Assignment;
use super::examples::{random_token, random_tree, recount};
use lda::constraints::{Strengths, structures};
use lda::math::random::{Stage, Stream};
use lda::model::tree::Tree;

use super::counts::Counts;

#[test]
fn every_topic_is_a_distribution_whatever_it_has_counted() {
    for seed in 0..20 {
        let tree = random_tree(seed);
        let mut stream = Stream::keyed(seed, Stage::Synth, 2, 0);
        let tokens: Vec<_> = (0..50).map(|_| random_token(&mut stream, &tree, 3)).collect();
        let counts = recount(&tree, 4, &tokens);
        for topic in 0..4 {
            let leaves = 0..tree.leaf_count() as u32;
            let paths =
                leaves.map(|leaf| counts.path_probability(&tree, Assignment { topic, leaf }));
            assert!((paths.sum::<f64>() - 1.0).abs() < 1e-12);
            let terms = (0..tree.vocabulary_size() as u32)
                .map(|w| counts.term_probability(&tree, w, topic));
            assert!((terms.sum::<f64>() - 1.0).abs() < 1e-12);
        }
        // Tokens that pass an inner node continue to its children.
        for inner in 0..tree.inner_count() as u32 {
            let children = (1..tree.node_count() as u32).filter(|&node| tree.parent(node) == inner);
            let below: u32 = children.map(|node| counts.get(node, 0)).sum();
            assert_eq!(below, counts.get(inner, 0));
        }
    }
}

#[test]
fn without_data_every_term_is_as_probable_as_in_a_flat_tree() {
    let strengths = Strengths { ordinary: 0.01, must: 100.0, cannot: 1e-20 };
    let linked = structures(12, &[vec![3, 5], vec![8, 7], vec![5, 1, 3]], &[], strengths).unwrap();
    let tree = Tree::new(12, 0.01, &linked).unwrap();
    let counts = Counts::new(&tree, 1);
    for term in 0..12 {
        assert!((counts.term_probability(&tree, term, 0) - 1.0 / 12.0).abs() < 1e-12);
    }
}
