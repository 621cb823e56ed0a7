//! The flags as typed; `placement` and `job` check their meaning. Flattened fields are not public: they would
//! need a doc comment, which clap would turn into help text.

mod constrain;
mod evaluate;
mod export;
mod inspect;
mod launch;
mod project;
mod report;
mod similar;
mod starter;
mod watching;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use super::peers::PeerArgs;
use crate::job::keys;
pub(crate) use watching::WatchingArgs;

pub(crate) use constrain::{ConstrainArgs, Unassign};
pub(crate) use evaluate::EvaluateArgs;
pub(crate) use export::ExportArgs;
pub(crate) use inspect::{CompareArgs, InspectArgs};
pub(crate) use launch::LaunchArgs;
pub(crate) use project::ProjectArgs;
pub(crate) use report::ReportArgs;
pub(crate) use similar::SimilarArgs;
pub(crate) use starter::{NewArgs, StartArgs, StarterArgs, TopicsArgs};

/// The version, and the build, which all processes of a run must share.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (build ",
    env!("TOPICMILL_BUILD"),
    ")"
);

/// The version, with the commit and the features of the build.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (build ",
    env!("TOPICMILL_BUILD"),
    ")\ncommit: ",
    env!("TOPICMILL_COMMIT"),
    "\nfeatures: ",
    env!("TOPICMILL_FEATURES")
);

/// The part of `--help` about exit codes (`mesh::exit`).
const EXIT_CODES: &str = "\
Exit codes:
    0  done, or already done
   64  the command line or the job file is wrong; nothing was done
   65  the input or a stored result is wrong
   69  another process or host is unreachable or was lost; a worker stalled
   70  a bug in topicmill; please report it
   74  reading or writing failed
   75  a temporary failure; the same command may succeed later
  137  a process was killed; rerun to resume
  143  stopped (SIGTERM, SIGINT); rerun to resume";

/// Topic models for collections that are too large for other tools.
///
/// A job file says what to read, how many topics to train, and where to write. The same job writes
/// the same bytes on one thread, on all cores, and on many hosts.
#[derive(Debug, Parser)]
#[command(name = "topicmill", version = VERSION, long_version = LONG_VERSION, after_help = EXIT_CODES)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the topics of files, folders or standard input, without a job file
    #[command(after_help = starter::TOPICS_EXAMPLES)]
    Topics(TopicsArgs),
    /// Write a commented job file for an input
    #[command(after_help = starter::NEW_EXAMPLES)]
    New(NewArgs),
    /// Run a job: ingest, train, project, write the tables
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Ingest only: documents to bags of words, with the vocabulary
    #[command(after_help = STAGE_EXAMPLES)]
    Ingest(RunArgs),
    /// Train only, on an ingested corpus
    #[command(after_help = STAGE_EXAMPLES)]
    Train(RunArgs),
    /// Project only, with a trained model: every document, or a stream of new ones
    #[command(after_help = project::EXAMPLES)]
    Project(ProjectArgs),
    /// Measure a job's model, or an external one, on documents of its collection
    #[command(after_help = evaluate::EXAMPLES)]
    Evaluate(EvaluateArgs),
    /// Run a job on the hosts of a host file; restart it when a process is lost
    #[command(after_help = launch::EXAMPLES)]
    #[command(mut_arg("hosts", |arg| arg.required(true)))]
    #[command(mut_args(launch::hide_place))]
    Launch(LaunchArgs),
    /// Show what a job would do, without running it
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Show a result's topics, a model, or a table's columns
    #[command(after_help = inspect::EXAMPLES)]
    Inspect(InspectArgs),
    /// Correct a finished model: words that belong together, or do not, or have several senses
    #[command(after_help = constrain::EXAMPLES)]
    Constrain(ConstrainArgs),
    /// List the documents nearest to a document, a topic or a text
    #[command(after_help = similar::EXAMPLES)]
    Similar(SimilarArgs),
    /// Write a result in another program's format: MALLET, pyLDAvis, gensim, NumPy
    #[command(after_help = export::EXAMPLES)]
    Export(ExportArgs),
    /// Compare two results: which topics are the same, and how similar the documents are
    #[command(after_help = inspect::COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Write an HTML report of a result: topics, map, trends, documents, figures
    #[command(after_help = report::EXAMPLES)]
    Report(ReportArgs),
    /// Check a result against its manifest
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Show the progress of a run, from its output folder
    #[command(after_help = STATUS_EXAMPLES)]
    Status(StatusArgs),
    /// Generate a corpus with planted topics
    #[command(after_help = SYNTH_EXAMPLES)]
    Synth(SynthArgs),
    /// Create certificates for the hosts of a run, to encrypt its connections
    #[command(after_help = CERTIFICATES_EXAMPLES)]
    Certificates(CertificatesArgs),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  topicmill run jobs/quickstart.toml
  topicmill run jobs/newsgroups.toml -w 4 --set model.topics=50 --set output.path=out/fifty
  topicmill run jobs/library.toml --processes 2 -w 8
  topicmill run jobs/library.toml -n 2 -p 0 --hosts hosts.txt     on the first host
  topicmill run jobs/library.toml -n 2 -p 1 --hosts hosts.txt     on the second
  srun topicmill run jobs/library.toml                            SLURM provides the rest

Without -n, -p, --hosts and --processes, rank and hosts come from the environment: SLURM, Open MPI,
PMI, RANK and WORLD_SIZE, Kubernetes, or TOPICMILL_HOSTS and TOPICMILL_PROCESS.

A stage whose result is complete is skipped; a run that was killed resumes.";

const STAGE_EXAMPLES: &str = "\
The stages, in order; each reads the previous one's result from disk:
  topicmill ingest  jobs/newsgroups.toml
  topicmill train   jobs/newsgroups.toml
  topicmill project jobs/newsgroups.toml

`topicmill run` does all three.";

const PLAN_EXAMPLES: &str = "\
Examples:
  topicmill plan jobs/library.toml --processes 4 -w 8
  topicmill plan jobs/newsgroups.toml --resolved > complete.toml";

const VERIFY_EXAMPLES: &str = "\
Examples:
  topicmill verify out/quickstart
  topicmill verify out/quickstart --digest

The digest covers the contents of all tables and the model, not their layout in files; runs of the
same job have the same digest on any number of threads, processes and hosts.";

const STATUS_EXAMPLES: &str = "\
Example:
  topicmill status out/library";

const SYNTH_EXAMPLES: &str = "\
Examples:
  topicmill synth --path out/planted-corpus
  topicmill synth --path out/large --documents 1000000 --topics 100 --terms 20000

Creates a folder with documents-00000.jsonl, … (`id`, `topic` and `text`) and, in answer/, the
planted topics, so that a model can be checked against them. A finished folder is reused.";

const CERTIFICATES_EXAMPLES: &str = "\
Example:
  topicmill certificates --hosts hosts.txt --out certificates

Creates ca.pem, and HOST.pem and HOST.key for each host. The authority's key is not kept: to add a
host, create all certificates again. Connections also need a secret.

This needs a build with `--features tls`; `topicmill --version` lists the features of your build.";

const COMPLETIONS_EXAMPLES: &str = "\
Example:
  topicmill completions bash > ~/.local/share/bash-completion/completions/topicmill";

/// Flags of run, ingest, train and project.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunArgs {
    /// The job file, or the folder of a finished result, for its job
    #[arg(value_name = "JOB")]
    pub(crate) job: PathBuf,
    /// Set a key of the job, as in `--set train.passes=5`; may be repeated, the last one wins
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// How much time to spend on a document's topics: sets `project.budget`
    #[arg(long, value_name = "BUDGET", value_parser = ["fast", "balanced", "thorough"])]
    pub(crate) budget: Option<String>,
    /// Replace the output of a different configuration, instead of refusing to run
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print one JSON object per line on stdout: progress, unless --quiet, then the summary
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) placement: PlacementArgs,
    /// The flags as typed, without the placement, for other processes; `forward` fills it in.
    #[arg(skip)]
    pub(crate) given: Vec<OsString>,
    #[command(flatten)]
    pub(crate) peers: PeerArgs,
    #[command(flatten)]
    pub(crate) watching: WatchingArgs,
}

impl RunArgs {
    /// Returns the job keys that the command line sets, as `section.key=value`; later ones win.
    pub(crate) fn overrides(&self) -> Vec<String> {
        let budget = self.budget.iter();
        let budget = budget.map(|budget| format!("project.budget={budget}"));
        budget.chain(self.set.iter().cloned()).collect()
    }
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
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
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
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
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
    /// Zipf exponent of the terms' frequencies
    #[arg(long, value_name = "S", default_value = keys::default_of("synth.zipf"))]
    pub(crate) zipf: f64,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value = keys::default_of("synth.seed"))]
    pub(crate) seed: u64,
    /// Use the words in this file, one per line, instead of generated ones
    #[arg(long, value_name = "FILE")]
    pub(crate) words: Option<PathBuf>,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print one JSON object per line on stdout: progress, unless --quiet, then the summary
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of certificates.
#[derive(Clone, Debug, Args)]
pub(crate) struct CertificatesArgs {
    /// A file with the `host:port` of each process, one per line; `#` starts a comment
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts: PathBuf,
    /// The folder to write to; nothing in it is overwritten
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// Days until the certificates expire
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) days: u32,
}

/// Flags of completions.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}
