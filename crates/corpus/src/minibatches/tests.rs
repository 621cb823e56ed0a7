//! Sorting, spilling and reading ahead.

use std::path::Path;

use super::*;
use lda::train::minibatches::{Deal, minibatch_at, place};

/// Collects 1000 documents, document 7 in five pieces, with a limit of `limit` bytes.
fn minibatches(limit: u64, path: &Path) -> Minibatches {
    let mut builder = MinibatchBuilder::new(limit, path.to_owned());
    for document in 0..1000u64 {
        let (a, b) = (document as u32, document as u32 + 1);
        let key = |document| [place(3, document), document];
        let labels: Vec<u16> = (0..document % 3).map(|label| label as u16 + 5).collect();
        let place = key(document << 33);
        builder.push(place, &labels, &[a, b], &[1, 2]).unwrap();
        if document % 300 == 7 {
            builder.push(key(7 << 33), &[], &[a + 5], &[4]).unwrap();
        }
    }
    assert!(!path.exists());
    builder.finish(&Deal::Even(6)).unwrap()
}

#[test]
fn documents_are_the_same_in_memory_and_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample");
    let in_memory = minibatches(1 << 20, &path);
    assert!(!in_memory.is_on_disk());
    assert_eq!(in_memory.document_count(), 1000);
    let all = |minibatches: &Minibatches, load: bool| {
        let mut seen = Vec::new();
        for number in 0..minibatches.count() {
            let minibatch = if load {
                minibatches.load(&mut (number..number + 1)).unwrap()
            } else {
                minibatches.read(number).unwrap()
            };
            let [documents, tokens] = minibatches.share(number..number + 1);
            assert_eq!(minibatch.len() as u64, documents);
            let mut counted = 0;
            for index in 0..minibatch.len() {
                let Bag { terms, counts } = minibatch.bag(index);
                let document = minibatch.document(index);
                assert_eq!(minibatch_at(place(3, document), 6), number);
                assert_eq!(minibatch.position(index), seen.len());
                counted += counts.iter().map(|&n| u64::from(n)).sum::<u64>();
                let labels = minibatch.labels(index).to_vec();
                assert_eq!(labels.len() as u64, (document >> 33) % 3);
                seen.push((document, terms.to_vec(), counts.to_vec(), labels));
            }
            assert_eq!(counted, tokens);
        }
        seen
    };
    let expected = all(&in_memory, false);
    let mut documents: Vec<u64> = expected.iter().map(|(document, ..)| document >> 33).collect();
    documents.sort_unstable();
    assert_eq!(documents, (0..1000).collect::<Vec<_>>());
    let joined = expected.iter().find(|(document, ..)| *document == 7 << 33);
    let (terms, counts) = (vec![7, 8, 12, 312, 612, 912], vec![1, 2, 4, 4, 4, 4]);
    assert_eq!(joined, Some(&(7 << 33, terms, counts, vec![5])));
    // Limits that spill often, now and then, and just before the end.
    for limit in [0, 5_000, 24_000] {
        let on_disk = minibatches(limit, &path);
        assert!(on_disk.is_on_disk() && !path.exists());
        for _pass in 0..2 {
            assert_eq!(all(&on_disk, true), expected, "{limit}");
        }
        assert_eq!(all(&on_disk, false), expected, "{limit}");
    }
}

#[test]
fn threads_that_ask_at_once_get_the_same_minibatch() {
    let folder = tempfile::tempdir().unwrap();
    let minibatches = minibatches(100, &folder.path().join("sample"));
    let sizes = |n: u64| minibatches.load(&mut (n..n + 1)).unwrap().len() as u64;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for number in (0..6).chain(0..6) {
                    assert_eq!(sizes(number), minibatches.share(number..number + 1)[0]);
                }
            });
        }
    });
}

#[test]
fn there_may_be_no_document_and_minibatches_without_any() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample");
    let empty = MinibatchBuilder::new(0, path.clone()).finish(&Deal::Even(3)).unwrap();
    assert_eq!((empty.count(), empty.document_count()), (3, 0));
    assert!(empty.load(&mut (2..3)).unwrap().is_empty());
    let mut one = MinibatchBuilder::new(0, path);
    one.push([5, 5], &[], &[2], &[9]).unwrap();
    let one = one.finish(&Deal::Even(50)).unwrap();
    let lengths: usize = (0..50).map(|n| one.load(&mut (n..n + 1)).unwrap().len()).sum();
    assert_eq!((one.count(), one.document_count(), lengths), (50, 1, 1));
}
