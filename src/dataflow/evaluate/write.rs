//! Writes the result of an evaluation: its tables, its job, its manifest.

use super::model::Loaded;
use super::{Evaluation, Made};
use crate::evaluate::measure::TopicScores;
use crate::failure::Failure;
use crate::tables::evaluation::EvaluationRow;
use crate::tables::output::{JOB_FILE, MANIFEST};
use crate::tables::topic_scores::TopicScoreRow;
use crate::tables::{FileMetadata, Manifest};
use corpus::collection::Collection;

impl Evaluation {
    /// Refuses to replace another evaluation without `--overwrite`.
    pub(super) fn refuse_other(&self, model: &Loaded) -> Result<(), Failure> {
        let output = &self.process.output;
        if output.is_complete()? && !self.process.overwrites {
            let manifest = Manifest::read(output.local_root(&[MANIFEST])?)?;
            let ours = self.process.job.evaluate_hash(&model.fingerprint);
            if manifest.settings.get("evaluate") != Some(&ours) {
                return Err(Failure::usage(format!(
                    "{} was made with different settings of evaluate, or for another model; choose another \
                     --output, or restart with --overwrite",
                    output.root().display()
                )));
            }
        }
        Ok(())
    }

    /// Removes the tables of an earlier evaluation.
    pub(super) fn make_room(&self) -> Result<(), Failure> {
        let output = &self.process.output;
        for table in ["evaluation", "topic_scores", "document_scores"] {
            output.clear(table)?;
        }
        Ok(())
    }

    pub(super) fn metadata(&self, collection: &Collection, model: &Loaded) -> FileMetadata {
        let job = &self.process.job;
        FileMetadata {
            job_id: job.id(),
            settings_hash: job.evaluate_hash(&model.fingerprint),
            model_hash: Some(model.fingerprint.clone()),
            seed: job.model.seed,
            topic_count: Some(model.topic_count),
            vocabulary_size: Some(collection.terms_kept as usize),
            ..FileMetadata::default()
        }
    }

    /// Writes the tables, and declares the output complete.
    pub(super) fn finish(
        &self,
        made: &Made,
        collection: &Collection,
        model: &Loaded,
        metadata: &FileMetadata,
    ) -> Result<(), Failure> {
        let (job, output) = (&self.process.job, &self.process.output);
        let rows = made.figures.iter().map(|figure| EvaluationRow {
            metric: figure.metric.to_owned(),
            method: figure.method.clone(),
            split: figure.split.to_owned(),
            unit: figure.unit.to_owned(),
            value: figure.value,
            standard_error: figure.standard_error,
        });
        output.write_table(metadata, rows)?;
        self.write_scores(&made.scores, model.topic_count, metadata)?;
        output.write_atomic(JOB_FILE, job.resolved_toml().as_bytes())?;
        let fingerprint = &collection.input_fingerprint;
        let mut manifest = Manifest::new(&job.id(), job.model.seed, fingerprint);
        manifest.settings = std::collections::BTreeMap::from([
            ("corpus".to_owned(), job.corpus_hash()),
            ("model".to_owned(), model.fingerprint.clone()),
            ("evaluate".to_owned(), metadata.settings_hash.clone()),
        ]);
        manifest.describe(output, &std::collections::BTreeMap::new())?;
        output.complete(&manifest)
    }

    /// Writes the scores of topics, if there are any.
    fn write_scores(
        &self,
        scores: &[TopicScores],
        topics: usize,
        metadata: &FileMetadata,
    ) -> Result<(), Failure> {
        if scores.is_empty() {
            return Ok(());
        }
        let row = |topic| {
            scores.iter().map(move |of_metric| TopicScoreRow {
                topic: topic as i32,
                metric: of_metric.name.to_owned(),
                split: of_metric.split.to_owned(),
                value: of_metric.values[topic],
            })
        };
        let rows = (0..topics).flat_map(row);
        self.process.output.write_table(metadata, rows)?;
        Ok(())
    }
}
