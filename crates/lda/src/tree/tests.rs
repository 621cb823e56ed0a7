use super::counts::Assignment;
use super::examples::{random_token, random_tree, recount};
use crate::math::random::{Stage, Stream};

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
