//! The columns of a file of records, and its first records with a text for each column, from which a program can
//! guess their roles.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::block::{BlockQueue, Share};
use crate::error::InputError;
use crate::formats::columnar::first_rows;
use crate::formats::cutter::{Piece, RecordCutter, lines};
use crate::formats::json::{self, mended, objects};
use crate::formats::records::{ColumnNames, Records};
use crate::formats::{Cutting, Format, InputFile, partitions};
use crate::input::Input;
use crate::settings::{CorpusSettings, OnDamage};
use crate::{Body, DocumentStatus};

/// Bytes of a file's content in which its first records begin.
pub const START_BYTES: u64 = 1 << 20;
/// Bytes of the longest record that is read.
const RECORD_BYTES: u64 = 64 << 20;
/// Maximum number of records that are read from a file.
pub const MOST_RECORDS: usize = 1_000;
/// Maximum number of columns whose values are read: if a key holds counts, there may be as many names as words.
const MOST_COLUMNS: usize = 1_000;

/// A record: the names and texts of its values, but for blank ones. A list has a line for each item.
pub type Record = Vec<(String, String)>;

/// The columns of a file, and its first records.
#[derive(Debug, Default)]
pub struct FirstRecords {
    /// The names of the columns, or of the keys with a value; those of the file's folders are the last.
    pub names: Vec<String>,
    /// The first records, in their order.
    pub records: Vec<Record>,
    /// Number of records beside them that are not in the format, such as rows with other fields than the header.
    pub broken: usize,
    /// Whether the content ends within a record, such as a row with an open quote.
    pub is_cut: bool,
    /// Why the first part of JSON is not an object, if no other one is.
    pub no_object: Option<String>,
    /// The arrays of objects in a file that is one JSON object, by their paths, with their numbers of objects; without
    /// arrays within arrays.
    pub arrays: BTreeMap<String, u64>,
}

/// Reads the columns and the first records of a file; those of objects are their keys, `a.b` within others.
///
/// # Errors
/// It cannot be read, or has no header where it should.
pub fn first_records(
    file: &InputFile,
    settings: &CorpusSettings,
) -> Result<FirstRecords, InputError> {
    let mut first = FirstRecords::default();
    match file.format.column_names() {
        None => {
            let (names, rows) = first_rows(file, MOST_RECORDS)?;
            let rows = rows.into_iter().map(|row| filled(&names, row.into_iter().map(Some)));
            first.records = rows.collect();
            first.names = names;
        }
        Some(ColumnNames::Keys) => {
            let keys = ObjectKeys::of(file, settings)?;
            first.read(keys.most_frequent(), file, settings)?;
            (first.names, first.no_object) = (keys.names, keys.no_object);
            first.arrays = keys.arrays;
        }
        Some(source) => {
            first.names = header(source, file, settings)?;
            let is_alone = |name: &&String| {
                let same = first.names.iter().filter(|other| other == name);
                !name.is_empty() && same.take(2).count() == 1
            };
            let alone = first.names.iter().filter(is_alone).take(MOST_COLUMNS).cloned().collect();
            first.read(alone, file, settings)?;
        }
    }
    for (name, value) in partitions(file) {
        let is_without = |record: &&mut Record| record.iter().all(|(known, _)| known != name);
        for record in first.records.iter_mut().filter(is_without) {
            record.extend(value.clone().map(|value| (name.to_owned(), value.into_owned())));
        }
    }
    add_folders(&mut first.names, file);
    Ok(first)
}

/// Returns the names of a table's columns, without reading its records.
///
/// # Errors
/// It cannot be read.
pub fn columns(file: &InputFile, settings: &CorpusSettings) -> Result<Vec<String>, InputError> {
    let mut names = match file.format.column_names() {
        None => first_rows(file, 1)?.0,
        Some(source) => header(source, file, settings)?,
    };
    add_folders(&mut names, file);
    Ok(names)
}

fn add_folders(names: &mut Vec<String>, file: &InputFile) {
    for (name, _) in partitions(file) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
}

/// Returns the records of a file of this format that begins with these bytes.
fn records_of(format: &Format, start: &[u8]) -> Option<Arc<dyn Records>> {
    match format.cutting {
        Cutting::Records(of, _) => Some(of(start)),
        _ => None,
    }
}

/// Returns the columns that the header names, or their numbers, or those that all files of the format have.
fn header(
    source: ColumnNames,
    file: &InputFile,
    settings: &CorpusSettings,
) -> Result<Vec<String>, InputError> {
    if let ColumnNames::Fixed(names) = source {
        return Ok(names.iter().map(|&name| name.to_owned()).collect());
    }
    let mut start = Vec::new();
    // Bytes before a break stay in `start`; reading the records reports the break itself.
    let _ = file.content()?.take(START_BYTES).read_to_end(&mut start);
    let (start, _) = settings.encoding.decode_file(&start);
    let first = rows(&start, file.format, 1).pop().unwrap_or_default();
    if settings.header {
        return Ok(first);
    }
    Ok((1..=first.len()).map(|number| number.to_string()).collect())
}

/// Returns the first rows of a table that starts like this, at most this many, the header among them.
pub fn rows(start: &str, format: &Format, most: usize) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let Some(records) = records_of(format, start.as_bytes()) else {
        return rows;
    };
    let first = start.split_inclusive('\n').next().unwrap_or_default();
    let above = if records.is_above_header(first.as_bytes()) { first.len() } else { 0 };
    records.rows(0, &start.as_bytes()[above..], &mut |_, row| {
        let text = |field: &&[u8]| String::from_utf8_lossy(field).trim().to_owned();
        let row: Vec<String> = row.unwrap_or_default().iter().map(text).collect();
        if rows.len() < most && (row.len() > 1 || row.iter().any(|field| !field.is_empty())) {
            rows.push(row);
        }
    });
    rows
}

impl FirstRecords {
    /// Reads the values of these columns as a job's metadata.
    fn read(
        &mut self,
        columns: Vec<String>,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<(), InputError> {
        let Some(id) = columns.first().cloned() else {
            return Ok(());
        };
        let settings = CorpusSettings {
            id,
            text: Vec::new(),
            counts: None,
            group: None,
            metadata: columns,
            languages: None,
            block_bytes: Some(START_BYTES),
            max_document_bytes: settings.max_document_bytes.min(RECORD_BYTES),
            on_damage: OnDamage::Keep,
            ..settings.clone()
        };
        let input =
            Input { files: vec![file.clone()], total_bytes: file.bytes, ..Input::default() };
        let queue = BlockQueue::new(Arc::new(input), &settings, Share::ALL);
        let Some(block) = queue.next_block()? else {
            return Ok(());
        };
        block.read(&settings, &mut |document| {
            let status = match document.body {
                Body::Missing { status, .. } => status,
                _ => DocumentStatus::Ok,
            };
            self.is_cut |= status == DocumentStatus::Truncated;
            if self.is_cut || self.records.len() + self.broken == MOST_RECORDS {
                return;
            }
            // Without a text, every document is empty.
            if status != DocumentStatus::Empty {
                self.broken += 1;
                return;
            }
            let values = document.metadata.into_iter().map(|value| value.map(Into::into));
            self.records.push(filled(&settings.metadata, values));
        })?;
        Ok(())
    }
}

/// Returns the names and texts of the values that are not blank.
fn filled(names: &[String], values: impl Iterator<Item = Option<String>>) -> Record {
    let named = names.iter().zip(values).filter_map(|(name, value)| Some((name, value?)));
    let lines = named.map(|(name, value)| (name.clone(), lines_of(&value)));
    lines.filter(|(_, value)| !value.is_empty()).collect()
}

/// Returns a value as text, a list as its items.
fn lines_of(value: &str) -> String {
    let value = value.trim();
    let items = value.starts_with('[').then(|| serde_json::from_str::<Vec<Value>>(value).ok());
    let Some(items) = items.flatten() else {
        return value.to_owned();
    };
    let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
    items.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// The keys of the first objects of JSON.
#[derive(Default)]
struct ObjectKeys {
    /// Their names, in the order of their appearance.
    names: Vec<String>,
    /// The number of objects that have each.
    objects: BTreeMap<String, usize>,
    no_object: Option<String>,
    arrays: BTreeMap<String, u64>,
}

impl ObjectKeys {
    fn of(file: &InputFile, settings: &CorpusSettings) -> Result<Self, InputError> {
        let mut keys = Self::default();
        let are_lines = *file.format != json::JSON;
        let limit = settings.max_document_bytes.min(RECORD_BYTES);
        let mut cutter = RecordCutter::new(file.content()?, 0, json::scans(are_lines), limit);
        cutter.skip_byte_order_mark();
        let (mut read, mut problem) = (0, None);
        for piece in cutter.next_pieces(START_BYTES) {
            let bytes = match piece {
                Piece::Records { bytes, .. } => bytes,
                Piece::TooLarge { bytes, .. } => {
                    let large = format!("the first one has {bytes} bytes, too many to look into");
                    problem = problem.or(Some(large).filter(|_| read == 0));
                    continue;
                }
                Piece::Truncated { reason, .. } => {
                    problem = problem.or(Some(reason).filter(|_| read == 0));
                    continue;
                }
            };
            let mut add = |part: &[u8]| {
                if part.trim_ascii().is_empty() || read == MOST_RECORDS {
                    return;
                }
                let (part, _) = settings.encoding.decode(part);
                match names_in(&part) {
                    Ok((names, arrays)) => {
                        keys.add(names);
                        keys.arrays = if read == 0 { arrays } else { BTreeMap::new() };
                    }
                    Err(error) if read == 0 => problem = Some(error.to_string()),
                    Err(_) => {}
                }
                read += 1;
            };
            if are_lines {
                lines(0, &bytes).for_each(|(_, part)| add(part));
            } else {
                objects(0, &bytes).for_each(|(_, part)| add(part));
            }
        }
        keys.no_object = problem.filter(|_| keys.objects.is_empty());
        Ok(keys)
    }

    fn add(&mut self, names: BTreeSet<String>) {
        for name in names {
            let objects = self.objects.entry(name.clone()).or_default();
            if *objects == 0 {
                self.names.push(name);
            }
            *objects += 1;
        }
    }

    fn most_frequent(&self) -> Vec<String> {
        let mut names = self.names.clone();
        if names.len() > MOST_COLUMNS {
            names.sort_by_key(|name| std::cmp::Reverse(self.objects[name]));
            names.truncate(MOST_COLUMNS);
        }
        names
    }
}

/// Returns whether a text is a JSON object that the reader can read.
pub fn is_object(text: &str) -> bool {
    names_in(text).is_ok()
}

/// Returns the names of an object's values, without those that the reader cannot hold, too deep or too large; and its
/// arrays of objects, with their numbers.
fn names_in(object: &str) -> serde_json::Result<(BTreeSet<String>, BTreeMap<String, u64>)> {
    let (mended, _) = mended(object);
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(&mended)?;
    let (mut names, mut arrays) = Default::default();
    for (name, value) in fields {
        if let Ok(value) = serde_json::from_str(value.get()) {
            add_names(name, &value, &mut names, &mut arrays);
        }
    }
    Ok((names, arrays))
}

/// Adds the name of a text, number, boolean or list of texts; of objects and lists of objects, those of their values.
fn add_names(
    name: String,
    value: &Value,
    names: &mut BTreeSet<String>,
    arrays: &mut BTreeMap<String, u64>,
) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (key, value) in fields {
                add_names(format!("{name}.{key}"), value, names, arrays);
            }
        }
        Value::Array(items) if !items.iter().all(Value::is_string) => {
            for object in items.iter().filter(|item| item.is_object()) {
                *arrays.entry(name.clone()).or_default() += 1;
                add_names(name.clone(), object, names, &mut BTreeMap::new());
            }
        }
        _ => _ = names.insert(name),
    }
}
