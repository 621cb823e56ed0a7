//! Training that starts from another model, with another prior over terms.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rounds::topics_of;
use super::{STRENGTHS, themed, two_senses};
use lda::bags::Bags;
use lda::constraints::structures;
use lda::infer::Bag;
use lda::math::special::ln;
use lda::model::Priors;
use lda::model::published::publish;
use lda::model::tree::Tree;
use lda::train::settings::{Memory, MinibatchSize, TrainSettings};
use lda::train::warm_start::{Unassigned, WarmStart};
use lda::train::{Setup, Trained, train};

const TERMS: usize = 12;
const TOPICS: usize = 3;

/// A topic on terms 0 to 2, and two that share term 5; 8 and 9 are each in one of these.
fn documents() -> Bags {
    themed(&[&[0, 1, 2], &[3, 4, 5, 8], &[5, 6, 7, 9]], &[40, 40, 40])
}

fn priors(tree: Option<&Tree>) -> Priors {
    Priors {
        alpha: vec![0.1; TOPICS],
        eta: STRENGTHS.ordinary,
        exp_psi: false,
        tree: tree.map(|tree| Arc::new(tree.clone())),
    }
}

fn settings(passes: u32, warm_start: Option<Unassigned>) -> TrainSettings {
    TrainSettings {
        passes: Some(passes),
        online_passes: if warm_start.is_some() { 0 } else { 6 },
        warm_start,
        alpha_every: Some(0),
        average_every: Some(0),
        minibatch: Some(MinibatchSize::Documents(20)),
        memory: Memory::On,
        patience: 0,
        ..TrainSettings::default()
    }
}

fn flat(bags: &Bags) -> Trained {
    let setup = Setup {
        priors: &priors(None),
        spare_topics: 0,
        settings: &settings(60, None),
        seed: 1,
        vocabulary_size: TERMS,
        warm_start: None,
    };
    train(bags, &Bags::default(), &setup, |_, _| {}).unwrap()
}

fn warm(before: &Trained, unassigned: Unassigned, tree: Option<&Tree>) -> WarmStart {
    let model = (before.parameters.clone(), &before.priors);
    WarmStart::new(unassigned, model, (0..TERMS as u32).map(Some).collect(), tree)
}

fn refined(
    bags: &Bags,
    before: &Trained,
    unassigned: Unassigned,
    tree: Option<&Tree>,
    passes: u32,
) -> Trained {
    let setup = Setup {
        priors: &priors(tree),
        spare_topics: 0,
        settings: &settings(passes, Some(unassigned)),
        seed: 2,
        vocabulary_size: TERMS,
        warm_start: Some(&warm(before, unassigned, tree)),
    };
    train(bags, &Bags::default(), &setup, |_, _| {}).unwrap()
}

fn tokens_of(bags: &Bags, index: usize, term: u32) -> u32 {
    let Bag { terms, counts } = bags.bag(index);
    let place = terms.binary_search(&term);
    place.map_or(0, |place| counts[place])
}

/// φ of some terms in each topic.
fn weights(trained: &Trained, terms: &[u32]) -> Vec<Vec<f64>> {
    let topics = publish(&[&trained.parameters], &trained.priors);
    let weight = |topic: &lda::model::published::PublishedTopic, term: u32| {
        let listed = topic.weights.iter().find(|&&(t, _)| t == term);
        listed.map_or(topic.absent_weight, |&(_, weight)| f64::from(weight))
    };
    topics.iter().map(|topic| terms.iter().map(|&term| weight(topic, term)).collect()).collect()
}

const ALL: [Unassigned; 3] = [Unassigned::Nothing, Unassigned::Terms, Unassigned::Documents];

#[test]
fn without_a_change_topics_keep_their_numbers_and_all_documents_are_visited() {
    let bags = documents();
    let before = flat(&bags);
    let start = warm(&before, Unassigned::Terms, None);
    assert!(!start.is_partial());
    assert_eq!(start.revisited(&bags)[0], bags.len() as u64);
    let after = refined(&bags, &before, Unassigned::Terms, None, 5);
    let own = [0, 1, 2, 3, 4, 6, 7, 8, 9];
    for (old, new) in weights(&before, &own).iter().zip(weights(&after, &own)) {
        for (old, new) in old.iter().zip(new) {
            assert!((old - new).abs() < 0.05, "{old} became {new}");
        }
    }
    let total: f64 = after.parameters.totals().iter().sum();
    assert_eq!(total, bags.token_count() as f64);
}

#[test]
fn trees_that_differ_by_vocabulary_are_continued_on_all_documents() {
    let bags = documents();
    let must = structures(TERMS, &[vec![8, 9]], &[], STRENGTHS).unwrap();
    let tree = Tree::new(TERMS, STRENGTHS.ordinary, &must).unwrap();
    let before = flat(&bags);
    let start = warm(&before, Unassigned::Terms, Some(&tree)).of_same_knowledge();
    assert!(!start.is_partial() && start.changed_rows(&priors(Some(&tree)), 2).is_empty());
    assert_eq!(start.revisited(&bags)[0], bags.len() as u64);
    let begun = start.start(&priors(Some(&tree)), 2, [0, 1]);
    let tokens = bags.token_count() as f64;
    assert_eq!(begun.totals().iter().sum::<f64>(), tokens, "nothing is forgotten");
}

#[test]
fn linked_terms_come_together_and_other_documents_stay_as_they_are() {
    let bags = documents();
    let must = structures(TERMS, &[vec![8, 9]], &[], STRENGTHS).unwrap();
    let tree = Tree::new(TERMS, STRENGTHS.ordinary, &must).unwrap();
    let before = flat(&bags);
    let [eight, nine] = topics_of(&before, [8, 9]);
    assert_ne!(eight, nine, "the two are in different topics at first");
    for unassigned in ALL {
        let start = warm(&before, unassigned, Some(&tree));
        assert_eq!(start.changed_terms().collect::<Vec<_>>(), [8, 9]);
        let long = refined(&bags, &before, unassigned, Some(&tree), 30);
        for index in 0..bags.len() {
            let is_visited = !long.assignments[index].is_empty();
            assert_eq!(is_visited, start.revisits(bags.bag(index)), "{index}");
        }
        let total: f64 = long.parameters.totals().iter().sum();
        let tokens = bags.token_count() as f64;
        assert!((total / tokens - 1.0).abs() < 0.05, "{unassigned:?}: {total} of {tokens}");
        // Each topic gives both terms of the node nearly the same weight.
        for topic in weights(&long, &[8, 9]) {
            assert!(ln(topic[0] / topic[1]).abs() < 0.7, "{unassigned:?}: {topic:?}");
        }
        let unmoved = weights(&before, &[0, 1, 2]).into_iter().zip(weights(&long, &[0, 1, 2]));
        for (old, new) in unmoved {
            for (old, new) in old.iter().zip(new) {
                assert!((old - new).abs() < 0.01, "{unassigned:?}: {old} became {new}");
            }
        }
    }
}

#[test]
fn a_term_gets_its_senses_and_loses_them_again() {
    let bags = themed(&[&[0, 1, 2], &[0, 3, 4], &[6, 7, 8]], &[40, 40, 40]);
    let before = flat(&bags);
    let tree = two_senses();
    let senses: BTreeMap<u32, usize> =
        (0..TERMS as u32).map(|term| (term, tree.leaves_of(term).len())).collect();
    assert_eq!(senses[&0], 2);
    for unassigned in ALL {
        let split = refined(&bags, &before, unassigned, Some(&tree), 30);
        // Term 0 goes to one topic by one leaf, and to the other by the other.
        let leaves: Vec<u32> = tree.leaves_of(0).collect();
        let [one, other] = topics_of(&split, [1, 3]);
        assert_ne!(one, other);
        let count = |leaf: u32, topic: usize| {
            let row = split.parameters.row(leaf).iter();
            row.filter(|entry| entry.topic as usize == topic).map(|entry| entry.value).sum::<f32>()
        };
        let right = count(leaves[0], one) + count(leaves[1], other);
        let wrong = count(leaves[0], other) + count(leaves[1], one);
        if unassigned != Unassigned::Nothing {
            assert!(right > 4.0 * wrong, "{unassigned:?}: {right} and {wrong}");
        }
        let start = warm(&split, unassigned, None);
        assert_eq!(start.changed_terms().count(), tree.structured_count());
        let again = refined(&bags, &split, unassigned, None, 10);
        assert_eq!(again.parameters.vocabulary_size(), TERMS);
        let own = again.parameters.row(0).iter();
        let tokens: f32 = own.map(|entry| entry.value).sum();
        let all: u32 = (0..bags.len()).map(|index| tokens_of(&bags, index, 0)).sum();
        assert_eq!(tokens, all as f32, "{unassigned:?}");
    }
}

#[test]
fn terms_of_a_cannot_link_come_apart() {
    // Topics 0 and 1 have both terms of the link.
    let bags = themed(&[&[0, 1, 2, 8, 9], &[3, 4, 5, 8, 9], &[6, 7]], &[40, 40, 40]);
    let before = flat(&bags);
    let link = structures(TERMS, &[], &[vec![8, 9]], STRENGTHS).unwrap();
    let tree = Tree::new(TERMS, STRENGTHS.ordinary, &link).unwrap();
    for unassigned in [Unassigned::Terms, Unassigned::Documents] {
        let after = refined(&bags, &before, unassigned, Some(&tree), 10);
        let rows = [8, 9].map(|term| {
            let leaf = tree.leaves_of(term).start;
            let mut row = [0.0; TOPICS];
            for entry in after.parameters.row(leaf) {
                row[entry.topic as usize] = entry.value;
            }
            row
        });
        let tokens: u32 = (0..bags.len())
            .map(|index| tokens_of(&bags, index, 8) + tokens_of(&bags, index, 9))
            .sum();
        assert_eq!(rows.iter().flatten().sum::<f32>(), tokens as f32);
        for topic in 0..TOPICS {
            let least = rows[0][topic].min(rows[1][topic]);
            assert_eq!(least, 0.0, "{unassigned:?}: {rows:?}");
        }
    }
}

#[test]
fn terms_that_the_model_does_not_have_begin_with_nothing() {
    let bags = documents();
    let before = flat(&bags);
    let terms: Vec<Option<u32>> = (0..TERMS as u32).map(|term| term.checked_sub(1)).collect();
    let model = (before.parameters.clone(), &before.priors);
    let start = WarmStart::new(Unassigned::Nothing, model, terms, None);
    let parameters = start.start(&priors(None), 1, [0, 1]);
    assert!(parameters.row(0).is_empty());
    for term in 1..TERMS as u32 {
        assert_eq!(parameters.row(term), before.parameters.row(term - 1));
    }
    let parts = [0, 1].map(|part| start.start(&priors(None), 1, [part, 2]));
    for term in 0..TERMS as u32 {
        assert_eq!(parts[term as usize % 2].row(term), parameters.row(term));
    }
    assert_eq!(parts[0].totals(), parameters.totals());
}
