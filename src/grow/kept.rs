//! Earlier generations of a result, which are kept beside it: folders of links to their files, each a whole result.

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
        for name in Disk.names(&self.generations)? {
            let number = name.trim_start_matches('a').parse::<u64>();
            if number.is_ok_and(|number| name == in_order(number) && number + keeps <= newest) {
                remove(&self.generations.join(name))?;
            }
        }
        if Disk.names(&self.generations)?.is_empty() {
            remove_folder(&self.generations).map_err(Failure::io(&self.generations))?;
        }
        Ok(())
    }

    fn generation(&self, number: u64) -> PathBuf {
        self.generations.join(in_order(number))
    }
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
