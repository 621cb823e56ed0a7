//! The flags as typed; `placement` and `config` check their meaning. Flattened fields are not public: they would
//! need a doc comment, which clap would turn into help text.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, value_parser};
use clap_complete::Shell;

use super::Failure;
use super::starter::language::code_of;
use crate::config::{Job, keys};
use mesh::hosts::host_of;
use mesh::interrupt::{DEFAULT_STOP_TIMEOUT, Interrupts};
use mesh::secret::Secret;
use mesh::tls::{Tls, file_name};
use mesh::{ClusterSettings, Placement};

/// Flags that describe a new job.
#[derive(Clone, Debug, Args)]
pub(crate) struct StarterArgs {
    /// Folders, files and globs; `-` is standard input
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) input: Vec<String>,
    /// Column or key with the text; may be repeated to join several [default: detected]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) text: Vec<String>,
    /// Column or key with the document's id [default: detected]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// Language of the texts, by ISO 639-1 code or English name: sets stop words and tokenization [default: detected]
    #[arg(long, value_name = "CODE", value_parser = code_of)]
    pub(crate) language: Option<String>,
    /// Stop words, instead of the language's: a language, a file, or `none`; may be repeated
    #[arg(long, value_name = "LIST")]
    pub(crate) stop_words: Vec<String>,
    /// Seed of every random choice [default: 1]
    #[arg(long, value_name = "N", value_parser = value_parser!(i64).range(0..))]
    pub(crate) seed: Option<i64>,
    /// Set any other key of the job, as in `--set train.passes=5`; may be repeated
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// The number of topics of a new job.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct TopicNumberArgs {
    /// Number of topics [default: 50; with fewer than 500 documents, one per 10 documents, at least 5]
    #[arg(long, value_name = "K", value_parser = value_parser!(u32).range(1..=65_535))]
    pub(crate) topics: Option<u32>,
}

/// How a job that a subcommand has written is run: in this process.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StartArgs {
    #[command(flatten)]
    pub(crate) here: HereArgs,
    /// Replace the job and the result of a different configuration, instead of refusing to run
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// How a run in this process works and what it shows.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct HereArgs {
    /// Threads [default: the machine's cores]
    #[arg(short = 'w', long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print one JSON object per line on stdout: progress, unless --quiet, then the summary
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of topics.
#[derive(Clone, Debug, Args)]
pub(crate) struct TopicsArgs {
    #[command(flatten)]
    pub(crate) starter: StarterArgs,
    #[command(flatten)]
    pub(crate) number: TopicNumberArgs,
    /// The folder of the result; the job is written beside it, as FOLDER.toml
    #[arg(short, long, value_name = "FOLDER", default_value = "topics-out")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) start: StartArgs,
}

/// Flags of new.
#[derive(Clone, Debug, Args)]
pub(crate) struct NewArgs {
    #[command(flatten)]
    pub(crate) starter: StarterArgs,
    #[command(flatten)]
    pub(crate) number: TopicNumberArgs,
    /// The job file to write; its result goes to a folder of this name without `.toml`
    #[arg(short, long, value_name = "FILE", default_value = "topics-out.toml")]
    pub(crate) output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// Flags of everything that runs a job.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunArgs {
    /// The job file, or the folder of a finished result, for its job
    #[arg(value_name = "JOB")]
    pub(crate) job: PathBuf,
    /// Set a key of the job, as in `--set train.passes=5`; may be repeated, the last one wins
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Replace the output of a different configuration, instead of refusing to run
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print one JSON object per line on stdout: progress, unless --quiet, then the summary
    #[arg(long)]
    pub(crate) json: bool,
    /// The flags as typed, without the placement, for other processes; `forward` fills it in.
    #[arg(skip)]
    pub(crate) given: Vec<OsString>,
    #[command(flatten)]
    pub(crate) peers: PeerArgs,
}

/// Flags of run, ingest and train.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlacedRunArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) placement: PlacementArgs,
}

/// Where a job runs, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Where it runs")]
pub(crate) struct PlacementArgs {
    /// Threads of each process [default: the machine's cores, shared among its processes]
    #[arg(short = 'w', long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Start this many processes on this machine
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<usize>,
    /// Total number of processes, including this one
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) process_count: Option<usize>,
    /// Number of this process, from 0
    #[arg(short = 'p', long, value_name = "I")]
    pub(crate) process: Option<usize>,
    /// A file with the `host:port` of each process, one per line; `#` starts a comment
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts: Option<PathBuf>,
    /// First port on each host, if a scheduler provides the hosts [default: TOPICMILL_PORT, or 7101]
    #[arg(long, value_name = "PORT", value_parser = value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
}

impl PlacementArgs {
    /// Returns the flags that were given, except --threads.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            ("--processes", self.processes.is_some()),
            ("--process-count", self.process_count.is_some()),
            ("--process", self.process.is_some()),
            ("--hosts", self.hosts.is_some()),
            ("--port", self.port.is_some()),
        ];
        let given = flags.into_iter().filter(|(_, is_given)| *is_given);
        given.map(|(flag, _)| flag)
    }
}

/// Flags of plan.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlanArgs {
    /// The job file, or the folder of a finished result, for its job
    #[arg(value_name = "JOB")]
    pub(crate) job: PathBuf,
    /// Set a key of the job, as in `--set train.passes=5`; may be repeated, the last one wins
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print the complete job instead, with the value of every key that applies to it, as TOML
    #[arg(long, conflicts_with = "json")]
    pub(crate) resolved: bool,
    /// Print the plan as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) placement: PlacementArgs,
}

/// Flags of inspect.
#[derive(Clone, Debug, Args)]
pub(crate) struct InspectArgs {
    /// An output folder, its `model` folder, one of its table folders, or a Parquet file
    #[arg(value_name = "OUT|MODEL|TABLE")]
    pub(crate) path: PathBuf,
    /// Topics to show, the largest first; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) topics: usize,
    /// Show this topic: its terms, documents and nearest topics
    #[arg(long, value_name = "TOPIC", conflicts_with = "topics")]
    pub(crate) topic: Option<usize>,
    /// Show the topic of this label
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["topics", "topic"])]
    pub(crate) label: Option<String>,
    /// Maximum number of terms per topic [default: as many as fit, or 20 with --topic]
    #[arg(long, value_name = "N")]
    pub(crate) terms: Option<usize>,
    /// Rows to show of a table
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) rows: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl InspectArgs {
    /// Whether one topic is to be shown.
    pub(crate) fn is_of_a_topic(&self) -> bool {
        self.topic.is_some() || self.label.is_some()
    }
}

/// Flags of verify.
#[derive(Clone, Debug, Args)]
pub(crate) struct VerifyArgs {
    /// An output folder
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Print one digest of all tables' contents and the model
    #[arg(long)]
    pub(crate) digest: bool,
    /// With --digest: one line per column of each table instead, to see where two results differ
    #[arg(long, requires = "digest")]
    pub(crate) tables: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of status.
#[derive(Clone, Debug, Args)]
pub(crate) struct StatusArgs {
    /// An output folder
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Repeat every SECONDS until the run ends; 5 if no number is given
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5")]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub(crate) watch: Option<u64>,
}

/// Flags of synth.
#[derive(Clone, Debug, Args)]
pub(crate) struct SynthArgs {
    /// The folder to create
    #[arg(long, value_name = "FOLDER")]
    pub(crate) path: PathBuf,
    /// Topics to plant
    #[arg(long, value_name = "K", default_value = keys::default_of("synth.topics"))]
    pub(crate) topics: u64,
    /// Documents to write
    #[arg(long, value_name = "N", default_value = keys::default_of("synth.documents"))]
    pub(crate) documents: u64,
    /// Terms in the vocabulary
    #[arg(long, value_name = "V", default_value = keys::default_of("synth.terms"))]
    pub(crate) terms: u64,
    /// Average number of tokens in a document
    #[arg(long, value_name = "TOKENS", default_value = keys::default_of("synth.mean_length"))]
    pub(crate) mean_length: f64,
    /// Sum of the Dirichlet prior of documents' proportions: the smaller, the fewer topics per document
    #[arg(long, value_name = "A", default_value = keys::default_of("synth.alpha_sum"))]
    pub(crate) alpha_sum: f64,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value = keys::default_of("synth.seed"))]
    pub(crate) seed: u64,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print one JSON object per line on stdout: progress, unless --quiet, then the summary
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of completions.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Placeholder for this process's host in the paths of certificate and key.
const HOST: &str = "{host}";

/// How a process gets on with the others of its run, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Other processes")]
pub(crate) struct PeerArgs {
    /// Seconds within which all processes must join [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400))]
    join_timeout: Option<u64>,
    /// Seconds without data from a process after which it counts as lost [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400))]
    pub(crate) peer_timeout: Option<u64>,
    /// Seconds without progress after which a worker thread counts as stalled and the run ends;
    /// 0 disables the check [default: 1800]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(0..=86_400))]
    pub(crate) stall_timeout: Option<u64>,
    /// Seconds that the processes started by --processes or launch have to stop after SIGTERM, before they are
    /// killed [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400))]
    stop_timeout: Option<u64>,
    /// Encrypt connections: the certificate of the authority that all processes trust, PEM; needs a
    /// build with `--features tls`
    #[arg(long, value_name = "FILE", requires = "tls_cert", requires = "tls_key")]
    tls_ca: Option<PathBuf>,
    /// This process's certificate, PEM; `{host}` is replaced by its host in the host file
    #[arg(long, value_name = "FILE", requires = "tls_ca")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key, PEM; `{host}` as above
    #[arg(long, value_name = "FILE", requires = "tls_ca")]
    tls_key: Option<PathBuf>,
    /// Compress traffic between processes; pays on slow links (docs/measurements/SCALING.md)
    #[arg(long)]
    pub(crate) compress: bool,
}

impl PeerArgs {
    /// Takes over the signals of a process that waits for others, which get some time to stop.
    pub(super) fn take_over_signals(&self) -> Interrupts {
        let patience = self.stop_timeout.map(Duration::from_secs);
        Interrupts::take_over(patience.unwrap_or(DEFAULT_STOP_TIMEOUT))
    }

    /// Returns the settings of a process in the attempt `run`; warns about a secret that others can read. A
    /// process that is alone needs no secret and no certificate.
    ///
    /// # Errors
    /// The secret or a certificate cannot be read or used.
    pub(super) fn settings(
        &self,
        job: &Job,
        placement: &Placement,
        run: String,
    ) -> Result<ClusterSettings, Failure> {
        let mut settings = ClusterSettings::default();
        if let Some(seconds) = self.stall_timeout {
            settings.stall_timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
        }
        if placement.processes() == 1 {
            return Ok(settings);
        }
        let found = Secret::find(job.cluster.secret_file.as_deref())?;
        let warning = found.as_ref().and_then(|found| found.warning.as_ref());
        if let Some(warning) = warning.filter(|_| placement.process == 0) {
            super::warn(warning);
        }
        let host = placement.addresses.get(placement.process);
        let host = host.map_or("", |address| host_of(address));
        let here =
            |path: &Path| PathBuf::from(path.to_string_lossy().replace(HOST, &file_name(host)));
        let tls = match (&self.tls_ca, &self.tls_cert, &self.tls_key) {
            (Some(ca), Some(certificate), Some(key)) => {
                Some(Tls::load(ca, &here(certificate), &here(key))?)
            }
            _ => None,
        };
        let seconds = |given: Option<u64>, default| given.map_or(default, Duration::from_secs);
        Ok(ClusterSettings {
            build: env!("TOPICMILL_BUILD"),
            run,
            deadline: seconds(self.join_timeout, settings.deadline),
            peer_timeout: seconds(self.peer_timeout, settings.peer_timeout),
            secret: found.map(|found| found.secret),
            tls,
            compress: self.compress,
            ..settings
        })
    }
}
