use lda::model::tree::Tree;
use published::tree::counts::{Assignment, Counts};

use super::super::tests::{STRENGTHS, tokens, vocabulary};
use super::*;

fn build(text: &str, terms: &str) -> (Vec<Node>, Pruned) {
    let outline = parse("tree", text).unwrap();
    let vocabulary = vocabulary(terms);
    let mut lexicon = Lexicon::new(&vocabulary, &tokens());
    structures(&outline, &mut lexicon, STRENGTHS)
}

const TOML: &str = r#"
[[children]]
name = "animals"
prior = 2
terms = ["animal", "pet"]

[[children.children]]
name = "birds"
leaf_prior = 0.5
terms = ["wren", "robin"]

[[children]]
terms = ["river", "water"]
"#;

#[test]
fn toml_and_json_are_the_same_tree() {
    let json = r#"{"children": [
        {"name": "animals", "prior": 2.0, "terms": ["animal", "pet"],
         "children": [{"name": "birds", "leaf_prior": 0.5, "terms": ["wren", "robin"]}]},
        {"terms": ["river", "water"]}]}"#;
    let outline = parse("tree.toml", TOML).unwrap();
    assert_eq!(parse("tree.json", json).unwrap(), outline);
    assert_eq!(outline.children[1].name, "river");
    assert_eq!(outline.children[0].children[0].leaf_prior, Some(0.5));
}

#[test]
fn what_is_wrong_with_a_tree_is_named_with_its_line() {
    for (wrong, expected) in [
        ("termes = [\"x\"]", "line 7: unknown field `termes`"),
        ("terms = []", "line 5: node `birds` has neither terms nor children: leave it out"),
        ("terms = [\"wren\", \" \"]", "line 5: node `birds` has an empty term"),
        ("terms = [\"wren\", \"b\", \"wren\"]", "line 5: node `birds` lists `wren` twice"),
        ("terms = [\"wren\"]\nprior = 0", "line 5: node `birds` has a prior of 0.0: it must be"),
        (
            "terms = [\"wren\"]\nprior = 1e-100",
            "line 5: node `birds` has a prior of 1e-100: it must be from 1e-30 to 1e30",
        ),
        ("terms = [\"wren\"]\nleaf_prior = inf", "line 5: node `birds` has a prior of inf"),
        ("terms = \"wren\"", "line 7: invalid type: string \"wren\""),
        ("terms = [\"wren\"", "line 7: "),
    ] {
        let text = format!(
            "[[children]]\nname = \"animals\"\nterms = [\"dog\"]\n\n[[children.children]]\n\
             name = \"birds\"\n{wrong}\n"
        );
        let error = parse("tree.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("tree.toml, {expected}")), "{error}");
    }
    let json = "{\"children\": [\n{\"terms\": [\"a\"]},\n{\"name\": \"b\"\n}]}";
    let error = parse("tree.json", json).unwrap_err().to_string();
    assert_eq!(error, "tree.json, line 4: node `b` has neither terms nor children: leave it out");
    for nothing in ["children = []", "{\"children\": []}"] {
        let error = parse("tree", nothing).unwrap_err().to_string();
        assert_eq!(error, "tree: no node: `children` is empty");
    }
    let nested = |levels: usize| {
        let (open, close) = ("{\"children\": [".repeat(levels), "]}".repeat(levels));
        parse("tree.json", &format!("{open}{{\"terms\": [\"a\"]}}{close}"))
    };
    assert!(nested(MAX_DEPTH - 1).is_ok());
    let deep = nested(MAX_DEPTH).unwrap_err().to_string();
    assert!(deep.contains("line 1: node `without a name` is too high"), "{deep}");
}

#[test]
fn edges_share_the_strength_by_the_leaves_below_them() {
    let text = r#"{"children": [
        {"name": "animals", "terms": ["animal", "pet"],
         "children": [{"name": "birds", "terms": ["Wren", "robin", "dodo"]}]},
        {"name": "extinct", "children": [{"terms": ["dodo"]}, {"terms": ["moa"]}]},
        {"name": "lone", "terms": ["river", "brook"]}]}"#;
    let (nodes, pruned) = build(text, "animal pet wren robin river");
    let [animals] = &nodes[..] else {
        panic!("{nodes:?}");
    };
    assert_eq!([animals.prior, animals.leaf_prior], [0.04, 25.0]);
    let [birds] = &animals.children[..] else {
        panic!("{animals:?}");
    };
    assert_eq!([birds.prior, birds.leaf_prior], [50.0, 50.0]);
    assert_eq!(birds.terms, [2, 3]);
    // `extinct` and the two below it have no term; a river alone is an ordinary term.
    assert_eq!([pruned.entries, pruned.dropped_entries], [6, 4]);
}

/// A node with one child passes its mass on, so that pruning it changes no probability.
#[test]
fn pruned_nodes_leave_probabilities_as_they_are() {
    let text = r#"{"children": [
        {"name": "A", "prior": 2.0, "leaf_prior": 3.0, "terms": ["a", "b", "unknown"], "children": [
            {"name": "B", "prior": 5.0, "children": [
                {"name": "C", "prior": 7.0, "leaf_prior": 0.5, "terms": ["c", "d"]},
                {"name": "none", "prior": 70.0, "terms": ["unknown"]}]},
            {"name": "D", "prior": 1.5, "leaf_prior": 4.0, "terms": ["e"]}]},
        {"name": "E", "prior": 0.2, "children": [
            {"name": "F", "prior": 9.0, "leaf_prior": 2.0, "terms": ["f", "g"]}]}]}"#;
    let node = |name: &str, prior, leaf_prior, terms: &[u32], children: &[Node]| Node {
        name: name.to_owned(),
        prior,
        leaf_prior,
        terms: terms.to_vec(),
        children: children.to_vec(),
    };
    let b = node("B", 5.0, 1.0, &[], &[node("C", 7.0, 0.5, &[2, 3], &[])]);
    let a = node("A", 2.0, 3.0, &[0, 1], &[b, node("D", 1.5, 4.0, &[4], &[])]);
    let e = node("E", 0.2, 1.0, &[], &[node("F", 9.0, 2.0, &[5, 6], &[])]);
    let whole = Tree::new(8, 0.01, &[a, e]).unwrap();
    let (nodes, _) = build(text, "a b c d e f g h");
    let pruned = Tree::new(8, 0.01, &nodes).unwrap();
    assert_eq!([whole.inner_count(), pruned.inner_count()], [7, 5]);
    let probabilities = |tree: &Tree| {
        let mut counts = Counts::new(tree, 1);
        for (term, times) in [(2, 3), (0, 1), (5, 2), (7, 1)] {
            for _ in 0..times {
                let leaf = tree.leaves_of(term).start;
                counts.add(tree, Assignment { topic: 0, leaf });
            }
        }
        let all: Vec<f64> = (0..8).map(|t| counts.term_probability(tree, t, 0)).collect();
        all
    };
    let pairs = probabilities(&whole).into_iter().zip(probabilities(&pruned));
    for (term, (whole, pruned)) in pairs.enumerate() {
        assert!((whole / pruned - 1.0).abs() < 1e-12, "{term}: {whole} {pruned}");
    }
}

#[test]
fn before_there_are_data_all_leaves_are_equally_probable() {
    let text = r#"{"children": [{"name": "entity", "children": [
        {"name": "entity itself", "terms": ["entity"]},
        {"name": "beast", "children": [
            {"name": "beast itself", "terms": ["beast", "animal"]},
            {"name": "dog", "terms": ["dog", "dogs"]},
            {"name": "bear", "children": [{"name": "teddy", "terms": ["teddy"]}]}]},
        {"name": "artifact", "children": [{"name": "toy", "terms": ["toy", "teddy"]}]}]}]}"#;
    let (nodes, _) = build(text, "entity beast animal dog dogs teddy toy other");
    let [entity] = &nodes[..] else {
        panic!("{nodes:?}");
    };
    // `artifact` has only toys below it.
    let names: Vec<&str> = entity.children.iter().map(|child| &child.name[..]).collect();
    assert_eq!(names, ["beast", "toy"]);
    assert_eq!(entity.terms, [0]);
    assert_eq!([entity.prior, entity.children[1].prior], [0.08, 100.0 * 2.0 / 8.0]);
    let tree = Tree::new(8, 0.01, &nodes).unwrap();
    let counts = Counts::new(&tree, 1);
    for term in 0..8 {
        let leaves = tree.leaves_of(term).len() as f64;
        let probability = counts.term_probability(&tree, term, 0);
        assert!((probability - leaves / 9.0).abs() < 1e-12, "{term}");
    }
}
