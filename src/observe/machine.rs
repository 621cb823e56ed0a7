//! The resources of this machine.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Returns the number of cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Returns the bytes of memory that this process may use: the machine's, or the limit of its container or
/// scheduler if that is lower; `None` if the system does not report it (Linux does).
pub(crate) fn memory_bytes() -> Option<u64> {
    let machine = of_file("/proc/meminfo", "MemTotal:")?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        text.trim().parse().ok()
    });
    limits.chain([machine]).min()
}

/// Returns the files that may limit the memory of a process in these control groups (versions 2 and 1),
/// including those of the groups around them.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let of_line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let (root, name) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let around = Path::new(group).ancestors();
        let folders = around.map(|group| group.strip_prefix("/").unwrap_or(group));
        Some(folders.map(move |folder| Path::new(root).join(folder).join(name)).collect::<Vec<_>>())
    };
    groups.lines().filter_map(of_line).flatten().collect()
}

/// Returns the bytes of memory that this process uses now; `None` if the system does not report it.
pub(crate) fn resident_bytes() -> Option<u64> {
    of_file("/proc/self/status", "VmRSS:")
}

/// Returns the most bytes of memory that this process ever used; `None` if the system does not report it.
pub(crate) fn peak_resident_bytes() -> Option<u64> {
    of_file("/proc/self/status", "VmHWM:")
}

/// Returns the bytes that are free at `path`, or where it will be created; `None` if the system does not
/// report it, and in an object store.
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    if store::is_remote(path) {
        return None;
    }
    let around = std::path::absolute(path).ok()?;
    let folder = around.ancestors().find(|folder| folder.exists())?;
    let system = rustix::fs::statvfs(folder).ok()?;
    Some(system.f_bavail * system.f_frsize)
}

/// Returns the name of this host; "unknown" if neither the system nor `HOSTNAME` has it.
pub(crate) fn host() -> String {
    let system = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = system.or_else(|| std::env::var("HOSTNAME").ok());
    let named = named.map(|name| name.trim().to_owned());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

/// Returns the figure of this name in a file of `/proc`, in bytes.
fn of_file(path: &str, name: &str) -> Option<u64> {
    kibibytes_of(&std::fs::read_to_string(path).ok()?, name)
}

/// Returns the figure of this name, which is in kB (1024), in bytes.
fn kibibytes_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read_in_kibibytes() {
        let text = "MemTotal:        8028160 kB\nMemFree:          123456 kB\n";
        assert_eq!(kibibytes_of(text, "MemTotal:"), Some(8_028_160 * 1024));
        assert_eq!(kibibytes_of("MemFree: 5 kB\n", "MemTotal:"), None);
    }

    #[test]
    fn limits_are_those_of_all_groups_around() {
        let files = |groups: &str| -> Vec<String> {
            let files = limit_files(groups).into_iter();
            files.map(|file| file.display().to_string()).collect()
        };
        assert_eq!(
            files("0::/slurm/job_1\n"),
            [
                "/sys/fs/cgroup/slurm/job_1/memory.max",
                "/sys/fs/cgroup/slurm/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(
            files("5:cpu,memory:/docker\n2:pids:/docker\n"),
            [
                "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes"
            ]
        );
        assert!(files("").is_empty());
    }

    #[test]
    fn space_is_free_where_a_folder_will_be() {
        let free = |path: &str| free_bytes(Path::new(path));
        assert!(free("no/such/folder").is_some_and(|bytes| bytes > 0));
        assert_eq!(free("s3://bucket/folder"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_has_had_at_least_what_it_has() {
        let (now, peak) = (resident_bytes(), peak_resident_bytes());
        assert!(now.is_some_and(|bytes| bytes > 1 << 20), "{now:?}");
        assert!(peak >= now);
        assert!(!host().is_empty());
    }
}
