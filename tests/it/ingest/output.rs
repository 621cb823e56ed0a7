//! Ingest's output does not depend on its workers, and complete work is not repeated.

use std::collections::BTreeMap;
use std::fs;

use topicmill::corpus::collection::COLLECTION_FILE;
use topicmill::corpus::tokenizer::Tokenizer;
use topicmill::corpus::vocabulary::TermStatus;
use topicmill::corpus::vocabulary_file::{self, VOCABULARY_FILE};

use super::fixture::{Fixture, documents, files, texts, write_all_kinds};

#[test]
fn threads_do_not_show_in_a_single_byte() {
    let fixture = Fixture::new();
    write_all_kinds(&fixture);
    let mut outputs = Vec::new();
    for threads in 1..=3 {
        let mut job = fixture.job(&format!("out{threads}"), &["vocabulary.min_documents=3"]);
        job.corpus.block_bytes = Some(2000);
        let ingested = fixture.ingest(threads, &job).unwrap();
        assert_eq!(ingested.collection.documents, 405);
        assert!(ingested.collection.shards.len() > 20);
        outputs.push(files(&job.output.path));
    }
    let names: Vec<_> = outputs[0].keys().cloned().collect();
    assert_eq!(names[0], COLLECTION_FILE);
    assert_eq!(names[1], "corpus/shards/shard-00000.parquet");
    assert_eq!(names.last().unwrap(), VOCABULARY_FILE, "{names:?}");
    for output in &outputs[1..] {
        assert!(output.keys().eq(names.iter()));
        for (name, bytes) in output {
            assert!(*bytes == outputs[0][name], "{name} differs");
        }
    }
}

#[test]
fn the_size_of_blocks_changes_no_document() {
    let fixture = Fixture::new();
    write_all_kinds(&fixture);
    let mut seen = Vec::new();
    for bytes in [500, 5000, 1 << 20] {
        let mut job = fixture.job(&format!("out{bytes}"), &[]);
        job.corpus.block_bytes = Some(bytes);
        let collection = fixture.ingest(2, &job).unwrap().collection;
        let vocabulary = collection.vocabulary_fingerprint.clone();
        seen.push((documents(&job, &collection), vocabulary, collection.shards.len()));
    }
    assert!(seen.windows(2).all(|pair| pair[0].0 == pair[1].0 && pair[0].1 == pair[1].1));
    assert!(seen.windows(2).all(|pair| pair[0].2 > pair[1].2));
    let ids: Vec<_> = seen[0].0.iter().map(|document| document.source_id.as_str()).collect();
    assert_eq!((ids[0], ids[149], ids[150], ids[299]), ("d0", "d149", "d150", "d299"));
    assert_eq!((ids[300], ids[399]), ("in/d/300.txt", "in/d/399.txt"));
}

#[test]
fn the_vocabulary_counts_what_a_naive_count_does() {
    let fixture = Fixture::new();
    write_all_kinds(&fixture);
    let limits = ["vocabulary.max_share=0.3", "vocabulary.min_documents=4"];
    let job = fixture.job("out", &limits);
    let collection = fixture.ingest(3, &job).unwrap().collection;

    let mut expected: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut tokenizer = Tokenizer::new(&job.tokens);
    let mut bags: Vec<Vec<(String, u64)>> = texts(400)
        .iter()
        .map(|text| {
            let mut bag = Vec::new();
            tokenizer.tokens(text, &mut |token| bag.push((token.to_owned(), 1)));
            bag
        })
        .collect();
    let counts = |some: &[(&str, u64)]| some.iter().map(|&(t, n)| (t.to_owned(), n)).collect();
    bags.push(counts(&[("Whale", 2), ("w9é", 1)]));
    bags.push(counts(&[("w7é", 5)]));
    bags.push(counts(&[("Whale", 1)]));
    bags.push(counts(&[("w9é", 3), ("Whale", 4)]));
    for bag in &bags {
        let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
        bag.iter().for_each(|(term, tokens)| *seen.entry(term).or_default() += tokens);
        for (term, tokens) in seen {
            let entry = expected.entry(term.to_owned()).or_default();
            entry.0 += tokens;
            entry.1 += 1;
        }
    }

    let vocabulary = vocabulary_file::read(&job.output.path.join(VOCABULARY_FILE)).unwrap();
    let found: BTreeMap<String, (u64, u64)> = vocabulary
        .terms()
        .iter()
        .map(|term| (term.term.clone(), (term.tokens, term.documents)))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(collection.terms_total, expected.len() as u64);
    assert_eq!(collection.terms_kept, vocabulary.kept() as u64);
    assert_eq!(collection.vocabulary_fingerprint, vocabulary.fingerprint());
    assert_eq!(collection.tokens_total, expected.values().map(|counts| counts.0).sum::<u64>());
    let by_status = |status| -> u64 {
        let terms = vocabulary.terms().iter().filter(|term| term.status == status);
        terms.map(|term| term.tokens).sum()
    };
    assert!(by_status(TermStatus::Rare) > 0 && by_status(TermStatus::Frequent) > 0);
    assert_eq!(collection.tokens_in_vocabulary, by_status(TermStatus::Kept));
    assert_eq!(collection.tokens_stopped, by_status(TermStatus::Stop));
    for (document, bag) in documents(&job, &collection).iter().zip(&bags[..400]) {
        let mut expected: BTreeMap<u32, u32> = BTreeMap::new();
        for (term, _) in bag {
            if let Some(id) = vocabulary.id(term) {
                *expected.entry(id).or_default() += 1;
            }
        }
        let found = document.terms.iter().copied().zip(document.counts.iter().copied());
        assert!(found.eq(expected), "{}", document.source_id);
        assert_eq!(document.tokens_total as usize, bag.len());
    }
}

#[test]
fn what_is_complete_is_not_done_again_and_what_was_stopped_is() {
    let fixture = Fixture::new();
    write_all_kinds(&fixture);
    let job = fixture.job("out", &[]);
    let first = fixture.ingest(2, &job).unwrap().collection;
    let written = files(&job.output.path);

    // A mark in a shard shows whether it was written again.
    let shard = job.output.path.join("corpus/shards/shard-00000.parquet");
    fs::write(&shard, "mark").unwrap();
    assert_eq!(fixture.ingest(1, &job).unwrap().collection, first);
    assert_eq!(fs::read(&shard).unwrap(), b"mark");

    // The state after a run that was stopped just before its end, with a shard of other blocks left over.
    fs::remove_file(job.output.path.join(COLLECTION_FILE)).unwrap();
    fs::write(job.output.path.join("corpus/shards/shard-00099.parquet"), "old").unwrap();
    fs::create_dir_all(job.output.path.join("_temporary/drafts/x")).unwrap();
    fs::write(job.output.path.join("_temporary/drafts/x/0-0.parquet"), "half").unwrap();
    assert_eq!(fixture.ingest(1, &job).unwrap().collection, first);
    assert!(files(&job.output.path) == written);
}
