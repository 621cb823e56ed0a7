//! Repeated texts in whole runs: found on any number of workers, and counted once.

use std::collections::BTreeMap;

use lda::math::random::{Stage, Stream};

use crate::workdir::{Workdir, said};

const JOB: &str = r#"
[corpus]
input = ["a.jsonl", "b.jsonl"]
block_mib = 0.01
duplicates = "once"
[vocabulary]
stop_words = "none"
min_documents = 2
[model]
topics = 3
[sample]
held_out = 0.1
[train]
passes = 6
[output]
path = "out"
"#;

const DOCUMENTS: u64 = 150;

/// Returns the words of a document, from a part of the vocabulary.
fn words(document: u64) -> Vec<String> {
    let mut stream = Stream::keyed(11, Stage::Synth, 0, document);
    (0..40 + stream.below(60)).map(|_| format!("w{}x{}", document % 3, stream.below(120))).collect()
}

fn line(id: &str, words: &[String]) -> String {
    format!("{{\"id\": \"{id}\", \"text\": \"{}\"}}\n", words.join(" "))
}

/// Returns a folder with documents, and copies of every fifth of them: in another case, with a word of their own, and of
/// every tenth also a copy of the copy. Some short texts are equal.
fn ground() -> Workdir {
    let ground = Workdir::new().with_job(JOB);
    let short = line("short", &words(0)[..15]);
    let originals: String =
        (0..DOCUMENTS).map(|number| line(&format!("d{number}"), &words(number))).collect();
    ground.write("a.jsonl", originals + &short.repeat(2));
    let copy = |number: u64| {
        let mut words: Vec<String> = words(number).iter().map(|word| word.to_uppercase()).collect();
        words.push(format!("own{number}"));
        let again = if number.is_multiple_of(10) {
            line(&format!("again{number}"), &words)
        } else {
            String::new()
        };
        line(&format!("copy{number}"), &words) + &again
    };
    ground.write("b.jsonl", (0..DOCUMENTS).step_by(5).map(copy).collect::<String>());
    ground
}

/// Returns the number of the original of each copy, by the id of the copy.
fn copies(ground: &Workdir, out: &str) -> BTreeMap<String, String> {
    let rows = ground.table(&format!("{out}/documents")).into_iter();
    let copies = rows.filter(|row| !row["duplicate_of"].is_empty());
    copies.map(|row| (row["source_id"].clone(), row["duplicate_of"].clone())).collect()
}

fn expected() -> BTreeMap<String, String> {
    let copies =
        (0..DOCUMENTS).step_by(5).map(|number| (format!("copy{number}"), number.to_string()));
    let again =
        (0..DOCUMENTS).step_by(10).map(|number| (format!("again{number}"), number.to_string()));
    copies.chain(again).collect()
}

#[test]
fn copies_are_found_by_any_number_of_workers_and_counted_once() {
    let ground = ground();
    ground.digest_on(&["-w 1", "-w 2", "-w 4", "--processes 2 -w 2"], "run job.toml");
    assert_eq!(copies(&ground, "out0"), expected());
    for row in ground.table("out0/documents") {
        assert_eq!((row["status"].as_str(), row["top_topic"].is_empty()), ("ok", false));
        assert!(row["duplicate_of"].is_empty() || row["split"] == "projected");
        let own = u64::from(!row["duplicate_of"].is_empty());
        assert!(
            row["tokens_unknown"].parse::<u64>().unwrap() >= own,
            "a copy has a word of its own"
        );
    }
    let shown = ground.succeed("inspect out0");
    assert!(shown.contains("repeated    45 documents nearly repeat an earlier one"), "{shown}");

    ground.succeed("run job.toml --quiet --set corpus.input=[\"a.jsonl\"] --set output.path=alone");
    for table in ["vocabulary", "topic_terms"] {
        let rows = |out: &str| ground.table(&format!("{out}/{table}"));
        assert!(rows("out0") == rows("alone"), "{table}");
    }
}

#[test]
fn copies_are_dropped_or_kept_as_the_job_wants() {
    let ground = ground();
    ground.succeed("run job.toml --quiet -w 2 --set corpus.duplicates=drop");
    assert_eq!(copies(&ground, "out"), expected());
    for row in ground.table("out/documents") {
        let is_dropped = !row["duplicate_of"].is_empty();
        assert_eq!(row["status"] == "duplicate", is_dropped);
        assert_eq!(
            (row["tokens_total"] == "0", row["top_topic"].is_empty()),
            (is_dropped, is_dropped)
        );
    }
    ground.succeed("verify out");
    ground.succeed("run job.toml --quiet --set corpus.duplicates=keep --set output.path=kept");
    assert!(copies(&ground, "kept").is_empty());
    let set = "--set corpus.duplicate_similarity=1 --set output.path=equal";
    ground.succeed(&format!("run job.toml --quiet {set}"));
    let [equal, all] = [copies(&ground, "equal"), expected()];
    let mut again = all.keys().filter(|id| id.starts_with("again"));
    assert!(again.all(|id| equal.contains_key(id)), "copies of copies are equal");
    assert!(equal.len() < all.len());
}

#[test]
fn copies_are_found_where_phrases_are_joined() {
    let ground = ground();
    let phrases = "--set phrases.detect=true --set phrases.min_count=3 --set phrases.threshold=0.2";
    ground.digest_on(&["-w 1", "-w 3"], &format!("run job.toml {phrases}"));
    assert_eq!(copies(&ground, "out0"), expected());
    let terms = ground.table("out0/vocabulary");
    assert!(terms.iter().any(|row| row["term"].contains('_')));
    assert!(!terms.iter().any(|row| row["term"].starts_with("own")));
}

#[test]
fn a_result_with_copies_grows_shrinks_and_is_trained_again() {
    let ground = ground();
    ground.succeed("run job.toml --quiet -w 2");
    ground.write("c.jsonl", line("new", &words(5)));
    ground.succeed("add out c.jsonl --quiet -w 2");
    assert_eq!(copies(&ground, "out"), expected(), "they are not looked for among new documents");
    let documents = |term: &str| -> u64 {
        let rows = ground.table("out/vocabulary").into_iter();
        rows.filter(|row| row["term"] == term)
            .map(|row| row["document_count"].parse::<u64>().unwrap())
            .sum()
    };
    let before = documents("w2x1");
    ground.write("gone", "copy5\nd10\n");
    ground.succeed("remove out --ids gone --quiet -w 2");
    let mut left = expected();
    left.remove("copy5");
    assert_eq!(copies(&ground, "out"), left);
    assert_eq!(documents("w2x1"), before, "a copy was not counted");
    ground.succeed("retrain out --quiet -w 2");
    assert_eq!(copies(&ground, "out"), left);
    assert!(
        !ground
            .table("out/documents")
            .iter()
            .any(|row| { !row["duplicate_of"].is_empty() && row["split"] != "projected" })
    );
    ground.succeed("verify out");
}

#[test]
fn a_collection_of_copies_says_why_nothing_is_left() {
    let ground = Workdir::new().with_job(JOB);
    let lines: String = (0..30).map(|number| line(&format!("d{number}"), &words(1))).collect();
    ground.write("a.jsonl", &lines);
    ground.write("b.jsonl", &lines);
    let output = ground.output("run job.toml --quiet");
    assert_eq!(output.status.code(), Some(65), "{}", said(&output));
    assert!(
        said(&output).contains("59 of 60 texts nearly repeat an earlier one"),
        "{}",
        said(&output)
    );
}
