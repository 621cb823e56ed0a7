//! Small files that ask for much: depth, width, length and counts, a row each.

use super::{Format, measured};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;
use std::path::Path;
use std::sync::Arc;

/// A file, and what comes of it.
struct Bomb {
    what: &'static str,
    file: &'static str,
    bytes: fn() -> Vec<u8>,
    /// The documents of both readings, of which the second keeps damaged files.
    documents: u64,
    /// A part of the error of the first reading, if it has one.
    error: Option<&'static str>,
}

/// All bombs, a row each.
const BOMBS: &[Bomb] = &[
    Bomb {
        what: "3,000 nested groups in the schema of Parquet",
        file: "nested.parquet",
        bytes: || parquet(&[1; 3000]),
        documents: 1,
        error: Some("nested more than 100 deep"),
    },
    Bomb {
        what: "a group of Parquet that claims two thousand million members",
        file: "claim.parquet",
        bytes: || parquet(&[2_000_000_000]),
        documents: 1,
        error: Some("a group of 2000000000 columns"),
    },
    Bomb {
        what: "one text of 100 KB that 3,000 rows of Parquet have",
        file: "dictionary.parquet",
        bytes: || repeated(100_000, 3000),
        documents: 6_000,
        error: None,
    },
    Bomb {
        what: "a page of Parquet that claims the lengths of 34 thousand million texts",
        file: "lengths.parquet",
        bytes: lengths,
        documents: 1,
        error: Some("a page of 34359738367 texts"),
    },
    Bomb {
        what: "20,000 messages in each other",
        file: "messages.eml",
        bytes: || nested(20_000, |_| "Content-Type: message/rfc822\n\n".to_owned()),
        documents: 2,
        error: None,
    },
    Bomb {
        what: "20,000 multiparts in each other",
        file: "multiparts.eml",
        bytes: || {
            nested(20_000, |i| format!("Content-Type: multipart/a; boundary=b{i}\n\n--b{i}\n"))
        },
        documents: 2,
        error: None,
    },
    Bomb {
        what: "300,000 tags of HTML in each other",
        file: "tags.html",
        bytes: || "<p>".repeat(300_000).into_bytes(),
        documents: 2,
        error: None,
    },
];

#[test]
fn a_small_file_that_asks_for_much_is_read_or_refused_in_bounded_time_and_memory() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants/bombs");
    std::fs::create_dir_all(&folder).unwrap();
    for bomb in BOMBS {
        let path = folder.join(bomb.file);
        let format = Format {
            name: "bomb",
            file: bomb.file,
            seeds: Vec::new,
            mutate: |_, seed| seed.to_vec(),
        };
        let outcome = measured(&format, &path, &(bomb.bytes)(), bomb.what);
        let error = outcome.error.unwrap_or_default();
        assert_eq!(outcome.documents, bomb.documents, "{}: {error}", bomb.what);
        match bomb.error {
            Some(part) => assert!(error.contains(part), "{}: {error}", bomb.what),
            None => assert_eq!(error, "", "{}", bomb.what),
        }
    }
}

/// Writes an e-mail with parts in each other.
fn nested(depth: usize, open: impl Fn(usize) -> String) -> Vec<u8> {
    let parts: String = (0..depth).map(open).collect();
    format!("Subject: s\n{parts}\ntext\n").into_bytes()
}

/// Writes a file of Parquet without rows, whose schema has a text within groups with these numbers of members.
fn parquet(members: &[u64]) -> Vec<u8> {
    let mut footer = vec![0x15, 2, 0x19, 0xfc];
    footer.extend(super::parquet::varint(members.len() as u64 + 1));
    for (depth, &members) in members.iter().enumerate() {
        // Only the root has no repetition.
        footer.extend(if depth == 0 {
            &[0x48, 1, b'g', 0x15][..]
        } else {
            &[0x35, 0, 0x18, 1, b'g', 0x15]
        });
        footer.extend(super::parquet::varint(members * 2));
        footer.push(0);
    }
    footer.extend(b"\x15\x0c\x25\x00\x18\x04text\x00\x16\x00\x19\x0c\x00");
    let length = footer.len() as u32;
    [b"PAR1", &footer[..], &length.to_le_bytes()[..], b"PAR1"].concat()
}

/// Writes a file of Parquet whose texts' lengths are stored apart, and changes their number.
fn lengths() -> Vec<u8> {
    let texts = Arc::new(StringArray::from_iter_values((0..40).map(|row| format!("text {row}"))));
    let batch = RecordBatch::try_from_iter([("text", texts as ArrayRef)]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding("text".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY);
    let (schema, properties) = (batch.schema(), properties.build());
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let mut file = writer.into_inner().unwrap();
    // Blocks of 128 numbers in four parts, and forty numbers.
    let head = [0x80, 1, 4, 40];
    let at = file.windows(head.len()).position(|bytes| bytes == head).unwrap();
    file[at + 3..at + 8].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0x7f]);
    file
}

/// Writes a file of Parquet in which all rows have the same text.
fn repeated(bytes: usize, rows: i32) -> Vec<u8> {
    let text = StringArray::from(vec!["word ".repeat(bytes / 5)]);
    let keys = Int32Array::from_iter_values((0..rows).map(|_| 0));
    let texts = DictionaryArray::<Int32Type>::new(keys, Arc::new(text));
    let ids = Int32Array::from_iter_values(0..rows);
    let columns = [("id", Arc::new(ids) as ArrayRef), ("text", Arc::new(texts) as ArrayRef)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}
