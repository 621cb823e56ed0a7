//! Input that cannot be ingested is refused with a remedy.

use mesh::Exit;

use super::fixture::{Fixture, write_all_kinds};

/// Runs an ingest that must fail; returns its message and exit code.
fn refusal(fixture: &Fixture, overrides: &[&str]) -> (String, Exit) {
    let error = fixture.ingest(1, &fixture.job("out", overrides)).unwrap_err();
    (error.to_string(), error.exit())
}

#[test]
fn another_job_or_input_does_not_overwrite_a_collection() {
    let fixture = Fixture::new();
    write_all_kinds(&fixture);
    fixture.ingest(1, &fixture.job("out", &[])).unwrap();
    let (message, exit) = refusal(&fixture, &["tokens.min_length=4"]);
    assert!(message.contains("different settings") && message.contains("--overwrite"), "{message}");
    assert_eq!(exit, Exit::Usage);
    // Settings of later stages do not affect the collection.
    fixture.ingest(1, &fixture.job("out", &["model.topics=7"])).unwrap();
    fixture.write("z.jsonl", "{\"text\": \"more\"}\n");
    let (message, exit) = refusal(&fixture, &[]);
    assert!(message.contains("changed since") && message.contains("output.path"), "{message}");
    assert_eq!(exit, Exit::Data);
}

#[test]
fn a_collection_without_documents_terms_or_vocabulary_says_what_to_do() {
    let fixture = Fixture::new();
    fixture.write("a.jsonl", "\n\n");
    let (message, exit) = refusal(&fixture, &[]);
    assert!(
        message.contains("contains no document") && message.contains("corpus.input"),
        "{message}"
    );
    assert_eq!(exit, Exit::Data);
    fixture.write("a.jsonl", "{\"body\": \"whales swim\"}\n");
    let (message, _) = refusal(&fixture, &[]);
    assert!(message.contains("corpus.text"), "{message}");
    fixture.write("a.jsonl", "{\"text\": \"the whales swim\"}\n{\"text\": \"whales\"}\n");
    let (message, exit) =
        refusal(&fixture, &["vocabulary.min_documents=2", "vocabulary.max_share=0.5"]);
    for part in [
        "of 3 terms in 2 documents",
        "1 are in fewer",
        "min_documents = 2",
        "1 in more than",
        "1 are stop words",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(exit, Exit::Data);
}

#[test]
fn a_damaged_file_stops_the_run_unless_the_job_says_otherwise() {
    let fixture = Fixture::new();
    fixture.write("a.jsonl.gz", &super::fixture::gzip(b"{\"text\": \"whales\"}\n")[..30]);
    let (message, exit) = refusal(&fixture, &[]);
    assert!(message.contains("damaged") && message.contains("on_damage"), "{message}");
    assert_eq!(exit, Exit::Data);
}

#[test]
fn a_damaged_collection_is_no_collection() {
    let fixture = Fixture::new();
    write_all_kinds(&fixture);
    let job = fixture.job("out", &[]);
    fixture.ingest(1, &job).unwrap();
    std::fs::write(job.output.path.join("corpus/collection.json"), "{}").unwrap();
    let (message, exit) = refusal(&fixture, &[]);
    assert!(message.contains("collection.json") && message.contains("--overwrite"), "{message}");
    assert_eq!(exit, Exit::Data);
}
