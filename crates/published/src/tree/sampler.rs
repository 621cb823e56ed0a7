//! Collapsed Gibbs sampling of each token's topic and path, by any of the six samplers that Hu &
//! Boyd-Graber (2012, Table 1) compare. They draw from the same distribution (Eq. 1) at different
//! speeds; they order its masses differently, so the same seed yields different topics.

use super::Tree;
use super::buckets::Buckets;
use super::counts::{Assignment, Counts};
use super::document::Document;
use super::naive::Naive;
use lda::infer::{Bag, ImpossibleDraw};
use lda::math::random::Stream;

/// The samplers of the paper's Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Enumerates every topic and path.
    Naive,
    /// Uses buckets, with normalisers and observed paths kept up to date.
    Fast,
    /// FAST-RB: also refines the smoothing bucket.
    FastRb,
    /// FAST-RB-SD: also sorts topics by their count in the document.
    FastRbSd,
    /// FAST-RB-SW: also sorts a term's paths by their edge-masked count.
    FastRbSw,
    /// FAST-RB-SDW: sorts both.
    FastRbSdw,
}

impl Variant {
    /// All variants, in the order of Table 1.
    pub const ALL: [Self; 6] =
        [Self::Naive, Self::Fast, Self::FastRb, Self::FastRbSd, Self::FastRbSw, Self::FastRbSdw];

    /// Returns the paper's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "NAIVE",
            Self::Fast => "FAST",
            Self::FastRb => "FAST-RB",
            Self::FastRbSd => "FAST-RB-SD",
            Self::FastRbSw => "FAST-RB-SW",
            Self::FastRbSdw => "FAST-RB-SDW",
        }
    }

    pub(super) fn is_refined(self) -> bool {
        !matches!(self, Self::Naive | Self::Fast)
    }

    pub(super) fn sorts_documents(self) -> bool {
        matches!(self, Self::FastRbSd | Self::FastRbSdw)
    }

    pub(super) fn sorts_terms(self) -> bool {
        matches!(self, Self::FastRbSw | Self::FastRbSdw)
    }
}

/// The state on which a token's conditional depends.
#[derive(Clone, Debug)]
pub(super) struct State<'t> {
    pub(super) tree: &'t Tree,
    /// α_k.
    pub(super) alpha: Vec<f64>,
    pub(super) counts: Counts,
    pub(super) document: Document,
}

#[derive(Clone, Debug)]
enum Method {
    Naive(Naive),
    Fast(Box<Buckets>),
}

/// Samples documents one after another, and counts each token immediately.
#[derive(Clone, Debug)]
pub struct Sampler<'t> {
    state: State<'t>,
    method: Method,
}

impl<'t> Sampler<'t> {
    /// Creates a sampler without tokens. `alpha` is the document–topic prior, one value > 0 per topic.
    pub fn new(tree: &'t Tree, alpha: Vec<f64>, variant: Variant) -> Self {
        let topics = alpha.len();
        let state = State {
            tree,
            alpha,
            counts: Counts::new(tree, topics),
            document: Document::new(topics, variant.sorts_documents()),
        };
        let method = match variant {
            Variant::Naive => Method::Naive(Naive::default()),
            _ => Method::Fast(Box::new(Buckets::new(&state, variant))),
        };
        Self { state, method }
    }

    /// Returns the counts of all documents' tokens.
    pub fn counts(&self) -> &Counts {
        &self.state.counts
    }

    /// Sweeps once over a document, whose tokens are in the order of its terms. Tokens in
    /// `assignments` are already counted; each is redrawn given all others. Tokens beyond them are
    /// drawn given those before, and then counted.
    ///
    /// # Errors
    /// The masses of a draw are impossible. Its token is then missing from the counts, but an old
    /// assignment of it is still in `assignments`.
    pub fn sweep(
        &mut self,
        bag: Bag<'_>,
        assignments: &mut Vec<Assignment>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        self.state.document.clear();
        for token in assignments.iter() {
            self.state.document.add(token.topic);
        }
        let terms = bag.terms.iter().zip(bag.counts);
        let tokens = terms.flat_map(|(&term, &count)| std::iter::repeat_n(term, count as usize));
        for (place, term) in tokens.enumerate() {
            if let Some(&old) = assignments.get(place) {
                debug_assert_eq!(self.state.tree.term(old.leaf), term);
                self.state.document.remove(old.topic);
                self.remove(old);
            }
            let new = self.draw(term, stream.uniform())?;
            self.state.document.add(new.topic);
            self.add(new);
            match assignments.get_mut(place) {
                Some(assignment) => *assignment = new,
                None => assignments.push(new),
            }
        }
        Ok(())
    }

    /// Counts a token of any document.
    pub fn add(&mut self, token: Assignment) {
        self.state.counts.add(self.state.tree, token);
        if let Method::Fast(buckets) = &mut self.method {
            buckets.update(&self.state, token, true);
        }
    }

    /// Removes a counted token.
    pub fn remove(&mut self, token: Assignment) {
        self.state.counts.remove(self.state.tree, token);
        if let Method::Fast(buckets) = &mut self.method {
            buckets.update(&self.state, token, false);
        }
    }

    /// Draws a topic and path for a token that is not counted.
    fn draw(&mut self, term: u32, uniform: f64) -> Result<Assignment, ImpossibleDraw> {
        match &mut self.method {
            Method::Fast(buckets) => buckets.draw(&self.state, term, uniform),
            Method::Naive(naive) => {
                let drawn = naive.draw(&self.state, term, uniform);
                drawn.map_err(|total| ImpossibleDraw { term, masses: [0.0, 0.0, total as f32] })
            }
        }
    }
}
