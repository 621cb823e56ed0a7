//! The exit codes of the program: those of sysexits.h that a scheduler can key on.

/// The command line or the job is wrong; nothing was done (EX_USAGE).
pub const USAGE: u8 = 64;
/// The input or a stored result is wrong (EX_DATAERR).
pub const DATA: u8 = 65;
/// Another process or host cannot be reached, or was lost; a worker stalled (EX_UNAVAILABLE).
pub const UNAVAILABLE: u8 = 69;
/// A mistake in topicmill (EX_SOFTWARE).
pub const INTERNAL: u8 = 70;
/// Reading or writing failed (EX_IOERR).
pub const IO: u8 = 74;
/// Something passing: the same command later may succeed (EX_TEMPFAIL).
pub const TEMPORARY: u8 = 75;
/// A process was killed (128 + SIGKILL).
pub const KILLED: u8 = 137;
/// Told to stop, by SIGTERM or SIGINT (128 + SIGTERM).
pub const INTERRUPTED: u8 = 143;

/// The part of `--help` about exit codes.
pub const EXIT_CODES: &str = "\
Exit codes:
    0  done, or already done
   64  the command line or the job file is wrong; nothing was done
   65  the input or a stored result is wrong
   69  another process or host is unreachable or was lost; a worker stalled
   70  a bug in topicmill; please report it
   74  reading or writing failed
   75  a temporary failure; the same command may succeed later
  137  a process was killed; rerun to resume
  143  stopped (SIGTERM, SIGINT); rerun to resume";
