//! Table `group_topics`: the topics of each volume, summed over its sections.

super::schema::row! {
    table: "group_topics",
    sorted_by: &["group_id", "rank"],
    looked_up_by: &["group_id"];
    /// A row of `group_topics`: one per volume and topic that is listed in a section.
    pub struct GroupTopicRow<'a> {
        /// The volume.
        pub group_id: &'a str,
        /// The topic, from 0.
        pub topic: i32,
        /// Σ_d θ_dk N_d / Σ_d N_d over its sections d, with θ as listed in `document_topics`.
        pub weight: f32,
        /// 1 for the volume's largest weight, the lower topic first among equals.
        pub rank: i32,
        /// Σ_d N_d: tokens in the vocabulary.
        pub tokens: i64,
        /// Sections with such tokens.
        pub documents: i64,
    }
}
