//! The rules written out, and counts of draws.

use super::*;
use crate::math::random::Stream;
use crate::train::document_schedule::{DocumentSchedule, INFLUENCE_DRAWS, RESIDUAL, squared};

fn schedule(kind: &'static DocumentSchedule) -> ActiveSchedule {
    let settings = TrainSettings { schedule: kind, ..TrainSettings::default() };
    ActiveSchedule::new(&settings, 3).expect("documents are drawn")
}

/// Algorithm 3, lines 3 to 6 and 13 to 15, as in the paper: in f64, with γ.
struct Dense {
    floor: f64,
    gamma: Vec<f64>,
    gradient: f64,
    influence: f64,
}

impl Dense {
    fn new(tokens: f64, floor: f64, topics: usize) -> Self {
        Self {
            floor,
            gamma: vec![0.0; topics],
            gradient: 0.0,
            influence: tokens, // line 4
        }
    }

    fn visit(&mut self, gamma: &[f64]) {
        let changes = gamma.iter().zip(&self.gamma).map(|(new, old)| (new - old).abs());
        let gradient: f64 = changes.sum(); // line 13
        self.influence = (gradient - self.gradient).max(self.floor); // line 15
        (self.gradient, self.gamma) = (gradient, gamma.to_vec());
    }
}

#[test]
fn residuals_agree_with_the_algorithm_written_out() {
    const TOPICS: usize = 4;
    let mut stream = Stream::keyed(7, Stage::Synth, 0, 0);
    let residual = schedule(&RESIDUAL);
    for length in [3u32, 10, 200] {
        let counts = [length];
        let bag = Bag { terms: &[0], counts: &counts };
        let mut influence = residual.first(bag);
        let mut dense = Dense::new(f64::from(length), 3.0, TOPICS);
        let mut topics = vec![0u64; TOPICS];
        for _ in 0..50 {
            assert_eq!(influence.squared, squared(dense.influence));
            let mut new = vec![0u64; TOPICS];
            for _ in 0..length {
                new[stream.below(TOPICS as u64) as usize] += 1;
            }
            let gamma: Vec<f64> = new.iter().map(|&n| n as f64).collect();
            dense.visit(&gamma);
            let pairs = new.iter().zip(&topics);
            let change = Change {
                tokens: u64::from(length),
                difference: pairs.map(|(a, b)| a.abs_diff(*b)).sum(),
            };
            influence = residual.after(influence, change);
            topics = new;
        }
    }
}

#[test]
fn visits_are_compared_topic_by_topic() {
    let mut comparison = Comparison::new(4);
    for _ in 0..2 {
        let change = comparison.change(&[0, 1, 2, 2], &[1, 0, 2, 3]);
        let expected = Change { tokens: 4, difference: 2 };
        assert_eq!(change, expected);
    }
    let first = comparison.change(&[], &[3, 3]);
    assert_eq!(first, Change { tokens: 2, difference: 2 });
}

#[test]
fn the_influence_of_a_document_is_its_norm() {
    let draws = schedule(&INFLUENCE_DRAWS);
    let first = draws.first(Bag { terms: &[2, 5], counts: &[3, 4] });
    assert_eq!(first.squared, squared(5.0));
    let change = Change { tokens: 7, difference: 14 };
    assert_eq!(draws.after(first, change).squared, first.squared);
}

fn influences() -> Vec<Influence> {
    let residual = schedule(&RESIDUAL);
    let bags = (0..200u32).map(|i| [1 + i % 40]);
    bags.map(|counts| residual.first(Bag { terms: &[0], counts: &counts })).collect()
}

fn sums(influences: &[Influence]) -> InfluenceSums {
    let mut sums = InfluenceSums::default();
    influences.iter().for_each(|&influence| sums.add(influence));
    sums
}

#[test]
fn documents_are_drawn_as_often_as_their_probabilities_say() {
    const ROUNDS: u64 = 20_000;
    let influences = influences();
    let draw = schedule(&RESIDUAL).draw(&sums(&influences), 12.0);
    let mut visits = vec![0u64; influences.len()];
    for round in 0..ROUNDS {
        for (document, &influence) in influences.iter().enumerate() {
            visits[document] += u64::from(draw.takes(influence, [5, round, document as u64]));
        }
    }
    // Each document's visits are binomial, so the sum of 200 squared normal deviates has mean 200 and standard
    // deviation 20.
    let chi_squared: f64 = influences
        .iter()
        .zip(&visits)
        .map(|(&influence, &seen)| {
            let p = draw.probability(influence);
            let expected = ROUNDS as f64 * p;
            (seen as f64 - expected).powi(2) / (expected * (1.0 - p))
        })
        .sum();
    assert!((120.0..280.0).contains(&chi_squared), "{chi_squared}");
    let mean = visits.iter().sum::<u64>() as f64 / ROUNDS as f64;
    assert!((mean - 12.0).abs() < 0.2, "{mean} documents a round");
}

/// Even with a document so much longer than the others that its weight is below one unit.
#[test]
fn weighted_draws_estimate_the_sum_over_all_without_bias() {
    const ROUNDS: u64 = 20_000;
    let settings =
        TrainSettings { schedule: &INFLUENCE_DRAWS, importance: true, ..TrainSettings::default() };
    let schedule = ActiveSchedule::new(&settings, 1).unwrap();
    let alike = (0..50u32).map(|i| (4 + i % 9, i % 7)).collect();
    let longest = (0..50u32).map(|i| if i == 0 { (400, 40) } else { (4, 3) });
    let cases: [(Vec<(u32, u32)>, f64); 2] = [(alike, 10.0), (longest.collect(), 1.5)];
    for (documents, length) in cases {
        let first =
            |&(count, _): &(u32, u32)| schedule.first(Bag { terms: &[0], counts: &[count] });
        let influences: Vec<Influence> = documents.iter().map(first).collect();
        let draw = schedule.draw(&sums(&influences), length);
        let mut estimate = 0.0;
        for round in 0..ROUNDS {
            for (number, (&influence, &(_, value))) in (0..).zip(influences.iter().zip(&documents))
            {
                let key = [9, round, number];
                if draw.takes(influence, key) {
                    estimate += f64::from(value) * f64::from(draw.weight(influence, key));
                }
            }
        }
        estimate *= documents.len() as f64 / length / WEIGHT_UNIT / ROUNDS as f64;
        let sum: f64 = documents.iter().map(|&(_, value)| f64::from(value)).sum();
        assert!((estimate / sum - 1.0).abs() < 0.02, "{estimate} for {sum}");
    }
}

#[test]
fn sums_of_parts_are_the_sum_of_all() {
    let all = influences();
    let (left, right) = all.split_at(70);
    let words: Vec<i64> =
        (sums(left).to_words().iter()).zip(sums(right).to_words()).map(|(a, b)| a + b).collect();
    assert_eq!(InfluenceSums::from_words(&words), sums(&all));
}

#[test]
fn equal_influence_is_uniform_and_unequal_is_not() {
    let settings =
        TrainSettings { schedule: &RESIDUAL, residual_switch: 0.01, ..TrainSettings::default() };
    let schedule = ActiveSchedule::new(&settings, 1).unwrap();
    let equal = vec![schedule.first(Bag { terms: &[0], counts: &[9] }); 30];
    assert!((sums(&equal).entropy().unwrap() - ln(30.0)).abs() < 1e-9);
    assert!(schedule.draw(&sums(&equal), 3.0).is_uniform);
    assert!(!schedule.draw(&sums(&influences()), 3.0).is_uniform);
    // No document is drawn with a probability above 1.
    let draw = schedule.draw(&sums(&equal), 100.0);
    assert_eq!(draw.probability(equal[0]), 1.0);
}

/// However unequal documents are, about as many are drawn as were requested.
#[test]
fn documents_that_are_certain_leave_their_share_to_others() {
    let residual = schedule(&RESIDUAL);
    let document = |length: u32| {
        let counts = [length];
        residual.first(Bag { terms: &[0], counts: &counts })
    };
    let mut influences: Vec<Influence> = (0..1000).map(|i| document(5 + i % 20)).collect();
    influences.extend((0..30).map(|i| document(5_000 + 100 * i)));
    for length in [10.0, 50.0, 400.0, 1029.0] {
        let draw = residual.draw(&sums(&influences), length);
        let expected: f64 = influences.iter().map(|&i| draw.probability(i)).sum();
        // Within an octave, some are certain and others not.
        assert!(expected <= length * 1.001 && expected > 0.8 * length, "{expected} {length}");
    }
}
