//! The model of a stream: a finished model and its vocabulary, read back from a result.

use crate::checkpoint::classifier::{self, CLASSIFIER_FILE};
use crate::checkpoint::labels::{self, LABELS_FILE};
use crate::config::Job;
use crate::config::settings::ProjectSettings;
use crate::config::state::MODEL_FILE;
use crate::dataflow::side_model::maxent::is_ours;
use crate::failure::Failure;
use crate::result::OpenedResult;
use crate::tables::output::MADE_AGAIN;
use corpus::draft::Drafter;
use corpus::labels::Label;
use corpus::phrases::Phrase;
use corpus::settings::CorpusSettings;
use corpus::vocabulary::Vocabulary;
use lda::infer::labels::LabelModel;
use lda::infer::maxent::Classifier;
use lda::infer::mean_field::TermTopics;
use lda::infer::settings::InferSettings;
use lda::model::factors::{FactorTable, Factors};

/// A model that many threads can project documents onto, one by one.
#[derive(Debug)]
pub struct StreamModel {
    /// Keys of id, text and metadata; limits.
    pub(crate) corpus: CorpusSettings,
    /// Cuts texts, and joins the phrases of the collection.
    pub(crate) drafter: Drafter,
    /// Which topics and labels are listed.
    pub(crate) project: ProjectSettings,
    /// How they are inferred.
    pub(crate) infer: InferSettings,
    /// The seed of the random streams.
    pub(crate) seed: u64,
    pub(crate) vocabulary: Vocabulary,
    /// The factors of all terms, in the geometry and with the η that φ is published with.
    pub factors: Factors,
    /// The same without small entries, if the method uses those.
    pub topics: TermTopics,
    /// The classifier, if the method starts from one.
    pub(crate) classifier: Option<Classifier>,
    /// The labels that documents are predicted to have, topic by topic; none if topics are not labels.
    pub(crate) labels: Vec<Label>,
    pub(crate) label_model: LabelModel,
}

impl StreamModel {
    /// Reads the model of a result of `job`; nothing is ingested.
    ///
    /// # Errors
    /// There is no finished model, or it belongs to another job; a file cannot be read; the method
    /// infers documents together, or is `none`.
    pub fn load(job: &Job, result: &OpenedResult) -> Result<Self, Failure> {
        let infer = check_method(&job.project)?.clone();
        let path = result.root().join(MODEL_FILE);
        if result.find(MODEL_FILE)?.is_none() {
            return Err(match result.manifest() {
                Ok(_) => {
                    Failure::file(&path, "has been removed from a finished result").help(MADE_AGAIN)
                }
                Err(_) => Failure::data(format!(
                    "{} has no model yet: run `topicmill train` or `topicmill run` first",
                    result.root().display()
                )),
            });
        }
        let (saved, vocabulary) = result.model()?;
        let header = &saved.header;
        if header.settings_hash != job.train_hash() {
            return Err(Failure::usage(format!(
                "{} was made with different settings of corpus, tokens, vocabulary, sample, model or train; pass the \
                 job that it was trained with",
                path.display()
            )));
        }
        let priors = header.published();
        let factors = Factors::prepare(&saved.parameters(0, 1), &priors, |_| true, None);
        let topics = infer.method.term_topics(FactorTable::new(&[&factors]), vocabulary.kept());
        let (phrases, labels) = found_in_collection(job, result)?;
        Ok(Self {
            corpus: job.corpus.clone(),
            drafter: job.drafter(&phrases)?,
            project: job.project.clone(),
            infer,
            seed: job.model.seed,
            vocabulary,
            factors,
            topics,
            classifier: if job.project.needs_classifier() {
                Some(load_classifier(job, result, &saved.hash)?)
            } else {
                None
            },
            label_model: if !labels.is_empty() && job.project.needs_label_model() {
                load_label_model(job, result, &saved.hash, labels.len())?
            } else {
                LabelModel::default()
            },
            labels,
        })
    }
}

/// Returns the phrases and labels found in the collection, if the job looks for any.
fn found_in_collection(
    job: &Job,
    result: &OpenedResult,
) -> Result<(Vec<Phrase>, Vec<Label>), Failure> {
    let may_have_phrases = job.phrases.detection.is_some() || job.model_from.is_some();
    if !may_have_phrases && job.corpus.labels.is_none() {
        return Ok((Vec::new(), Vec::new()));
    }
    let collection = result.collection()?;
    Ok((collection.phrases, collection.labels))
}

/// Reads the classifier beside the model of this hash, if it belongs to the job.
fn load_classifier(
    job: &Job,
    result: &OpenedResult,
    model_hash: &str,
) -> Result<Classifier, Failure> {
    let file = result.find(CLASSIFIER_FILE)?;
    let found = file.map(|file| classifier::read(file.path())).transpose()?;
    let ours = found.filter(|(header, _)| is_ours(header, job, model_hash));
    ours.map(|(_, classifier)| classifier).ok_or_else(|| {
        Failure::usage(format!(
            "{} is missing, or belongs to another model or other [maxent] settings: run `topicmill \
             project` with this project.method first (with --overwrite, which rewrites the tables, \
             if they are from another method), or set another one, as in --set project.method=cvb0",
            result.root().join(CLASSIFIER_FILE).display()
        ))
    })
}

/// Reads the model of `labels` labels beside the topic model of this hash, as far as the job needs it.
fn load_label_model(
    job: &Job,
    result: &OpenedResult,
    model_hash: &str,
    labels: usize,
) -> Result<LabelModel, Failure> {
    let file = result.find(LABELS_FILE)?;
    let found = file.map(|file| labels::read(file.path())).transpose()?;
    let ours = found.filter(|(hash, _)| hash == model_hash);
    let wanted = ours.and_then(|(_, found)| job.project.label_model(found, labels));
    wanted.ok_or_else(|| {
        Failure::usage(format!(
            "{} is missing, or belongs to another model or other settings: run `topicmill project` with this \
             project.label_count and project.label_topics first (with --overwrite, if the tables are from others), \
             or set others, as in --set project.label_count=3 --set project.label_topics=0",
            result.root().join(LABELS_FILE).display()
        ))
    })
}

/// Returns how topics are inferred, if that can be done document by document.
fn check_method(project: &ProjectSettings) -> Result<&InferSettings, Failure> {
    let Some(infer) = &project.infer else {
        return Err(Failure::usage(
            "project.method is \"none\": set another one, as in --set project.method=gibbs",
        ));
    };
    if infer.method.is_joint() {
        return Err(Failure::usage(
            "project.method infers documents together, but a stream delivers them one by one: set \
             another one, as in --set project.method=gibbs",
        ));
    }
    Ok(infer)
}
