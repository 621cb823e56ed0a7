//! Table `drift`: how far the documents that were not trained on have moved from those that were,
//! for each group and for the run as a whole.

super::schema::row! {
    table: "drift",
    sorted_by: &["scope", "group_id"],
    looked_up_by: &["group_id"];
    /// A row of `drift`. Figures that cannot be computed are `None`.
    pub(crate) struct DriftRow<'a> {
        /// `group`, or `run` for the last row, which is of all new documents.
        pub(crate) scope: &'a str,
        /// The group, `None` for the run.
        pub(crate) group_id: Option<&'a str>,
        /// New documents with terms of the vocabulary: held out or projected only.
        pub(crate) documents: i64,
        /// Their tokens, stop words left out.
        pub(crate) tokens: i64,
        /// Of these, tokens of kept terms.
        pub(crate) tokens_in_vocabulary: i64,
        /// Of these, tokens of terms that the model knows.
        pub(crate) known_tokens: i64,
        /// Distinct terms in the new documents: of the run all but stop words and `frequent` ones, of a
        /// group kept ones alone.
        pub(crate) terms: i64,
        /// Of these, terms that a training document contains.
        pub(crate) known_terms: i64,
        /// known_terms over terms, 0 to 1.
        pub(crate) known_term_share: Option<f64>,
        /// known_tokens over tokens, 0 to 1.
        pub(crate) known_token_share: Option<f64>,
        /// Jensen–Shannon distance (base 2) of the topics' shares from those in the training sample.
        pub(crate) topic_shift_js: Option<f64>,
        /// Hellinger distance of the same.
        pub(crate) topic_shift_hellinger: Option<f64>,
        /// Log-likelihood per token in the vocabulary given the documents' own proportions, nats.
        pub(crate) loglik_per_token: Option<f64>,
        /// That minus the same of the training sample.
        pub(crate) loglik_shift: Option<f64>,
        /// True when fewer than 70 % of the distinct terms are known: train again.
        pub(crate) retrain: bool,
    }
}
