//! Files and folders of an input that hold no documents: what topicmill has written, and the marks of Hadoop and Spark.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use store::{LOCK, Store, StoreError};

/// The first line of the lock of an output.
pub const LOCK_MARK: &str = "topicmill output";

/// Names of what Hadoop, Spark and Delta Lake write beside the data.
const MARKS: [&str; 5] = ["_SUCCESS", "_metadata", "_common_metadata", "_temporary", "_delta_log"];

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

/// What `topicmill export` and `topicmill topics -` append to the name of an output, for files beside it.
const BESIDE: [&str; 4] = [".input", ".phi.parquet", ".pyldavis.json", ".state.gz"];

/// The mark of the report's page.
const PAGE_MARK: &[u8] = b"<meta name=\"generator\" content=\"topicmill\">";

/// Returns whether the path is that of an export of an output, or of the documents that were piped into it.
pub(super) fn is_beside(path: &Path, output: &Path) -> bool {
    let [path, output] = [path, output].map(|path| path.to_string_lossy());
    let rest = path.strip_prefix(output.trim_end_matches('/'));
    let is_ended = |rest: &str| rest.is_empty() || rest.starts_with(['/', '.']);
    rest.is_some_and(|rest| {
        let mut ends = BESIDE.iter().filter_map(|end| rest.strip_prefix(end));
        ends.any(is_ended)
    })
}

/// Returns whether a file with this name and start is a job, a list that `topicmill constrain` wrote, or a report.
pub(super) fn is_written(name: &str, start: &[u8]) -> bool {
    let (_, extension) = name.rsplit_once('.').unwrap_or_default();
    let mut lines = start.split(|&byte| byte == b'\n');
    let has = |line: &[u8], part: &[u8]| memchr::memmem::find(line, part).is_some();
    let names_job = |line: &[u8]| line.starts_with(b"#") && has(line, b"topicmill run ");
    match extension.to_ascii_lowercase().as_str() {
        "toml" => lines.any(|line| names_job(line) || line.trim_ascii() == b"[corpus]"),
        "txt" => lines.next().is_some_and(names_job),
        "html" | "htm" => has(start, PAGE_MARK),
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_topicmill_has_written_is_known_by_its_name_or_content() {
        for (path, is_ours) in [
            ("d/out.state.gz", true),
            ("d/out.pyldavis.json", true),
            ("d/out.phi.parquet", true),
            ("d/out.input.jsonl", true),
            ("d/out.txt", false),
            ("d/out.inputs.txt", false),
            ("d/output.state.gz", false),
            ("d/out/a.txt", false),
        ] {
            let found = is_beside(Path::new(path), Path::new("d/out"));
            assert_eq!(found, is_ours, "{path}");
        }
        let heading = "# A job.\n# Run it: topicmill run out.toml\n";
        for (name, start, is_ours) in [
            ("a.toml", heading, true),
            ("a.TOML", "\n[corpus]\r\ninput = 1", true),
            ("a.toml", "[package]\nname = \"x\"\n", false),
            ("a.txt", &heading[9..], true),
            ("a.txt", heading, false),
            ("a.txt", "then call topicmill run out.toml\n", false),
            ("a.md", &heading[9..], false),
            ("a.html", "<html><meta name=\"generator\" content=\"topicmill\">", true),
            ("a.html", "<html><p>topicmill", false),
        ] {
            assert_eq!(is_written(name, start.as_bytes()), is_ours, "{name}: {start}");
        }
    }
}
