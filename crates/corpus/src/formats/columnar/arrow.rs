//! Arrow IPC: record batches, from files (also called Feather version 2) and streams, as the datasets of Hugging Face
//! are stored. Between two marks, a file contains a stream and a footer that lists the messages. It is read as a
//! stream, so that a damaged file can be read too; the footer is used only if the stream does not begin with a schema,
//! as in files of polars.
//!
//! A stream is a sequence of messages: a length, a description, and a body whose length the description states. All
//! descriptions are read first. Bodies may be compressed by LZ4 or zstd, each column's buffers separately. Everything
//! that the decoder would trust is checked first.

use super::{GroupedFile, Opened, RecordBatches, RowGroup};
use crate::error::InputError;
use crate::formats::InputFile;
use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, MessageHeader, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, Schema};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use store::Source;

/// The mark at both ends of a file; padding follows the first.
const MARK: &[u8] = b"ARROW1";

/// The mark before a message's length, since version 0.15 of Arrow.
const CONTINUATION: u32 = u32::MAX;

/// The longest description of a message that is accepted, in bytes.
const MOST_DESCRIPTION: u32 = 64 << 20;

/// The highest compression ratio of a buffer: four bytes of zstd can repeat one byte 128 Ki times.
const MOST_RATIO: u64 = 1 << 15;

const NO_SCHEMA: &str = "no schema";

/// The locations of a file's messages.
struct IpcMessages {
    schema: Arc<Schema>,
    version: MetadataVersion,
    groups: Vec<RowGroup>,
    batches: Vec<Block>,
    /// Dictionaries, each with the number of batches before it.
    dictionaries: Vec<(usize, Block)>,
}

/// Finds the messages of a file.
pub(super) fn open(file: &InputFile) -> Result<Opened, InputError> {
    let mut scan = MessageScan {
        stream: BufReader::new(file.open()?),
        offset: 0,
        bytes: file.bytes,
        messages: None,
    };
    let broken = scan.run().err().map(|error| error.to_string());
    Ok(Opened {
        groups: scan.messages.map(|messages| Box::new(Arc::new(messages)) as Box<dyn GroupedFile>),
        broken,
    })
}

fn refuse(what: impl Into<String>) -> ArrowError {
    ArrowError::ParseError(what.into())
}

/// A walk over the messages of a file.
struct MessageScan {
    stream: BufReader<Source>,
    /// Where the next message begins.
    offset: u64,
    /// The file's size.
    bytes: u64,
    /// The messages found so far; `None` before the schema.
    messages: Option<IpcMessages>,
}

impl MessageScan {
    fn run(&mut self) -> Result<(), ArrowError> {
        let mut word = [0; 8];
        self.stream.read_exact(&mut word)?;
        let is_file = word.starts_with(MARK);
        if is_file {
            // Some programs pad it to more than eight bytes.
            while word.starts_with(MARK) || word == [0; 8] {
                self.offset += word.len() as u64;
                self.stream.read_exact(&mut word)?;
            }
        }
        self.stream.seek(SeekFrom::Start(self.offset))?;
        let begins_with_length = word.starts_with(&CONTINUATION.to_le_bytes());
        if let Err(error) = self.messages() {
            // Polars writes the schema without its length.
            if !is_file || begins_with_length || self.messages.is_some() {
                return Err(error);
            }
            self.listed()?;
        }
        let messages = self.messages.as_mut().ok_or_else(|| refuse(NO_SCHEMA))?;
        if !is_file {
            return Ok(());
        }
        // In a file, any batch may need any dictionary.
        messages.dictionaries.iter_mut().for_each(|(place, _)| *place = 0);
        self.check_end()
    }

    /// Refuses a file that does not end with the mark, after its footer.
    fn check_end(&mut self) -> Result<(), ArrowError> {
        let mut end = [0; MARK.len()];
        self.stream.seek(SeekFrom::End(-(end.len() as i64)))?;
        self.stream.read_exact(&mut end)?;
        if end == MARK { Ok(()) } else { Err(refuse("the file ends before its footer")) }
    }

    /// Reads the messages up to the end of the stream.
    fn messages(&mut self) -> Result<(), ArrowError> {
        while self.message()? {}
        Ok(())
    }

    /// Reads the messages that the footer lists.
    fn listed(&mut self) -> Result<(), ArrowError> {
        self.check_end()?;
        let ends = self.bytes.saturating_sub(4 + MARK.len() as u64);
        self.stream.seek(SeekFrom::Start(ends))?;
        let length = u64::from(self.length()?);
        if length > ends.min(MOST_DESCRIPTION.into()) {
            return Err(refuse(format!("a footer of {length} bytes")));
        }
        let mut footer = vec![0; length as usize];
        self.stream.seek(SeekFrom::Start(ends - length))?;
        self.stream.read_exact(&mut footer)?;
        let footer = root_as_footer(&footer).map_err(|error| refuse(error.to_string()))?;
        self.schema(footer.schema(), footer.version())?;
        let lists = [footer.dictionaries(), footer.recordBatches()];
        let mut begins: Vec<i64> =
            lists.into_iter().flatten().flatten().map(Block::offset).collect();
        begins.sort_unstable();
        for begins in begins {
            let begins = unsigned(begins)?;
            if begins < self.offset {
                return Err(refuse("messages that overlap"));
            }
            self.offset = begins;
            self.stream.seek(SeekFrom::Start(begins))?;
            self.message()?;
        }
        Ok(())
    }

    /// Reads the next message; returns false at the end of the stream.
    fn message(&mut self) -> Result<bool, ArrowError> {
        // The format does not require a mark at the end, but the usual writers write one: it is missing if they were
        // killed.
        if self.offset == self.bytes {
            return Err(refuse("the file ends without the mark that ends a stream"));
        }
        let mut length = self.length()?;
        let mut prefix = 4;
        if length == CONTINUATION {
            length = self.length()?;
            prefix = 8;
        }
        if length == 0 {
            return Ok(false);
        }
        if length > MOST_DESCRIPTION || self.offset + prefix + u64::from(length) > self.bytes {
            return Err(refuse(format!("a message's description of {length} bytes")));
        }
        let mut description = vec![0; length as usize];
        self.stream.read_exact(&mut description)?;
        let message = root_as_message(&description).map_err(|error| refuse(error.to_string()))?;
        let begins = self.offset;
        let body = unsigned(message.bodyLength())?;
        let ends = (begins + prefix + u64::from(length)).saturating_add(body);
        if ends > self.bytes {
            return Err(refuse("the file ends within a message"));
        }
        let described = (prefix + u64::from(length)) as i32;
        let block = Block::new(begins as i64, described, message.bodyLength());
        match message.header_type() {
            MessageHeader::Schema => {
                self.schema(message.header_as_schema(), message.version())?;
            }
            MessageHeader::RecordBatch => {
                let rows = rows_of(&batch_of(&message)?, body)?;
                let messages = self.messages.as_mut().ok_or_else(|| refuse(NO_SCHEMA))?;
                messages.batches.push(block);
                messages.groups.push(RowGroup { rows, bytes: body });
            }
            MessageHeader::DictionaryBatch => {
                let messages = self.messages.as_mut().ok_or_else(|| refuse(NO_SCHEMA))?;
                messages.dictionaries.push((messages.batches.len(), block));
            }
            other => return Err(refuse(format!("a message of type {other:?}"))),
        }
        self.stream.seek_relative(body as i64)?;
        self.offset = ends;
        Ok(true)
    }

    fn length(&mut self) -> Result<u32, ArrowError> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        Ok(u32::from_le_bytes(length))
    }

    fn schema(
        &mut self,
        schema: Option<arrow_ipc::Schema<'_>>,
        version: MetadataVersion,
    ) -> Result<(), ArrowError> {
        let schema = schema.ok_or_else(|| refuse(NO_SCHEMA))?;
        if self.messages.is_some() {
            return Err(refuse("a second schema"));
        }
        if !schema.endianness().equals_to_target_endianness() {
            return Err(refuse(
                "numbers of another byte order; write it on a little-endian machine",
            ));
        }
        self.messages = Some(IpcMessages {
            schema: Arc::new(try_fb_to_schema(schema)?),
            version,
            groups: Vec::new(),
            batches: Vec::new(),
            dictionaries: Vec::new(),
        });
        Ok(())
    }
}

fn unsigned(number: i64) -> Result<u64, ArrowError> {
    u64::try_from(number).map_err(|_| refuse(format!("a size of {number}")))
}

/// Returns the batch in a message of rows or of a dictionary.
fn batch_of<'a>(
    message: &arrow_ipc::Message<'a>,
) -> Result<arrow_ipc::RecordBatch<'a>, ArrowError> {
    let dictionary = || message.header_as_dictionary_batch()?.data();
    let batch = message.header_as_record_batch().or_else(dictionary);
    batch.ok_or_else(|| refuse("a message without its batch"))
}

/// Returns the most values that this many bytes can hold.
fn most_values(bytes: u64) -> u64 {
    (bytes + 1).saturating_mul(MOST_RATIO)
}

/// Returns the rows of a batch of this many bytes.
fn rows_of(batch: &arrow_ipc::RecordBatch<'_>, bytes: u64) -> Result<u64, ArrowError> {
    match unsigned(batch.length())? {
        rows if rows <= most_values(bytes) => Ok(rows),
        rows => Err(refuse(format!("{rows} rows in {bytes} bytes"))),
    }
}

/// Checks that a batch's description fits its body: the decoder relies on it.
fn check(batch: &arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<(), ArrowError> {
    rows_of(batch, body.len() as u64)?;
    for buffer in batch.buffers().into_iter().flatten() {
        let [begins, length] = [unsigned(buffer.offset())?, unsigned(buffer.length())?];
        let range = begins as usize..begins.saturating_add(length) as usize;
        let bytes = body.get(range);
        let bytes = bytes.ok_or_else(|| refuse("a buffer outside of its message"))?;
        let claimed = match batch.compression() {
            Some(_) => bytes.first_chunk().map_or(0, |size| i64::from_le_bytes(*size)),
            None => 0,
        };
        if claimed > length.saturating_mul(MOST_RATIO) as i64 {
            return Err(refuse(format!("a compressed buffer of {claimed} bytes")));
        }
    }
    for node in batch.nodes().into_iter().flatten() {
        let [length, nulls] = [unsigned(node.length())?, unsigned(node.null_count())?];
        if length > most_values(body.len() as u64) || nulls > length {
            return Err(refuse(format!("{length} values, {nulls} of them null")));
        }
    }
    Ok(())
}

impl GroupedFile for Arc<IpcMessages> {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn groups(&self) -> &[RowGroup] {
        &self.groups
    }

    fn batches(
        &self,
        file: &InputFile,
        groups: Range<usize>,
        rows: Range<u64>,
        columns: &[usize],
    ) -> Result<RecordBatches, InputError> {
        let decoder = FileDecoder::new(Arc::clone(&self.schema), self.version);
        let mut decoding = Decoding {
            source: file.open()?,
            decoder: decoder.with_projection(columns.to_vec()),
            messages: Arc::clone(self),
            next_dictionary: 0,
        };
        let mut before = 0;
        Ok(Box::new(groups.map(move |group| {
            let batch = decoding.batch(group)?;
            let count = batch.num_rows() as u64;
            let place = |row: u64| row.saturating_sub(before).min(count) as usize;
            let wanted = place(rows.start)..place(rows.end);
            before += count;
            Ok(batch.slice(wanted.start, wanted.len()))
        })))
    }
}

/// A reader of batches, in their order.
struct Decoding {
    source: Source,
    decoder: FileDecoder,
    messages: Arc<IpcMessages>,
    next_dictionary: usize,
}

impl Decoding {
    /// Reads a batch, after the dictionaries before it.
    fn batch(&mut self, group: usize) -> Result<RecordBatch, ArrowError> {
        let messages = Arc::clone(&self.messages);
        while let Some((_, block)) =
            messages.dictionaries.get(self.next_dictionary).filter(|(place, _)| *place <= group)
        {
            let bytes = self.bytes(block)?;
            self.decoder.read_dictionary(block, &bytes)?;
            self.next_dictionary += 1;
        }
        let block = &messages.batches[group];
        let bytes = self.bytes(block)?;
        let batch = self.decoder.read_record_batch(block, &bytes)?;
        batch.ok_or_else(|| refuse("no batch"))
    }

    /// Reads a message with its body.
    fn bytes(&mut self, block: &Block) -> Result<Buffer, ArrowError> {
        // Both sizes were checked against the file's when its messages were found.
        let (described, body) = (block.metaDataLength() as usize, block.bodyLength() as usize);
        let mut bytes = MutableBuffer::from_len_zeroed(described + body);
        self.source.seek(SeekFrom::Start(block.offset() as u64))?;
        self.source.read_exact(&mut bytes)?;
        let (description, body) = bytes.split_at(described);
        let prefix = if description.starts_with(&CONTINUATION.to_le_bytes()) { 8 } else { 4 };
        let message = root_as_message(&description[prefix..]);
        let message = message.map_err(|error| refuse(error.to_string()))?;
        check(&batch_of(&message)?, body)?;
        Ok(bytes.into())
    }
}
