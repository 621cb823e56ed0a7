//! Table `group_topics`: the topics of each volume, summed over its sections.

super::schema::row! {
    table: "group_topics",
    sorted_by: &["group_id", "rank"],
    looked_up_by: &["group_id"];
    /// A row of `group_topics`: one per volume and topic that is listed in a section.
    pub(crate) struct GroupTopicRow<'a> {
        /// The volume.
        pub(crate) group_id: &'a str,
        /// The topic, from 0.
        pub(crate) topic: i32,
        /// Σ_d θ_dk N_d / Σ_d N_d over its sections d, with θ as listed in `document_topics`.
        pub(crate) weight: f32,
        /// 1 for the volume's largest weight, the lower topic first among equals.
        pub(crate) rank: i32,
        /// Σ_d N_d: tokens in the vocabulary.
        pub(crate) tokens: i64,
        /// Sections with such tokens.
        pub(crate) documents: i64,
    }
}
