//! How well an evaluation explains each document.

use super::records::table;

table! {
    /// The score of each document in an evaluation, by method.
    "document_scores", sorted_by [doc_id];
    pub(crate) struct DocumentScoreRow {
        doc_id: i64,         /// Number of the document, from 0, in the input's order.
        method: String,     /// How it was scored (`document_completion`, `left_to_right`).
        log_likelihood: f64, /// Log-likelihood of its scored tokens, in nats.
        tokens: i64,         /// Tokens scored.
    }
}
