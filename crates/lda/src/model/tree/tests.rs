use super::examples::random_tree;
use super::*;

fn node(name: &str, terms: &[u32], children: &[Node]) -> Node {
    Node {
        name: name.to_owned(),
        prior: 2.0,
        leaf_prior: 0.5,
        children: children.to_vec(),
        terms: terms.to_vec(),
    }
}

#[test]
fn a_flat_trees_leaves_are_the_terms() {
    let tree = Tree::flat(5, 0.1).unwrap();
    assert_eq!([tree.leaf_count(), tree.inner_count()], [5, 1]);
    assert_eq!(tree.prior_sum(ROOT), 0.5);
    for term in 0..5 {
        assert_eq!(tree.leaves_of(term), term..term + 1);
        assert_eq!([tree.term(term), tree.leaf_parent(term)], [term, ROOT]);
        assert!(tree.path(term).eq([1 + term]));
        assert!(tree.cousins(term).is_none() && !tree.is_structured(term));
    }
    assert_eq!(Tree::flat(0, 0.1).unwrap().leaf_count(), 0);
}

#[test]
fn leaves_ascend_by_term_and_know_their_paths() {
    let inside = node("birds", &[4, 2], &[]);
    let structures = [node("animals", &[4], &[inside]), node("machines", &[2], &[])];
    let tree = Tree::new(6, 0.1, &structures).unwrap();
    assert_eq!([1, 2, 3].map(|i| tree.name(i)), ["animals", "machines", "birds"]);
    let terms: Vec<u32> = (0..8).map(|leaf| tree.term(leaf)).collect();
    assert_eq!(terms, [0, 1, 2, 2, 3, 4, 4, 5]);
    assert_eq!([2, 3, 5, 6].map(|leaf| tree.leaf_parent(leaf)), [2, 3, 1, 3]);
    assert!(tree.path(6).eq([tree.node(6), 3, 1]));
    assert_eq!([tree.smoothing(6), tree.smoothing(0)], [2.0 * 2.0 * 0.5, 0.1]);
    assert!((tree.prior_sum(ROOT) - 4.4).abs() < 1e-12);
    assert_eq!([1, 2, 3].map(|i| tree.prior_sum(i)), [2.5, 0.5, 1.0]);
    assert_eq!([1, 2, 4].map(|term| tree.is_structured(term)), [false, true, true]);
    let animals = tree.cousins(3).unwrap();
    assert_eq!((&animals.inner[..], &animals.leaves[..]), (&[1, 3][..], &[3, 5, 6][..]));
    assert_eq!(tree.cousins(2).unwrap().leaves, [2]);
}

#[test]
fn messages_name_the_node() {
    let error = |inside: Node| {
        let structures = [node("first", &[0], &[]), node("second", &[], &[inside])];
        Tree::new(6, 0.1, &structures).unwrap_err().to_string()
    };
    assert_eq!(
        error(node("x", &[1, 6], &[])),
        "node second/x: there is no term 6 in a vocabulary of 6"
    );
    assert_eq!(
        error(node("x", &[3, 1, 3], &[])),
        "node second/x: term 3 is on two of its leaves; one sense is one leaf"
    );
    assert!(error(node("x", &[], &[])).starts_with("node second/x has neither"));
    for prior in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let wrong = Node { prior, ..node("x", &[1], &[]) };
        assert!(error(wrong).starts_with("node second/x: an edge prior"));
        let wrong = Node { leaf_prior: prior, ..node("x", &[1], &[]) };
        assert!(error(wrong).starts_with("node second/x: an edge prior"));
        assert!(Tree::flat(3, prior).unwrap_err().to_string().starts_with("node root"));
    }
    let chain =
        |length| (1..length).fold(node("x", &[1], &[]), |below, _| node("x", &[], &[below]));
    assert!(Tree::new(6, 0.1, &[chain(MAX_DEPTH - 1)]).is_ok());
    let long = Tree::new(6, 0.1, &[chain(MAX_DEPTH)]).unwrap_err();
    assert!(long.to_string().contains("edges below the root"), "{long}");
}

#[test]
fn a_stored_tree_comes_back() {
    for seed in 0..20 {
        let tree = random_tree(seed);
        let again = Tree::new(tree.vocabulary_size(), tree.eta(), &tree.structures()).unwrap();
        assert_eq!(again, tree);
    }
}
