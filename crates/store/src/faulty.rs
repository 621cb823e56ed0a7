//! Injected faults, to test what a run leaves behind; only in builds with debug assertions.
//!
//! Every step that changes a local file or an object is numbered from 1, in the order in which this
//! process takes them. The environment variable [`Names::fault`](crate::Names::fault) selects the
//! fault:
//!
//! | value | |
//! | --- | --- |
//! | `count:FILE` | each step is appended to FILE as a line: its outcome, its name, its paths |
//! | `crash:N` | the process dies before step N, without any cleanup |
//! | `torn:N` | like `crash`, but if step N is a write, the first half of its bytes reaches the file |
//! | `full:N` | step N, and every later step that needs disk space, fails with ENOSPC |
//! | `refuse:N` | step N fails with EACCES |
//! | `hang:TEXT` | a thread whose step has TEXT in its line never returns from it |
//!
//! `count`, `hang` and one of the others can be combined, separated by commas. Any other value is a
//! mistake in the test, and panics.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A step that changes a file or an object.
struct Step<'a> {
    name: &'a str,
    paths: &'a [&'a Path],
    /// The number of bytes of a write, or the new size of a file.
    bytes: Option<u64>,
}

impl<'a> Step<'a> {
    fn new(name: &'a str, paths: &'a [&'a Path]) -> Self {
        let bytes = None;
        Self { name, paths, bytes }
    }

    /// Returns whether it fails on a full disk.
    fn needs_room(&self) -> bool {
        match self.name {
            "create" | "write" | "create-folder" | "commit" => true,
            "resize" => self.bytes > Some(0),
            _ => false,
        }
    }

    /// Returns the step as a line of the trace, with the paths as given.
    fn line(&self) -> String {
        let mut line = self.name.to_owned();
        // Writing to a string cannot fail.
        for path in self.paths {
            let _ = write!(line, " {}", path.display());
        }
        if let Some(bytes) = self.bytes {
            let _ = write!(line, " {bytes}");
        }
        line.push('\n');
        line
    }
}

/// The faults that the variable requests, and the number of steps so far.
#[derive(Debug, Default)]
pub struct Faults {
    trace: Option<File>,
    hang: Option<String>,
    fault: Option<(Fault, u64)>,
    steps: AtomicU64,
}

/// The fault at a step.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Crash,
    Torn,
    Full,
    Refuse,
}

/// What happens at a step.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Go,
    Fail(io::ErrorKind),
    Die,
    Hang,
    /// Die after half of the bytes are written.
    Tear,
}

impl Faults {
    /// Returns the faults of this process's environment.
    fn of_process() -> &'static Self {
        static FAULTS: OnceLock<Faults> = OnceLock::new();
        FAULTS.get_or_init(|| {
            let variable = crate::Names::get().fault;
            let Ok(text) = std::env::var(variable) else {
                return Self::default();
            };
            Self::parse(&text).unwrap_or_else(|| panic!("{variable}={text} names no fault"))
        })
    }

    /// Parses a value of the variable; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let mut faults = Self::default();
        for part in text.split(',') {
            let (kind, argument) = part.split_once(':')?;
            let fault = match kind {
                "count" => {
                    let trace = OpenOptions::new().append(true).create(true).open(argument);
                    faults.trace = Some(trace.ok()?);
                    continue;
                }
                "hang" => {
                    faults.hang = Some(argument.to_owned());
                    continue;
                }
                "crash" => Fault::Crash,
                "torn" => Fault::Torn,
                "full" => Fault::Full,
                "refuse" => Fault::Refuse,
                _ => return None,
            };
            faults.fault = Some((fault, argument.parse().ok()?));
        }
        Some(faults)
    }

    /// Numbers a step that is not a write, and applies its fault.
    ///
    /// # Errors
    /// Returns the injected error.
    pub fn before(&self, name: &str, paths: &[&Path]) -> io::Result<()> {
        self.meet(&Step::new(name, paths)).map(drop)
    }

    /// Returns what happens at the step with this number.
    fn verdict(&self, number: u64, step: &Step<'_>) -> Verdict {
        let hangs = |text: &String| step.line().contains(text);
        if self.hang.as_ref().is_some_and(hangs) {
            return Verdict::Hang;
        }
        match self.fault {
            Some((Fault::Torn, at)) if number == at && step.name == "write" => Verdict::Tear,
            Some((Fault::Crash | Fault::Torn, at)) if number == at => Verdict::Die,
            Some((Fault::Full, at)) if number == at || (number > at && step.needs_room()) => {
                Verdict::Fail(io::ErrorKind::StorageFull)
            }
            Some((Fault::Refuse, at)) if number == at => {
                Verdict::Fail(io::ErrorKind::PermissionDenied)
            }
            _ => Verdict::Go,
        }
    }

    /// Numbers a step, records its outcome if requested, and applies its fault. Returns whether the
    /// process must die in the middle of the step.
    fn meet(&self, step: &Step<'_>) -> io::Result<bool> {
        let number = self.steps.fetch_add(1, Ordering::SeqCst) + 1;
        let verdict = self.verdict(number, step);
        if let Some(mut trace) = self.trace.as_ref() {
            let outcome = match verdict {
                Verdict::Go | Verdict::Tear => "",
                Verdict::Fail(_) => "failed ",
                Verdict::Die => "died ",
                Verdict::Hang => "hung ",
            };
            let noted = trace.write_all(format!("{outcome}{}", step.line()).as_bytes());
            noted.expect("the trace can be written");
        }
        match verdict {
            Verdict::Go => Ok(false),
            Verdict::Tear => Ok(true),
            Verdict::Fail(kind) => Err(kind.into()),
            Verdict::Die => std::process::abort(),
            Verdict::Hang => loop {
                std::thread::park();
            },
        }
    }
}

/// Must be called before every step except a write or a resize.
pub(super) fn before(name: &str, paths: &[&Path]) -> io::Result<()> {
    meet(&Step::new(name, paths)).map(drop)
}

/// Must be called before a file is resized.
pub(super) fn before_resize(path: &Path, bytes: u64) -> io::Result<()> {
    let step = Step { name: "resize", paths: &[path], bytes: Some(bytes) };
    meet(&step).map(drop)
}

/// Writes by `write`, unless a fault is due.
pub(super) fn write(
    path: &Path,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    let step = Step { name: "write", paths: &[path], bytes: Some(bytes.len() as u64) };
    if meet(&step)? {
        let _ = write(&bytes[..bytes.len() / 2]);
        std::process::abort();
    }
    write(bytes)
}

/// Writes all bytes to `file`, which is at `path`, from `offset` on, unless a fault is due.
pub(super) fn write_at(path: &Path, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let all = |bytes: &[u8]| file.write_all_at(bytes, offset).map(|()| bytes.len());
    write(path, bytes, all).map(drop)
}

/// Applies the fault of a step; does nothing in a release build.
#[inline]
fn meet(step: &Step<'_>) -> io::Result<bool> {
    if cfg!(debug_assertions) { Faults::of_process().meet(step) } else { Ok(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_strike_where_they_were_asked_for() {
        let paths = [Path::new("x")];
        let (write, sync) = (Step::new("write", &paths), Step::new("sync", &paths));
        let judge = |faults: &str, number, step: &Step<'_>| {
            Faults::parse(faults).unwrap().verdict(number, step)
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
        assert!(Faults::parse("crash:x").is_none() && Faults::parse("flood:1").is_none());
    }
}
