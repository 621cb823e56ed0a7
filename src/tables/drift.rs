//! How far new documents have moved from those that a model was trained on.
//!
//! The rows are in one table, which the first worker holds in memory: if a collection has more than [`MOST_GROUPS`]
//! groups, none gets a row. The run's distinct terms are kept and pruned ones; a group's are kept ones only, because a
//! set of all terms for each group would take many times the memory.

use super::check::{Known, VerifyReport};
use super::records::{records, table};
use super::rollup::{Key, ListedDocument, RollUp, Sums, fixed};
use crate::failure::Failure;
use corpus::ShardDocument;
use corpus::sample::Split;
use lda::math::FIXED_POINT;
use lda::evaluate::drift::{DriftSums, LEAST_KNOWN_SHARE, TermSet};

/// Approximate number of documents whose groups are summed together.
const DRIFT_BUCKET: u64 = 1 << 16;
/// Maximum number of groups that have a row each.
const MOST_GROUPS: u64 = 1 << 18;
/// Approximate bytes of a row, on its way to the first worker and in its table.
const ROW_BYTES: u64 = 800;

table! {
    /// How far the documents that were not trained on have moved from those that were, for each group and
    /// for the run as a whole. Figures that cannot be computed are `None`.
    "drift", sorted_by [scope, group_id], looked_up_by [group_id], checked_by check;
    pub(crate) struct DriftRow {
        scope: String,                     /// `group`, or `run` for the last row, which covers all new documents.
        group_id: Option<String>,          /// The group, `None` for the run.
        documents: i64,                     /// New documents with terms of the vocabulary: held out or projected only.
        tokens: i64,                        /// Their tokens, stop words left out.
        tokens_in_vocabulary: i64,          /// Of these, tokens of kept terms.
        known_tokens: i64,                  /// Of these, tokens of terms that the model knows.
        terms: i64,                         /// Distinct terms in new documents: for the run all but stop words and `frequent` ones, for a group only kept ones.
        known_terms: i64,                   /// Of these, terms that a training document contains.
        known_term_share: Option<f64>,      /// known_terms over terms, 0 to 1.
        known_token_share: Option<f64>,     /// known_tokens over tokens, 0 to 1.
        topic_shift_js: Option<f64>,        /// Jensen–Shannon distance (base 2) of the topics' shares from those in the training sample.
        topic_shift_hellinger: Option<f64>, /// Hellinger distance of the same.
        loglik_per_token: Option<f64>,      /// Log-likelihood per token in the vocabulary given the documents' own proportions, nats.
        loglik_shift: Option<f64>,          /// That minus the same of the training sample.
        retrain: bool,                      /// True when fewer than 70 % of the distinct terms are known: train again; for the run, only with the model of another result.
    }
}

impl DriftRow {
    /// Returns the row of these documents, given the sums over those trained on.
    fn new(group_id: Option<String>, sums: &DriftSums, trained: &DriftSums) -> Self {
        let figures = sums.figures(trained, FIXED_POINT);
        Self {
            scope: if group_id.is_some() { "group" } else { "run" }.to_owned(),
            group_id,
            documents: sums.documents,
            tokens: sums.tokens,
            tokens_in_vocabulary: sums.kept_tokens,
            known_tokens: sums.known_tokens,
            terms: figures.terms as i64,
            known_terms: figures.known_terms as i64,
            known_term_share: figures.known_term_share,
            known_token_share: figures.known_token_share,
            topic_shift_js: figures.topic_shift_js,
            topic_shift_hellinger: figures.topic_shift_hellinger,
            loglik_per_token: figures.loglik_per_token,
            loglik_shift: figures.loglik_shift,
            retrain: figures.advises_training(),
        }
    }
}

/// The drift of the new documents, while they are projected.
pub(crate) struct Drift {
    /// The terms with weight above the prior in some topic.
    pub(crate) known: TermSet,
    /// K, the kept terms, and all terms.
    pub(crate) sizes: [usize; 3],
    /// The sums over the documents that the model was trained on, if these are of another result.
    pub(crate) trained: Option<DriftSums>,
}

/// Sums over the documents trained on, and over all others with terms of the vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunSums {
    pub(crate) trained: DriftSums,
    pub(crate) new: DriftSums,
}

impl Drift {
    /// Returns about the bytes that a process of `threads` threads takes for the drift of `groups` groups of `documents`
    /// documents, if `pairs` (group, term) pairs occur: the sums that are not sent yet, a number for each topic and a bit
    /// for each term; for each thread the messages of a bucket, two words for each pair; and the rows.
    pub(crate) fn bytes(
        [groups, documents, pairs]: [u64; 3],
        [topics, terms]: [u64; 2],
        threads: u64,
    ) -> u64 {
        let pending = groups.min(threads * <str as Key>::MOST_PENDING as u64);
        let share = DRIFT_BUCKET as f64 / documents.max(DRIFT_BUCKET) as f64;
        let messages = size_of::<[u64; 2]>() as u64 * (pairs as f64 * share) as u64;
        pending * (8 * topics + terms / 8) + threads * messages + groups.min(MOST_GROUPS) * ROW_BYTES
    }

    /// Returns the row of all new documents. It advises training again only if the model is another result's: a random
    /// sample knows the fewer terms of its own collection the smaller it is.
    pub(crate) fn of_run(&self, whole: &RunSums) -> DriftRow {
        let row = DriftRow::new(None, &whole.new, &whole.trained);
        DriftRow { retrain: self.trained.is_some() && row.retrain, ..row }
    }

    /// Adds one document to some sums, except its pruned terms.
    fn count(&self, listed: &ListedDocument<'_>, sums: &mut DriftSums) {
        let document: &ShardDocument = listed.read;
        let tokens = document.tokens_in_vocabulary() as i64;
        let length = tokens as f64;
        sums.documents += 1;
        sums.tokens += i64::from(document.tokens_total) - i64::from(document.tokens_stopped);
        sums.kept_tokens += tokens;
        sums.likelihood += fixed(listed.loglik_per_token * length);
        for (&term, &tokens) in document.terms.iter().zip(&document.counts) {
            sums.terms.insert(term);
            if self.known.contains(term) {
                sums.known_tokens += i64::from(tokens);
            }
        }
        for &(weight, topic) in listed.topics {
            sums.topics[usize::from(topic)] += fixed(f64::from(weight) * length);
        }
    }
}

impl RollUp for Drift {
    type Key = str;
    type Sums = DriftSums;
    type Whole = RunSums;
    type Line = DriftRow;
    type Row = DriftRow;

    const MOST_KEYS: Option<u64> = Some(MOST_GROUPS);

    fn buckets(&self, documents: u64) -> u64 {
        documents.div_ceil(DRIFT_BUCKET).max(1)
    }

    fn empty(&self) -> DriftSums {
        DriftSums::new(self.sizes[0], self.sizes[1])
    }

    fn whole(&self) -> RunSums {
        let empty = DriftSums::new(self.sizes[0], self.sizes[2]);
        RunSums { trained: empty.clone(), new: empty }
    }

    fn before(&self) -> RunSums {
        let whole = self.whole();
        RunSums { trained: self.trained.clone().unwrap_or(whole.trained), new: whole.new }
    }

    fn add(
        &mut self,
        document: &ListedDocument<'_>,
        whole: &mut RunSums,
        each: &mut dyn FnMut(&str, &mut dyn FnMut(&mut DriftSums)),
    ) {
        // Of a document that repeats one of the sample there is nothing new.
        if document.read.duplicate_of.is_some() {
            return;
        }
        let is_new = document.split != Split::Sample;
        let of_run = if is_new { &mut whole.new } else { &mut whole.trained };
        self.count(document, of_run);
        document.read.pruned.iter().for_each(|&term| of_run.terms.insert(term));
        if let Some(group) = document.read.group.as_ref().filter(|_| is_new) {
            each(group, &mut |sums| self.count(document, sums));
        }
    }

    fn lines(&self, key: String, sums: DriftSums, whole: &RunSums, lines: &mut Vec<DriftRow>) {
        lines.push(DriftRow::new(Some(key), &sums, &whole.trained));
    }

    /// Sorts the groups' rows, and adds that of the run.
    fn rows(&self, mut lines: Vec<DriftRow>, whole: &RunSums) -> Vec<DriftRow> {
        lines.sort_by(|a, b| a.group_id.cmp(&b.group_id));
        lines.push(self.of_run(whole));
        lines
    }
}

/// Returns the sums that do not depend on topics or terms.
fn fixed_sums(sums: &mut DriftSums) -> [&mut i64; 5] {
    [
        &mut sums.documents,
        &mut sums.tokens,
        &mut sums.kept_tokens,
        &mut sums.known_tokens,
        &mut sums.likelihood,
    ]
}

/// A part is a place and a number: of the [`fixed_sums`], then of topics, then of words of terms.
impl Sums for DriftSums {
    type Part = [u64; 2];

    fn take(&mut self, send: &mut dyn FnMut([u64; 2])) {
        let places = fixed_sums(self).len();
        let fixed = fixed_sums(self).map(|sum| std::mem::take(sum) as u64);
        let topics = self.topics.iter_mut().map(|mass| std::mem::take(mass) as u64);
        let mut parts: Vec<u64> = fixed.into_iter().chain(topics).collect();
        parts.extend(self.terms.words());
        self.terms = TermSet::new(64 * (parts.len() - places - self.topics.len()));
        let parts = (0..).zip(parts).filter(|&(_, value)| value != 0);
        parts.for_each(|(place, value)| send([place, value]));
    }

    fn add(&mut self, [place, value]: [u64; 2]) {
        let topics = self.topics.len();
        let fixed = fixed_sums(self);
        let place = place as usize;
        match place.checked_sub(fixed.len()) {
            None => *fixed[place] += value as i64,
            Some(topic) if topic < topics => self.topics[topic] += value as i64,
            Some(place) => self.terms.extend_word(place - topics, value),
        }
    }
}

impl Sums for RunSums {
    type Part = (bool, [u64; 2]);

    fn take(&mut self, send: &mut dyn FnMut((bool, [u64; 2]))) {
        self.trained.take(&mut |part| send((false, part)));
        self.new.take(&mut |part| send((true, part)));
    }

    fn add(&mut self, (is_new, part): (bool, [u64; 2])) {
        if is_new { self.new.add(part) } else { self.trained.add(part) }
    }
}

/// Checks that groups are ascending and the run is last, parts are no larger than their whole, shares equal to their
/// quotients, and the advice that follows from them.
fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let mut last: Option<String> = None;
    let (mut rows, mut runs) = (0, 0);
    for row in records::<DriftRow>(known.root)? {
        let row = row?;
        rows += 1;
        row.verify(report);
        let group = row.group_id;
        let is_run = group.is_none();
        runs += i32::from(is_run);
        let scope = if is_run { "run" } else { "group" };
        let ascends = is_run || last.is_none() || last < group;
        report.expect(ascends && row.scope == scope, || {
            format!("drift: group {group:?} follows {last:?}")
        });
        last = group;
    }
    let ends_with_run = rows == 0 || (runs == 1 && last.is_none());
    report.expect(ends_with_run, || {
        format!("drift: {runs} rows of the run, which is one row and the last")
    });
    Ok(())
}

impl DriftRow {
    fn verify(&self, report: &mut VerifyReport) {
        let (tokens, kept, known) = (self.tokens, self.tokens_in_vocabulary, self.known_tokens);
        let (documents, terms, known_terms) = (self.documents, self.terms, self.known_terms);
        let nested = 0 <= known && known <= kept && kept <= tokens && 0 <= documents;
        report.expect(nested && 0 <= known_terms && known_terms <= terms, || {
            format!(
                "drift: {documents} documents of {tokens} tokens, {kept} in the vocabulary, {known} \
                 known; {terms} terms, {known_terms} known"
            )
        });
        let quotient = |part: i64, whole: i64| (whole > 0).then(|| part as f64 / whole as f64);
        let of_terms = self.known_term_share;
        let agree = of_terms == quotient(known_terms, terms)
            && self.known_token_share == quotient(known, tokens);
        let advised = of_terms.is_some_and(|share| share < LEAST_KNOWN_SHARE);
        // For the run, it also depends on whose documents were trained on.
        let is_run = self.group_id.is_none();
        let follows = self.retrain == advised || (is_run && !self.retrain);
        report.expect(agree && follows, || {
            format!("drift: a known_term_share of {of_terms:?} with {known_terms} of {terms} terms")
        });
        let shifts = [
            ("topic_shift_js", self.topic_shift_js),
            ("topic_shift_hellinger", self.topic_shift_hellinger),
        ];
        for (name, shift) in shifts {
            let within = shift.is_none_or(|shift| (0.0..=1.0).contains(&shift));
            report.expect(within, || format!("drift: {name} is {shift:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_travel_in_parts() {
        let empty = DriftSums::new(3, 700);
        let mut sums = empty.clone();
        for (sum, value) in fixed_sums(&mut sums).into_iter().zip([1, 2, 3, 4, -5]) {
            *sum = value;
        }
        sums.topics.fill(-7);
        (0..700).for_each(|term| sums.terms.insert(term));
        let (expected, mut added) = (sums.clone(), empty);
        sums.take(&mut |part| added.add(part));
        assert!(added == expected && sums.terms.is_empty() && sums.documents == 0);
    }
}
