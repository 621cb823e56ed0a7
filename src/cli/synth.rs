//! `topicmill synth FILE`: a corpus with planted topics.

use toml::Value;

use super::Failure;
use super::args::SynthArgs;
use crate::job::SynthStage;

/// Makes the corpus.
///
/// # Errors
/// The flags are wrong; the file cannot be written.
pub(super) fn run(args: &SynthArgs) -> Result<(), Failure> {
    let stage = checked(args)?;
    Err(super::not_connected(&format!(
        "making {}",
        stage.path.display()
    )))
}

/// The flags, checked as section `[synth]` of a job is.
fn checked(args: &SynthArgs) -> Result<SynthStage, Failure> {
    let whole = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let mut flags = vec![
        ("topics", whole(args.topics)),
        ("documents", whole(args.documents)),
        ("terms", whole(args.terms)),
        ("mean_length", Value::Float(args.mean_length)),
        ("alpha_sum", Value::Float(args.alpha_sum)),
        ("zipf", Value::Float(args.zipf)),
        ("seed", whole(args.seed)),
    ];
    let words = args
        .words
        .as_ref()
        .map(|words| words.to_string_lossy().into_owned());
    flags.extend(words.map(|words| ("words", Value::String(words))));
    Ok(SynthStage::from_flags(&args.path, flags)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    use crate::cli::{Cli, Command};

    fn parsed(line: &str) -> Result<SynthStage, Failure> {
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("well-formed");
        let Command::Synth(args) = cli.command else {
            panic!("not synth")
        };
        checked(&args)
    }

    #[test]
    fn flags_are_checked_like_a_job() {
        let stage = parsed("topicmill synth out.jsonl --topics 7 --mean-length 30").expect("valid");
        assert_eq!(
            (stage.settings.topics, stage.settings.mean_length),
            (7, 30.0)
        );
        let failure = parsed("topicmill synth out.jsonl --mean-length 0").expect_err("refused");
        assert_eq!(
            failure.error.to_string(),
            "--mean-length 0.0: `synth.mean_length` is 0.0, but must be a number above 0"
        );
    }
}
