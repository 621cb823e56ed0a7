//! Columnar files, Parquet and Arrow IPC: a row is a document, or a term of one ([`long`]). A block is some
//! groups of rows, read one batch of rows at a time.
//!
//! Columns of text, numbers, dates and booleans are read as text, bytes as UTF-8 with invalid parts
//! replaced. A list becomes a JSON array as id or metadata, and lines as text. Only the columns
//! that the job names are decoded. The id of a row without one is `name@row`, rows counted from 0
//! over the whole file.

mod arrow;
mod batch;
mod long;
mod parquet;

use super::delimited::Columns;
use super::{Context, DocumentSink, keeps_damaged};
use crate::cells;
use crate::corpus::block::cutter::Piece;
use crate::corpus::block::{Content, Cut};
use crate::corpus::input::{InputError, InputFile};
use crate::corpus::settings::{CorpusSettings, Format};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Schema};
use batch::{Batch, is_key, is_readable};
use std::ops::Range;
use std::sync::Arc;

/// Rows that can be read without those before them: a row group of Parquet, a record batch of Arrow.
#[derive(Clone, Copy, Debug)]
struct Group {
    rows: u64,
    /// Bytes of all columns, before compression if the file says it.
    bytes: u64,
}

/// Batches of rows, in order; the last item may be an error.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// Where a file's groups are, and how to read them.
trait Groups: Send + Sync {
    fn schema(&self) -> &Schema;

    fn groups(&self) -> &[Group];

    /// The rows of some groups without the first `skipped`, and these columns of them, in the order of the schema.
    fn batches(
        &self,
        file: &InputFile,
        groups: Range<usize>,
        skipped: u64,
        columns: &[usize],
    ) -> Result<Batches, InputError>;
}

/// A file whose start or end was read.
struct Opened {
    /// None if the file cannot be read at all.
    groups: Option<Box<dyn Groups>>,
    /// Why what follows the groups cannot be read.
    broken: Option<String>,
}

/// Bytes and rows of these groups.
fn sum(groups: &[Group]) -> Group {
    let sum = |of: fn(&Group) -> u64| groups.iter().map(of).fold(0, u64::saturating_add);
    Group {
        rows: sum(|group| group.rows),
        bytes: sum(|group| group.bytes),
    }
}

/// Opens a file; one that is damaged is an error unless damaged files are kept.
fn open(file: &InputFile, keeps_damaged: bool) -> Result<Opened, InputError> {
    let opened = match file.format {
        Format::Arrow => arrow::open(file)?,
        _ => parquet::open(file)?,
    };
    match &opened.broken {
        Some(reason) if !keeps_damaged => {
            let rows = opened.groups.map_or(0, |groups| sum(groups.groups()).rows);
            Err(damaged(file, rows, reason))
        }
        _ => Ok(opened),
    }
}

fn damaged(file: &InputFile, row: u64, reason: &str) -> InputError {
    InputError::Damaged {
        path: file.path.clone(),
        offset: row,
        unit: "rows",
        reason: reason.to_owned(),
    }
}

/// The number of rows of a file.
pub(crate) fn row_count(file: &InputFile) -> Result<u64, InputError> {
    let opened = open(file, true)?;
    Ok(opened.groups.map_or(0, |groups| sum(groups.groups()).rows))
}

/// The columns that can be read as text, and the first rows' cells; empty ones for nulls.
pub(crate) fn first_rows(
    file: &InputFile,
    most: usize,
) -> Result<(Vec<String>, Vec<Vec<String>>), InputError> {
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    let Some(groups) = open(file, false)?.groups else {
        return Ok((names, rows));
    };
    let mut roots = Vec::new();
    for (root, field) in groups.schema().fields().iter().enumerate() {
        if is_readable(field.data_type()) {
            roots.push(root);
            names.push(field.name().clone());
        }
    }
    for group in 0..groups.groups().len() {
        for batch in groups.batches(file, group..group + 1, 0, &roots)? {
            let batch = batch.and_then(|batch| Batch::new(&batch));
            let batch = batch.map_err(|error| damaged(file, 0, &error.to_string()))?;
            let row = |row: usize| {
                batch
                    .values
                    .iter()
                    .map(move |of| of.text(row).unwrap_or_default().into_owned())
            };
            let wanted = batch.rows.min(most - rows.len());
            rows.extend((0..wanted).map(|index| row(index).collect()));
            if rows.len() == most {
                return Ok((names, rows));
            }
        }
    }
    Ok((names, rows))
}

/// What the blocks of a file have in common.
struct Layout {
    groups: Box<dyn Groups>,
    /// The columns read, as places in the file's schema, ascending.
    roots: Vec<usize>,
    /// Which of `roots` is for what.
    columns: Columns,
    /// The one with counts, if a row is a term.
    counts: Option<usize>,
    /// Why what follows the groups cannot be read.
    broken: Option<String>,
}

impl Layout {
    fn new(
        groups: Box<dyn Groups>,
        broken: Option<String>,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        let fields = groups.schema().fields();
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let mut columns = Columns::find(&names, file, settings)?;
        let check = |root: usize, is_fit: fn(&DataType) -> bool, wanted| {
            let kind = fields[root].data_type();
            is_fit(kind)
                .then_some(root)
                .ok_or_else(|| InputError::ColumnType {
                    path: file.path.clone(),
                    column: names[root].clone(),
                    kind: kind.to_string(),
                    wanted,
                })
        };
        let mut roots: Vec<usize> = columns.places().map(|place| *place).collect();
        for &root in &roots {
            check(root, is_readable, "text, numbers, dates or lists of text")?;
        }
        let mut counts = None;
        if let Some(name) = &settings.counts {
            let place = |wanted: &String| {
                let found = names.iter().position(|name| name == wanted);
                found.ok_or_else(|| InputError::missing_column(&file.path, wanted, &names))
            };
            check(place(&settings.id)?, is_key, "text or whole numbers")?;
            counts = Some(check(place(name)?, cells::is_number, "numbers")?);
        }
        roots.extend(counts);
        roots.sort_unstable();
        roots.dedup();
        for place in columns.places().chain(&mut counts) {
            // Each place was put into `roots` above.
            *place = roots.partition_point(|&root| root < *place);
        }
        Ok(Self {
            groups,
            roots,
            columns,
            counts,
            broken,
        })
    }
}

/// Cuts a file into blocks of row groups.
pub(crate) struct GroupRuns {
    layout: Option<Arc<Layout>>,
    next_group: usize,
    next_row: u64,
    block_bytes: u64,
    blocks: u64,
    /// Why what follows the groups cannot be read, where damaged files are kept.
    broken: Option<String>,
}

impl GroupRuns {
    /// Reads where the file's groups are, and finds the job's columns.
    pub(crate) fn open(
        file: &InputFile,
        settings: &CorpusSettings,
        block_bytes: u64,
    ) -> Result<Self, InputError> {
        let Opened { groups, broken } = open(file, keeps_damaged(settings))?;
        let layout = groups.map(|groups| Layout::new(groups, broken.clone(), file, settings));
        Ok(Self {
            layout: layout.transpose()?.map(Arc::new),
            next_group: 0,
            next_row: 0,
            block_bytes,
            blocks: 0,
            broken,
        })
    }

    /// The next run of groups.
    fn run(&mut self) -> Option<RowGroups> {
        let layout = self.layout.as_ref()?;
        let (first_group, first_row) = (self.next_group, self.next_row);
        let mut bytes = 0u64;
        for group in &layout.groups.groups()[first_group..] {
            bytes = bytes.saturating_add(group.bytes);
            self.next_group += 1;
            self.next_row += group.rows;
            if bytes >= self.block_bytes {
                break;
            }
        }
        (self.next_group > first_group).then(|| RowGroups {
            layout: Arc::clone(layout),
            groups: first_group..self.next_group,
            first_row,
        })
    }
}

impl Cut for GroupRuns {
    fn next(&mut self) -> Result<Option<(u64, Content)>, InputError> {
        let rest = |reason, offset| Content::Pieces {
            pieces: vec![Piece::Truncated { offset, reason }],
            header: None,
        };
        let content = match self.run() {
            Some(groups) => Some(Content::RowGroups(groups)),
            None => self.broken.take().map(|reason| rest(reason, self.next_row)),
        };
        self.blocks += 1;
        Ok(content.map(|content| (self.blocks - 1, content)))
    }
}

/// Some row groups of a file.
pub(crate) struct RowGroups {
    layout: Arc<Layout>,
    groups: Range<usize>,
    first_row: u64,
}

impl RowGroups {
    /// The groups' size before compression, all columns.
    pub(crate) fn content_bytes(&self) -> u64 {
        sum(&self.layout.groups.groups()[self.groups.clone()]).bytes
    }

    /// Hands over the documents whose (first) rows are in these groups.
    pub(super) fn read(
        &self,
        file: &InputFile,
        settings: &CorpusSettings,
        emit: DocumentSink<'_>,
    ) -> Result<(), InputError> {
        let context = Context::new(file, settings);
        match self.layout.counts {
            Some(_) => long::read(self, &context, emit),
            None => self.read_rows(&context, emit),
        }
    }

    /// Hands over the rows of these groups, each a document.
    fn read_rows(&self, context: &Context<'_>, emit: DocumentSink<'_>) -> Result<(), InputError> {
        let mut row = self.first_row;
        let batches = self.batches(context.file, self.groups.clone())?;
        for batch in batches {
            let batch = match batch.and_then(|batch| Batch::new(&batch)) {
                Ok(batch) => batch,
                Err(error) => return lose_rest(context, row, &error, emit),
            };
            for index in 0..batch.rows {
                emit(batch.document(context, &self.layout.columns, row, index));
                row += 1;
            }
        }
        Ok(())
    }

    /// The rows of some groups of the file, and the columns that the job names.
    fn batches(&self, file: &InputFile, groups: Range<usize>) -> Result<Batches, InputError> {
        let layout = &self.layout;
        layout.groups.batches(file, groups, 0, &layout.roots)
    }
}

/// Represents rows that cannot be read from this one on by a document, if damaged files are kept.
fn lose_rest(
    context: &Context<'_>,
    row: u64,
    error: &ArrowError,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let reason = error.to_string();
    if !keeps_damaged(context.settings) {
        return Err(damaged(context.file, row, &reason));
    }
    emit(context.truncated(context.place(row), &reason));
    Ok(())
}
