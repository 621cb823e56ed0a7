//! The topics of the models of a sweep.

use super::records::table;

table! {
    /// One row per topic of each model of a sweep.
    "sweep_topics", sorted_by [settings, topics, seed, topic];
    pub(crate) struct SweepTopicRow {
        topics: i32,                 /// The number of topics of its model.
        seed: i64,                   /// The seed of its model.
        settings: String,            /// The settings of its model.
        topic: i32,                  /// The topic, from 0.
        share: f64,                  /// Its share of the sample's tokens, 0 to 1.
        top_terms: Vec<String>,      /// The most probable terms, best first.
        coherence_npmi: Option<f64>, /// NPMI coherence of its top terms, −1 to 1.
        exclusivity: Option<f64>,    /// How much of its top terms' probability is its alone, 0 to 1.
        stability: Option<f64>,      /// Share of the other seeds' models of this size and settings in which it has a partner that is the same topic; null with one seed.
    }
}
