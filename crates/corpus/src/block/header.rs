//! The roles of the columns of a file of records or rows.

use super::cutter::{Dialect, lines};
use crate::input::{InputError, InputFile, partitions, vocabulary};
use crate::settings::{CorpusSettings, Format};
use std::io::Read;

/// The default id column, which a file may lack.
const DEFAULT_ID: &str = "id";

/// The remedy for lines that end with carriage returns, as on an old Macintosh.
pub(crate) const RETURNS_REMEDY: &str =
    "if these alone end its lines, convert them: tr '\\r' '\\n' < FILE > NEW";

/// The roles of a file's columns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) fields: usize,
    pub(crate) columns: Columns,
    /// How rows are written.
    pub(crate) dialect: Dialect,
    /// The terms that numbers in the file refer to, if it has a vocabulary.
    pub(crate) vocabulary: Option<Vec<String>>,
}

/// The indices of the columns that the job names.
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
            let mut found = (0..names.len()).filter(|&place| names[place] == *wanted);
            match (found.next(), found.next()) {
                (Some(place), None) => Ok(place),
                (Some(first), Some(second)) => {
                    let problem = format!(
                        "columns {} and {} are both `{wanted}`; rename one of them, or name another column in the job",
                        first + 1,
                        second + 1
                    );
                    Err(InputError::refused(&file.path, problem))
                }
                _ => Err(InputError::missing_column(&file.path, wanted, names)),
            }
        };
        let is_missing = |error: &InputError| matches!(error, InputError::MissingColumn(_));
        // A folder's name may supply the value.
        let place_or_folder = |wanted: &String| match place(wanted) {
            Err(error)
                if is_missing(&error) && partitions(file).any(|(name, _)| name == wanted) =>
            {
                Ok(None)
            }
            place => place.map(Some),
        };
        let may_lack_id = settings.id.is_empty() || settings.id == DEFAULT_ID;
        let id = match place(&settings.id) {
            Err(error) if is_missing(&error) && may_lack_id => None,
            id => Some(id?),
        };
        Ok(Self {
            id,
            text: settings.text.iter().map(place).collect::<Result<_, _>>()?,
            group: (settings.group.as_ref()).map(place_or_folder).transpose()?.flatten(),
            metadata: settings.metadata.iter().map(place_or_folder).collect::<Result<_, _>>()?,
        })
    }

    /// Returns every index.
    pub(crate) fn places(&mut self) -> impl Iterator<Item = &mut usize> {
        let metadata = self.metadata.iter_mut().flatten();
        let values = self.text.iter_mut().chain(metadata);
        self.id.iter_mut().chain(values).chain(&mut self.group)
    }
}

impl Header {
    /// Parses the header line; without a header, names the fields of the first row by their numbers.
    pub(crate) fn parse(
        line: &[u8],
        dialect: Dialect,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        let mut names: Vec<String> = Vec::new();
        let mut add =
            |field: &[u8]| names.push(settings.encoding.decode(field).0.trim().to_owned());
        match file.format {
            Format::Csv => parser(line, dialect)
                .byte_records()
                .flatten()
                .take(1)
                .for_each(|record| record.iter().for_each(&mut add)),
            _ if settings.header && line.trim_ascii().contains(&b'\r') => {
                let problem = format!("it has carriage returns; {RETURNS_REMEDY}");
                return Err(InputError::header(&file.path, problem));
            }
            _ => lines(0, line)
                .flat_map(|(_, line)| line.split(|&byte| byte == dialect.delimiter))
                .for_each(add),
        }
        if !settings.header {
            names = (1..=names.len()).map(|number| number.to_string()).collect();
        }
        Self::of(&names, dialect, file, settings)
    }

    /// Returns the header of a format with fixed columns; `None` for others.
    pub(crate) fn fixed(
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Option<Self>, InputError> {
        let Some(names) = fixed_columns(file.format) else {
            return Ok(None);
        };
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        Self::of(&names, Dialect::TABS, file, settings).map(Some)
    }

    fn of(
        names: &[String],
        dialect: Dialect,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        Ok(Self {
            dialect,
            fields: names.len(),
            columns: Columns::find(names, file, settings)?,
            vocabulary: file.vocabulary.as_deref().map(vocabulary::read).transpose()?,
        })
    }
}

/// Returns the columns of a format that always has the same and no header line. The label may be a group or metadata,
/// and the text may be counts.
pub fn fixed_columns(format: Format) -> Option<&'static [&'static str]> {
    match format {
        Format::Mallet | Format::SvmLight | Format::Vw => Some(&["id", "label", "text"]),
        Format::LdaC => Some(&["text"]),
        Format::Mail => Some(&["id", "date", "from", "to", "subject", "text"]),
        _ => None,
    }
}

/// Returns a parser of records without a header, with any number of fields.
///
/// Its input begins with a blank line: the parser would drop a byte order mark at its start, but `bytes` may come from
/// anywhere in the file.
pub(crate) fn parser(bytes: &[u8], dialect: Dialect) -> csv::Reader<impl Read> {
    dialect.reader().from_reader(b"\n".chain(bytes))
}
