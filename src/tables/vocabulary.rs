//! The terms of a collection.

use std::path::Path;

use super::records::{record, records};
use super::records::table;
use super::check::{Totals, VerifyReport};
use crate::failure::Failure;
use corpus::vocabulary::Vocabulary;

table! {
    /// Every term that ingest counted, kept or not. The kept ones come first, by number.
    "vocabulary", sorted_by [term_id], looked_up_by [term];
    pub(crate) struct VocabularyRow<'a> {
        term_id: Option<i32>, /// The term's number, from 0; `None` for terms that were not kept.
        term: &'a str,        /// The term.
        count: i64,           /// Tokens in the collection.
        document_count: i64,  /// Documents that hold the term.
        status: &'a str,      /// `kept`, `stop`, `rare` or `frequent`: why the term was left out, if it was.
    }
}

impl<'a> VocabularyRow<'a> {
    /// Returns all rows.
    pub(crate) fn all(vocabulary: &'a Vocabulary) -> impl Iterator<Item = Self> {
        vocabulary.terms().iter().enumerate().map(|(place, term)| Self {
            term_id: (place < vocabulary.kept()).then_some(place as i32),
            term: &term.term,
            count: term.tokens as i64,
            document_count: term.documents as i64,
            status: term.status.name(),
        })
    }
}

record! {
    struct Term {
        term_id: Option<i32>,
        count: i64,
        document_count: i64,
    }
}

/// Checks that kept terms come first and are numbered without gaps; returns their number.
pub(super) fn check(
    root: &Path,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<i32, Failure> {
    let (mut kept, mut tokens, mut others) = (0, 0, false);
    for term in records::<Term>(root, "vocabulary")? {
        let Term { term_id, count, document_count: documents } = term?;
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
    let in_documents = totals.tokens_in_vocabulary;
    let projected = report.rows.contains_key("documents");
    report.expect(tokens == in_documents || !projected, || {
        format!("vocabulary: {tokens} tokens of kept terms, documents have {in_documents}")
    });
    Ok(kept)
}
