//! Injected faults, to test what a run leaves behind: only in builds with debug assertions.
//!
//! Every change to a file is an operation, numbered from 1 in the order in which this process makes
//! them. The environment variable `TOPICMILL_FAULT` selects the fault:
//!
//! | value | |
//! | --- | --- |
//! | `count:FILE` | each operation is appended to FILE as a line: its outcome, its name, its paths |
//! | `crash:N` | the process dies before operation N, without any cleanup |
//! | `torn:N` | as `crash`, but if N is a write, the first half of its bytes reaches the file |
//! | `full:N` | operation N, and every later one that needs room on the disk, fails with ENOSPC |
//! | `refuse:N` | operation N fails with EACCES |
//! | `hang:TEXT` | a thread whose operation has TEXT in its line never returns from it |
//!
//! `count`, `hang` and one of the others may be combined, separated by commas. Any other value is a
//! mistake in the test, and panics.

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
#[derive(Debug, Default)]
struct Plan {
    trace: Option<File>,
    hang: Option<String>,
    fault: Option<(Fault, u64)>,
}

/// What happens at an operation.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Crash,
    Torn,
    Full,
    Refuse,
}

/// What is to be done about an operation.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Go,
    Fail(io::ErrorKind),
    Die,
    Hang,
    /// Die when half is written.
    Tear,
}

impl Plan {
    /// From the environment.
    fn read() -> Self {
        let Ok(text) = std::env::var("TOPICMILL_FAULT") else {
            return Self::default();
        };
        Self::parse(&text).unwrap_or_else(|| panic!("TOPICMILL_FAULT={text} names no fault"))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut plan = Self::default();
        for part in text.split(',') {
            let (kind, argument) = part.split_once(':')?;
            let fault = match kind {
                "count" => {
                    let trace = OpenOptions::new().append(true).create(true).open(argument);
                    plan.trace = Some(trace.ok()?);
                    continue;
                }
                "hang" => {
                    plan.hang = Some(argument.to_owned());
                    continue;
                }
                "crash" => Fault::Crash,
                "torn" => Fault::Torn,
                "full" => Fault::Full,
                "refuse" => Fault::Refuse,
                _ => return None,
            };
            plan.fault = Some((fault, argument.parse().ok()?));
        }
        Some(plan)
    }

    /// About the operation of this number.
    fn judge(&self, number: u64, operation: &Operation<'_>) -> Verdict {
        let is_write = matches!(operation, Operation::Write(..));
        let hangs = |text: &String| operation.line().contains(text);
        if self.hang.as_ref().is_some_and(hangs) {
            return Verdict::Hang;
        }
        match self.fault {
            Some((Fault::Torn, at)) if number == at && is_write => Verdict::Tear,
            Some((Fault::Crash | Fault::Torn, at)) if number == at => Verdict::Die,
            Some((Fault::Full, at)) if number == at || (number > at && operation.needs_room()) => {
                Verdict::Fail(io::ErrorKind::StorageFull)
            }
            Some((Fault::Refuse, at)) if number == at => {
                Verdict::Fail(io::ErrorKind::PermissionDenied)
            }
            _ => Verdict::Go,
        }
    }
}

/// Numbers an operation, judges it, and notes its outcome if requested.
fn judge(operation: &Operation<'_>) -> Verdict {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    static OPERATIONS: AtomicU64 = AtomicU64::new(0);
    let plan = PLAN.get_or_init(Plan::read);
    let number = OPERATIONS.fetch_add(1, Ordering::SeqCst) + 1;
    let verdict = plan.judge(number, operation);
    if let Some(trace) = &plan.trace {
        let mut trace: &File = trace;
        let line = operation.line();
        let line = match verdict {
            Verdict::Go | Verdict::Tear => line,
            Verdict::Fail(_) => format!("failed {line}"),
            Verdict::Die => format!("died {line}"),
            Verdict::Hang => format!("hung {line}"),
        };
        let noted = trace.write_all(line.as_bytes());
        noted.expect("the trace can be written");
    }
    verdict
}

/// To be called before every operation but a write.
pub(super) fn before(operation: &Operation<'_>) -> io::Result<()> {
    match judge(operation) {
        Verdict::Go => Ok(()),
        Verdict::Fail(kind) => Err(kind.into()),
        Verdict::Die | Verdict::Tear => std::process::abort(),
        Verdict::Hang => hang(),
    }
}

fn hang() -> ! {
    loop {
        std::thread::park();
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
        Verdict::Hang => hang(),
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
        assert_eq!(judge("refuse:4,full:3", 3, &write), full);
        assert_eq!(judge("hang:write x", 1, &write), Verdict::Hang);
        assert_eq!(judge("hang:write x,crash:9", 1, &sync), Verdict::Go);
        assert!(Plan::parse("crash:x").is_none() && Plan::parse("flood:1").is_none());
    }
}
