//! Multinomial logistic regression with soft targets: Yao, Mimno & McCallum 2009, §5.1 (MaxEnt).
//!
//! `examples` holds the training data. `objective` computes its penalised loss and gradient on several
//! threads, with a result that does not depend on their number; `fit` minimises it by L-BFGS.
//! `linear` is the regression of a single number. This module knows nothing of documents or topics:
//! features are numbered and have values, targets are distributions over classes.
//!
//! ```
//! use lda::regression::{Examples, Settings, fit};
//! let mut examples = Examples::new(2);
//! examples.push([(7, 1.0)], &[1.0, 0.0]);
//! examples.push([(9, 1.0)], &[0.25, 0.75]);
//! let fitted = fit(&examples, &Settings::default(), &mut |_| {})?;
//! let mut proportions = Vec::new();
//! fitted.predict([(7, 1.0)], &mut proportions);
//! assert!(proportions[0] > 0.6);
//! # Ok::<_, lda::regression::RegressionError>(())
//! ```

mod examples;
mod fit;
mod linear;
mod objective;

pub use examples::Examples;
pub use fit::{fit, memory};
pub use linear::Linear;

use crate::math::lanes::add_scaled;
use crate::math::special::exp;

/// The number of vector pairs that L-BFGS remembers.
const HISTORY: usize = 7;

/// The number of vectors of the weights' length that are in memory at a time: two for each remembered
/// pair, and those of the line search, the solver's state and the current evaluation.
const VECTORS: usize = 2 * HISTORY + 18;

/// How a regression is fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// σ², the variance of the Gaussian prior of the weights, above 0; the bias has no prior.
    pub prior_variance: f64,
    /// Maximum number of iterations of L-BFGS.
    pub iterations: u32,
    /// Fitting ends when an iteration changes the mean loss by less than this, in nats per example.
    pub tolerance: f64,
    /// The number of threads, ≥ 1; does not change the result.
    pub threads: usize,
    /// Maximum memory in bytes.
    pub most_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prior_variance: 1.0,
            iterations: 100,
            tolerance: 1e-6,
            threads: 1,
            most_bytes: 8 << 30,
        }
    }
}

/// A fitted regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The features that occurred, ascending.
    pub features: Vec<u32>,
    /// The weight of each class for each of them, feature by feature.
    pub weights: Vec<f64>,
    /// The bias of each class; they sum to 0.
    pub bias: Vec<f64>,
    /// The mean loss per example in nats, including the prior.
    pub loss: f64,
    /// The number of iterations.
    pub iterations: u32,
    /// Whether the solver converged, to a loss below that of its start.
    pub is_converged: bool,
}

impl Fitted {
    /// Computes the probability of each class, given distinct features and their values: Eq. 13 of
    /// Yao 2009. Features that did not occur in the examples are ignored.
    pub fn predict(
        &self,
        features: impl IntoIterator<Item = (u32, f32)>,
        probabilities: &mut Vec<f64>,
    ) {
        probabilities.clear();
        probabilities.extend_from_slice(&self.bias);
        for (feature, value) in features {
            if let Ok(row) = self.features.binary_search(&feature) {
                let row = &self.weights[row * self.bias.len()..][..self.bias.len()];
                add_scaled(probabilities, f64::from(value), row);
            }
        }
        softmax(probabilities);
    }
}

/// Why a regression cannot be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RegressionError {
    /// There are no examples.
    #[error("there are no examples to fit a regression to")]
    NoExamples,
    /// It would take too much memory.
    #[error(
        "a regression of {classes} classes on {features} features takes {} MiB of memory, but at most {} MiB \
         are allowed: raise the limit, use fewer features or classes, or use another method",
        bytes >> 20,
        most_bytes >> 20
    )]
    TooLarge {
        /// The number of classes.
        classes: usize,
        /// The number of features.
        features: usize,
        /// The bytes it would take.
        bytes: u64,
        /// The bytes it may take.
        most_bytes: u64,
    },
    /// The optimizer failed, or the result is not finite.
    #[error("the regression cannot be fitted: {0}; are the features or the prior extreme?")]
    Stuck(String),
}

/// Turns scores into probabilities, exp s_k / Σ_j exp s_j. Returns ln Σ_j exp s_j minus the largest
/// score, and that score.
fn softmax(scores: &mut [f64]) -> (f64, f64) {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = exp(*score - largest);
        sum += *score;
    }
    for score in scores.iter_mut() {
        *score /= sum;
    }
    (crate::math::special::ln(sum), largest)
}
