//! Table `evaluation`: every figure of quality with its method, its unit and its documents, so that
//! only comparable figures are compared.

super::schema::row! {
    table: "evaluation",
    sorted_by: &[],
    looked_up_by: &[];
    /// A row of `evaluation`.
    pub(crate) struct EvaluationRow<'a> {
        /// The metric (`heldout_loglik_per_token`, `coherence_npmi`, …).
        pub(crate) metric: &'a str,
        /// How (`document_completion`, …), with what the figure depends on.
        pub(crate) method: &'a str,
        /// On which documents (`held_out`, `sample`, `all`).
        pub(crate) split: &'a str,
        /// In which unit (`nats/token`, …).
        pub(crate) unit: &'a str,
        /// The figure.
        pub(crate) value: f64,
        /// Its standard error, where one can be given.
        pub(crate) standard_error: Option<f64>,
    }
}
