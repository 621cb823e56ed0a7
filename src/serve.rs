//! A stream of documents, projected as they arrive: `topicmill project JOB --stdin`.
//!
//! ```text
//! reader ──batches──▶ workers            flow: lines cut, numbered, a few at a time
//!    └─────order─────────┴─▶ writer      answer: a line to its answer; flow: in the input's order
//! ```
//!
//! Every line that is not blank is a document, numbered from 0, and answered by one line. Random
//! streams are keyed by that number, so that a collection's own lines, in order, get the numbers of
//! its tables, on any number of threads. The batches in flight are bounded for a stream of any length,
//! and a line is answered without waiting for the next one.

pub(crate) mod answer;

pub(crate) mod flow;
mod model;

pub(crate) use flow::{StreamOptions, StreamSummary, run};
pub use model::StreamModel;

use corpus::formats::cutter::Piece;

/// A line that contains a document.
#[derive(Debug)]
pub(crate) struct DocumentLine {
    /// The document's number in the stream, from 0; blank lines have none.
    pub(crate) doc_id: u64,
    /// The number of the line, from 1; blank ones count.
    pub(crate) number: u64,
    /// The line.
    pub(crate) line: Piece,
}
