//! What tests of the program have in common: a folder to work in, the program run there, how it
//! ended, and what it left.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use topicmill::job::state::{CHECKPOINT_FOLDER, checkpoint_file, checkpoint_rounds};
use topicmill::tables;
use topicmill::tables::read::head;

/// Arguments of a command line: a text that is split at its spaces, or a list.
pub trait Arguments {
    /// One by one.
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

/// A row of a table, by the names of its columns; nulls are empty.
pub type Row = BTreeMap<String, String>;

/// A folder of a test, removed with the value, and the program run in it.
pub struct Workdir(TempDir);

impl Workdir {
    /// An empty folder.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// In memory where the system has such a place, for what waits for the disk some hundred times.
    pub fn in_memory() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self(folder.expect("a folder"))
    }

    /// With this job as `job.toml`.
    pub fn with_job(self, job: &str) -> Self {
        self.write("job.toml", job);
        self
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file or folder in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).expect("a file of ours");
    }

    /// The program in this folder, to be started.
    pub fn command(&self, arguments: &(impl Arguments + ?Sized)) -> Command {
        program(self.root(), arguments)
    }

    /// Runs the program, whatever comes of it.
    pub fn output(&self, arguments: &(impl Arguments + ?Sized)) -> Output {
        self.command(arguments).output().expect("it starts")
    }

    /// Runs the program to a good end; returns what it printed.
    pub fn succeed(&self, arguments: &(impl Arguments + ?Sized)) -> String {
        let output = succeed(self.command(arguments));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// What a command says that must fail with this code.
    pub fn denied(&self, code: i32, line: &str) -> String {
        let output = self.output(line);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{line}: {}",
            said(&output)
        );
        said(&output)
    }

    /// The rows of a table, such as `out/topics`.
    pub fn table(&self, path: &str) -> Vec<Row> {
        let found = head(&self.path(path), usize::MAX).expect("a table");
        let names = || found.columns.iter().cloned();
        let row = |row: &Vec<String>| names().zip(row.iter().cloned()).collect();
        found.rows.iter().map(row).collect()
    }

    /// The digest of a complete result in this folder, which must be sound.
    pub fn digest(&self, out: &str) -> String {
        digest(&self.path(out))
    }
}

/// A port of loopback that nobody uses.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

/// The program in a folder, to be started.
pub fn program(folder: &Path, arguments: &(impl Arguments + ?Sized)) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_topicmill"));
    command.current_dir(folder).args(arguments.list());
    command
}

/// Runs a command to its end, which must be a good one.
pub fn succeed(mut command: Command) -> Output {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    output
}

/// How a command ended, and what it said on standard error.
pub fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    format!("{}\n{text}", output.status)
}

/// Training's newest checkpoint in an output folder.
pub fn newest_checkpoint(out: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(out.join(CHECKPOINT_FOLDER)).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let newest = *checkpoint_rounds(names).first()?;
    Some(out.join(checkpoint_file(newest)))
}

/// The digest of a complete result, which must be sound.
pub fn digest(root: &Path) -> String {
    let report = tables::verify(root).expect("complete");
    let problems = &report.problems;
    assert!(report.is_sound(), "{}: {problems:?}", root.display());
    tables::digest(root).expect("readable")
}

/// Sends a signal, as `kill` names it.
pub fn send(signal: &str, pid: u32) {
    let mut kill = Command::new("kill");
    kill.args(["-s", signal, &pid.to_string()]);
    succeed(kill);
}
