//! Collapsed Gibbs sampling of each token's topic and path, by any of the six samplers that Hu &
//! Boyd-Graber (2012, Table 1) compare. They draw from the same distribution (Eq. 1) at different
//! speeds; they order its masses differently, so the same seed yields different topics.

use super::Tree;
use super::buckets::Buckets;
use super::counts::{Assignment, Counts};
use super::document::Document;
use super::naive::Naive;
use super::state::State;
pub use super::state::Variant;
use lda::infer::{Bag, ImpossibleDraw};
use lda::math::random::Stream;

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
