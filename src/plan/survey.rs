//! The size of a job's input, as far as it can be determined without reading it.
//!
//! Documents are counted where that is cheap (a text is a file; columnar files and bags of words contain the
//! number), and otherwise estimated from the starts of a few files.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::SynthStage;
use corpus::block::{self, Estimate};
use corpus::compression::{Compression, stripped};
use corpus::formats::{Cutting, Format, LIST, columnar, most_documents};
use corpus::input::{self, Input, InputError, InputFile};
use corpus::settings::{CorpusSettings, SectionSize, TextSection};
use store::Source;

/// Bytes of text per token, including the space after it, until tokens are counted: the figure for English prose,
/// and less than for most texts with markup.
const BYTES_PER_TOKEN: u64 = 6;
/// Bytes of the shortest entry of a bag of words, with its line break.
const BYTES_PER_ENTRY: u64 = 6;
/// Words of a paragraph, as in novels.
const WORDS_PER_PARAGRAPH: u64 = 60;
/// Bytes of Extracted Features per token, and per page, in 23 volumes in seven languages.
const BYTES_PER_COUNTED_TOKEN: u64 = 10;
const BYTES_PER_PAGE: u64 = 4_000;
/// Bytes of a generated document's line apart from its words.
const SYNTH_LINE_BYTES: u64 = 45;
/// Bytes of a bag of words that contain its header.
const HEADER_BYTES: u64 = 4096;
/// Maximum number of rows read from a long table.
const LOOK_ROWS: usize = 10_000;

/// The content of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Survey {
    /// Files and their bytes on disk, by format and compression ("jsonl, zstd").
    pub(crate) kinds: BTreeMap<String, FileKind>,
    /// Number of files.
    pub(crate) files: u64,
    /// Their bytes on disk.
    pub(crate) bytes: u64,
    /// Bytes to expect once decompressed.
    pub(crate) content_bytes: u64,
    /// Approximate number of blocks: units of parsing, shards, parts of the output.
    pub(crate) blocks: u64,
    /// Bytes of content in a block.
    pub(crate) block_bytes: u64,
    /// Bytes of content of the largest volume of Extracted Features, which is read whole.
    pub(crate) largest_volume: u64,
    /// Documents.
    pub documents: u64,
    /// Documents before texts are cut into sections.
    #[serde(skip)]
    pub(crate) records: u64,
    /// Whether `documents` was counted rather than estimated.
    pub(crate) documents_exact: bool,
    /// Approximate number of tokens.
    pub(crate) tokens: u64,
    /// Approximate number of tokens that are not stop words.
    pub(crate) kept_tokens: u64,
    /// Approximate number of distinct terms, extrapolated from the first records; 0 if that is not possible.
    pub(crate) terms: u64,
    /// Bytes of the largest vocabulary beside a bag of words.
    pub(crate) vocabulary_bytes: u64,
    /// Approximate number of volumes; at most one per document.
    pub(crate) volumes: u64,
    /// Approximate number of distinct values of the columns with trends; `None` if they were not read.
    pub(crate) trend_values: Option<u64>,
    /// Approximate bytes of metadata and of the names of volumes.
    pub(crate) metadata_bytes: u64,
    /// The labels of the first records, if they were read and have labels.
    #[serde(skip)]
    pub(crate) labels: Option<LabelCount>,
    /// Which key with text the first records lack, if they have no text; else empty.
    #[serde(skip)]
    pub(crate) lacking: String,
}

/// Numbers of labels of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LabelCount {
    /// Labels in the first records.
    pub(crate) seen: u64,
    /// Number of these records.
    pub(crate) records: u64,
    /// Estimated labels of all documents.
    pub(crate) expected: u64,
}

/// Files of one format and compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct FileKind {
    /// Their number.
    pub(crate) files: u64,
    /// Their bytes on disk.
    pub(crate) bytes: u64,
}

/// Finds the input and surveys it; reads at most 64 MiB of each format, from the starts of a few files, and the
/// footers of Parquet files.
///
/// # Errors
/// There is no input, or a file of it cannot be read.
pub fn survey(settings: &CorpusSettings) -> Result<Survey, InputError> {
    survey_of(&input::discover(settings)?, settings)
}

/// Surveys an input that has been found.
///
/// # Errors
/// A file of it cannot be read.
pub(super) fn survey_of(input: &Input, settings: &CorpusSettings) -> Result<Survey, InputError> {
    let Estimate { block_bytes, blocks: expected_blocks, content_bytes: expected_bytes } =
        block::estimate(input, settings);
    let mut survey = Survey {
        files: input.files.len() as u64,
        bytes: input.total_bytes,
        block_bytes,
        documents_exact: true,
        ..Survey::default()
    };
    for file in &input.files {
        let kind = survey.kinds.entry(name_of(file)).or_default();
        kind.files += 1;
        kind.bytes += file.bytes;
    }
    for &format in LIST {
        let files: Vec<&InputFile> = of_format(input, format).collect();
        survey.count(format, &files, settings)?;
    }
    survey.kept_tokens = survey.tokens;
    survey.records = survey.documents;
    if settings.has_groups() && !input.has_volumes() {
        survey.volumes = survey.documents;
    }
    survey.cut(input, settings, survey.tokens);
    let blocks = u128::from(expected_blocks) * u128::from(survey.content_bytes);
    survey.blocks = blocks.div_ceil(u128::from(expected_bytes.max(1))) as u64;
    Ok(survey)
}

/// Returns the size of the corpus that a job is going to generate.
pub(crate) fn survey_of_synth(stage: &SynthStage, settings: &CorpusSettings) -> Survey {
    let documents = stage.settings.documents;
    let tokens = (documents as f64 * stage.settings.mean_length) as u64;
    let bytes = tokens
        .saturating_mul(BYTES_PER_TOKEN)
        .saturating_add(documents.saturating_mul(SYNTH_LINE_BYTES));
    let made = Input { total_bytes: bytes, ..Input::default() };
    let block_bytes = block::block_bytes(&made, settings);
    Survey {
        bytes,
        content_bytes: bytes,
        blocks: bytes.div_ceil(block_bytes),
        block_bytes,
        documents,
        records: documents,
        documents_exact: true,
        tokens,
        kept_tokens: tokens,
        volumes: settings.group.as_ref().map_or(0, |_| documents),
        ..Survey::default()
    }
}

fn name_of(file: &InputFile) -> String {
    let compression = format!("{:?}", file.compression).to_lowercase();
    format!("{}, {compression}", file.format.name)
}

pub(super) fn of_format<'i>(
    input: &'i Input,
    format: &'static Format,
) -> impl Iterator<Item = &'i InputFile> {
    input.files.iter().filter(move |file| file.format == format)
}

impl Survey {
    /// Counts the sections that texts of this many words together are cut into, if the job cuts them.
    pub(crate) fn cut(&mut self, input: &Input, settings: &CorpusSettings, words: u64) {
        let length = match settings.sections {
            Some(TextSection::Words(words)) => words,
            Some(TextSection::Paragraphs(count)) => count * WORDS_PER_PARAGRAPH,
            None => return,
        };
        if !input.files.iter().any(|file| file.format.gives_counts(settings)) {
            self.documents = self.records.max(words / length);
            self.documents_exact = false;
        }
    }

    /// Adds the documents and tokens of all files of one format.
    fn count(
        &mut self,
        format: &'static Format,
        files: &[&InputFile],
        settings: &CorpusSettings,
    ) -> Result<(), InputError> {
        let looks = Looks::at(files, settings)?;
        let contents = files.iter().map(|file| looks.content_of(file));
        let content: u64 = contents.clone().sum();
        self.content_bytes += content;
        let vocabularies = files.iter().filter_map(|file| file.vocabulary.as_deref());
        let largest = vocabularies.map(vocabulary_bytes).max().unwrap_or(0);
        self.vocabulary_bytes = self.vocabulary_bytes.max(largest);
        match format.cutting {
            Cutting::Whole(_) if !format.is_volume() => self.documents += files.len() as u64,
            Cutting::RowGroups(_) => {
                let rows = files.iter().map(|file| columnar::row_count(file));
                let rows = rows.sum::<Result<u64, _>>()?;
                if settings.counts.is_some() {
                    return self.count_long(rows, files, settings);
                }
                self.documents += rows;
            }
            Cutting::Entries(_) => {
                for file in files {
                    let (documents, entries) = bag_header(file)?;
                    // A header may promise more than its file holds.
                    let entries = entries.min(4 * file.expected_bytes() / BYTES_PER_ENTRY);
                    self.documents += documents.min(most_documents(entries));
                    // Most terms occur once or twice in a document.
                    self.tokens += 2 * entries;
                }
                return Ok(());
            }
            Cutting::Whole(_) => {
                self.volumes = files.len() as u64;
                self.largest_volume = contents.max().unwrap_or(0);
                let tokens = content / BYTES_PER_COUNTED_TOKEN;
                self.tokens += tokens;
                let sections = match settings.htrc.section {
                    SectionSize::Volume => 0,
                    SectionSize::Words(words) => tokens / words,
                    SectionSize::Pages(pages) => content / BYTES_PER_PAGE / pages as u64,
                };
                self.documents += sections.max(files.len() as u64);
                self.documents_exact &= files.is_empty();
                return Ok(());
            }
            Cutting::Records(..) => {
                let records = u128::from(looks.records) * u128::from(content);
                self.documents += (records / u128::from(looks.bytes.max(1))) as u64;
                self.documents_exact &= files.is_empty();
            }
        }
        self.tokens += content / BYTES_PER_TOKEN;
        Ok(())
    }

    /// Adds the documents and tokens of long tables with this many rows, estimated from the first rows of some files.
    fn count_long(
        &mut self,
        rows: u64,
        files: &[&InputFile],
        settings: &CorpusSettings,
    ) -> Result<(), InputError> {
        let [mut documents, mut tokens, mut seen] = [0; 3];
        for file in files.iter().step_by(files.len().div_ceil(LOOK_FILES).max(1)) {
            let head = long_head(file, settings)?;
            [documents, tokens, seen] = [documents + head[0], tokens + head[1], seen + head[2]];
        }
        let scaled = |part: u64| u128::from(part) * u128::from(rows) / u128::from(seen.max(1));
        self.documents += scaled(documents) as u64;
        self.tokens += scaled(tokens) as u64;
        self.documents_exact &= files.is_empty();
        Ok(())
    }
}

/// Counts the documents, the tokens and the rows in the first rows of a long table.
fn long_head(file: &InputFile, settings: &CorpusSettings) -> Result<[u64; 3], InputError> {
    let (names, rows) = columnar::first_rows(file, LOOK_ROWS)?;
    let cells = |wanted: Option<&String>| {
        let place = names.iter().position(|name| Some(name) == wanted);
        let cells = rows.iter().map(move |row| place.map_or("", |place| &row[place]));
        cells.collect::<Vec<&str>>()
    };
    let documents = cells(Some(&settings.id)).chunk_by(|a, b| a == b).count();
    let counts = cells(settings.counts.as_ref()).into_iter();
    let tokens: f64 = counts.filter_map(|count| count.parse::<f64>().ok()).sum();
    Ok([documents as u64, tokens as u64, rows.len() as u64])
}

/// Estimates the content of a vocabulary file on a disk.
fn vocabulary_bytes(path: &Path) -> u64 {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if stripped(&name) == name { bytes } else { bytes.saturating_mul(4) }
}

/// Returns the documents and entries that a bag of words declares; 0 if it declares nothing.
fn bag_header(file: &InputFile) -> Result<(u64, u64), InputError> {
    let content = first_bytes(file, HEADER_BYTES)?;
    let text = String::from_utf8_lossy(&content);
    let lines = text.lines().filter(|line| !line.starts_with('%'));
    let numbers = lines.flat_map(str::split_ascii_whitespace);
    let mut numbers = numbers.map(|number| number.parse().unwrap_or(0));
    let documents = numbers.next().unwrap_or(0);
    Ok((documents, numbers.nth(1).unwrap_or(0)))
}

/// Bytes of content of each format that are read for its compression and its records.
const LOOKED_AT: u64 = 64 << 20;
/// Maximum number of files of a format that are read, evenly spread over the input.
pub(super) const LOOK_FILES: usize = 8;

/// The starts of some files of a format.
#[derive(Debug, Default)]
struct Looks {
    /// Complete records, and their bytes, including those before them.
    records: u64,
    bytes: u64,
    /// Bytes of content of compressed files, and those on disk that contain them.
    seen: u64,
    on_disk: u64,
}

impl Looks {
    /// Reads the starts of some of the files, evenly spread: the fewer the files, the more of each.
    fn at(files: &[&InputFile], settings: &CorpusSettings) -> Result<Self, InputError> {
        let step = files.len().div_ceil(LOOK_FILES).max(1);
        let limit = LOOKED_AT / files.len().div_ceil(step).max(1) as u64;
        let mut looks = Self::default();
        for file in files.iter().step_by(step) {
            let is_compressed = file.compression != Compression::Plain;
            // For columnar files and plain texts, the sizes are enough.
            let is_told = match file.format.cutting {
                Cutting::Entries(_) | Cutting::RowGroups(_) => true,
                Cutting::Whole(_) => !is_compressed,
                Cutting::Records(..) => false,
            };
            if is_told {
                continue;
            }
            let (content, on_disk) = start_of(file, limit)?;
            let length = content.len() as u64;
            if is_compressed {
                (looks.seen, looks.on_disk) = (looks.seen + length, looks.on_disk + on_disk);
            }
            if let Cutting::Records(of, _) = file.format.cutting {
                let (records, bytes) = of(&content).count(&content, length < limit);
                let header = u64::from(settings.header && file.format.has_header());
                looks.records += records.saturating_sub(header);
                looks.bytes += bytes;
            }
        }
        Ok(looks)
    }

    /// Estimates the content of a file: compressed ones are assumed to compress like those read.
    fn content_of(&self, file: &InputFile) -> u64 {
        if file.compression == Compression::Plain || self.on_disk == 0 {
            return file.expected_bytes();
        }
        (u128::from(file.bytes) * u128::from(self.seen) / u128::from(self.on_disk)) as u64
    }
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
    let counted = |source| CountedReader { source, read: Arc::clone(&read) };
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
struct CountedReader {
    source: Source,
    read: Arc<AtomicU64>,
}

impl Read for CountedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Job;

    fn surveyed<T: AsRef<[u8]>>(files: &[(&str, T)]) -> Survey {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let text = "[corpus]\ninput = \".\"\n[model]\ntopics = 2\n[output]\npath = \"o\"\n";
        let job = Job::parse(text, &folder.path().join("job"), &[]).unwrap();
        survey(&job.corpus).unwrap()
    }

    #[test]
    fn texts_and_bags_of_words_are_counted() {
        let survey = surveyed(&[
            ("a.txt", "some words"),
            ("b.txt", ""),
            ("docword.x.txt", "7\n3\n2\n1 1 1\n7 2 5\n"),
            ("vocab.x.txt", "a\nb\nc\n"),
        ]);
        assert_eq!((survey.documents, survey.documents_exact), (9, true));
        assert_eq!(survey.kinds["text, plain"], FileKind { files: 2, bytes: 10 });
        assert_eq!((survey.files, survey.kinds["uci, plain"].files), (3, 1));
    }

    #[test]
    fn records_are_estimated_from_a_start() {
        let line = "{\"id\": \"x\", \"text\": \"a few words in a line\"}\n";
        let survey = surveyed(&[("a.jsonl", &line.repeat(100_000))]);
        assert!(!survey.documents_exact);
        let error = survey.documents.abs_diff(100_000);
        assert!(error < 100, "{} documents", survey.documents);
        let small = surveyed(&[("a.jsonl", "{}\n\n{}"), ("b.csv", "id,text\n1,\"a\nb\"\n2,c\n")]);
        assert_eq!(small.documents, 4);
    }

    #[test]
    fn compressed_files_are_as_dense_as_their_starts() {
        let line = |i: u64| format!("{{\"id\": {i}, \"text\": \"{:x}\"}}\n", i * i * 48_271);
        let lines: String = (0..500_000).map(line).collect();
        let compressed = zstd::encode_all(lines.as_bytes(), 1).unwrap();
        let survey = surveyed(&[("a.jsonl.zst", &compressed)]);
        let is_near = |found: u64, real: u64| found.abs_diff(real) < real / 10;
        assert!(is_near(survey.content_bytes, lines.len() as u64), "{survey:?}");
        assert!(is_near(survey.documents, 500_000), "{survey:?}");
    }

    #[test]
    fn a_corpus_to_be_made_is_known_from_its_settings() {
        let text = "[synth]\npath = \"x\"\ndocuments = 1000\nmean_length = 50\n\
                    [model]\ntopics = 2\n[output]\npath = \"o\"\n";
        let job = Job::parse(text, Path::new("job"), &[]).unwrap();
        let survey = survey_of_synth(&job.synth.clone().unwrap(), &job.corpus);
        assert_eq!((survey.documents, survey.tokens), (1000, 50_000));
        assert_eq!(survey.blocks, 1);
    }
}
