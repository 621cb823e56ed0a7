//! The model of a stream: a finished model and its vocabulary, read back from a result.

use std::path::{Path, PathBuf};

use crate::checkpoint;
use crate::checkpoint::classifier::{self, CLASSIFIER_FILE};
use crate::checkpoint::labels::{self, LABELS_FILE};
use crate::dataflow::maxent::is_ours;
use crate::failure::Failure;
use crate::job::Job;
use crate::job::settings::ProjectSettings;
use crate::job::state::MODEL_FILE;
use crate::tables::Manifest;
use crate::tables::output::{JOB_FILE, MADE_AGAIN, View, Wanted, exists};
use corpus::collection::{COLLECTION_FILE, Collection};
use corpus::labels::Label;
use corpus::phrases::Phrase;
use corpus::settings::CorpusSettings;
use corpus::tokenizer::Tokenizer;
use corpus::vocabulary::Vocabulary;
use corpus::vocabulary_file::{self, VOCABULARY_FILE};
use lda::infer::labels::LabelModel;
use lda::infer::maxent::Classifier;
use lda::infer::settings::{InferSettings, Method};
use lda::infer::term_topics::TermTopics;
use lda::model::factors::{FactorTable, Factors};
use store::is_remote;

/// A job, and the result from which its model is taken.
#[derive(Clone, Debug)]
pub struct Source {
    /// The job.
    pub job: Job,
    /// The result's folder or address.
    pub root: PathBuf,
}

impl Source {
    /// Finds the result that `path` names: a job file, or the folder or address of a finished result, which may
    /// have been moved. `overrides` are `section.key=value`.
    ///
    /// # Errors
    /// The job cannot be read or is wrong; the folder contains none.
    pub fn find(path: &Path, overrides: &[String]) -> Result<Self, Failure> {
        if !is_remote(path) {
            let job = Job::load(path, overrides)?;
            let root = job.output.path.clone();
            return Ok(Self { job, root });
        }
        let file = path.join(JOB_FILE);
        if !exists(&file)? {
            return Err(Failure::usage(format!(
                "{}: no job.toml, so this is not a finished result; pass the job file, or finish the run",
                path.display()
            )));
        }
        let view = View::open(&file, Wanted::All)?;
        let job = Job::load(view.path(), overrides)?;
        let root = path.to_owned();
        Ok(Self { job, root })
    }
}

/// A model that many threads can project documents onto, one by one.
#[derive(Debug)]
pub struct StreamModel {
    /// Keys of id, text and metadata; limits.
    pub(crate) corpus: CorpusSettings,
    /// Cuts texts, and joins the phrases of the collection.
    pub(crate) tokenizer: Tokenizer,
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
    /// Reads the model and the vocabulary of a result; nothing is ingested.
    ///
    /// # Errors
    /// There is no finished model, or it belongs to another job; a file cannot be read; the method
    /// infers documents together, or is `none`.
    pub fn load(source: &Source) -> Result<Self, Failure> {
        let Source { job, root } = source;
        let infer = check_method(&job.project)?.clone();
        let path = root.join(MODEL_FILE);
        if !exists(&path)? {
            let root = root.display();
            return Err(match Manifest::read(&source.root) {
                Ok(_) => {
                    Failure::file(&path, "has been removed from a finished result").help(MADE_AGAIN)
                }
                Err(_) => Failure::data(format!(
                    "{root} has no model yet: run `topicmill train` or `topicmill run` first"
                )),
            });
        }
        let saved = checkpoint::read(View::open(&path, Wanted::All)?.path())?;
        let file = View::require(&root.join(VOCABULARY_FILE))?;
        let vocabulary = vocabulary_file::read(file.path())?;
        let header = &saved.header;
        if header.settings_hash != job.train_hash() {
            let what = "corpus, tokens, vocabulary, sample, model or train";
            return Err(other_settings(&path, what));
        }
        if header.vocabulary_hash != vocabulary.fingerprint() {
            let what = "the vocabulary stored with it";
            return Err(other_settings(&path, what));
        }
        let priors = header.published();
        let factors = Factors::prepare(&saved.parameters(0, 1), &priors, |_| true, None);
        let topics = match infer.method {
            Method::Cvb0 => TermTopics::new(FactorTable::new(&[&factors]), vocabulary.kept()),
            _ => TermTopics::default(),
        };
        let (phrases, labels) = found_in_collection(source)?;
        Ok(Self {
            corpus: job.corpus.clone(),
            tokenizer: job.tokenizer(&phrases)?,
            project: job.project.clone(),
            infer,
            seed: job.model.seed,
            vocabulary,
            factors,
            topics,
            classifier: match job.project.needs_classifier() {
                true => Some(load_classifier(source, &saved.hash)?),
                false => None,
            },
            label_model: match !labels.is_empty() && job.project.needs_label_model() {
                true => load_label_model(source, &saved.hash, labels.len())?,
                false => LabelModel::default(),
            },
            labels,
        })
    }
}

/// Returns the phrases and labels found in the collection, if the job looks for any.
fn found_in_collection(source: &Source) -> Result<(Vec<Phrase>, Vec<Label>), Failure> {
    let Source { job, root } = source;
    let may_have_phrases = job.phrases.detection.is_some() || job.model_from.is_some();
    if !may_have_phrases && job.corpus.labels.is_none() {
        return Ok((Vec::new(), Vec::new()));
    }
    let file = View::require(&root.join(COLLECTION_FILE))?;
    let collection = Collection::read_file(file.path())?;
    Ok((collection.phrases, collection.labels))
}

/// Reads the classifier beside the model of this hash, if it belongs to the job.
fn load_classifier(source: &Source, model_hash: &str) -> Result<Classifier, Failure> {
    let path = source.root.join(CLASSIFIER_FILE);
    let found = match exists(&path)? {
        true => Some(classifier::read(View::open(&path, Wanted::All)?.path())?),
        false => None,
    };
    let ours = found.filter(|(header, _)| is_ours(header, &source.job, model_hash));
    ours.map(|(_, classifier)| classifier).ok_or_else(|| {
        Failure::usage(format!(
            "{} is missing, or belongs to another model or other [maxent] settings: run `topicmill \
             project` with this project.method first (with --overwrite, which rewrites the tables, \
             if they are from another method), or set another one, as in --set project.method=cvb0",
            path.display()
        ))
    })
}

/// Reads the model of `labels` labels beside the topic model of this hash, as far as the job needs it.
fn load_label_model(
    source: &Source,
    model_hash: &str,
    labels: usize,
) -> Result<LabelModel, Failure> {
    let path = source.root.join(LABELS_FILE);
    let found = match exists(&path)? {
        true => Some(labels::read(View::open(&path, Wanted::All)?.path())?),
        false => None,
    };
    let ours = found.filter(|(hash, _)| hash == model_hash);
    let wanted = ours.and_then(|(_, found)| source.job.project.label_model(found, labels));
    wanted.ok_or_else(|| {
        Failure::usage(format!(
            "{} is missing, or belongs to another model or other settings: run `topicmill project` with this \
             project.label_count and project.label_topics first (with --overwrite, if the tables are from others), \
             or set others, as in --set project.label_count=3 --set project.label_topics=0",
            path.display()
        ))
    })
}

/// The model belongs to another job or vocabulary.
fn other_settings(path: &Path, what: &str) -> Failure {
    Failure::usage(format!(
        "{} was made with different settings of {what}; pass the job that it was trained with",
        path.display()
    ))
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
