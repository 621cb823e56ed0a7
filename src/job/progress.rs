//! How far a running job is: what a display polls.

/// A running job at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressSnapshot {
    /// What is being done: "ingest", "train", …; empty before the first phase.
    pub phase: &'static str,
    /// How much of it is done, in `unit`s; never falls within a phase.
    pub done: u64,
    /// How much there is to do, when that is known.
    pub total: Option<u64>,
    /// What is counted: "documents", "rounds", …
    pub unit: &'static str,
    /// What else is worth seeing, such as the latest held-out log-likelihood; may be empty.
    pub note: String,
}
