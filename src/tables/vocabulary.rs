//! The terms of a collection.

use std::path::Path;

use super::check::{DocumentTotals, VerifyReport};
use super::records::{records, table};
use crate::failure::Failure;
use corpus::vocabulary::{TermStatus, Vocabulary};

table! {
    /// Every term that ingest has listed, kept or not. The kept ones come first, by number.
    "vocabulary", sorted_by [term_id], looked_up_by [term];
    pub struct VocabularyRow {
        term_id: Option<i32>, /// The term's number, from 0; `None` for terms that were not kept.
        term: String,        /// The term.
        count: i64,           /// Tokens in the collection.
        document_count: i64,  /// Documents that hold the term.
        status: String,      /// `kept`, `stop`, `rare` or `frequent`: why the term was left out, if it was.
    }
}

impl VocabularyRow {
    /// Returns all rows: the kept terms by number, then the others by their bytes.
    pub(crate) fn all(vocabulary: &Vocabulary) -> impl Iterator<Item = Self> {
        let kept = (0..).zip(vocabulary.kept_terms()).map(|(place, term)| (Some(place), term));
        // Terms of documents that were added later follow all others.
        let others = vocabulary.terms()[vocabulary.kept()..].iter();
        let mut others: Vec<_> =
            others.filter(|term| term.status != TermStatus::Removed).collect();
        others.sort_by(|a, b| a.term.cmp(&b.term));
        kept.chain(others.into_iter().map(|term| (None, term))).map(|(place, term)| Self {
            term_id: place,
            term: term.term.clone(),
            count: term.tokens as i64,
            document_count: term.documents as i64,
            status: term.status.name().to_owned(),
        })
    }
}

/// Reads the kept terms, by number.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub fn kept_terms(root: &Path) -> Result<Vec<VocabularyRow>, Failure> {
    records(root)?.only(|row: &VocabularyRow| row.term_id.is_some())
}

/// Checks that kept terms come first and are numbered without gaps; returns their number.
pub(super) fn check(
    root: &Path,
    totals: &DocumentTotals,
    report: &mut VerifyReport,
) -> Result<i32, Failure> {
    let (mut kept, mut tokens, mut others) = (0, 0, false);
    for term in records::<VocabularyRow>(root)? {
        let VocabularyRow { term_id, count, document_count: documents, .. } = term?;
        let possible = 0 <= documents && documents <= count && documents <= totals.documents;
        report.expect(possible, || {
            format!("vocabulary: a term {count} times in {documents} documents")
        });
        let Some(id) = term_id else {
            others = true;
            continue;
        };
        report.expect(id == kept && !others, || {
            format!("vocabulary: term_id {id} where {kept} is expected")
        });
        kept += 1;
        tokens += count;
    }
    let in_documents = totals.tokens_counted;
    let projected = report.rows.contains_key("documents");
    report.expect(tokens == in_documents || !projected, || {
        format!("vocabulary: {tokens} tokens of kept terms, documents have {in_documents}")
    });
    Ok(kept)
}
