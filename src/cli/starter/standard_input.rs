//! Documents from standard input, stored beside the job that reads them, so that a run can be resumed and
//! repeated.

use std::fs::File;
use std::io::{self, BufRead, BufWriter, IsTerminal, Read, Write};
use std::path::Path;

use serde_json::json;

use crate::cli::beside::unfinished;
use crate::cli::{Exit, Failure};
use crate::plan::preview::{is_text_name, looks_binary};
use corpus::compression::{Compression, read_start};
use corpus::encoding::EncodingGuess;
use corpus::formats::csv::Dialect;
use corpus::formats::json::spans_lines;
use store::{Disk, Store, Writer, create_folder};

/// Number of bytes from which the format is detected.
const START: usize = 64 << 10;

/// The form of standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Stored as it is, in a file with this extension.
    File(&'static str),
    /// One document per line.
    Lines,
}

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
    let start = read_start(&mut input, START as u64).map_err(unreadable)?;
    let (start, form) = (&start[..], form_of(&start)?);
    let ending = match form {
        Form::File(ending) => ending,
        Form::Lines => "jsonl",
    };
    let target = path.with_extension(format!("input.{ending}"));
    let file = unfinished(&target);
    let unwritable = |error: io::Error| {
        Failure::new(Exit::Io, error).context(format!("{}: cannot be written", target.display()))
    };
    create_folder(target.parent().unwrap_or(Path::new(""))).map_err(unwritable)?;
    copy(start.chain(input), file.as_ref(), form).map_err(unwritable)?;
    if target.exists() && !overwrite {
        return if is_same(file.as_ref(), &target).map_err(unwritable)? {
            Ok(name_of(&target))
        } else {
            Err(differs(&target))
        };
    }
    Disk.commit(file.as_ref(), &target).map_err(|error| unwritable(error.into()))?;
    Ok(name_of(&target))
}

fn name_of(target: &Path) -> String {
    target.to_string_lossy().into_owned()
}

fn differs(target: &Path) -> Failure {
    let message =
        format!("{}: contains documents other than those on standard input", target.display());
    Failure::usage(message).help("choose another --output, or replace it: --overwrite")
}

/// Detects the form from the first bytes.
fn form_of(start: &[u8]) -> Result<Form, Failure> {
    let refuse = |message: String, help: &str| Err(Failure::data(message).help(help));
    if start.trim_ascii().is_empty() {
        return refuse("standard input is empty".to_owned(), "check the command before the pipe");
    }
    if start.starts_with(b"PAR1") {
        return Ok(Form::File("parquet"));
    }
    // The start of a file, and of the first message of a stream.
    if start.starts_with(b"ARROW1") || start.starts_with(&[0xff; 4]) {
        return Ok(Form::File("arrow"));
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
    let first = start.trim_ascii_start().split(|&byte| byte == b'\n').next();
    let first = String::from_utf8_lossy(first.unwrap_or_default());
    let delimiter = char::from(Dialect::of(first.as_bytes()).delimiter);
    let names_text = || {
        first
            .split(delimiter)
            .any(|name: &str| is_text_name(name.trim_matches(['"', ' ', '\r', '\u{feff}'])))
    };
    Ok(match () {
        () if spans_lines(start) => Form::File("json"),
        () if first.starts_with('{') => Form::File("jsonl"),
        () if first.contains(delimiter) && names_text() => match delimiter {
            '\t' => Form::File("tsv"),
            _ => Form::File("csv"),
        },
        () => Form::Lines,
    })
}

/// Writes all of the input to a file.
fn copy(mut input: impl BufRead, file: &Path, form: Form) -> io::Result<()> {
    let mut writer = BufWriter::new(Writer::create(file)?);
    if form != Form::Lines {
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

/// Whether two files have the same content.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let [mut one, mut other] = [File::open(one)?, File::open(other)?];
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let [mut a, mut b] = [vec![0; START], vec![0; START]];
    loop {
        let read = one.read(&mut a)?;
        other.read_exact(&mut b[..read])?;
        if read == 0 || a[..read] != b[..read] {
            return Ok(read == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_told_by_the_first_line() {
        for (start, form) in [
            ("{\"text\": 1}\n", Form::File("jsonl")),
            ("[\n  {\"text\": 1}\n]\n", Form::File("json")),
            ("{\n  \"text\": 1\n}\n", Form::File("json")),
            ("[2026-11-25] a line of a log\n", Form::Lines),
            ("id,\"text\",year\n1,x,2\n", Form::File("csv")),
            ("id\tBody\n1\tx\n", Form::File("tsv")),
            ("id;\"text\"\n1;x\n", Form::File("csv")),
            ("PAR1\u{15}\0", Form::File("parquet")),
            ("ARROW1\0\0", Form::File("arrow")),
            ("Call me Ishmael, said he.\nSome years ago\n", Form::Lines),
        ] {
            assert_eq!(form_of(start.as_bytes()).unwrap(), form, "{start}");
        }
        for (start, said) in [
            (&b" \n"[..], "is empty"),
            (b"\x1f\x8b\x08", "compressed (gzip)"),
            (b"\x7fELF\0", "is not text"),
        ] {
            let failure = form_of(start).unwrap_err();
            assert_eq!(failure.exit, Exit::Data);
            assert!(failure.to_string().contains(said), "{failure}");
        }
    }

    #[test]
    fn lines_become_documents_with_the_number_of_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lines");
        copy(&b"one \"x\"\n\n  tr\xe8s bient\xf4t\r\n"[..], &file, Form::Lines).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let expected = "{\"id\":\"1\",\"text\":\"one \\\"x\\\"\"}\n{\"id\":\"3\",\"text\":\"  très bientôt\"}\n";
        assert_eq!(text, expected);
    }
}
