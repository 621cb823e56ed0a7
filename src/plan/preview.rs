//! A preview of an input from its first records: its columns, which of them are id, text and metadata, the
//! language, and the files that are not text.
//!
//! Reads the first records of a few files of each format, and the starts of some files of each extension of text
//! files. The result is a proposal for a new job; nothing that runs depends on it.

mod column;
mod records;
mod totals;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::survey::{LOOK_FILES, Survey, first_bytes, of_format, survey_of};
use crate::config::Job;
use crate::failure::Failure;
pub(crate) use column::{PreviewColumn, is_text_name};
use column::{id_of, metadata_of, text_of, title_of};
use corpus::compression::stripped;
use corpus::encoding::is_utf_16;
use corpus::formats::{FALLBACK, FOLDER, Format, LIST, folder, partitions};
use corpus::input::{self, Input, InputError, InputFile};
use corpus::language::{WITHOUT_STOP_WORDS, identify};
use corpus::settings::CorpusSettings;
use corpus::stop_words::languages;
use corpus::tokenizer::{hyphens, unspaced};
use records::PreviewRecords;
pub(crate) use totals::count_tokens;

/// Maximum number of files per extension that are read to see whether they are text; fewer in an object store,
/// where each takes a request.
const LOOKS: [usize; 2] = [1000, 20];
/// Maximum number of tables that are read because their columns differ from those of the others.
const MOST_TABLES: usize = 64;
/// Bytes of a text file that are read.
const TEXT_BYTES: u64 = 64 << 10;
/// Maximum number of text files whose words are counted.
const TEXT_FILES: usize = 64;

/// Character references that are frequent in texts cut from HTML.
const REFERENCES: [&str; 6] = ["&amp;", "&quot;", "&lt;", "&gt;", "&nbsp;", "&#39;"];
/// The share of lines that end within a word above which a text comes from print.
const BROKEN_LINES: f64 = 0.01;

/// An input, as its first records show it.
#[derive(Debug)]
pub(crate) struct Preview {
    /// Its size.
    pub(crate) survey: Survey,
    /// The formats of its files, as `corpus.format` names them.
    pub(crate) formats: Vec<&'static str>,
    /// The columns of its records, in their order; if every file is a document, those of their folders.
    pub(crate) columns: Vec<PreviewColumn>,
    /// The column with the text; `None` if no column looks like it.
    pub(crate) text: Option<String>,
    /// The column with its title, if it has one.
    pub(crate) title: Option<String>,
    /// The column with an id that differs from record to record.
    pub(crate) id: Option<String>,
    /// Short columns whose values repeat, such as years and labels.
    pub(crate) metadata: Vec<String>,
    /// Numbers of files that are not text, by a glob that excludes them.
    pub(crate) binary: BTreeMap<String, u64>,
    /// Numbers of record files without a text column, found beside text files, by a glob that excludes them.
    pub(crate) textless: BTreeMap<String, u64>,
    /// Describes what else is left out: the files that topicmill has written, and what is no file.
    pub(crate) left_out: Vec<String>,
    /// Whether the first line of tables is a row instead of column names.
    pub(crate) is_headless: bool,
    /// The path to the JSON array that holds the documents, if the files' objects are not documents themselves.
    pub(crate) records_path: Option<String>,
    /// Whether most texts are HTML or XML.
    pub(crate) is_markup: bool,
    /// The number of texts whose names are those of HTML.
    pub(crate) pages: usize,
    /// Whether words are hyphenated at the ends of lines, as in scanned print.
    pub(crate) is_hyphenated: bool,
    /// The first texts and records.
    pub(crate) records: PreviewRecords,
    /// The columns that only some files with a text have.
    absent: Vec<String>,
    /// A file of records, for error messages.
    example: Option<InputFile>,
    input: Input,
}

/// Previews the input of a job, of which these text columns are `asked` for, if any. Files that are not text are left
/// out, unless no others remain.
///
/// # Errors
/// There is no input; it cannot be read or is not text; its records do not match their format.
pub(crate) fn preview(settings: &CorpusSettings, asked: &[String]) -> Result<Preview, Failure> {
    let (mut input, refused) = input::discover_supported(settings)?;
    let not_read = input.left_out(Path::new(""));
    let binary = leave_out_binary(&mut input, refused)?;
    let survey = survey_of(&input, settings)?;
    let mut records = first_records(&input, settings)?;
    let formats = words_of_formats(&input);
    let is_record =
        |file: &InputFile| file.format != FALLBACK && !file.format.gives_counts(settings);
    let example = input.files.iter().find(|file| is_record(file)).cloned();
    let judged = records.judged(asked);
    let columns = match formats[..] {
        ["text"] => folder_columns(&input),
        _ => records.columns(&|name| !judged.lacked_by_tables.contains(name)),
    };
    let id = id_of(&columns);
    let text = text_of(&records.columns(&|name| !judged.absent.contains(name)));
    let title = text.as_deref().and_then(|text| title_of(&columns, text));
    let (title, text) = match formats[..] {
        // Replies have the same subject, and some messages have nothing else.
        ["mail"] | ["text", "mail"] => (Some("subject".to_owned()), Some("text".to_owned())),
        _ => (title, text),
    };
    let metadata = metadata_of(&columns, &[&id, &text]);
    let is_named = |column: &&PreviewColumn| settings.text.contains(&column.name);
    let named = columns.iter().find(is_named);
    let read = named.map(|column| column.name.clone()).or(text.clone());
    let texts = records.texts(read.as_slice());
    let is_markup = are_markup(&texts);
    let is_hyphenated = hyphens::share_of_breaks(texts.iter().copied()) > BROKEN_LINES;
    let is_headless = settings.header
        && input.files.iter().any(|file| file.format.has_header())
        && records.are_headless();
    let mut left_out = judged.textless.clone();
    if text.is_none() && !judged.has_text && formats.contains(&"text") && asked.is_empty() {
        let others = input.files.iter().filter(|file| is_record(file));
        left_out = others.map(|file| file.path.clone()).collect();
    }
    input.files.retain(|file| !left_out.contains(&file.path));
    let textless = globs_of(left_out.into_iter(), &input);
    let is_page = |file: &&InputFile| {
        let name = stripped(&file.name).to_ascii_lowercase();
        file.format == FALLBACK && [".html", ".htm", ".xhtml"].iter().any(|it| name.ends_with(it))
    };
    let pages = input.files.iter().filter(is_page).count();
    let is_json = input.files.iter().all(|file| file.format.has_keys());
    if !is_json || settings.format.is_some() {
        records.joined.take().map_or(Ok(()), Err)?;
    }
    Ok(Preview {
        records_path: records.path(input.files.len()).filter(|_| is_json),
        left_out: not_read,
        textless,
        survey,
        formats,
        text,
        title,
        id,
        metadata,
        columns,
        binary,
        is_headless,
        is_markup,
        pages,
        is_hyphenated,
        records,
        absent: judged.absent.into_iter().collect(),
        example,
        input,
    })
}

/// Returns the columns that the names of folders give to files, with different values.
fn folder_columns(input: &Input) -> Vec<PreviewColumn> {
    let mut values: BTreeMap<&str, Vec<Cow<'_, str>>> = BTreeMap::new();
    for file in &input.files {
        let named = partitions(file).filter_map(|(name, value)| Some((name, value?)));
        let folder = folder(file).map(|name| (FOLDER, Cow::Borrowed(name)));
        for (name, value) in named.chain(folder) {
            values.entry(name).or_default().push(value);
        }
    }
    let column = |(name, values): (&str, Vec<Cow<'_, str>>)| {
        let values: Vec<&str> = values.iter().map(|value| &**value).collect();
        PreviewColumn::of(name.to_owned(), input.files.len(), &values)
    };
    values.into_iter().map(column).filter(|column| column.distinct > 1).collect()
}

/// Returns the words of the formats that an input has.
fn words_of_formats(input: &Input) -> Vec<&'static str> {
    let formats = LIST.iter().filter(|format| of_format(input, format).next().is_some());
    formats.map(|format| format.name).collect()
}

/// Returns whether texts have tags, or character references.
fn are_markup(texts: &[&str]) -> bool {
    let is_markup = |text: &&&str| text.trim_start().starts_with('<') && text.contains("</");
    let has_references = |text: &&&str| REFERENCES.iter().any(|reference| text.contains(reference));
    2 * texts.iter().filter(is_markup).count() > texts.len()
        || 10 * texts.iter().filter(has_references).count() > texts.len()
}

/// Reads the first records of some files of each format: of tables, one at least with each set of columns.
fn first_records(input: &Input, settings: &CorpusSettings) -> Result<PreviewRecords, Failure> {
    let mut records = PreviewRecords::default();
    for &format in LIST {
        let files: Vec<&InputFile> = of_format(input, format).collect();
        let most = if format == FALLBACK { TEXT_FILES } else { LOOK_FILES };
        let step = files.len().div_ceil(most).max(1);
        for file in files.iter().step_by(step) {
            records.read(file, settings)?;
        }
        let others = (0..files.len()).filter(|place| !place.is_multiple_of(step));
        let most = LOOKS[usize::from(files.iter().any(|file| store::is_remote(&file.path)))];
        let mut unknown = 0;
        for place in others.take(most) {
            if unknown < MOST_TABLES && !records.knows(files[place], settings)? {
                unknown += 1;
                records.read(files[place], settings)?;
            }
        }
    }
    Ok(records)
}

impl Preview {
    /// Returns the column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<&PreviewColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the columns to read text from: those that are `asked` for, or else the text column and its title;
    /// none if every file is a document.
    ///
    /// # Errors
    /// The records lack a requested column, or none contains text.
    pub(crate) fn text_columns(&self, asked: &[String]) -> Result<Vec<String>, Failure> {
        let Some(file) = &self.example else {
            return Ok(Vec::new());
        };
        asked.iter().try_for_each(|name| self.require(name))?;
        match (&self.text, asked) {
            (Some(text), []) => Ok(self.title.iter().chain([text]).cloned().collect()),
            (None, []) => Err(self.no_text(file)),
            _ => Ok(asked.to_vec()),
        }
    }

    /// Corrects the survey if a job with these settings cuts texts into sections.
    pub(crate) fn cut(&mut self, settings: &CorpusSettings) {
        self.survey.cut(&self.input, settings, self.survey.tokens);
    }

    /// Returns the mean number of words of a text, about; 0 if there are counts instead.
    pub(crate) fn mean_words(&self, settings: &CorpusSettings) -> u64 {
        let has_counts = self.input.files.iter().any(|file| file.format.gives_counts(settings));
        if has_counts { 0 } else { self.survey.tokens / self.survey.documents.max(1) }
    }

    /// Corrects the survey with the tokens of the first records.
    ///
    /// # Errors
    /// A stop list cannot be read.
    pub(crate) fn count_tokens(&mut self, job: &Job) -> Result<(), Failure> {
        totals::add_figures(job, &self.input, &self.records, &mut self.survey)
    }

    /// Says which columns to name instead if each value of these is one word: the rows may be counts.
    pub(crate) fn help_with_words(&self, text: &[String]) -> Option<&'static str> {
        let is_word = |name: &String| self.column(name).is_some_and(PreviewColumn::is_word);
        let file = self.example.as_ref().filter(|_| text.iter().all(is_word));
        file.map(|file| columns_of(file.format))
    }

    /// Returns the error that no column contains text.
    fn no_text(&self, file: &InputFile) -> Failure {
        let absent = &self.absent;
        let mut columns = self.names();
        columns.retain(|name| !absent.contains(name));
        let all = if columns.is_empty() {
            "the files have no column in common".to_owned()
        } else {
            format!("the columns are: {}", columns.join(", "))
        };
        let (some, help) = if absent.is_empty() {
            (String::new(), columns_of(file.format))
        } else {
            (
                format!("; only some files have: {}", absent.join(", ")),
                "pass only files with the same columns, or give these the same names; or name the column with the \
                 text, and files without it are left out: --text COLUMN",
            )
        };
        let problem = format!("no column contains text; {all}{some}");
        Failure::file(&file.name, problem).help(help)
    }

    /// Refuses a column that the records do not have.
    ///
    /// # Errors
    /// There are records, and none of them has it.
    pub(crate) fn require(&self, name: &str) -> Result<(), Failure> {
        match &self.example {
            Some(file) if self.column(name).is_none() => {
                Err(InputError::missing_column(Path::new(&file.name), name, &self.names()).into())
            }
            _ => Ok(()),
        }
    }

    /// Returns whether there are records, rather than files that are documents.
    pub(crate) fn has_records(&self) -> bool {
        self.records.len() > 0
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Returns the languages of the texts of these columns, and of texts without columns, as ISO 639-1 codes, the most
    /// frequent first; leaves out those of few texts and those without a stop list.
    pub(crate) fn languages(&self, text: &[String]) -> Vec<&'static str> {
        languages_of(&self.records.texts(text))
    }
}

/// Says which columns to name for files of this format.
fn columns_of(format: &Format) -> &'static str {
    if format.has_keys() {
        "name the column to use: --text COLUMN; or, if each document is an object of words and their counts, \
         its key: --set corpus.counts=KEY"
    } else if format.takes("corpus.counts") {
        "name the column to use: --text COLUMN; or, if each row counts a term of a document, three columns: \
         --id DOCUMENT --text TERM --set corpus.counts=COUNT"
    } else {
        "name the column to use: --text COLUMN; a table in which each row counts a term of a document must be \
         Parquet or Arrow"
    }
}

/// Removes the files that are not text from the input; when enough files of an extension have been read, the rest
/// are judged by the first. Returns the numbers of files, including `refused`, by a glob that excludes them.
fn leave_out_binary(
    input: &mut Input,
    refused: Vec<(PathBuf, InputError)>,
) -> Result<BTreeMap<String, u64>, Failure> {
    let mut first: Option<Failure> = None;
    let mut left_out = Vec::new();
    for (path, error) in refused {
        left_out.push(path);
        first.get_or_insert_with(|| error.into());
    }
    let mut looks: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    let mut kept = Vec::new();
    for file in input.files.drain(..) {
        let looked = looks.entry(glob_of(&file.path)).or_default();
        let is_binary = if file.format != FALLBACK {
            false
        } else if looked.len() < LOOKS[usize::from(store::is_remote(&file.path))] {
            let start = first_bytes(&file, TEXT_BYTES)?;
            looked.push(looks_binary(&start) && !is_utf_16(&start));
            looked[looked.len() - 1]
        } else {
            looked[0]
        };
        if !is_binary {
            kept.push(file);
            continue;
        }
        first.get_or_insert_with(|| {
            Failure::file(&file.name, "not a text file").help(
                "unpack an archive (tar -x), or convert it to text first: pdftotext for PDF, \
                 pandoc -t plain for documents, iconv -f UTF-16 -t UTF-8 for UTF-16",
            )
        });
        left_out.push(file.path);
    }
    input.total_bytes = kept.iter().map(|file| file.bytes).sum();
    input.files = kept;
    match first.filter(|_| input.files.is_empty()) {
        Some(error) => Err(error),
        None => Ok(globs_of(left_out.into_iter(), input)),
    }
}

/// Returns globs that match the left-out files and none of the input, each with its number of files.
fn globs_of(left_out: impl Iterator<Item = PathBuf>, input: &Input) -> BTreeMap<String, u64> {
    let globs = |path: &Path| [glob_of(path), escaped_name(path)];
    let kept: BTreeSet<String> = input.files.iter().flat_map(|file| globs(&file.path)).collect();
    let mut counts = BTreeMap::new();
    for path in left_out {
        let free = globs(&path).into_iter().find(|glob| !kept.contains(glob));
        let glob = free.unwrap_or_else(|| glob::Pattern::escape(&path.to_string_lossy()));
        *counts.entry(glob).or_insert(0) += 1;
    }
    counts
}

/// Returns the glob for the files with this file's extension, or else its name.
fn glob_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = stripped(&name);
    match plain.rfind('.') {
        Some(dot) if dot > 0 => format!("*{}", glob::Pattern::escape(&name[dot..])),
        _ => escaped_name(path),
    }
}

fn escaped_name(path: &Path) -> String {
    glob::Pattern::escape(&path.file_name().unwrap_or_default().to_string_lossy())
}

/// Whether bytes are not text: they contain a NUL, or begin like a known binary format.
pub(crate) fn looks_binary(start: &[u8]) -> bool {
    start.contains(&0) || start.starts_with(b"%PDF-") || start.starts_with(b"{\\rtf")
}

/// Maximum number of texts that are identified, evenly spread over those that were read.
const MOST_TEXTS: usize = 200;

/// The least share of the texts at which a language counts. Fewer texts of one language are taken for another.
const LEAST_SHARE: f64 = 0.15;

/// Characters needed to identify a language; shorter texts are joined.
const ENOUGH: usize = 200;
/// The same for scripts without spaces, in which a character says as much as several letters.
const ENOUGH_UNSPACED: usize = 50;

/// Returns the codes of the languages with a fair share of the texts, the most frequent first: of those with a stop
/// list or without spaces between words.
fn languages_of(texts: &[&str]) -> Vec<&'static str> {
    let step = texts.len().div_ceil(MOST_TEXTS).max(1);
    let texts = texts.iter().copied().step_by(step);
    let (unspaced, spaced): (Vec<&str>, Vec<&str>) =
        texts.partition(|text| unspaced::is_most_of(text));
    let mut joined = join_short(&spaced, ENOUGH);
    joined.extend(join_short(&unspaced, ENOUGH_UNSPACED));
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for text in &joined {
        *counts.entry(identify(text)).or_default() += 1;
    }
    let is_frequent = |(code, count): &(&'static str, usize)| {
        *count as f64 >= LEAST_SHARE * joined.len() as f64
            && languages().chain(WITHOUT_STOP_WORDS).any(|known| known == *code)
    };
    let mut found: Vec<_> = counts.into_iter().filter(is_frequent).collect();
    found.sort_by_key(|&(_, count)| Reverse(count));
    found.into_iter().map(|(code, _)| code).collect()
}

/// Joins texts of fewer than `enough` characters.
fn join_short(texts: &[&str], enough: usize) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for text in texts {
        match joined.last_mut() {
            Some(last) if last.chars().nth(enough).is_none() => last.extend([" ", text]),
            _ => joined.push((*text).to_owned()),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
