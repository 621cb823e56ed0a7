//! Columnar files, Parquet and Arrow IPC: a row is a document, or a term of one (`long`). Only the columns that the job
//! names are decoded, one batch of rows of a group at a time.
//!
//! Columns of text, numbers, dates and booleans are read as text, bytes as UTF-8 with invalid parts replaced. A list
//! becomes a JSON array as id or metadata, and lines as text. The id of a row without one is `name@row`, with rows
//! counted from 0 over the whole file.

mod arrow;
mod batch;
mod leaf;
mod long;
mod parquet;

use self::parquet::os_error;
pub use self::parquet::{footer_of, io_error};
use super::records::ColumnRoles;
use super::{
    Context, Cut, Cutting, DocumentSink, Format, InputFile, Numbered, Part, keeps_damaged,
};
use crate::cells;
use crate::compression::Compression;
use crate::error::InputError;
use crate::settings::CorpusSettings;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Schema};
use batch::CellBatch;
use leaf::{Leaf, Selection};
use std::ops::Range;
use std::sync::Arc;
use store::is_remote;

/// `corpus.format = "parquet"`.
pub static PARQUET: Format = Format {
    name: "parquet",
    endings: &["parquet"],
    document: "a row, or the rows of a [long table](#long-tables) with the same id",
    id: "the column `corpus.id`",
    keys: &["corpus.counts"],
    cutting: Cutting::RowGroups(GroupRuns::open),
    refusal: refusal_of_packed,
    expansion: 2,
    ..Format::PLAIN
};

/// `corpus.format = "arrow"`.
pub static ARROW: Format = Format {
    name: "arrow",
    endings: &["arrow", "feather"],
    document: "the same, of [Arrow IPC](#arrow-ipc)",
    id: "the column `corpus.id`",
    keys: &["corpus.counts"],
    cutting: Cutting::RowGroups(GroupRuns::open),
    refusal: |name, start, packed| {
        let is_first = start.starts_with(b"FEA1");
        let refusal = is_first.then_some(["Feather version 1", "write it with version 2"]);
        refusal_of_packed(name, start, packed).or(refusal)
    },
    ..Format::PLAIN
};

/// Refuses a file that is compressed as a whole.
fn refusal_of_packed(_: &str, _: &[u8], packed: Compression) -> Option<[&'static str; 2]> {
    let refusal = ["a columnar file compressed as a whole", "decompress it"];
    (packed != Compression::Plain).then_some(refusal)
}

/// Rows that can be read without the preceding ones: a row group of Parquet, a record batch of Arrow.
#[derive(Clone, Copy, Debug)]
struct RowGroup {
    rows: u64,
    /// Bytes of all columns, before compression if the file states that.
    bytes: u64,
}

/// Batches of rows, in order; the last item may be an error.
type RecordBatches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// The groups of a file, and a way to read them.
trait GroupedFile: Send + Sync {
    fn schema(&self) -> &Schema;

    fn groups(&self) -> &[RowGroup];

    /// Reads these columns of these of the groups' rows, in the order of the schema; [`read`] checks the batches.
    fn batches(
        &self,
        file: &InputFile,
        groups: Range<usize>,
        rows: Range<u64>,
        columns: &[usize],
    ) -> Result<RecordBatches, InputError>;
}

/// Reads these columns of these of the groups' rows, in the order of the schema. The last item is an error if the decoder
/// panics, or returns fewer rows than the file states.
fn read(
    file: &InputFile,
    layout: &dyn GroupedFile,
    groups: Range<usize>,
    rows: Range<u64>,
    columns: &[usize],
) -> Result<RecordBatches, InputError> {
    let stated = sum(&layout.groups()[groups.clone()]).rows;
    let mut missing = rows.end.min(stated).saturating_sub(rows.start);
    let mut batches = layout.batches(file, groups, rows, columns)?;
    let mut has_failed = false;
    Ok(Box::new(std::iter::from_fn(move || {
        if has_failed {
            return None;
        }
        let batch = liveness::contained(|| batches.next());
        let batch = batch.unwrap_or_else(|panic| Some(Err(ArrowError::ParseError(panic))));
        let short = || {
            let reason = format!("{missing} rows fewer than its metadata states");
            (missing > 0).then_some(Err(ArrowError::ParseError(reason)))
        };
        let batch = batch.or_else(short);
        match &batch {
            Some(Ok(batch)) => missing = missing.saturating_sub(batch.num_rows() as u64),
            _ => has_failed = true,
        }
        batch
    })))
}

/// A file whose layout has been read.
struct Opened {
    /// `None` if the file cannot be read at all.
    groups: Option<Box<dyn GroupedFile>>,
    /// Why the file cannot be read beyond the groups.
    broken: Option<String>,
}

/// All rows of some groups.
const ALL_ROWS: Range<u64> = 0..u64::MAX;

/// Fewest rows of a block that is less than a group: about a page of Parquet.
const LEAST_ROWS: u64 = 4096;

/// Adds up the bytes and rows of these groups.
fn sum(groups: &[RowGroup]) -> RowGroup {
    let sum = |of: fn(&RowGroup) -> u64| groups.iter().map(of).fold(0, u64::saturating_add);
    RowGroup { rows: sum(|group| group.rows), bytes: sum(|group| group.bytes) }
}

/// Opens a file; a damaged one is an error unless damaged files are kept.
fn open(file: &InputFile, keeps_damaged: bool) -> Result<Opened, InputError> {
    let is_arrow = *file.format == ARROW;
    let open = if is_arrow { arrow::open } else { parquet::open };
    let opened = liveness::contained(|| open(file));
    let broken = |panic| Opened { groups: None, broken: Some(panic) };
    let opened = opened.unwrap_or_else(|panic| Ok(broken(panic)))?;
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

/// Returns the number of rows of a file.
pub fn row_count(file: &InputFile) -> Result<u64, InputError> {
    let opened = open(file, true)?;
    Ok(opened.groups.map_or(0, |groups| sum(groups.groups()).rows))
}

/// The layout that the blocks of a file share.
struct Layout {
    groups: Box<dyn GroupedFile>,
    /// The columns that are read.
    selection: Selection,
    /// The leaves' roles.
    columns: ColumnRoles,
    /// The leaf with counts, if a row is a term.
    counts: Option<usize>,
    /// Why the file cannot be read beyond the groups.
    broken: Option<String>,
}

impl Layout {
    fn new(
        groups: Box<dyn GroupedFile>,
        broken: Option<String>,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        let leaves = Leaf::all(groups.schema());
        let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
        let mut columns = ColumnRoles::find(&names, file, settings)?;
        let check = |place: usize, is_fit: fn(&DataType) -> bool, wanted| {
            let kind = &leaves[place].kind;
            is_fit(kind).then_some(place).ok_or_else(|| {
                let problem = format!(
                    "column `{}` is of type {kind}, which cannot be used there; choose a column of {wanted}",
                    names[place]
                );
                InputError::refused(&file.path, problem)
            })
        };
        let mut chosen: Vec<usize> = columns.places().map(|place| *place).collect();
        for &place in &chosen {
            check(place, is_readable, "text, numbers, dates or lists of text")?;
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
        chosen.extend(counts);
        chosen.sort_unstable();
        chosen.dedup();
        for place in columns.places().chain(&mut counts) {
            // Each place was put into `chosen` above.
            *place = chosen.partition_point(|&other| other < *place);
        }
        let chosen = chosen.into_iter().map(|place| leaves[place].clone());
        Ok(Self { selection: Selection::new(chosen.collect()), groups, columns, counts, broken })
    }
}

/// A cutter of a file into blocks: runs of row groups, and rows of groups that are larger than a block.
struct GroupRuns {
    layout: Option<Arc<Layout>>,
    next_group: usize,
    next_row: u64,
    /// The rows of the next group that are in blocks already.
    cut_rows: u64,
    /// Whether a group may be in several blocks. Not if it would be downloaded for each, or if the rows of a document
    /// must stay together.
    cuts_groups: bool,
    block_bytes: u64,
    blocks: u64,
    /// Why the file cannot be read beyond the groups, if damaged files are kept.
    broken: Option<String>,
}

impl GroupRuns {
    /// Locates the file's groups and the job's columns.
    fn open(
        file: &InputFile,
        settings: &CorpusSettings,
        block_bytes: u64,
    ) -> Result<Box<dyn Cut>, InputError> {
        let Opened { groups, broken } = open(file, keeps_damaged(settings))?;
        let layout = groups.map(|groups| Layout::new(groups, broken.clone(), file, settings));
        Ok(Box::new(Self {
            cut_rows: 0,
            cuts_groups: settings.counts.is_none() && !is_remote(&file.path),
            layout: layout.transpose()?.map(Arc::new),
            next_group: 0,
            next_row: 0,
            block_bytes,
            blocks: 0,
            broken,
        }))
    }

    /// Returns the next rows of a group that is larger than a block.
    fn cut(&mut self) -> Option<RowGroups> {
        let layout = self.layout.as_ref().filter(|_| self.cuts_groups)?;
        let group = layout.groups.groups().get(self.next_group)?;
        let most =
            u128::from(group.rows) * u128::from(self.block_bytes) / u128::from(group.bytes.max(1));
        let most = u64::try_from(most).unwrap_or(u64::MAX).max(LEAST_ROWS);
        if most >= group.rows {
            return None;
        }
        let rows = self.cut_rows..group.rows.min(self.cut_rows + most);
        let block = RowGroups {
            layout: Arc::clone(layout),
            groups: self.next_group..self.next_group + 1,
            rows: rows.clone(),
            first_row: self.next_row,
        };
        self.next_row += rows.end - rows.start;
        self.cut_rows = rows.end % group.rows;
        self.next_group += usize::from(self.cut_rows == 0);
        Some(block)
    }

    /// Returns the next run of groups.
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
            rows: ALL_ROWS,
            first_row,
        })
    }
}

impl Cut for GroupRuns {
    fn next(&mut self) -> Result<Option<Numbered>, InputError> {
        let part = match self.cut().or_else(|| self.run()) {
            Some(groups) => Some(Box::new(groups) as Box<dyn Part>),
            None => self
                .broken
                .take()
                .map(|reason| Box::new(LostRows { first: self.next_row, reason }) as Box<dyn Part>),
        };
        self.blocks += 1;
        Ok(part.map(|part| (self.blocks - 1, part)))
    }
}

/// The rows of a damaged file that cannot be read.
struct LostRows {
    first: u64,
    reason: String,
}

impl Part for LostRows {
    fn bytes(&self) -> u64 {
        0
    }

    fn read(&self, context: &Context<'_>, emit: DocumentSink<'_>) -> Result<(), InputError> {
        emit(context.truncated_at(self.first, &self.reason));
        Ok(())
    }
}

/// Some row groups of a file, or some rows of one.
struct RowGroups {
    layout: Arc<Layout>,
    groups: Range<usize>,
    /// Those of the groups' rows that are meant.
    rows: Range<u64>,
    /// The number of the first one in the file.
    first_row: u64,
}

impl RowGroups {
    /// Reads the job's columns of some rows of some groups of the file.
    fn batches(
        &self,
        file: &InputFile,
        groups: Range<usize>,
        rows: Range<u64>,
    ) -> Result<RecordBatches, InputError> {
        let layout = &self.layout;
        read(file, &*layout.groups, groups, rows, &layout.selection.roots)
    }
}

impl Part for RowGroups {
    /// Returns about the bytes of the rows in all columns, before compression if the file states that.
    fn bytes(&self) -> u64 {
        let RowGroup { rows, bytes } = sum(&self.layout.groups.groups()[self.groups.clone()]);
        let read = self.rows.end.min(rows) - self.rows.start.min(rows);
        (u128::from(bytes) * u128::from(read) / u128::from(rows.max(1))) as u64
    }

    /// Reads the documents whose (first) rows are in these groups.
    fn read(&self, context: &Context<'_>, emit: DocumentSink<'_>) -> Result<(), InputError> {
        match self.layout.counts {
            Some(_) => long::read(self, context, emit),
            None => read_rows(self, context, emit),
        }
    }
}

/// Returns whether a column of this type can be read: text or anything that has a text form, bytes, or lists of text.
fn is_readable(kind: &DataType) -> bool {
    match kind {
        DataType::List(field) | DataType::LargeList(field) => cells::is_text(field.data_type()),
        kind => is_binary(kind) || cells::is_text(kind),
    }
}

/// Returns whether cells of this type are bytes.
fn is_binary(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    )
}

/// Returns whether rows can be sorted by a column of this type: text, bytes or whole numbers.
fn is_key(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_key(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        kind => is_binary(kind) || kind.is_integer(),
    }
}

/// Returns the columns that can be read as text, and the first rows' cells, which are empty for nulls.
pub fn first_rows(
    file: &InputFile,
    most: usize,
) -> Result<(Vec<String>, Vec<Vec<String>>), InputError> {
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    let Some(groups) = open(file, false)?.groups else {
        return Ok((names, rows));
    };
    let mut leaves = Leaf::all(groups.schema());
    leaves.retain(|leaf| is_readable(&leaf.kind));
    names.extend(leaves.iter().map(|leaf| leaf.name.clone()));
    let selection = Selection::new(leaves);
    for group in 0..groups.groups().len() {
        for batch in read(file, &*groups, group..group + 1, ALL_ROWS, &selection.roots)? {
            let batch = batch.map(|batch| CellBatch::new(&batch, &selection));
            let batch = batch.map_err(|error| broken(file, 0, &error))?;
            let row = |row: usize| {
                batch.values.iter().map(move |of| of.text(row).unwrap_or_default().into_owned())
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

/// Reads the rows of these groups, each a document.
fn read_rows(
    groups: &RowGroups,
    context: &Context<'_>,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let mut row = groups.first_row;
    let batches = groups.batches(context.file, groups.groups.clone(), groups.rows.clone())?;
    for batch in batches {
        let batch = match batch.map(|batch| CellBatch::new(&batch, &groups.layout.selection)) {
            Ok(batch) => batch,
            Err(error) => return lose_rest(context, row, &error, emit),
        };
        for index in 0..batch.rows {
            emit(batch.document(context, &groups.layout.columns, row, index));
            row += 1;
        }
    }
    Ok(())
}

/// Emits a document for all rows from this one on, which cannot be read, if damaged files are kept.
fn lose_rest(
    context: &Context<'_>,
    row: u64,
    error: &ArrowError,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    match broken(context.file, row, error) {
        InputError::Damaged { reason, .. } if keeps_damaged(context.settings) => {
            emit(context.truncated_at(row, &reason));
            Ok(())
        }
        broken => Err(broken),
    }
}

/// Returns the error of rows that cannot be read from this one on: the system's, or damage.
fn broken(file: &InputFile, row: u64, error: &ArrowError) -> InputError {
    let reason = error.to_string();
    match os_error(&reason) {
        Some(error) => InputError::unreadable(&file.path)(error),
        None => damaged(file, row, &reason),
    }
}
