//! The model of another result, for a job that trains none (`model.from`).

use std::path::Path;
use std::sync::Arc;

use super::Run;
use crate::checkpoint::{self, Header};
use crate::dataflow::ingest::read_vocabulary;
use crate::dataflow::record::{TrainingRecord, read_json, write_trained, write_training};
use crate::failure::Failure;
use crate::job::state::{MODEL_FILE, TRAINED_FILE};
use crate::result::OpenedResult;
use corpus::collection::Collection;
use corpus::vocabulary::TermStatus;
use lda::evaluate::drift::DriftSums;

impl Run<'_> {
    /// Publishes the model of the result in `folder`, and what is known of its training, as this job's. From then on
    /// the job does not need that result.
    pub(super) fn adopt(&self, folder: &Path, collection: &Collection) -> Result<(), Failure> {
        let result = OpenedResult::at(folder);
        let (saved, _) = result.model()?;
        let (job, output) = (&self.process.job, &self.process.output);
        // There are no sums if that job projected nothing.
        let trained = result.json(TRAINED_FILE)?;
        let trained = trained.unwrap_or_else(|| DriftSums::new(saved.header.topic_count, 0));
        let has_changed = saved.header.vocabulary_hash != collection.vocabulary_fingerprint
            || [saved.header.topic_count, trained.topics.len()] != [job.model.topics; 2];
        if has_changed {
            let folder = folder.display();
            return Err(Failure::data(format!(
                "model.from: {folder} is not the result whose terms were ingested, or is damaged"
            ))
            .help("run again with --overwrite"));
        }
        let record = TrainingRecord::of_result(&result)?;
        write_training(self.process, &record, &[], collection)?;
        write_trained(self.process, &trained)?;
        let header = Header { settings_hash: job.train_hash(), ..saved.header.clone() };
        let temporary = output.temporary_path("model");
        checkpoint::write(&temporary, &header, &[&saved.parameters(0, 1)])?;
        job.check_result("model.from")?;
        output.publish(&temporary, MODEL_FILE)
    }

    /// Returns the sums over the documents that the model was trained on, if these are of another result: all terms
    /// of its collection count as theirs.
    pub(super) fn trained_elsewhere(&self) -> Result<Option<Arc<DriftSums>>, Failure> {
        if self.process.job.model_from.is_none() {
            return Ok(None);
        }
        let trained = self.process.shared("trained elsewhere", || {
            let mut trained: DriftSums = read_json(&self.process.output.local(TRAINED_FILE)?)?;
            let vocabulary = read_vocabulary(self.process)?;
            trained.terms = DriftSums::new(0, vocabulary.terms().len()).terms;
            let known = (0..).zip(vocabulary.terms());
            let known = known.filter(|(_, term)| term.status != TermStatus::Unknown);
            known.for_each(|(place, _)| trained.terms.insert(place));
            Ok(trained)
        })?;
        Ok(Some(trained))
    }
}
