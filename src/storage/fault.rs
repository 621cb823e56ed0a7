//! Faults on order, to prove what a run leaves behind: only in builds with debug assertions.
//!
//! Every change to a file is an operation, numbered from 1 in the order in which this process
//! makes them. The environment variable `TOPICMILL_FAULT` says what shall happen:
//!
//! | value | |
//! | --- | --- |
//! | `count:FILE` | nothing; each operation is appended to FILE as a line |
//! | `crash:N` | the process dies before operation N, without any cleanup |
//! | `torn:N` | as `crash`, but if N is a write, the first half of its bytes reaches the file |
//! | `full:N` | operation N, and every later one that needs room on the disk, fails with ENOSPC |
//! | `refuse:N` | operation N fails with EACCES |
//!
//! A value that is none of these is a mistake of the test, and panics.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A change to files.
pub(super) enum Operation<'a> {
    Create(&'a Path),
    Write(&'a Path, usize),
    Resize(&'a Path, u64),
    Lock(&'a Path),
    Sync(&'a Path),
    SyncFolder(&'a Path),
    Rename(&'a Path, &'a Path),
    Remove(&'a Path),
    RemoveFolder(&'a Path),
    CreateFolder(&'a Path),
}

impl Operation<'_> {
    /// Whether a full disk refuses it.
    fn needs_room(&self) -> bool {
        match self {
            Self::Create(_) | Self::Write(..) | Self::CreateFolder(_) => true,
            Self::Resize(_, bytes) => *bytes > 0,
            _ => false,
        }
    }

    /// The operation as a line of the trace; paths as they were given.
    fn line(&self) -> String {
        match self {
            Self::Create(path) => format!("create {}\n", path.display()),
            Self::Write(path, bytes) => format!("write {} {bytes}\n", path.display()),
            Self::Resize(path, bytes) => format!("resize {} {bytes}\n", path.display()),
            Self::Lock(path) => format!("lock {}\n", path.display()),
            Self::Sync(path) => format!("sync {}\n", path.display()),
            Self::SyncFolder(path) => format!("sync-folder {}\n", path.display()),
            Self::Rename(from, to) => format!("rename {} {}\n", from.display(), to.display()),
            Self::Remove(path) => format!("remove {}\n", path.display()),
            Self::RemoveFolder(path) => format!("remove-folder {}\n", path.display()),
            Self::CreateFolder(path) => format!("create-folder {}\n", path.display()),
        }
    }
}

/// What `TOPICMILL_FAULT` asks for.
#[derive(Debug)]
enum Plan {
    Nothing,
    Count(File),
    Crash(u64),
    Torn(u64),
    Full(u64),
    Refuse(u64),
}

/// What is to be done about an operation.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Go,
    Fail(io::ErrorKind),
    Die,
    /// Die when half is written.
    Tear,
}

impl Plan {
    /// From the environment.
    fn read() -> Self {
        let Ok(text) = std::env::var("TOPICMILL_FAULT") else {
            return Self::Nothing;
        };
        Self::parse(&text).unwrap_or_else(|| panic!("TOPICMILL_FAULT={text} asks for no fault"))
    }

    fn parse(text: &str) -> Option<Self> {
        let (kind, argument) = text.split_once(':')?;
        if kind == "count" {
            let trace = OpenOptions::new().append(true).create(true).open(argument);
            return trace.ok().map(Self::Count);
        }
        let number = argument.parse().ok()?;
        match kind {
            "crash" => Some(Self::Crash(number)),
            "torn" => Some(Self::Torn(number)),
            "full" => Some(Self::Full(number)),
            "refuse" => Some(Self::Refuse(number)),
            _ => None,
        }
    }

    /// About the operation of this number.
    fn judge(&self, number: u64, operation: &Operation<'_>) -> Verdict {
        match *self {
            Self::Crash(at) if number == at => Verdict::Die,
            Self::Torn(at) if number == at => match operation {
                Operation::Write(..) => Verdict::Tear,
                _ => Verdict::Die,
            },
            Self::Full(at) if number == at || (number > at && operation.needs_room()) => {
                Verdict::Fail(io::ErrorKind::StorageFull)
            }
            Self::Refuse(at) if number == at => Verdict::Fail(io::ErrorKind::PermissionDenied),
            _ => Verdict::Go,
        }
    }
}

/// Numbers an operation, notes it if all are noted, and judges it.
fn judge(operation: &Operation<'_>) -> Verdict {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    static OPERATIONS: AtomicU64 = AtomicU64::new(0);
    let plan = PLAN.get_or_init(Plan::read);
    if let Plan::Count(trace) = plan {
        let mut trace: &File = trace;
        let noted = trace.write_all(operation.line().as_bytes());
        noted.expect("the trace can be written");
    }
    let number = OPERATIONS.fetch_add(1, Ordering::SeqCst) + 1;
    plan.judge(number, operation)
}

/// To be called before every operation but a write.
pub(super) fn before(operation: &Operation<'_>) -> io::Result<()> {
    match judge(operation) {
        Verdict::Go => Ok(()),
        Verdict::Fail(kind) => Err(kind.into()),
        Verdict::Die | Verdict::Tear => std::process::abort(),
    }
}

/// Writes by `write`, unless another fate is due.
pub(super) fn write(
    path: &Path,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    match judge(&Operation::Write(path, bytes.len())) {
        Verdict::Go => write(bytes),
        Verdict::Fail(kind) => Err(kind.into()),
        Verdict::Die => std::process::abort(),
        Verdict::Tear => {
            let _ = write(&bytes[..bytes.len() / 2]);
            std::process::abort()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_strike_where_they_were_asked_for() {
        let path = Path::new("x");
        let write = Operation::Write(path, 9);
        let sync = Operation::Sync(path);
        let judge = |plan: &str, number, operation: &Operation<'_>| {
            Plan::parse(plan).unwrap().judge(number, operation)
        };
        assert_eq!(judge("crash:3", 2, &write), Verdict::Go);
        assert_eq!(judge("crash:3", 3, &write), Verdict::Die);
        assert_eq!(judge("torn:3", 3, &write), Verdict::Tear);
        assert_eq!(judge("torn:3", 3, &sync), Verdict::Die);
        let full = Verdict::Fail(io::ErrorKind::StorageFull);
        assert_eq!(judge("full:3", 2, &write), Verdict::Go);
        assert_eq!(judge("full:3", 3, &sync), full);
        assert_eq!(judge("full:3", 9, &sync), Verdict::Go);
        assert_eq!(judge("full:3", 9, &write), full);
        let refused = Verdict::Fail(io::ErrorKind::PermissionDenied);
        assert_eq!(judge("refuse:3", 3, &write), refused);
        assert_eq!(judge("refuse:3", 4, &write), Verdict::Go);
        assert!(Plan::parse("crash:x").is_none() && Plan::parse("flood:1").is_none());
    }
}
