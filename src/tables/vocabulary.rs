//! Table `vocabulary`: every term that ingest counted, kept or not. The kept ones come first, by
//! their numbers.

super::schema::row! {
    table: "vocabulary",
    sorted_by: &["term_id"],
    looked_up_by: &["term"];
    /// A row of `vocabulary`.
    pub(crate) struct VocabularyRow<'a> {
        /// The term's number, from 0; `None` for terms that were not kept.
        pub(crate) term_id: Option<i32>,
        /// The term.
        pub(crate) term: &'a str,
        /// Tokens in the collection.
        pub(crate) count: i64,
        /// Documents that hold the term.
        pub(crate) document_count: i64,
        /// `kept`, `stop`, `rare` or `frequent`: why the term was left out, if it was.
        pub(crate) status: &'a str,
    }
}
