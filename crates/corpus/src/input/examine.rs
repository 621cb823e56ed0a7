//! Examines the files of an input: sizes, compression, and a fingerprint.

use super::outputs::is_written;
use super::{Input, InputError, InputFile, vocabulary};
use crate::compression::{Compression, read_into, read_start, stripped};
use crate::formats::{FALLBACK, Format};
use crate::settings::CorpusSettings;
use sha2::{Digest, Sha256};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use store::Source;

/// Bytes at each end of a file that its fingerprint covers.
const FINGERPRINT_BYTES: u64 = 64 * 1024;

/// The remedy for a text that is not only text, or more than one.
const CONVERT: &str = "convert it to plain text, CSV or JSON Lines (pandoc reads LaTeX, BibTeX and RIS), exclude it \
                       with `corpus.exclude`, or set corpus.format = \"text\" to read each file as it is";

/// Bytes at the start of a file by which compressions, encodings and archives are recognised.
const START_BYTES: u64 = 2048;

/// A file that has not been opened.
pub(super) struct FoundFile {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) format: &'static Format,
    /// Whether the job names this file, rather than its folder or a pattern.
    pub(super) is_named: bool,
}

/// What the patterns of an input match.
pub(super) struct FoundFiles {
    /// The files, in the input's order.
    pub(super) files: Vec<FoundFile>,
    /// The names of exports beside outputs.
    pub(super) written: Vec<String>,
    /// The names of what is neither a file nor a folder.
    pub(super) not_files: Vec<String>,
}

/// A file, and the reason why it is no text if it is read as one.
type Examined = (InputFile, Option<InputError>);

/// The state for opening files, each once (compressed JSON twice): for the size, compression, vocabulary and, if
/// wanted, the fingerprint.
pub(super) struct Examiner<'s> {
    settings: &'s CorpusSettings,
    digest: Option<Sha256>,
    /// The start or the end of a file.
    held: Vec<u8>,
}

impl<'s> Examiner<'s> {
    pub(super) fn new(settings: &'s CorpusSettings, wants_fingerprint: bool) -> Self {
        Self { settings, digest: wants_fingerprint.then(Sha256::new), held: Vec::new() }
    }

    /// Opens these files, one after the other, except exports that were `written` beside outputs.
    ///
    /// Unsupported ones go to `refused`, with the error. Without it the error is returned; but a text among other files
    /// that is no text is read, to be a document with a status.
    pub(super) fn input(
        &mut self,
        FoundFiles { files: found, mut written, not_files }: FoundFiles,
        mut refused: Option<&mut Vec<(PathBuf, InputError)>>,
    ) -> Result<Input, InputError> {
        let is_alone = found.iter().all(|file| unsupported(&file.name).is_some());
        let mut files = Vec::with_capacity(found.len());
        let mut no_texts = Vec::new();
        for file in found {
            let (name, path) = (file.name.clone(), file.path.clone());
            let is_strict = file.is_named || is_alone || refused.is_some();
            match (self.examine(file, is_strict), &mut refused) {
                (Ok(None), _) => written.push(name),
                (Ok(Some((file, no_text))), _) => {
                    files.push(file);
                    no_texts.extend(no_text);
                }
                (Err(error @ InputError::Unsupported(_)), Some(refused)) => {
                    refused.push((path, error));
                }
                (Err(error), _) => return Err(error),
            }
        }
        let is_left = !files.is_empty() || refused.is_some_and(|refused| !refused.is_empty());
        if !is_left {
            return Err(InputError::nothing_left());
        }
        if no_texts.len() == files.len() && !files.is_empty() {
            return Err(no_texts.swap_remove(0));
        }
        written.sort_unstable();
        let total_bytes = files.iter().map(|file| file.bytes).sum();
        Ok(Input { files, total_bytes, written, not_files })
    }

    /// Returns the fingerprint of everything that was opened.
    pub(super) fn fingerprint(self) -> String {
        hex::encode(self.digest.unwrap_or_default().finalize())
    }

    /// Examines a file, unless topicmill has written it; with `is_strict`, refuses a text that is not only text, or more
    /// than one.
    fn examine(
        &mut self,
        found: FoundFile,
        is_strict: bool,
    ) -> Result<Option<Examined>, InputError> {
        let (name, path, format) = (found.name, found.path, found.format);
        let unreadable = InputError::unreadable(&path);
        let (mut source, bytes) = self.open(&path).map_err(unreadable)?;
        let start = &self.held[..self.held.len().min(START_BYTES as usize)];
        if !found.is_named && is_written(&name, start) {
            return Ok(None);
        }
        if let Some(digest) = &mut self.digest {
            digest.update((name.len() as u64).to_le_bytes());
            digest.update(name.as_bytes());
            digest.update([format.number()]);
        }
        let (compression, no_text) = match self.compression_of(&name, &path, format) {
            Ok(compression) => (compression, None),
            Err(error) if format == FALLBACK && !is_strict => (Compression::Plain, Some(error)),
            Err(error) => return Err(error),
        };
        let is_guessed = self.settings.format.is_none();
        if let Some(kind) = unsupported(&name).filter(|_| is_strict && is_guessed) {
            return Err(InputError::unsupported(&path, kind, CONVERT));
        }
        let start = &self.held[..self.held.len().min(START_BYTES as usize)];
        let content = || start_of_content(&path, start, compression);
        let instead = is_guessed.then(|| (format.instead)(start, &content)).flatten();
        let format = instead.unwrap_or(format);
        self.add_ends(&mut source, bytes).map_err(InputError::unreadable(&path))?;
        let vocabulary = vocabulary::find(&path, format)?;
        if let (Some(path), Some(_)) = (&vocabulary, &self.digest) {
            let added =
                self.open(path).and_then(|(mut source, bytes)| self.add_ends(&mut source, bytes));
            added.map_err(InputError::unreadable(path))?;
        }
        let tag = source.tag().map(str::to_owned);
        let file =
            InputFile { name, path, format, compression, bytes, vocabulary, tag, is_copy: false };
        Ok(Some((file, no_text)))
    }

    /// Returns the compression of a file whose start is held.
    ///
    /// # Errors
    /// The file is of a kind that is not supported.
    fn compression_of(
        &self,
        name: &str,
        path: &Path,
        format: &Format,
    ) -> Result<Compression, InputError> {
        let refuse = |kind, remedy| InputError::unsupported(path, kind, remedy);
        if self.held.is_empty() && stripped(name) != name {
            // As after a failed copy: the decoder calls it cut off.
            return Ok(Compression::Gzip);
        }
        let compression = Compression::of(&self.held).map_err(|kind| {
            let remedy = match kind {
                "zip" => "unpack it, or convert an office document to text: pandoc -t plain",
                _ => "decompress it, or recompress it with gzip, zstd or bzip2",
            };
            refuse(kind, remedy)
        })?;
        if let Some([kind, remedy]) = (format.refusal)(name, &self.held, compression) {
            return Err(refuse(kind, remedy));
        }
        Ok(compression)
    }

    /// Opens a file, holds its start, and returns its size.
    fn open(&mut self, path: &Path) -> io::Result<(Source, u64)> {
        let mut source = Source::open(path)?;
        let bytes = source.length()?;
        let wanted = match self.digest {
            Some(_) => FINGERPRINT_BYTES,
            None => START_BYTES,
        };
        read_into(&mut self.held, &mut source, wanted.min(bytes))?;
        Ok((source, bytes))
    }

    /// Fingerprints the size and both ends of a file whose start is held, without the middle.
    fn add_ends(&mut self, source: &mut Source, bytes: u64) -> io::Result<()> {
        let Some(digest) = &mut self.digest else {
            return Ok(());
        };
        digest.update(bytes.to_le_bytes());
        if let Some(tag) = source.tag() {
            digest.update(tag);
            return Ok(());
        }
        digest.update(&self.held);
        if bytes > FINGERPRINT_BYTES {
            let end = bytes.saturating_sub(FINGERPRINT_BYTES);
            source.seek(SeekFrom::Start(end.max(FINGERPRINT_BYTES)))?;
            read_into(&mut self.held, source, FINGERPRINT_BYTES)?;
            digest.update(&self.held);
        }
        Ok(())
    }
}

/// Returns the start of a file's content, given its start as stored. The reader reports damage.
fn start_of_content(path: &Path, start: &[u8], compression: Compression) -> Vec<u8> {
    if compression == Compression::Plain {
        return start.to_vec();
    }
    let content = compression.open(path).and_then(|stream| read_start(stream, START_BYTES));
    content.unwrap_or_default()
}

/// Returns the kind of a text that is not only text, or more than one, by its name.
fn unsupported(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let (_, extension) = stripped(&name).rsplit_once('.')?;
    Some(match extension {
        "bib" => "BibTeX",
        "msf" => "an index of mail",
        "ris" => "RIS",
        "tex" => "LaTeX",
        "warc" => "WARC",
        _ => return None,
    })
}
