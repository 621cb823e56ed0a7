//! The flags of project.

use clap::Args;

use super::RunArgs;

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
    /// `-` means --stdin
    #[arg(value_name = "-", value_parser = ["-"], hide_possible_values = true, help_heading = HEADING)]
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
const HEEDED: [&str; 3] = ["--set", "--budget", "--quiet"];

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
        let place = self.run.placement.given().next();
        place.map(str::to_owned).or(idle)
    }
}
