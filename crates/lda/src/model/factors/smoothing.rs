//! The parts of the factors that do not depend on the term: h_k, f_k and α_k, and their running sums.

use crate::math::draw::running_sums;
use crate::math::special::{digamma, exp, exp_digamma};
use crate::model::Priors;
use crate::model::tree::ROOT;

/// Topics in one chunk.
pub(crate) const CHUNK: usize = 16;

/// Returns f_k = exp −Ψ(whole) of the paper's geometry, times 2⁶³: with this power of two no factor vanishes in f32
/// (with η = 0.01, exp Ψ(η) is 2 · 10⁻⁴⁴), and it changes no draw, because it is common to all topics.
pub(super) fn lifted_unit(whole: f64) -> f64 {
    (1u64 << 63) as f64 * exp(-digamma(whole))
}

/// The values of adjacent topics, in a cache line of their own; in the last chunk, topics from K on have 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Chunk(pub(crate) [f32; CHUNK]);

/// Returns the values of chunks, topic by topic.
#[inline]
pub(crate) fn flat(chunks: &[Chunk]) -> &[f32] {
    bytemuck::cast_slice(chunks)
}

/// Returns the values of chunks, topic by topic.
#[inline]
pub(crate) fn flat_mut(chunks: &mut [Chunk]) -> &mut [f32] {
    bytemuck::cast_slice_mut(chunks)
}

/// Copies `values` to chunks that also have a place for the topic K.
fn chunked(values: &[f32]) -> Vec<Chunk> {
    let mut chunks = vec![Chunk::default(); (values.len() + 1).div_ceil(CHUNK)];
    flat_mut(&mut chunks)[..values.len()].copy_from_slice(values);
    chunks
}

/// The parts of [`Smoothing`] that draws over all topics read.
#[derive(Clone, Debug)]
pub(crate) struct SmoothingChunks {
    /// h_k.
    pub(crate) factors: Vec<Chunk>,
    /// α_k.
    pub(crate) alpha: Vec<Chunk>,
    /// f_k.
    pub(crate) unit: Vec<Chunk>,
}

impl SmoothingChunks {
    fn new(factors: &[f32], alpha: &[f32], unit: &[f32]) -> Self {
        Self { factors: chunked(factors), alpha: chunked(alpha), unit: chunked(unit) }
    }
}

/// The parts of the factors that do not depend on the term: h_k, the running sums of α_k h_k, and f_k.
#[derive(Clone, Debug)]
pub struct Smoothing {
    /// h_k for each topic.
    pub factors: Vec<f32>,
    /// Σ_{j ≤ k} α_j h_j for each topic.
    pub prefix: Vec<f32>,
    /// H = Σ_k α_k h_k.
    pub mass: f32,
    /// α_k for each topic.
    pub alpha: Vec<f32>,
    /// f_k for each topic: the amount that one token adds to g_kw where λ̃ are counts.
    pub unit: Vec<f32>,
    /// h_k, α_k and f_k again, in chunks.
    pub(crate) chunks: SmoothingChunks,
    scales: Vec<f64>,
    eta: f64,
    exp_psi: bool,
}

impl Smoothing {
    /// Computes them from the priors, the row sums λ̃_k, and V. With a tree, they are those of terms attached to
    /// the root.
    pub fn new(priors: &Priors, totals: &[f64], vocabulary_size: usize) -> Self {
        let smoothing = match &priors.tree {
            Some(tree) => priors.eta / tree.eta() * tree.prior_sum(ROOT),
            None => vocabulary_size as f64 * priors.eta,
        };
        let scale = |total: f64| {
            if priors.exp_psi { lifted_unit(smoothing + total) } else { 1.0 / (smoothing + total) }
        };
        let scales: Vec<f64> = totals.iter().map(|&total| scale(total)).collect();
        let unseen = if priors.exp_psi { exp_digamma(priors.eta) } else { priors.eta };
        let factors = scales.iter().map(|f| f * unseen).collect();
        let (eta, exp_psi) = (priors.eta, priors.exp_psi);
        Self::of(factors, &priors.alpha, scales, (eta, exp_psi))
    }

    /// Computes them for given topics: h_k is `factors`, and another token changes nothing.
    pub(super) fn fixed(alpha: &[f64], factors: &[f64]) -> Self {
        let scales = vec![0.0; alpha.len()];
        Self::of(factors.to_vec(), alpha, scales, (0.0, false))
    }

    fn of(factors: Vec<f64>, alpha: &[f64], scales: Vec<f64>, (eta, exp_psi): (f64, bool)) -> Self {
        let [factors, alpha, unit] = [&factors, alpha, &scales]
            .map(|values| -> Vec<f32> { values.iter().map(|&value| value as f32).collect() });
        let mut prefix = Vec::new();
        let masses = alpha.iter().zip(&factors).map(|(a, h)| a * h);
        let mass = running_sums(masses, &mut prefix);
        Self {
            chunks: SmoothingChunks::new(&factors, &alpha, &unit),
            factors,
            prefix,
            mass,
            alpha,
            unit,
            scales,
            eta,
            exp_psi,
        }
    }

    /// Returns g_kw for a λ̃_kw > 0.
    #[inline]
    pub(super) fn sparse_factor(&self, topic: usize, unsmoothed: f64) -> f32 {
        let unscaled = if self.exp_psi {
            exp_digamma(self.eta + unsmoothed) - exp_digamma(self.eta)
        } else {
            unsmoothed
        };
        (self.scales[topic] * unscaled) as f32
    }
}
