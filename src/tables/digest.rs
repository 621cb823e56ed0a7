//! One digest of a whole result: SHA-256 over the tables' contents and the model.
//!
//! It covers each table's rows, in order, but not their layout in parts, row groups and pages. Every column is
//! hashed as one stream of values, so that equal outputs are equal column by column and a difference can be located.
//! Columns of time and traffic are left out.
//!
//! A value is hashed as a tag byte (0 null, 1 present), followed by its little-endian bytes; a string as its length
//! (u64) and UTF-8 bytes; a list as its length and its strings.

use std::ffi::OsStr;
use std::path::Path;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int32Array, Int64Array,
    ListArray, StringArray,
};
use arrow_schema::DataType;
use sha2::{Digest, Sha256};

use super::manifest::{MADE_AGAIN, MANIFEST, Manifest};
use super::parts::{Batches, describe, footer, hash_file, part_files};
use super::{TABLES, TableSpec};
use crate::failure::Failure;
use store::{Disk, Entry, Store};

/// The digest of one column of one table, or of one file of the model.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct ColumnDigest {
    /// The table, or `model`.
    pub(crate) table: String,
    /// The column, or the file's path.
    pub(crate) column: String,
    /// SHA-256 of its values, in hexadecimal.
    pub(crate) sha256: String,
}

/// Returns the digest of an output folder, in hexadecimal: equal for equal contents.
/// Errors: a file cannot be read, or the parts of a table have different columns.
pub fn digest(root: &Path) -> Result<String, Failure> {
    let mut hash = Sha256::new();
    for column in column_digests(root)? {
        for text in [&column.table, &column.column, &column.sha256] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
    }
    Ok(hex::encode(hash.finalize()))
}

/// Returns the parts of [`digest`]: tables by name, columns in the file's order, then the model's files.
pub(crate) fn column_digests(root: &Path) -> Result<Vec<ColumnDigest>, Failure> {
    let mut digests = Vec::new();
    for table in TABLES {
        digests.extend(table_digests(root, &table)?);
    }
    let first = digests.len();
    for path in model_files(root)? {
        let (_, sha256) = hash_file(&root.join(&path))?;
        digests.push(ColumnDigest { table: "model".to_owned(), column: path, sha256 });
    }
    if !root.join(MANIFEST).exists() {
        return Ok(digests);
    }
    for file in Manifest::read(root)?.files.iter().filter(|file| file.path.starts_with("model/")) {
        let of_model = &digests[first..];
        let message = match of_model.iter().find(|digest| digest.column == file.path) {
            None => "is missing, and manifest.json lists it",
            Some(found) if found.sha256 != file.sha256 => {
                "is not the file that manifest.json lists"
            }
            Some(_) => continue,
        };
        return Err(Failure::file(root.join(&file.path), message).help(MADE_AGAIN));
    }
    Ok(digests)
}

/// Whether a column contains times or traffic, which differ between runs.
///
/// ```
/// # use topicmill::tables::digest::is_timing;
/// assert!(is_timing("seconds") && is_timing("tokens_per_second"));
/// assert!(!is_timing("loglik_per_token"));
/// ```
pub fn is_timing(column: &str) -> bool {
    ["seconds", "_per_second", "bytes_exchanged"].iter().any(|suffix| column.ends_with(suffix))
}

fn table_digests(root: &Path, table: &TableSpec) -> Result<Vec<ColumnDigest>, Failure> {
    let parts = part_files(&root.join(table.name))?;
    let Some(first) = parts.first() else {
        return Ok(Vec::new());
    };
    let fields = describe(footer(first)?.1.schema());
    let own = table.columns.len();
    // A user's own column may have any name: only the table's columns are ever left out.
    let counts = |index: usize| index >= own || !is_timing(&fields[index].name);
    let mut hashes: Vec<_> = fields.iter().map(|_| Sha256::new()).collect();
    let mut bytes = Vec::new();
    for part in parts {
        if describe(footer(&part)?.1.schema()) != fields {
            let message = "has other columns than the first part of its table";
            return Err(Failure::file(&part, message));
        }
        let mut batches = Batches::new(vec![part], None);
        while let Some(batch) = batches.next()? {
            for (index, column) in batch.columns().iter().enumerate() {
                if counts(index) {
                    bytes.clear();
                    encode(batches.path(), column, &mut bytes)?;
                    hashes[index].update(&bytes);
                }
            }
        }
    }
    let columns = fields.iter().zip(hashes).enumerate();
    let digests = columns.filter(|(index, _)| counts(*index));
    let digests = digests.map(|(_, (field, hash))| {
        let null = if field.nullable { "?" } else { "" };
        ColumnDigest {
            table: table.name.to_owned(),
            column: format!("{} {}{null}", field.name, field.kind),
            sha256: hex::encode(hash.finalize()),
        }
    });
    Ok(digests.collect())
}

/// Appends the canonical bytes of a column's values.
fn encode(path: &Path, column: &ArrayRef, out: &mut Vec<u8>) -> Result<(), Failure> {
    macro_rules! values {
        ($array:ty, $bytes:expr) => {{
            let values = column.as_any().downcast_ref::<$array>();
            let values = values.expect("the type was matched");
            for row in 0..values.len() {
                out.push(u8::from(values.is_valid(row)));
                if values.is_valid(row) {
                    out.extend_from_slice(&$bytes(values.value(row)));
                }
            }
        }};
    }
    match column.data_type() {
        DataType::Int32 => values!(Int32Array, i32::to_le_bytes),
        DataType::Date32 => values!(Date32Array, i32::to_le_bytes),
        DataType::Int64 => values!(Int64Array, i64::to_le_bytes),
        DataType::Float32 => values!(Float32Array, f32::to_le_bytes),
        DataType::Float64 => values!(Float64Array, f64::to_le_bytes),
        DataType::Boolean => values!(BooleanArray, |b| [u8::from(b)]),
        DataType::Utf8 => encode_text(column, out),
        DataType::List(element) if *element.data_type() == DataType::Utf8 => {
            let lists = column.as_any().downcast_ref::<ListArray>();
            let lists = lists.expect("the type was matched");
            for row in 0..lists.len() {
                out.push(u8::from(lists.is_valid(row)));
                if lists.is_valid(row) {
                    let list = lists.value(row);
                    out.extend_from_slice(&(list.len() as u64).to_le_bytes());
                    encode_text(&list, out);
                }
            }
        }
        other => {
            let message = format!("holds a column of type {other}, which no table has");
            return Err(Failure::file(path, message));
        }
    }
    Ok(())
}

fn encode_text(column: &ArrayRef, out: &mut Vec<u8>) {
    let texts = column.as_any().downcast_ref::<StringArray>();
    for text in texts.expect("the type was matched") {
        out.push(u8::from(text.is_some()));
        if let Some(text) = text {
            out.extend_from_slice(&(text.len() as u64).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
    }
}

/// Lists the files under `model/`, relative to `root`, sorted; not those whose names begin with a dot, which file
/// managers and NFS leave.
fn model_files(root: &Path) -> Result<Vec<String>, Failure> {
    let relative = |entry: Entry| {
        let relative = entry.path.strip_prefix(root).unwrap_or(&entry.path);
        let names = relative.iter().map(|name| name.to_string_lossy());
        names.collect::<Vec<_>>().join("/")
    };
    let mut found = Disk.list(&root.join("model"))?;
    let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
    found.retain(|entry| !entry.path.file_name().is_some_and(is_hidden));
    Ok(found.into_iter().map(relative).collect())
}
