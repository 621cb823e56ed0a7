//! Table `labels`: the label of each topic, where documents have labels, and how well it is predicted.

super::schema::row! {
    table: "labels",
    sorted_by: &["topic"],
    looked_up_by: &[];
    /// A row of `labels`. The columns from `evaluated` on count the documents that have labels and were not
    /// trained on; they are null where nothing was projected.
    pub(crate) struct LabelRow<'a> {
        /// The topic, from 0.
        pub(crate) topic: i32,
        /// Its label.
        pub(crate) label: &'a str,
        /// Documents of the collection that have it.
        pub(crate) documents: i64,
        /// Of the documents that count, those that have it.
        pub(crate) evaluated: Option<i64>,
        /// Those for which it is predicted.
        pub(crate) predicted: Option<i64>,
        /// Those for which it is predicted rightly.
        pub(crate) hits: Option<i64>,
        /// 2 hits / (predicted + evaluated); null if both are 0.
        pub(crate) f1: Option<f64>,
    }
}
