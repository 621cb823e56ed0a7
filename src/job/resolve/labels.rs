//! Settings that follow from documents' labels.

use toml::Value;

use super::Values;
use crate::failure::Failure;
use crate::job::source::Source;
use lda::infer::settings::Method;
use lda::model::settings::LabelPrior;
use lda::train::labels;
use lda::train::settings::LocalMethod;

impl Values {
    /// Whether each label of the documents is a topic.
    pub(super) fn is_labelled(&self) -> bool {
        (self.value("corpus.labels")).is_some_and(|labels| *labels != "".into())
    }

    /// The label column is metadata, the labels set the number of topics, and α is the paper's and is not learnt.
    pub(super) fn settle_labels(&mut self, source: &Source) -> Result<(), Failure> {
        if !self.is_labelled() {
            return Ok(());
        }
        let column: String = self.get("corpus.labels");
        let mut metadata: Vec<String> = self.get("corpus.metadata");
        if !metadata.contains(&column) {
            metadata.push(column);
            self.set("corpus.metadata", metadata);
        }
        source.refuse("model.topics", || {
            "absent: with corpus.labels, each label is a topic".into()
        })?;
        if let Some(Value::Array(_)) = self.value("model.alpha") {
            source.refuse("model.alpha", || {
                "a number above 0, with corpus.labels".into()
            })?;
        }
        if !matches!(
            self.get("train.method"),
            LocalMethod::Sampled | LocalMethod::Cvb0
        ) {
            source.refuse("train.method", || {
                "\"sampled\" or \"cvb0\", with corpus.labels".into()
            })?;
        }
        self.fix(source, "train.alpha_every", 0.into(), "corpus.labels")?;
        if self.value("model.alpha_sum") == Some(&"auto".into()) {
            self.set("model.alpha_sum", labels::ALPHA_SUM);
        }
        if self
            .get::<Option<Method>>("project.method")
            .is_some_and(Method::is_joint)
        {
            source.refuse("project.method", || {
                "one that infers each document alone, with corpus.labels".into()
            })?;
        }
        Ok(())
    }

    /// Only CVB0 uses which labels occur together.
    pub(super) fn settle_label_topics(&mut self, source: &Source) -> Result<(), Failure> {
        if !self.is_labelled() {
            return Ok(());
        }
        let is_uniform = self.get::<LabelPrior>("model.label_prior") == LabelPrior::Uniform;
        let is_cvb0 = self.get::<Option<Method>>("project.method") == Some(Method::Cvb0);
        let is_set = source.get("project.label_topics").is_some();
        if !is_set && (is_uniform || !is_cvb0) {
            self.set("project.label_topics", 0);
        }
        if self.get::<usize>("project.label_topics") > 0 && !is_cvb0 {
            source.refuse("project.label_topics", || {
                "0, unless project.method is \"cvb0\"".into()
            })?;
        }
        Ok(())
    }
}
