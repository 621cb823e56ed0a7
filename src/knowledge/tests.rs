use std::io::Write;

use super::*;
use corpus::vocabulary::{TermStatus, VocabularyTerm};

pub(super) const STRENGTHS: Strengths = Strengths { ordinary: 0.01, must: 100.0, cannot: 1e-20 };

/// Compresses `bytes` as a gzip member.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Creates a vocabulary of these terms, by number.
pub(super) fn vocabulary(terms: &str) -> Vocabulary {
    let term = |term: &str| VocabularyTerm {
        term: term.to_owned(),
        tokens: 9,
        documents: 5,
        status: TermStatus::Kept,
    };
    Vocabulary::from_terms(terms.split_whitespace().map(term).collect()).unwrap()
}

pub(super) fn tokens() -> TokenSettings {
    TokenSettings { min_length: 1, max_length: 64, numbers: true, ..TokenSettings::DEFAULT }
}

/// Writes a file in its own folder.
fn written(name: &str, bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn a_kind_is_guessed_by_the_name() {
    for (name, kind) in [
        ("links.txt", Kind::Constraints),
        ("links", Kind::Constraints),
        ("tree.TOML", Kind::Outline),
        ("a/tree.json", Kind::Outline),
    ] {
        assert_eq!(Kind::guess(name.as_ref()), kind, "{name}");
    }
}

#[test]
fn words_take_the_form_of_terms() {
    let text = "\u{FEFF}must: King, CAFE\u{301}\r\n\r\nmust: queen, l’eau # two\r\n";
    let (_folder, path) = written("links.txt", &gzip(text.as_bytes()));
    let knowledge = read(&path, Kind::Constraints).unwrap();
    let vocabulary = vocabulary("king queen café l'eau other");
    let tree = knowledge.tree(&vocabulary, &tokens(), STRENGTHS);
    let (tree, pruned) = tree.unwrap();
    let is_structured = [0, 1, 2, 3, 4].map(|term| tree.is_structured(term));
    assert_eq!(is_structured, [true, true, true, true, false]);
    assert_eq!(tree.leaf_parent(0), tree.leaf_parent(2));
    assert_eq!(tree.leaf_parent(1), tree.leaf_parent(3));
    assert_eq!([pruned.words, pruned.unknown_words], [4, 0]);
}

#[test]
fn what_is_lost_is_told() {
    let vocabulary = vocabulary("dog cane house");
    let lines = "must: dog, cane\nmust: house, casa\nmust: sea, mare, acqua\n";
    let content = Content::Constraints(constraints::parse("d", lines).unwrap());
    let file = "d.txt".to_owned();
    let knowledge = Knowledge { file, content };
    let (tree, pruned) = knowledge.tree(&vocabulary, &tokens(), STRENGTHS).unwrap();
    assert_eq!([tree.inner_count(), tree.leaf_count()], [2, 3]);
    assert_eq!(
        pruned.to_string(),
        "4 of 7 words are not in the vocabulary (casa, sea, mare, acqua); 2 of 3 constraints have \
         too few terms left"
    );
    let none = self::vocabulary("wren");
    let refused = knowledge.tree(&none, &tokens(), STRENGTHS).unwrap_err();
    let refused = refused.to_string();
    assert!(refused.starts_with("d.txt: nothing is left"), "{refused}");
    assert!(refused.contains("7 of 7 words are not"), "{refused}");
}

#[test]
fn knowledge_is_the_same_after_its_bytes() {
    let (_folder, path) =
        written("tree.toml", b"children = [{ terms = [\"a\", \"b\"], prior = 3 }]");
    let outline = read(&path, Kind::Outline).unwrap();
    let (_folder, path) =
        written("other.json", br#"{"children": [{"prior": 3.0, "terms": ["a", "b"]}]}"#);
    let same = read(&path, Kind::Outline).unwrap();
    assert_eq!(outline.fingerprint(), same.fingerprint());
    let (_folder, path) = written("links.txt", b"must: a, b");
    let links = read(&path, Kind::Constraints).unwrap();
    assert_ne!(outline.fingerprint(), links.fingerprint());
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let missing = read("no/such/links.txt".as_ref(), Kind::Constraints).unwrap_err();
    assert!(missing.to_string().starts_with("no/such/links.txt: cannot be read"));
    let (_folder, path) = written("links.txt", b"must: a, b\nmust: c, \xff\n");
    let latin = read(&path, Kind::Constraints).unwrap_err().to_string();
    assert!(latin.contains("links.txt, line 2: not UTF-8"), "{latin}");
}
