//! The phrases of a collection.

use super::records::table;
use corpus::phrases::Phrase;

table! {
    /// The detected phrases, if the job detects any.
    "phrases", sorted_by [phrase, first];
    pub(crate) struct PhraseRow<'a> {
        phrase: &'a str, /// The term that replaces the two tokens.
        first: &'a str,  /// The first token, a word or a phrase of the pass before.
        second: &'a str, /// The token that follows it.
        pass: i32,       /// The pass that found it, from 1.
        count: i64,      /// How often the two follow each other in the text of that pass.
        score: f64,      /// Their normalised pointwise mutual information there.
    }
}

impl<'a> PhraseRow<'a> {
    /// Returns phrases with their names, in the order of the table.
    pub(crate) fn named(phrases: &[Phrase]) -> Vec<(String, &Phrase)> {
        let mut named: Vec<_> = phrases.iter().map(|phrase| (phrase.name(), phrase)).collect();
        named.sort_unstable_by(|(a, of_a), (b, of_b)| (a, &of_a.first).cmp(&(b, &of_b.first)));
        named
    }

    /// Returns all rows.
    pub(crate) fn all(named: &'a [(String, &'a Phrase)]) -> impl Iterator<Item = Self> {
        named.iter().map(|(name, phrase)| Self {
            phrase: name,
            first: &phrase.first,
            second: &phrase.second,
            pass: phrase.pass as i32,
            count: phrase.count as i64,
            score: phrase.score,
        })
    }
}
