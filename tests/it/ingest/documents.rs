//! Every document of the input has one row, even if it cannot be read.

use topicmill::corpus::DocumentStatus::{
    self, Empty, NoVocabulary, Ok, ParseError, Repaired, TooLarge, Truncated,
};
use topicmill::corpus::Sections;

use super::fixture::{Fixture, documents, gzip};

/// Writes a folder with many errors; returns the expected status of each document, in order.
fn write_messy(fixture: &Fixture) -> Vec<(&'static str, DocumentStatus)> {
    fixture.write("a-empty.txt", "");
    fixture.write("b-latin.txt", b"whales in caf\xe9 water");
    fixture.write("c-nothing.jsonl", "");
    let mut lines: Vec<u8> = Vec::new();
    for line in [
        &br#"{"id": "one", "text": "whales swim", "year": 1851}"#[..],
        b"this is not JSON",
        br#"{"id": "one", "text": "whales swim again"}"#,
        b"",
        b"{\"id\": \"bytes\", \"text\": \"whales \xff swim\"}",
        br#"{"id": "null", "text": null}"#,
        br#"{"id": "none"}"#,
        br#"{"id": "marks", "text": "... 42 !"}"#,
        br#"{"id": "stopped", "text": "The and was"}"#,
    ] {
        lines.extend_from_slice(line);
        lines.push(b'\n');
    }
    lines.extend_from_slice(b"{\"id\": \"huge\", \"text\": \"");
    lines.extend(std::iter::repeat_n(b"whales ", 20_000).flatten());
    lines.extend_from_slice(b"\"}\n{\"id\": \"last\", \"text\": \"swim\"}");
    fixture.write("d.jsonl", lines);
    let mut cut = gzip("{\"id\": \"gz\", \"text\": \"whales swim\"}\n".repeat(2000).as_bytes());
    cut.truncate(cut.len() - 9);
    fixture.write("e.jsonl.gz", cut);
    vec![
        ("in/a-empty.txt", Empty),
        ("in/b-latin.txt", Repaired),
        ("one", Ok),
        ("in/d.jsonl@51", ParseError),
        ("one", Ok),
        ("bytes", Repaired),
        ("null", Empty),
        ("none", Empty),
        ("marks", Empty),
        ("stopped", NoVocabulary),
        ("in/d.jsonl@", TooLarge),
        ("last", Ok),
    ]
}

#[test]
fn a_messy_folder_loses_no_document() {
    let fixture = Fixture::new();
    let expected = write_messy(&fixture);
    for threads in [1, 2] {
        let mut job = fixture.job(
            &format!("out{threads}"),
            &["corpus.on_damage=\"keep\"", "corpus.metadata=[\"year\"]"],
        );
        job.corpus.max_document_bytes = 100_000;
        let ingested = fixture.ingest(threads, &job).unwrap();
        let documents = documents(&job, &ingested.collection);
        for (document, (source_id, status)) in documents.iter().zip(&expected) {
            assert_eq!(document.status, *status, "{source_id}");
            assert!(document.source_id.starts_with(source_id), "{}", document.source_id);
        }
        // The readable part of the damaged file, and one document for the rest.
        let rest = &documents[expected.len()..];
        let (lost, read) = rest.split_last().unwrap();
        assert!(read.len() <= 2000 && read.iter().all(|document| document.status == Ok));
        assert_eq!(lost.status, Truncated);
        assert_eq!(documents[2].metadata, [Some("1851".to_owned())]);
        assert_eq!((documents[9].tokens_total, documents[9].tokens_stopped), (3, 3));

        let by_status = &ingested.collection.documents_by_status;
        assert_eq!(by_status["empty"], 4);
        assert_eq!(by_status["repaired"], 2);
        assert_eq!(by_status["no_vocabulary"], 1);
        assert_eq!(by_status["ok"], 3 + read.len() as u64);
        assert_eq!(by_status.values().sum::<u64>(), documents.len() as u64);
        assert_eq!(ingested.collection.documents_with_terms, 5 + read.len() as u64);
        let remarks = ingested.remarks.join("\n");
        assert!(remarks.contains("in/d.jsonl@51") && remarks.contains("max_document_mib"));
    }
}

#[test]
fn sections_are_numbered_within_volumes_across_shards() {
    let fixture = Fixture::new();
    let volumes = [("a", 10), ("b", 1), ("c", 30), ("", 30), ("c", 2)];
    let sections = |&(volume, count): &(&'static str, u64)| (0..count).map(move |n| (volume, n));
    let all: Vec<_> = volumes.iter().flat_map(sections).collect();
    let line = |(volume, n): &(&str, u64)| match *volume {
        "" => format!("{{\"text\": \"whale w{n}\"}}\n"),
        volume => format!("{{\"volume\": \"{volume}\", \"text\": \"whale w{n}\"}}\n"),
    };
    fixture.write("a.jsonl", all.iter().map(line).collect::<String>());
    let settings = ["corpus.group=volume", "corpus.block_mib=0.0002"];
    let job = fixture.job("out", &settings);
    let collection = fixture.ingest(2, &job).unwrap().collection;
    let documents = documents(&job, &collection);
    let (mut numbers, mut has_shard_without_volume) = (Vec::new(), false);
    for shard in &collection.shards {
        let mut sections = Sections::starting(shard.first_section);
        let first = shard.first_document as usize;
        let shard = &documents[first..first + shard.documents as usize];
        has_shard_without_volume |= shard.iter().all(|of| of.group.is_none());
        numbers.extend(shard.iter().map(|of| sections.number(of.group.as_deref())));
    }
    assert!(collection.shards.len() > 5 && has_shard_without_volume);
    // The last two continue the volume before those without one.
    let expected = |(at, &(volume, n)): (usize, &(&str, u64))| match volume {
        "" => None,
        _ => Some(n + if at >= 71 { 30 } else { 0 }),
    };
    assert!(numbers.into_iter().eq(all.iter().enumerate().map(expected)));
}

#[test]
fn remarks_are_few_however_many_documents_are_wrong() {
    let fixture = Fixture::new();
    fixture.write("a.jsonl", format!("{}{{\"text\": \"whale\"}}", "wrong\n".repeat(1000)));
    let ingested = fixture.ingest(1, &fixture.job("out", &[])).unwrap();
    assert_eq!(ingested.remarks.len(), 20);
    assert_eq!(ingested.collection.documents_by_status["parse_error"], 1000);
    assert_eq!(ingested.collection.documents, 1001);
}
