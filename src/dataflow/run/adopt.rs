//! The model of another result, for a job that trains none (`model.from`).

use std::path::Path;
use std::sync::Arc;

use super::Run;
use crate::checkpoint::{self, Header};
use crate::dataflow::ingest::read_vocabulary;
use crate::dataflow::record::{TrainingRecord, read_trained, write_training};
use crate::failure::Failure;
use crate::job::state::MODEL_FILE;
use corpus::collection::Collection;
use corpus::vocabulary::TermStatus;
use lda::evaluate::drift::DriftSums;

impl<'a> Run<'a> {
    /// Publishes the model of the result in `folder`, and the record of its training, as this job's.
    pub(super) fn adopt(&self, folder: &Path, collection: &Collection) -> Result<(), Failure> {
        let saved = checkpoint::read(&folder.join(MODEL_FILE))?;
        if saved.header.vocabulary_hash != collection.vocabulary_fingerprint {
            return Err(Failure::data(format!(
                "model.from: model and vocabulary of {} do not belong together",
                folder.display()
            )));
        }
        let record = TrainingRecord::of_result(folder)?;
        write_training(self.process, &record, &[], collection)?;
        let header = Header {
            settings_hash: self.process.job.train_hash(),
            ..saved.header.clone()
        };
        let output = &self.process.output;
        let temporary = output.temporary_path("model");
        checkpoint::write(&temporary, &header, &[&saved.parameters(0, 1)])?;
        output.publish(&temporary, MODEL_FILE)
    }

    /// Returns the sums over the documents that the model was trained on, if these are of another result: all terms
    /// of its collection count as theirs.
    pub(super) fn trained_elsewhere(&self) -> Result<Option<&'a Arc<DriftSums>>, Failure> {
        let trained = self.shared.trained.get(|| {
            let Some(folder) = &self.process.job.model_from else {
                return Ok(None);
            };
            let Some(mut trained) = read_trained(folder)? else {
                return Ok::<_, Failure>(None);
            };
            let vocabulary = read_vocabulary(self.process)?;
            let mut all = DriftSums::new(0, vocabulary.terms().len()).terms;
            let known = (0..).zip(vocabulary.terms());
            let known = known.filter(|(_, term)| term.status != TermStatus::Unknown);
            known.for_each(|(place, _)| all.insert(place));
            trained.terms = all;
            Ok(Some(Arc::new(trained)))
        })?;
        Ok(trained.as_ref())
    }
}
