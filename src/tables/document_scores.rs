//! Table `document_scores`: the score of each document in an evaluation, by method.

super::schema::row! {
    table: "document_scores",
    sorted_by: &["doc_id"],
    looked_up_by: &[];
    /// A row of `document_scores`.
    pub(crate) struct DocumentScoreRow<'a> {
        /// Number of the document, from 0, in the input's order.
        pub(crate) doc_id: i64,
        /// How it was scored (`document_completion`, `left_to_right`).
        pub(crate) method: &'a str,
        /// Log-likelihood of its scored tokens, in nats.
        pub(crate) log_likelihood: f64,
        /// Tokens scored.
        pub(crate) tokens: i64,
    }
}
