//! The topics of the models of a sweep, compared with those of the others.

use super::records::table;

table! {
    /// One row per topic of each model of a sweep and other model of the same settings.
    "sweep_matches", sorted_by [settings, topics, seed, topic, other_topics, other_seed];
    pub(crate) struct SweepMatchRow {
        topics: i32,                   /// The number of topics of its model.
        seed: i64,                     /// The seed of its model.
        settings: String,              /// The settings of both models.
        topic: i32,                    /// The topic, from 0.
        other_topics: i32,             /// The number of topics of the other model.
        other_seed: i64,               /// The seed of the other model.
        nearest: i32,                  /// The topic of the other model that is nearest to it.
        distance: f64,                 /// Their Hellinger distance, 0 to 1.
        shared_terms: i32,             /// How many of their first ten top terms are the same.
        partner: Option<i32>,          /// Its partner in the other model, which is the same topic: within 0.5, matched one to one; null if it has none.
        partner_distance: Option<f64>, /// The distance to it.
    }
}
