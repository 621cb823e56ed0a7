//! A job made from flags and a look at its input: `topicmill topics` runs it, and `topicmill new` writes it.

pub(super) mod language;
mod standard_input;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::args::StarterArgs;
use super::{Failure, figures};
use crate::checkpoint;
use crate::config::state::MODEL_FILE;
use crate::config::{Job, Template};
use crate::plan::preview::{Preview, PreviewColumn, is_text_name, preview};
use crate::plan::survey::Survey;
use corpus::formats::{self, FALLBACK, Format};
use corpus::settings::{Markup, StopWords};
use corpus::stop_words;
use store::is_remote;

/// `model.topics` of a large collection.
const TOPICS: u64 = 50;
/// Documents per topic in a small one.
const DOCUMENTS_PER_TOPIC: u64 = 10;
/// The fewest topics of a small one.
const LEAST_TOPICS: u64 = 5;
/// Texts of more words on average are long; this many of them are enough to find topics, cut or not.
const LONG_TEXT: u64 = 3_000;
const MANY_TEXTS: u64 = 5_000;
/// `corpus.section_words` of long texts that are few.
const SECTION_WORDS: u64 = 1_000;
/// The keys that name columns of the documents' metadata.
const COLUMN_KEYS: [&str; 2] = ["project.trends", "output.link"];
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
        topics: Option<u32>,
        path: &Path,
        output: &Path,
        overwrite: bool,
    ) -> Result<Self, Failure> {
        let mut template = asked(args, topics, path, output, overwrite)?;
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
        let documents = preview.survey.documents;
        if documents == 0 || documents == 1 && preview.mean_words(&asked.corpus) <= LONG_TEXT {
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
        rows.extend(set_columns(&mut template, &preview, &asked)?);
        let text = template.has("corpus.text").then(|| template.job(path));
        let text = text.transpose()?.map_or_else(Vec::new, |job| job.corpus.text);
        if !template.is_settled("tokens.rule") {
            rows.extend(language::set(&mut template, &preview, args.language.as_deref(), &text)?);
        }
        if let Some(row) = set_sections(&mut template, &mut preview, path)? {
            rows.push(("sections", row));
            if !template.has("vocabulary.names") && !template.is_settled("vocabulary.names") {
                let row = "kept; without them, such as the characters of novels: --set vocabulary.names=drop";
                rows.push(("names", row.to_owned()));
            }
        }
        let has_text = |word: &str| {
            formats::named(word).is_some_and(|format| !format.is_counts && !format.takes("htrc"))
        };
        if asked.corpus.counts.is_none() && preview.formats.iter().any(|word| has_text(word)) {
            template.set("corpus.snippets", "passage")?;
        }
        rows.push(("topics", sizes(&mut template, &preview, topics, path)?));
        let counted = template.job(path)?;
        preview.count_tokens(&counted)?;
        rows.extend(stop_words_row(&counted, &preview.survey)?);
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
    topics: Option<u32>,
    path: &Path,
    output: &Path,
    overwrite: bool,
) -> Result<Template, Failure> {
    let mut template = Template::default();
    // The metadata columns are not known yet.
    let names_columns = |text: &&String| COLUMN_KEYS.iter().any(|key| text.trim().starts_with(key));
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
    match topics {
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
    preview.formats.iter().any(|word| has_header(word)).then(|| format!(
        "the first line, which names the text `{text}`; if it is a document: --set corpus.header=false"
    ))
}

/// Returns the globs that the job excludes, and these.
fn excluded<'g>(asked: &'g Job, globs: impl Iterator<Item = &'g String>) -> Vec<String> {
    asked.corpus.exclude.iter().chain(globs).cloned().collect()
}

/// Makes documents of the sections of texts that are long and few, unless a flag settles it: a topic is seldom that of a
/// whole book.
fn set_sections(
    template: &mut Template,
    preview: &mut Preview,
    path: &Path,
) -> Result<Option<String>, Failure> {
    let (texts, job) = (preview.survey.records, template.job(path)?);
    let words = preview.mean_words(&job.corpus);
    let is_set = ["corpus.section_words", "corpus.section_paragraphs"].map(|key| template.has(key));
    if is_set.contains(&true) || words <= LONG_TEXT || texts >= MANY_TEXTS {
        return Ok(None);
    }
    template.set("corpus.section_words", SECTION_WORDS as i64)?;
    template.remark("corpus.section_words", "The texts are long and few.");
    preview.cut(&template.job(path)?.corpus);
    Ok(Some(format!(
        "{} of about {} words {} cut into about {} documents of {}{}",
        figures::counted(texts, "text"),
        figures::about(words),
        if texts == 1 { "is" } else { "are" },
        figures::about(preview.survey.documents),
        figures::grouped(SECTION_WORDS),
        if texts == 1 { "" } else { "; whole: --set corpus.section_words=0" },
    )))
}

/// Sets the number of topics and the minimum documents of a term, by the number of documents. Describes the topics.
fn sizes(
    template: &mut Template,
    preview: &Preview,
    topics: Option<u32>,
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
    let remark = match topics {
        None => ", for want of a better number; `topicmill sweep` compares several",
        Some(topics) if u64::from(topics) > documents => ", more than there are documents",
        Some(_) => "",
    };
    let topics = topics.map_or(usual, u64::from);
    template.set("model.topics", topics as i64)?;
    template.remark("model.topics", "More topics are narrower.");
    Ok(format!("{}{remark}", figures::grouped(topics)))
}

/// Returns where the job for a result is written: beside the folder, or here for an object store.
pub(super) fn job_file(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or("topics-out".as_ref()).to_owned();
    name.push(".toml");
    if is_remote(output) { PathBuf::from(name) } else { output.with_file_name(name) }
}

/// Whether the files of this format are tables.
fn has_header(word: &str) -> bool {
    formats::named(word).is_some_and(Format::has_header)
}

/// The metadata columns of volumes of Extracted Features.
const VOLUME_METADATA: [&str; 5] = ["title", "author", "year", "genre", "rights"];

/// Sets the columns; without records, a document is a file.
fn set_columns(
    template: &mut Template,
    preview: &Preview,
    asked: &Job,
) -> Result<Vec<(&'static str, String)>, Failure> {
    if !preview.binary.is_empty() {
        template.set("corpus.exclude", excluded(asked, preview.binary.keys()))?;
    }
    let chosen = template.has("corpus.text").then(|| asked.corpus.text.clone());
    let text = preview.text_columns(&chosen.unwrap_or_default())?;
    if preview.formats[..] == ["htrc"] {
        if !template.has("corpus.metadata") {
            template.set("corpus.metadata", VOLUME_METADATA.to_vec())?;
            if !template.has("corpus.identify_language") {
                template.set("corpus.identify_language", true)?;
            }
            if !template.has("project.trends") {
                template.set("project.trends", vec!["year"])?;
            }
        }
        if !template.has("output.link") {
            template.set("output.link", "https://hdl.handle.net/2027/{group_id}")?;
        }
        let id = id_without_text(preview, asked);
        return Ok(vec![("id", id), ("metadata", VOLUME_METADATA.join(", "))]);
    }
    if text.is_empty() {
        let mut rows = vec![("id", id_without_text(preview, asked))];
        if !preview.has_records() {
            rows.extend(set_metadata(template, preview, preview.metadata.clone())?);
        }
        return Ok(rows);
    }
    let words = |name: &String| {
        let words = preview.column(name).map_or(0.0, |column| column.mean_words());
        format!("`{name}`, {} words on average", figures::rate(words))
    };
    let id = if template.has("corpus.id") {
        preview.require(&asked.corpus.id)?;
        Some(&asked.corpus.id)
    } else {
        // A run reads the default, if there is such a column.
        let default = preview.column(&asked.corpus.id).filter(|column| column.values > 0);
        preview.id.as_ref().or(default.map(|column| &column.name))
    };
    let mut rows = vec![
        ("id", id_row(preview, id)),
        ("text", text.iter().map(words).collect::<Vec<_>>().join("; ")),
    ];
    if let Some(help) = preview.help_with_words(&text) {
        rows.push(("note", format!("each text is one word; {help}")));
    }
    rows.extend(unread(preview, &text, asked));
    let is_title = |name: &String| preview.title.as_ref() == Some(name);
    let is_free = |name: &&String| Some(*name) != id && (is_title(name) || !text.contains(name));
    let metadata: Vec<String> = preview.metadata.iter().filter(is_free).cloned().collect();
    rows.extend(set_metadata(template, preview, metadata)?);
    if let Some(id) = id {
        template.set("corpus.id", id.clone())?;
    }
    template.set("corpus.text", text)?;
    let names = preview.names().join(", ");
    template.remark("corpus.text", format!("The columns are {names}."));
    Ok(rows)
}

/// Says what identifies a document, and which column does not, because its values repeat.
fn id_row(preview: &Preview, id: Option<&String>) -> String {
    let first = |column: &PreviewColumn| figures::grouped(column.records as u64);
    if let Some(id) = id {
        let column = preview.column(id);
        let column = column.filter(|column| column.distinct < column.records);
        let shared = column.map(|column| {
            let repeated = figures::grouped((column.records - column.distinct) as u64);
            format!(", which {repeated} of the first {} records share or lack", first(column))
        });
        return format!("`{id}`{}", shared.unwrap_or_default());
    }
    let mut columns = preview.columns.iter();
    let repeating = columns.find(|column| column.is_id_name() && column.values > 0);
    let unused = repeating.map(|column| {
        let distinct = figures::grouped(column.distinct as u64);
        let name = &column.name;
        format!(": the first {} records have only {distinct} values of `{name}`", first(column))
    });
    format!("file and position{}", unused.unwrap_or_default())
}

/// Lists other columns of prose.
fn unread(preview: &Preview, text: &[String], asked: &Job) -> Option<(&'static str, String)> {
    let is_taken = |name: &String| text.contains(name) || asked.corpus.metadata.contains(name);
    let unread =
        preview.columns.iter().filter(|column| column.is_prose() && !is_taken(&column.name));
    let names: Vec<String> = unread.map(|column| format!("`{}`", column.name)).collect();
    (!names.is_empty())
        .then(|| ("not read", format!("{} (--text may be repeated)", names.join(", "))))
}

/// Sets the metadata columns, unless a flag does, and trends by those that are dates.
fn set_metadata(
    template: &mut Template,
    preview: &Preview,
    metadata: Vec<String>,
) -> Result<Option<(&'static str, String)>, Failure> {
    if metadata.is_empty() || template.has("corpus.metadata") {
        return Ok(None);
    }
    let is_date = |name: &&String| preview.column(name).is_some_and(PreviewColumn::is_date);
    let dates: Vec<String> = metadata.iter().filter(is_date).cloned().collect();
    if !dates.is_empty() && !template.has("project.trends") {
        template.set("project.trends", dates)?;
    }
    let row = ("metadata", metadata.join(", "));
    template.set("corpus.metadata", metadata)?;
    Ok(Some(row))
}

/// Describes the id of documents that are counts, or files.
fn id_without_text(preview: &Preview, asked: &Job) -> String {
    if asked.corpus.counts.is_some() {
        return format!("`{}`", asked.corpus.id);
    }
    let only = if let [word] = preview.formats[..] { formats::named(word) } else { None };
    only.unwrap_or(FALLBACK).id.to_owned()
}

/// Maximum number of excluded globs that are listed.
const NAMED: usize = 5;

/// Describes the input, its format and size, and what is left out, such as `textless` files.
fn describe(
    preview: &Preview,
    textless: &BTreeMap<String, u64>,
    args: &StarterArgs,
) -> Vec<(&'static str, String)> {
    let survey = &preview.survey;
    let about = if survey.documents_exact { "" } else { "about " };
    let kinds: Vec<&str> = survey.kinds.keys().map(String::as_str).collect();
    let mut rows = vec![
        ("input", args.input.join(", ")),
        (
            "format",
            format!(
                "{}: {}, {}; {about}{} documents, about {} tokens",
                kinds.join("; "),
                figures::counted(survey.files, "file"),
                figures::bytes(survey.bytes),
                figures::about(survey.documents),
                figures::about(survey.tokens),
            ),
        ),
    ];
    let left_out = [
        (&preview.binary, "whose format is not supported"),
        (textless, "which have no column with text"),
    ];
    let left_out = left_out.iter().filter(|(globs, _)| !globs.is_empty());
    rows.extend(left_out.map(|(globs, why)| ("left out", format!("{}, {why}", listed(globs)))));
    rows.extend(preview.left_out.iter().map(|names| ("left out", names.clone())));
    rows
}

/// Returns the error that the documents are the objects of an array within JSON.
fn in_array(path: &str, input: &[String]) -> Failure {
    let keys = path.split('.').map(|key| format!(".\"{key}\"")).collect::<String>();
    let input = input.join(" ");
    let message =
        format!("{input}: the documents seem to be in the array `{path}` within an object");
    Failure::data(message).help(format!(
        "write each of its objects on a line, and read that file: jq -c '{keys}[]' FILES > documents.jsonl; or name \
         the key of the text with --text, if each file is a document"
    ))
}

/// Describes the stop lists of a job: "198 words of en; 41 % of the tokens in the first records".
///
/// # Errors
/// A list cannot be read.
fn stop_words_row(job: &Job, survey: &Survey) -> Result<Option<(&'static str, String)>, Failure> {
    let lists = &job.vocabulary.stop_words;
    let words = stop_words::load(lists, &job.tokens)?.len();
    if words == 0 {
        return Ok(None);
    }
    let mut text = if lists.contains(&StopWords::ByLanguage) {
        "those of the language of each document".to_owned()
    } else {
        format!("{} of {}", figures::counted(words as u64, "word"), stop_words::names(lists))
    };
    let dropped = survey.tokens.saturating_sub(survey.kept_tokens);
    if dropped > 0 {
        let share = 100.0 * dropped as f64 / survey.tokens as f64;
        text.push_str(&format!("; {share:.0} % of the tokens in the first records"));
    }
    Ok(Some(("stop words", text)))
}

/// Lists the first globs with their numbers of files, and counts the files of the rest.
fn listed(globs: &BTreeMap<String, u64>) -> String {
    let mut names: Vec<String> =
        globs.iter().take(NAMED).map(|(glob, files)| format!("{files} {glob}")).collect();
    let others: u64 = globs.values().skip(NAMED).sum();
    if others > 0 {
        names.push(format!("{} others", figures::grouped(others)));
    }
    names.join(", ")
}

/// Returns the first lines of the job file.
fn heading(preview: &Preview, path: &Path) -> [String; 4] {
    let survey = &preview.survey;
    let [documents, tokens] = [survey.documents, survey.tokens].map(figures::about);
    let path = path.display();
    [
        format!(
            "{} ({}) with about {documents} documents and {tokens} tokens.",
            figures::counted(survey.files, "file"),
            preview.formats.join(", "),
        ),
        format!("Show what this job would do: topicmill plan {path}"),
        format!("Run it: topicmill run {path}"),
        format!(
            "Keys that are not listed here have their defaults: docs/JOB.md lists them, and \
             `topicmill plan {path} --resolved` prints them."
        ),
    ]
}

/// Refuses an input with too few documents: topics come from what documents have in common.
fn too_few(preview: &Preview, input: &[String]) -> Failure {
    let survey = &preview.survey;
    let count = match survey.documents {
        _ if survey.bytes == 0 => "every file is empty",
        0 if preview.formats.iter().all(|word| has_header(word)) => "no row below the header",
        0 => "no document",
        _ => "only one document",
    };
    let message = format!("{}: {count}; topics need many", input.join(", "));
    let failure = Failure::data(message);
    let files = input.join(" ");
    match preview.formats[..] {
        _ if survey.bytes == 0 => failure.help("write the documents to them again, or name other files"),
        ["text"] => failure.help(format!(
            "if each line is a document, pass the file on standard input: topicmill topics - < {files}"
        )),
        ["csv"] if preview.records.has_open_quote => {
            failure.help("close the quote that runs to the end of the file")
        }
        ["json" | "jsonl"] if preview.has_records() => failure.help(format!(
            "pass more files, or if the documents are texts in an array under a key: \
             jq -c '.KEY[]' {files} | topicmill topics -"
        )),
        _ => failure.help("pass more files, or a folder of them"),
    }
}
