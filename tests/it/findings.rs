//! Topics that are none of the collection are named in whole runs: those of one document, one volume, one language, and
//! of encoded lines.

use std::collections::BTreeMap;

use lda::math::random::{Stage, Stream};

use crate::workdir::Workdir;

const JOB: &str = r#"
[corpus]
input = "documents.jsonl"
group = "volume"
metadata = ["year", "language"]
[vocabulary]
stop_words = "none"
min_documents = 1
[sample]
fraction = 1
held_out = 0
[model]
topics = 12
[train]
passes = 40
[project]
trends = ["year"]
[output]
path = "out"
"#;

const SUBJECTS: [&str; 4] = ["tree", "ship", "coin", "road"];

/// A document: its id, its subject, the number of its words, its volume, language and year.
type Document = (String, &'static str, u64, String, &'static str, u64);

/// Returns a line with words of a subject, each with another beginning.
fn line((id, subject, length, volume, language, year): Document) -> String {
    let key = id.bytes().fold(0, |key: u64, byte| key.wrapping_mul(31) + u64::from(byte));
    let mut stream = Stream::keyed(5, Stage::Synth, 0, key);
    let letters = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t"];
    let word = |n: usize| match subject {
        "encoded" => format!("{}{n}{}", letters[n], letters[(n + 5) % 12]),
        subject => format!("{}a{subject}", letters[n]),
    };
    let words: Vec<String> = (0..length).map(|_| word(stream.below(12) as usize)).collect();
    let text = words.join(" ");
    serde_json::json!({
        "id": id, "text": text, "volume": volume, "language": language, "year": year,
    })
    .to_string()
        + "\n"
}

/// Returns documents of four subjects in many volumes.
fn sound() -> String {
    let of = |document: u64| {
        let (volume, year) = (format!("volume {}", document * 7 % 40), 1990 + document / 4 % 5);
        let subject = SUBJECTS[(document % 4) as usize];
        line((format!("d{document}"), subject, 30 + document % 20, volume, "en", year))
    };
    (0..400).map(of).collect()
}

/// Returns such documents, and others that have topics of their own.
fn flawed() -> String {
    let some = |subject: &'static str, volumes: u64, language: &'static str| {
        let of = move |document: u64| {
            let volume = format!("{language} {}", document % volumes);
            line((
                format!("{subject}{document}"),
                subject,
                40,
                volume,
                language,
                1990 + document % 5,
            ))
        };
        (0..60).map(of).collect::<String>()
    };
    let giant = ("giant".to_owned(), "giant", 3000, "en 3".to_owned(), "en", 1991);
    sound()
        + &line(giant)
        + &some("novel", 1, "en")
        + &some("citt", 40, "it")
        + &some("encoded", 40, "en")
}

/// Runs the job; returns the kinds of the findings, each with the first term of its topics.
fn findings(ground: &Workdir, settings: &str) -> BTreeMap<String, Vec<String>> {
    let said = ground.succeed(&format!("run job.toml --quiet --json {settings}"));
    let summary: serde_json::Value =
        serde_json::from_str(said.lines().last().expect("a summary")).expect("JSON");
    let topics = ground.table(&format!("{}/topics", summary["output"].as_str().expect("a path")));
    let first = |topic: &serde_json::Value| {
        let terms = &topics[topic.as_u64().expect("a number") as usize]["top_terms"];
        terms.trim_start_matches('[').split(',').next().expect("a term").to_owned()
    };
    let of = |warning: &serde_json::Value| {
        let numbers = warning["topics"].as_array().expect("topics");
        (warning["kind"].as_str().expect("a kind").to_owned(), numbers.iter().map(first).collect())
    };
    summary["findings"].as_array().expect("findings").iter().map(of).collect()
}

#[test]
fn topics_that_are_none_are_named_on_any_workers() {
    let ground = Workdir::new().with_job(JOB);
    ground.write("documents.jsonl", flawed());
    let found = findings(&ground, "-w 1");
    let expected = [
        ("one_document", "agiant"),
        ("one_group", "anovel"),
        ("one_language", "acitt"),
        ("rubbish", ""),
    ];
    for (kind, subject) in expected {
        let words = found.get(kind).unwrap_or_else(|| panic!("{kind}: {found:?}"));
        assert!(
            words.iter().all(|word| word.contains(subject)
                && word.contains(char::is_numeric) == subject.is_empty()),
            "{kind}: {found:?}"
        );
    }
    assert_eq!(ground.digest_on(&["-w 2", "-w 4"], "run job.toml"), ground.digest("out"));
    let shown = ground.succeed("inspect out");
    assert!(shown.contains("mostly of one document: "), "{shown}");
    let page = std::fs::read_to_string(ground.path("out/report.html")).expect("a page");
    assert!(page.contains("one_document"));
}

#[test]
fn sound_topics_are_not_named() {
    let ground = Workdir::new().with_job(JOB);
    ground.write("documents.jsonl", sound());
    let found = findings(&ground, "--set model.topics=4");
    let of_few_topics = |kind: &String| ["dead", "duplicate", "junk"].contains(&&kind[..]);
    assert!(found.keys().all(of_few_topics), "{found:?}");
}

#[test]
fn a_long_document_is_trained_on_in_part_on_any_workers() {
    let ground = Workdir::new().with_job(JOB);
    ground.write("documents.jsonl", flawed());
    let thin = "--set train.max_document_tokens=100 --set train.passes=4";
    let said = ground.succeed(&format!("run job.toml {thin} -w 1"));
    assert!(said.contains("581 documents (1 of them in part), "), "{said}");
    let digest = ground.digest_on(&["-w 2", "-w 3"], &format!("run job.toml {thin}"));
    assert_eq!(digest, ground.digest("out"));
    // It is projected whole.
    let rows = ground.table("out/documents");
    let giant = rows.iter().find(|row| row["source_id"] == "giant").expect("a row");
    assert_eq!(giant["tokens_in_vocabulary"], "3000");
}
