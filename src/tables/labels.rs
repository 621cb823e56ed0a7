//! The labels of documents, and how well they are predicted.

use super::records::table;

table! {
    /// The label of each topic, if documents have labels, and how well it is predicted. The columns from `evaluated`
    /// on count the documents that have labels and were not trained on; they are null if nothing was projected.
    "labels", sorted_by [topic];
    pub(crate) struct LabelRow<'a> {
        topic: i32,             /// The topic, from 0.
        label: &'a str,         /// Its label.
        documents: i64,         /// Documents with terms that have it.
        evaluated: Option<i64>, /// Of the counted documents, those that have it.
        predicted: Option<i64>, /// Those for which it is predicted.
        hits: Option<i64>,      /// Those for which it is predicted correctly.
        f1: Option<f64>,        /// 2 hits / (predicted + evaluated); null if both are 0.
    }
}
