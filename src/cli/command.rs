//! The subcommands, and what `--help` says of them.

use clap::{CommandFactory, Parser, Subcommand};

use super::Failure;
use super::add::{self, AddArgs};
use super::args::{
    CompletionsArgs, InspectArgs, NewArgs, PlacedRunArgs, PlanArgs, StatusArgs, SynthArgs,
    TopicsArgs, VerifyArgs,
};
use super::compare::{self, CompareArgs};
use super::constrain::{self, ConstrainArgs};
use super::evaluate::{self, EvaluateArgs};
use super::export::{self, ExportArgs};
use super::follow::{self, FollowArgs};
use super::history::{self, HistoryArgs};
use super::launch::{self, LaunchArgs};
use super::project_stream::{self, ProjectArgs};
use super::remove::{self, RemoveArgs};
use super::report::{self, ReportArgs};
use super::retrain::{self, RetrainArgs};
use super::sweep::{self, SweepArgs};
use super::take::{self, TakeArgs};

/// The version, and the build, which all processes of a run must share.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (build ", env!("TOPICMILL_BUILD"), ")");

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

/// The part of `--help` about exit codes (`mesh::Exit`).
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
    #[command(after_help = TOPICS_EXAMPLES)]
    Topics(TopicsArgs),
    /// Write a commented job file for an input
    #[command(after_help = NEW_EXAMPLES)]
    New(NewArgs),
    /// Run a job: ingest, train, project, write the tables
    #[command(after_help = RUN_EXAMPLES)]
    Run(PlacedRunArgs),
    /// Ingest only: documents to bags of words, with the vocabulary
    #[command(after_help = STAGE_EXAMPLES)]
    Ingest(PlacedRunArgs),
    /// Train only, on an ingested corpus
    #[command(after_help = STAGE_EXAMPLES)]
    Train(PlacedRunArgs),
    /// Project only, with a trained model: every document, or a stream of new ones
    #[command(after_help = project_stream::EXAMPLES)]
    Project(ProjectArgs),
    /// Add documents to a finished result, with its model
    #[command(after_help = add::EXAMPLES)]
    Add(AddArgs),
    /// Add files to a finished result as they arrive
    #[command(after_help = follow::EXAMPLES)]
    Follow(FollowArgs),
    /// Remove documents from a finished result
    #[command(after_help = remove::EXAMPLES)]
    Remove(RemoveArgs),
    /// Train a finished result again, from its model, on the documents that it has now
    #[command(after_help = retrain::EXAMPLES)]
    Retrain(RetrainArgs),
    /// List the changes of a result, and how well its model fits what came
    #[command(after_help = history::EXAMPLES)]
    History(HistoryArgs),
    /// Measure a job's model, or an external one, on documents of its collection
    #[command(after_help = evaluate::EXAMPLES)]
    Evaluate(EvaluateArgs),
    /// Train several numbers of topics with several seeds, and compare them
    #[command(after_help = sweep::EXAMPLES)]
    Sweep(SweepArgs),
    /// Make a result of one model of a sweep: infer the topics of all documents
    #[command(after_help = take::EXAMPLES)]
    Take(TakeArgs),
    /// Run a job on the hosts of a host file; restart it when a process is lost
    #[command(after_help = launch::EXAMPLES)]
    Launch(LaunchArgs),
    /// Show what a job would do, without running it
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Show a result's topics, a model, or a table's columns
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Correct a finished model: words that belong together, or do not, or have several senses
    #[command(after_help = constrain::EXAMPLES)]
    Constrain(ConstrainArgs),
    /// Write a result in another program's format: MALLET's state, pyLDAvis, a wide table
    #[command(after_help = export::EXAMPLES)]
    Export(ExportArgs),
    /// Compare two results: which topics are the same, and how similar the documents are
    #[command(after_help = compare::EXAMPLES)]
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
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
}

const TOPICS_EXAMPLES: &str = "\
Examples:
  topicmill topics texts/                                        every file is a document
  topicmill topics articles.csv --text body --id doi --topics 100
  topicmill topics 'logs/**/*.jsonl.zst' --output out/logs --language de
  zcat articles.jsonl.gz | topicmill topics - --stop-words en --stop-words ./our-words.txt

Detects formats, columns and language from the first records, and reports them. The job that was run
is written beside the output: to change a setting, edit OUTPUT.toml and
`topicmill run OUTPUT.toml --overwrite`.

Standard input is JSON, CSV or TSV with a header, Parquet, Arrow, or one document per line.";

const NEW_EXAMPLES: &str = "\
Examples:
  topicmill new texts/
  topicmill new articles.csv --output articles.toml --topics 100

Writes the job that `topicmill topics` would run, without running it.";

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

const INSPECT_EXAMPLES: &str = "\
Examples:
  topicmill inspect out/quickstart                            the tables and the topics
  topicmill inspect out/quickstart --topic 7                  its terms, documents and neighbours
  topicmill inspect out/labels --label 7                      the same for a label (jobs/labels.toml)
  topicmill inspect out/quickstart/model                      the model's settings and size
  topicmill inspect out/quickstart/document_topics --rows 20  the columns and the first rows";

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

const COMPLETIONS_EXAMPLES: &str = "\
Example:
  topicmill completions bash > ~/.local/share/bash-completion/completions/topicmill";

/// Prints the completion script of a shell.
///
/// # Errors
/// stdout cannot be written.
pub(super) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "topicmill", &mut script);
    super::print(&String::from_utf8_lossy(&script))
}
