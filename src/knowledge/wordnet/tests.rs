use std::collections::BTreeMap;
use std::fmt::Write;

use lda::tree::Tree;
use lda::tree::counts::Counts;

use super::super::tests::{all_synsets, settings, vocabulary};
use super::*;

/// A synset: its words, and the places of its hypernyms.
pub(super) type Made<'m> = (&'m [&'m str], &'m [usize]);

/// Returns `index` and `data` of a part of speech, as WordNet's own programs write them: a synset is identified by
/// the byte at which its line begins.
pub(super) fn files(part: Part, synsets: &[Made]) -> (String, String) {
    let letter = part.letter();
    let licence = "  1 This software and database is being provided to you, the LICENSEE, by\n";
    let line = |(words, hypernyms): &Made, offset: usize, offsets: &[usize]| {
        let mut line = format!("{offset:08} 03 {letter} {:02x}", words.len());
        words.iter().for_each(|word| write!(line, " {word} 0").unwrap());
        // A pointer of another kind comes first.
        write!(line, " {:03} + 00000001 v 0101", hypernyms.len() + 1).unwrap();
        for (place, &hypernym) in hypernyms.iter().enumerate() {
            let symbol = ["@", "@i"][place % 2];
            write!(line, " {symbol} {:08} {letter} 0000", offsets[hypernym]).unwrap();
        }
        line + " | what it means; \"an example @ 00000009\"  \n"
    };
    let (mut at, mut offsets) = (licence.len(), Vec::new());
    for synset in synsets {
        offsets.push(at);
        at += line(synset, 0, &vec![0; synsets.len()]).len();
    }
    let mut data = licence.to_owned();
    let mut senses: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (synset, &offset) in synsets.iter().zip(&offsets) {
        data += &line(synset, offset, &offsets);
        for word in synset.0 {
            let lemma = word.split('(').next().unwrap().to_lowercase();
            senses.entry(lemma).or_default().push(offset);
        }
    }
    let mut index = licence.to_owned();
    for (lemma, offsets) in senses {
        let count = offsets.len();
        write!(index, "{lemma} {letter} {count} 2 @ ~ {count} 0").unwrap();
        offsets.iter().for_each(|offset| write!(index, " {offset:08}").unwrap());
        index += "  \n";
    }
    (index, data)
}

const NOUNS: [Made; 9] = [
    (&["entity"], &[]),
    (&["beast", "animal"], &[0]),
    (&["artifact"], &[0]),
    (&["dog", "domestic_dog"], &[1]),
    (&["cat"], &[1]),
    (&["toy"], &[2]),
    (&["bear"], &[1]),
    (&["teddy"], &[5, 6]),
    (&["cat", "cat-o'-nine-tails"], &[2]),
];

const ADJECTIVES: [Made; 2] = [(&["beastly(a)", "awful"], &[]), (&["toy(p)", "Model"], &[])];

fn wordnet() -> (tempfile::TempDir, WordNet) {
    let folder = tempfile::tempdir().unwrap();
    let parts = [(Part::Noun, &NOUNS[..]), (Part::Adjective, &ADJECTIVES)];
    for (part, synsets) in parts {
        let (index, data) = files(part, synsets);
        let ending = part.ending();
        let write = |name, text| std::fs::write(folder.path().join(name), text).unwrap();
        write(format!("index.{ending}"), index);
        write(format!("data.{ending}"), data);
        write(format!("{ending}.exc"), "teddies teddy bear\n".to_owned());
    }
    let wordnet = WordNet::read(folder.path()).unwrap();
    (folder, wordnet)
}

#[test]
fn a_synset_is_a_group_of_terms() {
    let (_folder, wordnet) = wordnet();
    let vocabulary = vocabulary("animal Dogs beast dog cat cats toy model teddies bear xyz");
    let mut settings = settings(all_synsets());
    let names = |settings: &KnowledgeSettings| -> (Vec<(String, Vec<u32>)>, Pruned) {
        let (nodes, pruned) = wordnet.structures(&vocabulary, settings).unwrap();
        let nodes = nodes.into_iter().map(|node| (node.name, node.terms));
        (nodes.collect(), pruned)
    };
    let (nodes, pruned) = names(&settings);
    let node = |name: &str, terms: &[u32]| (name.to_owned(), terms.to_vec());
    let expected = [
        node("beast.n.01", &[0, 2]),
        node("dog.n.01", &[1, 3]),
        node("cat.n.01", &[4, 5]),
        node("bear.n.01", &[8, 9]),
        node("toy.a.01", &[6, 7]),
    ];
    assert_eq!(nodes, expected);
    // The toy alone and the teddy are dropped; the other cat has the same terms.
    assert_eq!([pruned.entries, pruned.dropped_entries], [8, 2]);
    assert_eq!([pruned.repeated_entries, pruned.dropped_senses], [1, 0]);
    assert_eq!([pruned.words, pruned.unknown_words], [11, 1]);
    settings.wordnet.max_senses = 1;
    settings.wordnet.parts = vec![Part::Noun];
    let (nodes, pruned) = names(&settings);
    assert_eq!(nodes, expected[..3]);
    assert_eq!(
        pruned.to_string(),
        "2 of 11 terms are not in WordNet (model, xyz); 3 of 6 synsets have too few terms left; 3 \
         rarer senses are left out"
    );
}

#[test]
fn a_synset_is_below_each_of_its_hypernyms() {
    let (_folder, wordnet) = wordnet();
    let vocabulary = vocabulary("entity beast animal dog dogs cat teddy toy");
    let mut settings = settings(all_synsets());
    settings.wordnet =
        WordNetSettings { structure: Structure::Hierarchy, parts: vec![Part::Noun], max_senses: 1 };
    let (nodes, pruned) = wordnet.structures(&vocabulary, &settings).unwrap();
    let [entity] = &nodes[..] else {
        panic!("{nodes:?}");
    };
    let names = |node: &Node| -> Vec<String> {
        node.children.iter().map(|child| child.name.clone()).collect()
    };
    // `artifact` has only toys below it.
    assert_eq!(names(entity), ["beast.n.01", "toy.n.01"]);
    assert_eq!(names(&entity.children[0]), ["beast.n.01 itself", "dog.n.01"]);
    assert_eq!(entity.children[0].terms, [5, 6]);
    assert_eq!(entity.children[1].terms, [7, 6]);
    assert_eq!([entity.prior, entity.leaf_prior], [0.09, 100.0 / 9.0]);
    assert_eq!(entity.children[1].prior, 100.0 * 2.0 / 9.0);
    assert_eq!([pruned.entries, pruned.dropped_entries], [6, 0]);
    // Before there are data, all leaves are equally probable.
    let tree = Tree::new(8, 0.01, &nodes).unwrap();
    let counts = Counts::new(&tree, 1);
    for term in 0..8 {
        let leaves = tree.leaves_of(term).len() as f64;
        let probability = counts.term_probability(&tree, term, 0);
        assert!((probability - leaves / 9.0).abs() < 1e-12, "{term}");
    }
}

#[test]
fn folders_that_are_no_database_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = || WordNet::read(folder.path()).unwrap_err().to_string();
    assert!(refused().contains("/usr/share/wordnet"), "{}", refused());
    std::fs::write(folder.path().join("data.verb"), "").unwrap();
    assert!(refused().contains("index.verb and data.verb belong together"));
}
