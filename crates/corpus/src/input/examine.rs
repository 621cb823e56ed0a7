//! Examines the files of an input: sizes, compression, and a fingerprint.

use super::outputs::is_written;
use super::{Input, InputError, InputFile, check, vocabulary};
use crate::compression::{Compression, read_into, read_start, stripped};
use crate::formats::{FALLBACK, Format};
use crate::settings::CorpusSettings;
use sha2::{Digest, Sha256};
use std::io::{self, Seek, SeekFrom};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use store::Source;

/// Bytes at each end of a file that its fingerprint covers.
const FINGERPRINT_BYTES: u64 = 64 * 1024;

/// Bytes of a file's digest that are kept.
const DIGEST_BYTES: usize = 8;

/// The remedy for a text that is not only text, or more than one.
const CONVERT: &str = "convert it to plain text, CSV or JSON Lines (pandoc reads LaTeX, BibTeX and RIS), exclude it \
                       with `corpus.exclude`, or set corpus.format = \"text\" to read each file as it is";

/// Bytes at the start of a file by which compressions, encodings and archives are recognised.
const START_BYTES: u64 = 2048;

/// A file that has not been opened.
#[derive(Clone, Debug)]
pub struct FoundFile {
    /// Its name in the input.
    pub name: String,
    /// Where to open it.
    pub path: PathBuf,
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

/// The most threads that examine files: opening one waits for the disk or the network, not for a core.
const THREADS: usize = 16;
/// Fewest files for each of them.
const FILES_A_THREAD: usize = 8;
/// Files that are examined before an error among them is returned.
const FILES_AT_ONCE: usize = 4096;

/// A file that is read.
struct ExaminedFile {
    file: InputFile,
    /// Its fingerprint, if wanted.
    digest: Option<[u8; 32]>,
    /// The reason why it is no text, if it is read as one.
    no_text: Option<InputError>,
}

/// Opens these files, except exports that were `written` beside outputs. Returns those that are read and, if wanted,
/// their fingerprint: the digest of the files' digests, in the input's order.
///
/// Unsupported ones go to `refused`, with the error. Without it the first error is returned; but a text among other
/// files that is no text is read, to be a document with a status.
pub(super) fn input(
    settings: &CorpusSettings,
    FoundFiles { files: found, mut written, not_files }: FoundFiles,
    wants_fingerprint: bool,
    mut refused: Option<&mut Vec<(PathBuf, InputError)>>,
) -> Result<(Input, String), InputError> {
    let is_alone =
        !settings.are_found && found.iter().all(|file| unsupported(&file.name).is_some());
    let refuses = refused.is_some();
    let mut files = Vec::with_capacity(found.len());
    let mut digests = Vec::new();
    let mut no_texts = Vec::new();
    let mut digest = Sha256::new();
    let mut found = found.into_iter();
    loop {
        let some: Vec<FoundFile> = found.by_ref().take(FILES_AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        let is_strict = |file: &FoundFile| file.is_named || is_alone || refuses;
        for (place, result) in examine_all(settings, &some, wants_fingerprint, is_strict) {
            match (result, &mut refused) {
                (Ok(None), _) => written.push(some[place].name.clone()),
                (Ok(Some(examined)), _) => {
                    files.push(examined.file);
                    digest.update(examined.digest.unwrap_or_default());
                    digests.extend(examined.digest.map(written_digest));
                    no_texts.extend(examined.no_text);
                }
                (Err(error @ InputError::Unsupported(_)), Some(refused)) => {
                    refused.push((some[place].path.clone(), error));
                }
                (Err(error), _) => return Err(error),
            }
        }
    }
    let is_left = !files.is_empty() || refused.is_some_and(|refused| !refused.is_empty());
    if !is_left {
        return Err(InputError::nothing_left());
    }
    if no_texts.len() == files.len() && !files.is_empty() && !settings.are_found {
        return Err(no_texts.swap_remove(0));
    }
    written.sort_unstable();
    let total_bytes = files.iter().map(|file| file.bytes).sum();
    let input = Input { files, digests, total_bytes, written, not_files };
    Ok((input, hex::encode(digest.finalize())))
}

/// Returns the digest of each of these files, [as `identify` lists it](Input::digests): `None` if topicmill has written
/// the file.
///
/// A file that cannot be read has its error.
pub fn digests(
    settings: &CorpusSettings,
    found: &[FoundFile],
) -> Vec<Result<Option<String>, InputError>> {
    let examined = examine_all(settings, found, true, |file| file.is_named);
    let digest = |examined: ExaminedFile| examined.digest.map(written_digest);
    examined.into_iter().map(|(_, result)| Ok(result?.and_then(digest))).collect()
}

/// Returns the start of a file's digest in hexadecimal.
fn written_digest(digest: [u8; 32]) -> String {
    hex::encode(&digest[..DIGEST_BYTES])
}

/// Examines files on several threads; returns the result of each, in their order.
fn examine_all(
    settings: &CorpusSettings,
    found: &[FoundFile],
    wants_fingerprint: bool,
    is_strict: impl Fn(&FoundFile) -> bool + Sync,
) -> Vec<(usize, Result<Option<ExaminedFile>, InputError>)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let digest = wants_fingerprint.then(Sha256::new);
        let mut examiner = Examiner { settings, digest, held: Vec::new() };
        let mut examined = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = found.get(place) else {
                return examined;
            };
            examined.push((place, examiner.examine(file, is_strict(file))));
        }
    };
    let threads = (found.len() / FILES_A_THREAD).clamp(1, THREADS);
    let mut examined = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        // This thread works too: to the run it is alive as long as there are files.
        let mut examined = work();
        for other in others {
            examined.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        examined
    });
    examined.sort_by_key(|(place, _)| *place);
    examined
}

/// The state for opening files, each once (compressed JSON twice): for the size, compression, vocabulary and, if
/// wanted, the fingerprint.
struct Examiner<'s> {
    settings: &'s CorpusSettings,
    /// That of the file that is open, if wanted.
    digest: Option<Sha256>,
    /// The start or the end of a file.
    held: Vec<u8>,
}

impl Examiner<'_> {
    /// Examines a file, unless topicmill has written it; with `is_strict`, refuses a text that is not only text, or more
    /// than one.
    fn examine(
        &mut self,
        found: &FoundFile,
        is_strict: bool,
    ) -> Result<Option<ExaminedFile>, InputError> {
        let (name, path, format) = (found.name.clone(), found.path.clone(), found.format);
        check(&path, format, self.settings)?;
        let unreadable = InputError::unreadable(&path);
        let (mut source, bytes) = self.open(&path).map_err(unreadable)?;
        let start = &self.held[..self.held.len().min(START_BYTES as usize)];
        if !found.is_named && is_written(&name, start) {
            return Ok(None);
        }
        if let Some(digest) = &mut self.digest {
            *digest = Sha256::new();
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
        let digest = self.digest.clone().map(|digest| digest.finalize().into());
        Ok(Some(ExaminedFile { file, digest, no_text }))
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
