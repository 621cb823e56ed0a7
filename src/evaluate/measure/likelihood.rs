//! Held-out likelihood per token, by either method, with its standard error over documents.
//!
//! The figure is a ratio, L / N = Σ_d l_d / Σ_d n_d. Its standard error is the ratio estimator's
//! (Cochran 1977, Eq. 2.46, without the correction for a finite population):
//! √(D / (D − 1) Σ_d (l_d − n_d L/N)²) / N. The squares are summed as integers of 128 bits.

use super::{DocumentScore, Figure};
use lda::evaluate::completion::{self, Completer};
use lda::evaluate::left_to_right::{self, LeftToRight, Scorer};
use lda::infer::{Bag, ImpossibleDraw};
use lda::math::FIXED_POINT;
use lda::math::special::exp;
use lda::model::factors::FactorTable;

/// How documents are scored.
pub(crate) enum Method {
    Completion(Box<Completer>, u32),
    LeftToRight(Scorer, LeftToRight),
}

/// Held-out likelihood by one method.
pub(crate) struct Likelihood {
    method: Method,
    seed: u64,
    split: &'static str,
    sums: Sums,
}

/// Sums over documents; l in units of 2⁻²⁰ nats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    /// D: documents with a scored token.
    documents: i64,
    /// Documents without one.
    skipped: i64,
    /// N.
    tokens: i64,
    /// Tokens of terms that the model lacks, if the method counts them.
    unknown: i64,
    /// L.
    log_likelihood: i64,
    /// Σ l², Σ l n, Σ n².
    squares: [i128; 3],
}

/// A sum of 128 bits is sent as four integers of 32 bits each, so that their sums fit in 64.
const LIMBS: usize = 4;

impl Method {
    /// Scores by document completion, with `sweeps` sweeps.
    pub(crate) fn completion(sweeps: u32) -> Self {
        Self::Completion(Box::new(Completer::with_sweeps(sweeps)), sweeps)
    }

    /// Scores from left to right.
    pub(crate) fn left_to_right(particles: u32, resample: bool) -> Self {
        let settings = LeftToRight { particles, resample };
        Self::LeftToRight(Scorer::with_progress(liveness::tick), settings)
    }
}

impl Likelihood {
    /// Scores documents of the split that figures call `split`.
    pub(crate) fn new(method: Method, seed: u64, split: &'static str) -> Self {
        Self { method, seed, split, sums: Sums::default() }
    }

    /// Adds a document: its number in the collection, and its terms, some of which the model may lack.
    ///
    /// # Errors
    /// The model has no positive, finite factor for a term that it has.
    pub(crate) fn add(
        &mut self,
        number: u64,
        bag: Bag<'_>,
        table: FactorTable<'_>,
    ) -> Result<Option<DocumentScore>, ImpossibleDraw> {
        let [log_likelihood, tokens, unknown] = self.score(number, bag, table)?;
        self.sums.unknown += unknown;
        if tokens == 0 {
            self.sums.skipped += 1;
            return Ok(None);
        }
        self.sums.add(log_likelihood, tokens);
        Ok(Some(DocumentScore { method: self.describe().0, log_likelihood, tokens }))
    }

    /// Returns (log-likelihood in fixed point, tokens scored, tokens of terms that the model lacks).
    fn score(
        &mut self,
        number: u64,
        bag: Bag<'_>,
        table: FactorTable<'_>,
    ) -> Result<[i64; 3], ImpossibleDraw> {
        match &mut self.method {
            Method::Completion(completer, _) => {
                let scored = completer.score(self.seed, number, bag, table)?;
                let unknown = bag.terms.iter().zip(bag.counts);
                let unknown = unknown.filter(|&(&term, _)| table.find(term).is_none());
                let unknown: u64 = unknown.map(|(_, &count)| u64::from(count)).sum();
                Ok([scored.log_likelihood, scored.tokens, unknown as i64])
            }
            Method::LeftToRight(scorer, settings) => {
                let scored = scorer.score(self.seed, number, bag, table, *settings)?;
                let fixed = (scored.log_likelihood * FIXED_POINT).round_ties_even() as i64;
                Ok([fixed, scored.tokens as i64, scored.unknown as i64])
            }
        }
    }

    /// Returns the method's name, and the same with its parameters.
    fn describe(&self) -> (&'static str, String) {
        match &self.method {
            Method::Completion(_, sweeps) => {
                (completion::METHOD, format!("{}, {sweeps} sweeps", completion::METHOD))
            }
            Method::LeftToRight(_, settings) => {
                let how = if settings.resample { "resampled" } else { "not resampled" };
                let particles = settings.particles;
                let method = left_to_right::METHOD;
                (method, format!("{method}, {particles} particles, {how}"))
            }
        }
    }

    /// Returns this worker's sums, of the same length on every worker.
    pub(crate) fn sums(&self) -> Vec<i64> {
        self.sums.to_words()
    }

    /// Returns the figures, from the sums of all workers, summed place by place.
    pub(crate) fn figures(&self, sums: &[i64]) -> Vec<Figure> {
        let sums = Sums::from_words(sums);
        let (name, method) = self.describe();
        let figure = |metric, unit, value, standard_error| Figure {
            metric,
            method: method.clone(),
            split: self.split,
            unit,
            value,
            standard_error,
            documents: sums.documents as u64,
            tokens: sums.tokens as u64,
        };
        let mut figures = Vec::new();
        if let Some((value, error)) = sums.per_token() {
            // To first order the error of exp x is exp x times that of x.
            let perplexity = exp(-value);
            let its_error = error.map(|error| error * perplexity);
            figures.push(figure("log_likelihood_per_token", "nats/token", value, error));
            figures.push(figure("perplexity", "1", perplexity, its_error));
        }
        let counts = [
            ("documents_scored", "documents", sums.documents),
            ("documents_skipped", "documents", sums.skipped),
            ("tokens_scored", "tokens", sums.tokens),
            ("tokens_unknown", "tokens", sums.unknown),
        ];
        figures.extend(counts.map(|(metric, unit, count)| Figure {
            method: name.to_owned(),
            ..figure(metric, unit, count as f64, None)
        }));
        figures
    }
}

impl Sums {
    fn add(&mut self, log_likelihood: i64, tokens: i64) {
        let (l, n) = (i128::from(log_likelihood), i128::from(tokens));
        self.documents += 1;
        self.tokens += tokens;
        self.log_likelihood += log_likelihood;
        for (sum, square) in self.squares.iter_mut().zip([l * l, l * n, n * n]) {
            *sum += square;
        }
    }

    fn to_words(self) -> Vec<i64> {
        let mut words =
            vec![self.documents, self.skipped, self.tokens, self.unknown, self.log_likelihood];
        for square in self.squares {
            let low = (0..LIMBS - 1).map(|limb| (square >> (32 * limb)) as u32);
            words.extend(low.map(i64::from));
            words.push((square >> (32 * (LIMBS - 1))) as i64);
        }
        words
    }

    fn from_words(words: &[i64]) -> Self {
        let (plain, limbs) = words.split_at(5);
        let mut squares = [0; 3];
        for (square, limbs) in squares.iter_mut().zip(limbs.chunks_exact(LIMBS)) {
            let shifted = limbs.iter().enumerate();
            *square = shifted.map(|(i, &x)| i128::from(x) << (32 * i)).sum();
        }
        Self {
            documents: plain[0],
            skipped: plain[1],
            tokens: plain[2],
            unknown: plain[3],
            log_likelihood: plain[4],
            squares,
        }
    }

    /// Returns L / N in nats, and its standard error.
    fn per_token(&self) -> Option<(f64, Option<f64>)> {
        if self.tokens == 0 {
            return None;
        }
        let (documents, tokens) = (self.documents as f64, self.tokens as f64);
        let ratio = self.log_likelihood as f64 / tokens;
        let [ll, ln, nn] = self.squares.map(|square| square as f64);
        let residuals = (ll - 2.0 * ratio * ln + ratio * ratio * nn).max(0.0);
        let error = (self.documents > 1)
            .then(|| (documents / (documents - 1.0) * residuals).sqrt() / tokens / FIXED_POINT);
        Some((ratio / FIXED_POINT, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lda::model::factors::Factors;

    #[test]
    fn the_standard_error_is_that_of_a_ratio() {
        let scores: [(f64, i64); 4] = [(-80.0, 10), (-35.5, 5), (-150.0, 20), (-9.25, 1)];
        let mut sums = Sums::default();
        for (l, n) in scores {
            sums.add((l * FIXED_POINT) as i64, n);
        }
        let (value, error) = sums.per_token().unwrap();
        let tokens: f64 = scores.iter().map(|s| s.1 as f64).sum();
        let mean = scores.iter().map(|s| s.0).sum::<f64>() / tokens;
        let residuals = scores.iter().map(|&(l, n)| (l - mean * n as f64).powi(2));
        let direct = (4.0 / 3.0 * residuals.sum::<f64>()).sqrt() / tokens;
        assert!((value - mean).abs() < 1e-9);
        assert!((error.unwrap() - direct).abs() < 1e-9, "{error:?} for {direct}");
        assert_eq!(Sums::default().per_token(), None);
    }

    #[test]
    fn sums_of_workers_add_up_beyond_64_bits() {
        let (mut one, mut two, mut all) = (Sums::default(), Sums::default(), Sums::default());
        for i in 1..40 {
            let (l, n) = (-7_777_777_777_777 * i, 3 * i);
            if i % 3 == 0 { &mut one } else { &mut two }.add(l, n);
            all.add(l, n);
        }
        let added: Vec<i64> =
            one.to_words().iter().zip(two.to_words()).map(|(a, b)| a + b).collect();
        assert!(all.squares[0] > i128::from(i64::MAX));
        assert!(all.squares[1] < 0);
        assert_eq!(Sums::from_words(&added), all);
    }

    #[test]
    fn documents_without_a_known_token_are_counted_and_no_part_of_the_figure() {
        let rows: [Option<&[(u16, f32)]>; 2] = [Some(&[(0, 1.0)]), None];
        let factors = Factors::from_topics(&[0.5, 0.5], &[0.0, 0.01], 2, |w| rows[w as usize]);
        let parts = [&factors];
        for method in [Method::completion(4), Method::left_to_right(2, false)] {
            let mut measure = Likelihood::new(method, 1, "all");
            let mut add = |terms: &[u32], counts: &[u32]| {
                let table = FactorTable::new(&parts);
                measure.add(3, Bag { terms, counts }, table).unwrap()
            };
            assert_eq!(add(&[1], &[6]), None);
            assert_eq!(add(&[], &[]), None);
            assert!(add(&[0], &[4]).is_some());
            let figures = measure.figures(&measure.sums());
            let value = |name: &str| figures.iter().find(|f| f.metric == name).unwrap().value;
            assert_eq!(value("documents_scored"), 1.0);
            assert_eq!(value("documents_skipped"), 2.0);
            assert_eq!(value("tokens_unknown"), 6.0);
            assert!(value("log_likelihood_per_token") < 0.0);
        }
    }
}
