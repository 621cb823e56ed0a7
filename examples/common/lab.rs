//! Documents inferred against one model by many methods: how fast, how close to a reference, and how
//! well halves of documents predict the other halves.

use std::time::Instant;

use lda::evaluate::comparison::Measures;
use lda::infer::Bag;
use lda::infer::Target;
use lda::infer::mean_field::TermTopics;
use lda::infer::settings::InferSettings;
use lda::infer::summary::log_likelihood;
use lda::math::random::{Stage, Stream};
use lda::model::factors::{FactorTable, Factors};

/// Each rate is the best of this many runs.
const REPEATS: usize = 3;

/// Terms and counts.
pub type Document = (Vec<u32>, Vec<u32>);

/// Proportions of documents, one row each.
pub type Proportions = Vec<Vec<f32>>;

/// Documents, and the model that they are inferred against.
pub struct Lab<'a> {
    /// φ and α.
    pub factors: &'a [&'a Factors],
    /// The same without small entries.
    pub topics: &'a TermTopics,
    /// The documents to infer.
    pub documents: Vec<Document>,
    /// Each document's tokens in two halves.
    pub halves: Vec<[Document; 2]>,
    /// How many threads to time on, besides one.
    pub threads: usize,
}

impl Lab<'_> {
    /// Infers the proportions of `documents`, spread over threads.
    pub fn infer(
        &self,
        documents: &[Document],
        settings: &InferSettings,
        threads: usize,
        round: u64,
    ) -> Proportions {
        let share = documents.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let chunks = documents.chunks(share).enumerate();
            let handles: Vec<_> = chunks
                .map(|(chunk, documents)| {
                    let first = (chunk * share) as u64;
                    scope.spawn(move || self.infer_some(documents, settings, round, first))
                })
                .collect();
            let joined = handles.into_iter().flat_map(|h| h.join().expect("inferred"));
            joined.collect()
        })
    }

    fn infer_some(
        &self,
        documents: &[Document],
        settings: &InferSettings,
        round: u64,
        first: u64,
    ) -> Proportions {
        let (table, topics) = (FactorTable::new(self.factors), self.topics);
        let target = Target { table, topics, classifier: None, labels: None };
        let mut inferrer = settings.method.inferrer();
        let inferred = documents.iter().zip(first..).map(|(document, number)| {
            let mut stream = Stream::keyed(1, Stage::Project, round, number);
            let inferred = inferrer.infer(bag(document), target, settings, &mut stream);
            inferred.expect("a sound model").proportions.to_vec()
        });
        inferred.collect()
    }

    /// Returns the names of what [`Lab::report`] prints.
    pub fn header(&self) -> String {
        let threads = self.threads;
        format!("method,documents/s,on {threads} threads,cosine,KL,F1,held out")
    }

    /// Times and scores one of our methods.
    pub fn report(&self, name: &str, settings: &InferSettings, reference: &[Vec<f32>]) {
        let mut rates = [0.0_f64; 2];
        for (rate, threads) in rates.iter_mut().zip([1, self.threads]) {
            for _ in 0..REPEATS {
                let started = Instant::now();
                let inferred = self.infer(&self.documents, settings, threads, 2);
                *rate = rate.max(inferred.len() as f64 / started.elapsed().as_secs_f64());
            }
        }
        let inferred = self.infer(&self.documents, settings, self.threads, 2);
        let first: Vec<Document> = self.halves.iter().map(|h| h[0].clone()).collect();
        let observed = self.infer(&first, settings, self.threads, 3);
        let (alike, held_out) = (alike(reference, &inferred), self.held_out(&observed));
        println!("{name},{:.0},{:.0},{alike},{held_out:.4}", rates[0], rates[1]);
    }

    /// Returns the log-likelihood per token of the second halves, given proportions of the first.
    pub fn held_out(&self, observed: &[Vec<f32>]) -> f64 {
        let table = FactorTable::new(self.factors);
        let (mut sum, mut tokens) = (0.0, 0);
        for (halves, proportions) in self.halves.iter().zip(observed) {
            let (own, own_tokens) = log_likelihood(bag(&halves[1]), proportions, table);
            sum += own;
            tokens += own_tokens;
        }
        sum / tokens as f64
    }
}

/// Returns cosine, KL and F1 of proportions against a reference, means over documents, separated by commas.
pub fn alike(reference: &[Vec<f32>], inferred: &[Vec<f32>]) -> String {
    let wide = |row: &[f32]| row.iter().map(|&p| f64::from(p)).collect::<Vec<_>>();
    let mut measures = Measures::default();
    for (right, found) in reference.iter().zip(inferred) {
        measures.add(&wide(right), &wide(found));
    }
    format!(
        "{:.4},{:.4},{:.4}",
        measures.cosine().mean,
        measures.kl_divergence().mean,
        measures.f1().mean
    )
}

/// Returns a document as the library takes it.
pub fn bag((terms, counts): &Document) -> Bag<'_> {
    Bag { terms, counts }
}
