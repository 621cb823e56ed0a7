//! The starts of files, from which the rest is estimated: how well they compress, and how many bytes a record has.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corpus::compression::Compression;
use corpus::formats::Cutting;
use corpus::formats::records::ColumnNames;
use corpus::input::{InputError, InputFile};
use corpus::settings::CorpusSettings;
use store::Source;

/// Bytes of content of each format that are read for its compression and its records.
const LOOKED_AT: u64 = 64 << 20;
/// Maximum number of files of a format that are read, evenly spread over the input.
pub(super) const LOOK_FILES: usize = 8;

/// The start of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Complete records.
    records: u64,
    /// Their bytes, including those before them.
    bytes: u64,
    /// Bytes of content that were read.
    seen: u64,
    /// Bytes on disk that contain them.
    on_disk: u64,
    is_compressed: bool,
}

impl Look {
    fn at(file: &InputFile, limit: u64, settings: &CorpusSettings) -> Result<Self, InputError> {
        let (content, on_disk) = start_of(file, limit)?;
        let is_whole = (content.len() as u64) < limit;
        let (mut records, mut bytes) = (0, 0);
        if let Cutting::Records(of, _) = file.format.cutting {
            let kind = of(&content);
            (records, bytes) = kind.count(&content, is_whole);
            let has_header = settings.header && kind.names() == ColumnNames::Header;
            records = records.saturating_sub(u64::from(has_header));
        }
        Ok(Self {
            records,
            bytes,
            seen: content.len() as u64,
            on_disk,
            is_compressed: file.compression != Compression::Plain,
        })
    }
}

/// Reads the starts of some of the files, evenly spread: the fewer the files, the more of each.
pub(super) fn looks_at(
    files: &[&InputFile],
    settings: &CorpusSettings,
) -> Result<Vec<Look>, InputError> {
    let step = files.len().div_ceil(LOOK_FILES).max(1);
    let count = files.len().div_ceil(step).max(1) as u64;
    let limit = LOOKED_AT / count;
    // For columnar files and plain texts, the sizes are enough.
    let is_told = |file: &InputFile| match file.format.cutting {
        Cutting::Entries(_) | Cutting::RowGroups(_) => true,
        Cutting::Whole(_) => file.compression == Compression::Plain,
        Cutting::Records(..) => false,
    };
    let files = files.iter().step_by(step).filter(|file| !is_told(file));
    files.map(|file| Look::at(file, limit, settings)).collect()
}

/// Estimates the content of all files of a format: compressed files are assumed to compress like those read.
pub(super) fn content_of(files: &[&InputFile], looks: &[Look]) -> u64 {
    let compressed = looks.iter().filter(|look| look.is_compressed);
    let [seen, on_disk] =
        compressed.fold([0, 0], |[seen, on_disk], look| [seen + look.seen, on_disk + look.on_disk]);
    let content = |file: &&InputFile| match file.compression {
        Compression::Gzip | Compression::Zstd | Compression::Bzip2 if on_disk > 0 => {
            (u128::from(file.bytes) * u128::from(seen) / u128::from(on_disk)) as u64
        }
        _ => file.expected_bytes(),
    };
    files.iter().map(content).sum()
}

/// Estimates the records in this many bytes of content by scaling those that were seen.
pub(super) fn records_of(looks: &[Look], content: u64) -> u64 {
    let records: u64 = looks.iter().map(|look| look.records).sum();
    let bytes: u64 = looks.iter().map(|look| look.bytes).sum();
    (u128::from(records) * u128::from(content) / u128::from(bytes.max(1))) as u64
}

/// Returns the start of a file's content, without a UTF-8 character that the limit cuts.
pub(super) fn first_bytes(file: &InputFile, limit: u64) -> Result<Vec<u8>, InputError> {
    let (mut content, _) = start_of(file, limit)?;
    let is_cut = content.len() as u64 == limit;
    let cut = std::str::from_utf8(&content).err().filter(|_| is_cut);
    if let Some(cut) = cut.filter(|cut| cut.error_len().is_none()) {
        content.truncate(cut.valid_up_to());
    }
    Ok(content)
}

/// Returns the start of a file's content, and the bytes on disk that were read for it. A stream that breaks is
/// taken to end there.
fn start_of(file: &InputFile, limit: u64) -> Result<(Vec<u8>, u64), InputError> {
    let read = Arc::new(AtomicU64::new(0));
    let counted = |source| Counted { source, read: Arc::clone(&read) };
    let stream =
        Source::open(&file.path).and_then(|source| file.compression.decode(counted(source)));
    let stream = stream.map_err(InputError::unreadable(&file.path))?;
    let mut stream = stream.take(limit);
    let mut content = Vec::new();
    // Bytes before a break stay in `content`; ingest reports the break itself.
    let _ = stream.read_to_end(&mut content);
    Ok((content, read.load(Ordering::Relaxed)))
}

/// A source that counts the bytes read from it.
struct Counted {
    source: Source,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}
