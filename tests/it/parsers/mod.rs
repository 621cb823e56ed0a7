//! Every input of `fuzz/corpus`, and every input that once broke a parser, through the functions that
//! `scripts/fuzz` fuzzes.

mod targets;

use std::fs;
use std::path::Path;

/// A parser that accepts any bytes.
type Parser = fn(&[u8]);

const PARSERS: [(&str, Parser); 10] = [
    ("assignments", targets::assignments),
    ("environment", targets::environment),
    ("foreign_state", targets::foreign_state),
    ("hosts", targets::hosts),
    ("inputs", targets::inputs),
    ("job", targets::job),
    ("knowledge", targets::knowledge),
    ("model", targets::model),
    ("records", targets::records),
    ("wire", targets::wire),
];

/// Maximum bytes of an input in the corpus.
const MOST_BYTES: usize = 4096;

#[test]
fn no_input_of_the_corpora_upsets_a_parser() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let mut names: Vec<String> = fs::read_dir(&corpora)
        .expect("the corpora lie beside the sources")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, PARSERS.map(|(name, _)| name));
    for (name, parser) in PARSERS {
        let mut inputs = 0;
        for entry in fs::read_dir(corpora.join(name)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            assert!(bytes.len() <= MOST_BYTES, "{}", path.display());
            let upset = std::panic::catch_unwind(|| parser(&bytes));
            assert!(upset.is_ok(), "{} upsets {name}", path.display());
            inputs += 1;
        }
        assert!(inputs > 0, "no inputs for {name}");
    }
}
