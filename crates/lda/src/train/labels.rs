//! Labelled documents, with one topic per label: Labeled LDA (Ramage, Hall, Nallapati & Manning 2009) and Prior-LDA
//! (Rubin, Chambers, Smyth & Steyvers 2012), as defined in Papanikolaou 2017, §2.4 and §6.
//!
//! In training, a document has only the topics of its labels
//! ([`Sampler::restrict`](crate::infer::sampler::Sampler::restrict)); everything else is as without labels.
//! Documents are inferred over all topics, with a prior that may follow the frequency of each label.

use super::settings::TrainSettings;
use super::{Setup, TrainError, train};
use crate::bags::Bags;
use crate::infer::labels::LabelTopics;
use crate::model::Priors;
use crate::model::published::publish;
use crate::model::settings::{LabelPrior, ModelSettings};

/// Σ_k α_k in training (Papanikolaou 2017, Eq. 58), and of the part of inference's prior that follows
/// frequencies (Eq. 59).
pub const ALPHA_SUM: f64 = 50.0;

/// The ratio of the part of inference's prior that all labels share to the part that follows frequencies: 30 to 50
/// (Eq. 59).
const SHARED: f64 = 0.6;

/// Returns α_k for inference, one value per label; `documents` is the number of documents with each label. It is
/// A / K, or A f_k / Σ_j f_j + 0.6 A / K, where A is `alpha_sum` (Papanikolaou 2017, Eqs. 58 and 59 with A = 50).
///
/// ```
/// # use lda::model::settings::LabelPrior;
/// # use lda::train::labels::{ALPHA_SUM, inference_alpha};
/// let alpha = |prior| inference_alpha(prior, ALPHA_SUM, &[30, 10]);
/// assert_eq!(alpha(LabelPrior::Frequency), [52.5, 27.5]);
/// assert_eq!(alpha(LabelPrior::Uniform), [25.0, 25.0]);
/// ```
pub fn inference_alpha(prior: LabelPrior, alpha_sum: f64, documents: &[u64]) -> Vec<f64> {
    let each = alpha_sum / documents.len() as f64;
    let all = documents.iter().sum::<u64>().max(1) as f64;
    let alpha = |&documents: &u64| match prior {
        LabelPrior::Uniform => each,
        LabelPrior::Frequency => alpha_sum * documents as f64 / all + SHARED * each,
    };
    documents.iter().map(alpha).collect()
}

/// Learns `topics` topics over labels, for Dependency-LDA, from documents whose labels are the terms of `sets`;
/// there are `labels` labels in all, at least 1. `alpha_sum` is A of the prior.
///
/// # Errors
/// Returns an error if a draw has impossible masses.
pub fn label_topics(
    sets: &Bags,
    [labels, topics]: [usize; 2],
    alpha_sum: f64,
    seed: u64,
) -> Result<LabelTopics, TrainError> {
    let topics = topics.min(labels);
    let settings = TrainSettings { online_passes: 0, ..TrainSettings::default() };
    let model = ModelSettings { topics, ..ModelSettings::default() };
    let size = [sets.len() as u64, sets.token_count()];
    let priors = Priors::new(&model, 0, labels, size, true);
    let setup = Setup {
        priors: &priors,
        spare_topics: 0,
        settings: &settings,
        seed,
        vocabulary_size: labels,
        warm_start: None,
    };
    let trained = train(sets, &Bags::default(), &setup, |_, _| {})?;
    let mut weights = vec![0.0; topics * labels];
    let published = publish(&[&trained.parameters], &priors);
    for (topic, weights) in published.iter().zip(weights.chunks_exact_mut(labels)) {
        weights.fill(topic.absent_weight as f32);
        for &(label, weight) in &topic.weights {
            weights[label as usize] = weight;
        }
    }
    Ok(LabelTopics {
        labels,
        weights,
        alpha_sum: alpha_sum as f32,
        shared: (SHARED * alpha_sum / labels as f64) as f32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_documents_have_together_are_topics() {
        let mut sets = Bags::default();
        for document in 0..400 {
            let first = 3 * (document % 4) as u32;
            let pair = [[0, 1], [1, 2], [0, 2]][document as usize / 4 % 3];
            sets.push(document, &pair.map(|label| first + label), &[1, 1]);
        }
        let topics = label_topics(&sets, [12, 4], ALPHA_SUM, 1).unwrap();
        let mut alpha = Vec::new();
        for label in 0..12 {
            let mut tokens = [0.0; 12];
            tokens[label] = 20.0;
            topics.alpha(&tokens, &mut alpha);
            let of_others =
                (0..12).filter(|other| other / 3 != label / 3).map(|other| alpha[other]);
            let highest = of_others.fold(0.0, f32::max);
            let mates = (0..12).filter(|other| other / 3 == label / 3);
            assert!(mates.clone().all(|mate| alpha[mate] > 2.0 * highest), "{label}: {alpha:?}");
        }
    }
}
