//! Earlier generations of a result, which are kept beside it: folders of links to their files, each a whole result.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{GrowingResult, check_removable, remove};
use crate::config::Job;
use crate::failure::Failure;
use crate::result::OpenedResult;
use crate::tables::output::{LOCK, LOGS, is_known};
use corpus::collection::{Generation, in_order};
use store::{Disk, Store, create_folder, link, remove_folder, rename, sync_folder};

impl GrowingResult {
    /// Keeps the next result, and the present one, as the job wants.
    ///
    /// # Errors
    /// The file system refuses.
    pub(super) fn keep(&self, job: &Job) -> Result<(), Failure> {
        let before = OpenedResult::at(&self.result).collection()?.generations.len() as u64;
        for (number, root) in [(before, &self.result), (before + 1, &self.next)] {
            let kept = self.generation(number);
            let is_there = number == before && kept.exists();
            if number + job.output.keep_generations > before + 1 && !is_there {
                let unfinished = self.generations.join(".unfinished");
                for folder in [&unfinished, &kept] {
                    remove(folder)?;
                }
                link_all(root, &unfinished)?;
                rename(&unfinished, &kept).map_err(Failure::io(&kept))?;
                sync_folder(&self.generations).map_err(Failure::io(&kept))?;
            }
        }
        Ok(())
    }

    /// Removes the generations that are no longer kept: all earlier ones, if documents were removed.
    ///
    /// # Errors
    /// The file system refuses.
    pub(super) fn forget(&self, job: &Job) -> Result<(), Failure> {
        let generations = OpenedResult::at(&self.result).collection()?.generations;
        let newest = generations.len() as u64;
        let keeps = match generations.last() {
            Some(Generation { removed: 1.., documents: 0, .. }) => {
                job.output.keep_generations.min(1)
            }
            _ => job.output.keep_generations,
        };
        forget_those(&self.generations, |number| number + keeps <= newest)
    }

    fn generation(&self, number: u64) -> PathBuf {
        self.generations.join(in_order(number))
    }
}

/// What the name of the folder of a result's generations ends with.
const ENDING: &str = ".generations";

/// Returns the folder of a result's generations.
pub(super) fn generations_of(result: &Path) -> PathBuf {
    let name = result.file_name().unwrap_or_default().to_string_lossy();
    result.with_file_name(format!("{name}{ENDING}"))
}

/// Whether this is a generation that is kept.
pub(super) fn is_kept(result: &Path) -> bool {
    let ends = |name: &OsStr| name.to_string_lossy().ends_with(ENDING);
    let name = result.file_name().unwrap_or_default().to_string_lossy();
    number_of(&name).is_some() && result.parent().and_then(Path::file_name).is_some_and(ends)
}

/// Returns the number of the generation in a folder of this name.
fn number_of(name: &str) -> Option<u64> {
    let number = name.trim_start_matches('a').parse().ok()?;
    (name == in_order(number)).then_some(number)
}

/// Removes all generations of a result that is made again.
///
/// # Errors
/// The file system refuses.
pub(crate) fn forget_all(result: &Path) -> Result<(), Failure> {
    forget_those(&generations_of(result), |_| true)
}

/// Removes generations by their numbers, and the folder once it is empty.
fn forget_those(folder: &Path, is_gone: impl Fn(u64) -> bool) -> Result<(), Failure> {
    for name in Disk.names(folder)? {
        if number_of(&name).is_some_and(&is_gone) {
            remove(&folder.join(name))?;
        }
    }
    if Disk.names(folder)?.is_empty() {
        remove_folder(folder).map_err(Failure::io(folder))?;
    }
    Ok(())
}

/// Links all files of a result in another folder, except the lock, what processes report, and files of users.
fn link_all(root: &Path, to: &Path) -> Result<(), Failure> {
    check_removable(to)?;
    for name in Disk.names(root)? {
        if [LOCK, LOGS].contains(&&*name) || !is_known(&name) {
            continue;
        }
        for file in Disk.list(&root.join(&name))? {
            let within = file.path.strip_prefix(root).unwrap_or(&file.path);
            let linked = to.join(within);
            create_folder(linked.parent().unwrap_or(to)).map_err(Failure::io(&linked))?;
            link(&file.path, &linked).map_err(Failure::io(linked))?;
        }
    }
    Ok(())
}
