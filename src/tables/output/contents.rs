//! The contents of an output, as its manifest lists them.

use std::collections::BTreeMap;

use super::Output;
use crate::failure::Failure;
use crate::tables::manifest::{FileManifest, Manifest, PartManifest, TableManifest};
use crate::tables::parts::{describe, footer, hash_file, part_names, scan};
use crate::tables::{PartInfo, TABLES};
use corpus::collection::SHARDS_FOLDER;

impl Manifest {
    /// Lists the files of all tables and of the model, the vocabulary, and the description of the collection, which
    /// has the hashes of the shards. `written` has the parts whose [`PartInfo`] is known, by relative
    /// path; the others are read and hashed.
    pub fn describe(
        &mut self,
        output: &Output,
        written: &BTreeMap<String, PartInfo>,
    ) -> Result<(), Failure> {
        self.tables.clear();
        for table in TABLES {
            let described = describe_table(output, table.name, written)?;
            if !described.parts.is_empty() {
                self.tables.insert(table.name.to_owned(), described);
            }
        }
        self.files = Vec::new();
        for folder in ["model", "corpus"] {
            let names = output.names(folder)?.into_iter();
            let paths = names.map(|name| format!("{folder}/{name}"));
            for path in paths.filter(|path| path != SHARDS_FOLDER) {
                let (bytes, sha256) = hash_file(&output.local(&path)?)?;
                self.files.push(FileManifest { path, bytes, sha256 });
            }
        }
        Ok(())
    }
}

fn describe_table(
    output: &Output,
    table: &str,
    written: &BTreeMap<String, PartInfo>,
) -> Result<TableManifest, Failure> {
    let mut described = TableManifest::default();
    for name in part_names(output.names(table)?) {
        let relative = format!("{table}/{name}");
        if described.columns.is_empty() {
            described.columns = describe(footer(&output.local(&relative)?)?.1.schema());
        }
        let info = match written.get(&relative) {
            Some(info) => info.clone(),
            None => scan(&output.local(&relative)?)?,
        };
        described.rows += info.rows;
        described.parts.push(PartManifest { path: relative, info });
    }
    Ok(described)
}
