//! The state that the workers of one process share: the job, its output, and the places where they meet.
//!
//! Threads of a process share memory: one model, one sample, one queue of work from which an idle
//! thread takes the next piece. None of that affects a result: pieces are numbered by the input.

use std::any::Any;
use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sha2::{Digest, Sha256};
use timely::worker::Worker;

use super::gather::{all_gather, barrier};
use crate::checkpoint::{self, Header, Saved};
use crate::config::state::MODEL_FILE;
use crate::config::{Job, Stages};
use crate::failure::{Exit, Failure};
use crate::observe::Progress;
use crate::tables::output::Output;
use corpus::block::Share;
use corpus::collection::Collection;
use mesh::hosts::host_of;
use mesh::{ClusterError, ClusterSettings, Placement, execute};

/// A process's scratch file for documents to train on, if they exceed the memory for them.
pub(crate) const TRAINING_FILE: &str = "sample";
/// The same for documents to measure quality on.
pub(crate) const HELD_OUT_FILE: &str = "held-out";
/// The same for the assignments that training remembers.
pub(crate) const ASSIGNMENTS_FILE: &str = "assignments";
/// The same for the assignments of documents that are inferred together.
pub(crate) const TOGETHER_FILE: &str = "assignments-together";

/// How long [`Process::seen`] waits: network file systems cache folders for up to a minute.
const SEEN_WITHIN: Duration = Duration::from_secs(90);

/// How many times, a second apart, the processes of a run check whether they share the output: network file
/// systems cache for half a minute that a file is absent.
const JOIN_TRIES: usize = 32;

/// A value of any type that the workers of a process share.
type SharedValue = Arc<dyn Any + Send + Sync>;

/// The state that all stages of a run share, in one process.
pub struct Process {
    /// The job.
    pub job: Job,
    /// The output folder.
    pub(crate) output: Output,
    /// The workers of the run.
    pub(crate) placement: Placement,
    /// The progress of the current stage.
    pub(crate) progress: Progress,
    /// Whether results that the stages write again are removed first.
    pub(crate) overwrites: bool,
    /// Whether its documents are added to the result in `vocabulary.from`: all terms keep the numbers they have there.
    pub(crate) adds: bool,
    meeting: Meeting,
    is_joined: AtomicBool,
    values: Mutex<BTreeMap<&'static str, Arc<Once<SharedValue>>>>,
    warnings: Mutex<Vec<String>>,
}

impl Process {
    /// Creates the state for the workers of `placement` that are in this process.
    pub fn new(job: Job, output: Output, placement: Placement) -> Self {
        let hosts = placement.addresses.iter().map(|address| host_of(address));
        let here = placement.addresses.get(placement.process);
        let here = hosts.filter(|host| here.is_some_and(|here| host_of(here) == *host));
        let meeting = Meeting::new(placement.threads, here.count().max(1));
        Self {
            job,
            output,
            placement,
            progress: Progress::default(),
            overwrites: false,
            adds: false,
            meeting,
            is_joined: AtomicBool::new(false),
            values: Mutex::default(),
            warnings: Mutex::default(),
        }
    }

    /// Calls `run` on every worker of this process, together with the other processes, which `settings` locate.
    /// Returns the result of the first worker here.
    ///
    /// # Errors
    /// The processes could not connect, or the call of a single worker failed; with several workers, a failure
    /// ends the process (`mesh::guard`).
    pub(super) fn execute<T: Default + Send + 'static>(
        self: &Arc<Self>,
        settings: &ClusterSettings,
        run: impl Fn(&mut Worker) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<T, ClusterError> {
        let results = execute(&self.placement, settings, run)?;
        self.progress.end();
        Ok(results.into_iter().next().unwrap_or_default())
    }

    /// Returns the value of this name, which the first worker to ask for it makes and all workers of the process share.
    ///
    /// # Errors
    /// Those of `make`, for its caller only.
    pub(crate) fn shared<T: Send + Sync + 'static>(
        &self,
        name: &'static str,
        make: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Arc<T>, Failure> {
        let once = Arc::clone(self.values.lock().entry(name).or_default());
        let value = once.get(|| -> Result<SharedValue, Failure> { Ok(Arc::new(make()?)) })?;
        Ok(Arc::clone(value).downcast().expect("a name has one type"))
    }

    /// Returns the state of this name that the workers of the process share, at first its default.
    pub(crate) fn shared_default<T: Default + Send + Sync + 'static>(
        &self,
        name: &'static str,
    ) -> Arc<T> {
        self.shared(name, || Ok(T::default())).expect("a default can be made")
    }

    /// Forgets the value of this name, which all workers of the process have.
    pub(crate) fn forget(&self, name: &str) {
        self.values.lock().remove(name);
    }

    /// Warns the user, at the end of the run, of damage that was skipped or a likely mistake in the job.
    pub(crate) fn warn(&self, warning: String) {
        self.warnings.lock().push(warning);
    }

    /// Returns the warnings so far.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().clone()
    }

    /// Records that the processes of the run have joined: from now on each may write.
    pub(crate) fn set_joined(&self) {
        self.is_joined.store(true, Ordering::Relaxed);
    }

    /// Joins the processes of a run, which must all see one output folder; returns whether it is complete, as the
    /// first process sees it.
    ///
    /// # Errors
    /// They see different folders, or the folder cannot be read or written to.
    pub(crate) fn join(&self, worker: &mut Worker) -> Result<bool, Failure> {
        let mut tries = 0;
        let is_complete = loop {
            let seen = (self.output.run_name()?, self.output.is_complete()?);
            let seen = serde_json::to_vec(&seen).expect("texts and switches are JSON");
            let all = all_gather(worker, &seen);
            let of = |seen: &[u8]| -> (Option<String>, bool) {
                serde_json::from_slice(seen).expect("a worker of the same build wrote it")
            };
            let first = of(&all[0]);
            let other = all.iter().position(|seen| of(seen) != first);
            let Some(other) = other.filter(|_| self.placement.processes() > 1) else {
                break first.1;
            };
            tries += 1;
            if tries > JOIN_TRIES {
                let process = other / self.placement.threads;
                return Err(self.not_shared(&format!(
                    "process {process} does not see the output of process 0"
                )));
            }
            liveness::waiting(|| thread::sleep(Duration::from_secs(1)));
        };
        if self.placement.process > 0 {
            self.output.join()?;
        }
        // No thread may write before all have emptied the folder.
        barrier(worker);
        self.set_joined();
        Ok(is_complete)
    }

    /// Whether a file is published, as the first process sees it; if it is, the others wait until they see it. All
    /// workers must call this.
    ///
    /// # Errors
    /// The output cannot be read; the file does not appear.
    pub(crate) fn is_published(&self, worker: &mut Worker, file: &str) -> Result<bool, Failure> {
        let is_there = worker.index() == 0 && self.output.is_published(file)?;
        let is_there = all_gather(worker, &[u8::from(is_there)])[0] == [1];
        let look = || {
            let found = self.output.is_published(file)?;
            Ok(found.then_some(()).ok_or_else(|| file.to_owned()))
        };
        if is_there {
            self.seen(look)?;
        }
        Ok(is_there)
    }

    /// Refuses a model with other settings, or another vocabulary.
    ///
    /// # Errors
    /// Its settings or its vocabulary differ; `path` is for the error.
    pub(crate) fn check_header(
        &self,
        header: &Header,
        vocabulary_hash: &str,
        path: PathBuf,
    ) -> Result<(), Failure> {
        let is_ours = header.settings_hash == self.job.train_hash()
            && header.vocabulary_hash == vocabulary_hash;
        let what = "sample, model or train";
        if is_ours { Ok(()) } else { Err(other_settings(&path, what)) }
    }

    /// Reads the finished model of the output.
    ///
    /// # Errors
    /// It cannot be read; those of [`check_header`](Self::check_header).
    pub(crate) fn read_model(&self, collection: &Collection) -> Result<Saved, Failure> {
        let saved = checkpoint::read(&self.output.local(MODEL_FILE)?)?;
        let (vocabulary, path) = (&collection.vocabulary_fingerprint, self.output.path(MODEL_FILE));
        self.check_header(&saved.header, vocabulary, path)?;
        Ok(saved)
    }

    /// Whether this process may write into the output folder.
    pub(crate) fn is_joined(&self) -> bool {
        self.is_joined.load(Ordering::Relaxed)
    }

    /// Repeats `look` as long as it returns the name of a missing file, which another process has written: a network
    /// file system may take a while to show the files of other hosts.
    ///
    /// # Errors
    /// Errors of `look`; the file does not appear.
    pub(crate) fn seen<T>(
        &self,
        mut look: impl FnMut() -> Result<Result<T, String>, Failure>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        loop {
            let missing = match look()? {
                Ok(found) => return Ok(found),
                Err(missing) => missing,
            };
            if begun.elapsed() > SEEN_WITHIN {
                return Err(self.not_shared(&format!(
                    "{missing}, which another process has written, does not appear in the output"
                )));
            }
            liveness::waiting(|| thread::sleep(Duration::from_secs(1)));
        }
    }

    /// Reports a sign that the processes do not share the output, with the remedy.
    fn not_shared(&self, sign: &str) -> Failure {
        Failure::data(format!(
            "{sign}, {}: all hosts must see the same folder under the same path, as on a shared file system",
            self.output.root().display()
        ))
    }

    /// Returns a hash that must be equal on all processes of a run; the greeting compares it.
    pub(crate) fn hash(&self, stages: Stages) -> [u8; 32] {
        let text = format!("{} {stages} {}", self.job.run_hash(), self.overwrites);
        Sha256::digest(text).into()
    }

    /// Returns K: as many topics as the job requests, or one for each label.
    pub(crate) fn topic_count(&self, collection: &Collection) -> usize {
        match collection.labels.len() {
            0 => self.job.model.topics,
            labels => labels,
        }
    }

    /// Returns the share of the input that this process reads.
    pub(crate) fn input_share(&self) -> Share {
        Share { process: self.placement.process, processes: self.placement.processes() }
    }

    /// Begins a phase that visits the documents of the collection.
    pub(crate) fn begin_documents(&self, phase: &'static str, collection: &Collection) {
        let share = Some(self.share(collection));
        self.progress.begin(phase, "documents", share);
    }

    /// Returns the number of documents in the shards that this process reads: every N-th one.
    pub(crate) fn share(&self, collection: &Collection) -> u64 {
        let mine = collection.shards.iter().skip(self.placement.process);
        mine.step_by(self.placement.processes()).map(|shard| shard.documents).sum()
    }

    /// Returns the path of a scratch file, for data that exceeds this process's memory limits.
    pub fn scratch_path(&self, name: &str) -> std::path::PathBuf {
        let name = format!("{name}-{}", self.placement.process);
        self.output.temporary_path(&name)
    }

    /// Returns the error of a scratch file that cannot be read or written.
    pub(crate) fn scratch_error(&self, name: &str, source: io::Error) -> Failure {
        Failure::io(self.scratch_path(name))(source)
    }

    /// Waits for the other workers of this process. All must call this: a worker that fails ends the
    /// process, so none waits forever.
    pub(crate) fn meet(&self) {
        liveness::waiting(|| self.meeting.wait());
    }
}

impl From<Failure> for mesh::Failure {
    fn from(failure: Failure) -> Self {
        Self {
            exit: failure.exit,
            message: failure.report().trim_start_matches("error: ").trim_end().to_owned(),
        }
    }
}

/// The output folder has results of another job.
pub(super) fn other_settings(path: &Path, what: &str) -> Failure {
    Failure::usage(format!(
        "{} was made with different settings of {what}; choose another output.path, or restart \
         with --overwrite",
        path.display()
    ))
}

/// A signal was received, and the run has stopped.
pub(super) fn interrupted(place: &str) -> Failure {
    Failure::message(
        Exit::Interrupted,
        format!("interrupted: {place}; progress is saved, rerun the same command to resume"),
    )
}

/// A value that the first worker to arrive makes and all workers of the process share.
#[derive(Debug)]
pub struct Once<T>(OnceLock<T>, Mutex<()>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(OnceLock::new(), Mutex::new(()))
    }
}

impl<T> Once<T> {
    /// Returns the value, made by `make` if no call has made it yet. An error reaches only the caller.
    pub fn get<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let _making = liveness::waiting(|| self.1.lock());
        match self.0.get() {
            Some(value) => Ok(value),
            None => {
                let value = make()?;
                Ok(self.0.get_or_init(|| value))
            }
        }
    }
}

/// Numbers 0, 1, 2, …, each taken by one worker: an idle worker takes the next piece of work.
#[derive(Debug, Default)]
pub(crate) struct Tickets(AtomicUsize);

impl Tickets {
    /// Takes the next number.
    pub(crate) fn take(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes the next numbers below `count`: up to `most`, fewer towards the end, so that `workers` finish together.
    pub(crate) fn take_some(
        &self,
        count: usize,
        most: usize,
        workers: usize,
    ) -> Option<Range<usize>> {
        let some = |from: usize| (count.saturating_sub(from) / (2 * workers)).clamp(1, most);
        let next = |from| (from < count).then(|| from + some(from));
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        taken.ok().map(|from| from..from + some(from))
    }

    /// Starts again from 0. Call it only while no worker takes numbers.
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

// A barrier for the workers of a process. They spin briefly before they sleep, because waking many threads takes
// longer than most waits.

/// Spins before a worker sleeps: about 50 µs.
const SPINS: u32 = 1000;

/// A reusable barrier.
#[derive(Debug)]
pub(super) struct Meeting {
    workers: usize,
    /// 0 if this machine has more workers than cores: spinning would delay those still at work.
    spins: u32,
    arrived: AtomicUsize,
    /// How many times all have met.
    met: AtomicUsize,
    sleeping: Mutex<()>,
    wake: Condvar,
}

impl Meeting {
    /// Creates a barrier for `workers` threads in each of `processes` on this machine.
    pub(super) fn new(workers: usize, processes: usize) -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            workers,
            spins: if workers * processes <= cores { SPINS } else { 0 },
            arrived: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            sleeping: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Waits until all have arrived.
    pub(super) fn wait(&self) {
        let met = self.met.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.workers {
            self.arrived.store(0, Ordering::Relaxed);
            // With the lock, so that no worker falls asleep between its check and this.
            let sleeping = self.sleeping.lock();
            self.met.store(met.wrapping_add(1), Ordering::Release);
            drop(sleeping);
            self.wake.notify_all();
            return;
        }
        let has_met = || self.met.load(Ordering::Acquire) != met;
        for _ in 0..self.spins {
            if has_met() {
                return;
            }
            spin_loop();
        }
        let mut sleeping = self.sleeping.lock();
        while !has_met() {
            self.wake.wait(&mut sleeping);
        }
    }
}

#[cfg(test)]
mod meeting_tests {
    use super::*;

    /// Counts its rounds; returns whether all counts were equal at every meeting.
    fn meet_often(meeting: &Meeting, mine: usize, counts: &[AtomicUsize]) -> bool {
        let mut all_were_there = true;
        for round in 1..=2000 {
            counts[mine].store(round, Ordering::Relaxed);
            meeting.wait();
            all_were_there &= counts.iter().all(|n| n.load(Ordering::Relaxed) == round);
            meeting.wait();
        }
        all_were_there
    }

    #[test]
    fn nobody_spins_where_processes_share_too_few_cores() {
        assert_eq!(Meeting::new(1, 1).spins, SPINS);
        assert_eq!(Meeting::new(1, 1 << 20).spins, 0);
    }

    #[test]
    fn all_wait_for_all_every_time() {
        for spins in [0, SPINS] {
            let meeting = Meeting { spins, ..Meeting::new(4, 1) };
            let counts: [AtomicUsize; 4] = Default::default();
            let (meeting, counts) = (&meeting, &counts);
            std::thread::scope(|scope| {
                let meet = |mine| scope.spawn(move || meet_often(meeting, mine, counts));
                let all_were_there = [0, 1, 2, 3].map(meet).map(|thread| thread.join().unwrap());
                assert_eq!(all_were_there, [true; 4]);
            });
        }
    }
}
