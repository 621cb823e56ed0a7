//! The changes of a collection: what came and left, and how well the model fits what came.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::check::{Known, VerifyReport};
use super::records::{records, table};
use super::rollup::{ListedDocument, RollUp, RollUpContext, StartRollUp, Sums, fixed};
use crate::failure::Failure;
use corpus::collection::{Collection, Generation};
use corpus::sample::Split;
use lda::evaluate::drift::{Fit, TermSet, jensen_shannon_distance};
use lda::math::FIXED_POINT;

table! {
    /// One row per change of the collection, after row 0 for the documents that it was made with. The figures from
    /// `documents` on are of those that came with the change, are still there, have terms of the vocabulary, and were
    /// not trained on.
    "generations", sorted_by [generation], checked_by check;
    pub(crate) struct GenerationRow {
        generation: i32,                /// Number of the change, from 1; 0 for the first documents.
        unix_seconds: Option<i64>,      /// When it was made, in seconds since 1970-01-01 UTC; `None` for row 0. Not in the digest.
        input: Vec<String>,             /// What documents were read from; empty if documents only left, and in row 0.
        came: i64,                      /// Documents that came, of any status.
        left: i64,                      /// Documents that left: removed, or replaced by ones that came.
        trained: bool,                  /// Whether the model was trained then, on a sample of all documents.
        documents: i64,                 /// Documents that the figures are of.
        tokens: i64,                    /// Their tokens, stop words left out.
        tokens_in_vocabulary: i64,      /// Of these, tokens of kept terms.
        terms: i64,                     /// Their distinct terms, without stop words and `frequent` ones; not counted in row 0.
        known_terms: i64,               /// Of these, terms of the collection that the model was trained on.
        known_term_share: Option<f64>,  /// known_terms over terms, 0 to 1.
        coverage: Option<f64>,          /// Mean over these documents of the share of their tokens that are in the vocabulary, stop words left out, 0 to 1.
        coverage_shift: Option<f64>,    /// That minus the same of the reference, in its standard deviations over documents.
        coverage_z: Option<f64>,        /// The same difference in standard errors.
        topic_shift_js: Option<f64>,    /// Jensen–Shannon distance (base 2) of the topics' shares from those of the reference: the documents that came before the model was trained.
        loglik_per_token: Option<f64>,  /// Mean over these documents of their log-likelihood per token, nats.
        loglik_shift: Option<f64>,      /// That minus the same of the reference, in its standard deviations over documents.
        loglik_z: Option<f64>,          /// The same difference in standard errors.
        retrain: bool,                  /// Whether the model no longer fits: coverage or loglik_per_token is lower by more than half a standard deviation and four standard errors.
    }
}

/// Documents of a reference; fewer are no measure of what is usual.
const LEAST_DOCUMENTS: i64 = 50;

/// Parts of sums that a line has at most: lines are sent in blocks.
const PARTS_A_LINE: usize = 4096;

/// Starts the roll-up, if the collection has changed.
pub(super) fn roll_up(context: &RollUpContext, start: &mut impl StartRollUp) {
    if !context.collection.generations.is_empty() {
        start.start(Generations {
            collection: Arc::clone(&context.collection),
            last_training: context.collection.last_training(),
            unknown: Arc::clone(&context.unknown),
            topic_count: context.topic_count,
        });
    }
}

/// The documents that came with each change, by its number.
struct Generations {
    collection: Arc<Collection>,
    /// The change at which the model was trained last, and the number of the first document after it.
    last_training: (usize, u64),
    /// The terms that the collection lacked on which the model was trained.
    unknown: Arc<TermSet>,
    topic_count: usize,
}

/// Sums over documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct GenerationSums {
    /// Documents, tokens except stop words, tokens of kept terms; Σ x and Σ x² for x = log-likelihood per token, and for
    /// x = coverage, in fixed point.
    fixed: [i64; 7],
    /// Σ_d θ_dk N_d, in fixed point.
    topics: Vec<i64>,
    terms: BTreeSet<u64>,
}

impl GenerationSums {
    fn count(&mut self, listed: &ListedDocument<'_>) {
        let (document, x) = (listed.read, listed.loglik_per_token);
        let length = document.tokens_in_vocabulary() as f64;
        let tokens = i64::from(document.tokens_total) - i64::from(document.tokens_stopped);
        // A document with terms has tokens that are no stop words.
        let covered = length / tokens.max(1) as f64;
        let of = |x: f64| [fixed(x), fixed(x * x)];
        let ([x, x_squared], [c, c_squared]) = (of(x), of(covered));
        let more = [1, tokens, length as i64, x, x_squared, c, c_squared];
        self.fixed.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        for &(weight, topic) in listed.topics {
            self.topics[usize::from(topic)] += fixed(f64::from(weight) * length);
        }
    }

    /// Returns how well the model fits the documents: by their likelihood, and by their coverage.
    fn fits(&self) -> [Fit; 2] {
        let fit = |place: usize| Fit {
            documents: self.fixed[0],
            sum: self.fixed[place] as f64 / FIXED_POINT,
            squares: self.fixed[place + 1] as f64 / FIXED_POINT,
        };
        [fit(3), fit(5)]
    }
}

/// A part is a place and a number: of the fixed sums, then of topics, then terms.
impl Sums for GenerationSums {
    type Part = [u64; 2];

    fn take(&mut self, send: &mut dyn FnMut([u64; 2])) {
        let topics = self.topics.iter_mut();
        let numbers = self.fixed.iter_mut().chain(topics).map(std::mem::take);
        for (place, number) in (0..).zip(numbers).filter(|&(_, number)| number != 0) {
            send([place, number as u64]);
        }
        std::mem::take(&mut self.terms).into_iter().for_each(|term| send([u64::MAX, term]));
    }

    fn add(&mut self, [place, number]: [u64; 2]) {
        if place == u64::MAX {
            self.terms.insert(number);
            return;
        }
        let place = place as usize;
        match place.checked_sub(self.fixed.len()) {
            None => self.fixed[place] += number as i64,
            Some(topic) => self.topics[topic] += number as i64,
        }
    }
}

impl RollUp for Generations {
    type Key = u64;
    type Sums = GenerationSums;
    type Whole = GenerationSums;
    type Line = (u64, Vec<[u64; 2]>);
    type Row = GenerationRow;

    fn empty(&self) -> GenerationSums {
        GenerationSums { topics: vec![0; self.topic_count], ..GenerationSums::default() }
    }

    /// Returns the sums over the documents that came before the model was trained.
    fn whole(&self) -> GenerationSums {
        self.empty()
    }

    fn add(
        &mut self,
        listed: &ListedDocument<'_>,
        first: &mut GenerationSums,
        each: &mut dyn FnMut(&u64, &mut dyn FnMut(&mut GenerationSums)),
    ) {
        if listed.split == Split::Sample {
            return;
        }
        let generations = &self.collection.generations;
        let came = generations.partition_point(|it| it.first_document <= listed.number);
        if listed.number < self.last_training.1 {
            first.count(listed);
        }
        each(&(came as u64), &mut |sums| {
            sums.count(listed);
            // The first documents, of which there are many, have no unknown terms.
            if came > 0 {
                let terms = listed.read.terms.iter().chain(&listed.read.pruned);
                sums.terms.extend(terms.map(|&term| u64::from(term)));
            }
        });
    }

    fn lines(
        &self,
        generation: u64,
        mut sums: GenerationSums,
        _: &GenerationSums,
        lines: &mut Vec<(u64, Vec<[u64; 2]>)>,
    ) {
        let mut parts = Vec::new();
        sums.take(&mut |part| parts.push(part));
        let lines_of = parts.chunks(PARTS_A_LINE).map(|parts| (generation, parts.to_vec()));
        lines.extend(lines_of);
    }

    fn rows(
        &self,
        lines: Vec<(u64, Vec<[u64; 2]>)>,
        first: &GenerationSums,
    ) -> Vec<GenerationRow> {
        let generations = &self.collection.generations;
        let mut all = vec![self.empty(); generations.len() + 1];
        for (generation, parts) in lines {
            parts.into_iter().for_each(|part| all[generation as usize].add(part));
        }
        let came = generations.first().map_or(0, |next| next.first_document);
        let made = Generation { documents: came, ..Generation::default() };
        let changes = std::iter::once(&made).chain(generations);
        let rows = (0..).zip(changes).zip(&all);
        rows.map(|((number, change), sums)| self.row(number, change, sums, first)).collect()
    }
}

impl Generations {
    fn row(
        &self,
        number: i32,
        change: &Generation,
        sums: &GenerationSums,
        first: &GenerationSums,
    ) -> GenerationRow {
        let [documents, tokens, tokens_in_vocabulary, ..] = sums.fixed;
        let is_known = |term: &&u64| !self.unknown.contains(**term as u32);
        let terms = sums.terms.len() as i64;
        let known_terms = sums.terms.iter().filter(is_known).count() as i64;
        let known_term_share = (terms > 0).then(|| known_terms as f64 / terms as f64);
        let [loglik, coverage] = sums.fits();
        let is_reference = first.fixed[0] >= LEAST_DOCUMENTS;
        let [of_loglik, of_coverage] = if is_reference { first.fits() } else { [Fit::default(); 2] };
        let [loglik_shift, loglik_z] = loglik.compared_with(&of_loglik);
        let [coverage_shift, coverage_z] = coverage.compared_with(&of_coverage);
        GenerationRow {
            generation: number,
            unix_seconds: (number > 0).then_some(change.unix_seconds as i64),
            input: change.input.clone(),
            came: change.documents as i64,
            left: change.removed as i64,
            trained: number == 0 || change.trained,
            documents,
            tokens,
            tokens_in_vocabulary,
            terms,
            known_terms,
            known_term_share,
            coverage: coverage.mean(),
            coverage_shift,
            coverage_z,
            topic_shift_js: jensen_shannon_distance(&sums.topics, &first.topics),
            loglik_per_token: loglik.mean(),
            loglik_shift,
            loglik_z,
            retrain: number as usize > self.last_training.0
                && [[loglik_shift, loglik_z], [coverage_shift, coverage_z]]
                    .into_iter()
                    .any(is_worse),
        }
    }
}

/// Whether documents are fitted worse than the reference, by the difference in standard deviations and in standard
/// errors: large enough to matter, and no chance.
fn is_worse([shift, z]: [Option<f64>; 2]) -> bool {
    shift.is_some_and(|shift| shift < -0.5) && z.is_some_and(|z| z < -4.0)
}

fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let (mut expected, mut documents) = (0, 0);
    for row in records::<GenerationRow>(known.root)? {
        let row = row?;
        documents += row.documents;
        let advised = is_worse([row.loglik_shift, row.loglik_z])
            || is_worse([row.coverage_shift, row.coverage_z]);
        let sound = row.generation == expected
            && (0..=row.terms).contains(&row.known_terms)
            && (0..=row.tokens).contains(&row.tokens_in_vocabulary)
            && (0..=row.came).contains(&row.documents)
            && row.retrain <= (advised && !row.trained);
        report.expect(sound, || {
            format!("generations: {row:?} is not number {expected}, or has figures out of bounds")
        });
        expected += 1;
    }
    report.expect(documents <= known.totals.documents, || {
        format!("generations: {documents} documents, documents has {}", known.totals.documents)
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_travel_in_parts() {
        let empty = GenerationSums { topics: vec![0; 3], ..GenerationSums::default() };
        let mut sums = GenerationSums {
            fixed: [1, 2, 3, -4, 5, 6, 7],
            topics: vec![7, 0, -9],
            terms: BTreeSet::from([3, 700]),
        };
        let (expected, mut added) = (sums.clone(), empty.clone());
        sums.take(&mut |part| added.add(part));
        assert_eq!((sums, added), (empty, expected));
    }

    #[test]
    fn a_fit_is_worse_if_the_difference_is_large_and_no_chance() {
        assert!(!is_worse([Some(-0.4), Some(-9.0)]));
        assert!(!is_worse([Some(-0.6), Some(-3.0)]));
        assert!(!is_worse([None, None]));
        assert!(is_worse([Some(-0.6), Some(-4.1)]));
    }
}
