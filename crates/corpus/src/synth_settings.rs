//! The settings of a corpus with planted topics, for a job or the command `synth`.

use serde::{Deserialize, Serialize};

/// Section `[synth]` of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SynthSettings {
    /// Planted topics, K: 1 to 65,535.
    pub topics: usize,
    /// Documents.
    pub documents: u64,
    /// Distinct words that documents are made of, V: at least 1.
    #[serde(alias = "terms")]
    pub vocabulary: usize,
    /// Mean of the documents' lengths in words; above 0.
    pub mean_length: f64,
    /// Sum of the symmetric document–topic prior, Σ_k α_k; above 0. If it is small, a document has few topics.
    pub alpha_sum: f64,
    /// The seed of every draw.
    pub seed: u64,
}

impl SynthSettings {
    /// Returns the first value out of range, as (key, allowed values).
    pub(crate) fn problem(&self) -> Option<(&'static str, &'static str)> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if !(1..=65_535).contains(&self.topics) {
            return Some(("topics", "1 to 65535"));
        }
        if self.vocabulary == 0 || u32::try_from(self.vocabulary).is_err() {
            return Some(("vocabulary", "1 to 4294967295"));
        }
        if !positive(self.mean_length) || self.mean_length > 1e9 {
            return Some(("mean_length", "above 0, at most 1e9"));
        }
        if !positive(self.alpha_sum) {
            return Some(("alpha_sum", "a number above 0"));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_named_by_its_key() {
        let good = SynthSettings {
            topics: 3,
            documents: 0,
            vocabulary: 10,
            mean_length: 5.0,
            alpha_sum: 1.0,
            seed: 1,
        };
        assert_eq!(good.problem(), None);
        let key = |change: fn(&mut SynthSettings)| {
            let mut settings = good.clone();
            change(&mut settings);
            settings.problem().map(|p| p.0)
        };
        assert_eq!(key(|s| s.topics = 0), Some("topics"));
        assert_eq!(key(|s| s.vocabulary = 0), Some("vocabulary"));
        assert_eq!(key(|s| s.mean_length = f64::NAN), Some("mean_length"));
        assert_eq!(key(|s| s.alpha_sum = 0.0), Some("alpha_sum"));
    }
}
