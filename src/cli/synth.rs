//! `topicmill synth --path FOLDER`: a corpus with planted topics.

use std::sync::Arc;

use serde_json::json;
use toml::Value;

use super::args::SynthArgs;
use super::{Display, Failure, figures, plan};
use crate::config::SynthStage;
use crate::observe::{ProcessStatus, Progress, Watch, screen};
use corpus::synth::{SynthSummary, synthesize};

/// Generates the corpus.
///
/// # Errors
/// The flags are wrong; the folder contains something else, or cannot be written.
pub(super) fn run(args: &SynthArgs) -> Result<(), Failure> {
    let stage = checked(args)?;
    let display = Display::choose(args.quiet, args.json);
    let made = make(&stage, display)?;
    match display {
        Display::Quiet => Ok(()),
        Display::Json | Display::QuietJson => super::print_json(&json_of(&stage, &made)),
        Display::Plain | Display::Bar => super::print(&plan::rows(&rows_of(&stage, &made))),
    }
}

/// Generates the corpus that `stage` describes, and shows the progress.
///
/// # Errors
/// See [`synthesize`].
pub(super) fn make(stage: &SynthStage, display: Display) -> Result<SynthSummary, Failure> {
    let progress = Arc::new(Progress::default());
    progress.begin("synth", "documents", Some(stage.settings.documents));
    let looked = Arc::clone(&progress);
    let look = move || looked.status(&ProcessStatus::default(), false);
    let screen = Watch::start(look, None, screen::of(display, super::prefix()));
    let made = synthesize(&stage.settings, &stage.path, &mut |n| progress.set(n));
    drop(screen);
    Ok(made?)
}

fn rows_of(stage: &SynthStage, made: &SynthSummary) -> Vec<(&'static str, String)> {
    let state = if made.reused { ", already made" } else { "" };
    let corpus = format!(
        "{} documents with {} tokens in total, {} topics planted{state}",
        figures::grouped(made.documents),
        figures::grouped(made.tokens),
        figures::grouped(stage.settings.topics as u64),
    );
    let files = figures::counted(made.files, "file");
    let input = format!("{} ({files}, {})", stage.input(), figures::bytes(made.bytes));
    let answer = stage.path.join("answer/topics.tsv");
    vec![("corpus", corpus), ("input", input), ("answer", answer.display().to_string())]
}

fn json_of(stage: &SynthStage, made: &SynthSummary) -> serde_json::Value {
    let mut json = json!(made);
    json["reused"] = made.reused.into();
    json["path"] = json!(stage.path);
    json["input"] = stage.input().into();
    json["answer"] = json!(stage.path.join("answer"));
    json
}

/// Checks the flags as section `[synth]` of a job.
fn checked(args: &SynthArgs) -> Result<SynthStage, Failure> {
    let whole = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let flags = vec![
        ("topics", whole(args.topics)),
        ("documents", whole(args.documents)),
        ("terms", whole(args.terms)),
        ("mean_length", Value::Float(args.mean_length)),
        ("alpha_sum", Value::Float(args.alpha_sum)),
        ("seed", whole(args.seed)),
    ];
    SynthStage::from_flags(&args.path, flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    use crate::cli::{Cli, Command};

    fn parsed(line: &str) -> Result<SynthStage, Failure> {
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("well-formed");
        let Command::Synth(args) = cli.command else { panic!("not synth") };
        checked(&args)
    }

    #[test]
    fn flags_are_checked_like_a_job() {
        let stage =
            parsed("topicmill synth --path out --topics 7 --mean-length 30").expect("valid");
        assert_eq!((stage.settings.topics, stage.settings.mean_length), (7, 30.0));
        let failure = parsed("topicmill synth --path out --mean-length 0").expect_err("refused");
        assert_eq!(
            failure.to_string(),
            "--mean-length 0.0: `synth.mean_length` is 0.0, but must be a number above 0, at most 1000000000"
        );
    }
}
