//! The sampler as the paper states it: dense, in f64, one line per step (Mimno 2012, Eq. 9).
//!
//! It documents and tests the fast one. `factors[i][k]` is the factor e_kw of the document's i-th token and topic
//! k; the factors are held fixed, so a document is only a list of tokens.

use lda::math::random::Stream;

/// Sweeps once: redraws each token's topic, in order, given all the others: p(z_i = k | rest) ∝ (α_k + n_dk without
/// i) e_ik.
///
/// A token whose topic is not yet drawn is `None`; a sweep over a document of such tokens is the
/// sequential first sweep of footnote 3: each token is drawn given those before it.
pub fn sweep(
    factors: &[Vec<f64>],
    alpha: &[f64],
    assignments: &mut [Option<usize>],
    stream: &mut Stream,
) {
    let mut counts = topic_counts(assignments, alpha.len());
    for (i, e) in factors.iter().enumerate() {
        if let Some(old) = assignments[i].take() {
            counts[old] -= 1.0;
        }
        let masses: Vec<f64> = (0..alpha.len()).map(|k| (alpha[k] + counts[k]) * e[k]).collect();
        let new = draw(&masses, stream.uniform());
        assignments[i] = Some(new);
        counts[new] += 1.0;
    }
}

/// Returns n_dk for each topic.
pub fn topic_counts(assignments: &[Option<usize>], topic_count: usize) -> Vec<f64> {
    let mut counts = vec![0.0; topic_count];
    for &topic in assignments.iter().flatten() {
        counts[topic] += 1.0;
    }
    counts
}

/// Returns the first index whose running sum exceeds `uniform` times the whole.
fn draw(masses: &[f64], uniform: f64) -> usize {
    let target = uniform * masses.iter().sum::<f64>();
    let mut sum = 0.0;
    for (k, mass) in masses.iter().enumerate() {
        sum += mass;
        if sum > target {
            return k;
        }
    }
    masses.len() - 1
}

/// Returns Σ_i p_dik for each topic of a finished sample, from which θ^p follows (Papanikolaou 2017): the sum of
/// each token's full conditional given the topics of all others.
pub fn soft_counts(factors: &[Vec<f64>], alpha: &[f64], assignments: &[Option<usize>]) -> Vec<f64> {
    let counts = topic_counts(assignments, alpha.len());
    let mut soft = vec![0.0; alpha.len()];
    for (e, own) in factors.iter().zip(assignments) {
        let without = |k: usize| counts[k] - f64::from(u8::from(*own == Some(k)));
        let masses: Vec<f64> = (0..alpha.len()).map(|k| (alpha[k] + without(k)) * e[k]).collect();
        let total: f64 = masses.iter().sum();
        soft.iter_mut().zip(&masses).for_each(|(s, m)| *s += m / total);
    }
    soft
}
