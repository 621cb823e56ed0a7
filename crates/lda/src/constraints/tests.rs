use super::*;
use crate::model::tree::Tree;

const STRENGTHS: Strengths = Strengths { ordinary: 0.01, must: 100.0, cannot: 1e-20 };

fn build(must: &[&[u32]], cannot: &[&[u32]]) -> Result<Vec<Node>, ConstraintError> {
    let lists = |lists: &[&[u32]]| -> Vec<Vec<u32>> { lists.iter().map(|l| l.to_vec()).collect() };
    structures(12, &lists(must), &lists(cannot), STRENGTHS)
}

#[test]
fn must_links_are_transitive() {
    let nodes = build(&[&[3, 5], &[8, 7], &[5, 1, 3]], &[]).unwrap();
    let terms: Vec<_> = nodes.iter().map(|node| &node.terms[..]).collect();
    assert_eq!(terms, [&[1, 3, 5][..], &[7, 8]]);
    assert_eq!([nodes[0].prior, nodes[0].leaf_prior], [0.03, 100.0]);
}

#[test]
fn cannot_links_make_a_node_of_cliques() {
    // Cannot-links 0 – 1 – 2 – 3, and a must-link of 9 and 2: only 0 and {2, 9}, 0 and 3, 1 and 3 go together.
    let nodes = build(&[&[9, 2]], &[&[0, 1], &[1, 9], &[3, 2]]).unwrap();
    let [node] = &nodes[..] else {
        panic!("{nodes:?}");
    };
    assert_eq!(node.prior, 0.05);
    let clique = |node: &Node| {
        let below = node.children.iter().flat_map(|child| child.terms.clone());
        (node.terms.clone(), below.collect::<Vec<_>>())
    };
    let cliques: Vec<_> = node.children.iter().map(clique).collect();
    assert_eq!(cliques, [(vec![0], vec![2, 9]), (vec![0, 3], vec![]), (vec![1, 3], vec![])]);
    assert!(node.children.iter().all(|child| child.prior == 1e-20));
    let tree = Tree::new(12, 0.01, &nodes).unwrap();
    assert_eq!([0, 1, 2, 3, 4].map(|t| tree.leaves_of(t).len()), [2, 1, 1, 2, 1]);
}

#[test]
fn lists_that_no_tree_satisfies_are_refused() {
    let message = |must, cannot| build(must, cannot).unwrap_err().to_string();
    assert_eq!(
        message(&[&[1, 2], &[2, 3]], &[&[5, 6], &[1, 7, 3]]),
        "cannot-link list 1 keeps terms 1 and 3 apart; must-link lists connect them"
    );
    assert!(message(&[&[1, 12]], &[]).starts_with("must-link list 0: there is no term 12"));
    assert!(message(&[], &[&[1, 1]]).contains("cannot-link list 0 needs at least two"));
    assert!(message(&[&[]], &[]).contains("must-link list 0 needs at least two"));
    // Eight triples whose members are apart, as are the first members of neighbouring triples: 3344 cliques.
    let mut cannot: Vec<Vec<u32>> = (0..8).map(|i| vec![3 * i, 3 * i + 1, 3 * i + 2]).collect();
    cannot.extend((0..7).map(|i| vec![3 * i, 3 * i + 3]));
    let refused = structures(24, &[], &cannot, STRENGTHS);
    assert_eq!(refused, Err(ConstraintError::TooManyCliques { term: 0 }));
}
