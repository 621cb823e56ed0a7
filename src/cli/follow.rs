//! `topicmill follow RESULT INPUT…`: adds files to a finished result as they arrive.
//!
//! Each generation of files is added by a process of its own, `topicmill add`: a failure ends that process only, and its
//! memory returns to the system. Between generations this one holds a number for each file that is there.

mod spool;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum, value_parser};
use serde::Serialize;

use super::add::{GrowthArgs, read_list};
use super::{Exit, Failure, figures};
use crate::config::Job;
use crate::grow::GrowingResult;
use crate::tables::output::Output;
use corpus::collection::Collection;
use corpus::formats::{self, Cutting};
use corpus::input::{FoundFile, digests, found_now};
use corpus::settings::CorpusSettings;
use mesh::interrupt::{self, Deferral, Words};
use mesh::{guard, spawn};
use spool::Spool;
use store::{Disk, Store, is_remote};

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill follow out/news wires/
  topicmill follow out/archive 'boxes/**/*.txt' --every 600 -w 8
  topicmill follow out/news wires/ --once                           from cron
  tail -n 0 -F wires.jsonl | topicmill follow out/news -            lines of standard input

Adds what `topicmill add` would add, without the files that the result has. A file is added when it
has not changed between two looks: write it elsewhere and move it into place. Files that cannot be
added are reported once, and again if they change; the others are added without them. Runs until it
is stopped (SIGTERM, SIGINT); the same command continues. Lines of standard input are kept beside the
result until it has them.";

/// How far apart two looks are with `--once`.
const MOMENT: Duration = Duration::from_secs(1);

/// Flags of follow.
#[derive(Clone, Debug, Args)]
pub(crate) struct FollowArgs {
    #[command(flatten)]
    pub(crate) growth: GrowthArgs,
    /// Seconds between two looks for new files; for standard input, between the first line and its addition
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = value_parser!(u64).range(1..=86_400))]
    pub(crate) every: u64,
    /// Look twice, a second apart, add the new files, and end
    #[arg(long, conflicts_with = "every")]
    pub(crate) once: bool,
}

/// The messages for signals.
const SIGNAL_WORDS: Words = Words {
    deferred: "stopping at the next point from which the addition can resume",
    ended: "rerun the same command to continue",
};

/// Adds files as they arrive, until a signal ends the process.
///
/// # Errors
/// The flags are wrong; there is no finished result, or its documents are not of a kind that can be added to; an addition
/// fails for another reason than its input; with `--once`, some files were not added.
pub(super) fn run(args: &FollowArgs) -> Result<(), Failure> {
    let growing = GrowingResult::at(&args.growth.result)?;
    super::check_finished(growing.result())?;
    let job = Job::load(growing.result(), &[])?;
    let is_stream = args.growth.input.iter().any(|path| path == "-");
    let settings = if is_stream {
        check_stream(&args.growth.input)?;
        job.corpus.clone()
    } else {
        growing.ingest_job(&job, &args.growth.input)?.corpus
    };
    interrupt::set_words(SIGNAL_WORDS);
    let list = growing.added().with_extension("files");
    // A process that was killed may have left it, complete or not.
    let mut begun = read_list(&list).unwrap_or_default();
    let mut follower = Follower {
        args,
        growing,
        job,
        settings,
        list,
        settled: HashSet::new(),
        waiting: HashSet::new(),
        refused: 0,
        said: String::new(),
    };
    follower.collection()?;
    if is_stream {
        return follower.add_stream();
    }
    follower.pass_over_first()?;
    follower.look()?;
    if follower.settled.is_empty() && follower.waiting.is_empty() {
        super::warn(&format!("{}: there is no file yet", args.growth.input.join(", ")));
    }
    let pause = if args.once { MOMENT } else { Duration::from_secs(args.every) };
    loop {
        thread::sleep(pause);
        match follower.look() {
            Err(failure) if !args.once => follower.say(&failure.report()),
            arrived => follower.add_new(arrived?, &std::mem::take(&mut begun))?,
        }
        if args.once {
            return follower.end();
        }
    }
}

/// Refuses to read standard input beside files, and a terminal.
fn check_stream(input: &[String]) -> Result<(), Failure> {
    if input.len() > 1 {
        let message = "`-` is standard input, which cannot be followed together with files";
        return Err(Failure::usage(message).help("follow the files with another command"));
    }
    if io::stdin().is_terminal() {
        let message = "`-` reads documents from standard input, which is a terminal";
        let help = "for example: tail -n 0 -F wires.jsonl | topicmill follow out/news -";
        return Err(Failure::usage(message).help(help));
    }
    Ok(())
}

/// Returns the ending of the files into which standard input is cut: that of JSON lines, if the job names no format.
///
/// # Errors
/// The records of the job's format are not lines that can be read alone.
fn ending_of_stream(job: &Job) -> Result<&'static str, Failure> {
    let Some(word) = &job.corpus.format else {
        return Ok("jsonl");
    };
    let lines = formats::named(word).filter(|format| {
        matches!(format.cutting, Cutting::Records(_, true)) && !format.has_header()
    });
    lines.and_then(|format| format.endings.first().copied()).ok_or_else(|| {
        let message =
            format!("the job reads {word}, which is not read from standard input line by line");
        Failure::usage(message).help("write the documents to files, and follow their folder")
    })
}

/// A new file, to be added.
struct NewFile {
    path: String,
    stamp: u64,
}

/// Files that are added to a result as they arrive.
struct Follower<'a> {
    args: &'a FollowArgs,
    growing: GrowingResult,
    /// The result's job.
    job: Job,
    /// How new documents are read.
    settings: CorpusSettings,
    /// The file that lists a generation for its process, and after a kill the one that was not complete.
    list: PathBuf,
    /// The stamps of files that are done with: the result has them, or cannot get them.
    settled: HashSet<u64>,
    /// Those of the others, at the last look.
    waiting: HashSet<u64>,
    /// Files that were refused.
    refused: u64,
    /// The last trouble that was reported and that may pass.
    said: String,
}

/// A generation that has been added, for `--json`.
#[derive(Serialize)]
struct Added {
    /// Its files.
    files: u64,
    /// Documents that came.
    added: u64,
    /// Documents that left, because others replace them.
    removed: u64,
    /// All documents of the result.
    documents: u64,
    seconds: f64,
}

impl Follower<'_> {
    /// Finds the files; returns those that are not settled, and were the same at the last look.
    fn look(&mut self) -> Result<Vec<(FoundFile, u64)>, Failure> {
        let (mut settled, mut waiting, mut arrived) = (HashSet::new(), HashSet::new(), Vec::new());
        for file in found_now(&self.settings)? {
            match stamp(&file.path) {
                Some(stamp) if self.settled.contains(&stamp) => drop(settled.insert(stamp)),
                Some(stamp) => {
                    waiting.insert(stamp);
                    arrived.extend(self.waiting.contains(&stamp).then_some((file, stamp)));
                }
                // It has been removed since.
                None => {}
            }
        }
        (self.settled, self.waiting) = (settled, waiting);
        Ok(arrived)
    }

    /// Settles files that the result was made of, whose names may be relative to another folder than those of new ones.
    ///
    /// # Errors
    /// Files cannot be listed, nor the collection read.
    fn pass_over_first(&mut self) -> Result<(), Failure> {
        let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // They may be gone.
        let first = found_now(&self.job.corpus).unwrap_or_default().into_iter();
        let mut first: HashMap<PathBuf, _> = first.map(|file| (place(&file.path), file)).collect();
        let here = found_now(&self.settings)?.into_iter();
        let both =
            here.filter_map(|file| Some((stamp(&file.path)?, first.remove(&place(&file.path))?)));
        let (stamps, files): (Vec<_>, Vec<_>) = both.unzip();
        let known = Collection::read(self.growing.result())?.files;
        let known: HashSet<&str> = known.iter().map(String::as_str).collect();
        for (stamp, digest) in stamps.into_iter().zip(digests(&self.job.corpus, &files)) {
            if digest.is_ok_and(|digest| digest.is_some_and(|it| known.contains(it.as_str()))) {
                self.settled.insert(stamp);
            }
        }
        Ok(())
    }

    /// Adds those of the files that the result does not have, first those that a killed process had `begun` to add.
    ///
    /// # Errors
    /// The result cannot be read; an addition fails for another reason than its input.
    fn add_new(&mut self, arrived: Vec<(FoundFile, u64)>, begun: &[String]) -> Result<(), Failure> {
        if arrived.is_empty() {
            return Ok(());
        }
        let Some(collection) = self.collection()? else {
            return Ok(());
        };
        let known = known(&collection);
        let (found, stamps): (Vec<_>, Vec<_>) = arrived.into_iter().unzip();
        let digests = digests(&self.settings, &found);
        let mut new = Vec::new();
        for ((file, stamp), digest) in found.into_iter().zip(stamps).zip(digests) {
            match digest {
                Ok(Some(digest)) if !known.contains(digest.as_str()) => {
                    match file.path.into_os_string().into_string() {
                        Ok(path) => new.push(NewFile { path, stamp }),
                        Err(path) => {
                            let problem = "its name is not UTF-8; rename it";
                            self.refuse(stamp, &Failure::file(path, problem).report());
                        }
                    }
                }
                Ok(_) => self.settle(stamp),
                Err(error) => self.refuse(stamp, &Failure::from(error).report()),
            }
        }
        let (first, rest) = new.into_iter().partition(|file| begun.contains(&file.path));
        self.add(first)?;
        self.add(rest)
    }

    /// Adds the records of standard input, a file of them at a time, until its end.
    ///
    /// # Errors
    /// Standard input cannot be read; the result cannot be read; an addition fails for another reason than its input;
    /// some records were not added.
    fn add_stream(&mut self) -> Result<(), Failure> {
        let folder = self.growing.added().with_extension("spool");
        let spool = Spool::open(folder.clone(), ending_of_stream(&self.job)?);
        let spool = Arc::new(spool.map_err(Failure::io(&folder))?);
        if let Some(file) = spool.complete()? {
            self.add_complete(&spool, &file)?;
        }
        Arc::clone(&spool).read();
        loop {
            let number = Collection::read(self.growing.result())?.numbers();
            match spool.next(Duration::from_secs(self.args.every), number)? {
                Some(file) => self.add_complete(&spool, &file)?,
                None => break,
            }
        }
        // Lines that were refused stay.
        if Disk.names(&folder)?.is_empty() {
            store::remove_folder(&folder).map_err(Failure::io(&folder))?;
        }
        self.end()
    }

    /// Adds a file of records from standard input, as soon as no other command uses the result.
    fn add_complete(&mut self, spool: &Spool, file: &Path) -> Result<(), Failure> {
        let refused = self.refused;
        let stamp = stamp(file).unwrap_or_default();
        let Some(path) = file.to_str().map(str::to_owned) else {
            return Err(Failure::file(file, "its name is not UTF-8; rename the folder"));
        };
        self.settled.clear();
        loop {
            if self.collection()?.is_some() {
                self.add(vec![NewFile { path: path.clone(), stamp }])?;
            }
            if self.settled.contains(&stamp) || !file.exists() {
                break;
            }
            thread::sleep(MOMENT);
        }
        if self.refused == refused {
            return store::remove_file(file).map_err(Failure::io(file));
        }
        let kept = spool.keep(file).map_err(Failure::io(file))?;
        super::say(&format!("these records are kept: {}", kept.display()));
        Ok(())
    }

    /// Adds files as one generation or, if that is impossible, each half of them alone.
    ///
    /// # Errors
    /// The addition fails for another reason than its input.
    fn add(&mut self, mut files: Vec<NewFile>) -> Result<(), Failure> {
        // Others have been removed, or are being written.
        files.retain(|file| stamp(Path::new(&file.path)) == Some(file.stamp));
        if files.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let json = serde_json::to_vec(&paths).expect("texts are JSON");
        store::write(&self.list, &json).map_err(Failure::io(&self.list))?;
        let _deferral = Deferral::begin();
        let ended = self.command().and_then(|command| spawn::output(command, Stdio::piped()));
        let ended = ended.map_err(|error| Failure::from(error).context("topicmill add"))?;
        let said = String::from_utf8_lossy(&ended.stderr);
        let code = ended.status.code().unwrap_or(Exit::Killed as i32);
        match u8::try_from(code).map_or(Exit::Internal, Exit::of) {
            _ if code == 0 => {
                super::say(&said);
                self.said.clear();
                // It prints nothing if the result has these files.
                if !ended.stdout.is_empty() {
                    self.report(started)?;
                }
                files.iter().for_each(|file| self.settle(file.stamp));
            }
            Exit::Data if files.len() > 1 => {
                let rest = files.split_off(files.len() / 2);
                self.add(files)?;
                return self.add(rest);
            }
            Exit::Data => self.refuse(files[0].stamp, &said),
            Exit::Temporary if !self.args.once => {
                self.say(&said);
                return Ok(());
            }
            // The handler of signals does not report it too.
            exit @ Exit::Interrupted => guard::fail(mesh::Failure {
                exit,
                message: format!("interrupted; {}", SIGNAL_WORDS.ended),
            }),
            exit => {
                super::say(&said);
                let message =
                    format!("the process that adds documents ended with {}", ended.status);
                return Err(Failure::message(exit, message).help(SIGNAL_WORDS.ended));
            }
        }
        store::remove_file(&self.list).map_err(Failure::io(&self.list))
    }

    /// Returns the command that adds the listed files.
    fn command(&self) -> io::Result<Command> {
        let GrowthArgs { input, on_duplicate, here, .. } = &self.args.growth;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["add", "--quiet", "--json", "--found"]).arg(&self.list);
        let on_duplicate = on_duplicate.to_possible_value().expect("none is hidden");
        command.args(["--on-duplicate", on_duplicate.get_name()]);
        command.args(here.threads.map(|threads| format!("-w{threads}")));
        command.arg("--").arg(self.growing.result()).args(input);
        Ok(command)
    }

    /// Prints a line about the last generation.
    fn report(&self, started: Instant) -> Result<(), Failure> {
        let here = &self.args.growth.here;
        if here.quiet && !here.json {
            return Ok(());
        }
        let collection = Collection::read(self.growing.result())?;
        let Some(generation) = collection.generations.last() else {
            return Ok(());
        };
        let added = Added {
            files: generation.files.len() as u64,
            added: generation.documents,
            removed: generation.removed,
            documents: collection.documents,
            seconds: started.elapsed().as_secs_f64(),
        };
        if here.json {
            return super::print_json(&added);
        }
        let replaced = match added.removed {
            0 => String::new(),
            removed => format!(", {} replaced", figures::grouped(removed)),
        };
        super::print(&format!(
            "{} added from {} in {}{replaced}: now {}\n",
            figures::counted(added.added, "document"),
            figures::counted(added.files, "file"),
            figures::seconds(added.seconds),
            figures::grouped(added.documents),
        ))
    }

    /// Returns the collection, unless another command uses the result.
    ///
    /// # Errors
    /// Documents cannot be added to the result; it cannot be read; with `--once`, it is in use.
    fn collection(&mut self) -> Result<Option<Collection>, Failure> {
        let lock = match Output::lead(self.growing.result()) {
            Err(failure) if failure.exit == Exit::Temporary && !self.args.once => {
                self.say(&failure.report());
                return Ok(None);
            }
            lock => lock?,
        };
        self.growing.check(&lock, &self.job)?;
        Ok(Some(Collection::read(self.growing.result())?))
    }

    fn settle(&mut self, stamp: u64) {
        self.waiting.remove(&stamp);
        self.settled.insert(stamp);
    }

    /// Reports a file that cannot be added.
    fn refuse(&mut self, stamp: u64, error: &str) {
        super::say(error);
        self.refused += 1;
        self.settle(stamp);
    }

    /// Reports trouble that may pass, once.
    fn say(&mut self, trouble: &str) {
        if trouble != self.said {
            super::say(trouble);
            trouble.clone_into(&mut self.said);
        }
    }

    /// Returns how the command ends when no file is left to be added.
    fn end(&self) -> Result<(), Failure> {
        if self.refused == 0 {
            return Ok(());
        }
        let files = figures::counted(self.refused, "file");
        Err(Failure::data(format!("{files} could not be added; the errors are above")))
    }
}

/// Returns the digests of the files that the collection has.
fn known(collection: &Collection) -> HashSet<&str> {
    let files = collection.generations.iter().flat_map(|generation| &generation.files);
    files.map(String::as_str).collect()
}

/// Returns a number that changes with the path, the size and the time of a file; of an object, which is complete when it
/// is there, with the path only. `None` if there is no such file.
fn stamp(path: &Path) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    if !is_remote(path) {
        let metadata = path.metadata().ok()?;
        (metadata.len(), metadata.modified().ok()).hash(&mut hasher);
    }
    Some(hasher.finish())
}
