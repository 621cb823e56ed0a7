//! Table `phrases`: the phrases that were found, where the job looks for any.

super::schema::row! {
    table: "phrases",
    sorted_by: &["phrase", "first"],
    looked_up_by: &[];
    /// A row of `phrases`.
    pub(crate) struct PhraseRow<'a> {
        /// The term that replaces the two tokens.
        pub(crate) phrase: &'a str,
        /// The first token, a word or a phrase of the pass before.
        pub(crate) first: &'a str,
        /// The token that follows it.
        pub(crate) second: &'a str,
        /// The pass that found it, from 1.
        pub(crate) pass: i32,
        /// How often the two follow each other in the text of that pass.
        pub(crate) count: i64,
        /// Their normalised pointwise mutual information there.
        pub(crate) score: f64,
    }
}
