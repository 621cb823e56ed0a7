//! The phrases of a collection.

use super::schema::table;

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
