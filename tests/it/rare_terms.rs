//! A collection with more distinct terms than `vocabulary.max_distinct` does not list rare ones, and is otherwise the same.

use std::collections::BTreeSet;

use lda::math::random::{Stage, Stream};

use crate::workdir::Workdir;

const JOB: &str = r#"
[corpus]
input = ["in.jsonl"]
block_mib = 0.01
[model]
topics = 3
[sample]
held_out = 0.1
[train]
passes = 6
[output]
path = "out"
[vocabulary]
min_documents = 3
"#;

const DOCUMENTS: u64 = 300;

/// Returns sentences of words that many documents have, and of words that one or two have, some of which repeat a text.
fn text(document: u64) -> String {
    let mut stream = Stream::keyed(12, Stage::Synth, 0, document % 290);
    let mut words = String::new();
    for place in 0..60 {
        let word = match place % 6 {
            // A name in every other document, where it occurs twice.
            0 if document.is_multiple_of(2) => {
                format!("Rare{0} Rare{0}", document % 290 / 2 * 100 + place)
            }
            0 => format!("rare{}", document % 290 / 2 * 100 + place),
            1 => format!("two{}", document / 2 * 100 + place),
            2 => "new york".to_owned(),
            3 => format!("Name{}", stream.below(9)),
            4 => "the".to_owned(),
            _ => format!("w{}x{}", document % 3, stream.below(30)),
        };
        words += &word;
        words += if place % 20 == 19 { ". So " } else { " " };
    }
    words
}

fn ground() -> Workdir {
    let ground = Workdir::new().with_job(JOB);
    let line = |number| format!("{{\"id\": \"d{number}\", \"text\": {:?}}}\n", text(number));
    ground.write("in.jsonl", (0..DOCUMENTS).map(line).collect::<String>());
    ground
}

#[test]
fn rare_terms_of_a_large_vocabulary_are_not_listed_and_change_nothing_else() {
    let ground = ground();
    let variants = [
        "",
        "--set phrases.detect=true --set phrases.min_count=9",
        "--set corpus.duplicates=once --set vocabulary.names=drop",
    ];
    for (variant, settings) in variants.into_iter().enumerate() {
        let all = format!("all{variant}");
        ground.succeed(&format!("run job.toml --quiet -w 2 {settings} --set output.path={all}"));
        let placements = ["-w 1", "-w 3", "--processes 2 -w 2"].into_iter().enumerate();
        let digests = placements.map(|(number, placement)| {
            let out = format!("out{variant}{number}");
            ground.succeed(&format!(
                "run job.toml --quiet {settings} {placement} --set vocabulary.max_distinct=100 --set output.path={out}"
            ));
            ground.digest(&out)
        });
        assert_eq!(digests.collect::<BTreeSet<_>>().len(), 1, "{settings}");
        let out = format!("out{variant}0");
        for table in ["document_topics", "topic_terms", "topics", "documents"] {
            let rows = |out: &str| ground.table(&format!("{out}/{table}"));
            // Rare names are unknown, not stopped.
            let differs = table == "documents" && settings.contains("names");
            assert!((rows(&out) == rows(&all)) != differs, "{settings}: {table}");
        }
        let terms = |out: &str| ground.table(&format!("{out}/vocabulary"));
        let (listed, mut expected) = (terms(&out), terms(&all));
        let distinct = expected.len();
        expected.retain(|term| term["document_count"].parse::<u64>().unwrap() >= 3);
        assert!(listed == expected, "{settings}: {listed:?}");
        assert!(distinct > 2000 && listed.len() < 250);
        let collection =
            std::fs::read_to_string(ground.path(&format!("{out}/corpus/collection.json")));
        let collection: serde_json::Value = serde_json::from_str(&collection.unwrap()).unwrap();
        let unlisted = collection["terms_unlisted"].as_u64().unwrap();
        // Words that only names or joined phrases are made of, and stop words, are distinct terms of the texts, too.
        assert!(
            (0..300).contains(&(unlisted as i64 - (distinct - listed.len()) as i64)),
            "{unlisted}"
        );
        assert!(ground.succeed(&format!("verify {out}")).contains("sound"));
    }
}

#[test]
fn terms_that_were_not_listed_count_from_zero_when_documents_are_added() {
    let ground = ground();
    ground.succeed("run job.toml --quiet -w 2 --set vocabulary.max_distinct=100");
    let line = |number| format!("{{\"id\": \"e{number}\", \"text\": {:?}}}\n", text(number));
    ground.write("more.jsonl", (280..290).map(line).collect::<String>());
    ground.succeed("add out more.jsonl --quiet");
    ground.succeed("retrain out --quiet");
    assert!(ground.succeed("verify out").contains("sound"));
    let terms = ground.table("out/vocabulary");
    let rare = terms.iter().filter(|term| term["term"].starts_with("rare140"));
    let counts: BTreeSet<_> = rare.map(|term| &term["document_count"][..]).collect();
    assert_eq!(counts, ["2"].into(), "the documents that had them before are not counted");
}

#[test]
fn a_collection_of_rare_terms_alone_says_how_many_there_are() {
    let ground = Workdir::new().with_job(JOB);
    let line = |number| format!("{{\"id\": \"d{number}\", \"text\": \"a{number}x b{number}y\"}}\n");
    ground.write("in.jsonl", (0..200).map(line).collect::<String>());
    let told = ground.denied(65, "run job.toml --quiet --set vocabulary.max_distinct=100");
    assert!(told.contains("400 are in fewer than vocabulary.min_documents = 3"), "{told}");
}
