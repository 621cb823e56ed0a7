//! Helpers for tests of the program: a working folder, runs of the program in it, their outcome, and
//! their files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use topicmill::config::state::{CHECKPOINT_FOLDER, checkpoint_file, checkpoint_rounds};
use topicmill::tables;
use topicmill::tables::read::head;

/// The time limit for any event.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Makes certificates for the hosts of a host file; returns what the script says if it fails.
#[cfg(feature = "tls")]
pub fn certify(hosts: &Path, folder: &Path) -> Result<(), String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/cluster/certificates");
    let output = Command::new(script).args([hosts, folder]).output().expect("bash and openssl");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    output.status.success().then_some(()).ok_or(said)
}

/// Arguments of a command line: a text that is split at spaces, or a list.
pub trait Arguments {
    /// Returns them one by one.
    fn list(&self) -> Vec<&str>;
}

impl Arguments for str {
    fn list(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl Arguments for String {
    fn list(&self) -> Vec<&str> {
        self.as_str().list()
    }
}

impl<T: AsRef<str>> Arguments for [T] {
    fn list(&self) -> Vec<&str> {
        self.iter().map(AsRef::as_ref).collect()
    }
}

impl<T: AsRef<str>, const N: usize> Arguments for [T; N] {
    fn list(&self) -> Vec<&str> {
        self.as_slice().list()
    }
}

impl<T: AsRef<str>> Arguments for Vec<T> {
    fn list(&self) -> Vec<&str> {
        self.as_slice().list()
    }
}

/// A row of a table, by the names of its columns; nulls are empty texts.
pub type Row = BTreeMap<String, String>;

/// The working folder of a test, removed with the value, in which the program runs.
pub struct Workdir(TempDir);

impl Workdir {
    /// Creates an empty folder.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// Creates it in memory if possible, for tests that wait for the disk some hundred times.
    pub fn in_memory() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self(folder.expect("a folder"))
    }

    /// Creates a folder, in memory if possible, with a copy of all that is in another one, such as a finished result.
    pub fn copy_of(other: &Self) -> Self {
        let copy = Self::in_memory();
        let mut cp = Command::new("cp");
        cp.arg("-a").arg(other.path(".")).arg(copy.root());
        succeed(cp);
        copy
    }

    /// Writes this job as `job.toml`.
    pub fn with_job(self, job: &str) -> Self {
        self.write("job.toml", job);
        self
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        self.0.path()
    }

    /// Returns the path of a file or folder in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).expect("a file of ours");
    }

    /// Returns a command of the program in this folder.
    pub fn command(&self, arguments: &(impl Arguments + ?Sized)) -> Command {
        program(self.root(), arguments)
    }

    /// Runs the program, with any outcome.
    pub fn output(&self, arguments: &(impl Arguments + ?Sized)) -> Output {
        self.command(arguments).output().expect("it starts")
    }

    /// Runs the program with `input` on standard input.
    pub fn fed(&self, line: &str, input: &[u8]) -> Output {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        // Writing fails if the program refuses its input and closes it.
        let _ = child.stdin.take().expect("piped").write_all(input);
        child.wait_with_output().expect("it ends")
    }

    /// Runs the program, which must succeed; returns its output.
    pub fn succeed(&self, arguments: &(impl Arguments + ?Sized)) -> String {
        let output = succeed(self.command(arguments));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs a command that must fail with this code; returns its message.
    pub fn denied(&self, code: i32, line: &str) -> String {
        let output = self.output(line);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", said(&output));
        said(&output)
    }

    /// Reads the rows of a table, such as `out/topics`.
    pub fn table(&self, path: &str) -> Vec<Row> {
        let found = head(&self.path(path), usize::MAX).expect("a table");
        let names = || found.columns.iter().cloned();
        let row = |row: &Vec<String>| names().zip(row.iter().cloned()).collect();
        found.rows.iter().map(row).collect()
    }

    /// Runs `line` once with each placement, into `out0`, `out1` and so on; returns the digest that all results have.
    pub fn digest_on(&self, placements: &[&str], line: &str) -> String {
        let of = |(number, placement): (usize, &&str)| {
            let out = format!("out{number}");
            self.succeed(&format!("{line} --quiet {placement} --set output.path={out}"));
            self.digest(&out)
        };
        let mut digests: BTreeSet<String> = placements.iter().enumerate().map(of).collect();
        assert_eq!(digests.len(), 1, "{line}");
        digests.pop_first().expect("one")
    }

    /// Returns the digest of a result in this folder, which must be complete and sound.
    pub fn digest(&self, out: &str) -> String {
        digest(&self.path(out))
    }
}

/// Returns free loopback ports, outside the ranges of outgoing connections and of `--processes`.
pub fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // All are held until the last one is chosen.
    let mut held = Vec::new();
    while held.len() < count {
        let step = NEXT.fetch_add(1, Ordering::SeqCst);
        let port = 3_000 + ((std::process::id() % 4_000) as u16 * 2 + step) % 8_000;
        held.extend(TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
    }
    let port = |listener: &TcpListener| listener.local_addr().expect("it is bound").port();
    held.iter().map(port).collect()
}

/// Returns the addresses of processes on free ports of this machine.
pub fn free_hosts(processes: usize) -> Vec<String> {
    let ports = free_ports(processes).into_iter();
    ports.map(|port| format!("127.0.0.1:{port}")).collect()
}

/// Waits until `look` returns a value, at most for `limit`, and returns it.
pub fn wait_for<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < limit, "no {what} after {limit:?}");
        sleep(Duration::from_millis(1));
    }
}

/// Waits until `is_there`, while a child runs.
pub fn wait_during(child: &mut Child, what: &str, is_there: impl Fn() -> bool) {
    wait_for(what, PATIENCE, || {
        let found = is_there().then_some(());
        let has_ended = found.is_none() && child.try_wait().expect("ours").is_some();
        assert!(!has_ended, "it ended before {what}");
        found
    });
}

/// Returns a command of the program in a folder.
pub fn program(folder: &Path, arguments: &(impl Arguments + ?Sized)) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_topicmill"));
    command.current_dir(folder).args(arguments.list());
    command
}

/// Runs a command, which must succeed.
pub fn succeed(mut command: Command) -> Output {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    output
}

/// Returns the exit status of a command and its standard error.
pub fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    format!("{}\n{text}", output.status)
}

/// Returns training's newest checkpoint in an output folder.
pub fn newest_checkpoint(out: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(out.join(CHECKPOINT_FOLDER)).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let newest = *checkpoint_rounds(names).first()?;
    Some(out.join(checkpoint_file(newest)))
}

/// Counts the drafts of an ingest that is not complete.
pub fn drafts(out: &Path) -> usize {
    let entries = walkdir::WalkDir::new(out.join("_temporary/drafts")).into_iter().flatten();
    entries.filter(|entry| entry.path().extension().is_some()).count()
}

/// Returns the digest of a result, which must be complete and sound.
pub fn digest(root: &Path) -> String {
    let report = tables::verify(root).expect("complete");
    let problems = &report.problems;
    assert!(report.is_sound(), "{}: {problems:?}", root.display());
    tables::digest(root).expect("readable")
}

/// Sends a signal by the name that `kill` uses.
pub fn send(signal: &str, pid: u32) {
    let mut kill = Command::new("kill");
    kill.args(["-s", signal, &pid.to_string()]);
    succeed(kill);
}
