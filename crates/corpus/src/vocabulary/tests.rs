//! Pruning of hand-made cases, whatever the order of the counts; remapping against a naive twin.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::settings::Names;
use crate::stop_words::StopList;

fn settings() -> VocabularySettings {
    VocabularySettings {
        stop_words: Vec::new(),
        names: Names::Keep,
        stop_top: 0,
        min_documents: 1,
        max_share: 1.0,
        max_terms: usize::MAX,
        max_distinct: u64::MAX,
    }
}

fn counts(list: &[(&str, u64, u64)]) -> Vec<VocabularyTerm> {
    let count = |&(term, tokens, documents): &(&str, u64, u64)| VocabularyTerm {
        term: term.to_owned(),
        tokens,
        documents,
        status: TermStatus::Unknown,
    };
    list.iter().map(count).collect()
}

/// Prunes all terms of a collection.
fn prune(
    mut terms: Vec<VocabularyTerm>,
    documents: u64,
    settings: &VocabularySettings,
    stop_list: &StopList,
) -> Vocabulary {
    super::prune(&mut terms, documents, settings, stop_list, |mut ranks, n| {
        ranks.sort_unstable();
        ranks.get(n).map(|&(numbers, term)| (numbers, term.to_owned()))
    });
    terms.sort_unstable_by(|a, b| a.term.cmp(&b.term));
    terms.sort_by_key(|term| match term.status {
        TermStatus::Kept => term.rank().0,
        _ => [u64::MAX; 2],
    });
    Vocabulary::from_terms(terms).unwrap()
}

fn statuses(vocabulary: &Vocabulary) -> Vec<(&str, &str)> {
    let pair = |t: &'_ VocabularyTerm| t.status.name();
    vocabulary.terms().iter().map(|t| (t.term.as_str(), pair(t))).collect()
}

#[test]
fn terms_of_another_vocabulary_keep_their_statuses() {
    let rare = VocabularySettings { min_documents: 3, ..settings() };
    let list = counts(&[("sea", 8, 6), ("whale", 9, 4), ("ahab", 2, 1), ("the", 90, 9)]);
    let before = prune(list, 9, &rare, &StopList::of(["the"]));
    let mut after =
        counts(&[("whale", 1, 1), ("drone", 50, 40), ("ahab", 7, 5), ("a", 5, 5), ("the", 3, 2)]);
    keep_those_of(&before, &mut after, &StopList::of(["the", "a"]));
    let found: Vec<_> = after.iter().map(|term| term.status.name()).collect();
    assert_eq!(found, ["kept", "unknown", "rare", "stop", "stop"]);
}

#[test]
fn each_rule_names_its_terms() {
    let list = counts(&[
        ("the", 900, 100),
        ("said", 300, 95),
        ("one", 200, 90),
        ("sea", 80, 60),
        ("whale", 90, 40),
        ("ship", 70, 40),
        ("harpoon", 9, 5),
        ("queequeg", 9, 1),
    ]);
    let settings = VocabularySettings {
        stop_top: 1,
        min_documents: 2,
        max_share: 0.6,
        max_terms: 3,
        max_distinct: u64::MAX,
        ..settings()
    };
    let vocabulary = prune(list, 100, &settings, &StopList::of(["the"]));
    assert_eq!(
        statuses(&vocabulary),
        [
            ("sea", "kept"),
            ("whale", "kept"),
            ("ship", "kept"),
            ("harpoon", "capped"),
            ("one", "frequent"),
            ("queequeg", "rare"),
            ("said", "stop"),
            ("the", "stop"),
        ]
    );
    assert_eq!(vocabulary.kept(), 3);
    assert_eq!(vocabulary.id("ship"), Some(2));
    assert_eq!((vocabulary.id("harpoon"), vocabulary.id("moby")), (None, None));
    assert_eq!(vocabulary.status("said"), Some(TermStatus::Stop));
}

#[test]
fn ties_go_by_documents_then_tokens_then_bytes() {
    let list = counts(&[("b", 7, 5), ("a", 7, 5), ("c", 8, 5), ("é", 7, 5), ("d", 99, 4)]);
    let vocabulary = prune(list.clone(), 9, &settings(), &StopList::default());
    let terms: Vec<&str> = vocabulary.kept_terms().iter().map(|t| t.term.as_str()).collect();
    assert_eq!(terms, ["c", "a", "b", "é", "d"]);
    let two = VocabularySettings { stop_top: 2, ..settings() };
    let vocabulary = prune(list, 9, &two, &StopList::default());
    let terms: Vec<&str> = vocabulary.kept_terms().iter().map(|t| t.term.as_str()).collect();
    assert_eq!(
        terms,
        ["c", "é", "d"],
        "the most frequent terms depend on documents and bytes alone"
    );
}

#[test]
fn a_share_is_compared_as_it_is_written() {
    // 0.29 * 100.0 is 28.999…: the product would drop the first.
    let list = counts(&[("in", 29, 29), ("out", 30, 30)]);
    let settings = VocabularySettings { max_share: 0.29, ..settings() };
    let vocabulary = prune(list, 100, &settings, &StopList::default());
    assert_eq!(statuses(&vocabulary), [("in", "kept"), ("out", "frequent")]);
}

#[test]
fn empty_collections_and_caps() {
    let none = prune(Vec::new(), 0, &settings(), &StopList::default());
    assert_eq!((none.kept(), none.terms().len()), (0, 0));
    let zero = VocabularySettings { max_terms: 0, ..settings() };
    let vocabulary = prune(counts(&[("a", 1, 1)]), 1, &zero, &StopList::default());
    assert_eq!(statuses(&vocabulary), [("a", "capped")]);
}

#[test]
fn the_fingerprint_is_of_kept_terms_in_order() {
    let prune = |list: &[(&str, u64, u64)]| {
        prune(counts(list), 9, &settings(), &StopList::default()).fingerprint()
    };
    let base = prune(&[("ab", 5, 5), ("c", 4, 4)]);
    assert_eq!(base.len(), 64);
    assert_eq!(base, prune(&[("c", 3, 3), ("ab", 9, 9)]), "counts are not part of it");
    assert_ne!(base, prune(&[("c", 5, 5), ("ab", 4, 4)]), "the order is");
    assert_ne!(base, prune(&[("a", 5, 5), ("bc", 4, 4)]), "and so is where terms end");
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(prune(&[]), empty);
}

#[test]
fn lists_that_are_no_vocabulary_are_refused() {
    let term = |term: &str, status| VocabularyTerm {
        term: term.to_owned(),
        tokens: 1,
        documents: 1,
        status,
    };
    let order = vec![term("a", TermStatus::Rare), term("b", TermStatus::Kept)];
    let twice = vec![term("a", TermStatus::Kept), term("a", TermStatus::Rare)];
    let refused = |terms| Vocabulary::from_terms(terms).unwrap_err();
    assert!(refused(order).contains("kept term \"b\" follows"));
    assert!(refused(twice).contains("term \"a\" is listed twice"));
}

#[test]
fn names_are_read_back() {
    for status in TermStatus::ALL {
        assert_eq!(TermStatus::from_name(status.name()), Some(status));
    }
    assert_eq!(TermStatus::from_name("Kept"), None);
}

/// Returns random counts of terms t0, t1, …, with many ties.
fn any_counts() -> impl Strategy<Value = Vec<VocabularyTerm>> {
    prop::collection::vec((1_u64..6, 0_u64..4), 0..40).prop_map(|list| {
        let count = |(place, (documents, more)): (usize, (u64, u64))| VocabularyTerm {
            term: format!("t{place}"),
            tokens: documents + more,
            documents,
            status: TermStatus::Unknown,
        };
        list.into_iter().enumerate().map(count).collect()
    })
}

proptest! {
    #[test]
    fn the_order_of_counts_does_not_matter(
        (list, shuffled) in any_counts().prop_flat_map(|l| (Just(l.clone()), Just(l).prop_shuffle())),
        stop_top in 0_usize..4,
        min_documents in 0_u64..4,
        max_terms in 0_usize..20,
    ) {
        let settings = VocabularySettings {
            stop_top, min_documents, max_terms, max_share: 0.7, ..settings() };
        let stop = StopList::of(["t3", "t7"]);
        let one = prune(list.clone(), 6, &settings, &stop);
        let other = prune(shuffled, 6, &settings, &stop);
        prop_assert_eq!(one.terms(), other.terms());
        prop_assert_eq!(one.fingerprint(), other.fingerprint());
        prop_assert_eq!(one.terms().len(), list.len());
        prop_assert!(one.kept() <= max_terms);
        let documents: Vec<u64> = one.kept_terms().iter().map(|t| t.documents).collect();
        prop_assert!(documents.is_sorted_by(|a, b| a >= b));
        for (id, term) in one.kept_terms().iter().enumerate() {
            prop_assert_eq!(one.id(&term.term), Some(id as u32));
        }
        prop_assert!(one.terms()[one.kept()..].is_sorted_by(|a, b| a.term < b.term));
    }

    #[test]
    fn drafts_are_rewritten_like_the_naive_twin(
        documents in prop::collection::vec(prop::collection::vec("[a-h]", 0..12), 1..10),
        max_terms in 0_usize..8,
    ) {
        let mut counter = TermCounter::new();
        let mut drafts = Vec::new();
        for tokens in &documents {
            let mut draft = ShardDocument { status: DocumentStatus::Ok, ..Default::default() };
            counter.begin_document();
            tokens.iter().for_each(|token| counter.add(token));
            draft.tokens_total =
                counter.end_document(&mut draft.terms, &mut draft.counts) as u32;
            drafts.push(draft);
        }
        let mut list = Vec::new();
        counter.visit_counts(&mut |term, tokens, documents| {
            list.extend(counts(&[(term, tokens, documents)]));
        });
        let settings = VocabularySettings {
            max_terms, min_documents: 2, max_share: 0.8, ..settings() };
        let vocabulary = prune(list, 10, &settings, &StopList::of(["a", "b"]));
        let mut map = TermMap::new(0, vocabulary.kept());
        map.extend(&counter, &vocabulary);
        for (tokens, mut draft) in documents.iter().zip(drafts) {
            map.remap(&mut draft);
            check_remapped(tokens, &draft, &vocabulary);
        }
    }
}

fn check_remapped(tokens: &[String], draft: &ShardDocument, vocabulary: &Vocabulary) {
    use TermStatus::{Capped, Frequent, Kept, Rare, Stop};
    let statuses = [&[Kept][..], &[Rare, Capped], &[Stop, Frequent]];
    for (statuses, [ids, counts]) in zip(statuses, draft.lists()) {
        let mut bag = BTreeMap::new();
        for token in tokens {
            let place = vocabulary.place(token).unwrap();
            if statuses.contains(&vocabulary.terms()[place as usize].status) {
                *bag.entry(place).or_insert(0) += 1;
            }
        }
        assert!(zip(ids.clone(), counts.clone()).eq(bag), "{statuses:?}");
    }
    let stopped = tokens.iter().filter(|t| ["a", "b"].contains(&t.as_str())).count();
    assert_eq!(draft.tokens_stopped as usize, stopped);
    let expected = match (tokens.is_empty(), draft.terms.is_empty()) {
        (true, _) => DocumentStatus::Empty,
        (false, true) => DocumentStatus::NoVocabulary,
        (false, false) => DocumentStatus::Ok,
    };
    assert_eq!(draft.status, expected);
}

#[test]
fn other_statuses_stay() {
    let map = TermMap::new(0, 0);
    for status in [DocumentStatus::ParseError, DocumentStatus::TooLarge, DocumentStatus::Truncated]
    {
        let mut document = ShardDocument { status, ..Default::default() };
        map.remap(&mut document);
        assert_eq!(document.status, status);
    }
}
