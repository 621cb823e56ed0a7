//! The languages of each topic: sums over the documents with each language, where documents have the column `language`.

use std::collections::BTreeMap;

use super::check::{Known, VerifyReport};
use super::records::table;
use super::rollup::{ListedDocument, RollUp, RollUpContext, StartRollUp, Sums, check_rows};
use crate::failure::Failure;
use corpus::labels::split;
use corpus::language;
use lda::math::FIXED_POINT;

/// Maximum number of languages for which there are rows: a column with more contains something else.
const MOST_LANGUAGES: u64 = 1000;

table! {
    /// The languages of each topic. One row per topic and language that a document that lists the topic has.
    "topic_languages", sorted_by [topic, language], checked_by check;
    pub(crate) struct TopicLanguageRow {
        topic: i32,               /// The topic, from 0.
        language: Option<String>, /// The language, as in `documents`; null for the documents without one.
        documents: i64,           /// Documents in it that list the topic.
        tokens: f64,              /// Σ_d θ_dk N_d over these documents d, with θ as listed in `document_topics`.
    }
}

/// Starts the roll-up, if documents have the column.
pub(super) fn roll_up(context: &RollUpContext, start: &mut impl StartRollUp) {
    let names = &context.collection.metadata;
    if let Some(column) = names.iter().position(|name| name == language::COLUMN) {
        start.start(TopicLanguages { column });
    }
}

/// The documents and tokens of topics by language; the name of no language is empty.
struct TopicLanguages {
    /// The place of the column among the metadata columns.
    column: usize,
}

/// The sums of a language, by topic: documents, and tokens in fixed point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LanguageSums(BTreeMap<u64, [i64; 2]>);

impl Sums for LanguageSums {
    type Part = (u64, [i64; 2]);

    fn take(&mut self, send: &mut dyn FnMut((u64, [i64; 2]))) {
        std::mem::take(&mut self.0).into_iter().for_each(send);
    }

    fn add(&mut self, (topic, [documents, tokens]): (u64, [i64; 2])) {
        let sums = self.0.entry(topic).or_default();
        sums[0] += documents;
        sums[1] += tokens;
    }
}

impl RollUp for TopicLanguages {
    type Key = str;
    type Sums = LanguageSums;
    type Whole = ();
    type Line = TopicLanguageRow;
    type Row = TopicLanguageRow;

    const MOST_KEYS: Option<u64> = Some(MOST_LANGUAGES);

    fn empty(&self) -> LanguageSums {
        LanguageSums::default()
    }

    fn whole(&self) {}

    fn add(
        &mut self,
        document: &ListedDocument<'_>,
        (): &mut (),
        each: &mut dyn FnMut(&str, &mut dyn FnMut(&mut LanguageSums)),
    ) {
        let cell = document.read.metadata[self.column].as_deref().unwrap_or("");
        let mut languages = split(cell, "");
        if languages.is_empty() {
            languages.push("".into());
        }
        for language in languages {
            each(&language, &mut |sums| {
                document.masses().for_each(|(topic, tokens)| sums.add((topic, [1, tokens])));
            });
        }
    }

    fn lines(&self, key: String, sums: LanguageSums, (): &(), lines: &mut Vec<TopicLanguageRow>) {
        let language = Some(key).filter(|name| !name.is_empty());
        lines.extend(sums.0.into_iter().map(|(topic, [documents, tokens])| TopicLanguageRow {
            topic: topic as i32,
            language: language.clone(),
            documents,
            tokens: tokens as f64 / FIXED_POINT,
        }));
    }

    fn rows(&self, mut lines: Vec<TopicLanguageRow>, (): &()) -> Vec<TopicLanguageRow> {
        lines.sort_by(|a, b| place(a).cmp(&place(b)));
        lines
    }
}

/// Returns what rows are sorted by: the topic, then the language, null last.
fn place(row: &TopicLanguageRow) -> (i32, bool, &Option<String>) {
    (row.topic, row.language.is_none(), &row.language)
}

fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    check_rows(known, report, |last: Option<&TopicLanguageRow>, row| {
        last.is_none_or(|last| place(last) < place(row))
            && (0..known.topic_count() as i32).contains(&row.topic)
            && (1..=known.totals.documents).contains(&row.documents)
            && (0.0..=known.totals.tokens_in_vocabulary as f64).contains(&row.tokens)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_travel_in_parts() {
        let mut sums = LanguageSums((0..9).map(|topic| (topic, [3, 1 << 40])).collect());
        let (expected, mut added) = (sums.clone(), LanguageSums::default());
        sums.take(&mut |part| added.add(part));
        assert_eq!((sums, added), (LanguageSums::default(), expected));
    }
}
