//! `topicmill sweep INPUT|JOB`: one ingest, models of several numbers of topics and seeds, and their comparison.
//!
//! Each model is trained, and then evaluated, by a process of its own: a failure ends that process only, and its memory
//! returns to the system. What is complete is not made again, so a sweep that was killed can be resumed.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, value_parser};
use serde::Serialize;

use super::args::{HereArgs, StarterArgs};
use super::beside::named;
use super::machine::cores;
use super::pictures::table;
use super::starter::{Starter, job_file};
use super::topics::check_free;
use super::{Exit, Failure, figures, plan};
use crate::config::{Job, Template, VariedKey};
use crate::sweep::{Measured, SweptModel, SweptModels};
use crate::tables::output::{JOB_FILE, MODELS, Output, SWEEP_PAGE};
use crate::tables::records::rows;
use crate::tables::sweep::SweepRow;
use crate::tables::sweep_sizes::SweepSizeRow;
use corpus::collection::{COLLECTION_FILE, Collection};
use mesh::interrupt::{self, Deferral, Words};
use mesh::{guard, spawn};
use store::is_remote;

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill sweep articles.csv --topics 20,50,100,200
  topicmill sweep jobs/newsgroups.toml --topics 20,50,100 --seeds 5 --output out/sweep
  topicmill sweep texts/ --parallel 2 -w 8
  topicmill sweep texts/ --topics 50 --set model.alpha_sum=1,5,20
  topicmill take out/sweep 100/2                        all documents, with that model

Ingests once, trains every number of topics with every seed on the same documents, and scores the
same held-out ones; and with every combination of settings, where --set has several values of a key
of model, train or tree. Writes the tables sweep, sweep_sizes, sweep_topics and sweep_matches, and
sweep.html. No document is projected. The same command resumes a sweep that was killed; with more
numbers or seeds, it trains only the new models. docs/EVALUATION.md says what the figures mean.";

/// Flags of sweep.
#[derive(Clone, Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) starter: StarterArgs,
    /// Numbers of topics to compare
    #[arg(long, value_name = "K,…", value_delimiter = ',', default_value = "10,20,50,100,200")]
    #[arg(value_parser = value_parser!(u32).range(1..=65_535))]
    pub(crate) topics: Vec<u32>,
    /// Models of each number, with as many seeds: the job's and those that follow it
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: u64,
    /// The folder of the sweep
    #[arg(short, long, value_name = "FOLDER", default_value = "sweep-out")]
    pub(crate) output: PathBuf,
    /// Train this many models at a time, which share the threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = value_parser!(u64).range(1..=1000))]
    pub(crate) parallel: u64,
    /// Train no model that would probably end later than this; the largest ones are the last
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub(crate) minutes: Option<u64>,
    #[command(flatten)]
    pub(crate) here: HereArgs,
    /// Replace a sweep of a different configuration, instead of refusing to run
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// The messages for signals.
const SIGNAL_WORDS: Words = Words {
    deferred: "stopping at the next point from which the sweep can resume",
    ended: "rerun the same command to resume",
};

/// Trains and compares the models of a sweep.
///
/// # Errors
/// The flags or the job are wrong; the input cannot be read or modelled; the output is another's; any error that ends a
/// run.
pub(super) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let root = named(&args.output);
    if is_remote(&root) {
        let message = format!("--output {}: must be a folder on this machine", root.display());
        return Err(Failure::usage(message));
    }
    let (set, varied) = VariedKey::split(&args.starter.set)?;
    let args = SweepArgs { starter: StarterArgs { set, ..args.starter.clone() }, ..args.clone() };
    let job = job(&args, &root)?;
    let models = SweptModels::new(&job, &args.topics, args.seeds, &varied)?;
    interrupt::set_words(SIGNAL_WORDS);
    let sweep = Sweep { args: &args, root, job, models };
    sweep.make()
}

/// Returns the job of the sweep: that of a file or a result, or one made of the flags.
fn job(args: &SweepArgs, root: &Path) -> Result<Job, Failure> {
    let starter = &args.starter;
    let is_job = |name: &str| {
        let path = Path::new(name);
        path.extension().is_some_and(|ending| ending == "toml") || path.join(JOB_FILE).is_file()
    };
    if let [name] = &starter.input[..]
        && is_job(name)
    {
        let of_input = !starter.text.is_empty()
            || !starter.stop_words.is_empty()
            || starter.id.is_some()
            || starter.language.is_some();
        if of_input {
            let message =
                format!("{name}: the job says how its input is read; set keys with --set");
            return Err(Failure::usage(message));
        }
        let seed = starter.seed.map(|seed| format!("model.seed={seed}"));
        // The job need not name these.
        let topics = args.topics.iter().min().map(|topics| format!("model.topics={topics}"));
        let output = Some(format!("output.path={}", toml::Value::from(&*root.to_string_lossy())));
        let sets = topics.into_iter().chain(starter.set.iter().cloned()).chain(seed).chain(output);
        let sets: Vec<String> = sets.collect();
        return Job::load(Path::new(name), &sets);
    }
    let path = job_file(root);
    check_free(root, args.overwrite)?;
    let first = args.topics.iter().min().copied();
    let made = Starter::new(starter, first, &path, root, args.overwrite)?;
    if !args.here.quiet {
        // The job is in the sweep's folder, and each model has its own number of topics.
        let rows = made.rows.into_iter().filter(|(name, _)| !["topics", "job"].contains(name));
        let rows: Vec<_> = rows.collect();
        super::say(&plan::rows(&rows));
    }
    Ok(made.job)
}

/// A sweep that is being made.
struct Sweep<'a> {
    args: &'a SweepArgs,
    root: PathBuf,
    job: Job,
    models: SweptModels,
}

/// The models that are not trained yet, the smallest first.
struct Waiting {
    models: VecDeque<SweptModel>,
    /// When training must have ended.
    end: Option<Instant>,
    /// The time that a topic of the last model took.
    of_topic: Duration,
}

impl Waiting {
    /// Takes the next model, if it will probably be ready in time.
    fn next(&mut self) -> Option<SweptModel> {
        let forecast = self.of_topic * self.models.front()?.topics;
        if self.end.is_some_and(|end| Instant::now() + forecast > end) {
            return None;
        }
        self.models.pop_front()
    }

    /// Notes how long a model took.
    fn add(&mut self, model: &SweptModel, time: Duration) {
        self.of_topic = time / model.topics;
    }
}

/// A finished sweep, for `--json`.
#[derive(Serialize)]
struct SweepSummary<'a> {
    output: &'a Path,
    models: &'a [SweepRow],
    sizes: &'a [SweepSizeRow],
    advice: String,
}

impl Sweep<'_> {
    fn make(&self) -> Result<(), Failure> {
        let output = Output::lead(&*self.root)?;
        if self.args.overwrite {
            output.clear_all()?;
        }
        self.models.refuse_other(&output, &self.job)?;
        if self.models.are_complete(&output, &self.job)? {
            return self.show();
        }
        output.reopen()?;
        output.write_atomic(JOB_FILE, Template::of(&self.job).to_toml().as_bytes())?;
        let output = self.ingest(output)?;
        let collection = Collection::read(&self.root)?;
        self.models.check_terms(&collection)?;
        let left_out = self.train()?;
        let made = self.models.without(&left_out)?;
        let measured = Measured::read(&self.root, made.all(), self.threads())?;
        made.write(&output, &self.job, &collection, measured)?;
        drop(output);
        if !left_out.is_empty() {
            let names: Vec<String> = left_out.iter().map(ToString::to_string).collect();
            super::warn(&format!(
                "left out for want of time: {}; the same command with more --minutes trains them",
                names.join(", ")
            ));
        }
        self.show()
    }

    fn threads(&self) -> usize {
        self.args.here.threads.unwrap_or_else(cores)
    }

    /// Reads the collection, unless it is there.
    fn ingest(&self, output: Output) -> Result<Output, Failure> {
        if output.is_published(COLLECTION_FILE)? {
            return Ok(output);
        }
        // The process that ingests holds the lock.
        drop(output);
        let path = toml::Value::from(&*self.root.to_string_lossy());
        self.step("ingest", &[format!("output.path={path}")], self.threads(), &[])?;
        Output::lead(&*self.root)
    }

    /// Trains and evaluates the models, the smallest first; returns those for which there is no time.
    fn train(&self) -> Result<Vec<SweptModel>, Failure> {
        let all = self.models.all();
        let SweepArgs { parallel, minutes, .. } = *self.args;
        let parallel = (parallel as usize).min(all.len());
        let threads = (self.threads() / parallel).max(1);
        let waiting = Mutex::new(Waiting {
            models: all.iter().cloned().collect(),
            end: minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes)),
            of_topic: Duration::ZERO,
        });
        let waiting = || waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let make_some = || {
            loop {
                let Some(model) = waiting().next() else {
                    return Ok(());
                };
                let started = Instant::now();
                let made = self.make_model(&model, threads);
                waiting().add(&model, started.elapsed());
                if made.is_err() {
                    waiting().models.clear();
                    if parallel > 1 {
                        super::say(&format!("model {model} failed; waiting for those under way"));
                    }
                    return made;
                }
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..parallel).map(|_| scope.spawn(make_some)).collect();
            let ends =
                workers.into_iter().map(|it| it.join().unwrap_or_else(|it| resume_unwind(it)));
            ends.fold(Ok(()), Result::and)
        })?;
        Ok(waiting().models.drain(..).collect())
    }

    /// Trains and evaluates a model.
    fn make_model(&self, model: &SweptModel, threads: usize) -> Result<(), Failure> {
        if !self.args.here.quiet && !self.args.here.json {
            let all = self.models.all();
            let place = all.iter().position(|it| it == model).unwrap_or(0);
            super::say(&format!("model {model}: {} of {}", place + 1, all.len()));
        }
        model.begin(&self.root)?;
        let mut keys = model.training_keys(&self.job, &self.root);
        self.step("run", &keys, threads, &[])?;
        keys.push("evaluate.split=held_out".to_owned());
        let mut output = OsString::from("--output=");
        output.push(model.evaluation(&self.root));
        self.step("evaluate", &keys, threads, &[output, "--overwrite".into()])
    }

    /// Runs a subcommand on the sweep's job with other keys, in a process of its own.
    fn step(
        &self,
        subcommand: &str,
        keys: &[String],
        threads: usize,
        others: &[OsString],
    ) -> Result<(), Failure> {
        let is_shown = !self.args.here.quiet && !self.args.here.json && self.args.parallel == 1;
        let program = std::env::current_exe().map_err(|e| Failure::new(Exit::Io, e))?;
        let mut command = Command::new(program);
        command.arg(subcommand).arg(format!("-w{threads}"));
        command.args((!is_shown).then_some("--quiet"));
        command.args(keys.iter().flat_map(|key| ["--set", key]));
        command.args(others).arg("--").arg(self.root.join(JOB_FILE));
        let _deferral = Deferral::begin();
        let stderr = if is_shown { Stdio::inherit() } else { Stdio::piped() };
        let ended = spawn::output(command, stderr);
        let ended = ended.map_err(|error| Failure::from(error).context("topicmill"))?;
        let code = ended.status.code().unwrap_or(Exit::Killed as i32);
        super::say(&String::from_utf8_lossy(&ended.stderr));
        match u8::try_from(code).map_or(Exit::Internal, Exit::of) {
            _ if code == 0 => Ok(()),
            // The handler of signals does not report it too.
            exit @ Exit::Interrupted => guard::fail(mesh::Failure {
                exit,
                message: format!("interrupted; {}", SIGNAL_WORDS.ended),
            }),
            exit => {
                let message =
                    format!("`topicmill {subcommand}` of the sweep ended with {}", ended.status);
                let failure = Failure::message(exit, message);
                // The same command would fail again.
                let is_lasting = matches!(exit, Exit::Usage | Exit::Data);
                Err(if is_lasting { failure } else { failure.help(SIGNAL_WORDS.ended) })
            }
        }
    }

    /// Prints the figures of a finished sweep, and the recommendation.
    fn show(&self) -> Result<(), Failure> {
        let here = &self.args.here;
        let (models, sizes) = (rows::<SweepRow>(&self.root)?, rows::<SweepSizeRow>(&self.root)?);
        let advice = crate::sweep::advice(&sizes);
        if here.json {
            let output = &self.root;
            return super::print_json(&SweepSummary {
                output,
                models: &models,
                sizes: &sizes,
                advice,
            });
        }
        if here.quiet {
            return Ok(());
        }
        let text = [size_table(&sizes), "\n".to_owned()];
        let page = self.root.join(SWEEP_PAGE);
        let folder = self.root.join(MODELS);
        let all = SweptModels::trained(&self.root)?;
        let others = match all.saturating_sub(models.len()) {
            0 => String::new(),
            n => format!(", which has {n} more, of other commands"),
        };
        let models = format!("{} in {}{others}", models.len(), folder.display());
        let next = sizes.iter().find(|row| row.recommended).map(|row| {
            let model = format!("{}/{}", row.topics, row.settings);
            let (root, model) = (self.root.display(), model.trim_end_matches('/'));
            ("next", format!("topicmill take {root} {model}"))
        });
        let rows = [("advice", advice), ("models", models), ("report", page.display().to_string())];
        let rows: Vec<_> = rows.into_iter().chain(next).collect();
        super::print(&(text.concat() + &plan::rows(&rows)))
    }
}

/// Returns the figures of each number of topics as a table, with its settings if there are several.
pub(super) fn size_table(sizes: &[SweepSizeRow]) -> String {
    let head = "settings|>topics|>held out, ± seeds|>to the best|>NPMI|>exclusivity|>stability|>live|>found again|";
    let first = usize::from(sizes.iter().all(|row| row.settings.is_empty()));
    let mut table = table(if first == 0 { head } else { head.trim_start_matches("settings|") });
    let number = |value: Option<f64>, decimals: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
    };
    let with_error = |value: Option<f64>, error: Option<f64>| match (value, error) {
        (Some(value), Some(error)) => format!("{value:.3} ± {error:.3}"),
        (value, _) => number(value, 3),
    };
    for row in sizes {
        let row = [
            row.settings.clone(),
            figures::grouped(row.topics as u64),
            with_error(row.log_likelihood_per_token, row.seed_error),
            with_error(row.difference, row.difference_error),
            number(row.coherence_npmi, 3),
            number(row.exclusivity, 2),
            number(row.stability, 2),
            number(Some(row.live_topics), 0),
            number(row.stable_topics, 0),
            match (row.recommended, row.acceptable) {
                (true, _) => "recommended",
                (_, true) => "as good",
                _ => "",
            }
            .to_owned(),
        ];
        table.add_row(&row[first..]);
    }
    format!("{}\n", table.trim_fmt())
}
