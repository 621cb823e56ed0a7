//! The smoothing that φ is published with.
//!
//! The η that trains well is larger than the one that predicts well: on held-out documents the
//! published φ_kw = (η′ + λ̃_kw) / (Vη′ + λ̃_k) gains 0.03–0.08 nats a token with an η′ of a tenth
//! or less. So η′ is chosen on the held-out documents at the end of training, and recorded.

use super::TrainError;
use crate::bags::Bags;
use crate::evaluate::completion::{Completer, Completion};
use crate::infer::Bag;
use crate::model::Priors;
use crate::model::factors::{FactorTable, Factors};
use crate::model::parameters::Parameters;

/// Fractions of η tried for η′.
const FRACTIONS: [f64; 6] = [1.0, 0.3, 0.1, 0.03, 0.01, 0.003];

/// The priors φ is published with: the mean geometry and another η.
pub fn published(priors: &Priors, eta: f64) -> Priors {
    Priors {
        exp_psi: false,
        ..priors.with_eta(eta)
    }
}

/// η′ while training runs, and where there are no held-out documents to choose it on.
pub fn provisional_eta(priors: &Priors) -> f64 {
    0.1 * priors.eta
}

/// The η′ to choose from, largest first.
pub fn candidates(priors: &Priors) -> Vec<f64> {
    FRACTIONS.iter().map(|f| f * priors.eta).collect()
}

/// The best of `candidates` by its score; the first of equals, `fallback` if nothing was scored.
pub fn choose(candidates: &[f64], scores: &[Option<f64>], fallback: f64) -> f64 {
    let mut best: Option<(f64, f64)> = None;
    for (&eta, score) in candidates.iter().zip(scores) {
        if let Some(score) = *score
            && best.is_none_or(|(_, highest)| score > highest)
        {
            best = Some((eta, score));
        }
    }
    best.map_or(fallback, |(eta, _)| eta)
}

/// The score of the held-out documents with φ published with `eta`.
pub fn heldout(
    documents: &Bags,
    parameters: &Parameters,
    priors: &Priors,
    seed: u64,
    eta: f64,
) -> Result<Completion, TrainError> {
    let priors = published(priors, eta);
    let factors = Factors::prepare(parameters, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let mut completer = Completer::default();
    let mut sum = Completion::default();
    for index in 0..documents.len() {
        let document = documents.document(index);
        let error = |source| TrainError::ImpossibleDraw { document, source };
        let bag = Bag::of(documents, index);
        sum.merge(completer.score(seed, document, bag, table).map_err(error)?);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_scored_candidate_is_chosen() {
        let etas = [0.3, 0.1, 0.03];
        assert_eq!(
            choose(&etas, &[Some(-8.0), Some(-7.5), Some(-7.6)], 1.0),
            0.1
        );
        assert_eq!(choose(&etas, &[None, None, None], 1.0), 1.0);
    }
}
