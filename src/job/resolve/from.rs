//! Settings that follow from the use of another result's terms or model.

use super::Values;
use crate::failure::Failure;
use crate::job::inherit::is_of_training;
use crate::job::source::Source;
use lda::infer::settings::Method;

/// The keys that choose terms by their frequency.
const BY_FREQUENCY: [&str; 4] = [
    "vocabulary.stop_top",
    "vocabulary.min_documents",
    "vocabulary.max_share",
    "vocabulary.max_terms",
];

impl Values {
    /// Whether the model is that of another result.
    pub(in crate::job) fn is_trained_elsewhere(&self) -> bool {
        self.names_result("model.from")
    }

    fn names_result(&self, path: &str) -> bool {
        self.value(path).is_some_and(|folder| *folder != "".into())
    }

    /// Terms that are given are not chosen; a model that is not trained has no training documents.
    pub(super) fn settle_from(&mut self, source: &Source) -> Result<(), Failure> {
        if self.names_result("vocabulary.from") {
            for path in BY_FREQUENCY {
                source.refuse(path, || {
                    "absent: it has no effect with vocabulary.from".into()
                })?;
                self.0.remove(path);
            }
        }
        if !self.is_trained_elsewhere() {
            return Ok(());
        }
        if self.is_labelled() {
            source.refuse("corpus.labels", || "absent, with model.from".into())?;
        }
        let method: Option<Method> = self.get("project.method");
        if method.is_some_and(|method| method.is_joint() || method.needs_classifier()) {
            source.refuse("project.method", || {
                "one that needs no training documents, with model.from".into()
            })?;
        }
        Ok(())
    }

    /// Forgets the settings of a training that does not take place.
    pub(super) fn forget_training(&mut self) {
        if self.is_trained_elsewhere() {
            self.0.retain(|path, _| !is_of_training(path));
        }
    }
}
