//! Rounds under a tree, whose parameters stay fixed while documents are sampled, and training by them.

use std::sync::Arc;

use super::{
    STRENGTHS, configurations, larger_tree, ln_topics, small_tree, themed, trained, two_senses,
};
use crate::chi_square::{chi_square_z, normalized};
use lda::bags::Bags;
use lda::constraints::structures;
use lda::infer::Bag;
use lda::infer::sampler::Sampler;
use lda::infer::settings::Estimator;
use lda::math::random::{Stage, Stream};
use lda::math::special::exp;
use lda::model::factors::{FactorTable, Factors};
use lda::model::parameters::{Entry, Parameters};
use lda::model::statistics::Assigned;
use lda::model::tree::{Node, ROOT, Tree};
use lda::model::{Priors, published::publish};
use lda::train::joint::{self, TopicSums};
use lda::train::schedule::Action;
use lda::train::settings::{Memory, MinibatchSize, TrainSettings};
use lda::train::step::{Sampling, StreamKey, Visit, cvb0, online_vb, sampled};
use lda::train::visitor::Visitor;
use lda::train::{Setup, Trained, train};
use published::tree::counts::{Assignment, Counts};
use published::tree::sampler::Variant;

/// Counts as parameters by leaf.
fn by_leaf(tree: &Tree, counts: &Counts) -> Parameters {
    let topics = counts.topic_count();
    let count = |node, topic| f64::from(counts.get(node, topic as u16));
    let totals = (0..topics).map(|k| count(ROOT, k)).collect();
    let row = |leaf| -> Vec<Entry> {
        let values = (0..topics).map(|k| (k as u32, count(tree.node(leaf), k) as f32));
        let entries = values.map(|(topic, value)| Entry { topic, value });
        entries.filter(|entry| entry.value > 0.0).collect()
    };
    Parameters::new(topics, tree.leaf_count(), 0, 1).restore(1.0, totals, row)
}

fn priors(tree: &Tree, alpha: &[f64]) -> Priors {
    Priors {
        alpha: alpha.to_vec(),
        eta: tree.eta(),
        exp_psi: false,
        tree: Some(Arc::new(tree.clone())),
    }
}

fn key(document: u64) -> StreamKey {
    StreamKey { seed: 4, stage: Stage::Train, round: 0, document }
}

#[test]
fn rounds_draw_topics_and_then_leaves_from_the_posterior() {
    let few = themed(&[&[0, 1, 2], &[1, 2, 3]], &[3, 2]);
    rounds_draw_from_the_posterior(&small_tree(), &few, [0, 1, 3]);
    let many = themed(&[&[0, 1, 2, 3, 11], &[4, 5, 6, 11], &[7, 8, 9, 10]], &[9; 3]);
    rounds_draw_from_the_posterior(&larger_tree(), &many, [3, 5, 11]);
}

/// Documents with one token of each of `terms`, against a model learnt from `bags`.
fn rounds_draw_from_the_posterior(tree: &Tree, bags: &Bags, terms: [u32; 3]) {
    let alpha = [0.4, 0.7, 0.2];
    let gibbs = trained(bags, tree, 3, Variant::FastRb, 7);
    let counts = gibbs.counts();
    let parameters = by_leaf(tree, counts);
    let factors = Factors::prepare(&parameters, &priors(tree, &alpha), |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    for term in 0..tree.vocabulary_size() as u32 {
        let row = table.find(term).unwrap();
        for (topic, e) in (0..).zip(table.all(row)) {
            let phi = counts.term_probability(tree, term, topic);
            assert!((e - phi).abs() < 1e-6 * phi, "{e} for {phi}");
        }
    }
    // The sampler takes the largest term first.
    let descending: Vec<u32> = terms.iter().rev().copied().collect();
    let configurations = configurations(tree, 3, &descending);
    let posterior = normalized(
        configurations
            .iter()
            .map(|tokens| {
                let paths = tokens.iter().map(|&t| counts.path_probability(tree, t));
                exp(ln_topics(&alpha, tokens)) * paths.product::<f64>()
            })
            .collect(),
    );
    let bag = Bag { terms: &terms, counts: &[1, 1, 1] };
    let (mut seen, mut sampler) = (vec![0; configurations.len()], Sampler::default());
    for document in 0..100_000 {
        let mut stream = Stream::keyed(9, Stage::Train, 0, document);
        sampler.start(bag, table);
        (0..6).for_each(|_| sampler.sweep(table, &mut stream).unwrap());
        let mut draw = |(term, row, topics): (u32, _, &[u16])| {
            let sense = table.draw_sense(term, row, topics[0], None, &mut stream);
            Assignment { topic: topics[0], leaf: tree.leaves_of(term).start + u32::from(sense) }
        };
        let tokens: Vec<_> = sampler.runs().map(&mut draw).collect();
        let place = configurations.iter().position(|c| *c == tokens);
        seen[place.unwrap()] += 1;
    }
    let z = chi_square_z(&posterior, &seen);
    assert!(z.abs() < 4.0, "χ² is {z} deviations off");
}

/// A token of term 0 that counts in the model is redrawn as if it did not, except in the root's normaliser; by
/// every kernel: few topics, and many.
#[test]
fn a_remembered_token_is_drawn_without_its_own_count() {
    let tree = small_tree();
    let bags = themed(&[&[0, 1, 2], &[0, 2, 3]], &[2, 2]);
    for unused in [0, 197] {
        let topics = 3 + unused;
        let gibbs = trained(&bags, &tree, 3, Variant::Fast, 5);
        let old = gibbs.assignments(0)[0];
        assert_eq!(tree.term(old.leaf), 0);
        let mut counts = Counts::new(&tree, topics);
        let all = (0..bags.len()).flat_map(|index| gibbs.assignments(index));
        all.for_each(|&token| counts.add(&tree, token));
        let alpha: Vec<f64> = (0..topics).map(|k| if k < 3 { 0.5 } else { 1e-9 }).collect();
        let parameters = by_leaf(&tree, &counts);
        let factors = Factors::prepare(&parameters, &priors(&tree, &alpha), |_| true, None);
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        let mut without = counts.clone();
        without.remove(&tree, old);
        let places: Vec<Assignment> = tree
            .leaves_of(0)
            .flat_map(|leaf| (0..3).map(move |topic| Assignment { topic, leaf }))
            .collect();
        let posterior = normalized(
            places
                .iter()
                .map(|&place| {
                    // The root's normaliser keeps the token.
                    let whole =
                        |c: &Counts| tree.prior_sum(ROOT) + f64::from(c.get(ROOT, place.topic));
                    let kept = whole(&without) / whole(&counts);
                    alpha[usize::from(place.topic)] * without.path_probability(&tree, place) * kept
                })
                .collect(),
        );
        let sense = |leaf: u32| (leaf - tree.leaves_of(0).start) as u16;
        let number = |place: Assignment| place.topic + topics as u16 * sense(place.leaf);
        let mut local = Sampling::new(tree.leaf_count(), topics);
        let bag = Bag { terms: &[0], counts: &[1] };
        let mut seen = vec![0; places.len()];
        let mut moved = 0;
        for document in 0..60_000 {
            local.resume(bag, table, &[number(old)]);
            let new = local.redraw(key(document), table, &[number(old)]).unwrap()[0];
            let place = places.iter().position(|&place| number(place) == new);
            seen[place.unwrap()] += 1;
            moved += i64::from(new != number(old));
        }
        let z = chi_square_z(&posterior, &seen);
        assert!(z.abs() < 4.0, "{topics} topics: χ² is {z} deviations off");
        let mut left = 0;
        local.finish(|entry: Assigned| {
            let is_old = (entry.term, entry.topic) == (old.leaf, old.topic);
            left -= i64::from(entry.count) * i64::from(is_old);
        });
        assert_eq!(left, moved, "what has moved is counted");
    }
}

#[test]
fn a_kept_pass_keeps_the_senses() {
    let tree = small_tree();
    let bags = themed(&[&[0, 1, 2], &[0, 2, 3]], &[2, 2]);
    let gibbs = trained(&bags, &tree, 3, Variant::Fast, 5);
    let parameters = by_leaf(&tree, gibbs.counts());
    let factors = Factors::prepare(&parameters, &priors(&tree, &[0.5; 3]), |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let bag = Bag { terms: &[0], counts: &[1] };
    let mut visitor = joint::JointVisitor::new(tree.leaf_count(), 3);
    let (mut sums, mut largest) = (TopicSums::default(), 0);
    for document in 0..100 {
        let mut draw = |kept| {
            let drawn = visitor.resample(key(document), bag, table, &[0], kept);
            drawn.unwrap()[0]
        };
        let drawn = draw(None);
        assert_eq!(draw(Some((Estimator::Counts, &mut sums))), drawn);
        largest = drawn.max(largest);
    }
    assert!(largest >= 3, "no token has the second sense");
}

#[test]
fn statistics_by_term_are_refused() {
    let tree = small_tree();
    let parameters = Parameters::new(2, tree.leaf_count(), 0, 1);
    let factors = Factors::prepare(&parameters, &priors(&tree, &[0.5; 2]), |_| true, None);
    let parts = [&factors];
    for (action, method) in [
        (Action::Estimate, &sampled::METHOD),
        (Action::Online, &cvb0::METHOD),
        (Action::Online, &online_vb::METHOD),
    ] {
        let visited = std::panic::catch_unwind(|| {
            let visit = Visit {
                key: key(0),
                bag: Bag { terms: &[1], counts: &[1] },
                labels: &[],
                table: FactorTable::new(&parts),
                weight: 1,
            };
            let settings = TrainSettings { method, ..TrainSettings::default() };
            let mut visitor = Visitor::new(method, settings.sweeps(), [tree.leaf_count(), 2]);
            visitor.visit(action, visit, &[0]).is_ok()
        });
        let panic = visited.expect_err("it is refused");
        let message = panic.downcast_ref::<&str>().expect("a message");
        assert!(message.contains("under a tree"), "{method:?}: {message}");
    }
}

fn trained_by_rounds(
    bags: &Bags,
    tree: Option<&Tree>,
    (memory, online_passes): (Memory, u32),
    seed: u64,
) -> Trained {
    let settings = TrainSettings {
        passes: Some(60),
        online_passes,
        minibatch: Some(MinibatchSize::Documents(20)),
        memory,
        patience: 0,
        prune: 0.0,
        ..TrainSettings::default()
    };
    let priors = Priors {
        alpha: vec![0.1; 2],
        eta: STRENGTHS.ordinary,
        exp_psi: false,
        tree: tree.map(|tree| Arc::new(tree.clone())),
    };
    let setup = Setup {
        priors: &priors,
        spare_topics: 0,
        settings: &settings,
        seed,
        vocabulary_size: 12,
        warm_start: None,
    };
    train(bags, &Bags::default(), &setup, |_, _| {}).unwrap()
}

/// The topic in which each of two terms is most probable.
pub fn topics_of(trained: &Trained, terms: [u32; 2]) -> [usize; 2] {
    let topics = publish(&[&trained.parameters], &trained.priors);
    terms.map(|term| {
        let weight = |k: &usize| {
            let topic = &topics[*k];
            let listed = topic.weights.iter().find(|&&(t, _)| t == term);
            listed.map_or(topic.absent_weight, |&(_, weight)| f64::from(weight))
        };
        (0..topics.len()).max_by(|a, b| weight(a).total_cmp(&weight(b))).unwrap()
    })
}

#[test]
fn training_by_rounds_obeys_must_links_and_cannot_links() {
    let apart = themed(&[&[0, 1, 2, 3], &[8], &[9]], &[30, 35, 35]);
    let met = themed(&[&[0, 1, 2, 3], &[4, 8, 9]], &[30, 30]);
    let tree = |structures: Vec<Node>| Tree::new(12, STRENGTHS.ordinary, &structures).unwrap();
    let must = tree(structures(12, &[vec![8, 9]], &[], STRENGTHS).unwrap());
    let cannot = tree(structures(12, &[], &[vec![8, 9]], STRENGTHS).unwrap());
    for memory in [(Memory::On, 6), (Memory::Off, 6), (Memory::On, 0)] {
        let together = |bags: &Bags, tree: Option<&Tree>| {
            let is_one = |seed: &u64| {
                let [a, b] = topics_of(&trained_by_rounds(bags, tree, memory, *seed), [8, 9]);
                a == b
            };
            (0..8).filter(is_one).count()
        };
        let counted = [
            together(&apart, Some(&must)),
            together(&met, Some(&cannot)),
            together(&apart, None),
            together(&met, None),
        ];
        assert_eq!(counted[..2], [8, 0], "{memory:?}");
        assert!(counted[2] < 8 && counted[3] == 8, "{memory:?}: {counted:?}");
    }
}

#[test]
fn counts_by_leaf_are_those_of_the_remembered_tokens() {
    let bags = themed(&[&[0, 1, 2], &[0, 3, 4]], &[30, 30]);
    let tree = two_senses();
    let trained = {
        let mut settings = TrainSettings {
            passes: Some(40),
            minibatch: Some(MinibatchSize::Documents(20)),
            memory: Memory::On,
            patience: 0,
            ..TrainSettings::default()
        };
        settings.average_every = Some(0);
        let setup = Setup {
            priors: &priors(&tree, &[0.1, 0.1]),
            spare_topics: 0,
            settings: &settings,
            seed: 2,
            vocabulary_size: 12,
            warm_start: None,
        };
        train(&bags, &Bags::default(), &setup, |_, _| {}).unwrap()
    };
    let mut counts = Counts::new(&tree, 2);
    let mut right = [0, 0];
    for index in 0..bags.len() {
        let bag = bags.bag(index);
        let tokens = bag.terms.iter().zip(bag.counts).rev();
        let tokens = tokens.flat_map(|(&term, &n)| std::iter::repeat_n(term, n as usize));
        for (term, &number) in tokens.zip(&trained.assignments[index]) {
            let (topic, place) = (number % 2, u32::from(number / 2));
            let leaf = tree.leaves_of(term).start + place;
            counts.add(&tree, Assignment { topic, leaf });
            if term == 0 {
                right[usize::from((index < 30) == (place == 0))] += 1;
            }
        }
    }
    assert_eq!(trained.parameters, by_leaf(&tree, &counts));
    assert!(right[1] > 4 * right[0], "senses are told apart: {right:?}");
}
