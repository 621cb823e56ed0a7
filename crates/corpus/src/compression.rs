//! The compression of a file, detected from its first bytes, and the stream of its decompressed
//! content.
//!
//! Names are ignored: a `.gz` that was decompressed in place is read as plain. Gzip files of several members, zstd
//! files of several frames and bzip2 files of several streams (as written by `pigz`, `pzstd`, `pbzip2` and `cat a b`)
//! are read as one. Other compressions are recognised only to be refused with a remedy.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::GzDecoder;
use store::Source;

/// Bytes requested from the disk at a time, for compressed files.
const DISK_BUFFER_BYTES: usize = 256 * 1024;

/// Bytes reserved before a file is read: enough for a small one.
const ROOM_BYTES: u64 = 8 << 10;

/// The largest zstd window accepted, as a power of two: every level of `zstd`, and `--long`, stay within it. A decoder
/// holds its window in memory, and each thread may have one.
const ZSTD_WINDOW_LOG: u32 = 27;

/// The most content that is read of a file that is held in memory as a whole: a list of words, a tree, a vocabulary.
pub const WHOLE_FILE_BYTES: u64 = 256 << 20;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    Plain,
    /// Gzip, one member or many.
    Gzip,
    /// Zstandard, one frame or many.
    Zstd,
    /// Bzip2, one stream or many.
    Bzip2,
}

impl Compression {
    /// Detects the compression from a file's first bytes (eight suffice).
    ///
    /// Fails with the name of the compression if topicmill does not read it.
    ///
    /// ```
    /// # use corpus::compression::Compression;
    /// assert_eq!(Compression::of(&[0x1f, 0x8b, 8, 0]), Ok(Compression::Gzip));
    /// assert_eq!(Compression::of(b"{\"id\": 1}"), Ok(Compression::Plain));
    /// assert_eq!(Compression::of(b"BZh91AY&SY"), Ok(Compression::Bzip2));
    /// assert_eq!(Compression::of(b"PK\x03\x04"), Err("zip"));
    /// ```
    pub fn of(start: &[u8]) -> Result<Self, &'static str> {
        match start {
            [0x1f, 0x8b, ..] => Ok(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Ok(Self::Zstd),
            // A skippable frame: seekable and parallel writers may put one first.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Ok(Self::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..] => Ok(Self::Bzip2),
            // The end of a stream without a block, whose content is empty.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, ..] => Ok(Self::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Err("xz"),
            [b'P', b'K', 3, 4, ..] => Err("zip"),
            _ => Ok(Self::Plain),
        }
    }

    /// Opens the file for reading its content, decompressed on the fly.
    pub fn open(self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        self.decode(Source::open(path)?)
    }

    /// Decompresses a stream on the fly. A panic of a decoder is an error of the stream.
    pub fn decode(self, file: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        if self == Self::Plain {
            return Ok(Box::new(file));
        }
        let mut buffered = BufReader::with_capacity(DISK_BUFFER_BYTES, file);
        let decoder: Box<dyn Read + Send> = match self {
            Self::Plain | Self::Gzip => {
                Box::new(GzipMembers { member: Some(GzDecoder::new(buffered)) })
            }
            Self::Bzip2 => Box::new(Bzip2Blocks::new(buffered)),
            Self::Zstd => {
                refuse_wide_window(buffered.fill_buf()?)?;
                let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
        };
        Ok(Box::new(Contained(Some(decoder))))
    }

    /// Estimates the content of a file of the given size: compressed text counts four times.
    pub(crate) fn expected_bytes(self, bytes: u64) -> u64 {
        match self {
            Self::Plain => bytes,
            Self::Gzip | Self::Zstd | Self::Bzip2 => bytes.saturating_mul(4),
        }
    }
}

/// A decoder that is dropped when it panics; later reads fail too.
struct Contained(Option<Box<dyn Read + Send>>);

impl Read for Contained {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let broken = |problem: String| io::Error::new(io::ErrorKind::InvalidData, problem);
        let Some(decoder) = &mut self.0 else {
            return Err(broken("its decoder has failed".to_owned()));
        };
        let read = liveness::contained(|| decoder.read(buffer));
        read.unwrap_or_else(|panic| {
            self.0 = None;
            Err(broken(format!("its decoder failed: {panic}")))
        })
    }
}

/// The content of bzip2 streams. The checksum of a block follows it, so a block is held until it is known to be right:
/// the decoder takes no more of its input before.
struct Bzip2Blocks<R> {
    decoder: MultiBzDecoder<CountedReader<R>>,
    held: VecDeque<u8>,
    /// How many of the held bytes are known to be right.
    right: usize,
    /// How the stream ended, if it has.
    end: Option<io::Result<()>>,
}

/// A reader that counts the bytes that are taken of it.
struct CountedReader<R> {
    reader: R,
    taken: u64,
}

impl<R: BufRead> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.taken += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for CountedReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.taken += bytes as u64;
        self.reader.consume(bytes);
    }
}

impl<R: BufRead> Bzip2Blocks<R> {
    fn new(reader: R) -> Self {
        let decoder = MultiBzDecoder::new(CountedReader { reader, taken: 0 });
        Self { decoder, held: VecDeque::new(), right: 0, end: None }
    }

    /// Decodes until some bytes are known to be right, or the stream ends.
    fn decode(&mut self) -> io::Result<()> {
        let mut chunk = [0; 16 << 10];
        while self.right == 0 && self.end.is_none() {
            let (taken, before) = (self.decoder.get_ref().taken, self.held.len());
            match self.decoder.read(&mut chunk) {
                Ok(0) => self.end = Some(Ok(())),
                Ok(read) => self.held.extend(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                Err(error) => self.end = Some(Err(error)),
            }
            if self.decoder.get_ref().taken > taken || matches!(self.end, Some(Ok(()))) {
                self.right = before;
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Bzip2Blocks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decode()?;
        if self.right == 0
            && let Some(Err(error)) = &self.end
        {
            self.held.clear();
            return Err(io::Error::new(error.kind(), error.to_string()));
        }
        let wanted = buffer.len().min(self.right);
        self.right -= wanted;
        self.held.read(&mut buffer[..wanted])
    }
}

/// The content of consecutive gzip members. Zeros after a member, which pad tapes, are skipped, as by gzip.
struct GzipMembers<R> {
    /// The current one; `None` after the last.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let next = self.member.take().map(GzDecoder::into_inner);
            self.member = next.map(next_member).transpose()?.flatten();
        }
        Ok(0)
    }
}

/// Returns the member that begins where the previous one ended, if there is one.
fn next_member<R: BufRead>(mut rest: R) -> io::Result<Option<GzDecoder<R>>> {
    loop {
        let held = match rest.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            held => held?,
        };
        let zeros = held.iter().take_while(|&&byte| byte == 0).count();
        match held.len() - zeros {
            0 if zeros == 0 => return Ok(None),
            0 => rest.consume(zeros),
            _ => {
                rest.consume(zeros);
                return Ok(Some(GzDecoder::new(rest)));
            }
        }
    }
}

/// Refuses a zstd stream whose first frame needs a larger window than [`ZSTD_WINDOW_LOG`]. The decoder refuses such a
/// frame anywhere, but calls it an error of the file.
fn refuse_wide_window(start: &[u8]) -> io::Result<()> {
    let limit = 1 << ZSTD_WINDOW_LOG;
    match window_bytes(start) {
        Some(bytes) if bytes > limit => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "it was compressed by `zstd --long` with a window of {} MiB, and at most {} MiB are read; compress it \
                 again: zstd -dc --long=31 FILE | zstd -T0 -o NEW.zst",
                bytes >> 20,
                limit >> 20
            ),
        )),
        _ => Ok(()),
    }
}

/// Returns the window of the zstd frame that begins here (RFC 8878, §3.1.1.1); `None` where none begins. A frame that
/// is a single segment has its content for a window.
fn window_bytes(start: &[u8]) -> Option<u64> {
    let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = start else {
        return None;
    };
    if descriptor & 0x20 == 0 {
        let window = *rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let length = 1 << (descriptor >> 6);
    let field = rest.get(dictionary..dictionary + length)?;
    Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// Strips a file's name of the ending that compression appends, in upper or lower case.
pub fn stripped(name: &str) -> &str {
    let is_appended = |(_, ending): &(&str, &str)| {
        let endings = ["gz", "gzip", "zst", "zstd", "bz2"];
        endings.iter().any(|known| ending.eq_ignore_ascii_case(known))
    };
    name.rsplit_once('.').filter(is_appended).map_or(name, |(plain, _)| plain)
}

/// Reads the whole content of a file on a disk or in an object store, decompressed as its first bytes require: at most
/// 256 MiB of it.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let compression = Compression::of(&read_start(Source::open(path)?, 16)?);
    read_within(compression.map_err(io::Error::other)?.open(path)?, WHOLE_FILE_BYTES)
}

/// Reads the whole content of a file on a disk, as it is: at most 256 MiB.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    read_within(File::open(path)?, WHOLE_FILE_BYTES)
}

/// Reads all of a reader, which fails if it has more than `limit` bytes.
pub fn read_within(reader: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let bytes = read_start(reader, limit.saturating_add(1))?;
    if bytes.len() as u64 > limit {
        let mebibytes = limit >> 20;
        let problem = format!(
            "it has more than {mebibytes} MiB of content; check that it is the right file, or shorten it"
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// Reads the first `limit` bytes of a reader, or fewer if it ends before.
pub fn read_start(reader: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    read_into(&mut start, reader, limit)?;
    Ok(start)
}

/// Like [`read_start`], into the memory of `held`.
pub(crate) fn read_into(held: &mut Vec<u8>, reader: impl Read, limit: u64) -> io::Result<()> {
    held.clear();
    // Without room from the start, each small file takes twice as many reads.
    held.reserve(limit.min(ROOM_BYTES) as usize);
    reader.take(limit).read_to_end(held).map(drop)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;

    /// Packs `bytes` as a gzip member.
    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Packs `bytes` as a zstd frame.
    pub(crate) fn zstandard(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    /// Packs `bytes` as a bzip2 stream.
    pub(crate) fn bzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn several_members_and_frames_read_as_one_stream() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for pack in [gzip as fn(&[u8]) -> Vec<u8>, zstandard, bzip] {
            let packed = [pack(b"one "), pack(b""), pack(b"two")].concat();
            std::fs::write(&path, &packed).unwrap();
            let compression = Compression::of(&packed).unwrap();
            let read = read_start(compression.open(&path).unwrap(), 100).unwrap();
            assert_eq!(read, b"one two");
        }
    }

    #[test]
    fn zeros_after_a_gzip_member_are_skipped_and_nothing_else() {
        let read = |parts: &[&[u8]]| {
            let packed = Compression::Gzip.decode(io::Cursor::new(parts.concat()));
            read_start(packed.unwrap(), 100)
        };
        let (one, two) = (gzip(b"one "), gzip(b"two"));
        let tape = vec![0; 2 * DISK_BUFFER_BYTES];
        assert_eq!(read(&[&one, &two, &tape]).unwrap(), b"one two");
        assert_eq!(read(&[&one, &[0; 3], &two]).unwrap(), b"one two");
        assert_eq!(read(&[&one, &[0; 3]]).unwrap(), b"one ");
        assert!(read(&[&one, b"\0\0rest"]).is_err());
        assert!(read(&[&one, &two[..9]]).is_err());
        assert!(read(&[&two[..two.len() - 1]]).is_err());
    }

    #[test]
    fn endings_are_stripped_in_any_case() {
        for name in ["X.csv.gz", "X.csv.GZ", "X.csv.Gzip", "X.csv.ZST", "X.csv.bz2"] {
            assert_eq!(stripped(name), "X.csv");
        }
        for name in ["X.csv", "gz", "X.gzx", ""] {
            assert_eq!(stripped(name), name);
        }
    }

    #[test]
    fn skippable_frames_are_zstd_and_other_compressions_are_refused() {
        assert_eq!(Compression::of(&[0x5e, 0x2a, 0x4d, 0x18, 0]), Ok(Compression::Zstd));
        assert_eq!(Compression::of(b""), Ok(Compression::Plain));
        assert_eq!(Compression::of(b"BZh9 is how this text begins"), Ok(Compression::Plain));
        assert_eq!(Compression::of(b"PK\x03\x04...."), Err("zip"));
    }

    /// Packs `bytes` with a window of 2^`log` bytes.
    fn windowed(bytes: &[u8], log: u32) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.long_distance_matching(true).unwrap();
        encoder.window_log(log).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_zstd_window_that_takes_more_than_128_mib_is_refused_with_a_remedy() {
        let read = |log| {
            let packed = io::Cursor::new(windowed(b"text", log));
            let content = Compression::Zstd.decode(packed)?;
            read_start(content, 100)
        };
        assert_eq!(read(27).unwrap(), b"text");
        let error = read(28).unwrap_err().to_string();
        assert!(error.contains("a window of 256 MiB"), "{error}");
        assert!(error.contains("zstd -dc --long=31 FILE | zstd"), "{error}");
    }

    #[test]
    fn a_window_is_that_of_the_frame_or_its_content() {
        assert_eq!(window_bytes(&zstd::encode_all(&[7; 300][..], 1).unwrap()[..5]), None);
        let single = [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 1, 0, 0, 0];
        assert_eq!(window_bytes(&single), Some(1 << 32));
        assert_eq!(window_bytes(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x89]), Some((1 << 27) + (1 << 24)));
        assert_eq!(window_bytes(b"BZh91AY&SY"), None);
    }

    #[test]
    fn content_beyond_the_limit_is_an_error() {
        assert_eq!(read_within(&b"four"[..], 4).unwrap(), b"four");
        let error = read_within(&b"fives"[..], 4).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_decoder_that_panics_is_an_error_of_the_stream() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("a table of -1 entries")
            }
        }
        let mut stream = Contained(Some(Box::new(Broken)));
        let error = stream.read(&mut [0]).unwrap_err().to_string();
        assert_eq!(error, "its decoder failed: a table of -1 entries");
        assert!(stream.read(&mut [0]).is_err());
    }

    #[test]
    fn what_a_damaged_block_of_bzip2_gives_is_no_content() {
        let words = ["planet", "orbit", "moon", "star", "bread", "flour", "oven"];
        let word = |number: usize| words[number * number % 7 + number % 3 % 2];
        let text: String =
            (0..60_000).map(|number| format!("{number} {}\n", word(number % 5))).collect();
        for level in [1, 9] {
            let mut encoder =
                bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(level));
            encoder.write_all(text.as_bytes()).unwrap();
            let packed = encoder.finish().unwrap();
            let read = |packed: Vec<u8>| {
                let mut read = Vec::new();
                let mut stream = Compression::Bzip2.decode(io::Cursor::new(packed)).unwrap();
                let ended = stream.read_to_end(&mut read);
                // Its end stays the same.
                assert_eq!(stream.read(&mut [0]).is_err(), ended.is_err());
                (ended.is_ok(), read)
            };
            assert_eq!(read(packed.clone()), (true, text.as_bytes().to_vec()));
            for part in 1..20 {
                let mut damaged = packed.clone();
                damaged[packed.len() * part / 20] ^= 4;
                let (is_whole, content) = read(damaged);
                assert!(!is_whole && text.as_bytes().starts_with(&content), "{level}: {part}");
                let later = level == 1 && part > 15;
                assert!(!later || content.len() > text.len() / 3, "{level}: {part}");
            }
        }
    }

    #[test]
    fn an_empty_stream_is_cut_off() {
        let mut stream = Compression::Gzip.decode(io::empty()).unwrap();
        let error = stream.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
