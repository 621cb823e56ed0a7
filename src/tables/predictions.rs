//! Table `predictions`: the labels of each document, where documents have labels. One row per document and
//! label that is predicted, or that it has.

super::schema::row! {
    table: "predictions",
    sorted_by: &["doc_id", "rank"],
    looked_up_by: &[];
    /// A row of `predictions`.
    pub(crate) struct PredictionRow<'a> {
        /// The document.
        pub(crate) doc_id: i64,
        /// 1 for the label with the largest weight in the document, of all labels.
        pub(crate) rank: i32,
        /// The label's topic, from 0.
        pub(crate) topic: i32,
        /// The label.
        pub(crate) label: &'a str,
        /// The share of the document's tokens that it is expected to have, 0 to 1: its proportion without the
        /// prior's part.
        pub(crate) weight: f32,
        /// Whether it is predicted.
        pub(crate) predicted: bool,
        /// Whether the document has it; null where the document has no label.
        pub(crate) actual: Option<bool>,
    }
}
