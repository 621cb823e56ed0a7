//! `topic_term_diagnostics` and `drift`: rows in order, shares within their bounds, parts no larger than their
//! whole. An absent table is not checked.

use std::path::Path;

use super::VerifyReport;
use super::ranks::Ranks;
use crate::failure::Failure;
use crate::tables::records::{record, records};
use lda::evaluate::drift::LEAST_KNOWN_SHARE;

/// Tolerance for a sum of f32 probabilities.
const TOLERANCE: f64 = 1e-3;

record! {
    struct TopicTerm {
        topic: i32,
        rank: i32,
        term_id: i32,
        weight: f32,
        cumulative: f64,
        exclusivity: f64,
    }
}

/// Checks `topic_term_diagnostics`: ranks without gaps, kept terms, and `cumulative` equal to the sum of the
/// probabilities.
pub(super) fn verify_terms(
    root: &Path,
    topic_count: usize,
    kept: i32,
    report: &mut VerifyReport,
) -> Result<(), Failure> {
    const TABLE: &str = "topic_term_diagnostics";
    let mut ranks = Ranks::new(TABLE, topic_count);
    let mut sum = 0.0;
    for row in records::<TopicTerm>(root, TABLE)? {
        let row = row?;
        ranks.next(row.topic, row.rank, report);
        let before = if row.rank == 1 { 0.0 } else { sum };
        sum = before + f64::from(row.weight);
        let sound = (0..kept).contains(&row.term_id)
            && (sum - row.cumulative).abs() <= TOLERANCE
            && sum <= 1.0 + TOLERANCE
            && (0.0..=1.0 + TOLERANCE).contains(&row.exclusivity);
        report.expect(sound, || {
            format!(
                "{TABLE}: topic {}, rank {} has term {}, cumulative {}, exclusivity {}",
                row.topic, row.rank, row.term_id, row.cumulative, row.exclusivity,
            )
        });
    }
    Ok(())
}

record! {
    struct Drift {
        scope: String,
        group_id: Option<String>,
        documents: i64,
        tokens: i64,
        tokens_in_vocabulary: i64,
        known_tokens: i64,
        terms: i64,
        known_terms: i64,
        known_term_share: Option<f64>,
        known_token_share: Option<f64>,
        topic_shift_js: Option<f64>,
        topic_shift_hellinger: Option<f64>,
        retrain: bool,
    }
}

/// Checks `drift`: groups ascending and the run last, parts no larger than their whole, shares equal to their
/// quotients, and the advice that follows from them.
pub(super) fn verify_drift(root: &Path, report: &mut VerifyReport) -> Result<(), Failure> {
    let mut last: Option<String> = None;
    let (mut rows, mut runs) = (0, 0);
    for row in records::<Drift>(root, "drift")? {
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

impl Drift {
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
