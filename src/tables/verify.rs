//! Verifies a finished output. Every file is hashed again and compared with the manifest, and the shards with the
//! description of the collection; then the tables are checked against each other: documents without gaps, proportions
//! and term distributions that sum to 1, token counts that agree. Memory is bounded by the number of topics, not by the
//! collection.

use std::collections::BTreeSet;
use std::path::Path;

use super::check::{Known, VerifyReport};
use super::manifest::{Manifest, PartManifest};
use super::output::{SUCCESS, incomplete, is_part_name};
use super::parts::{footer, hash_file};
use super::{TABLES, documents, topics, vocabulary};
use crate::failure::Failure;
use corpus::collection::Collection;
use store::{Disk, Store};

/// Checks the output in `root`, and reports its problems. The tables' contents are read only if all files match the
/// manifest.
///
/// # Errors
/// There is no `_SUCCESS` or no readable manifest; a table lacks a column.
pub fn verify(root: &Path) -> Result<VerifyReport, Failure> {
    if !root.join(SUCCESS).exists() {
        return Err(incomplete(root));
    }
    let manifest = Manifest::read(root)?;
    let mut report = VerifyReport::default();
    verify_files(root, &manifest, &mut report)?;
    if report.is_sound() {
        verify_tables(root, &manifest, &mut report)?;
    }
    Ok(report)
}

/// Checks the tables that are there: first those of which others depend.
fn verify_tables(
    root: &Path,
    manifest: &Manifest,
    report: &mut VerifyReport,
) -> Result<(), Failure> {
    let totals = documents::check(root, manifest, report)?;
    let mut kept = None;
    if manifest.tables.contains_key("vocabulary") {
        kept = Some(vocabulary::check(root, &totals, report)?);
    }
    if !manifest.tables.contains_key("topics") {
        return Ok(());
    }
    let absent_weights = topics::check(root, &totals, report)?;
    let known = Known { root, totals, kept, absent_weights };
    let there = TABLES.iter().filter(|table| manifest.tables.contains_key(table.name));
    there.filter_map(|table| table.check).try_for_each(|check| check(&known, report))
}

fn verify_files(
    root: &Path,
    manifest: &Manifest,
    report: &mut VerifyReport,
) -> Result<(), Failure> {
    let mut listed = BTreeSet::new();
    for (name, table) in &manifest.tables {
        let mut rows = 0;
        for part in &table.parts {
            listed.insert(part.path.as_str());
            rows += verify_part(root, part, report);
        }
        report.expect(rows == table.rows, || {
            format!("{name}: {rows} rows, the manifest says {}", table.rows)
        });
        report.rows.insert(name.clone(), rows);
    }
    for file in &manifest.files {
        verify_file(root, &file.path, file.bytes, &file.sha256, report);
    }
    if let Ok(collection) = Collection::read(root) {
        for (number, shard) in collection.shards.iter().enumerate() {
            let path = Collection::shard_name(number);
            verify_file(root, &path, shard.bytes, &shard.sha256, report);
        }
    }
    for table in TABLES {
        let folder = root.join(table.name);
        // Names that begin with a dot are not read by anything: file managers and NFS leave such files.
        let names = Disk.names(&folder)?;
        for name in names.iter().filter(|name| !name.starts_with('.')) {
            let path = format!("{}/{name}", table.name);
            if !listed.contains(path.as_str()) {
                report.strays += u64::from(!is_part_name(name));
                report.problem(|| format!("{path}: not in the manifest"));
            }
        }
    }
    Ok(())
}

/// Checks a part; returns the number of rows in its footer, or 0 if it is damaged.
fn verify_part(root: &Path, part: &PartManifest, report: &mut VerifyReport) -> u64 {
    if !verify_file(root, &part.path, part.info.bytes, &part.info.sha256, report) {
        return 0;
    }
    match footer(&root.join(&part.path)) {
        Err(error) => {
            report.problem(|| error.to_string());
            0
        }
        Ok((_, footer)) => {
            let rows = footer.metadata().file_metadata().num_rows() as u64;
            report.expect(rows == part.info.rows, || {
                format!("{}: {rows} rows, the manifest says {}", part.path, part.info.rows)
            });
            rows
        }
    }
}

fn verify_file(
    root: &Path,
    path: &str,
    bytes: u64,
    sha256: &str,
    report: &mut VerifyReport,
) -> bool {
    report.files += 1;
    match hash_file(&root.join(path)) {
        Err(error) => report.problem(|| error.to_string()),
        Ok((found, _)) if found != bytes => {
            report.problem(|| format!("{path}: {found} bytes, the manifest says {bytes}"));
        }
        Ok((_, found)) if found != sha256 => {
            report.problem(|| format!("{path}: its sha256 is {found}, the manifest says {sha256}"));
        }
        Ok(_) => {
            report.bytes += bytes;
            return true;
        }
    }
    false
}
