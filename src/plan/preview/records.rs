//! The first records of files, as names and texts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use super::column::{PreviewColumn, form_of, is_id_name, is_text_name, last_key, text_of};
use crate::failure::Failure;
use crate::plan::survey::first_bytes;
use corpus::columns::{
    FirstRecords, MOST_RECORDS, Record, START_BYTES, columns, first_records, is_object, rows,
};
use corpus::compression::Compression;
use corpus::encoding::{EncodingGuess, TextEncoding};
use corpus::formats::{Cutting, Format, InputFile, csv, htrc, json};
use corpus::input::InputError;
use corpus::settings::CorpusSettings;

/// Maximum number of characters and words in a column's name.
const NAME_CHARACTERS: usize = 80;
const NAME_WORDS: usize = 10;
/// The fewest words of a column's name that may be a document.
const PHRASE_WORDS: usize = 4;
/// Bytes of a file from which its encoding is guessed.
const GUESS_BYTES: usize = 64 << 10;
/// Maximum number of lines above a header that are found.
const MOST_ABOVE: usize = 10;
/// The fewest rows below such a header.
const LEAST_BELOW: usize = 5;
/// Bytes of the quotes, the colon and the comma around a value.
const VALUE_MARKS: usize = 6;

/// Files with the same names.
#[derive(Debug, Default)]
struct FilesOfNames {
    files: Vec<PathBuf>,
    /// Where their records are; none of files of which only the names were read.
    records: Vec<Range<usize>>,
    /// Whether they are tables, which have a fixed set of names.
    are_tables: bool,
}

/// The files with a text, and those without.
#[derive(Debug)]
pub(super) struct Judged {
    /// Whether there are files with a text; if not, all count as such.
    pub(super) has_text: bool,
    /// The names that one of the files with a text lacks.
    pub(super) absent: BTreeSet<String>,
    /// Those of them that a table lacks.
    pub(super) lacked_by_tables: BTreeSet<String>,
    /// The files without a text; none if no file has one.
    pub(super) textless: BTreeSet<PathBuf>,
}

/// The first records and texts of some files.
#[derive(Debug, Default)]
pub(crate) struct PreviewRecords {
    /// The guessed encoding of content that is not UTF-8.
    guess: EncodingGuess,
    /// Column names, in the order of their appearance.
    names: Vec<String>,
    /// The same names, for look-up.
    known: BTreeSet<String>,
    /// The files of tables and of several objects, by their names.
    groups: BTreeMap<BTreeSet<String>, FilesOfNames>,
    /// Where the objects of files with only one are.
    singles: Vec<Range<usize>>,
    records: Vec<Record>,
    /// Approximate bytes of all records and texts: names and values, and the marks around them.
    pub(super) bytes: usize,
    /// The starts of files that are documents.
    texts: Vec<String>,
    /// Whether a TSV file has quoted fields, like CSV.
    pub(crate) has_quotes: bool,
    /// Whether a CSV file ends within a quote.
    pub(crate) has_open_quote: bool,
    /// A file of JSON Lines whose objects are in an array, over several lines or several on a line; with the error.
    pub(crate) joined: Option<Failure>,
    /// Arrays of objects in files that are one JSON object, with their numbers of objects.
    arrays: BTreeMap<String, u64>,
}

impl PreviewRecords {
    /// Adds a file's first records, or its start if it is a document.
    pub(super) fn read(
        &mut self,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<(), Failure> {
        let as_format = |format: &'static Format| InputFile { format, ..file.clone() };
        let mut start = |limit| -> Result<String, InputError> {
            let start = first_bytes(file, limit)?;
            self.guess.add(&start[..start.len().min(GUESS_BYTES)]);
            Ok(settings.encoding.decode_file(&start).0.into_owned())
        };
        let first = match file.format.name {
            "text" => {
                let start = start(super::TEXT_BYTES)?;
                self.bytes += start.len();
                self.texts.push(settings.markup.apply(start.into()).into_owned());
                return Ok(());
            }
            "htrc" => {
                self.texts.extend(htrc::words_of(file));
                return Ok(());
            }
            _ if file.format.has_keys() => {
                start(START_BYTES)?;
                let mut first = first_records(file, settings)?;
                if let Some(error) = first.no_object.take() {
                    let failure = no_objects(file, &error);
                    first = first_records(&as_format(&json::JSON), settings)?;
                    if *file.format == json::JSON || first.no_object.is_some() {
                        return Err(failure);
                    }
                    self.joined.get_or_insert(failure);
                }
                for (path, objects) in std::mem::take(&mut first.arrays) {
                    *self.arrays.entry(path).or_default() += objects;
                }
                first
            }
            _ if file.format.has_header() => {
                let start = start(START_BYTES)?;
                let first = first_records(file, settings)?;
                if settings.header {
                    check_header(file, &start, &first)?;
                }
                self.has_open_quote |= *file.format == csv::CSV
                    && file.compression == Compression::Plain
                    && first.is_cut;
                self.has_quotes |= *file.format == csv::TSV
                    && first.broken > 1
                    && first_records(&as_format(&csv::CSV), settings)?.broken <= 1;
                first
            }
            // Counts have no columns.
            _ if file.format.is_counts => return Ok(()),
            _ => {
                let first = first_records(file, settings)?;
                let is_torn = |(_, value): &(_, String)| value.contains('\u{fffd}');
                if matches!(file.format.cutting, Cutting::Records(..))
                    && first.records.iter().flatten().any(is_torn)
                {
                    start(START_BYTES)?;
                }
                first
            }
        };
        self.add(file, first, settings);
        Ok(())
    }

    /// Adds the records of a file, without markup.
    fn add(&mut self, file: &InputFile, first: FirstRecords, settings: &CorpusSettings) {
        let begin = self.records.len();
        let records = begin..begin + first.records.len();
        let are_tables = !file.format.has_keys();
        if !are_tables && records.len() == 1 {
            self.singles.push(records);
        } else {
            let group = self.groups.entry(set_of(&first.names)).or_default();
            group.files.push(file.path.clone());
            group.records.push(records);
            group.are_tables |= are_tables;
        }
        for name in first.names {
            if self.known.insert(name.clone()) {
                self.names.push(name);
            }
        }
        for mut record in first.records {
            for (name, value) in &mut record {
                self.bytes += name.len() + value.len() + VALUE_MARKS;
                *value = settings.markup.apply(std::mem::take(value).into()).into_owned();
            }
            self.records.push(record);
        }
    }

    /// Adds a file of which only the names are read, unless no file with these names has been read: then returns false.
    pub(super) fn knows(
        &mut self,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<bool, Failure> {
        if !file.format.has_header() && !matches!(file.format.cutting, Cutting::RowGroups(_)) {
            return Ok(true);
        }
        let group = self.groups.get_mut(&set_of(&columns(file, settings)?));
        Ok(group.map(|group| group.files.push(file.path.clone())).is_some())
    }

    /// Returns the path to the array with the documents, if each record file is one JSON object with an array of
    /// several: in one file, the largest array; in several, one whose objects have ids, unless the text is outside.
    pub(super) fn path(&self, files: usize) -> Option<String> {
        let largest = self.arrays.iter().max_by_key(|(_, objects)| **objects);
        let (path, _) = largest.filter(|(_, objects)| **objects > 1)?;
        if files > 1 {
            let prefix = format!("{path}.");
            let (within, outside): (Vec<&String>, Vec<&String>) =
                (self.names.iter()).partition(|name| name.starts_with(&prefix));
            let has_id = within.iter().any(|name| is_id_name(last_key(name)));
            if !has_id || outside.iter().any(|name| is_text_name(last_key(name))) {
                return None;
            }
        }
        Some(path.clone())
    }

    /// Returns the likeliest encoding, if more than a few texts or values are not UTF-8.
    pub(crate) fn encoding(&self) -> Option<TextEncoding> {
        let is_torn = |text: &String| text.contains('\u{fffd}');
        let torn = self.texts.iter().filter(|text| is_torn(text)).count()
            + self
                .records
                .iter()
                .filter(|record| record.iter().any(|(_, value)| is_torn(value)))
                .count();
        let is_much = 100 * torn > self.texts.len() + self.records.len();
        // What was UTF-8 has no other encoding, even if JSON in it has halves of surrogate pairs.
        self.guess.best().filter(|_| is_much)
    }

    /// Returns the columns of these names, except those without a name.
    pub(super) fn columns(&self, names: &dyn Fn(&String) -> bool) -> Vec<PreviewColumn> {
        let named = self.names.iter().filter(|name| !name.is_empty() && names(name));
        let all: Range<usize> = 0..self.records.len();
        self.columns_of(named, &[all])
    }

    /// Returns the columns of these names, over some of the records.
    fn columns_of<'n>(
        &self,
        names: impl Iterator<Item = &'n String>,
        ranges: &[Range<usize>],
    ) -> Vec<PreviewColumn> {
        // In one pass: if a key holds counts, there may be as many names as words.
        let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut count = 0;
        for record in ranges.iter().flat_map(|range| &self.records[range.clone()]) {
            count += 1;
            let mut of_record: BTreeMap<&str, &str> = BTreeMap::new();
            for (name, value) in record {
                of_record.entry(name).or_insert(value);
            }
            let filled = of_record.into_iter().filter(|(_, value)| !value.trim().is_empty());
            filled.for_each(|(name, value)| values.entry(name).or_default().push(value));
        }
        let column = |name: &String| {
            let values = values.get(name.as_str()).map_or(&[][..], Vec::as_slice);
            PreviewColumn::of(name.clone(), count, values)
        };
        names.map(column).collect()
    }

    /// Tells the files with a text, or with the columns that were `asked` for, from those without.
    pub(super) fn judged(&self, asked: &[String]) -> Judged {
        let is_chosen = |(names, group): &(&BTreeSet<String>, &FilesOfNames)| {
            if asked.is_empty() {
                text_of(&self.columns_of(names.iter(), &group.records)).is_some()
            } else {
                asked.iter().all(|name| names.contains(name))
            }
        };
        let (mut chosen, mut others): (Vec<_>, Vec<_>) = self.groups.iter().partition(is_chosen);
        let singles = self.columns_of(self.names.iter(), &self.singles);
        let has_text = !chosen.is_empty() || text_of(&singles).is_some();
        if !has_text {
            std::mem::swap(&mut chosen, &mut others);
        }
        let lacked = |is_counted: fn(&FilesOfNames) -> bool| -> BTreeSet<String> {
            let counted = chosen.iter().filter(|(_, group)| is_counted(group));
            let is_lacked =
                |name: &&String| counted.clone().any(|(names, _)| !names.contains(*name));
            let named = self.names.iter().filter(|name| !name.is_empty());
            named.filter(is_lacked).cloned().collect()
        };
        Judged {
            has_text,
            absent: lacked(|_| true),
            lacked_by_tables: lacked(|group| group.are_tables),
            textless: others.iter().flat_map(|(_, group)| group.files.clone()).collect(),
        }
    }

    /// Returns the names of all columns.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of records, not counting documents that are files.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether the column names are actually a row: one of them is as long as a sentence, and another one is among the
    /// values below it, or has their form: a number, a date or an id. Survey questions are names.
    pub(super) fn are_headless(&self) -> bool {
        let words = |name: &String| name.split_whitespace().count();
        let is_sentence =
            |name: &String| name.chars().count() > NAME_CHARACTERS || words(name) > NAME_WORDS;
        let is_phrase = |name: &String| words(name) >= PHRASE_WORDS;
        let is_value = |name: &String| self.values(name).any(|value| value == name);
        let is_like_values = |name: &String| {
            let form = form_of(name);
            let mut values = self.values(name).peekable();
            let is_above = values.peek().is_some();
            is_above && form.is_some() && values.all(|value| form_of(value) == form)
        };
        let has = |is_so: &dyn Fn(&String) -> bool| self.names.iter().any(is_so);
        // A name above numbers.
        let is_unlike_values = |name: &String| {
            let mut values = self.values(name).peekable();
            let is_above = values.peek().is_some();
            is_above && form_of(name).is_none() && values.all(|value| form_of(value).is_some())
        };
        has(&is_sentence) && (self.names.len() == 1 || has(&is_value))
            || has(&is_phrase) && has(&is_like_values) && !has(&is_unlike_values)
    }

    /// Whether there are files that are documents, each beginning with a line that is a JSON object.
    pub(crate) fn are_json_lines(&self) -> bool {
        let begins_with_object = |text: &String| {
            let line = text.lines().next().unwrap_or_default();
            is_object(line)
        };
        !self.texts.is_empty() && self.texts.iter().all(begins_with_object)
    }

    /// Whether there are files that are documents, nine of ten or more beginning with the headers of an e-mail: mail
    /// servers keep lists beside it.
    pub(crate) fn are_mail(&self) -> bool {
        let is_mail = |text: &String| {
            let headers = text.split("\n\n").next().unwrap_or_default();
            let has = |name: &str| headers.lines().any(|line| line.starts_with(name));
            has("From") && (has("Subject:") || has("Date:") || has("Message-I"))
        };
        let mails = self.texts.iter().filter(|text| is_mail(text)).count();
        mails > 0 && 10 * mails >= 9 * self.texts.len()
    }

    /// Returns the texts of these columns.
    pub(super) fn values_of<'a>(&'a self, columns: &'a [String]) -> Vec<&'a str> {
        columns.iter().flat_map(|name| self.values(name)).collect()
    }

    /// Returns the texts of these columns, and the texts without columns.
    pub(super) fn texts<'a>(&'a self, columns: &'a [String]) -> Vec<&'a str> {
        let starts = self.texts.iter().map(String::as_str);
        starts.chain(self.values_of(columns)).collect()
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let value = move |record: &'a Record| {
            let named = record.iter().find(|(key, _)| key == name);
            named.map(|(_, value)| value.as_str()).filter(|value| !value.trim().is_empty())
        };
        self.records.iter().filter_map(value)
    }
}

/// Returns the names that are not blank.
fn set_of(names: &[String]) -> BTreeSet<String> {
    names.iter().filter(|name| !name.is_empty()).cloned().collect()
}

/// Refuses a table whose header is below other lines, such as a title: most rows have other numbers of fields than the
/// first line, and those below another line have as many as that.
fn check_header(file: &InputFile, start: &str, first: &FirstRecords) -> Result<(), Failure> {
    if first.broken <= first.records.len() && first.names.len() > 1 {
        return Ok(());
    }
    let header_at = |at: usize| {
        let mut below = rows(&start[at..], file.format, MOST_RECORDS).into_iter();
        let names = below.next()?;
        let below: Vec<Vec<String>> = below.collect();
        let uneven = below.iter().filter(|row| row.len() != names.len()).count();
        let are_names = names.len() > 1 && names.iter().all(|name| form_of(name).is_none());
        let is_header = are_names && below.len() >= LEAST_BELOW && 10 * uneven <= below.len();
        is_header.then_some(names.len())
    };
    let lines = start.match_indices('\n').map(|(at, _)| at + 1);
    let mut found = (2..).zip(lines.take(MOST_ABOVE));
    let Some((from, fields)) = found.find_map(|(line, at)| Some((line, header_at(at)?))) else {
        return Ok(());
    };
    let name = &file.name;
    let problem =
        format!("the header is not line 1: from line {from} on, rows have {fields} fields");
    let help = format!("remove the lines above the header: tail -n +{from} {name} > NEW");
    Err(Failure::file(name, problem).help(help))
}

/// Returns the error that a file of JSON holds no objects where its format has them.
fn no_objects(file: &InputFile, error: &str) -> Failure {
    let (what, help) = if *file.format == json::JSON_LINES {
        (
            "no line",
            "put one object on each line, such as {\"id\": 1, \"text\": \"…\"}: jq -c '.[]' does so for an array, \
             jq -c '.KEY[]' for one under a key, and jq -c . for other objects",
        )
    } else {
        let help = "documents must be objects, such as [{\"id\": 1, \"text\": \"…\"}]; jq -c '.KEY[]' extracts those of an \
                    array under a key";
        ("nothing", help)
    };
    Failure::file(&file.name, format!("{what} is a JSON object: {error}")).help(help)
}
