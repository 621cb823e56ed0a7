//! The first records of files, as names and texts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use super::Column;
use super::column::{form_of, is_id_name, is_text_name, last_key, text_of};
use super::objects::{Record, parsed};
use super::tables::{
    MOST_RECORDS, Table, csv_rows, ends_within_quotes, lines_above, mail_rows, mallet_rows,
    tsv_rows, uneven,
};
use crate::failure::Failure;
use crate::plan::look::{LOOK_BYTES, LOOKED_AT, first_bytes};
use corpus::encoding::{EncodingGuess, TextEncoding};
use corpus::formats::json::{self, nested};
use corpus::formats::{columnar, htrc, partitions};
use corpus::input::InputFile;
use corpus::settings::CorpusSettings;

/// Maximum number of characters and words in a column's name.
const NAME_CHARACTERS: usize = 80;
const NAME_WORDS: usize = 10;
/// The fewest words of a column's name that may be a document.
const PHRASE_WORDS: usize = 4;
/// Bytes of a file from which its encoding is guessed.
const GUESS_BYTES: usize = 64 << 10;

/// Bytes of the quotes, the colon and the comma around a value.
const VALUE_MARKS: usize = 6;

/// Files with the same names.
#[derive(Debug, Default)]
struct Group {
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
#[derive(Debug)]
pub(super) struct Records {
    settings: CorpusSettings,
    /// The text columns that were asked for; none if they are to be found.
    asked: Vec<String>,
    /// The guessed encoding of content that is not UTF-8.
    guess: EncodingGuess,
    /// Column names, in the order of their appearance.
    names: Vec<String>,
    /// The same names, for look-up.
    known: BTreeSet<String>,
    /// The files of tables and of several objects, by their names.
    groups: BTreeMap<BTreeSet<String>, Group>,
    /// Where the objects of files with only one are.
    singles: Vec<Range<usize>>,
    records: Vec<Record>,
    /// Approximate bytes of all records and texts: names and values, and the marks around them.
    pub(super) bytes: usize,
    /// The bytes that remain without markup.
    plain_bytes: usize,
    /// The starts of files that are documents.
    texts: Vec<String>,
    /// Whether a TSV file has quoted fields, like CSV.
    pub(super) has_quotes: bool,
    /// Whether a CSV file ends within a quote.
    pub(super) has_open_quote: bool,
    /// A file of JSON Lines whose objects are in an array, over several lines or several on a line; with the error.
    pub(super) joined: Option<Failure>,
    /// Arrays of objects in files that are one JSON object, with their numbers of objects.
    arrays: BTreeMap<String, u64>,
}

impl Records {
    /// Creates an empty set of records, of files that are read with these settings, for these text columns if any are
    /// asked for.
    pub(super) fn new(settings: &CorpusSettings, asked: &[String]) -> Self {
        Self {
            settings: settings.clone(),
            asked: asked.to_vec(),
            guess: EncodingGuess::default(),
            names: Vec::new(),
            known: BTreeSet::new(),
            groups: BTreeMap::new(),
            singles: Vec::new(),
            records: Vec::new(),
            bytes: 0,
            plain_bytes: 0,
            texts: Vec::new(),
            has_quotes: false,
            has_open_quote: false,
            joined: None,
            arrays: BTreeMap::new(),
        }
    }

    /// Adds a file's first records, or its start if it is a document.
    pub(super) fn read(&mut self, file: &InputFile) -> Result<(), Failure> {
        let records = match file.format.name {
            "text" => {
                let start = self.start(file, super::TEXT_BYTES)?;
                self.bytes += start.len();
                let plain = self.settings.markup.apply(start.into());
                self.plain_bytes += plain.len();
                self.texts.push(plain.into_owned());
                return Ok(());
            }
            "jsonl" | "json" => {
                let objects = self.objects(file)?;
                self.add_names(file, &objects);
                self.in_partitions(file, objects)
            }
            "csv" => {
                let start = self.start(file, LOOK_BYTES)?;
                self.check_header(file, &start, csv_rows)?;
                let is_whole = (start.len() as u64) < LOOK_BYTES;
                self.has_open_quote |= is_whole && ends_within_quotes(&start);
                self.table(file, csv_rows(&start, self.settings.header))
            }
            "tsv" => {
                let start = self.start(file, LOOK_BYTES)?;
                self.check_header(file, &start, tsv_rows)?;
                let [quoted, rows] =
                    [csv_rows, tsv_rows].map(|rows_of| rows_of(&start, self.settings.header));
                // The start may end within a row.
                self.has_quotes |= uneven(&quoted) <= 1 && uneven(&rows) > 1;
                self.table(file, rows)
            }
            "mail" => {
                let start = first_bytes(file, LOOK_BYTES)?;
                let rows = mail_rows(&start, self.settings.encoding, &mut self.guess);
                self.table(file, rows)
            }
            "mallet" => {
                let start = self.start(file, LOOK_BYTES)?;
                self.table(file, mallet_rows(&start))
            }
            "parquet" | "arrow" => self.table(file, columnar::first_rows(file, MOST_RECORDS)?),
            "htrc" => {
                self.texts.extend(htrc::words_of(file));
                return Ok(());
            }
            // These contain counts.
            _ => return Ok(()),
        };
        let size = |record: &Record| -> usize {
            let sizes = record.iter();
            sizes.map(|(name, value)| name.len() + value.len() + VALUE_MARKS).sum()
        };
        self.bytes += records.iter().map(size).sum::<usize>();
        let plain = |(name, value): (_, String)| {
            (name, self.settings.markup.apply(value.into()).into_owned())
        };
        let plain = |record: Record| record.into_iter().map(plain).collect();
        let records: Vec<Record> = records.into_iter().map(plain).collect();
        self.plain_bytes += records.iter().map(size).sum::<usize>();
        self.records.extend(records);
        Ok(())
    }

    /// Adds the keys of a file's objects.
    fn add_names(&mut self, file: &InputFile, objects: &[Record]) {
        for name in objects.iter().flatten().map(|(name, _)| name) {
            self.name(name);
        }
        let begin = self.records.len();
        match objects.len() {
            1 => self.singles.push(begin..begin + 1),
            several => {
                let names = objects.iter().flatten().map(|(name, _)| name.clone());
                self.group(file, names, several);
            }
        }
    }

    /// Reads the start of a file, without a byte order mark.
    fn start(&mut self, file: &InputFile, limit: u64) -> Result<String, Failure> {
        let start = first_bytes(file, limit)?;
        self.guess.add(&start[..start.len().min(GUESS_BYTES)]);
        Ok(self.settings.encoding.decode_file(&start).0.into_owned())
    }

    /// Reads the first objects of a JSON file; reads further if the first object is long.
    fn objects(&mut self, file: &InputFile) -> Result<Vec<Record>, Failure> {
        let mut limit = LOOK_BYTES;
        loop {
            let start = self.start(file, limit)?;
            let is_cut = start.len() as u64 >= limit && limit < LOOKED_AT;
            let arrays = nested::arrays(start.as_bytes());
            let is_one_object = !arrays.is_empty();
            let objects = if is_one_object || file.format.name == "json" {
                parsed(objects_of(&start))
            } else {
                parsed(start.lines())
            };
            let objects = match objects {
                Ok(objects) => objects,
                Err(_) if is_cut => {
                    limit *= 8;
                    continue;
                }
                // The object may be longer than what was read.
                Err(_) if is_one_object => Vec::new(),
                Err(error) => {
                    let failure = no_objects(file, &error);
                    let is_joined = file.format.name == "jsonl";
                    let objects = parsed(objects_of(&start)).ok().filter(|_| is_joined);
                    let Some(objects) = objects else {
                        return Err(failure);
                    };
                    self.joined.get_or_insert(failure);
                    objects
                }
            };
            for (path, objects) in arrays {
                *self.arrays.entry(path).or_default() += objects;
            }
            return Ok(objects);
        }
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
    pub(super) fn encoding(&self) -> Option<TextEncoding> {
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
    pub(super) fn columns(&self, names: &dyn Fn(&String) -> bool) -> Vec<Column> {
        let named = self.names.iter().filter(|name| !name.is_empty() && names(name));
        let all: Range<usize> = 0..self.records.len();
        self.columns_of(named, &[all])
    }

    /// Returns the columns of these names, over some of the records.
    fn columns_of<'n>(
        &self,
        names: impl Iterator<Item = &'n String>,
        ranges: &[Range<usize>],
    ) -> Vec<Column> {
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
            Column::of(name.clone(), count, values)
        };
        names.map(column).collect()
    }

    /// Tells the files with a text from those without.
    pub(super) fn judged(&self) -> Judged {
        let is_chosen = |(names, group): &(&BTreeSet<String>, &Group)| {
            if self.asked.is_empty() {
                text_of(&self.columns_of(names.iter(), &group.records)).is_some()
            } else {
                self.asked.iter().all(|name| names.contains(name))
            }
        };
        let (mut chosen, mut others): (Vec<_>, Vec<_>) = self.groups.iter().partition(is_chosen);
        let singles = self.columns_of(self.names.iter(), &self.singles);
        let has_text = !chosen.is_empty() || text_of(&singles).is_some();
        if !has_text {
            std::mem::swap(&mut chosen, &mut others);
        }
        let lacked = |is_counted: fn(&Group) -> bool| -> BTreeSet<String> {
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
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns the share of the bytes that remains without markup.
    pub(super) fn plain_share(&self) -> f64 {
        self.plain_bytes as f64 / self.bytes.max(1) as f64
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
    pub(super) fn are_json_lines(&self) -> bool {
        let is_object = |text: &String| {
            let line = text.lines().next().unwrap_or_default();
            parsed(std::iter::once(line)).is_ok_and(|objects| !objects.is_empty())
        };
        !self.texts.is_empty() && self.texts.iter().all(is_object)
    }

    /// Whether there are files that are documents, nine of ten or more beginning with the headers of an e-mail: mail
    /// servers keep lists beside it.
    pub(super) fn are_mail(&self) -> bool {
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

    /// Adds the values of a file's partitions to its records.
    fn in_partitions(&mut self, file: &InputFile, mut records: Vec<Record>) -> Vec<Record> {
        for (name, value) in partitions(file) {
            self.name(name);
            let is_without = |record: &&mut Record| record.iter().all(|(known, _)| known != name);
            for record in records.iter_mut().filter(is_without) {
                record.extend(value.clone().map(|value| (name.to_owned(), value.into_owned())));
            }
        }
        records
    }

    /// Refuses a table whose header is below other lines.
    fn check_header(
        &self,
        file: &InputFile,
        start: &str,
        rows_of: fn(&str, bool) -> Table,
    ) -> Result<(), Failure> {
        let above = lines_above(start, rows_of).filter(|_| self.settings.header);
        let Some((lines, fields)) = above else {
            return Ok(());
        };
        let (name, from) = (&file.name, lines + 1);
        let problem =
            format!("the header is not line 1: from line {from} on, rows have {fields} fields");
        let help = format!("remove the lines above the header: tail -n +{from} {name} > NEW");
        Err(Failure::file(name, problem).help(help))
    }

    /// Returns the rows of a table as records.
    fn table(&mut self, file: &InputFile, (header, rows): Table) -> Vec<Record> {
        self.group(file, header.iter().cloned(), rows.len());
        header.iter().for_each(|name| self.name(name));
        let record = |row: Vec<String>| header.iter().cloned().zip(row).collect();
        let records = rows.into_iter().map(record).collect();
        self.in_partitions(file, records)
    }

    /// Adds a file, of which as many records are about to be added, to the group with its names.
    fn group(&mut self, file: &InputFile, names: impl Iterator<Item = String>, records: usize) {
        let group = self.groups.entry(names_of(file, names)).or_default();
        let begin = self.records.len();
        group.files.push(file.path.clone());
        group.records.push(begin..begin + records);
        group.are_tables |= !matches!(file.format.name, "jsonl" | "json");
    }

    /// Adds a file of which only the names are read, unless no file with these names has been read: then returns false.
    pub(super) fn knows(&mut self, file: &InputFile) -> Result<bool, Failure> {
        let start = |records: &mut Self| records.start(file, super::TEXT_BYTES);
        let (header, _) = match file.format.name {
            "csv" => csv_rows(&start(self)?, self.settings.header),
            "tsv" => tsv_rows(&start(self)?, self.settings.header),
            "parquet" | "arrow" => columnar::first_rows(file, 1)?,
            _ => return Ok(true),
        };
        let group = self.groups.get_mut(&names_of(file, header.into_iter()));
        Ok(group.map(|group| group.files.push(file.path.clone())).is_some())
    }

    fn name(&mut self, name: &str) {
        if !self.known.contains(name) {
            self.known.insert(name.to_owned());
            self.names.push(name.to_owned());
        }
    }
}

/// Returns the names of a file's columns, with those of its partitions.
fn names_of(file: &InputFile, header: impl Iterator<Item = String>) -> BTreeSet<String> {
    let folders = partitions(file).map(|(name, _)| name.to_owned());
    header.chain(folders).filter(|name| !name.is_empty()).collect()
}

/// Returns the error that a file of JSON holds no objects where its format has them.
fn no_objects(file: &InputFile, error: &serde_json::Error) -> Failure {
    let (what, help) = match file.format.name {
        "jsonl" => (
            "no line",
            "put one object on each line, such as {\"id\": 1, \"text\": \"…\"}: jq -c '.[]' does so for an array, and \
             jq -c . for other objects",
        ),
        _ => ("nothing", "documents must be objects, such as [{\"id\": 1, \"text\": \"…\"}]"),
    };
    Failure::file(&file.name, format!("{what} is a JSON object: {error}")).help(help)
}

/// Returns the objects of JSON over any number of lines.
fn objects_of(start: &str) -> impl Iterator<Item = &str> {
    let text = |(begins, object): (u64, &[u8])| {
        let begins = begins as usize;
        &start[begins..begins + object.len()]
    };
    json::objects(0, start.as_bytes()).map(text)
}
