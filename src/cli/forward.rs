//! The flags that are passed on to other processes of the run: every flag that was typed, except those that
//! say where it runs. Derived from clap's own list, so that no flag can be forgotten.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command as Clap};

use super::args::{PlacementArgs, RunArgs};
use super::command::{Cli, Command};
use super::evaluate::EvaluateArgs;

/// Stores the typed flags in the arguments of a run.
pub(super) fn note(cli: &mut Cli, matches: &ArgMatches) {
    let Some((_, matches)) = matches.subcommand() else {
        return;
    };
    let mut forwarded = forwarded::<RunArgs>();
    let args = match &mut cli.command {
        Command::Evaluate(args) => {
            forwarded = self::forwarded::<EvaluateArgs>();
            &mut args.run
        }
        Command::Run(args) | Command::Ingest(args) | Command::Train(args) => &mut args.run,
        Command::Project(args) => &mut args.run,
        Command::Launch(args) => &mut args.run,
        _ => return,
    };
    args.given = given(matches, forwarded);
}

/// Returns the flags of `forwarded` in `matches`, then the positional arguments.
fn given(matches: &ArgMatches, forwarded: Vec<Arg>) -> Vec<OsString> {
    let (mut flags, mut others) = (Vec::new(), vec![OsString::from("--")]);
    for arg in forwarded {
        let id = arg.get_id().as_str();
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        match arg.get_long() {
            None => others.extend(values.map(ToOwned::to_owned)),
            Some(name) if arg.get_action().takes_values() => flags.extend(values.map(|value| {
                let mut flag = OsString::from(format!("--{name}="));
                flag.push(value);
                flag
            })),
            Some(name) => flags.push(format!("--{name}").into()),
        }
    }
    flags.extend(others);
    flags
}

/// Returns the arguments of a command that other processes get: all but its placement, which differs between
/// processes or is computed by the process that starts the others.
fn forwarded<A: Args>() -> Vec<Arg> {
    let run = A::augment_args(Clap::new("run"));
    let place = PlacementArgs::augment_args(Clap::new("place"));
    let is_place = |arg: &&Arg| place.get_arguments().any(|it| it.get_id() == arg.get_id());
    run.get_arguments().filter(|arg| !is_place(arg)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use clap::{CommandFactory, FromArgMatches};

    use super::*;

    /// Candidate values; each argument accepts one of them.
    const SAMPLES: [&str; 4] = ["7", "section.key=a b", "127.0.0.1:7", "fast"];

    /// Parses `topicmill COMMAND WORDS` as `run` does.
    fn parse(command: &[&str], words: &[OsString]) -> Result<RunArgs, ErrorKind> {
        let start = command.iter().map(OsString::from);
        let words: Vec<OsString> = start.chain(words.iter().cloned()).collect();
        let matches = Cli::command().try_get_matches_from(words);
        let matches = matches.map_err(|error| error.kind())?;
        let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.kind())?;
        note(&mut cli, &matches);
        match cli.command {
            Command::Run(args) => Ok(args.run),
            Command::Launch(args) => Ok(args.run),
            _ => panic!("neither run nor launch"),
        }
    }

    /// Returns the ways in which `arg` may be typed.
    fn typed(arg: &Arg) -> Vec<OsString> {
        let samples = SAMPLES.iter();
        match arg.get_long() {
            None => samples.map(OsString::from).collect(),
            Some(name) if arg.get_action().takes_values() => {
                samples.map(|sample| format!("--{name}={sample}").into()).collect()
            }
            Some(name) => vec![format!("--{name}").into()],
        }
    }

    /// Returns command lines that together have every argument, each as many as are compatible.
    fn lines() -> Vec<Vec<OsString>> {
        let mut lines: Vec<Vec<OsString>> = vec![Vec::new()];
        for arg in forwarded::<RunArgs>() {
            let fits = |line: &Vec<OsString>| {
                let with = |word| [line.clone(), vec![word]].concat();
                let is_fine = |line: &Vec<OsString>| {
                    let kind = parse(&["topicmill", "run"], line).err();
                    // Required arguments may come later.
                    kind.is_none_or(|kind| kind == ErrorKind::MissingRequiredArgument)
                };
                typed(&arg).into_iter().map(with).find(is_fine)
            };
            let place = (0..lines.len()).find_map(|at| Some((at, fits(&lines[at])?)));
            match place {
                Some((at, longer)) => lines[at] = longer,
                None => {
                    let own = fits(&vec!["job.toml".into()]);
                    lines.push(own.expect("a sample that the argument takes"));
                }
            }
        }
        lines
    }

    #[test]
    fn every_argument_of_run_reaches_the_other_processes() {
        let lines = lines();
        let words: usize = lines.iter().map(Vec::len).sum();
        // Each line has the job, which is counted once.
        assert_eq!(words, forwarded::<RunArgs>().len() + lines.len() - 1, "{lines:?}");
        for line in lines {
            let launch = ["topicmill", "launch", "--hosts", "hosts.txt"];
            for command in [&["topicmill", "run"][..], &launch] {
                let args = parse(command, &line).expect("a whole line");
                let again = parse(&["topicmill", "run"], &args.given);
                let again = again.expect("what is passed on can be read");
                assert_eq!(format!("{again:?}"), format!("{args:?}"));
            }
        }
    }

    #[test]
    fn nothing_is_passed_on_that_was_not_typed() {
        let words = ["-w", "3", "--set", "a.b=-1", "--", "-odd.toml"].map(OsString::from);
        let args = parse(&["topicmill", "run"], &words).expect("it is whole");
        assert_eq!(args.given, ["--set=a.b=-1", "--", "-odd.toml"]);
    }
}
