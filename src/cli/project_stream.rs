//! `topicmill project JOB --stdin`: answers documents as they arrive.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::args::ProjectArgs;
use super::placement::Placement;
use super::{Exit, Failure, figures};
use crate::stream::{self, Options, Source, StreamModel, Summary};
use mesh::guard;
use mesh::interrupt::{self, Words};

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
    if let Some(flag) = args.idle() {
        let message = format!("{flag} cannot be used with --stdin");
        let failure = Failure::usage(message);
        return Err(failure.help("--stdin accepts -w, --set, --budget, --strict and --quiet"));
    }
    interrupt::set_words(SIGNAL_WORDS);
    let source = Source::find(&args.run.job, &args.run.overrides())?;
    let model = Arc::new(StreamModel::load(&source)?);
    let options = Options {
        threads: Placement::here(args.run.placement.threads)?.threads(),
        strict: args.strict,
    };
    let started = Instant::now();
    let summary = stream::run(model, io::stdin(), io::stdout(), options).map_err(told_once)?;
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
fn report(summary: &Summary, seconds: f64) -> String {
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
