//! What this machine has.

/// Bytes of memory of this machine; `None` where it does not say (it does on Linux).
pub(super) fn memory_bytes() -> Option<u64> {
    total_of(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
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
}
