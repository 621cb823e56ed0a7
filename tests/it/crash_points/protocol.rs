//! A power cut differs from a kill: changes that were not synced may be lost, in any order. These
//! checks therefore follow the order of operations. Paths are relative to the job's folder.

use std::collections::BTreeSet;

/// Returns the folder that contains a path.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(parent, _)| parent)
}

/// Whether a path may be written: only unfinished files and the lock.
fn may_write(path: &str) -> bool {
    let unfinished = ["out/_temporary/", "planted.unfinished/"];
    path == "out/_lock" || unfinished.iter().any(|folder| path.starts_with(folder))
}

/// Whether a path may be removed: unfinished files, checkpoints, marks of completeness, an empty
/// folder at the place of the corpus, and the files of a stopped ingest.
fn may_remove(path: &str) -> bool {
    let marks = ["out/_SUCCESS", "out/manifest.json", "planted"];
    let ours = ["out/_temporary", "out/checkpoints", "out/corpus/shards", "planted.unfinished"];
    let is_in = |folder: &&str| path == *folder || path.starts_with(&format!("{folder}/"));
    marks.contains(&path) || ours.iter().any(is_in)
}

/// The changes that the disk could still lose.
#[derive(Default)]
struct Disk {
    /// Files with content that was not synced.
    files: BTreeSet<String>,
    /// Folders with names that were not synced.
    folders: BTreeSet<String>,
    /// Final names so far.
    published: BTreeSet<String>,
}

/// Checks the operations of a run, or of a run and those that resumed it.
pub fn check(trace: &[String]) {
    let mut disk = Disk::default();
    for (number, line) in (1..).zip(trace) {
        let words: Vec<&str> = line.split(' ').collect();
        if let Err(why) = disk.take(&words) {
            panic!("operation {number}, {line}: {why}");
        }
    }
    let open = &disk.folders;
    assert!(!open.contains("out"), "{open:?}: the end is not on the disk");
}

impl Disk {
    /// Applies an operation, or returns why it is not permitted.
    fn take(&mut self, words: &[&str]) -> Result<(), String> {
        match *words {
            ["died" | "failed", ..] | ["lock", _] => {}
            ["create" | "write" | "resize", path, ..] => {
                if !may_write(path) {
                    return Err("written under a final name".to_owned());
                }
                self.files.insert(path.to_owned());
                self.folders.insert(parent(path).to_owned());
            }
            ["sync", path] => drop(self.files.remove(path)),
            ["sync-folder", folder] => drop(self.folders.remove(folder)),
            ["create-folder", folder] => drop(self.folders.insert(parent(folder).to_owned())),
            ["rename", from, to] => return self.rename(from, to),
            ["remove" | "remove-folder", path] => {
                if !may_remove(path) {
                    return Err("not ours to remove".to_owned());
                }
                self.files.remove(path);
                self.folders.remove(path);
            }
            _ => return Err("not an operation".to_owned()),
        }
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), String> {
        let below = |path: &&String| *path == from || path.starts_with(&format!("{from}/"));
        let mut open = self.files.iter().chain(&self.folders);
        if let Some(path) = open.find(below) {
            return Err(format!("{path} is not synced"));
        }
        if to == "out/_SUCCESS" {
            self.check_all_is_kept()?;
        }
        self.published.insert(to.to_owned());
        self.folders.insert(parent(to).to_owned());
        Ok(())
    }

    /// Checks, before `_SUCCESS`, that everything else has its final name and is synced.
    fn check_all_is_kept(&self) -> Result<(), String> {
        let is_kept = |path: &&String| {
            let is_ours = *path == "out" || path.starts_with("out/");
            is_ours && *path != "out/_lock" && !path.starts_with("out/_temporary")
        };
        if let Some(path) = self.files.iter().chain(&self.folders).find(is_kept) {
            return Err(format!("{path} is not synced"));
        }
        if self.published.contains("out/manifest.json") {
            Ok(())
        } else {
            Err("no manifest stands".to_owned())
        }
    }
}

#[test]
fn wrong_orders_are_found() {
    for (lines, why) in [
        ("create out/x", "final name"),
        ("create out/_temporary/x\nrename out/_temporary/x out/x", "x is not synced"),
        ("rename out/_temporary/x out/_SUCCESS", "no manifest stands"),
        (
            "rename out/_temporary/x out/t/x\nrename out/_temporary/s out/_SUCCESS",
            "out/t is not synced",
        ),
        ("remove out/documents/part-00000.parquet", "not ours"),
        ("remove job.toml", "not ours"),
        ("rename out/_temporary/x out/x", "not on the disk"),
    ] {
        let trace: Vec<String> = lines.split('\n').map(str::to_owned).collect();
        let checked = std::panic::catch_unwind(|| check(&trace));
        let message = checked.expect_err(why);
        let message = message.downcast_ref::<String>().expect("a text");
        assert!(message.contains(why), "{lines}: {message}");
    }
}
