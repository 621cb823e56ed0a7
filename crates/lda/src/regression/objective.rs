//! The penalised loss of a regression and its gradient (Yao 2009, Eqs. 16 and 17, negated and
//! divided by the number of examples):
//!
//! ```text
//! s_dk = b_k + Σ_f x_df w_fk              p_dk = exp s_dk / Σ_j exp s_dj
//! L    = 1/D [ −Σ_dk y_dk ln p_dk + Σ_fk w_fk² / 2σ² ]
//! ∂L/∂w_fk = 1/D [ Σ_d x_df (p_dk − y_dk) + w_fk / σ² ]
//! ```
//!
//! The paper's Eq. 16 lacks the target before λ f; its gradient, Eq. 17, has it. The bias b has no
//! prior: class frequencies must not be shrunk, and an example without features then gets the mean
//! target.
//!
//! Threads split the examples for the probabilities, then the features for the gradient. One thread
//! computes each sum, in the order of the examples, so that the number of threads changes no bit.

use std::ops::Range;

use super::{Examples, softmax};
use crate::math::lanes::add_scaled;

/// The loss of examples as a function of the weights: K for each feature, then K for the bias.
pub(super) struct Objective<'a> {
    examples: &'a Examples,
    prior_variance: f64,
    threads: usize,
    /// The features that occur, ascending.
    pub(super) features: Vec<u32>,
    /// The index in `features` of each feature of the examples.
    places: Vec<u32>,
    /// The end of each feature's entries in `postings`; the bias is the last feature.
    posting_ends: Vec<usize>,
    postings: Vec<(u32, f32)>,
}

/// The loss and its gradient at given weights.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Evaluation {
    pub(super) loss: f64,
    pub(super) gradient: Vec<f64>,
}

impl<'a> Objective<'a> {
    /// Creates the loss of examples with these distinct features.
    pub(super) fn new(
        examples: &'a Examples,
        features: Vec<u32>,
        prior_variance: f64,
        threads: usize,
    ) -> Self {
        let place = |feature| features.partition_point(|&other| other < feature) as u32;
        let places: Vec<u32> = examples.features.iter().map(|&f| place(f)).collect();
        let mut posting_ends = vec![0; features.len() + 1];
        for &place in &places {
            posting_ends[place as usize] += 1;
        }
        posting_ends[features.len()] = examples.len();
        let mut sum = 0;
        for end in &mut posting_ends {
            sum += std::mem::replace(end, sum);
        }
        let mut objective = Self {
            examples,
            prior_variance,
            threads: threads.max(1),
            features,
            places,
            posting_ends,
            postings: vec![(0, 0.0); sum],
        };
        objective.fill_postings();
        objective
    }

    /// Fills in the postings of each feature; until then, ends are starts.
    fn fill_postings(&mut self) {
        let bias = self.features.len();
        for example in 0..self.examples.len() {
            let own = self.examples.range(example);
            let pairs = self.places[own.clone()].iter();
            for (&place, &value) in pairs.zip(&self.examples.values[own]) {
                let next = &mut self.posting_ends[place as usize];
                self.postings[*next] = (example as u32, value);
                *next += 1;
            }
            let next = &mut self.posting_ends[bias];
            self.postings[*next] = (example as u32, 1.0);
            *next += 1;
        }
    }

    /// Returns the range of a feature's postings.
    fn of(&self, place: usize) -> Range<usize> {
        let from = place.checked_sub(1).map_or(0, |f| self.posting_ends[f]);
        from..self.posting_ends[place]
    }

    /// Returns the number of weights: K for each feature, and K for the bias.
    pub(super) fn weight_count(&self) -> usize {
        (self.features.len() + 1) * self.examples.class_count
    }

    /// Computes loss and gradient at `weights`.
    pub(super) fn evaluate(&self, weights: &[f64]) -> Evaluation {
        let classes = self.examples.class_count;
        let mut residuals = vec![0.0; self.examples.len() * classes];
        let mut losses = vec![0.0; self.examples.len()];
        let cuts = cut(&self.examples.ends, self.threads);
        std::thread::scope(|scope| {
            let (mut rest, mut rest_losses) = (&mut residuals[..], &mut losses[..]);
            for examples in cuts {
                let (mine, others) = rest.split_at_mut(examples.len() * classes);
                let (my_losses, other_losses) = rest_losses.split_at_mut(examples.len());
                (rest, rest_losses) = (others, other_losses);
                scope.spawn(move || self.residuals_of(examples, weights, mine, my_losses));
            }
        });
        let mut gradient = vec![0.0; weights.len()];
        let cuts = cut(&self.posting_ends, self.threads);
        std::thread::scope(|scope| {
            let (mut rest, residuals) = (&mut gradient[..], &residuals);
            for places in cuts {
                let (mine, others) = rest.split_at_mut(places.len() * classes);
                rest = others;
                scope.spawn(move || self.gradient_of(places, weights, residuals, mine));
            }
        });
        let penalised = &weights[..weights.len() - classes];
        let squares: f64 = penalised.iter().map(|w| w * w).sum();
        let penalty = squares / (2.0 * self.prior_variance);
        let loss = (losses.iter().sum::<f64>() + penalty) / self.examples.len() as f64;
        Evaluation { loss, gradient }
    }

    /// Computes Y p_dk − y_dk and the losses of a range of examples, where Y = Σ_k y_dk.
    fn residuals_of(
        &self,
        examples: Range<usize>,
        weights: &[f64],
        residuals: &mut [f64],
        losses: &mut [f64],
    ) {
        let classes = self.examples.class_count;
        let bias = &weights[weights.len() - classes..];
        let rows = residuals.chunks_exact_mut(classes);
        for ((example, row), loss) in examples.zip(rows).zip(losses) {
            row.copy_from_slice(bias);
            let own = self.examples.range(example);
            let pairs = self.places[own.clone()].iter();
            for (&place, &value) in pairs.zip(&self.examples.values[own]) {
                let weights = &weights[place as usize * classes..][..classes];
                add_scaled(row, f64::from(value), weights);
            }
            let target = &self.examples.targets[example * classes..][..classes];
            let mut whole = 0.0;
            for (&y, score) in target.iter().zip(&*row) {
                whole += f64::from(y);
                *loss -= f64::from(y) * score;
            }
            let (rest, largest) = softmax(row);
            *loss += whole * (rest + largest);
            for (&y, probability) in target.iter().zip(row) {
                *probability = whole * *probability - f64::from(y);
            }
        }
    }

    /// Computes the gradient for the weights of a range of features.
    fn gradient_of(
        &self,
        places: Range<usize>,
        weights: &[f64],
        residuals: &[f64],
        gradient: &mut [f64],
    ) {
        let classes = self.examples.class_count;
        let count = self.examples.len() as f64;
        let rows = gradient.chunks_exact_mut(classes);
        for (place, row) in places.zip(rows) {
            for &(example, value) in &self.postings[self.of(place)] {
                let residuals = &residuals[example as usize * classes..][..classes];
                add_scaled(row, f64::from(value), residuals);
            }
            if place < self.features.len() {
                let weights = &weights[place * classes..][..classes];
                add_scaled(row, 1.0 / self.prior_variance, weights);
            }
            row.iter_mut().for_each(|sum| *sum /= count);
        }
    }
}

/// Cuts rows, which end in a list at `ends`, into at most `parts` ranges with about equal numbers of entries.
fn cut(ends: &[usize], parts: usize) -> Vec<Range<usize>> {
    // A row without entries also has a cost.
    let cost = |row: usize| row.checked_sub(1).map_or(0, |last| ends[last] + row);
    let whole = cost(ends.len());
    let mut cuts = Vec::with_capacity(parts);
    let mut from = 0;
    for part in 1..=parts {
        let share = (whole as u128 * part as u128 / parts as u128) as usize;
        let mut to = from;
        while to < ends.len() && (part == parts || cost(to + 1) <= share) {
            to += 1;
        }
        cuts.push(from..to);
        from = to;
    }
    cuts.retain(|rows| !rows.is_empty());
    cuts
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::math::random::{Stage, Stream};

    pub(in crate::regression) fn objective(
        examples: &Examples,
        prior_variance: f64,
        threads: usize,
    ) -> Objective<'_> {
        Objective::new(examples, examples.distinct_features(), prior_variance, threads)
    }

    /// Random sparse examples with soft targets, and random weights.
    pub(in crate::regression) fn random(
        count: usize,
        features: u32,
        classes: usize,
    ) -> (Examples, Vec<f64>) {
        let mut stream = Stream::keyed(5, Stage::Synth, count as u64, classes as u64);
        let mut examples = Examples::new(classes);
        for _ in 0..count {
            let mut own: Vec<(u32, f32)> = Vec::new();
            for feature in 0..features {
                if stream.uniform() < 0.3 {
                    own.push((3 * feature + 1, 1.0 + stream.below(3) as f32));
                }
            }
            let target: Vec<f64> = (0..classes).map(|_| stream.uniform_positive()).collect();
            let sum: f64 = target.iter().sum();
            let target: Vec<f32> = target.iter().map(|y| (y / sum) as f32).collect();
            examples.push(own, &target);
        }
        let objective = objective(&examples, 1.0, 1);
        let weights = (0..objective.weight_count()).map(|_| stream.uniform() - 0.5).collect();
        (examples, weights)
    }

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let (examples, weights) = random(30, 8, 4);
        let objective = objective(&examples, 0.7, 1);
        let gradient = objective.evaluate(&weights).gradient;
        for (place, slope) in gradient.iter().enumerate() {
            let loss = |step: f64| {
                let mut moved = weights.clone();
                moved[place] += step;
                objective.evaluate(&moved).loss
            };
            let difference = (loss(1e-5) - loss(-1e-5)) / 2e-5;
            assert!((slope - difference).abs() < 1e-9, "{place}: {slope} {difference}");
        }
    }

    #[test]
    fn the_loss_of_one_example_agrees_with_the_hand() {
        let mut examples = Examples::new(2);
        examples.push([(4, 2.0)], &[0.75, 0.25]);
        // The scores 2 · 0.5 + 0.1 and 2 · −0.5 − 0.1 are 2.2 apart.
        let weights = [0.5, -0.5, 0.1, -0.1];
        let found = objective(&examples, 2.0, 1).evaluate(&weights);
        let odds = crate::math::special::exp(-2.2);
        let loss = crate::math::special::ln(1.0 + odds) + 0.25 * 2.2 + 0.5 / 4.0;
        assert!((found.loss - loss).abs() < 1e-14);
        let residual = 1.0 / (1.0 + odds) - 0.75;
        let expected = [2.0 * residual + 0.25, -2.0 * residual - 0.25, residual, -residual];
        for (found, expected) in found.gradient.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let (examples, weights) = random(41, 17, 5);
        let alone = objective(&examples, 1.5, 1).evaluate(&weights);
        for threads in [2, 3, 7, 100] {
            let objective = objective(&examples, 1.5, threads);
            assert_eq!(objective.evaluate(&weights), alone, "{threads} threads");
        }
    }

    #[test]
    fn rows_are_cut_evenly_and_completely() {
        for parts in 1..9 {
            for ends in [vec![], vec![0, 0], vec![9, 10, 11, 12, 30], vec![1, 2, 3, 100]] {
                let cuts = cut(&ends, parts);
                let rows: Vec<usize> = cuts.iter().cloned().flatten().collect();
                assert_eq!(rows, (0..ends.len()).collect::<Vec<_>>());
                assert!(cuts.len() <= parts);
            }
        }
        assert_eq!(cut(&[10, 20, 30, 40], 2), [0..2, 2..4]);
    }
}
