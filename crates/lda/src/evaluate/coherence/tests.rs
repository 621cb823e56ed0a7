//! The counter against a naive implementation, and values computed by hand.

use super::*;
use crate::math::random::{Stage, Stream};
use std::collections::BTreeSet;

/// UMass and NPMI by definition: scans all documents for each pair.
fn naive(documents: &[BTreeSet<u32>], top: &[u32]) -> (f64, f64) {
    let n = documents.len() as f64;
    let count =
        |has: &dyn Fn(&BTreeSet<u32>) -> bool| documents.iter().filter(|d| has(d)).count() as f64;
    let alone = |a: u32| count(&|d| d.contains(&a));
    let both = |a: u32, b: u32| count(&|d| d.contains(&a) && d.contains(&b));
    let (mut umass, mut npmi, mut pairs) = (0.0, 0.0, 0.0);
    for i in 1..top.len() {
        for j in 0..i {
            let (joint, d_i, d_j) = (both(top[i], top[j]), alone(top[i]), alone(top[j]));
            if d_j > 0.0 {
                umass += ln((joint + 1.0) / d_j);
            }
            if i < 10 {
                pairs += 1.0;
                npmi += match joint {
                    0.0 => -1.0,
                    joint if joint == n => 1.0,
                    joint => ln(joint / n / (d_i / n * (d_j / n))) / -ln(joint / n),
                };
            }
        }
    }
    (umass, npmi / pairs)
}

fn random_documents(count: u64, vocabulary: u64) -> Vec<BTreeSet<u32>> {
    (0..count)
        .map(|d| {
            let mut stream = Stream::keyed(3, Stage::Synth, 0, d);
            (0..25).map(|_| stream.below(1 + stream.clone().below(vocabulary)) as u32).collect()
        })
        .collect()
}

#[test]
fn agrees_with_the_naive_twin() {
    let documents = random_documents(400, 120);
    let tops: Vec<Vec<u32>> = (0..9_u32)
        .map(|k| (0..20).map(|r| (k * 11 + r * 7) % 120).collect())
        .chain([vec![5, 6, 7]])
        .collect();
    let mut counter = CoherenceCounter::new(&tops, 120, 20);
    for document in &documents {
        counter.add_document(&document.iter().copied().collect::<Vec<_>>());
    }
    for (topic, top) in tops.iter().enumerate() {
        let (umass, npmi) = naive(&documents, top);
        assert!((counter.umass(topic) - umass).abs() < 1e-10);
        assert!((counter.npmi(topic) - npmi).abs() < 1e-12);
    }
}

#[test]
fn equation_13_on_a_corpus_made_by_hand() {
    // D(0) = 3, D(1) = 2, D(2) = 1, D(0,1) = 2, D(0,2) = 0, D(1,2) = 0, 4 documents.
    let mut counter = CoherenceCounter::new(&[vec![0, 1, 2]], 3, 20);
    for document in [&[0, 1][..], &[1, 0], &[0], &[2]] {
        counter.add_document(document);
    }
    assert_eq!(counter.counts(), [4, 3, 2, 1, 2, 0, 0]);
    let umass = ln(3.0 / 3.0) + ln(1.0 / 3.0) + ln(1.0 / 2.0);
    assert_eq!(counter.umass(0), umass);
    let pair = ln(0.5 / (0.75 * 0.5)) / -ln(0.5);
    assert_eq!(counter.npmi(0), (pair - 1.0 - 1.0) / 3.0);
}

#[test]
fn counts_add_up_in_any_split() {
    let documents = random_documents(100, 30);
    let tops = vec![(0..20).collect(), (5..25).rev().collect::<Vec<u32>>()];
    let mut whole = CoherenceCounter::new(&tops, 30, 20);
    let mut parts = [whole.clone(), whole.clone(), whole.clone()];
    for (i, document) in documents.iter().enumerate() {
        let terms: Vec<u32> = document.iter().copied().collect();
        whole.add_document(&terms);
        parts[i * i % 3].add_document(&terms);
    }
    let [mut sum, second, third] = parts;
    sum.add_counts(third.counts());
    sum.add_counts(second.counts());
    assert_eq!(sum.counts(), whole.counts());
    assert_eq!(sum.umass(1).to_bits(), whole.umass(1).to_bits());
}

#[test]
fn edges_have_stated_values() {
    let mut counter = CoherenceCounter::new(&[vec![], vec![2], vec![0, 1], vec![3, 0]], 4, 20);
    assert_eq!(counter.npmi(2), -1.0, "nothing counted yet");
    for _ in 0..3 {
        counter.add_document(&[0, 1, 2]);
    }
    assert_eq!((counter.umass(0), counter.npmi(0)), (0.0, 0.0));
    assert_eq!((counter.umass(1), counter.npmi(1)), (0.0, 0.0));
    assert_eq!(counter.npmi(2), 1.0, "a pair in every document");
    assert_eq!(counter.umass(2), ln(4.0 / 3.0));
    assert_eq!(counter.umass(3), 0.0, "term 3 is in no document: nothing to say");
    assert_eq!(counter.npmi(3), -1.0);
}

#[test]
fn terms_beyond_the_twentieth_are_cut_off() {
    let tops = vec![(0..30).collect::<Vec<u32>>()];
    let counter = CoherenceCounter::new(&tops, 30, 20);
    assert_eq!(counter.counts().len(), 1 + 20 + 190);
}

#[test]
#[should_panic(expected = "different topics")]
fn counts_of_other_topics_are_refused() {
    let mut counter = CoherenceCounter::new(&[vec![0, 1]], 4, 20);
    counter.add_counts(CoherenceCounter::new(&[vec![0, 1, 2]], 4, 20).counts());
}

#[test]
fn any_number_of_terms_can_be_scored() {
    let documents = random_documents(300, 90);
    let top: Vec<u32> = (0..MOST_TERMS as u32).map(|r| r * 37 % 90).collect();
    let mut counter = CoherenceCounter::new(std::slice::from_ref(&top), 90, MOST_TERMS);
    for document in &documents {
        counter.add_document(&document.iter().copied().collect::<Vec<_>>());
    }
    for terms in [2, 5, 20, 33, MOST_TERMS] {
        let (umass, _) = naive(&documents, &top[..terms]);
        assert!((counter.umass_of(0, terms) - umass).abs() < 1e-8, "{terms}");
        let (_, npmi) = naive(&documents, &top[..terms.min(10)]);
        assert!((counter.npmi_of(0, terms.min(10)) - npmi).abs() < 1e-12);
    }
    assert_eq!(counter.umass_of(0, 1000), counter.umass_of(0, MOST_TERMS));
    let twin = |w: u32| documents.iter().filter(|d| d.contains(&w)).count() as u64;
    assert_eq!(counter.document_frequency(0, 40), twin(top[40]));
}

#[test]
fn a_term_is_judged_by_the_worst_pair_with_a_term_before_it() {
    // D(0) = 3, D(1) = 2, D(2) = 1, D(0,1) = 2, D(0,2) = 0, D(1,2) = 0; 9 is in no document.
    let mut counter = CoherenceCounter::new(&[vec![0, 1, 2], vec![9, 1]], 10, 20);
    for document in [&[0, 1][..], &[1, 0], &[0], &[2]] {
        counter.add_document(document);
    }
    let by_rank: Vec<f64> = (0..3).map(|rank| counter.term_umass(0, rank)).collect();
    assert_eq!(by_rank, [0.0, 0.0, ln(1.0 / 3.0)]);
    assert_eq!(counter.term_umass(1, 1), 0.0, "nothing to judge by");
}

#[test]
fn terms_that_no_document_has_are_counted_once() {
    let mut counter = CoherenceCounter::new(&[vec![0, 1, 2], vec![1, 3]], 4, 20);
    assert_eq!(counter.absent_terms(), 4);
    counter.add_document(&[0, 2]);
    assert_eq!(counter.absent_terms(), 2);
}
