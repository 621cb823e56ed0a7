//! The phrases of a collection.

use super::records::table;
use corpus::phrases::Phrase;

table! {
    /// The detected phrases, if the job detects any.
    "phrases", sorted_by [phrase, first];
    pub(crate) struct PhraseRow {
        phrase: String, /// The term that replaces the two tokens.
        first: String,  /// The first token, a word or a phrase of the pass before.
        second: String, /// The token that follows it.
        pass: i32,       /// The pass that found it, from 1.
        count: i64,      /// How often the two follow each other in the text of that pass.
        score: f64,      /// Their normalised pointwise mutual information there.
    }
}

impl PhraseRow {
    /// Returns all rows.
    pub(crate) fn all(phrases: &[Phrase]) -> Vec<Self> {
        let rows = phrases.iter().map(|phrase| Self {
            phrase: phrase.name(),
            first: phrase.first.clone(),
            second: phrase.second.clone(),
            pass: phrase.pass as i32,
            count: phrase.count as i64,
            score: phrase.score,
        });
        let mut rows: Vec<Self> = rows.collect();
        rows.sort_unstable_by(|a, b| (&a.phrase, &a.first).cmp(&(&b.phrase, &b.first)));
        rows
    }
}
