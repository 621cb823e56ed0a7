//! Replaces `fault` in builds without debug assertions, and does nothing.

use std::io;
use std::path::Path;

/// A change to files; ignored.
#[allow(dead_code, reason = "its fields are for builds with debug assertions")]
pub(super) enum Operation<'a> {
    Create(&'a Path),
    Resize(&'a Path, u64),
    Lock(&'a Path),
    Sync(&'a Path),
    SyncFolder(&'a Path),
    Rename(&'a Path, &'a Path),
    Remove(&'a Path),
    RemoveFolder(&'a Path),
    CreateFolder(&'a Path),
}

#[inline(always)]
pub(super) fn before(_operation: &Operation<'_>) -> io::Result<()> {
    Ok(())
}

#[inline(always)]
pub(super) fn write(
    _path: &Path,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    write(bytes)
}
