//! Measures that many workers compute over documents: each worker sums integers, these are summed
//! over workers, and the sums become figures.
//!
//! Figures of documents are [`Likelihood`]s, by one [`LikelihoodMethod`] or another; [`measures`] is the only place that lists
//! them. Figures of topics are [`TopicScores`].

use super::settings::{EvaluateSettings, Metric};
use lda::evaluate::coherence::CoherenceCounter;
use lda::evaluate::coherence::window::{C_V_WINDOW, SlidingWindowCounter};
use lda::evaluate::completion::{Completer, Completion};
use lda::evaluate::left_to_right::{LeftToRight, Scorer};
use lda::evaluate::{completion, left_to_right};
use lda::infer::{Bag, ImpossibleDraw};
use lda::math::FIXED_POINT;
use lda::math::special::exp;
use lda::model::factors::FactorTable;

/// The score of one document, by a measure that scores single ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentScore {
    /// How it was measured.
    pub(crate) method: &'static str,
    /// Σ log p of the scored tokens, in units of 2⁻²⁰ nats.
    pub(crate) log_likelihood: i64,
    /// Tokens scored.
    pub(crate) tokens: i64,
}

/// A figure, ready for the table `evaluation`.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Figure {
    /// The metric.
    pub(crate) metric: &'static str,
    /// The method, with its parameters.
    pub(crate) method: String,
    /// The documents measured.
    pub(crate) split: &'static str,
    /// The unit.
    pub(crate) unit: &'static str,
    /// The figure.
    pub(crate) value: f64,
    /// Its standard error over documents, if there is one.
    pub(crate) standard_error: Option<f64>,
    /// The number of documents measured.
    pub(crate) documents: u64,
    /// The number of tokens measured.
    pub(crate) tokens: u64,
}

/// Returns the measures of documents that a job requests, in its order, for one worker.
pub(crate) fn measures(settings: &EvaluateSettings, seed: u64) -> Vec<(Metric, Likelihood)> {
    let one = |&metric: &Metric| {
        let method = match metric {
            Metric::Completion => LikelihoodMethod::completion(settings.completion_sweeps),
            Metric::LeftToRight => {
                LikelihoodMethod::left_to_right(settings.particles, settings.resample)
            }
            Metric::Umass | Metric::Npmi | Metric::CV => return None,
        };
        let likelihood = Likelihood::new(method, seed, settings.split_name());
        Some((metric, likelihood))
    };
    settings.metrics.iter().filter_map(one).collect()
}

/// Returns the mean of the known values, if there are any.
pub(crate) fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

// Coherence of topics by each metric, from counts summed over all workers.

/// The counts of some texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextCounts<'a> {
    /// The documents counted: a split, or `reference`.
    pub(crate) split: &'static str,
    /// Their number.
    pub(crate) documents: u64,
    /// Documents that contain terms: for UMass and NPMI.
    pub(crate) sets: &'a CoherenceCounter,
    /// Windows that contain terms: for C_V.
    pub(crate) windows: Option<&'a SlidingWindowCounter>,
}

/// How coherent each topic is, by one metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TopicScores {
    /// The metric.
    pub(crate) metric: Metric,
    /// Its name in tables.
    pub(crate) name: &'static str,
    /// The method, with the number of terms.
    pub(crate) method: String,
    /// The unit.
    pub(crate) unit: &'static str,
    /// The documents counted.
    pub(crate) split: &'static str,
    /// Their number.
    pub(crate) documents: u64,
    /// By topic; `None` for one of fewer than two terms, or if the score is not finite.
    pub(crate) values: Vec<Option<f64>>,
}

impl TopicScores {
    /// Scores `topics` topics by the first `terms` terms of each.
    ///
    /// # Panics
    /// Panics for a metric that is not a coherence, and for C_V without windows.
    pub(crate) fn new(
        metric: Metric,
        terms: usize,
        topics: usize,
        counted: TextCounts<'_>,
    ) -> Self {
        let windows = || counted.windows.expect("windows are counted where C_V is asked for");
        let score = |topic: usize| match metric {
            Metric::Umass => counted.sets.umass_of(topic, terms),
            Metric::Npmi => counted.sets.npmi_of(topic, terms),
            Metric::CV => windows().c_v(topic),
            Metric::Completion | Metric::LeftToRight => panic!("{metric:?} is no coherence"),
        };
        let enough = |topic: usize| counted.sets.term_count(topic) >= 2;
        let value = |topic: usize| enough(topic).then(|| score(topic)).filter(|x| x.is_finite());
        let method = match metric {
            Metric::CV => format!("mean over topics, {terms} terms, windows of {C_V_WINDOW}"),
            _ => format!("mean over topics, {terms} terms"),
        };
        let (name, unit) = match metric {
            Metric::Umass => ("coherence_umass", "nats"),
            Metric::CV => ("coherence_c_v", "1"),
            _ => ("coherence_npmi", "1"),
        };
        Self {
            metric,
            name,
            method,
            unit,
            split: counted.split,
            documents: counted.documents,
            values: (0..topics).map(value).collect(),
        }
    }

    /// Returns the mean over the topics that have a score, if any.
    pub(crate) fn figure(&self) -> Option<Figure> {
        mean(&self.values).map(|value| Figure {
            metric: self.name,
            method: self.method.clone(),
            split: self.split,
            unit: self.unit,
            value,
            standard_error: None,
            documents: self.documents,
            tokens: 0,
        })
    }
}

// Held-out likelihood per token, by either method, with its standard error over documents.

/// How documents are scored.
pub(crate) enum LikelihoodMethod {
    Completion(Box<Completer>, u32),
    LeftToRight(Scorer, LeftToRight),
}

/// Held-out likelihood by one method.
pub(crate) struct Likelihood {
    method: LikelihoodMethod,
    seed: u64,
    split: &'static str,
    sums: LikelihoodSums,
}

/// Sums over documents: integers, so that those of workers add up in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct LikelihoodSums {
    /// Documents with a scored token.
    scored: Completion,
    /// The number of documents without one.
    skipped: i64,
    /// Tokens of terms that the model lacks, if the method counts them.
    unknown: i64,
}

impl LikelihoodMethod {
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
    pub(crate) fn new(method: LikelihoodMethod, seed: u64, split: &'static str) -> Self {
        Self { method, seed, split, sums: LikelihoodSums::default() }
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
        self.sums.scored.merge(Completion::of(log_likelihood, tokens));
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
            LikelihoodMethod::Completion(completer, _) => {
                let scored = completer.score(self.seed, number, bag, table)?;
                let unknown = bag.terms.iter().zip(bag.counts);
                let unknown = unknown.filter(|&(&term, _)| table.find(term).is_none());
                let unknown: u64 = unknown.map(|(_, &count)| u64::from(count)).sum();
                Ok([scored.log_likelihood, scored.tokens, unknown as i64])
            }
            LikelihoodMethod::LeftToRight(scorer, settings) => {
                let scored = scorer.score(self.seed, number, bag, table, *settings)?;
                let fixed = (scored.log_likelihood * FIXED_POINT).round_ties_even() as i64;
                Ok([fixed, scored.tokens as i64, scored.unknown as i64])
            }
        }
    }

    /// Returns the method's name, and the same with its parameters.
    fn describe(&self) -> (&'static str, String) {
        match &self.method {
            LikelihoodMethod::Completion(_, sweeps) => {
                (completion::METHOD, format!("{}, {sweeps} sweeps", completion::METHOD))
            }
            LikelihoodMethod::LeftToRight(_, settings) => {
                let how = if settings.resample { "resampled" } else { "not resampled" };
                let particles = settings.particles;
                let method = left_to_right::METHOD;
                (method, format!("{method}, {particles} particles, {how}"))
            }
        }
    }

    /// Returns this worker's sums, of the same length on every worker.
    pub(crate) fn sums(&self) -> Vec<i64> {
        bytemuck::cast_slice(&[self.sums]).to_vec()
    }

    /// Returns the figures, from the sums of all workers, summed place by place.
    pub(crate) fn figures(&self, sums: &[i64]) -> Vec<Figure> {
        let sums: &LikelihoodSums = bytemuck::from_bytes(bytemuck::cast_slice(sums));
        let scored = sums.scored;
        let (name, method) = self.describe();
        let figure = |metric, unit, value, standard_error| Figure {
            metric,
            method: method.clone(),
            split: self.split,
            unit,
            value,
            standard_error,
            documents: scored.documents as u64,
            tokens: scored.tokens as u64,
        };
        let (mut figures, error) = (Vec::new(), scored.standard_error());
        if let Some(value) = scored.per_token() {
            // To first order the error of exp x is exp x times that of x.
            let perplexity = exp(-value);
            let its_error = error.map(|error| error * perplexity);
            figures.push(figure("log_likelihood_per_token", "nats/token", value, error));
            figures.push(figure("perplexity", "1", perplexity, its_error));
        }
        let counts = [
            ("documents_scored", "documents", scored.documents),
            ("documents_skipped", "documents", sums.skipped),
            ("tokens_scored", "tokens", scored.tokens),
            ("tokens_unknown", "tokens", sums.unknown),
        ];
        figures.extend(counts.map(|(metric, unit, count)| Figure {
            method: name.to_owned(),
            ..figure(metric, unit, count as f64, None)
        }));
        figures
    }
}

#[cfg(test)]
mod likelihood_tests {
    use super::*;
    use lda::model::factors::Factors;

    #[test]
    fn documents_without_a_known_token_are_counted_and_no_part_of_the_figure() {
        let rows: [Option<&[(u16, f32)]>; 2] = [Some(&[(0, 1.0)]), None];
        let factors = Factors::from_topics(&[0.5, 0.5], &[0.0, 0.01], 2, |w| rows[w as usize]);
        let parts = [&factors];
        for method in [LikelihoodMethod::completion(4), LikelihoodMethod::left_to_right(2, false)] {
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

#[cfg(test)]
mod coherence_tests {
    use super::*;

    #[test]
    fn scores_are_the_counters_and_topics_without_a_pair_have_none() {
        let tops = vec![vec![0, 1, 2], vec![3], vec![1, 3]];
        let mut sets = CoherenceCounter::new(&tops, 4, 20);
        let mut windows = SlidingWindowCounter::for_c_v(&tops, 4);
        for text in [[0, 1, 3], [1, 2, 0], [3, 2, 2], [0, 0, 0]] {
            windows.add_sequence(&text);
            let mut set = text.to_vec();
            set.sort_unstable();
            set.dedup();
            sets.add_document(&set);
        }
        let counted =
            TextCounts { split: "all", documents: 4, sets: &sets, windows: Some(&windows) };
        let umass = TopicScores::new(Metric::Umass, 2, 3, counted);
        assert_eq!(umass.values, [Some(sets.umass_of(0, 2)), None, Some(sets.umass(2))]);
        assert_ne!(umass.values[0], Some(sets.umass(0)), "two of three terms");
        let c_v = TopicScores::new(Metric::CV, 10, 3, counted);
        assert_eq!(c_v.values, [Some(windows.c_v(0)), None, Some(windows.c_v(2))]);
        let figure = c_v.figure().unwrap();
        assert_eq!(figure.value, (windows.c_v(0) + windows.c_v(2)) / 2.0);
        assert_eq!((figure.metric, figure.split), ("coherence_c_v", "all"));
        let none = TopicScores::new(Metric::Npmi, 10, 0, counted);
        assert_eq!(none.figure(), None);
    }
}
