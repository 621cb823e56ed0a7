//! The numbers of topics of a sweep.

use super::records::table;

table! {
    /// One row per number of topics of a sweep, and settings: the means over its seeds.
    "sweep_sizes", sorted_by [settings, topics];
    pub(crate) struct SweepSizeRow {
        topics: i32,                           /// The number of topics.
        settings: String,                      /// The keys that other models have other values of, as `section.key=value,…`; empty if there are none.
        models: i32,                           /// The number of its models, one per seed.
        log_likelihood_per_token: Option<f64>, /// Mean over its models, nats.
        seed_error: Option<f64>,               /// The standard error of that mean over seeds; null with one seed.
        difference: Option<f64>,               /// That mean less the largest one, nats: at most 0.
        difference_error: Option<f64>,         /// The standard error of the difference, over documents, which all models score, and over seeds.
        coherence_npmi: Option<f64>,           /// Mean over its models, −1 to 1.
        exclusivity: Option<f64>,              /// Mean over its models, 0 to 1.
        stability: Option<f64>,                /// Mean over its models, 0 to 1; null with one seed.
        live_topics: f64,                      /// Topics that are not dead, duplicates or junk: mean over its models.
        stable_topics: Option<f64>,            /// Topics that a model of another seed has too, the sum of their `stability`: mean over its models; null with one seed.
        recommended: bool,                     /// Whether it is the recommended number.
        acceptable: bool,                      /// Whether it is in the recommended range.
    }
}
