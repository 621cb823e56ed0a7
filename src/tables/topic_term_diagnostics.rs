//! Table `topic_term_diagnostics`: each topic's top terms with MALLET's figures for every word of a
//! topic, which show the terms that do not belong.

super::schema::row! {
    table: "topic_term_diagnostics",
    sorted_by: &["topic", "rank"],
    looked_up_by: &["term"];
    /// A row of `topic_term_diagnostics`. What is counted on the training sample exists for the
    /// first 20 ranks.
    pub(crate) struct TopicTermDiagnosticsRow<'a> {
        /// The topic, from 0.
        pub(crate) topic: i32,
        /// 1 for the topic's most probable term.
        pub(crate) rank: i32,
        /// The term's number, from 0.
        pub(crate) term_id: i32,
        /// The term.
        pub(crate) term: &'a str,
        /// Its expected tokens in the topic, without smoothing, scaled to the sample.
        pub(crate) count: f64,
        /// Its probability in the topic, smoothing included.
        pub(crate) weight: f32,
        /// The probability of this term and those before it.
        pub(crate) cumulative: f64,
        /// Training documents that hold it.
        pub(crate) documents: Option<i64>,
        /// Its length in characters.
        pub(crate) word_length: i32,
        /// The least of its parts in the topic's UMass coherence, or 0: how badly it goes with the
        /// terms before it, nats.
        pub(crate) coherence: Option<f64>,
        /// Its part in the topic's distance from the uniform distribution, nats.
        pub(crate) uniform_distance: f64,
        /// Its part in the topic's distance from the corpus, nats.
        pub(crate) corpus_distance: Option<f64>,
        /// Its part in the topic's `token_document_difference`, nats.
        pub(crate) token_document_difference: Option<f64>,
        /// The share of its probability over all topics that is this topic's, 0 to 1.
        pub(crate) exclusivity: f64,
    }
}
