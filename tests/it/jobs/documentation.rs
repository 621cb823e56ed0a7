//! The texts generated from the table of keys, the tables of docs/JOB.md and the fuzzer's dictionary, and from the list of
//! formats, a table of docs/FORMATS.md.
//!
//! To rewrite them after a change:
//!
//!     TOPICMILL_REWRITE=1 cargo test --features full --test it jobs::documentation

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

pub use topicmill::config::keys::{Key, SECTIONS};
use topicmill::corpus::formats::{Format, LIST};

use super::small::{SMALL, parse};

/// Other tokens for the fuzzer: values that are unusual in TOML, or in a key.
const ODD: &str = r#"
"true"
"inf"
"nan"
"-1"
"1e308"
"0x7fffffffffffffff"
"9223372036854775807"
"\\u0000"
"\"\"\""
"'''"
"1979-05-27T07:32:00Z"
"#;

/// Compares a file with the text generated from the table, or rewrites it on request.
fn check(file: &str, made_from: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = fs::read_to_string(&path).expect("it is there");
    let made = made_from(&text);
    if std::env::var_os("TOPICMILL_REWRITE").is_some() {
        fs::write(&path, made).expect("written");
    } else if text != made {
        let differing = text.lines().zip(made.lines()).find(|(old, new)| old != new);
        panic!(
            "{file} is not what the code says: {differing:#?}\nrewrite it: \
             TOPICMILL_REWRITE=1 cargo test --features full --test it jobs::documentation"
        );
    }
}

#[test]
fn the_documentation_has_the_table() {
    check("docs/JOB.md", |text| {
        let mut made = String::new();
        let mut section = None;
        for line in text.lines() {
            let heading = line.strip_prefix("## [");
            if let Some(name) = heading.and_then(|rest| rest.split(']').next()) {
                section = SECTIONS.iter().find(|section| section.name == name);
                assert!(section.is_some(), "{line}");
            }
            if !line.starts_with('|') {
                made += &format!("{line}\n");
            } else if let Some(section) = section.take() {
                made += "| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
                made.extend(section.keys.iter().map(row));
            }
        }
        made
    });
}

#[test]
fn the_page_of_formats_has_the_list() {
    const HEAD: &str = "| format | names | a document is | its id |";
    check("docs/FORMATS.md", |text| {
        let (before, rest) = text.split_once(HEAD).expect("the table of input formats");
        let (_, after) = rest.split_once("\n\n").expect("text below the table");
        let row = |format: &&Format| {
            let (names, document) = (format.file_names(), format.document);
            format!("\n| `{}` | {names} | {document} | {} |", format.name, format.id)
        };
        let rows: String = LIST.iter().map(row).collect();
        format!("{before}{HEAD}\n| --- | --- | --- | --- |{rows}\n\n{after}")
    });
}

#[test]
fn the_documentation_has_every_section() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/JOB.md");
    let text = fs::read_to_string(path).expect("it is there");
    for section in SECTIONS {
        assert!(text.contains(&format!("\n## [{}]", section.name)));
    }
}

/// Returns a row of docs/JOB.md, with words in quotes as code.
fn row(key: &Key) -> String {
    let allowed = key.allowed();
    let quoted = allowed.split('"').enumerate().map(|(i, part)| match i % 2 {
        0 => part.to_owned(),
        _ => format!("`\"{part}\"`"),
    });
    let default = key.default_text();
    let default = default.map_or_else(|| "–".to_owned(), |value| format!("`{value}`"));
    let (name, allowed) = (key.name(), quoted.collect::<String>());
    format!("| `{name}` | {allowed} | {default} | {} |\n", key.description())
}

#[test]
fn the_dictionary_has_the_table() {
    check("fuzz/dictionaries/job.dict", |_| {
        let keys = || SECTIONS.iter().flat_map(|section| section.keys);
        let sections = SECTIONS.iter().map(|section| format!("\"[{}]\"\n", section.name));
        let names: BTreeSet<String> =
            keys().map(|key| format!("\"{} = \"\n", key.name())).collect();
        let words = keys().flat_map(Key::words);
        let words: BTreeSet<String> = words.map(|word| format!("\"\\\"{word}\\\"\"\n")).collect();
        let mut made: String = sections.chain(names).chain(words).collect();
        made += ODD.trim_start();
        made
    });
}

/// The table's defaults, including those of a method, are the values of a job that sets nothing.
#[test]
fn a_job_of_all_defaults_is_the_job_that_sets_nothing() {
    let small: toml::Table = SMALL.parse().expect("TOML");
    let mut job = toml::Table::new();
    for section in SECTIONS.iter().filter(|section| section.name != "synth") {
        let mut values = toml::Table::new();
        for key in section.keys {
            if let Some(value) = key.default_text() {
                let line: toml::Table = format!("value = {value}").parse().expect("TOML");
                values.insert(key.name().to_owned(), line["value"].clone());
            }
        }
        let set = small.get(section.name).and_then(toml::Value::as_table);
        values.extend(set.cloned().unwrap_or_default());
        job.insert(section.name.to_owned(), values.into());
    }
    let written_out = parse(&job.to_string()).unwrap_or_else(|error| panic!("{error}\n{job}"));
    let mut implied = parse(SMALL).expect("valid");
    assert_eq!(written_out.resolved_toml(), implied.resolved_toml());
    implied.path.clone_from(&written_out.path);
    assert_eq!(written_out, implied);
}
