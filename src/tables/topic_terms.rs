//! Table `topic_terms`: the terms of each topic, the sparse φ. A term of the vocabulary without a
//! row has the probability `topics.absent_weight`, so that φ can be rebuilt in full.

super::schema::row! {
    table: "topic_terms",
    sorted_by: &["topic", "rank"],
    looked_up_by: &["term"];
    /// A row of `topic_terms`.
    pub(crate) struct TopicTermRow<'a> {
        /// The topic, from 0.
        pub(crate) topic: i32,
        /// The term's number, from 0.
        pub(crate) term_id: i32,
        /// The term.
        pub(crate) term: &'a str,
        /// Its probability in the topic, smoothing included.
        pub(crate) weight: f32,
        /// Its expected tokens in the topic, without smoothing (λ̃_kw), scaled to the sample.
        pub(crate) count: f64,
        /// 1 for the topic's most probable term, and on without gaps.
        pub(crate) rank: i32,
    }
}
