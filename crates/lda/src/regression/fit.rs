//! Minimises the loss by L-BFGS with the line search of Moré and Thuente.
//!
//! The loss is convex. Its minimum is unique, except for a constant added to every bias, which changes no probability
//! and is removed at the end.

use std::cell::RefCell;

use argmin::core::{
    CostFunction, Error, Executor, Gradient, IterState, KV, Problem, Solver, State,
    TerminationReason, TerminationStatus,
};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;

use super::objective::{Evaluation, Objective};
use super::{Examples, Fitted, HISTORY, RegressionError, Settings, VECTORS};

/// The bytes of a feature in an example: number and value, its place, its posting, and itself sorted.
const OCCURRENCE_BYTES: u64 = 24;

/// Fits weights to examples; calls `watch` after each iteration with the number of iterations so far.
///
/// # Errors
/// There are no examples; fitting would take too much memory; the optimizer fails.
pub fn fit(
    examples: &Examples,
    settings: &Settings,
    watch: &mut dyn FnMut(u32),
) -> Result<Fitted, RegressionError> {
    if examples.is_empty() {
        return Err(RegressionError::NoExamples);
    }
    let distinct = examples.distinct_features();
    let (classes, features) = (examples.class_count, distinct.len());
    let occurrences = examples.features.len();
    settings.check_memory(examples.len(), occurrences, classes, features)?;
    let objective = Objective::new(examples, distinct, settings.prior_variance, settings.threads);
    let start = vec![0.0; objective.weight_count()];
    fit_from(objective, classes, start, settings, watch)
}

/// Returns the bytes that fitting takes for the vectors of L-BFGS, for targets and residuals, and for the `occurrences`
/// of features in examples. `features` is the number of distinct features that occur.
pub fn memory(examples: usize, occurrences: usize, classes: usize, features: usize) -> u64 {
    let vectors = (features as u64).saturating_add(1).saturating_mul(VECTORS as u64 * 8);
    let targets = (examples as u64).saturating_mul(12);
    let by_class = vectors.saturating_add(targets).saturating_mul(classes as u64);
    by_class.saturating_add((occurrences as u64).saturating_mul(OCCURRENCE_BYTES))
}

impl Settings {
    /// Refuses a fit that would take too much memory; the arguments are those of [`memory`].
    fn check_memory(
        &self,
        examples: usize,
        occurrences: usize,
        classes: usize,
        features: usize,
    ) -> Result<(), RegressionError> {
        let bytes = memory(examples, occurrences, classes, features);
        match bytes > self.most_bytes {
            false => Ok(()),
            true => Err(RegressionError::TooLarge {
                classes,
                features,
                bytes,
                most_bytes: self.most_bytes,
            }),
        }
    }
}

fn fit_from(
    objective: Objective<'_>,
    classes: usize,
    start: Vec<f64>,
    settings: &Settings,
    watch: &mut dyn FnMut(u32),
) -> Result<Fitted, RegressionError> {
    let stuck = |error: Error| RegressionError::Stuck(error.to_string());
    let features = objective.features.clone();
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), HISTORY)
        .with_tolerance_cost(settings.tolerance)
        .map_err(stuck)?;
    let first = objective.evaluate(&start);
    let first_loss = first.loss;
    let remembered = LastEvaluation { objective, last: RefCell::new(Some((start.clone(), first))) };
    let result = Executor::new(remembered, Watched { solver, watch })
        .configure(|state| state.param(start).max_iters(u64::from(settings.iterations)))
        .ctrlc(false)
        .run()
        .map_err(stuck)?;
    let mut state = result.state;
    // If rounding leaves the line search no descent, it stays where it is; the best parameters count.
    let (loss, iterations) = (state.get_best_cost(), state.get_iter() as u32);
    let has_ended = *state.get_termination_status()
        == TerminationStatus::Terminated(TerminationReason::SolverConverged);
    let mut weights = state
        .take_best_param()
        .filter(|_| loss.is_finite())
        .ok_or_else(|| RegressionError::Stuck("the loss is not finite".to_owned()))?;
    let mut bias = weights.split_off(weights.len() - classes);
    let mean = bias.iter().sum::<f64>() / classes as f64;
    bias.iter_mut().for_each(|b| *b -= mean);
    Ok(Fitted {
        features,
        weights,
        bias,
        loss,
        iterations,
        is_converged: has_ended && loss < first_loss,
    })
}

/// The objective in the form that the optimizer calls. It requests loss and gradient separately, but
/// they are computed together, so the last evaluation is remembered.
struct LastEvaluation<'a> {
    objective: Objective<'a>,
    last: RefCell<Option<(Vec<f64>, Evaluation)>>,
}

impl LastEvaluation<'_> {
    fn at<T>(&self, weights: &[f64], read: impl FnOnce(&Evaluation) -> T) -> T {
        let mut last = self.last.borrow_mut();
        if let Some((_, evaluation)) = last.as_ref().filter(|(known, _)| known == weights) {
            return read(evaluation);
        }
        let evaluation = self.objective.evaluate(weights);
        let found = read(&evaluation);
        *last = Some((weights.to_vec(), evaluation));
        found
    }
}

impl CostFunction for LastEvaluation<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, weights: &Vec<f64>) -> Result<f64, Error> {
        match self.at(weights, |evaluation| evaluation.loss) {
            loss if loss.is_finite() => Ok(loss),
            loss => Err(Error::msg(format!("the loss is {loss}"))),
        }
    }
}

impl Gradient for LastEvaluation<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, weights: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.at(weights, |evaluation| evaluation.gradient.clone()))
    }
}

type LineSearch = MoreThuenteLineSearch<Vec<f64>, Vec<f64>, f64>;
type LimitedBfgs = LBFGS<LineSearch, Vec<f64>, Vec<f64>, f64>;
type Iterate = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;

/// The solver, and the callback for its iterations.
struct Watched<'w> {
    solver: LimitedBfgs,
    watch: &'w mut dyn FnMut(u32),
}

impl<'a> Solver<LastEvaluation<'a>, Iterate> for Watched<'_> {
    fn name(&self) -> &str {
        "L-BFGS"
    }

    fn init(
        &mut self,
        problem: &mut Problem<LastEvaluation<'a>>,
        state: Iterate,
    ) -> Result<(Iterate, Option<KV>), Error> {
        self.solver.init(problem, state)
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<LastEvaluation<'a>>,
        state: Iterate,
    ) -> Result<(Iterate, Option<KV>), Error> {
        let next = self.solver.next_iter(problem, state)?;
        (self.watch)(next.0.get_iter() as u32 + 1);
        Ok(next)
    }

    fn terminate(&mut self, state: &Iterate) -> TerminationStatus {
        let solver: &mut dyn Solver<LastEvaluation<'a>, Iterate> = &mut self.solver;
        solver.terminate(state)
    }
}

#[cfg(test)]
mod tests {
    use super::super::objective::tests::{objective, random};
    use super::*;
    use crate::math::special::{exp, ln};

    fn precise() -> Settings {
        Settings { tolerance: 0.0, iterations: 500, ..Settings::default() }
    }

    #[test]
    fn without_features_the_bias_is_the_log_odds_of_the_targets() {
        let mut examples = Examples::new(3);
        examples.push([], &[0.5, 0.25, 0.25]);
        examples.push([], &[0.0, 1.0, 0.0]);
        let fitted = fit(&examples, &precise(), &mut |_| {}).unwrap();
        let mut mean = Vec::new();
        fitted.predict([(3, 1.0)], &mut mean);
        for (found, expected) in mean.iter().zip([0.25, 0.625, 0.125]) {
            assert!((found - expected).abs() < 1e-7, "{mean:?}");
        }
        assert!((fitted.bias[1] - fitted.bias[0] - ln(2.5)).abs() < 1e-6);
        assert!(fitted.bias.iter().sum::<f64>().abs() < 1e-12);
    }

    #[test]
    fn one_binary_feature_has_the_weights_of_its_equation() {
        // Symmetric: x = 1 has class 0 with probability 0.9, x = −1 class 1. Then b = 0, w_1 = −w_0,
        // and with p = 1 / (1 + exp −2w) the gradient 2p − 2y + w/σ² is 0; w is found by bisection.
        let (mut examples, share, variance) = (Examples::new(2), 0.9f32, 0.5);
        examples.push([(0, 1.0)], &[share, 1.0 - share]);
        examples.push([(0, -1.0)], &[1.0 - share, share]);
        let settings = Settings { prior_variance: variance, ..precise() };
        let fitted = fit(&examples, &settings, &mut |_| {}).unwrap();
        let slope = |w: f64| 2.0 / (1.0 + exp(-2.0 * w)) - 2.0 * f64::from(share) + w / variance;
        let (mut low, mut high) = (0.0, 10.0);
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if slope(middle) < 0.0 { low = middle } else { high = middle }
        }
        assert!((fitted.weights[0] - low).abs() < 1e-6, "{fitted:?} {low}");
        assert!((fitted.weights[1] + low).abs() < 1e-6 && fitted.bias[0].abs() < 1e-6);
    }

    #[test]
    fn two_starts_end_at_one_optimum() {
        let (examples, start) = random(60, 10, 4);
        let from = |start: Vec<f64>| {
            let objective = objective(&examples, 1.0, 2);
            fit_from(objective, 4, start, &precise(), &mut |_| {}).unwrap()
        };
        let (zero, other) = (from(vec![0.0; start.len()]), from(start));
        assert!((zero.loss - other.loss).abs() < 1e-12);
        let pairs = |f: &Fitted| [f.weights.clone(), f.bias.clone()].concat();
        for (a, b) in pairs(&zero).iter().zip(&pairs(&other)) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit_and_every_iteration_is_told() {
        let (examples, _) = random(50, 20, 3);
        let mut told = Vec::new();
        let mut with = |threads| {
            let settings = Settings { threads, iterations: 12, ..precise() };
            fit(&examples, &settings, &mut |n| told.push(n)).unwrap()
        };
        let alone = with(1);
        assert_eq!(with(2), alone);
        assert_eq!(with(3), alone);
        assert_eq!(alone.iterations, 12);
        let once: Vec<u32> = (1..=12).collect();
        assert_eq!(told, [&once[..], &once[..], &once[..]].concat());
    }

    #[test]
    fn a_fit_cut_short_has_not_converged() {
        let (examples, _) = random(50, 20, 3);
        let settings = Settings { iterations: 2, ..Settings::default() };
        let fitted = fit(&examples, &settings, &mut |_| {}).unwrap();
        assert!(!fitted.is_converged && fitted.loss < ln(3.0));
    }

    #[test]
    fn separable_examples_are_told_apart() {
        let mut examples = Examples::new(3);
        for n in 0..30u32 {
            let target = [0, 1, 2].map(|class| f32::from(u8::from(class == n % 3)));
            examples.push([(100 + n % 3, 1.0), (n, 1.0)], &target);
        }
        let fitted = fit(&examples, &Settings::default(), &mut |_| {}).unwrap();
        let mut probabilities = Vec::new();
        for class in 0..3 {
            fitted.predict([(100 + class, 1.0), (77, 9.0)], &mut probabilities);
            assert!(probabilities[class as usize] > 0.5, "{probabilities:?}");
        }
    }

    #[test]
    fn what_cannot_be_fitted_says_why() {
        let none = fit(&Examples::new(2), &Settings::default(), &mut |_| {});
        assert_eq!(none, Err(RegressionError::NoExamples));
        let (examples, _) = random(10, 20, 3);
        let settings = Settings { most_bytes: 1000, ..Settings::default() };
        let error = fit(&examples, &settings, &mut |_| {}).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("3 classes on 20 features") && text.contains("another method"));
        assert!(matches!(error, RegressionError::TooLarge { bytes, .. } if bytes > 15_000));
        let mut examples = Examples::new(2);
        (0..100).for_each(|_| examples.push((0..10).map(|feature| (feature, 1.0)), &[1.0, 0.0]));
        let most_bytes = memory(100, 0, 2, 10);
        let settings = Settings { most_bytes, ..settings };
        assert!(fit(&examples, &settings, &mut |_| {}).is_err());
    }
}
