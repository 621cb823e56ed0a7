//! Linear regression on sparse features with a Gaussian prior, by conjugate gradients on the normal
//! equations. It predicts a document's number of labels from its terms (the Meta-Labeler of Tang, Rajan &
//! Narayanan 2009, as in Papanikolaou 2017, §6.3).

use argmin::core::{Error, Executor, Operator, State};
use argmin::solver::conjugategradient::ConjugateGradient;

use super::{Examples, RegressionError};

/// The squared residual, relative to that at the start, at which the normal equations count as solved.
const TOLERANCE: f64 = 1e-12;

/// A linear function of sparse features.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// The value without features.
    pub bias: f64,
    /// The weight of each feature, by its number.
    pub weights: Vec<f64>,
}

impl Linear {
    /// Finds the weights that minimise Σ_d (y_d − b − x_dᵀ w)² + |w|² / σ², where y_d is the one target of
    /// example d and σ² is `prior_variance`, in at most `iterations` steps.
    ///
    /// ```
    /// use lda::regression::{Examples, Linear};
    /// let mut examples = Examples::new(1);
    /// examples.push([(0, 1.0)], &[3.0]);
    /// examples.push([(1, 1.0)], &[5.0]);
    /// let linear = Linear::fit(&examples, 1e6, 50)?;
    /// assert!((linear.predict([(1, 1.0)]) - 5.0).abs() < 1e-3);
    /// # Ok::<_, lda::regression::RegressionError>(())
    /// ```
    ///
    /// # Errors
    /// There are no examples; the solver fails; the weights are not finite.
    pub fn fit(
        examples: &Examples,
        prior_variance: f64,
        iterations: u32,
    ) -> Result<Self, RegressionError> {
        if examples.is_empty() {
            return Err(RegressionError::NoExamples);
        }
        let feature_count = examples.features.iter().max().map_or(0, |&f| f as usize + 1);
        let equations = NormalEquations { examples, penalty: 1.0 / prior_variance, feature_count };
        let right = equations.transposed(|example| f64::from(examples.targets[example]));
        let target = TOLERANCE * right.iter().map(|x| x * x).sum::<f64>();
        let stuck = |error: Error| RegressionError::Stuck(error.to_string());
        let result = Executor::new(equations, ConjugateGradient::new(right))
            .configure(|state| {
                state
                    .param(vec![0.0; feature_count + 1])
                    .max_iters(u64::from(iterations))
                    .target_cost(target)
            })
            .ctrlc(false)
            .run()
            .map_err(stuck)?;
        let weights = result.state.get_param().cloned();
        let mut weights = weights
            .filter(|weights| weights.iter().all(|w| w.is_finite()))
            .ok_or_else(|| RegressionError::Stuck("the weights are not finite".to_owned()))?;
        let bias = weights.pop().unwrap_or_default();
        Ok(Self { bias, weights })
    }

    /// Returns the value for these features; those that no example had are ignored.
    pub fn predict(&self, features: impl IntoIterator<Item = (u32, f32)>) -> f64 {
        let weight = |feature: u32| self.weights.get(feature as usize).copied().unwrap_or(0.0);
        let parts = features.into_iter().map(|(f, x)| weight(f) * f64::from(x));
        parts.fold(self.bias, |sum, part| sum + part)
    }
}

/// The operator (XᵀX + I / σ²) w, where the last column of X is the bias, which has no prior.
struct NormalEquations<'a> {
    examples: &'a Examples,
    penalty: f64,
    feature_count: usize,
}

impl NormalEquations<'_> {
    /// Returns the features of an example with their values.
    fn row(&self, example: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.examples.range(example);
        let values = self.examples.values[range.clone()].iter();
        let features = self.examples.features[range].iter();
        features.zip(values).map(|(&f, &x)| (f as usize, f64::from(x)))
    }

    /// Returns Xᵀ y.
    fn transposed(&self, y: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.feature_count + 1];
        for example in 0..self.examples.len() {
            let y = y(example);
            self.row(example).for_each(|(f, x)| sums[f] += x * y);
            sums[self.feature_count] += y;
        }
        sums
    }
}

impl Operator for NormalEquations<'_> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;

    fn apply(&self, weights: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let bias = weights[self.feature_count];
        let value = |example| self.row(example).fold(bias, |sum, (f, x)| sum + weights[f] * x);
        let mut product = self.transposed(value);
        for (product, weight) in product.iter_mut().zip(&weights[..self.feature_count]) {
            *product += self.penalty * weight;
        }
        Ok(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Stage, Stream};

    /// Solves the normal equations densely, by elimination.
    fn solve(examples: &Examples, prior_variance: f64, features: usize) -> Vec<f64> {
        let n = features + 1;
        let equations =
            NormalEquations { examples, penalty: 1.0 / prior_variance, feature_count: features };
        let unit = |i: usize| (0..n).map(|j| f64::from(u8::from(i == j))).collect();
        let columns: Vec<Vec<f64>> = (0..n).map(|i| equations.apply(&unit(i)).unwrap()).collect();
        let mut rows: Vec<Vec<f64>> =
            (0..n).map(|i| columns.iter().map(|column| column[i]).collect()).collect();
        let mut right = equations.transposed(|d| f64::from(examples.targets[d]));
        for i in 0..n {
            for j in 0..n {
                if i != j {
                    let factor = rows[j][i] / rows[i][i];
                    let pivot = rows[i].clone();
                    rows[j].iter_mut().zip(pivot).for_each(|(x, p)| *x -= factor * p);
                    right[j] -= factor * right[i];
                }
            }
        }
        (0..n).map(|i| right[i] / rows[i][i]).collect()
    }

    #[test]
    fn weights_solve_the_normal_equations() {
        let mut stream = Stream::keyed(9, Stage::Synth, 0, 0);
        let mut examples = Examples::new(1);
        for _ in 0..40 {
            let mut features: Vec<(u32, f32)> = Vec::new();
            for feature in 0..6 {
                if stream.below(2) == 0 {
                    features.push((feature, 1.0 + stream.below(4) as f32));
                }
            }
            examples.push(features, &[stream.below(9) as f32]);
        }
        for prior_variance in [0.1, 10.0] {
            let found = Linear::fit(&examples, prior_variance, 100).unwrap();
            let expected = solve(&examples, prior_variance, 6);
            for (found, expected) in found.weights.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-6, "{found} {expected}");
            }
            assert!((found.bias - expected[6]).abs() < 1e-6);
        }
    }

    #[test]
    fn without_examples_there_is_nothing_to_fit() {
        let refused = Linear::fit(&Examples::new(1), 1.0, 10);
        assert_eq!(refused, Err(RegressionError::NoExamples));
        let mut examples = Examples::new(1);
        examples.push([], &[4.0]);
        let linear = Linear::fit(&examples, 1.0, 10).unwrap();
        assert!((linear.predict([(7, 2.0)]) - 4.0).abs() < 1e-12);
    }
}
