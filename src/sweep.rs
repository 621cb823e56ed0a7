//! A sweep: models of several numbers of topics, each with several seeds, and perhaps settings, of one collection.
//!
//! ```text
//! OUT/corpus/  ──links──▶  OUT/models/100-2/corpus/  ──train──▶  OUT/models/100-2/  ──evaluate──▶  OUT/models/100-2-evaluation/
//!                                                        └────────────── measure ──────────────┘──▶  OUT/sweep/ …
//! ```
//!
//! Each model is an ordinary result without projected documents, made by a process of its own in its own folder, whose
//! collection is links to the sweep's; all have the sample and the held-out documents of the sweep's job
//! (`sample.seed`). `measure` reads the tables of all models, and makes those of the sweep.

mod advice;
mod measure;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::config::state::MODEL_FILE;
use crate::config::{Job, Template, VariedKey};
use crate::failure::Failure;
use crate::report::sweep_page;
use crate::tables::output::{MANIFEST, MODELS, Output, SWEEP_PAGE};
use crate::tables::records::{records, rows};
use crate::tables::sweep::SweepRow;
use crate::tables::sweep_topics::SweepTopicRow;
use crate::tables::topic_stability::TopicStabilityRow;
use crate::tables::training_log::TrainingLogRow;
use crate::tables::views::views_sql;
use crate::tables::{FileMetadata, Manifest, Row};
pub(crate) use advice::advice;
use corpus::collection::{COLLECTION_FILE, Collection, SHARDS_FOLDER};
use corpus::input::identify;
use corpus::vocabulary_file::VOCABULARY_FILE;
pub(crate) use measure::Measured;
use store::{Disk, Store, create_folder, link};

/// Maximum bytes of the folder of a model, with the one above it.
const MOST_BYTES: usize = 250;

/// A model of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SweptModel {
    /// Its number of topics.
    pub(crate) topics: u32,
    /// The keys that others of the sweep have other values of, as `section.key=value,…`; empty if there are none.
    pub(crate) settings: String,
    /// `model.seed`.
    pub(crate) seed: u64,
}

impl fmt::Display for SweptModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topics, self.seed)?;
        if self.settings.is_empty() { Ok(()) } else { write!(f, "/{}", self.settings) }
    }
}

impl SweptModel {
    /// Whether it has a name such as `100/2/train.passes=20`, of which all after the first part may be left out.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let mut parts = name.split('/');
        let is_size = parts.next().is_some_and(|part| part.parse() == Ok(self.topics));
        let has = |key| self.settings.split(',').any(|own| is_same(own, key));
        is_size && parts.all(|part| part.parse() == Ok(self.seed) || part.split(',').all(has))
    }

    /// Returns its name in those of files.
    pub(crate) fn file_name(&self) -> String {
        self.to_string().replace('/', "-")
    }

    /// Returns its folder in that of the sweep.
    pub(crate) fn folder(&self, sweep: &Path) -> PathBuf {
        sweep.join(MODELS).join(self.file_name())
    }

    /// Returns the folder of its evaluation.
    pub(crate) fn evaluation(&self, sweep: &Path) -> PathBuf {
        let mut folder = self.folder(sweep).into_os_string();
        folder.push("-evaluation");
        folder.into()
    }

    /// Returns the keys in which its job differs from that of the sweep, except the output, as `section.key=value`.
    fn keys(&self, job: &Job) -> Vec<String> {
        let own = [
            format!("model.topics={}", self.topics),
            format!("model.seed={}", self.seed),
            format!("sample.seed={}", job.sample_seed()),
        ];
        let settings = self.settings.split(',').filter(|key| !key.is_empty()).map(str::to_owned);
        own.into_iter().chain(settings).collect()
    }

    /// Returns the job of its result, but for the output.
    ///
    /// # Errors
    /// A key of its settings does not exist.
    pub(crate) fn template(&self, job: &Job) -> Result<Template, Failure> {
        let mut template = Template::of(job);
        for key in self.keys(job) {
            template.set_text(&key)?;
        }
        Ok(template)
    }

    /// Returns its job.
    ///
    /// # Errors
    /// The keys are not those of a job.
    fn job(&self, job: &Job) -> Result<Job, Failure> {
        self.template(job)?.job(&job.path)
    }

    /// Whether a model that is compared with it for its stability has its settings and number of topics.
    fn is_alike(&self, other: &Self) -> bool {
        (self.topics, &self.settings) == (other.topics, &other.settings)
    }

    /// Returns the keys of the job that trains it, and projects nothing.
    pub(crate) fn training_keys(&self, job: &Job, sweep: &Path) -> Vec<String> {
        let folder = toml::Value::from(&*self.folder(sweep).to_string_lossy());
        let others = [
            "project.method=none".to_owned(),
            "output.report=false".to_owned(),
            format!("output.path={folder}"),
        ];
        self.keys(job).into_iter().chain(others).collect()
    }

    /// Fills the folder of the model with links to the sweep's collection.
    ///
    /// # Errors
    /// The folder is another's; a file cannot be linked.
    pub(crate) fn begin(&self, sweep: &Path) -> Result<(), Failure> {
        let folder = self.folder(sweep);
        let output = Output::lead(&*folder)?;
        link_collection(&output, sweep)
    }
}

/// Whether two keys with values, `section.key=value`, are the same; numbers may be written in several ways.
fn is_same(one: &str, other: &str) -> bool {
    let number = |text: &str| {
        Some((text.split_once('=')?.0.to_owned(), text.split_once('=')?.1.parse::<f64>().ok()?))
    };
    one == other || number(one).is_some_and(|it| Some(it) == number(other))
}

/// Links the collection of a sweep into the folder of another output, unless that has one.
///
/// # Errors
/// A file cannot be linked; the collection cannot be read.
pub(crate) fn link_collection(output: &Output, sweep: &Path) -> Result<(), Failure> {
    if output.is_published(COLLECTION_FILE)? {
        return Ok(());
    }
    let shards = Collection::read(sweep)?.shards.len();
    create_folder(&output.path(SHARDS_FOLDER)).map_err(Failure::io(output.root()))?;
    let mut files: Vec<String> = (0..shards).map(Collection::shard_name).collect();
    // The last one says that the others are there.
    files.extend([VOCABULARY_FILE, COLLECTION_FILE].map(str::to_owned));
    link_files(output, sweep, files)
}

/// Links the files of a model, and the record of its rounds, into the folder of another output of the same collection.
///
/// # Errors
/// A file cannot be linked.
pub(crate) fn link_model(output: &Output, model: &Path) -> Result<(), Failure> {
    for folder in ["model", TrainingLogRow::SPEC.name] {
        let names = Disk.names(&model.join(folder))?;
        create_folder(&output.path(folder)).map_err(Failure::io(output.root()))?;
        link_files(output, model, names.into_iter().map(|name| format!("{folder}/{name}")))?;
    }
    Ok(())
}

/// Writes which topics of a model other seeds of the sweep have, unless there are none, into the folder of a result of it.
///
/// # Errors
/// A table cannot be read or written.
pub(crate) fn write_stability(
    output: &Output,
    job: &Job,
    sweep: &Path,
    model: &SweptModel,
) -> Result<(), Failure> {
    let is_alike = |row: &SweepRow| model.is_alike(&row.model());
    let models = records(sweep)?.only(is_alike)?.len() as i32 - 1;
    let is_of_model = |row: &SweepTopicRow| {
        (row.topics, row.seed, &row.settings)
            == (model.topics as i32, model.seed as i64, &model.settings)
    };
    let topics = records(sweep)?.only(is_of_model)?;
    let row = |row: &SweepTopicRow| {
        Some(TopicStabilityRow { topic: row.topic, stability: row.stability?, models })
    };
    let rows: Vec<TopicStabilityRow> = topics.iter().filter_map(row).collect();
    let is_there = !output.names(TopicStabilityRow::SPEC.name)?.is_empty();
    if rows.is_empty() || is_there {
        return Ok(());
    }
    let metadata = FileMetadata {
        job_id: job.id(),
        settings_hash: job.train_hash(),
        seed: model.seed,
        topic_count: Some(model.topics as usize),
        ..FileMetadata::default()
    };
    output.write_table(&metadata, rows).map(drop)
}

fn link_files(
    output: &Output,
    from: &Path,
    files: impl IntoIterator<Item = String>,
) -> Result<(), Failure> {
    for file in files {
        let to = output.path(&file);
        if !to.exists() {
            link(&from.join(&file), &to).map_err(Failure::io(to))?;
        }
    }
    Ok(())
}

impl SweepRow {
    /// Returns its model.
    fn model(&self) -> SweptModel {
        let Self { topics, seed, ref settings, .. } = *self;
        SweptModel { topics: topics as u32, seed: seed as u64, settings: settings.clone() }
    }
}

/// The models of a sweep, by number of topics, settings and seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SweptModels(Vec<SweptModel>);

impl SweptModels {
    /// Returns the models of these numbers of topics, each with as many seeds, from the job's on, and each combination
    /// of the values of some keys.
    ///
    /// # Errors
    /// There would be one model only, or one of them twice; models of several numbers of topics cannot be trained by the
    /// job, or not compared.
    pub(crate) fn new(
        job: &Job,
        topics: &[u32],
        seeds: u64,
        varied: &[VariedKey],
    ) -> Result<Self, Failure> {
        let topics: BTreeSet<u32> = topics.iter().copied().collect();
        let settings = VariedKey::combinations(varied, job)?;
        if topics.len() == 1 && seeds == 1 && settings.len() == 1 {
            let message = "a sweep of one number of topics and one seed compares nothing";
            return Err(Failure::usage(message).help("name several: --topics 20,50,100 --seeds 3"));
        }
        let refused = |reason: &str| {
            let message = format!("{}: {reason}", job.path.display());
            Err(Failure::usage(message))
        };
        if job.corpus.labels.is_some() {
            return refused("its topics are labels (corpus.labels), so their number is given");
        }
        if job.model_from.is_some() || job.warm_start.is_some() {
            return refused(
                "its topics come from another result (model.from, train.warm_start), so their number is given",
            );
        }
        if job.sample.held_out == 0.0 {
            return refused("models are compared on held-out documents, and sample.held_out is 0");
        }
        let first = job.model.seed;
        let Some(last) = first.checked_add(seeds - 1).filter(|&last| i64::try_from(last).is_ok())
        else {
            return refused("there are not as many seeds after model.seed");
        };
        let mut models = Vec::new();
        for topics in topics {
            for settings in &settings {
                let of_seed = |seed| SweptModel { topics, seed, settings: settings.clone() };
                models.extend((first..=last).map(of_seed));
            }
        }
        models.sort();
        let length = |model: &SweptModel| model.evaluation(Path::new("")).as_os_str().len();
        if models.iter().any(|model| length(model) > MOST_BYTES) {
            return refused("--set names too many keys for the folders of the models");
        }
        Ok(Self(models))
    }

    pub(crate) fn all(&self) -> &[SweptModel] {
        &self.0
    }

    /// Returns how many models have been trained in a sweep, by this command or others.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn trained(sweep: &Path) -> Result<usize, Failure> {
        let folders = Disk.names(&sweep.join(MODELS))?;
        let is_trained = |name: &&String| sweep.join(MODELS).join(name).join(MODEL_FILE).exists();
        Ok(folders.iter().filter(is_trained).count())
    }

    /// Returns the models that are not among some others.
    ///
    /// # Errors
    /// Fewer than two are left.
    pub(crate) fn without(&self, others: &[SweptModel]) -> Result<Self, Failure> {
        let models: Vec<_> =
            self.0.iter().filter(|model| !others.contains(model)).cloned().collect();
        match models.len() {
            0 | 1 => Err(Failure::usage("there was time for fewer than two models")
                .help("give it more --minutes; what was trained is kept")),
            _ => Ok(Self(models)),
        }
    }

    /// Refuses numbers of topics that are larger than that of the terms.
    ///
    /// # Errors
    /// A number is.
    pub(crate) fn check_terms(&self, collection: &Collection) -> Result<(), Failure> {
        let terms = collection.terms_kept;
        match self.0.last().map(|model| u64::from(model.topics)) {
            Some(topics) if topics > terms => {
                let message =
                    format!("{topics} topics are more than the {terms} terms of the collection");
                Err(Failure::usage(message).help("leave larger numbers out of --topics"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the hash of the settings of all models and their evaluation.
    fn hash(&self, job: &Job) -> String {
        hex::encode(Sha256::digest(format!("{} {:?}", job.evaluate_hash(""), self.0)))
    }

    /// Whether the output is the finished sweep of these models.
    ///
    /// # Errors
    /// The manifest is damaged.
    pub(crate) fn are_complete(&self, output: &Output, job: &Job) -> Result<bool, Failure> {
        if !output.is_complete()? {
            return Ok(false);
        }
        let manifest = Manifest::read(output.local_root(&[MANIFEST])?)?;
        Ok(manifest.settings.get("sweep") == Some(&self.hash(job)))
    }

    /// Refuses the output of a run, and a sweep of another collection or of models that were trained in another way; and
    /// numbers of topics that the job cannot have.
    ///
    /// # Errors
    /// The output is such; its collection is damaged.
    pub(crate) fn refuse_other(&self, output: &Output, job: &Job) -> Result<(), Failure> {
        let root = output.root();
        for folder in ["topics", "model"] {
            if root.join(folder).exists() {
                let message = format!("{}: is the output of a run", root.display());
                return Err(Failure::usage(message).help("choose another --output"));
            }
        }
        let refused = |what: &str| {
            let message = format!("{}: contains {what}", root.display());
            let help = "choose another --output, or replace it: --overwrite";
            Err(Failure::usage(message).help(help))
        };
        if output.is_published(COLLECTION_FILE)? {
            let collection = Collection::read(root)?;
            if collection.settings_hash != job.corpus_hash() {
                return refused("the sweep of another collection");
            }
            // It can be used without its input.
            let found = identify(&job.corpus).ok();
            if found.is_some_and(|(_, found)| found != collection.input_fingerprint) {
                return refused("a sweep of this input as it was before it changed");
            }
            self.check_terms(&collection)?;
        }
        for model in &self.0 {
            let folder = model.folder(root);
            if folder.join(MANIFEST).exists() {
                let made = Manifest::read(&folder)?;
                if made.settings.get("train") != Some(&model.job(job)?.train_hash()) {
                    return refused(&format!("model {model} with other settings of its training"));
                }
            }
        }
        Ok(())
    }

    /// Writes the tables and the page of a sweep, and declares it complete.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn write(
        &self,
        output: &Output,
        job: &Job,
        collection: &Collection,
        measured: Measured,
    ) -> Result<(), Failure> {
        for table in ["sweep", "sweep_matches", "sweep_sizes", "sweep_topics"] {
            output.clear(table)?;
        }
        let hash = self.hash(job);
        let metadata = FileMetadata {
            job_id: job.id(),
            settings_hash: hash.clone(),
            seed: job.model.seed,
            vocabulary_size: Some(collection.terms_kept as usize),
            ..FileMetadata::default()
        };
        let Measured { models, topics, matches, sizes } = measured;
        output.write_table(&metadata, models)?;
        output.write_table(&metadata, topics)?;
        output.write_table(&metadata, matches)?;
        let advice = advice(&sizes);
        output.write_table(&metadata, sizes)?;
        output.write_atomic("views.sql", views_sql(output)?.as_bytes())?;
        output.write_atomic(SWEEP_PAGE, sweep_page(output.root(), &advice)?.as_bytes())?;
        let fingerprint = &collection.input_fingerprint;
        let mut manifest = Manifest::new(&job.id(), job.model.seed, fingerprint);
        let settings = [("corpus", job.corpus_hash()), ("sweep", hash)];
        manifest.settings = settings.map(|(name, hash)| (name.to_owned(), hash)).into();
        manifest.describe(output, &BTreeMap::new())?;
        output.complete(&manifest)
    }
}

/// Returns the models of a finished sweep; of each number of topics, the one that predicts held-out documents best comes
/// first.
///
/// # Errors
/// The folder has no finished sweep; its table cannot be read.
pub(crate) fn models_of(sweep: &Path) -> Result<Vec<SweptModel>, Failure> {
    let mut models: Vec<SweepRow> = rows(sweep)?;
    if models.is_empty() {
        let message = format!("{}: is not a finished sweep", sweep.display());
        return Err(Failure::data(message).help("pass the folder that `topicmill sweep` wrote"));
    }
    let likelihood = |row: &SweepRow| row.log_likelihood_per_token.unwrap_or(f64::NEG_INFINITY);
    models.sort_by(|a, b| a.topics.cmp(&b.topics).then(likelihood(b).total_cmp(&likelihood(a))));
    Ok(models.iter().map(SweepRow::model).collect())
}
