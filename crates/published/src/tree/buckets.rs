//! FAST and its refinements: a token's conditional as three buckets (Hu & Boyd-Graber 2012, Eq. 5)
//!
//! ```text
//! s = Σ α_k S_λ / N_kλ     r = Σ n_dk S_λ / N_kλ     q = Σ (α_k + n_dk) O_kλ / N_kλ
//! ```
//!
//! over topics k and the term's paths λ: r only over the topics of the document, q only over the
//! observed paths. S_λ = Π β, O_kλ = Π (β + n) − Π β (Eq. 4); N_kλ is in `normalizers`.
//!
//! With **RB**, the refined bucket, s is summed only if a draw lands below its constant bound
//! s' = Σ α_k S_λ / Π Σ β (Eq. 6; [`choose`]). A draw within a bucket scans its masses again, up to
//! the one that is drawn: with **SD**, r and q begin with the topics that are frequent in the
//! document; with **SW**, q begins with the paths that have been observed most.

use super::counts::Assignment;
use super::naive::pick;
use super::normalizers::Normalizers;
use super::observed::{Observed, Path};
use super::state::{State, Variant};
use super::{ROOT, Tree};
use lda::infer::ImpossibleDraw;

/// The sums that the bucket samplers maintain beside the counts.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    normalizers: Normalizers,
    observed: Observed,
    /// s' of each term, if the variant has RB.
    bounds: Option<Vec<f64>>,
    /// SD without SW: q follows the document's order, not the term's.
    is_led_by_document: bool,
}

/// A bucket of the conditional, and the position of the draw in its mass.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    Smoothing(f64),
    Document(f64),
    Term(f64),
}

impl Buckets {
    pub(super) fn new(state: &State<'_>, variant: Variant) -> Self {
        let State { tree, alpha, counts, .. } = state;
        let terms = 0..tree.vocabulary_size() as u32;
        Self {
            normalizers: Normalizers::new(tree, counts),
            observed: Observed::new(tree, counts, variant.sorts_terms()),
            bounds: (variant.is_refined()).then(|| terms.map(|w| bound(tree, alpha, w)).collect()),
            is_led_by_document: variant.sorts_documents() && !variant.sorts_terms(),
        }
    }

    /// Updates the sums after a token was added to the counts, or removed if not `is_added`.
    pub(super) fn update(&mut self, state: &State<'_>, token: Assignment, is_added: bool) {
        let State { tree, counts, .. } = state;
        self.normalizers.update(tree, counts, token);
        self.observed.update(tree, counts, token, is_added);
    }

    /// Returns the masses of s: every topic, every path.
    fn smoothing<'a>(
        &'a self,
        state: &'a State<'_>,
        term: u32,
    ) -> impl Iterator<Item = (Assignment, f64)> + 'a {
        state.tree.leaves_of(term).flat_map(move |leaf| {
            let prior = state.tree.smoothing(leaf);
            let parent = state.tree.leaf_parent(leaf);
            state.alpha.iter().zip(0..).map(move |(alpha, topic)| {
                let mass = alpha * prior * self.normalizers.inverse(parent, topic);
                (Assignment { topic, leaf }, mass)
            })
        })
    }

    /// Returns the masses of r: the document's topics, every path.
    fn document<'a>(
        &'a self,
        state: &'a State<'_>,
        term: u32,
    ) -> impl Iterator<Item = (Assignment, f64)> + 'a {
        state.document.present().iter().flat_map(move |&topic| {
            let count = state.document.count(topic);
            state.tree.leaves_of(term).map(move |leaf| {
                let inverse = self.normalizers.inverse(state.tree.leaf_parent(leaf), topic);
                let mass = count * state.tree.smoothing(leaf) * inverse;
                (Assignment { topic, leaf }, mass)
            })
        })
    }

    /// Returns the masses of q: the observed paths, in the order of their list.
    fn term<'a>(
        &'a self,
        state: &'a State<'_>,
        term: u32,
    ) -> impl Iterator<Item = (Assignment, f64)> + 'a {
        let paths = self.observed.of(term).iter();
        paths.map(|path| self.observed_mass(state, path))
    }

    /// Returns the same masses, those of the document's topics first.
    fn term_by_document<'a>(
        &'a self,
        state: &'a State<'_>,
        term: u32,
    ) -> impl Iterator<Item = (Assignment, f64)> + 'a {
        let leaves = move |topic| {
            let leaves = state.tree.leaves_of(term);
            leaves.map(move |leaf| Assignment { topic, leaf })
        };
        let present = state.document.present().iter();
        let first = present.flat_map(move |&topic| leaves(topic));
        let first = first.filter_map(|token| self.observed.find(state.tree, token));
        let is_absent = |path: &&Path| state.document.count(path.token.topic) == 0.0;
        let rest = self.observed.of(term).iter().filter(is_absent);
        first.chain(rest).map(|path| self.observed_mass(state, path))
    }

    #[inline]
    fn observed_mass(&self, state: &State<'_>, path: &Path) -> (Assignment, f64) {
        let Assignment { topic, leaf } = path.token;
        let parent = state.tree.leaf_parent(leaf);
        let observed = match parent {
            ROOT => path.count(),
            _ => observation(state, path.token),
        };
        let weight = state.alpha[usize::from(topic)] + state.document.count(topic);
        let mass = weight * observed * self.normalizers.inverse(parent, topic);
        (path.token, mass)
    }

    /// Returns the topic and path at the share `uniform`, in [0, 1), of the total mass of a term
    /// whose token is not counted (the paper's Algorithm 1; without RB, s replaces s').
    pub(super) fn draw(
        &self,
        state: &State<'_>,
        term: u32,
        uniform: f64,
    ) -> Result<Assignment, ImpossibleDraw> {
        let s = || sum(self.smoothing(state, term));
        let r = sum(self.document(state, term));
        let q = sum(self.term(state, term));
        let (bound, exact) = match &self.bounds {
            Some(bounds) => (bounds[term as usize], None),
            None => {
                let s = s();
                (s, Some(s))
            }
        };
        let exact = || exact.unwrap_or_else(s);
        let total = bound + r + q;
        let drawn = match choose(uniform * total, bound, [r, q], exact) {
            Choice::Smoothing(target) => pick(self.smoothing(state, term), target, total),
            Choice::Document(target) => pick(self.document(state, term), target, total),
            Choice::Term(target) if self.is_led_by_document => {
                pick(self.term_by_document(state, term), target, total)
            }
            Choice::Term(target) => pick(self.term(state, term), target, total),
        };
        drawn.map_err(|_| ImpossibleDraw { term, masses: [q, r, bound].map(|mass| mass as f32) })
    }
}

/// Chooses a bucket: the paper's Algorithm 1, corrected. `sample` is uniform in [0, s' + r + q);
/// `exact` returns s ≤ s', and is called only if the sample is below s' or r + q is 0.
///
/// As printed, the remainder of a sample that lands in s' but not in s is not uniform in [0, r + q):
/// after lines 5 and 8 it is in [0, (s' − s)(r + q)/(s' + r + q)), which is a part of r, or little
/// more. It must be stretched to r + q; otherwise r gets some of q's share. As printed, Algorithm 1
/// draws from Eq. 1 only if s' = s.
fn choose(sample: f64, bound: f64, [r, q]: [f64; 2], exact: impl FnOnce() -> f64) -> Choice {
    let whole = bound + r + q;
    let sample = if sample < bound || r + q <= 0.0 {
        let s = exact();
        let scaled = sample * ((s + r + q) / whole);
        if scaled < s || r + q <= 0.0 {
            return Choice::Smoothing(scaled);
        }
        (scaled - s) * (whole / (bound - s))
    } else {
        sample - bound
    };
    if sample < r || q <= 0.0 { Choice::Document(sample) } else { Choice::Term(sample - r) }
}

/// Returns s' (Eq. 6), without counts in the normalisers.
fn bound(tree: &Tree, alpha: &[f64], term: u32) -> f64 {
    let normalizer = |leaf| -> f64 {
        let parents = tree.path(leaf).map(|node| tree.prior_sum(tree.parent(node)));
        parents.product()
    };
    let leaves = tree.leaves_of(term);
    let paths: f64 = leaves.map(|leaf| tree.smoothing(leaf) / normalizer(leaf)).sum();
    alpha.iter().sum::<f64>() * paths
}

/// Returns O_kλ (Eq. 4). It is at least 0, because rounding is monotonic.
fn observation(state: &State<'_>, token: Assignment) -> f64 {
    let State { tree, counts, .. } = state;
    let raised = |node| tree.prior(node) + f64::from(counts.get(node, token.topic));
    let path: f64 = tree.path(token.leaf).map(raised).product();
    path - tree.smoothing(token.leaf)
}

fn sum(masses: impl Iterator<Item = (Assignment, f64)>) -> f64 {
    masses.map(|(_, mass)| mass).sum()
}

#[cfg(test)]
mod tests;
