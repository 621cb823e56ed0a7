//! Text files that ask for much: depth, width, length and counts, a row each.

use super::{Format, MOST_TIME, measured};
use std::path::Path;

/// What is much, the name of a file, and its content.
type Bomb = (&'static str, &'static str, fn() -> Vec<u8>);

/// The bytes of keys, columns or lines: just below the limit of a document.
const MANY: usize = 1_000_000;

/// A line of 50 MB is over the limit of a document.
const LONG: usize = 50_000_000;

/// All bombs, a row each.
const BOMBS: &[Bomb] = &[
    ("deep arrays", "a.jsonl", || within("[", "]")),
    ("deep objects", "a.jsonl", || within("{\"a\":", "}")),
    ("deep arrays that are not closed", "a.json", || within("[{\"text\":[", "")),
    ("deep objects on many lines", "a.json", || within("{\n\"a\":", "}")),
    ("many keys", "a.jsonl", || joined("{", "\"k\":1,", "\"text\":\"a\"}\n")),
    ("a long line", "a.jsonl", || long("{\"text\":\"", "\"}\n{\"text\":\"a\"}\n")),
    ("a long object", "a.json", || long("[{\"text\":\"", "\"},\n{\"text\":\"a\"}]")),
    ("many escapes", "a.jsonl", || joined("{\"text\":\"", "\\ud83d", "\"}\n")),
    ("many blank lines", "a.jsonl", || joined("{\"text\":\"a\"}", "\n", "{\"text\":\"b\"}")),
    ("many small objects on a line", "a.json", || joined("[", "{},", "{}]")),
    ("many blank lines above a header", "a.csv", || joined("", "\n", "id,text\n1,a\n")),
    ("many blank lines", "a.csv", || joined("id,text\n1,a", "\n", "2,b")),
    ("many lines of spaces above a header", "a.csv", || {
        [joined("", "  \n", ""), long("", "\nid,text\n1,a\n")].concat()
    }),
    ("many columns", "a.csv", || joined("id,text", ",c", "\n1,a\n")),
    ("many fields in a row", "a.csv", || joined("id,text\n1", ",a", "\n2,b\n")),
    ("a quote that is not closed", "a.csv", || long("id,text\n1,a\n2,\"", "")),
    ("a quote that is not closed above many rows", "a.csv", || joined("id,text\n1,\"", "a\n", "")),
    ("quotes that are not closed", "a.csv", || joined("id,text\n", "1,\"a\"b\n", "")),
    ("many doubled quotes", "a.csv", || joined("id,text\n1,\"", "\"\"", "\"\n")),
    ("a long line", "a.csv", || long("id,text\n1,", "\n2,b\n")),
    ("many columns", "a.tsv", || joined("id\ttext", "\tc", "\n1\ta\n")),
    ("many blank lines above a header", "a.tsv", || joined("", "\n", "id\ttext\n1\ta\n")),
    ("a long line", "a.tsv", || long("id\ttext\n1\t", "\n2\tb\n")),
    ("many numbers", "a.svm", || joined("1", " 7:1", "\n")),
    ("a long number", "a.svm", || joined("1 ", "9", ":1\n")),
    ("many blank lines", "a.svm", || joined("1 1:1", "\n", "1 2:1")),
    ("many words", "a.vw", || joined("1 |", " a:1", "\n")),
    ("many bars", "a.vw", || joined("1 ", "|", " a\n")),
    ("a long line", "a.vw", || long("1 | ", "\n1 | b\n")),
];

#[test]
fn a_text_file_that_asks_for_much_is_read_in_bounded_time_and_memory() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants/lines");
    std::fs::create_dir_all(&folder).unwrap();
    for &(what, file, bytes) in BOMBS {
        let format = Format { name: file, file, seeds: Vec::new, mutate: |_, seed| seed.to_vec() };
        let begun = std::time::Instant::now();
        let outcome = measured(&format, &folder.join(file), &bytes(), what);
        println!(
            "{file}, {what}: {} documents, {} KiB, {:.1} s; {}",
            outcome.documents,
            outcome.memory >> 10,
            begun.elapsed().as_secs_f64(),
            outcome.error.as_deref().unwrap_or("read"),
        );
        assert!(begun.elapsed() < MOST_TIME, "{file}, {what}: {:?}", begun.elapsed());
    }
}

fn within(open: &str, close: &str) -> Vec<u8> {
    let depth = MANY / (open.len() + close.len());
    [open.repeat(depth), "1".to_owned(), close.repeat(depth)].concat().into_bytes()
}

fn joined(begin: &str, part: &str, end: &str) -> Vec<u8> {
    [begin, &part.repeat(MANY / part.len()), end].concat().into_bytes()
}

fn long(begin: &str, end: &str) -> Vec<u8> {
    [begin, &"a ".repeat(LONG / 2), end].concat().into_bytes()
}
