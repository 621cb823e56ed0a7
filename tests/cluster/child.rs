//! One process of a run, and how a test starts it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use topicmill::cluster::{self, ClusterSettings, Placement, guard, hosts, spawn};

use crate::results;

/// The entry of the processes that the other tests start; without its environment it is no process
/// of a run and does nothing.
#[test]
fn child() {
    let Ok(scenario) = std::env::var("CLUSTER_SCENARIO") else {
        return;
    };
    guard::install(|failure| eprintln!("{failure}"));
    spawn::follow_parent();
    let number = |name: &str| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let processes = number("CLUSTER_PROCESSES");
    let addresses = match processes {
        1 => Vec::new(),
        _ => hosts::read(
            Path::new(&std::env::var("CLUSTER_HOSTS").unwrap()),
            processes,
        )
        .unwrap(),
    };
    let placement = Placement {
        threads: number("CLUSTER_THREADS"),
        process: number("CLUSTER_PROCESS"),
        addresses,
    };
    let hash = [u8::try_from(number("CLUSTER_HASH")).unwrap(); 32];
    let deadline = Duration::from_millis(number("CLUSTER_DEADLINE_MS") as u64);
    let output = PathBuf::from(std::env::var("CLUSTER_OUTPUT").unwrap());
    let job = results::scenario(&scenario, placement.process, output.clone());
    let settings = ClusterSettings {
        hash,
        deadline,
        ..ClusterSettings::default()
    };
    match cluster::execute(&placement, &settings, job) {
        Ok(lines) => {
            let name = format!("result-{}", placement.process);
            std::fs::write(output.join(name), lines.join("\n")).unwrap();
            std::process::exit(0);
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(error.exit_code().into());
        }
    }
}

/// A run that a test is about to start.
pub struct Run {
    pub folder: tempfile::TempDir,
    pub addresses: Vec<String>,
    pub threads: usize,
    pub deadline: Duration,
}

impl Run {
    /// A run on free ports of this machine.
    pub fn new(processes: usize, threads: usize) -> Run {
        let folder = tempfile::tempdir().unwrap();
        // Ports that the system does not give to outgoing connections; held until all are chosen.
        static NEXT: std::sync::atomic::AtomicU16 = std::sync::atomic::AtomicU16::new(0);
        let mut held = Vec::new();
        while held.len() < processes {
            let step = NEXT.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let port = 3_000 + ((std::process::id() % 4_000) as u16 * 2 + step) % 8_000;
            held.extend(std::net::TcpListener::bind(("127.0.0.1", port)));
        }
        let addresses: Vec<String> = held
            .iter()
            .map(|listener| listener.local_addr().unwrap().to_string())
            .collect();
        std::fs::write(folder.path().join("hosts"), addresses.join("\n")).unwrap();
        Run {
            folder,
            addresses,
            threads,
            deadline: Duration::from_secs(60),
        }
    }

    /// The command of one process; the hash is a byte.
    pub fn command(&self, scenario: &str, process: usize, hash: u8) -> Command {
        let mut command = base_command(scenario, self.threads, self.folder.path());
        command
            .env("CLUSTER_PROCESSES", self.addresses.len().to_string())
            .env("CLUSTER_PROCESS", process.to_string())
            .env("CLUSTER_HASH", hash.to_string())
            .env("CLUSTER_HOSTS", self.folder.path().join("hosts"))
            .env("CLUSTER_DEADLINE_MS", self.deadline.as_millis().to_string())
            .stdin(Stdio::null());
        command
    }

    /// Starts one process.
    pub fn start(&self, scenario: &str, process: usize) -> Process {
        self.start_with(scenario, process, 1)
    }

    /// Starts one process with settings of its own.
    pub fn start_with(&self, scenario: &str, process: usize, hash: u8) -> Process {
        Process(Some(self.command(scenario, process, hash).spawn().unwrap()))
    }

    /// Starts all processes.
    pub fn start_all(&self, scenario: &str) -> Vec<Process> {
        (0..self.addresses.len())
            .map(|process| self.start(scenario, process))
            .collect()
    }

    /// What a process that succeeded has left.
    pub fn result(&self, process: usize) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("result-{process}"))).unwrap()
    }

    /// Waits until a process has left a mark.
    pub fn wait_for(&self, mark: &str) {
        let path = self.folder.path().join(mark);
        let started = Instant::now();
        while !path.exists() {
            assert!(started.elapsed() < Duration::from_secs(60), "no {mark}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The command of a process without its place in the run.
pub fn base_command(scenario: &str, threads: usize, output: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child::child", "--nocapture", "--quiet"])
        .env("CLUSTER_SCENARIO", scenario)
        .env("CLUSTER_THREADS", threads.to_string())
        .env("CLUSTER_OUTPUT", output)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A running process, killed when the test gives up.
pub struct Process(Option<Child>);

/// How a process ended.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Process {
    /// Kills the process as `kill -9` does.
    pub fn kill(&mut self) {
        self.0.as_mut().unwrap().kill().unwrap();
    }

    /// Waits at most `limit`.
    pub fn end(mut self, limit: Duration) -> Ended {
        let started = Instant::now();
        let child = self.0.as_mut().unwrap();
        while child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < limit, "a process hangs");
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        Ended {
            status: output.status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = self.0.as_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Ended {
    /// Checks the exit code and a piece of what was said on standard error.
    #[track_caller]
    pub fn expect(&self, code: i32, words: &str) {
        assert_eq!(self.status.code(), Some(code), "{}", self.stderr);
        assert!(self.stderr.contains(words), "{}", self.stderr);
    }
}
