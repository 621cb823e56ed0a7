//! Documents from standard input, stored beside the job that reads them, so that a run can be resumed and
//! repeated.

use std::io::{self, BufRead, BufWriter, IsTerminal, Read, Write};
use std::path::Path;

use serde_json::json;

use crate::cli::beside::unfinished;
use crate::cli::{Exit, Failure};
use crate::plan::preview::{is_text_name, looks_binary};
use corpus::columns::rows;
use corpus::compression::{Compression, read_start};
use corpus::encoding::{EncodingGuess, TextEncoding};
use corpus::formats::Format;
use corpus::formats::csv::{CSV, TSV};
use corpus::formats::json::spans_lines;
use corpus::shard::hash_file;
use store::{Disk, Store, Writer, create_folder};

/// Number of bytes from which the format is detected.
const START: u64 = 64 << 10;

/// Stores standard input beside the job at `path`; returns the file's name, seen from the current folder.
///
/// # Errors
/// It is a terminal, empty, or in an unsupported form; other documents are stored there already and must not
/// be replaced; the file cannot be written.
pub(super) fn store(path: &Path, overwrite: bool) -> Result<String, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let message = "`-` reads documents from standard input, which is a terminal";
        return Err(
            Failure::usage(message).help("for example: topicmill topics - < documents.jsonl")
        );
    }
    let mut input = stdin.lock();
    let unreadable = |error| Failure::new(Exit::Io, error).context("standard input");
    let start = read_start(&mut input, START).map_err(unreadable)?;
    let ending = ending_of(&start)?;
    let target = path.with_extension(format!("input.{}", ending.unwrap_or("jsonl")));
    let file = unfinished(&target);
    let unwritable = |error: io::Error| {
        Failure::new(Exit::Io, error).context(format!("{}: cannot be written", target.display()))
    };
    create_folder(target.parent().unwrap_or(Path::new(""))).map_err(unwritable)?;
    copy(start.chain(input), file.as_ref(), ending.is_none()).map_err(unwritable)?;
    if overwrite || !target.exists() {
        Disk.commit(file.as_ref(), &target).map_err(|error| unwritable(error.into()))?;
    } else if hash_file(file.as_ref()).map_err(unwritable)?
        != hash_file(&target).map_err(unwritable)?
    {
        let target = target.display();
        let message = format!("{target}: contains documents other than those on standard input");
        let help = "choose another --output, or replace it: --overwrite";
        return Err(Failure::usage(message).help(help));
    }
    Ok(target.to_string_lossy().into_owned())
}

/// Detects by its first bytes the ending of a file with this content; `None` if each line is a document.
fn ending_of(start: &[u8]) -> Result<Option<&'static str>, Failure> {
    let refuse = |message: String, help: &str| Err(Failure::data(message).help(help));
    if start.trim_ascii().is_empty() {
        return refuse("standard input is empty".to_owned(), "check the command before the pipe");
    }
    if start.starts_with(b"PAR1") {
        return Ok(Some("parquet"));
    }
    // The start of a file, and of the first message of a stream.
    if start.starts_with(b"ARROW1") || start.starts_with(&[0xff; 4]) {
        return Ok(Some("arrow"));
    }
    let compression = match Compression::of(start) {
        Ok(Compression::Plain) => None,
        Ok(known) => Some(format!("{known:?}").to_lowercase()),
        Err(name) => Some(name.to_owned()),
    };
    if let Some(name) = compression {
        let message = format!("standard input is compressed ({name})");
        return refuse(message, "decompress it: zcat FILE | topicmill topics - (zstdcat for zstd)");
    }
    if looks_binary(start) {
        return refuse(
            "standard input is not text".to_owned(),
            "pass JSON, CSV, TSV, Parquet, Arrow, or one document per line",
        );
    }
    let (text, _) = TextEncoding::default().decode_file(start);
    let names_text = |format: &Format| {
        let header = rows(&text, format, 1).pop().unwrap_or_default();
        header.len() > 1 && header.iter().any(|name| is_text_name(name))
    };
    Ok(if spans_lines(start) {
        Some("json")
    } else if text.trim_start().starts_with('{') {
        Some("jsonl")
    } else if names_text(&TSV) {
        Some("tsv")
    } else {
        names_text(&CSV).then_some("csv")
    })
}

/// Writes all of the input to a file; `lines` become objects.
fn copy(mut input: impl BufRead, file: &Path, lines: bool) -> io::Result<()> {
    let mut writer = BufWriter::new(Writer::create(file)?);
    if !lines {
        io::copy(&mut input, &mut writer)?;
        return writer.flush();
    }
    let mut guess = EncodingGuess::default();
    guess.add(input.fill_buf()?);
    let encoding = guess.best().unwrap_or_default();
    let (mut line, mut number) = (Vec::new(), 0u64);
    while input.read_until(b'\n', &mut line)? > 0 {
        number += 1;
        let (text, _) = encoding.decode(&line);
        if !text.trim().is_empty() {
            let object = json!({ "id": number.to_string(), "text": text.trim_end() });
            writeln!(writer, "{object}")?;
        }
        line.clear();
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_told_by_the_first_line() {
        for (start, form) in [
            ("{\"text\": 1}\n", Some("jsonl")),
            ("[\n  {\"text\": 1}\n]\n", Some("json")),
            ("{\n  \"text\": 1\n}\n", Some("json")),
            ("[2026-11-25] a line of a log\n", None),
            ("id,\"text\",year\n1,x,2\n", Some("csv")),
            ("id\tBody\n1\tx\n", Some("tsv")),
            ("id;\"text\"\n1;x\n", Some("csv")),
            ("PAR1\u{15}\0", Some("parquet")),
            ("ARROW1\0\0", Some("arrow")),
            ("Call me Ishmael, said he.\nSome years ago\n", None),
        ] {
            assert_eq!(ending_of(start.as_bytes()).unwrap(), form, "{start}");
        }
        for (start, said) in [
            (&b" \n"[..], "is empty"),
            (b"\x1f\x8b\x08", "compressed (gzip)"),
            (b"\x7fELF\0", "is not text"),
        ] {
            let failure = ending_of(start).unwrap_err();
            assert_eq!(failure.exit, Exit::Data);
            assert!(failure.to_string().contains(said), "{failure}");
        }
    }

    #[test]
    fn lines_become_documents_with_the_number_of_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lines");
        copy(&b"one \"x\"\n\n  tr\xe8s bient\xf4t\r\n"[..], &file, true).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let expected = "{\"id\":\"1\",\"text\":\"one \\\"x\\\"\"}\n{\"id\":\"3\",\"text\":\"  très bientôt\"}\n";
        assert_eq!(text, expected);
    }
}
