//! `topicmill project JOB --stdin`: answers documents as they arrive.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;

use super::args::{PlacementArgs, RunArgs};
use super::placement::JobPlacement;
use super::{Exit, Failure, figures};
use crate::result::OpenedResult;
use crate::serve::{self, StreamModel, StreamOptions, StreamSummary};
use mesh::guard;
use mesh::interrupt::{self, Words};

pub(super) const EXAMPLES: &str = "\
The stages, in order; each reads the previous one's result from disk:
  topicmill ingest  jobs/newsgroups.toml
  topicmill train   jobs/newsgroups.toml
  topicmill project jobs/newsgroups.toml

`topicmill run` does all three.

Examples of a stream, with a trained model; JOB may be the folder of a finished result:
  topicmill project jobs/newsgroups.toml --stdin < new.jsonl > topics.jsonl
  tail -n 0 -f new.jsonl | topicmill project out/newsgroups -

Each line of standard input is a JSON object with the keys that the job names, and is answered by a
line on standard output, in order and at once.";

/// Flags of project: those of run, and where documents come from.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProjectArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) placement: PlacementArgs,
    /// `-` means --stdin
    #[arg(value_name = "-", help_heading = HEADING)]
    pub(crate) dash: Option<String>,
    /// Project JSON Lines from standard input, and answer on standard output
    #[arg(long, help_heading = HEADING)]
    pub(crate) stdin: bool,
    /// Exit with 65 at the first invalid line, instead of answering it
    #[arg(long, help_heading = HEADING)]
    pub(crate) strict: bool,
}

const HEADING: &str = "A stream of documents";

/// Flags of run that a stream accepts. It also accepts --threads, a flag of placement.
const HEEDED: [&str; 2] = ["--set", "--quiet"];

impl ProjectArgs {
    /// Whether documents come from standard input.
    pub(crate) fn is_stream(&self) -> bool {
        self.stdin || self.dash.is_some() || self.strict
    }

    /// Returns a given flag that a stream does not accept.
    pub(crate) fn idle(&self) -> Option<String> {
        // The other flags as typed; positional arguments follow `--`.
        let typed = self.run.given.iter().map(|word| word.to_string_lossy());
        let mut typed = typed.take_while(|word| word != "--");
        let idle = typed.find_map(|word| {
            let name = word.split('=').next().unwrap_or_default().to_owned();
            (!HEEDED.contains(&name.as_str())).then_some(name)
        });
        let place = self.placement.given().next();
        place.map(str::to_owned).or(idle)
    }
}

/// The messages for signals: a stream that has ended cannot be resumed.
const SIGNAL_WORDS: Words = Words {
    deferred: "stopping once the lines already read are answered",
    ended: "the lines already read were answered",
};

/// Answers every document of standard input on standard output.
///
/// # Errors
/// A flag applies only to a run; the job or the result is unusable; any error that ends the stream.
pub(super) fn run(args: &ProjectArgs) -> Result<(), Failure> {
    if !args.stdin && args.dash.is_none() {
        let failure = Failure::usage("--strict applies only to a stream");
        return Err(failure.help("add --stdin"));
    }
    if let Some(file) = args.dash.as_deref().filter(|file| *file != "-") {
        let failure = Failure::usage(format!("{file}: documents are read from standard input"));
        let job = args.run.job.display();
        return Err(failure.help(format!("topicmill project {job} --stdin < {file}")));
    }
    if let Some(flag) = args.idle() {
        let message = format!("{flag} cannot be used with --stdin");
        let failure = Failure::usage(message);
        return Err(failure.help("--stdin accepts -w, --set, --strict and --quiet"));
    }
    interrupt::set_words(SIGNAL_WORDS);
    let (job, result) = OpenedResult::with_job(&args.run.job, &args.run.set)?;
    let model = Arc::new(StreamModel::load(&job, &result)?);
    let options = StreamOptions {
        threads: JobPlacement::independent_threads(args.placement.threads)?,
        strict: args.strict,
    };
    let started = Instant::now();
    let summary = serve::run(model, io::stdin(), io::stdout(), options).map_err(told_once)?;
    if !args.run.quiet && !summary.is_cut_short {
        super::say(&report(&summary, started.elapsed().as_secs_f64()));
    }
    Ok(())
}

/// Ends the process if a signal has ended the stream: the signal handler may do so at the same
/// time, and only one of the two should report it.
fn told_once(error: Failure) -> Failure {
    if error.exit == Exit::Interrupted {
        guard::fail(error.into());
    }
    error
}

/// Summarizes the stream in one line.
fn report(summary: &StreamSummary, seconds: f64) -> String {
    let per_second = summary.documents as f64 / seconds.max(1e-9);
    let bad = match summary.bad {
        0 => String::new(),
        bad => format!(" ({} of them invalid)", figures::grouped(bad)),
    };
    format!(
        "{}{bad}, {}, {per_second:.1} documents/s",
        figures::counted(summary.documents, "document"),
        figures::counted(summary.tokens, "token"),
    )
}
