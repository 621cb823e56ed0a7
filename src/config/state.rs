//! The content of an output folder: the progress of a run, and whether a job may write there.
//!
//! Read-only. A damaged file is an error here if it is one for the run itself.

use std::fmt;
use std::io;
use std::path::Path;

use super::Job;
use crate::checkpoint::{self, Damage, Header};
use crate::failure::Failure;
use crate::observe::ProcessStatus;
use crate::tables::manifest::Manifest;
use crate::tables::output::{LOGS, SUCCESS, TEMPORARY, View, Wanted, exists, foreign_at, holder};
use crate::tables::read::{TableListing, listing};
use corpus::collection::{COLLECTION_FILE, Collection};
use corpus::input::identify;
use store::{Disk, Store};

/// Path of the finished model in the output folder.
pub const MODEL_FILE: &str = "model/topics.model";
/// Path of the record of training.
pub(crate) const RECORD_FILE: &str = "model/training.json";
/// Path of the sums over the documents trained on, with which drift is measured.
pub(crate) const TRAINED_FILE: &str = "model/trained.json";
/// Folder of the checkpoints and the assignments that belong to them.
pub const CHECKPOINT_FOLDER: &str = "checkpoints";

/// Returns the path, in the output folder, of the checkpoint after a number of rounds.
pub fn checkpoint_file(rounds: u64) -> String {
    format!("{CHECKPOINT_FOLDER}/train-{rounds:08}.model")
}

/// Returns the rounds of the checkpoints among file names of the folder, the newest first.
pub fn checkpoint_rounds(names: impl IntoIterator<Item = String>) -> Vec<u64> {
    let rounds = |name: String| {
        let rounds = name.strip_prefix("train-")?.strip_suffix(".model")?;
        let rounds = rounds.parse().ok()?;
        checkpoint_file(rounds).ends_with(&name).then_some(rounds)
    };
    let mut found: Vec<u64> = names.into_iter().filter_map(rounds).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunState {
    /// The current holder of the lock.
    pub(crate) holder: Option<String>,
    /// The result of ingest, once it is complete.
    pub(crate) collection: Option<Collection>,
    /// The header of the newest checkpoint with an undamaged header.
    pub(crate) checkpoint: Option<Header>,
    /// The header of the finished model.
    pub(crate) model: Option<Header>,
    /// The complete parts of the tables.
    pub(crate) tables: Vec<TableListing>,
    /// Paths and bytes of unfinished files, sorted by path.
    pub(crate) unfinished: Vec<(String, u64)>,
    /// Whether everything is done.
    pub(crate) complete: bool,
    /// The statuses of the latest attempt's processes, by number.
    pub(crate) processes: Vec<ProcessStatus>,
}

/// The state of a job's output folder.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum OutputState {
    /// It is empty or does not exist.
    Empty,
    /// The complete result of this job.
    Complete,
    /// An unfinished result of this job, which resumes with a stage.
    Resumable {
        /// The stage: "ingest", "train" or "project".
        next: &'static str,
    },
    /// Something that topicmill wrote for another configuration.
    OtherJob {
        /// The part that differs: "corpus", "model", "projection" or "input".
        differs: &'static str,
    },
    /// Another run is writing here.
    InUse {
        /// The holder of its lock.
        holder: String,
    },
    /// Files that topicmill has not written.
    NotOurs {
        /// One of them.
        found: String,
    },
}

impl fmt::Display for OutputState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "empty"),
            Self::Complete => write!(f, "complete: a run has nothing to do"),
            Self::Resumable { next } => write!(f, "begun: a run resumes with {next}"),
            Self::OtherJob { differs } => {
                write!(f, "from another job, whose {differs} differs: a run needs --overwrite")?;
                match *differs {
                    "projection" => {
                        write!(f, ", and `topicmill project --overwrite` keeps the model")
                    }
                    _ => Ok(()),
                }
            }
            Self::InUse { holder } => write!(f, "in use by another run, {holder}"),
            Self::NotOurs { found } => {
                write!(f, "contains {found:?}, which topicmill has not written: a run refuses it")
            }
        }
    }
}

impl RunState {
    /// Reads the state of the output folder `root`.
    ///
    /// # Errors
    /// Something in it cannot be read or is damaged.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let holder = holder(root)?;
        let view = View::open(root, Wanted::Outline)?;
        Self::read_view(view.path(), holder)
    }

    /// Reads the state from a local copy, given the holder of the lock.
    fn read_view(root: &Path, holder: Option<String>) -> Result<Self, Failure> {
        let collection =
            if root.join(COLLECTION_FILE).exists() { Some(Collection::read(root)?) } else { None };
        Ok(Self {
            holder,
            collection,
            checkpoint: newest_checkpoint(root)?,
            model: match root.join(MODEL_FILE) {
                model if model.exists() => Some(checkpoint::read_header(&model)?),
                _ => None,
            },
            tables: listing(root)?,
            unfinished: unfinished(&root.join(TEMPORARY))?,
            complete: root.join(SUCCESS).exists(),
            processes: ProcessStatus::read_all(&root.join(LOGS)),
        })
    }

    /// Whether it is the complete result of a run; that of an evaluation has no topics.
    pub(crate) fn is_result(&self) -> bool {
        self.complete && self.tables.iter().any(|table| table.name == "topics")
    }

    /// Whether the folder has nothing from topicmill.
    pub(crate) fn is_empty(&self) -> bool {
        self.collection.is_none()
            && self.checkpoint.is_none()
            && self.model.is_none()
            && self.tables.is_empty()
            && self.unfinished.is_empty()
            && !self.complete
    }

    /// Returns the part that differs from what `job` would produce, if one does.
    fn difference(&self, job: &Job, root: &Path) -> Result<Option<&'static str>, Failure> {
        let corpus = self.collection.as_ref().map(|c| &c.settings_hash);
        if corpus.is_some_and(|hash| *hash != job.corpus_hash()) {
            return Ok(Some("corpus"));
        }
        let train_hash = job.train_hash();
        let headers = self.checkpoint.iter().chain(&self.model);
        if headers.into_iter().any(|h| h.settings_hash != train_hash) {
            return Ok(Some("model"));
        }
        if self.complete {
            let manifest = Manifest::read(root)?;
            let project_hash = job.project_hash();
            if !manifest.settings.values().any(|hash| *hash == project_hash) {
                return Ok(Some("projection"));
            }
        }
        Ok(None)
    }
}

/// Returns the state of the output folder of `job`, and whether its input is still the one that was read.
///
/// # Errors
/// Something there cannot be read or is damaged.
pub(crate) fn output_state(job: &Job) -> Result<OutputState, Failure> {
    let (state, collection) = recorded_state(job)?;
    // A result can be used without its input.
    let found = collection.zip(identify(&job.corpus).ok());
    let is_other = found.is_some_and(|(ours, (_, found))| ours.input_fingerprint != found);
    let is_ours = matches!(state, OutputState::Complete | OutputState::Resumable { .. });
    if is_ours && is_other { Ok(OutputState::OtherJob { differs: "input" }) } else { Ok(state) }
}

/// Returns the state of the output folder of `job`, as far as the folder shows it, and the collection in it.
///
/// # Errors
/// Something there cannot be read or is damaged.
pub(crate) fn recorded_state(job: &Job) -> Result<(OutputState, Option<Collection>), Failure> {
    let root = &job.output.path;
    if let Some(found) = foreign_at(root)? {
        return Ok((OutputState::NotOurs { found }, None));
    }
    if !exists(root)? {
        return Ok((OutputState::Empty, None));
    }
    if let Some(holder) = holder(root)? {
        return Ok((OutputState::InUse { holder }, None));
    }
    let view = View::open(root, Wanted::Outline)?;
    let root = view.path();
    let read = RunState::read_view(root, None)?;
    let state = if read.is_empty() {
        OutputState::Empty
    } else if let Some(differs) = read.difference(job, root)? {
        OutputState::OtherJob { differs }
    } else if read.complete {
        OutputState::Complete
    } else {
        let next = match (&read.collection, &read.model) {
            (None, _) => "ingest",
            (Some(_), None) => "train",
            (Some(_), Some(_)) => "project",
        };
        OutputState::Resumable { next }
    };
    Ok((state, read.collection))
}

/// Returns the header of the newest undamaged checkpoint; an error if all are damaged.
fn newest_checkpoint(root: &Path) -> Result<Option<Header>, Failure> {
    let names = Disk.names(&root.join(CHECKPOINT_FOLDER))?;
    let mut damaged = Ok(None);
    for rounds in checkpoint_rounds(names) {
        match checkpoint::read_header(&root.join(checkpoint_file(rounds))) {
            Err(error) if error.cause::<Damage>().is_some() => damaged = damaged.and(Err(error)),
            // It was replaced after the folder was listed.
            Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) => {}
            header => return Ok(Some(header?)),
        }
    }
    damaged
}

/// Lists the paths and sizes of the unfinished files, at any depth.
fn unfinished(folder: &Path) -> Result<Vec<(String, u64)>, Failure> {
    let name =
        |path: &Path| path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
    let entries = Disk.list(folder)?.into_iter();
    Ok(entries.map(|entry| (name(&entry.path), entry.bytes)).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tables::Output;
    use lda::model::Priors;
    use lda::model::parameters::Parameters;
    use lda::train::StopRule;

    fn job(root: &Path, sets: &[String]) -> Job {
        let text = format!(
            "[corpus]\ninput = \"x\"\n[model]\ntopics = 2\n[output]\npath = '{}'\n",
            root.display()
        );
        Job::parse(&text, Path::new("job.toml"), sets).unwrap()
    }

    fn write_model(output: &Output, file: &str, settings_hash: String) {
        let header = Header {
            settings_hash,
            vocabulary_hash: "v".into(),
            topic_count: 2,
            vocabulary_size: 3,
            priors: Priors { alpha: vec![0.1; 2], eta: 0.1, exp_psi: false, tree: None },
            published_eta: None,
            scale: 1.0,
            rounds: 12,
            next: None,
            averaged: 0,
            stop: StopRule::default(),
            log: Vec::new(),
        };
        let temporary = output.temporary_path("model");
        checkpoint::write(&temporary, &header, &[&Parameters::new(2, 3, 0, 1)]).unwrap();
        output.publish(&temporary, file).unwrap();
    }

    #[test]
    fn a_folder_is_told_by_what_stands_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("out");
        let job = job(&root, &[]);
        assert_eq!(output_state(&job).unwrap(), OutputState::Empty);
        let output = Output::lead(&root).unwrap();
        let holder = store::at(&root).unwrap().holder(&root.join("_lock")).unwrap().unwrap();
        assert!(holder.starts_with(&format!("process {} on ", std::process::id())));
        assert_eq!(output_state(&job).unwrap(), OutputState::InUse { holder });
        fs::create_dir(output.temporary_path("drafts")).unwrap();
        fs::write(output.temporary_path("drafts/d-1"), "xyz").unwrap();
        write_model(&output, &checkpoint_file(12), job.train_hash());
        drop(output);
        let state = RunState::read(&root).unwrap();
        assert_eq!(state.unfinished, [("drafts/d-1".to_owned(), 3)]);
        assert_eq!(state.checkpoint.map(|header| header.rounds), Some(12));
        let next = "ingest";
        assert_eq!(output_state(&job).unwrap(), OutputState::Resumable { next });
    }

    #[test]
    fn a_damaged_checkpoint_does_not_hide_the_one_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::lead(folder.path()).unwrap();
        let rounds = || RunState::read(folder.path()).map(|s| s.checkpoint.map(|h| h.rounds));
        let newest = output.path(&checkpoint_file(20));
        write_model(&output, &checkpoint_file(20), "s".into());
        fs::write(&newest, "tmmodel2 and no more").unwrap();
        assert!(rounds().unwrap_err().cause::<Damage>().is_some());
        write_model(&output, &checkpoint_file(12), "s".into());
        assert_eq!(rounds().unwrap(), Some(12));
        fs::remove_file(newest).unwrap();
        assert_eq!(rounds().unwrap(), Some(12));
    }

    #[test]
    fn other_jobs_and_foreign_files_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let job = job(folder.path(), &[]);
        let output = Output::lead(folder.path()).unwrap();
        write_model(&output, MODEL_FILE, "another".into());
        drop(output);
        let differs = "model";
        assert_eq!(output_state(&job).unwrap(), OutputState::OtherJob { differs });
        // A user's file beside a result changes nothing; alone, it makes the folder foreign.
        fs::write(folder.path().join("thesis.tex"), "x").unwrap();
        assert_eq!(output_state(&job).unwrap(), OutputState::OtherJob { differs });
        fs::remove_file(folder.path().join("_lock")).unwrap();
        let found = "thesis.tex".to_owned();
        assert_eq!(output_state(&job).unwrap(), OutputState::NotOurs { found });
    }

    #[test]
    fn a_result_is_complete_for_its_own_job_only() {
        let folder = tempfile::tempdir().unwrap();
        let [job, other] =
            [None, Some("project.top=3".to_owned())].map(|set| job(folder.path(), set.as_slice()));
        let output = Output::lead(folder.path()).unwrap();
        write_model(&output, MODEL_FILE, job.train_hash());
        let mut manifest = Manifest::new("id", 1, "f");
        manifest.settings.insert("project".into(), job.project_hash());
        output.complete(&manifest).unwrap();
        drop(output);
        assert_eq!(output_state(&job).unwrap(), OutputState::Complete);
        let differs = "projection";
        assert_eq!(output_state(&other).unwrap(), OutputState::OtherJob { differs });
    }
}
