//! The Parquet key-value metadata of every part, so that a file outside its folder still identifies its job,
//! settings and model.

use parquet::file::metadata::KeyValue;

use super::SCHEMA_VERSION;

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit from which it was built, or that this is unknown (`build.rs`).
pub(crate) const COMMIT: &str = env!("TOPICMILL_COMMIT");

/// The origin of a part. Written as `topicmill.<field>`; fields that are `None` are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileMetadata {
    pub(crate) job_id: String,
    /// Hash of the settings that the table depends on, in hexadecimal.
    pub(crate) settings_hash: String,
    /// Hash of the model, in hexadecimal, for tables that depend on one.
    pub(crate) model_hash: Option<String>,
    pub(crate) seed: u64,
    /// How proportions were estimated (`soft`, `counts`).
    pub(crate) estimator: Option<String>,
    /// The proportion below which topics were left out.
    pub(crate) threshold: Option<f64>,
    /// K, the number of topics.
    pub(crate) topic_count: Option<usize>,
    /// V, the number of terms kept.
    pub(crate) vocabulary_size: Option<usize>,
}

impl FileMetadata {
    /// Returns the pairs for a part of `table`.
    pub(super) fn key_values(&self, table: &str) -> Vec<KeyValue> {
        let fields = [
            ("table", Some(table.to_owned())),
            ("schema_version", Some(SCHEMA_VERSION.to_string())),
            ("version", Some(VERSION.to_owned())),
            ("commit", Some(COMMIT.to_owned())),
            ("job_id", Some(self.job_id.clone())),
            ("settings_hash", Some(self.settings_hash.clone())),
            ("model_hash", self.model_hash.clone()),
            ("seed", Some(self.seed.to_string())),
            ("estimator", self.estimator.clone()),
            ("threshold", self.threshold.map(|t| t.to_string())),
            ("topic_count", self.topic_count.map(|k| k.to_string())),
            ("vocabulary_size", self.vocabulary_size.map(|v| v.to_string())),
        ];
        let present = fields.into_iter().filter_map(|(key, value)| {
            value.map(|value| KeyValue::new(format!("topicmill.{key}"), value))
        });
        present.collect()
    }
}
