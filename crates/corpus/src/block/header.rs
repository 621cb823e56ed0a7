//! Which columns of a file of records, or of rows, are for what.

use super::cutter::lines;
use crate::input::{InputError, InputFile, partitions, vocabulary};
use crate::settings::{CorpusSettings, Format};
use std::io::Read;

/// The id column that a job means when it does not say: a file may do without it.
const DEFAULT_ID: &str = "id";

/// Which columns of a file are for what.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) fields: usize,
    pub(crate) columns: Columns,
    /// The byte between the fields of a row.
    pub(crate) delimiter: u8,
    /// The terms that numbers in the file stand for.
    vocabulary: Option<Vec<String>>,
}

/// The places of the columns that the job names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) id: Option<usize>,
    pub(crate) text: Vec<usize>,
    pub(crate) group: Option<usize>,
    pub(crate) metadata: Vec<Option<usize>>,
}

impl Columns {
    /// Finds the job's columns among those of a file.
    pub(crate) fn find(
        names: &[String],
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        let place = |wanted: &String| {
            let found = names.iter().position(|name| name == wanted);
            found.ok_or_else(|| InputError::missing_column(&file.path, wanted, names))
        };
        // A folder's name may have the value.
        let place_or_folder = |wanted: &String| match place(wanted) {
            Err(_) if partitions(file).any(|(name, _)| name == wanted) => Ok(None),
            place => place.map(Some),
        };
        let id = match place(&settings.id) {
            Err(_) if settings.id.is_empty() || settings.id == DEFAULT_ID => None,
            id => Some(id?),
        };
        Ok(Self {
            id,
            text: settings.text.iter().map(place).collect::<Result<_, _>>()?,
            group: match &settings.group {
                Some(group) => place_or_folder(group)?,
                None => None,
            },
            metadata: settings
                .metadata
                .iter()
                .map(place_or_folder)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl Columns {
    /// Every place, in the order of the fields.
    pub(crate) fn places(&mut self) -> impl Iterator<Item = &mut usize> {
        let metadata = self.metadata.iter_mut().flatten();
        let values = self.text.iter_mut().chain(metadata);
        self.id.iter_mut().chain(values).chain(&mut self.group)
    }
}

impl Header {
    /// Reads the header line, with `delimiter` between its fields.
    pub(crate) fn parse(
        line: &[u8],
        delimiter: u8,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        let mut names: Vec<String> = Vec::new();
        let mut add =
            |field: &[u8]| names.push(settings.encoding.decode(field).0.trim().to_owned());
        match file.format {
            Format::Csv => parser(line, delimiter)
                .byte_records()
                .flatten()
                .take(1)
                .for_each(|record| record.iter().for_each(&mut add)),
            _ => lines(0, line)
                .flat_map(|(_, line)| line.split(|&byte| byte == delimiter))
                .for_each(add),
        }
        Self::of(&names, delimiter, file, settings)
    }

    /// The header of a format that has always the same columns; `None` for others.
    pub(crate) fn fixed(
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Option<Self>, InputError> {
        let Some(names) = fixed_columns(file.format) else {
            return Ok(None);
        };
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        Self::of(&names, b'\t', file, settings).map(Some)
    }

    fn of(
        names: &[String],
        delimiter: u8,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        Ok(Self {
            delimiter,
            fields: names.len(),
            columns: Columns::find(names, file, settings)?,
            vocabulary: file
                .vocabulary
                .as_deref()
                .map(vocabulary::read)
                .transpose()?,
        })
    }

    /// The terms that numbers in the file stand for, if they have a vocabulary.
    pub(crate) fn vocabulary(&self) -> Option<&[String]> {
        self.vocabulary.as_deref()
    }
}

/// The columns of a format that has always the same, and no line that says so. The label may be a group or
/// metadata, and the text may be counts.
pub fn fixed_columns(format: Format) -> Option<&'static [&'static str]> {
    match format {
        Format::Mallet | Format::SvmLight | Format::Vw => Some(&["id", "label", "text"]),
        Format::LdaC => Some(&["text"]),
        _ => None,
    }
}

/// The byte between the fields of a CSV file that starts like this: of comma, semicolon, tab and bar the one that
/// its header has most often outside quotes, the first of these if several are as frequent.
pub fn csv_delimiter(start: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    let mut within_quotes = false;
    let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
    for byte in start.iter().skip_while(|&byte| is_break(byte)) {
        match byte {
            b'"' => within_quotes = !within_quotes,
            _ if within_quotes => {}
            byte if is_break(byte) => break,
            _ => counts
                .iter_mut()
                .filter(|(delimiter, _)| delimiter == byte)
                .for_each(|(_, count)| *count += 1),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max();
    let found = counts.iter().find(|(_, count)| Some(*count) == most);
    found.map_or(b',', |(delimiter, _)| *delimiter)
}

/// A parser of records without a header, of any number of fields.
///
/// It begins with a blank line: the parser would drop a byte order mark at its start, which may be
/// anywhere in the file.
pub(crate) fn parser(bytes: &[u8], delimiter: u8) -> csv::Reader<impl Read> {
    csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(b"\n".chain(bytes))
}
