//! Comparison with enumeration of all topic configurations of a small document.

use super::*;
use crate::math::special::exp;
use crate::model::factors::Factors;

/// φ by topic and term, and α.
struct Model {
    phi: Vec<Vec<f64>>,
    alpha: Vec<f64>,
}

impl Model {
    /// Random topics; `sparse` ones give some terms one small weight.
    fn new(topics: usize, terms: usize, sparse: bool, seed: u64) -> Self {
        let mut stream = Stream::keyed(seed, Stage::Synth, topics as u64, terms as u64);
        let mut topic = |k: usize| {
            let weight = |w: usize, u: f64| {
                if sparse && (w + k).is_multiple_of(3) { 0.01 } else { 0.02 + u * u * u }
            };
            let row: Vec<f64> = (0..terms).map(|w| weight(w, stream.uniform())).collect();
            let sum: f64 = row.iter().sum();
            row.into_iter().map(|x| x / sum).collect()
        };
        Self {
            phi: (0..topics).map(&mut topic).collect(),
            alpha: (0..topics).map(|k| 0.15 + 0.35 * k as f64).collect(),
        }
    }

    /// The model as factors: a topic's least weight is its smoothing.
    fn factors(&self) -> Factors {
        let least = |row: &Vec<f64>| row.iter().copied().fold(f64::INFINITY, f64::min);
        let smoothing: Vec<f64> = self.phi.iter().map(least).collect();
        let rows: Vec<Vec<(u16, f32)>> = (0..self.phi[0].len())
            .map(|w| {
                let beyond = |k: usize| (k as u16, (self.phi[k][w] - smoothing[k]) as f32);
                let all = (0..self.phi.len()).map(beyond);
                all.filter(|&(_, g)| g > 1e-7).collect()
            })
            .collect();
        Factors::from_topics(&self.alpha, &smoothing, rows.len(), |w| Some(&rows[w as usize]))
    }

    /// (α_k + n_dk) φ_kw / (A + n) for each topic, with n_dk counted from `topics`.
    fn conditional(&self, topics: &[usize], word: usize) -> Vec<f64> {
        let denominator = self.alpha.iter().sum::<f64>() + topics.len() as f64;
        let count = |k: usize| topics.iter().filter(|&&z| z == k).count() as f64;
        (0..self.alpha.len())
            .map(|k| (self.alpha[k] + count(k)) * self.phi[k][word] / denominator)
            .collect()
    }

    /// log p(w | φ, α), summed over all K^N configurations.
    fn exact(&self, words: &[usize]) -> f64 {
        let joint = |z: &Vec<usize>| -> f64 {
            let factor = |i: usize| self.conditional(&z[..i], words[i])[z[i]];
            (0..words.len()).map(factor).product()
        };
        let all = configurations(self.alpha.len(), words.len());
        ln(all.iter().map(joint).sum())
    }

    /// The limit of the estimate for many particles, from their exact distribution over
    /// configurations.
    fn limit(&self, words: &[usize], resample: bool) -> f64 {
        let topics = self.alpha.len();
        let (mut particles, mut sum) = (vec![(Vec::new(), 1.0)], 0.0);
        for (i, &word) in words.iter().enumerate() {
            for place in (0..i).filter(|_| resample) {
                particles = self.resampled(&particles, words, place);
            }
            let mut probability = 0.0;
            let mut next: Vec<(Vec<usize>, f64)> = Vec::new();
            for (z, share) in particles {
                let masses = self.conditional(&z, word);
                let total: f64 = masses.iter().sum();
                probability += share * total;
                for (k, mass) in masses.iter().enumerate().take(topics) {
                    let longer = [z.clone(), vec![k]].concat();
                    next.push((longer, share * mass / total));
                }
            }
            particles = next;
            sum += ln(probability);
        }
        sum
    }

    /// The distribution after the topic at `place` is redrawn.
    fn resampled(
        &self,
        particles: &[(Vec<usize>, f64)],
        words: &[usize],
        place: usize,
    ) -> Vec<(Vec<usize>, f64)> {
        let mut next = vec![0.0; particles.len()];
        let number = |z: &Vec<usize>| {
            let found = particles.iter().position(|(other, _)| other == z);
            found.expect("all configurations are listed")
        };
        for (z, share) in particles {
            let mut others = z.clone();
            others.remove(place);
            let masses = self.conditional(&others, words[place]);
            let total: f64 = masses.iter().sum();
            for (k, mass) in masses.iter().enumerate() {
                let mut moved = z.clone();
                moved[place] = k;
                next[number(&moved)] += share * mass / total;
            }
        }
        particles.iter().zip(next).map(|((z, _), share)| (z.clone(), share)).collect()
    }
}

fn configurations(topics: usize, tokens: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..tokens {
        let longer = |z: &Vec<usize>, k| [z.clone(), vec![k]].concat();
        all = all.iter().flat_map(|z| (0..topics).map(move |k| longer(z, k))).collect();
    }
    all
}

/// Models and documents (terms, counts), with dense rows (16 topics or more) and without.
fn cases() -> Vec<(Model, Vec<u32>, Vec<u32>)> {
    vec![
        (Model::new(2, 4, false, 1), vec![0, 1, 3], vec![2, 3, 1]),
        (Model::new(3, 5, true, 2), vec![0, 2, 4], vec![2, 1, 2]),
        (Model::new(4, 6, true, 3), vec![1, 2, 3, 5], vec![1, 1, 1, 2]),
        (Model::new(18, 5, false, 4), vec![0, 3], vec![1, 2]),
    ]
}

fn words(terms: &[u32], counts: &[u32]) -> Vec<usize> {
    let same = |(&w, &n): (&u32, &u32)| std::iter::repeat_n(w as usize, n as usize);
    terms.iter().zip(counts).flat_map(same).collect()
}

#[test]
fn one_particle_is_unbiased_for_the_probability_of_the_document() {
    let settings = LeftToRight { particles: 1, resample: false };
    for (model, terms, counts) in cases() {
        let factors = model.factors();
        let parts = [&factors];
        let (terms_, counts_) = (&terms[..], &counts[..]);
        let bag = Bag { terms: terms_, counts: counts_ };
        let mut scorer = Scorer::default();
        let runs = 20_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for document in 0..runs {
            let table = FactorTable::new(&parts);
            let score = scorer.score(5, document, bag, table, settings).unwrap();
            let probability = exp(score.log_likelihood);
            sum += probability;
            squares += probability * probability;
        }
        let mean = sum / runs as f64;
        let error = ((squares / runs as f64 - mean * mean) / runs as f64).sqrt();
        let exact = exp(model.exact(&words(&terms, &counts)));
        let off = (mean - exact).abs();
        assert!(off < 4.0 * error, "{mean} for {exact}, ± {error}");
        assert!(error < 0.02 * exact, "{error} of {exact} tells nothing");
    }
}

#[test]
fn many_particles_give_the_limit_and_resampling_comes_nearer_to_the_document() {
    let mut gaps = [0.0, 0.0];
    for (model, terms, counts) in cases() {
        let factors = model.factors();
        let parts = [&factors];
        let bag = Bag { terms: &terms, counts: &counts };
        for (number, resample) in [false, true].into_iter().enumerate() {
            let settings = LeftToRight { particles: 20_000, resample };
            let mut scorer = Scorer::default();
            let table = FactorTable::new(&parts);
            let score = scorer.score(7, 1, bag, table, settings).unwrap();
            let order: Vec<usize> = scorer.tokens.iter().map(|&(w, _)| w as usize).collect();
            let limit = model.limit(&order, resample);
            let off = (score.log_likelihood - limit).abs();
            assert!(off < 0.02, "{} for {limit}", score.log_likelihood);
            gaps[number] += (limit - model.exact(&order)).abs() / order.len() as f64;
        }
    }
    assert!(gaps[1] < 0.5 * gaps[0], "{gaps:?}");
    assert!(gaps[0] / 4.0 < 0.02, "nats a token: {gaps:?}");
}

#[test]
fn the_first_token_has_its_prior_probability_and_tokens_add_up() {
    let model = Model::new(3, 5, true, 2);
    let factors = model.factors();
    let parts = [&factors];
    let settings = LeftToRight { particles: 3, resample: true };
    let bag = Bag { terms: &[0, 1, 4], counts: &[1, 2, 4] };
    let mut scorer = Scorer::default();
    let score = scorer.score(1, 9, bag, FactorTable::new(&parts), settings).unwrap();
    let each: Vec<f64> = scorer.token_log_probabilities().collect();
    let first = scorer.tokens[0].0 as usize;
    let prior: f64 = model.conditional(&[], first).iter().sum();
    assert!((each[0] - ln(prior)).abs() < 1e-6);
    assert_eq!(each.len(), 7);
    assert_eq!(each.iter().sum::<f64>(), score.log_likelihood);
    assert_eq!((score.tokens, score.unknown), (7, 0));
}

#[test]
fn terms_that_the_model_lacks_are_counted_and_left_out() {
    let rows: [Option<&[(u16, f32)]>; 3] = [Some(&[(0, 0.5)]), None, Some(&[(0, 0.5), (1, 1.0)])];
    let factors = Factors::from_topics(&[0.2, 0.3], &[0.0, 0.0], 3, |w| rows[w as usize]);
    let parts = [&factors];
    let settings = LeftToRight { particles: 4, resample: false };
    let mut scorer = Scorer::default();
    let mut score = |terms: &[u32], counts: &[u32]| {
        let bag = Bag { terms, counts };
        scorer.score(1, 2, bag, FactorTable::new(&parts), settings).unwrap()
    };
    let with = score(&[0, 1, 2], &[1, 5, 2]);
    let without = score(&[0, 2], &[1, 2]);
    assert_eq!((with.tokens, with.unknown), (3, 5));
    assert_eq!(with.log_likelihood, without.log_likelihood);
    let nothing = score(&[1], &[5]);
    assert_eq!((nothing.tokens, nothing.unknown), (0, 5));
    assert_eq!(nothing.log_likelihood, 0.0);
}

#[test]
fn a_document_is_scored_alike_whatever_was_scored_before() {
    let model = Model::new(4, 6, true, 3);
    let factors = model.factors();
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let settings = LeftToRight { particles: 5, resample: true };
    let bag = Bag { terms: &[0, 2, 5], counts: &[3, 1, 2] };
    let mut used = Scorer::default();
    let longer = Bag { terms: &[1, 3], counts: &[9, 9] };
    used.score(1, 1, longer, table, settings).unwrap();
    let again = used.score(1, 2, bag, table, settings).unwrap();
    let fresh = Scorer::default().score(1, 2, bag, table, settings).unwrap();
    assert_eq!(again, fresh);
}
