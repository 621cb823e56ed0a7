//! Aggregated statistics against a map.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn drained(aggregator: &mut Moves) -> Vec<(u32, u16, i32)> {
    let mut out = Vec::new();
    aggregator.drain(|e| out.push((e.term, e.topic, e.count)));
    out
}

fn merged(aggregator: &mut Aggregator) -> Vec<(u32, u16, i32)> {
    let mut out = Vec::new();
    aggregator.drain(|e| out.push((e.term, e.topic, e.count)));
    out
}

proptest! {
    #[test]
    fn aggregates_like_a_map(pairs in prop::collection::vec((0u32..50, 0u16..9), 0..400)) {
        let mut aggregator = Moves::new(50, 9);
        let mut twin = BTreeMap::new();
        for &(term, topic) in &pairs {
            aggregator.assigned(term, &[topic]);
            *twin.entry((term, topic)).or_insert(0i32) += 1;
        }
        let expected: Vec<_> = twin.into_iter().map(|((w, k), n)| (w, k, n)).collect();
        prop_assert_eq!(drained(&mut aggregator), expected);
        prop_assert_eq!(drained(&mut aggregator), vec![]);
    }
}

proptest! {
    #[test]
    fn rows_add_up_with_and_without_moves(
        rows in prop::collection::vec((0u32..50, prop::collection::vec(0u16..4097, 9), 1u32..3000), 0..40),
        pairs in prop::collection::vec((0u32..50, 0u16..9), 0..40),
    ) {
        let mut aggregator = Moves::new(50, 9);
        // Without the pairs, then with them: no row of the first run is left.
        for pairs in [&[], &pairs[..]] {
            let mut twin = BTreeMap::new();
            for (term, row, times) in &rows {
                aggregator.add_row(*term, row, *times);
                for (topic, &count) in (0..).zip(row) {
                    *twin.entry((*term, topic)).or_insert(0i64) += i64::from(count) * i64::from(*times);
                }
            }
            for &(term, topic) in pairs {
                aggregator.assigned(term, &[topic]);
                aggregator.add(term, topic, -3);
                *twin.entry((term, topic)).or_insert(0) -= 2;
            }
            let mut found = BTreeMap::new();
            let drained = drained(&mut aggregator);
            prop_assert!(drained.is_sorted_by_key(|&(w, k, _)| (w, k)));
            for (term, topic, count) in drained {
                *found.entry((term, topic)).or_insert(0) += i64::from(count);
            }
            twin.retain(|_, count| *count != 0);
            prop_assert_eq!(found, twin);
        }
    }
}

#[test]
fn merging_parts_equals_the_whole_in_any_order() {
    let words = |pairs: &[(u32, u16)]| {
        let mut a = Moves::new(10, 4);
        pairs.iter().for_each(|&(w, k)| a.assigned(w, &[k]));
        let mut out = Vec::new();
        a.drain(|e| out.push(e.word()));
        out
    };
    let (left, right) = (words(&[(3, 1), (3, 1), (0, 2)]), words(&[(3, 1), (9, 0)]));
    let merge = |parts: [&Vec<u64>; 2]| {
        let mut a = Aggregator::new(10, 4);
        parts.iter().for_each(|p| a.add_words(p));
        merged(&mut a)
    };
    assert_eq!(merge([&left, &right]), vec![(0, 2, 1), (3, 1, 3), (9, 0, 1)]);
    assert_eq!(merge([&left, &right]), merge([&right, &left]));
}

#[test]
fn a_set_of_topics_gives_each_once_and_in_order() {
    let mut set = TopicSet::new(1 << 16);
    let topics = [65_534, 0, 63, 64, 4095, 4096, 64, 0];
    for _ in 0..2 {
        topics.iter().for_each(|&topic| set.insert(topic));
        let mut out = Vec::new();
        set.drain(|topic| out.push(topic));
        assert_eq!(out, [0, 63, 64, 4095, 4096, 65_534]);
    }
}

#[test]
fn changes_cancel_out() {
    let mut aggregator = Moves::new(3, 4);
    aggregator.moved(2, &[1], &[3]);
    aggregator.moved(2, &[3], &[0]);
    aggregator.moved(0, &[2], &[1]);
    aggregator.moved(0, &[1], &[2]);
    assert_eq!(drained(&mut aggregator), vec![(2, 0, 1), (2, 1, -1)]);
}

#[test]
fn what_is_too_much_is_aggregated_early_and_comes_out_the_same() {
    let (mut whole, mut small) = (Moves::new(5, 3), Moves::new(5, 3));
    small.limit = 7;
    for i in 0..100u32 {
        for aggregator in [&mut whole, &mut small] {
            aggregator.assigned(i * 7 % 5, &[(i % 3) as u16]);
            aggregator.moved(i * 7 % 5, &[(i % 3) as u16], &[(i / 10 % 3) as u16]);
        }
    }
    assert_eq!(drained(&mut whole), drained(&mut small));
}

#[test]
fn counts_that_do_not_add_up_are_not_aggregated_each_time() {
    let mut aggregator = Moves::new(40, 30);
    aggregator.limit = 7;
    for i in 0..1200u32 {
        aggregator.add(i % 40, (i / 40) as u16, 1);
        assert!(aggregator.early.len() <= aggregator.limit);
    }
    assert!((1200..2 * 1200).contains(&aggregator.limit), "{}", aggregator.limit);
    assert_eq!(drained(&mut aggregator).len(), 1200);
}

#[test]
fn a_count_too_large_for_an_entry_is_split() {
    let mut aggregator = Aggregator::new(1, 1);
    let half = Assigned { term: 0, topic: 0, count: MAX_COUNT as i32 }.word();
    aggregator.add_words(&[half, half, half]);
    let total: i64 = merged(&mut aggregator).iter().map(|&(_, _, n)| i64::from(n)).sum();
    assert_eq!(total, 3 * MAX_COUNT);
}
