//! `topicmill constrain OUT`: corrects a finished model with a person's knowledge of words (Hu, Boyd-Graber &
//! Satinoff 2011).

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, value_parser};

use super::Failure;
use super::args::StartArgs;
use super::beside::{named, write_beside};
use super::starter::job_file;
use super::topics::{check_free, refuse_other_job, start};
use crate::config::{Job, Template, keys};
use crate::knowledge::constraints::{Constraint, check};
use crate::knowledge::{Content, Kind, Knowledge, Pruned, read};
use crate::result::OpenedResult;
use store::is_remote;

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill constrain out/news --merge 'hockey, nhl, puck'
  topicmill constrain out/news --split 'drive: scsi, disk | car, engine' --separate 'israel, turkey'
  topicmill constrain out/news --file words.txt --output out/better

Topics keep their numbers, and only documents that contain these words are sampled again. Writes the
new result to FOLDER, its job to FOLDER.toml, and all its constraints to FOLDER.txt. To change them,
edit FOLDER.txt and `topicmill run FOLDER.toml --overwrite`; to add to them, repeat constrain on the
new result.";

/// Whose assignments are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unassign {
    /// None: the senses of a word share evenly what it had in each topic
    Nothing,
    /// Those of the words
    Terms,
    /// Those of all words in the documents that contain one of them
    Documents,
    /// All: trains a new model, with the constraints
    All,
}

/// Flags of constrain.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConstrainArgs {
    /// The folder of a finished result
    #[arg(value_name = "OUT")]
    pub(crate) result: PathBuf,
    /// Words that belong together, as in 'king, queen'; may be repeated
    #[arg(long, value_name = "WORDS")]
    pub(crate) merge: Vec<String>,
    /// Words that do not belong together, any two of them; may be repeated; not with --unassign nothing
    #[arg(long, value_name = "WORDS")]
    pub(crate) separate: Vec<String>,
    /// A word with several senses and words that identify each, as in 'bank: money | river'; may be repeated
    #[arg(long, value_name = "SENSES")]
    pub(crate) split: Vec<String>,
    /// A list of linked words, as in docs/TREES.md
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Whose assignments are forgotten
    #[arg(long, value_name = "WHAT", value_enum, default_value = "terms")]
    pub(crate) unassign: Unassign,
    /// Passes over the documents that contain these words
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(1..))]
    pub(crate) passes: u32,
    /// How close merged words are: `tree.must_link`
    #[arg(long, value_name = "TOKENS")]
    #[arg(help = format!("How close words that belong together are, in tokens [default: the result's, or {}]", keys::default_of("tree.must_link")))]
    pub(crate) strength: Option<f64>,
    /// The folder of the new result [default: OUT-constrained, then OUT-constrained-2]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) start: StartArgs,
}

/// Keys of `[train]` that the new job keeps; the others apply to training from a random start.
const KEPT: [&str; 3] = ["train.sample_mib", "train.checkpoint_every", "train.checkpoint_minutes"];

/// Writes all constraints and a job that applies them to the result, and runs the job.
///
/// # Errors
/// The flags are wrong; there is no finished result; its vocabulary lacks the words, or its prior is a tree of
/// another kind; any error that ends a run.
pub(super) fn run(args: &ConstrainArgs) -> Result<(), Failure> {
    let result = &args.result;
    if is_remote(result) {
        let message = format!("{}: must be a folder on this machine", result.display());
        return Err(Failure::usage(message).help("copy the result here first"));
    }
    super::check_finished(result)?;
    let output = args.output.clone();
    let output = output.unwrap_or_else(|| next_output(&named(result)));
    let path = job_file(&output);
    check_free(&output, args.start.overwrite)?;
    let list = path.with_extension("txt");
    let finished = Job::load(result, &[])?;
    if finished.corpus.labels.is_some() {
        let message =
            format!("{}: its topics are labels, which cannot be corrected", result.display());
        return Err(Failure::usage(message).help("change the labels of the documents"));
    }
    if let Some(other) = &finished.model_from {
        let message = format!("{}: its model is that of {}", result.display(), other.display());
        let help = "correct that result, and name the corrected one in model.from";
        return Err(Failure::usage(message).help(help));
    }
    let new = asked(args)?;
    let pruned = fit(result, &finished, &new)?;
    if pruned.unknown_words > 0 {
        // They would be dropped silently.
        return Err(unknown_words(result, &pruned, &new));
    }
    let mut all = known(&finished)?;
    for constraint in new {
        if !all.contains(&constraint) {
            all.push(constraint);
        }
    }
    fit(result, &finished, &all)?;
    // By its first line, a folder with the list is read without it.
    let heading = format!("# After a change: topicmill run {} --overwrite\n", path.display());
    let lines = all.iter().map(|one| format!("{one}\n"));
    let text: String = std::iter::once(heading).chain(lines).collect();
    write_beside(&list, text.as_bytes(), args.start.overwrite)?;
    let mut template = template(args, &finished, &output, &list)?;
    template.say(format!(
        "The result in {}, corrected by the constraints in {}. Run it with: topicmill run {}",
        result.display(),
        list.display(),
        path.display()
    ));
    let job = template.job(&path)?;
    if !args.start.overwrite {
        refuse_other_job(&job)?;
    }
    write_beside(&path, template.to_toml().as_bytes(), args.start.overwrite)?;
    start(job, path, args.start)
}

/// Explains which constraints name words that the vocabulary lacks.
fn unknown_words(result: &Path, pruned: &Pruned, new: &[Constraint]) -> Failure {
    let message = format!("{}: {pruned}", result.display());
    let names_one = |constraint: &&Constraint| {
        let text = constraint.to_string();
        let mut words = text.split([':', ',', '|']).map(str::trim);
        words.any(|word| pruned.examples.iter().any(|example| example == word))
    };
    let lines: Vec<_> = new.iter().filter(names_one).map(Constraint::to_string).collect();
    Failure::usage(message).help(format!(
        "name words as the vocabulary has them, or leave them out: {}",
        lines.join("; ")
    ))
}

/// Returns the folder beside a result for its corrected model: `news-constrained`, then `news-constrained-2`.
fn next_output(result: &Path) -> PathBuf {
    const ENDING: &str = "-constrained";
    let name = result.file_name().unwrap_or("out".as_ref());
    let name = name.to_string_lossy();
    let next = match name.rsplit_once(ENDING) {
        Some((_, "")) => format!("{name}-2"),
        Some((first, number)) if number.starts_with('-') && number[1..].parse::<u32>().is_ok() => {
            let number: u32 = number[1..].parse().unwrap_or(1);
            format!("{first}{ENDING}-{}", u64::from(number) + 1)
        }
        _ => format!("{name}{ENDING}"),
    };
    result.with_file_name(next)
}

/// Returns the constraints that the flags give.
fn asked(args: &ConstrainArgs) -> Result<Vec<Constraint>, Failure> {
    let mut constraints = Vec::new();
    for (flag, link, texts) in [
        ("merge", "must", &args.merge),
        ("separate", "cannot", &args.separate),
        ("split", "split", &args.split),
    ] {
        for text in texts {
            let parsed = Constraint::parse(&format!("{link}:{text}"));
            let refused = |error| Failure::usage(format!("--{flag} '{text}': {error}"));
            constraints.push(parsed.map_err(refused)?);
        }
    }
    if let Some(file) = &args.file {
        let knowledge = read(file, Kind::Constraints)?;
        constraints.extend(links(knowledge).unwrap_or_default());
    }
    let separates = constraints.iter().any(|one| matches!(one, Constraint::Cannot(_)));
    if separates && args.unassign == Unassign::Nothing {
        let message =
            "with --unassign nothing, words that share a topic would continue to share it";
        return Err(
            Failure::usage(message).help("--separate needs --unassign terms, documents or all")
        );
    }
    if constraints.is_empty() {
        Err(Failure::usage("no constraints were given")
            .help("name words: --merge, --separate, --split, or a --file of them"))
    } else {
        Ok(constraints)
    }
}

/// Checks constraints against the vocabulary of a result, and returns the words that it lacks.
fn fit(result: &Path, job: &Job, constraints: &[Constraint]) -> Result<Pruned, Failure> {
    check(constraints, &OpenedResult::at(result).vocabulary()?, &job.tokens)
}

/// Returns the constraints of a finished job.
fn known(job: &Job) -> Result<Vec<Constraint>, Failure> {
    let Some(tree) = &job.tree else {
        return Ok(Vec::new());
    };
    links(tree.read()?).ok_or_else(|| {
        let message = format!("{}: is not a list of linked words", tree.path.display());
        let failure = Failure::usage(format!("{message}, so nothing can be added to it"));
        failure.help("change that file, and run a job with it in tree.file and the result in train.warm_start")
    })
}

fn links(knowledge: Knowledge) -> Option<Vec<Constraint>> {
    match knowledge.content {
        Content::Constraints(lines) => Some(lines.into_iter().map(|(_, link)| link).collect()),
        _ => None,
    }
}

/// Returns the job that corrects the result of another.
fn template(
    args: &ConstrainArgs,
    finished: &Job,
    output: &Path,
    list: &Path,
) -> Result<Template, Failure> {
    let text = |path: &Path| {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        absolute.to_string_lossy().into_owned()
    };
    let mut template = Template::of(finished);
    template.set("output.path", output.to_string_lossy().into_owned())?;
    template.set("tree.file", text(list))?;
    template.set("tree.format", "constraints")?;
    // Trees have the mean.
    template.forget(|key| key == "model.geometry");
    if let Some(strength) = args.strength {
        template.set("tree.must_link", strength)?;
    }
    if args.unassign == Unassign::All {
        template.forget(|key| matches!(key, "train.warm_start" | "train.unassign"));
        return Ok(template);
    }
    template.forget(|key| key.starts_with("train.") && !KEPT.contains(&key));
    template.set("train.warm_start", text(&args.result))?;
    if finished.vocabulary_from.is_some() {
        // It has these terms; the result that it has them from may be gone.
        template.set("vocabulary.from", text(&args.result))?;
    }
    let unassign = args.unassign.to_possible_value().expect("none is hidden");
    template.set("train.unassign", unassign.get_name())?;
    template.set("train.passes", i64::from(args.passes))?;
    template.set("train.patience", 0)?;
    // Another η would move every topic.
    let header = OpenedResult::at(&args.result).header()?;
    if let Some(eta) = header.published_eta {
        template.set("model.eta", header.priors.eta)?;
        template.set("model.published_eta", eta)?;
    }
    Ok(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_results_are_numbered() {
        for (result, next) in [
            ("out/news", "out/news-constrained"),
            ("out/news-constrained", "out/news-constrained-2"),
            ("out/news-constrained-9", "out/news-constrained-10"),
            ("out/a-constrained-4294967295", "out/a-constrained-4294967296"),
            ("out/news-constrained-x", "out/news-constrained-x-constrained"),
        ] {
            assert_eq!(next_output(Path::new(result)), Path::new(next));
        }
    }
}
