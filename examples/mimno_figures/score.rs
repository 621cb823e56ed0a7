//! How good a model is: held-out likelihood, coherence, and the entropy of its topics.

use lda::bags::Bags;
use lda::evaluate::TermDistribution;
use lda::evaluate::coherence::{CoherenceCounter, UMASS_TERMS};
use lda::evaluate::diagnostics::{entropy, is_dead};
use lda::model::Priors;
use lda::model::parameters::Parameters;
use lda::model::published::publish;
use lda::train::publish::{candidates, choose, provisional_eta};
use lda::train::{TrainError, heldout};

use crate::corpus::Corpus;

/// The columns of [`Score::row`].
pub const COLUMNS: &str = "published_eta,heldout,heldout_own_eta,umass,umass_worst_tenth,npmi,npmi_worst_tenth,\
                           topic_entropy,dead_topics,nonzero_share";

/// The figures of a model; of what is per topic the mean.
pub struct Score {
    /// η′.
    eta: f64,
    /// Document completion on the test documents, nats a token.
    heldout: f64,
    /// The same with η itself, nothing chosen.
    heldout_own_eta: f64,
    umass: Vec<f64>,
    npmi: Vec<f64>,
    entropy: f64,
    dead: usize,
    nonzero_share: f64,
}

impl Score {
    /// Scores a model. η′ is chosen on the validation documents, for every model alike;
    /// coherence is counted on `reference`.
    pub fn new(
        parameters: &Parameters,
        priors: &Priors,
        corpus: &Corpus,
        reference: &Bags,
        seed: u64,
    ) -> Result<Self, TrainError> {
        let etas = candidates(priors);
        let score = |documents: &Bags, eta: f64| {
            Ok(heldout(documents, parameters, priors, seed, eta)?.per_token())
        };
        let scores = etas.iter().map(|&eta| score(&corpus.validation, eta));
        let scores: Vec<_> = scores.collect::<Result<_, TrainError>>()?;
        let eta = choose(&etas, &scores, provisional_eta(priors));
        let published = publish(&[parameters], eta);
        let distribution = |topic: usize| TermDistribution {
            entries: &published[topic].weights,
            absent_weight: published[topic].absent_weight,
            vocabulary_size: corpus.vocabulary_size,
        };
        let topics = 0..published.len();
        let tops: Vec<_> = topics
            .clone()
            .map(|k| distribution(k).top_terms(UMASS_TERMS))
            .collect();
        let mut counter = CoherenceCounter::new(&tops, corpus.vocabulary_size);
        (0..reference.len()).for_each(|i| counter.add_document(reference.bag(i).0));
        let totals = parameters.totals();
        let tokens: f64 = totals.iter().sum();
        let is_dead = |total: &&f64| is_dead(**total, tokens, totals.len());
        let cells = (published.len() * corpus.vocabulary_size) as f64;
        Ok(Self {
            eta,
            heldout: score(&corpus.test, eta)?.unwrap_or(f64::NAN),
            heldout_own_eta: score(&corpus.test, priors.eta)?.unwrap_or(f64::NAN),
            umass: topics.clone().map(|k| counter.umass(k)).collect(),
            npmi: topics.clone().map(|k| counter.npmi(k)).collect(),
            entropy: mean(
                &topics
                    .map(|k| entropy(&distribution(k)))
                    .collect::<Vec<_>>(),
            ),
            dead: totals.iter().filter(is_dead).count(),
            nonzero_share: parameters.nonzero_count() as f64 / cells,
        })
    }

    /// As [`COLUMNS`].
    pub fn row(&self) -> String {
        let (umass, npmi) = (mean(&self.umass), mean(&self.npmi));
        let (umass_low, npmi_low) = (worst_tenth(&self.umass), worst_tenth(&self.npmi));
        format!(
            "{:.5},{:.4},{:.4},{umass:.1},{umass_low:.1},{npmi:.4},{npmi_low:.4},{:.2},{},{:.4}",
            self.eta,
            self.heldout,
            self.heldout_own_eta,
            self.entropy,
            self.dead,
            self.nonzero_share
        )
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean of the lowest tenth of the topics, at least one: are there very poor ones?
fn worst_tenth(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    mean(&sorted[..values.len().div_ceil(10)])
}
