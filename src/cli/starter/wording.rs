//! The wording about an input and the job proposed for it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::args::StarterArgs;
use crate::cli::{Failure, figures};
use crate::job::Job;
use crate::plan::preview::Preview;
use crate::plan::survey::Survey;
use corpus::stop_words;

/// Maximum number of excluded globs that are listed.
const NAMED: usize = 5;

/// Describes the input, its format and size, and what is left out, such as `textless` files.
pub(super) fn describe(
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
    rows.extend(left_out.map(|(globs, why)| ("left out", format!("{}, {why}", named(globs)))));
    rows.extend(preview.left_out.iter().map(|names| ("left out", names.clone())));
    rows
}

/// Returns the error that the documents are the objects of an array within JSON.
pub(super) fn in_array(path: &str, input: &[String]) -> Failure {
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
pub(super) fn stop_words(
    job: &Job,
    survey: &Survey,
) -> Result<Option<(&'static str, String)>, Failure> {
    let lists = &job.vocabulary.stop_words;
    let words = stop_words::load(lists, &job.tokens)?.len();
    if words == 0 {
        return Ok(None);
    }
    let mut text =
        format!("{} of {}", figures::counted(words as u64, "word"), stop_words::names(lists));
    let dropped = survey.tokens.saturating_sub(survey.kept_tokens);
    if dropped > 0 {
        let share = 100.0 * dropped as f64 / survey.tokens as f64;
        text.push_str(&format!("; {share:.0} % of the tokens in the first records"));
    }
    Ok(Some(("stop words", text)))
}

/// Lists the first globs with their numbers of files, and counts the files of the rest.
fn named(globs: &BTreeMap<String, u64>) -> String {
    let mut names: Vec<String> =
        globs.iter().take(NAMED).map(|(glob, files)| format!("{files} {glob}")).collect();
    let others: u64 = globs.values().skip(NAMED).sum();
    if others > 0 {
        names.push(format!("{} others", figures::grouped(others)));
    }
    names.join(", ")
}

/// Returns the first lines of the job file.
pub(super) fn heading(preview: &Preview, path: &Path) -> [String; 4] {
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
pub(super) fn too_few(preview: &Preview, input: &[String]) -> Failure {
    let survey = &preview.survey;
    let is_table = |word: &&str| ["csv", "tsv"].contains(word);
    let count = match survey.documents {
        _ if survey.bytes == 0 => "every file is empty",
        0 if preview.formats.iter().all(is_table) => "no row below the header",
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
