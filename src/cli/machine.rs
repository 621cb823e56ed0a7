//! The resources of this machine.

/// Bytes of memory of this machine; `None` where it does not say (it does on Linux).
pub(super) fn memory_bytes() -> Option<u64> {
    total_of(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// Bytes of memory that this process has in use now; `None` where the system does not say.
pub(super) fn resident_bytes() -> Option<u64> {
    kibibytes_of(
        &std::fs::read_to_string("/proc/self/status").ok()?,
        "VmRSS:",
    )
}

/// The most bytes of memory that this process ever had in use; `None` where the system does not
/// say.
pub(super) fn peak_resident_bytes() -> Option<u64> {
    kibibytes_of(
        &std::fs::read_to_string("/proc/self/status").ok()?,
        "VmHWM:",
    )
}

/// The name of this host; "unknown" where it is found neither in the system nor in `HOSTNAME`.
pub(super) fn host() -> String {
    let system = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = system.or_else(|| std::env::var("HOSTNAME").ok());
    let named = named.map(|name| name.trim().to_owned());
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn total_of(meminfo: &str) -> Option<u64> {
    kibibytes_of(meminfo, "MemTotal:")
}

/// The line of this name, which is in kB (1024), as bytes.
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
        assert_eq!(total_of(text), Some(8_028_160 * 1024));
        assert_eq!(total_of("MemFree: 5 kB\n"), None);
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
