//! A job made from flags and a look at its input: `topicmill topics` runs it, and `topicmill new` writes it.

mod columns;
mod language;
mod names;
mod standard_input;
mod wording;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::args::StarterArgs;
use super::{Failure, figures};
use crate::checkpoint;
use crate::job::state::MODEL_FILE;
use crate::job::{Job, Template};
use crate::plan::preview::{Preview, count_tokens, is_text_name, preview};
use corpus::settings::Markup;
pub(super) use names::code_of;
use store::is_remote;
use wording::{describe, heading, in_array, too_few};

/// `model.topics` of a large collection.
const TOPICS: u64 = 50;
/// Documents per topic in a small one.
const DOCUMENTS_PER_TOPIC: u64 = 10;
/// The fewest topics of a small one.
const LEAST_TOPICS: u64 = 5;
/// The key that names columns of the documents' metadata.
const COLUMN_KEY: &str = "project.trends";
/// Keys that a first job has with their defaults, because they are often changed.
const OFTEN_CHANGED: [&str; 7] = [
    "tokens.rule",
    "tokens.min_length",
    "vocabulary.max_share",
    "sample.documents",
    "model.seed",
    "project.threshold",
    "project.topic_documents",
];

/// A job that is not written yet.
pub(super) struct Starter {
    pub(super) job: Job,
    /// Its text.
    pub(super) text: String,
    /// What was detected in the input, as rows for people.
    pub(super) rows: Vec<(&'static str, String)>,
}

impl Starter {
    /// Creates the job for these flags, to be written at `path`, with its result in `output`. Stores standard
    /// input beside it first.
    ///
    /// # Errors
    /// A flag is wrong; the input cannot be read or modelled.
    pub(super) fn new(
        args: &StarterArgs,
        path: &Path,
        output: &Path,
        overwrite: bool,
    ) -> Result<Self, Failure> {
        let mut template = asked(args, path, output, overwrite)?;
        let mut textless = BTreeMap::new();
        let (asked, mut preview) = loop {
            let asked = template.job(path)?;
            let mut preview = preview(&asked.corpus, &args.text)?;
            if let Some(path) = preview.records_path.as_ref().filter(|_| args.text.is_empty()) {
                return Err(in_array(path, &args.input));
            }
            if !correct(&mut template, &preview, &asked)? {
                break (asked, preview);
            }
            textless.append(&mut preview.textless);
        };
        if preview.survey.documents < 2 {
            return Err(too_few(&preview, &args.input));
        }
        let mut rows = Vec::new();
        if template.has("corpus.encoding") {
            rows.push(("encoding", asked.corpus.encoding.name()));
        }
        if !asked.corpus.header {
            rows.push(("header", "none: columns are named by their numbers".to_owned()));
        } else if let Some(header) = doubted_header(&preview, &asked) {
            rows.push(("header", header));
        }
        if preview.is_hyphenated && !template.is_settled("tokens.join_hyphens") {
            template.set("tokens.join_hyphens", true)?;
            rows.push(("hyphens", "words are hyphenated at line ends: they are joined".to_owned()));
        }
        if asked.corpus.markup == Markup::Remove {
            rows.push(("markup", "HTML or XML: tags are removed, references decoded".to_owned()));
        } else if preview.pages > 0 && !template.has("corpus.markup") {
            let pages = figures::counted(preview.pages as u64, "file");
            rows.push((
                "markup",
                format!("kept, also in {pages} of HTML; without it: --set corpus.markup=remove"),
            ));
        }
        rows.extend(columns::set(&mut template, &preview, &asked)?);
        let text = template.has("corpus.text").then(|| template.job(path));
        let text = text.transpose()?.map_or_else(Vec::new, |job| job.corpus.text);
        if !template.is_settled("tokens.rule") {
            rows.extend(language::set(&mut template, &preview, args, &text)?);
        }
        rows.push(("topics", sizes(&mut template, &preview, args, path)?));
        let counted = template.job(path)?;
        count_tokens(&counted, &mut preview.survey)?;
        rows.extend(wording::stop_words(&counted, &preview.survey)?);
        rows.splice(0..0, describe(&preview, &textless, args));
        // What the flags exclude has been added to already.
        let is_exclude = |text: &&String| text.trim().starts_with("corpus.exclude");
        apply(&mut template, args.set.iter().filter(|text| !is_exclude(text)), path)?;
        rows.push(("job", path.display().to_string()));
        heading(&preview, path).into_iter().for_each(|line| template.say(line));
        Ok(Self { job: template.job(path)?, text: template.to_toml(), rows })
    }
}

/// Sets one key that the preview shows to be necessary, unless a flag sets it. Returns whether it set one; the
/// input must then be previewed again.
fn correct(template: &mut Template, preview: &Preview, asked: &Job) -> Result<bool, Failure> {
    let format = match preview.formats[..] {
        ["tsv"] if preview.records.has_quotes => {
            Some(("csv", "Some fields have quotes around them."))
        }
        ["text"] if preview.records.are_json_lines() => {
            Some(("jsonl", "Each line is a JSON object."))
        }
        ["json" | "jsonl"] | ["jsonl", "json"] if preview.records.joined.is_some() => {
            Some(("json", "Objects are in an array, or one after the other on a line."))
        }
        ["text"] if preview.records.are_mail() => {
            Some(("mail", "The files begin with the headers of e-mails."))
        }
        _ => None,
    };
    if let Some((format, why)) = format.filter(|_| !template.has("corpus.format")) {
        template.set("corpus.format", format)?;
        template.remark("corpus.format", why);
    } else if let Some(encoding) =
        preview.records.encoding().filter(|_| !template.has("corpus.encoding"))
    {
        template.set("corpus.encoding", encoding.name())?;
        template.remark("corpus.encoding", "A guess from texts that are not UTF-8.");
    } else if preview.is_headless && !template.has("corpus.header") {
        template.set("corpus.header", false)?;
        template.remark("corpus.header", "The first line is a row like the others.");
    } else if preview.is_markup && !template.has("corpus.markup") {
        template.set("corpus.markup", "remove")?;
    } else if !preview.textless.is_empty() {
        template.set("corpus.exclude", excluded(asked, preview.textless.keys()))?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Returns the keys that the flags set.
fn asked(
    args: &StarterArgs,
    path: &Path,
    output: &Path,
    overwrite: bool,
) -> Result<Template, Failure> {
    let mut template = Template::default();
    // The metadata columns are not known yet.
    let names_columns = |text: &&String| text.trim().starts_with(COLUMN_KEY);
    let others = args.set.iter().filter(|text| !names_columns(text));
    // First, because other results that the job names settle some keys.
    apply(&mut template, others.clone(), path)?;
    let mut input = args.input.clone();
    if let Some(stdin) = input.iter_mut().find(|input| *input == "-") {
        *stdin = standard_input::store(path, overwrite)?;
    }
    template.set("corpus.input", input)?;
    let is_elsewhere = is_elsewhere(path);
    let here = std::env::current_dir().unwrap_or_default();
    if is_elsewhere {
        template.set("corpus.base", here.to_string_lossy().into_owned())?;
    }
    if !args.text.is_empty() {
        template.set("corpus.text", args.text.clone())?;
    }
    if let Some(id) = &args.id {
        template.set("corpus.id", id.clone())?;
    }
    let from_here = |list: &String| {
        if is_elsewhere && list.contains(['/', '.']) {
            here.join(list).to_string_lossy().into_owned()
        } else {
            list.clone()
        }
    };
    if !args.stop_words.is_empty() {
        let lists: Vec<String> = args.stop_words.iter().map(from_here).collect();
        template.set("vocabulary.stop_words", lists)?;
    }
    match args.topics {
        Some(topics) => template.set("model.topics", i64::from(topics))?,
        None if template.is_settled("model.topics") || template.names("corpus.labels") => {}
        None => template.set("model.topics", topics_of_start(&template, path).unwrap_or(1))?,
    }
    template.set("output.path", output.to_string_lossy().into_owned())?;
    for key in OFTEN_CHANGED {
        if !template.is_settled(key) {
            template.set_default(key);
        }
    }
    if let Some(seed) = args.seed {
        template.set("model.seed", seed)?;
    }
    apply(&mut template, others, path)?;
    Ok(template)
}

/// Sets keys as the flags `--set` do. Like the input, files that they name are relative to the current directory, also
/// if the job is written elsewhere.
fn apply<'s>(
    template: &mut Template,
    sets: impl Iterator<Item = &'s String>,
    path: &Path,
) -> Result<(), Failure> {
    for text in sets {
        template.set_text(text)?;
    }
    if is_elsewhere(path) {
        template.locate_files(&std::env::current_dir().unwrap_or_default());
    }
    Ok(())
}

/// Whether the job is written into a folder other than the current one.
fn is_elsewhere(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder != Path::new(""))
}

/// Returns the number of topics of the model that training starts from, if there is one.
fn topics_of_start(template: &Template, path: &Path) -> Option<i64> {
    let start = template.result("train.warm_start", path)?;
    // An error is reported when the job is read.
    let header = checkpoint::read_header(&start.join(MODEL_FILE)).ok()?;
    Some(header.topic_count as i64)
}

/// Names the columns of tables whose first line may be a row: no column with text has a usual name.
fn doubted_header(preview: &Preview, asked: &Job) -> Option<String> {
    let is_usual = |name: &String| is_text_name(name) || asked.corpus.text.contains(name);
    let text = preview.text.as_ref().filter(|name| !is_usual(name))?;
    let is_table = preview.formats.iter().any(|word| ["csv", "tsv"].contains(word));
    is_table.then(|| format!(
        "the first line, which names the text `{text}`; if it is a document: --set corpus.header=false"
    ))
}

/// Returns the globs that the job excludes, and these.
fn excluded<'g>(asked: &'g Job, globs: impl Iterator<Item = &'g String>) -> Vec<String> {
    asked.corpus.exclude.iter().chain(globs).cloned().collect()
}

/// Sets the number of topics and the minimum documents of a term, by the number of documents. Describes the topics.
fn sizes(
    template: &mut Template,
    preview: &Preview,
    args: &StarterArgs,
    path: &Path,
) -> Result<String, Failure> {
    let documents = preview.survey.documents;
    if !template.is_settled("vocabulary.min_documents") {
        // Half a per cent of the documents, from 2 to the key's default.
        let least = (documents / 200).clamp(2, 5);
        template.set("vocabulary.min_documents", least as i64)?;
    }
    if template.names("model.from") || template.names("train.warm_start") {
        template.remark("model.topics", "As in train.warm_start.");
        return Ok(figures::grouped(template.job(path)?.model.topics as u64));
    }
    if template.names("corpus.labels") {
        return Ok("one for each label (corpus.labels)".to_owned());
    }
    let usual = (documents / DOCUMENTS_PER_TOPIC).clamp(LEAST_TOPICS, TOPICS);
    let topics = args.topics.map_or(usual, u64::from);
    template.set("model.topics", topics as i64)?;
    template.remark("model.topics", "More topics are narrower.");
    let too_many = if topics > documents { ", more than there are documents" } else { "" };
    Ok(format!("{}{too_many}", figures::grouped(topics)))
}

/// Returns where the job for a result is written: beside the folder, or here for an object store.
pub(super) fn job_file(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or("topics-out".as_ref()).to_owned();
    name.push(".toml");
    if is_remote(output) { PathBuf::from(name) } else { output.with_file_name(name) }
}
