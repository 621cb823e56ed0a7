//! The smoothing that φ is published with.
//!
//! The η that trains well is larger than the one that predicts well: on held-out documents the published
//! φ_kw = (η′ + λ̃_kw) / (Vη′ + λ̃_k) gains 0.03–0.08 nats per token if η′ is at most a tenth of η. So η′ is chosen
//! on the held-out documents at the end of training, and recorded.

use super::TrainError;
use crate::bags::Bags;
use crate::evaluate::completion::{Completer, Completion};
use crate::model::Priors;
use crate::model::factors::{FactorTable, Factors};
use crate::model::parameters::Parameters;

/// Fractions of η tried for η′ besides a tenth.
const SMALLER: &[f64] = &[0.03, 0.01, 0.003];
const LARGER: &[f64] = &[0.3, 1.0];

/// Returns the priors that φ is published with: the mean geometry and another η.
pub fn published_priors(priors: &Priors, eta: f64) -> Priors {
    Priors { eta, exp_psi: false, ..priors.clone() }
}

/// Returns η′ for the time of training, and for runs without held-out documents to choose it on.
pub fn provisional_eta(priors: &Priors) -> f64 {
    0.1 * priors.eta
}

/// Chooses η′ by the score of the held-out documents with φ published with it: starts with [`provisional_eta`], and
/// tries smaller, or else larger, fractions of η as long as the score rises. The first is kept if nothing is
/// scored.
///
/// # Errors
/// Returns the errors of `score`.
pub fn choose<E>(
    priors: &Priors,
    mut score: impl FnMut(f64) -> Result<Completion, E>,
) -> Result<(f64, Completion), E> {
    let mut best = (provisional_eta(priors), score(provisional_eta(priors))?);
    for fractions in [SMALLER, LARGER] {
        let first = best.0;
        for fraction in fractions {
            let eta = fraction * priors.eta;
            let scored = score(eta)?;
            if scored.per_token() <= best.1.per_token() {
                break;
            }
            best = (eta, scored);
        }
        if best.0 != first {
            break;
        }
    }
    Ok(best)
}

/// Returns the score of the held-out documents with φ published with `eta`.
///
/// # Errors
/// Returns an error if the model has no positive, finite factor for a term.
pub fn heldout(
    documents: &Bags,
    parameters: &Parameters,
    priors: &Priors,
    seed: u64,
    eta: f64,
) -> Result<Completion, TrainError> {
    let priors = published_priors(priors, eta);
    let factors = Factors::prepare(parameters, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let mut completer = Completer::default();
    let mut sum = Completion::default();
    for index in 0..documents.len() {
        let document = documents.document(index);
        let error = |source| TrainError::Draw { document, source };
        let bag = documents.bag(index);
        sum.merge(completer.score(seed, document, bag, table).map_err(error)?);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::special::ln;

    /// Returns the fraction that is chosen if `best` scores highest, and how many are scored.
    fn chosen(best: f64) -> (f64, usize) {
        let priors = Priors { alpha: vec![0.1], eta: 1.0, exp_psi: false, tree: None };
        let mut scored = 0;
        let score = |eta: f64| {
            scored += 1;
            Ok::<_, TrainError>(Completion {
                log_likelihood: -(ln(eta / best).abs() * 1000.0) as i64,
                tokens: 1,
                documents: 1,
                ..Completion::default()
            })
        };
        let (eta, _) = choose(&priors, score).expect("scored");
        (eta, scored)
    }

    #[test]
    fn the_fraction_with_the_highest_score_is_chosen() {
        let found = [2.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001].map(chosen);
        let expected =
            [(1.0, 4), (1.0, 4), (0.3, 4), (0.1, 3), (0.03, 3), (0.01, 4), (0.003, 4), (0.003, 4)];
        assert_eq!(found, expected);
    }
}
