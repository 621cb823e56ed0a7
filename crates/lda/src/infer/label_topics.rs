//! The co-occurrence of labels: topics over labels, and the prior that a document's labels have through them
//! (Dependency-LDA; Rubin, Chambers, Smyth & Steyvers 2012; Papanikolaou 2017, §2.4).
//!
//! A document has a mixture θ′ of T topics over labels, φ′. Its labels have the prior of Prior-LDA, with the
//! mixture's label frequencies instead of the collection's:
//!
//! ```text
//! α_dk = A Σ_t θ′_dt φ′_tk + 0.6 A / K
//! ```
//!
//! Departure: θ′ is estimated from the expected tokens of each label, by EM with φ′ held fixed, in alternation with
//! the tokens given α_d; Rubin et al. sample both.

/// Steps of EM for each mixture.
const STEPS: usize = 10;

/// Labels with fewer expected tokens do not count in a document's mixture.
const LEAST_TOKENS: f32 = 0.01;

/// The prior of every topic of a mixture.
const SMOOTHING: f32 = 0.1;

/// Topics over labels.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelTopics {
    /// K, the number of labels, ≥ 1.
    pub labels: usize,
    /// φ′_tk, T × K, topic by topic; T ≥ 1.
    pub weights: Vec<f32>,
    /// A.
    pub alpha_sum: f32,
    /// The additional prior of every label, 0.6 A / K.
    pub shared: f32,
}

impl LabelTopics {
    /// Returns T.
    pub fn topics(&self) -> usize {
        self.weights.len() / self.labels
    }

    /// Writes α_d of a document with these expected tokens of each label to `alpha`.
    pub fn alpha(&self, tokens: &[f32], alpha: &mut Vec<f32>) {
        let topics = self.topics();
        let mut mixture = vec![1.0 / topics as f32; topics];
        let present: Vec<(usize, f32)> = (tokens.iter().copied().enumerate())
            .filter(|&(_, tokens)| tokens >= LEAST_TOKENS)
            .collect();
        for _ in 0..STEPS {
            let mut next = vec![SMOOTHING; topics];
            for &(label, tokens) in &present {
                let of_label = self.weights[label..].iter().step_by(self.labels);
                let masses: Vec<f32> = of_label.zip(&mixture).map(|(w, m)| w * m).collect();
                // Every topic has some of every label.
                let ratio = tokens / masses.iter().sum::<f32>().max(f32::MIN_POSITIVE);
                let all = next.iter_mut().zip(masses);
                all.for_each(|(next, mass)| *next += ratio * mass);
            }
            let whole: f32 = next.iter().sum();
            mixture.clear();
            mixture.extend(next.iter().map(|value| value / whole));
        }
        alpha.clear();
        alpha.resize(self.labels, self.shared);
        for (weights, share) in self.weights.chunks_exact(self.labels).zip(mixture) {
            for (alpha, weight) in alpha.iter_mut().zip(weights) {
                *alpha += self.alpha_sum * share * weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_come_together_raise_each_other() {
        let weights = vec![0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5];
        let topics = LabelTopics { labels: 4, weights, alpha_sum: 50.0, shared: 7.5 };
        let mut alpha = Vec::new();
        topics.alpha(&[8.0, 0.0, 0.0, 0.0], &mut alpha);
        assert!(alpha[1] > 30.0 && alpha[2] < 8.5, "{alpha:?}");
        assert!((alpha.iter().sum::<f32>() - 80.0).abs() < 1e-3);
        topics.alpha(&[0.0; 4], &mut alpha);
        assert_eq!(alpha, [20.0; 4]);
    }
}
