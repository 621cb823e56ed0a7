//! The output of a job: typed, long Parquet tables, and the protocol that makes each file complete
//! or absent.
//!
//! `rows` declares the columns of all tables (docs/FORMATS.md lists them), and `writer` writes them. `output` owns
//! the output folder: temporary names, publishing, the lock; `manifest` lists the files. `verify` and `digest` read
//! everything back; `read` reads tables for display.

pub mod compare;
pub mod digest;
pub mod documents;
pub mod manifest;
mod metadata;
pub mod output;
pub(crate) mod parts;
pub mod phi;
pub mod projected;
pub mod read;
pub(crate) mod records;
pub mod rows;
mod schema;
pub(crate) mod verify;
pub(crate) mod views;
pub(crate) mod wide;
mod writer;

use std::path::Path;

use parquet::errors::ParquetError;

pub use digest::digest;
pub use manifest::Manifest;
pub use metadata::FileMetadata;
pub(crate) use metadata::{COMMIT, VERSION};
pub use output::Output;
pub(crate) use output::part_name;
pub(crate) use rows::TABLES;
pub use schema::Row;
pub(crate) use schema::TableSpec;
pub(crate) use verify::VerifyReport;
pub use verify::verify;
pub use writer::TableWriter;
pub(crate) use writer::{PartInfo, write_part};

use crate::failure::{Exit, Failure};

/// Version of the tables' columns; increases when a column changes its meaning.
const SCHEMA_VERSION: u32 = 2;

/// Converts the error that Parquet cannot read a file.
fn of_parquet(path: &Path) -> impl Fn(ParquetError) -> Failure {
    move |source| match corpus::shard::io_error(source) {
        Ok(source) => Failure::io(path)(source),
        Err(source) => {
            let message = format!("{}: {source}", path.display());
            Failure::new(Exit::Data, source).context(message)
        }
    }
}

/// Converts the error that Parquet cannot write a file.
fn unwritten(path: &Path) -> impl Fn(ParquetError) -> Failure {
    move |source| Failure::io(path)(corpus::shard::write_error(source))
}

#[cfg(test)]
mod tests;
