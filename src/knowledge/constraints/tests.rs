use proptest::prelude::*;

use super::super::tests::{STRENGTHS, tokens, vocabulary};
use super::*;

/// Returns the nodes of the constraints in `text` for these terms, and what was lost.
fn build(text: &str, terms: &str) -> Result<(Vec<Node>, Pruned), String> {
    let lines = parse("links.txt", text).map_err(|error| error.to_string())?;
    let vocabulary = vocabulary(terms);
    let mut lexicon = Lexicon::new(&vocabulary, &tokens());
    let built = structures("links.txt", &lines, &mut lexicon, STRENGTHS);
    let (nodes, mut pruned) = built.map_err(|error| error.to_string())?;
    lexicon.report(&mut pruned);
    Ok((nodes, pruned))
}

#[test]
fn a_line_that_is_no_constraint_is_named() {
    for (line, expected) in [
        ("must:#king, queen", "the `#` of `#king` would begin a comment"),
        ("  king, queen", "a line begins with `must:`, `cannot:` or `split:`"),
        ("musst: king, queen", "a line begins with"),
        ("must", "a word is missing in the list ``"),
        ("must: ", "a word is missing in the list ``"),
        ("must: king", "`must` needs at least two words: a, b"),
        ("cannot: é, , b", "a word is missing in the list `é, , b`"),
        ("must: a, b, ", "a word is missing in the list `a, b,`"),
        ("must: a, b, a", "`a` is listed twice"),
        ("split: bank", "`split` needs a word and at least two senses"),
        ("split: bank: money", "`split` needs a word and at least two senses"),
        ("split: : money | river", "`split` needs a word and at least two senses"),
        ("split: bank: money | ", "a word is missing in the list ``"),
        ("split: bank: money | a, money", "`money` cannot identify a sense of `bank`"),
        ("split: bank: money, bank | a", "`bank` cannot identify a sense of `bank`"),
    ] {
        let text = format!("# links\nmust: x, y\n{line}\n");
        let error = parse("links.txt", &text).unwrap_err().to_string();
        let expected = format!("links.txt, line 3: {expected}");
        assert!(error.starts_with(&expected), "{line}: {error}");
    }
    let nothing = parse("links.txt", "\n# nothing\n").unwrap_err();
    assert!(nothing.to_string().starts_with("links.txt: no constraint;"));
    let flag = Constraint::parse("must: c#, a\nb").unwrap_err();
    assert_eq!(flag, "\"a\\nb\" has a control character");
}

proptest! {
    #[test]
    fn a_constraint_is_parsed_from_its_line(
        words in prop::collection::hash_set("[^\\s\\p{C},:|#][^\\s\\p{C},:|]{0,5}( [^\\s\\p{C},:|#]+)?", 4..9),
        kind in 0..3,
    ) {
        let mut words: Vec<String> = words.into_iter().collect();
        let constraint = match kind {
            0 => Constraint::Must(words),
            1 => Constraint::Cannot(words),
            _ => {
                let word = words.remove(0);
                let senses = words.chunks(2).map(<[_]>::to_vec).collect();
                Constraint::Split { word, senses }
            }
        };
        let text = constraint.to_string();
        prop_assert_eq!(parse("x", &text).unwrap(), [(1, constraint)]);
    }
}

#[test]
fn a_split_word_has_a_leaf_with_the_words_of_each_sense() {
    let text = "split: bank: money, loan | river, water | aircraft\nmust: loan, credit\n\
                cannot: credit, wren\n";
    let (nodes, pruned) = build(text, "money river bank water loan credit wren").unwrap();
    let terms = |node: &Node| node.terms.clone();
    // Money, loan, credit and one sense of bank are kept apart from the wren.
    let [apart, river, alone] = &nodes[..] else {
        panic!("{nodes:?}");
    };
    let [bank, wren] = &apart.children[..] else {
        panic!("{apart:?}");
    };
    assert_eq!([bank.prior, wren.prior], [1e-20; 2]);
    assert_eq!(terms(&bank.children[0]), [0, 4, 5, 2]);
    assert_eq!(terms(wren), [6]);
    assert_eq!(apart.name, "money, bank, loan, …");
    assert_eq!(wren.name, "wren");
    assert_eq!((terms(river), river.leaf_prior), (vec![1, 3, 2], 100.0));
    // `aircraft` is not a term, so this sense has a node of its own.
    assert_eq!((terms(alone), alone.prior), (vec![2], 0.01));
    assert_eq!([pruned.entries, pruned.dropped_entries, pruned.unknown_words], [3, 0, 1]);
    assert!(lda::model::tree::Tree::new(7, 0.01, &nodes).unwrap().leaves_of(2).len() == 3);
}

#[test]
fn constraints_without_terms_are_dropped() {
    let text = "must: king, queen, prince\nmust: king, baron\ncannot: King, king\n\
                split: bank: money | river\nsplit: king: baron | duke\n";
    let (nodes, pruned) = build(text, "king queen money river").unwrap();
    let [node] = &nodes[..] else {
        panic!("{nodes:?}");
    };
    assert_eq!((node.name.as_str(), &node.terms[..]), ("king, queen", &[0, 1][..]));
    assert_eq!([node.prior, node.leaf_prior], [0.02, 100.0]);
    assert_eq!(
        pruned,
        Pruned {
            words: 9,
            unknown_words: 4,
            examples: ["bank", "baron", "duke", "prince"].map(str::to_owned).to_vec(),
            entries: 5,
            dropped_entries: 4,
            ..Pruned::of("constraints")
        }
    );
}

#[test]
fn constraints_that_contradict_each_other_are_named() {
    let refused = |text| build(text, "a b c d e").unwrap_err();
    assert_eq!(
        refused("must: a, b\nmust: b, c\ncannot: d, e\ncannot: a, C\n"),
        "links.txt, line 4: keeps `a` and `c` apart, but must-links connect them: remove one of the \
         links"
    );
    assert_eq!(
        refused("must: a, b\nsplit: a: c | d\n"),
        "links.txt, line 1: `a` is split in line 2: name the words of this line with one of its \
         senses there"
    );
    assert!(
        refused("split: a: b | c\nsplit: b: d | e\n")
            .starts_with("links.txt, line 1: `b` is split in line 2")
    );
    assert!(
        refused("split: a: b | c\nsplit: A: d | e\n")
            .starts_with("links.txt, line 2: `A` is split in line 1 already")
    );
    assert!(
        refused("split: a: b | c\nmust: b, c\n")
            .starts_with("links.txt, line 1: must-links connect two senses of `a`")
    );
}

#[test]
fn cannot_links_with_too_many_solutions_are_named() {
    let words: Vec<String> = (0..24).map(|i| format!("w{i}")).collect();
    let triples = (0..8).map(|i| words[3 * i..3 * i + 3].join(", "));
    let chain = (0..7).map(|i| format!("w{}, w{}", 3 * i, 3 * i + 3));
    let lines: Vec<String> = triples.chain(chain).map(|list| format!("cannot: {list}")).collect();
    let error = build(&lines.join("\n"), &words.join(" ")).unwrap_err();
    assert!(error.contains("the cannot-links around `w0`"), "{error}");
}
