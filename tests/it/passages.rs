//! Passages that show what the documents of a topic say about it.

use crate::workdir::Workdir;

const JOB: &str = r#"
[corpus]
input = "in.jsonl"
snippets = "passage"
[model]
topics = 2
[vocabulary]
min_documents = 2
[train]
passes = 8
[project]
topic_documents = 5
[output]
path = "out"
link = "https://example.org/{source_id}"
"#;

const WORDS: [[&str; 4]; 2] =
    [["Whale", "ship", "captain", "harpoon"], ["tariff", "gold", "bank", "silver"]];

/// Returns documents with a sentence about each of two subjects, between sentences without one.
fn documents() -> String {
    let document = |number: usize| {
        let sentence = |subject: usize| {
            let word = |place: usize| WORDS[subject][(number / 2 + place) % 4];
            format!("The {} and\\nthe {} of a {}, a {}.", word(0), word(1), word(2), word(0))
        };
        let filler = "It was so, and then it was not as it had been before. ".repeat(8);
        let (most, least) = (sentence(number % 2), sentence(1 - number % 2));
        let text =
            format!("{filler}{most} {most} {filler}{}", if number < 4 { &least } else { &most });
        format!("{{\"id\": \"d{number}\", \"text\": \"{text}\"}}\n")
    };
    (0..40).map(document).collect()
}

#[test]
fn the_passages_of_a_topic_say_what_it_is_about() {
    let ground = Workdir::new().with_job(JOB);
    ground.write("in.jsonl", documents());
    ground.digest_on(
        &["-w 1", "-w 3", "--processes 2 -w 1"],
        "run job.toml --set output.report=false",
    );
    ground.succeed("run job.toml --quiet --overwrite");
    let rows = ground.table("out/topic_passages");
    assert_eq!(rows.len(), ground.table("out/topic_documents").len());
    for row in &rows {
        let passage = &row["passage"];
        assert!(passage.chars().count() <= 304 && !passage.contains('\n'), "{passage}");
        let of_sea = WORDS[0].iter().filter(|word| passage.contains(**word)).count();
        let marked =
            WORDS[usize::from(of_sea == 0)].iter().filter(|word| row["words"].contains(**word));
        assert_eq!(marked.count(), 3, "{row:?}");
        assert!(passage.starts_with("… The") && !row["words"].contains("the"), "{row:?}");
    }
    let shown = ground.succeed("inspect out --topic 0");
    assert!(shown.contains("passage") && shown.contains("…"), "{shown}");
    let page = std::fs::read_to_string(ground.path("out/report.html")).unwrap();
    assert!(page.contains("passage_words") && page.contains("https://example.org/{source_id}"));
}

#[test]
fn without_whole_texts_the_beginnings_are_shown() {
    let ground = Workdir::new().with_job(JOB);
    ground.write("in.jsonl", documents());
    ground.succeed("run job.toml --quiet --set corpus.snippets=start");
    ground.succeed("verify out");
    for row in ground.table("out/topic_passages") {
        assert!(
            row["passage"].starts_with("It was so, and then") && row["passage"].ends_with(" …")
        );
    }
    let refused = ground.denied(64, "run job.toml --set output.link=https://x.org/{page}");
    assert!(refused.contains("output.link") && refused.contains("{source_id}"), "{refused}");
}
