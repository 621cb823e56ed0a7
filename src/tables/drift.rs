//! Table `drift`: how far the documents that were not trained on have moved from those that were,
//! for each group and for the run as a whole.

super::schema::row! {
    table: "drift",
    sorted_by: &["scope", "group_id"],
    looked_up_by: &["group_id"];
    /// A row of `drift`. Figures that cannot be computed are `None`.
    pub struct DriftRow<'a> {
        /// `group`, or `run` for the last row, which is of all new documents.
        pub scope: &'a str,
        /// The group, `None` for the run.
        pub group_id: Option<&'a str>,
        /// New documents with terms of the vocabulary: held out or projected only.
        pub documents: i64,
        /// Their tokens, stop words left out.
        pub tokens: i64,
        /// Of these, tokens of kept terms.
        pub tokens_in_vocabulary: i64,
        /// Of these, tokens of terms that the model knows.
        pub known_tokens: i64,
        /// Distinct terms in the new documents: of the run all but stop words and `frequent` ones, of a
        /// group kept ones alone.
        pub terms: i64,
        /// Of these, terms that a training document contains.
        pub known_terms: i64,
        /// known_terms over terms, 0 to 1.
        pub known_term_share: Option<f64>,
        /// known_tokens over tokens, 0 to 1.
        pub known_token_share: Option<f64>,
        /// Jensen–Shannon distance (base 2) of the topics' shares from those in the training sample.
        pub topic_shift_js: Option<f64>,
        /// Hellinger distance of the same.
        pub topic_shift_hellinger: Option<f64>,
        /// Log-likelihood per token in the vocabulary given the documents' own proportions, nats.
        pub loglik_per_token: Option<f64>,
        /// That minus the same of the training sample.
        pub loglik_shift: Option<f64>,
        /// True when fewer than 70 % of the distinct terms are known: train again.
        pub retrain: bool,
    }
}
