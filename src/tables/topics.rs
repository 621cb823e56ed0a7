//! Table `topics`: one row per topic, with its size, its words and its quality.

super::schema::row! {
    table: "topics",
    sorted_by: &["topic"],
    looked_up_by: &[];
    /// A row of `topics`. Figures that cannot be computed (a dead topic has no coherence, and
    /// without a projection no topic has documents) are `None`, never NaN.
    pub struct TopicRow<'a> {
        /// The topic, from 0.
        pub topic: i32,
        /// α_k, its parameter in the documents' Dirichlet prior.
        pub alpha: f64,
        /// Probability in the topic of each term that has no row in `topic_terms`.
        pub absent_weight: f64,
        /// Tokens of the collection assigned to the topic, rounded.
        pub tokens: i64,
        /// The topic's share of all assigned tokens, 0 to 1.
        pub share: f64,
        /// The most probable terms, the first one first.
        pub top_terms: &'a [String],
        /// UMass coherence of the top terms (Mimno 2011), nats; nearer to 0 is better.
        pub coherence_umass: Option<f64>,
        /// Normalised pointwise mutual information of the top terms, −1 to 1.
        pub coherence_npmi: Option<f64>,
        /// Entropy of the term distribution, nats.
        pub entropy: Option<f64>,
        /// How much of the top terms' probability is this topic's alone, 0 to 1.
        pub exclusivity: Option<f64>,
        /// Effective number of terms, 1 / Σ_w φ_kw².
        pub effective_terms: Option<f64>,
        /// Entropy of the topic's spread over documents, nats.
        pub document_entropy: Option<f64>,
        /// Documents whose largest proportion is this topic's.
        pub rank1_documents: Option<i64>,
        /// True when (almost) no token is left in the topic.
        pub dead: bool,
        /// The first earlier topic that it repeats, if there is one.
        pub duplicate_of: Option<i32>,
        /// True when it has tokens, but is nearly the corpus's or the uniform distribution.
        pub junk: bool,
        /// Kullback–Leibler divergence of its term distribution from the collection's, nats.
        pub corpus_distance: Option<f64>,
        /// Kullback–Leibler divergence of its term distribution from the uniform one, nats.
        pub uniform_distance: Option<f64>,
        /// Mean length of its top terms, characters.
        pub word_length: Option<f64>,
        /// Jensen–Shannon divergence between its top terms' shares of tokens and of documents, nats.
        pub token_document_difference: Option<f64>,
        /// Of the documents that hold the topic, the share in which it is the largest.
        pub rank1_share: Option<f64>,
        /// Documents of which it has at least half, over those of which it has at least 2 %.
        pub allocation_ratio: Option<f64>,
        /// Of the documents that hold the topic, the share of which it has at least 30 %.
        pub allocation_count: Option<f64>,
    }
}
