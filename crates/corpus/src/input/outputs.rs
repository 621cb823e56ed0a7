//! Files and folders of an input that hold no documents: outputs of topicmill, and the marks of Hadoop and Spark.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use store::{LOCK, LOCK_MARK, Store, StoreError};

/// Names of what Hadoop, Spark and Delta Lake write beside the data.
const MARKS: [&str; 5] = [
    "_SUCCESS",
    "_metadata",
    "_common_metadata",
    "_temporary",
    "_delta_log",
];

/// Returns whether a file or folder of this name is such a mark.
pub(super) fn is_mark(name: &str) -> bool {
    let begins = |start| name.starts_with(start);
    MARKS.contains(&name) || begins("_committed_") || begins("_started_")
}

/// Returns whether a folder on the disk is an output of topicmill.
pub(super) fn is_output(folder: &Path) -> bool {
    let mut start = [0; LOCK_MARK.len()];
    let read = File::open(folder.join(LOCK)).and_then(|mut lock| lock.read_exact(&mut start));
    read.is_ok() && start == LOCK_MARK.as_bytes()
}

/// Returns the outputs among the objects that were listed.
///
/// # Errors
/// Fails if a lock cannot be read.
pub(super) fn listed(store: &dyn Store, paths: &[PathBuf]) -> Result<Vec<PathBuf>, StoreError> {
    let mut outputs = Vec::new();
    for path in paths.iter().filter(|path| path.ends_with(LOCK)) {
        let text = store.read(path)?;
        if text.is_some_and(|text| text.starts_with(LOCK_MARK.as_bytes())) {
            outputs.extend(path.parent().map(Path::to_owned));
        }
    }
    Ok(outputs)
}
