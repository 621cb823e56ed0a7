//! Long tables: a row is a term of a document and its count, and a document is a run of rows with the same id. The
//! other columns are read from its first row. A row without term and count only states that the document exists.
//!
//! Rows are sorted by document, numbers by their value and texts by their bytes, so that a document's rows are
//! adjacent; a row whose document belongs above the previous one is an error. A block skips the rows of a document that
//! began before its groups, and reads past its groups to the end of its last document: no document is cut, wherever
//! groups end.

use super::batch::{CellBatch, SortKey};
use super::{
    ALL_ROWS, RecordBatches, RowGroup, RowGroups, Selection, broken, lose_rest, read as read_groups,
};
use crate::cells;
use crate::document::whole;
use crate::error::InputError;
use crate::formats::{Context, DocumentSink, keeps_damaged};
use crate::{Body, DocumentStatus, RawDocument};
use arrow_array::Array;
use arrow_schema::ArrowError;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Bytes that a row adds to a document's size, besides its term.
const COUNT_BYTES: u64 = 8;

/// Reads the documents that begin in these groups.
pub(super) fn read(
    block: &RowGroups,
    context: &Context<'_>,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let mut rows = LongRows {
        block,
        context,
        key: id_before(block, context)?,
        document: None,
        next: block.first_row,
        is_behind: false,
    };
    let count = block.layout.groups.groups().len();
    let mut groups = block.groups.clone();
    while !groups.is_empty() {
        let batches = block.batches(context.file, groups.clone(), ALL_ROWS)?;
        if rows.add_all(batches, emit)? {
            return Ok(());
        }
        rows.is_behind = true;
        groups = groups.end..count.min(groups.end + 1);
    }
    rows.finish(block.layout.broken.as_deref(), emit);
    Ok(())
}

/// Returns the id in the last row before the block's groups.
fn id_before(
    block: &RowGroups,
    context: &Context<'_>,
) -> Result<Option<SortKey<'static>>, InputError> {
    let layout = &block.layout;
    let groups = &layout.groups.groups()[..block.groups.start];
    let place = groups.iter().rposition(|group| group.rows > 0);
    let (Some(place), Some(id)) = (place, layout.columns.id) else {
        return Ok(None);
    };
    let RowGroup { rows, .. } = groups[place];
    let selection = Selection::new(vec![layout.selection.leaves[id].clone()]);
    let batches = read_groups(
        context.file,
        &*layout.groups,
        place..place + 1,
        rows - 1..rows,
        &selection.roots,
    )?;
    let mut last = None;
    for batch in batches {
        match batch.map(|batch| CellBatch::new(&batch, &selection)) {
            Ok(batch) => {
                let key = batch.rows.checked_sub(1).and_then(|row| batch.values[0].key(row));
                last = key.map(SortKey::into_owned);
            }
            // The block that has the row reports the loss.
            Err(error) => match broken(context.file, block.first_row, &error) {
                InputError::Damaged { .. } if keeps_damaged(context.settings) => return Ok(None),
                broken => return Err(broken),
            },
        }
    }
    Ok(last)
}

/// The state while rows become documents.
struct LongRows<'b> {
    block: &'b RowGroups,
    context: &'b Context<'b>,
    /// The id of the previous row.
    key: Option<SortKey<'static>>,
    /// Its document, if that began in the block.
    document: Option<LongDocument>,
    /// The next row.
    next: u64,
    /// Whether that is past the block's groups.
    is_behind: bool,
}

impl LongRows<'_> {
    /// Adds the rows of some groups; returns whether the block's last document has ended.
    fn add_all(
        &mut self,
        batches: RecordBatches,
        emit: DocumentSink<'_>,
    ) -> Result<bool, InputError> {
        for batch in batches {
            let selection = &self.block.layout.selection;
            let has_ended = match batch.map(|batch| CellBatch::new(&batch, selection)) {
                Ok(batch) => self.add(&batch, emit)?,
                Err(error) => {
                    self.lose(&error, emit)?;
                    true
                }
            };
            if has_ended {
                return Ok(true);
            }
        }
        Ok(self.document.is_none())
    }

    fn add(&mut self, batch: &CellBatch, emit: DocumentSink<'_>) -> Result<bool, InputError> {
        let layout = &self.block.layout;
        let (Some(id), Some(counts)) = (layout.columns.id, layout.counts) else {
            return Ok(true);
        };
        let counts = cells::numbers(&batch.values[counts].0);
        for index in 0..batch.rows {
            let key = batch.values[id].key(index);
            let Some(key) = key else {
                let reason = "no document; give every row its document's id";
                return Err(self.error(reason.to_owned()));
            };
            let order = self.key.as_ref().map(|before| before.cmp(&key));
            match order {
                Some(Ordering::Equal) => {}
                Some(Ordering::Greater) => {
                    let id = cells::text(&batch.values[id].0, index).unwrap_or_default();
                    let reason = format!(
                        "document `{id}` belongs above the row before it; sort the file by document (`{}`), texts by their bytes",
                        self.context.settings.id
                    );
                    return Err(self.error(reason));
                }
                _ => {
                    self.finish(None, emit);
                    if self.is_behind {
                        return Ok(true);
                    }
                    self.key = Some(key.into_owned());
                    self.document = Some(LongDocument::begin(self, batch, index));
                }
            }
            if let Some(document) = &mut self.document {
                let counts = counts.as_ref().filter(|counts| counts.is_valid(index));
                let count = counts.map(|counts| counts.value(index));
                let (term, repaired) = batch.text(&layout.columns, index);
                document.repaired |= repaired;
                if let Err(what) = document.add(term, count) {
                    let place = self.context.place(self.next);
                    document.fault = Some(format!("{place}: {what}; correct the row"));
                }
            }
            self.next += 1;
        }
        Ok(false)
    }

    /// Emits the document whose rows have ended; `lost` is the reason if some of them are lost.
    fn finish(&mut self, lost: Option<&str>, emit: DocumentSink<'_>) {
        if let Some(document) = self.document.take() {
            document.hand_over(self.context, lost, emit);
        }
    }

    /// Ends the document if the rest of the file cannot be read.
    fn lose(&mut self, error: &ArrowError, emit: DocumentSink<'_>) -> Result<(), InputError> {
        if keeps_damaged(self.context.settings) {
            self.finish(Some(&error.to_string()), emit);
        }
        match self.is_behind {
            // The block that has the row reports the loss.
            true => Ok(()),
            false => lose_rest(self.context, self.next, error, emit),
        }
    }

    fn error(&self, reason: String) -> InputError {
        let path = self.context.file.path.display();
        InputError::Refused(format!("{path}, row {}: {reason}", self.next))
    }
}

/// The rows of a document.
struct LongDocument {
    /// The columns of the first row.
    record: RawDocument<'static>,
    /// The terms, concatenated.
    terms: String,
    /// The end of each term, and its count.
    counts: Vec<(usize, u32)>,
    bytes: u64,
    most_bytes: u64,
    repaired: bool,
    /// The problem of its last invalid row.
    fault: Option<String>,
}

impl LongDocument {
    fn begin(rows: &LongRows<'_>, batch: &CellBatch, index: usize) -> Self {
        let (context, columns) = (rows.context, &rows.block.layout.columns);
        let value = |place: usize| batch.values[place].value(index);
        let owned = |place: usize| value(place).map(|value| value.into_owned().into());
        Self {
            record: columns.record(context, rows.next, owned),
            terms: String::new(),
            counts: Vec::new(),
            bytes: 0,
            most_bytes: context.settings.max_document_bytes,
            repaired: false,
            fault: None,
        }
    }

    /// Adds a row; an error says what is wrong with it.
    fn add(&mut self, term: Option<Cow<'_, str>>, count: Option<f64>) -> Result<(), String> {
        let (term, number) = match (term, count) {
            (None, None) => return Ok(()),
            (None, Some(number)) => return Err(format!("a count of {number}, but no term")),
            (Some(term), None) => return Err(format!("no count of `{term}`")),
            (Some(term), Some(number)) => (term, number),
        };
        let count = whole(number).ok_or_else(|| format!("{number} for `{term}`, not a count"))?;
        self.bytes += term.len() as u64 + COUNT_BYTES;
        if self.bytes <= self.most_bytes {
            self.terms.push_str(&term);
            self.counts.push((self.terms.len(), count));
        }
        Ok(())
    }

    fn hand_over(self, context: &Context<'_>, lost: Option<&str>, emit: DocumentSink<'_>) {
        let mut begins = 0;
        let count = |&(ends, count): &(usize, u32)| {
            let term = &self.terms[begins..ends];
            begins = ends;
            (Cow::Borrowed(term), count)
        };
        let id = &self.record.source_id;
        let body = match (lost, self.fault) {
            (Some(reason), _) => context.truncated(id, reason),
            _ if self.bytes > self.most_bytes => context.too_large(id, self.bytes),
            (None, Some(reason)) => Body::Missing { status: DocumentStatus::ParseError, reason },
            (None, None) => Body::Counts {
                counts: self.counts.iter().map(count).collect(),
                words: true,
                repaired: self.repaired,
            },
        };
        emit(RawDocument { body, ..self.record });
    }
}
