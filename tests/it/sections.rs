//! Long texts in whole runs: their sections are documents, on any workers, and a first job cuts texts that are few.

use std::fs;

use crate::workdir::Workdir;

const JOB: &str = r#"
[corpus]
input = "texts"
block_mib = 0.02
section_words = 100
[vocabulary]
stop_words = "none"
min_documents = 2
max_share = 1
[model]
topics = 3
[train]
minibatch = 16
passes = 4
[output]
path = "out"
"#;

/// Returns a text of this many paragraphs of thirty words.
fn text(paragraphs: usize, seed: usize) -> String {
    let word =
        |at: usize| format!("{}{}", ["sea", "sky", "ice"][at / 400 % 3], at * (7 + seed) % 37);
    let line = |at: usize| (at..at + 10).map(word).collect::<Vec<_>>().join(" ");
    let paragraph = |at: usize| [0, 10, 20].map(|more| line(30 * at + more)).join("\n") + ".\n\n";
    (0..paragraphs).map(paragraph).collect()
}

fn texts(count: usize, paragraphs: usize) -> Workdir {
    let ground = Workdir::new().with_job(JOB);
    fs::create_dir(ground.path("texts")).expect("a folder for tests");
    for number in 0..count {
        ground.write(&format!("texts/{number}.txt"), text(paragraphs + number, number));
    }
    ground
}

#[test]
fn sections_are_documents_of_their_texts_on_any_workers() {
    let ground = texts(12, 20);
    ground.digest_on(&["-w 1", "-w 2", "-w 4", "--processes 2 -w 1"], "run job.toml");
    let documents = ground.table("out0/documents");
    let mut whole = String::new();
    for (place, row) in documents.iter().enumerate() {
        let (name, number) = row["source_id"].rsplit_once('/').expect("a section");
        assert_eq!((row["group_id"].as_str(), row["status"].as_str()), (name, "ok"));
        let section: usize = row["section"].parse().expect("a number");
        assert_eq!(number, format!("{:04}", section + 1));
        if section == 0 {
            whole = fs::read_to_string(ground.path(name)).expect("it is there");
        }
        let start: usize = row["section_start"].parse().expect("a number");
        assert!(whole[..start].is_empty() || whole[..start].ends_with(".\n\n"), "{place}");
        // Four paragraphs of thirty words, or a rest with the ones before.
        let tokens: u64 = row["tokens_total"].parse().expect("a number");
        assert!((60..=180).contains(&tokens), "{tokens}");
    }
    assert!(documents.len() > 12 * 4);
    assert!(!ground.table("out0/group_topics").is_empty());
}

#[test]
fn a_first_job_cuts_texts_that_are_long_and_few() {
    let ground = texts(8, 120);
    let told = |line: &str| {
        let output = ground.output(line);
        assert!(output.status.success());
        crate::workdir::said(&output)
    };
    let new = told("new texts --output first.toml");
    assert!(new.contains("8 texts of about"), "{new}");
    let job = fs::read_to_string(ground.path("first.toml")).expect("it was written");
    assert!(job.contains("section_words = 1000"), "{job}");
    let new = told("new texts --output whole.toml --set corpus.section_words=0");
    assert!(!new.contains("are cut into"), "{new}");
    assert!(ground.succeed("plan whole.toml -w 1").contains("8 documents"));
}
