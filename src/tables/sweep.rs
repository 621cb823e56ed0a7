//! The models of a sweep.

use super::records::table;

table! {
    /// One row per model of a sweep, with its settings and its quality.
    "sweep", sorted_by [settings, topics, seed];
    pub(crate) struct SweepRow {
        topics: i32,                           /// Its number of topics.
        seed: i64,                             /// Its seed (`model.seed`).
        settings: String,                      /// The keys that other models have other values of, as `section.key=value,…`; empty if there are none.
        log_likelihood_per_token: Option<f64>, /// Of the held-out documents, by document completion, nats.
        standard_error: Option<f64>,           /// Its standard error, over documents.
        coherence_umass: Option<f64>,          /// Mean UMass coherence of the topics, nats.
        coherence_npmi: Option<f64>,           /// Mean NPMI coherence of the topics, −1 to 1.
        coherence_c_v: Option<f64>,            /// Mean C_V coherence of the topics, 0 to 1; null unless `evaluate.metrics` has it.
        exclusivity: Option<f64>,              /// Mean exclusivity of the topics, 0 to 1.
        dead: i32,                             /// Topics with almost no token.
        duplicates: i32,                       /// Topics that repeat another one.
        junk: i32,                             /// Topics that are nearly the whole collection's distribution, or the uniform one.
        stability: Option<f64>,                /// Mean `stability` of its topics; null with one seed.
        draws: i64,                            /// Tokens visited in training, counted at each visit.
        seconds: f64,                          /// Training time in seconds.
    }
}
