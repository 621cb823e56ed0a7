//! One process of a run, and how a test starts it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use mesh::secret::Secret;
use mesh::tls::Tls;
use mesh::{ClusterSettings, Placement};
use mesh::{guard, hosts, spawn, tls};

use super::results;
use crate::workdir::{free_hosts, send, wait_for};

/// The entry of the processes that the other tests start; does nothing without their environment.
#[test]
fn child() {
    let Ok(scenario) = std::env::var("CLUSTER_SCENARIO") else {
        return;
    };
    topicmill::cli::NAMES.set();
    guard::install(|failure| eprintln!("{failure}"));
    spawn::follow_parent();
    let number = |name: &str| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let processes = number("CLUSTER_PROCESSES");
    let addresses = match processes {
        1 => Vec::new(),
        _ => hosts::read(Path::new(&std::env::var("CLUSTER_HOSTS").unwrap())).unwrap(),
    };
    let placement = Placement {
        threads: number("CLUSTER_THREADS"),
        process: number("CLUSTER_PROCESS"),
        addresses,
    };
    let settings = settings(&placement);
    let output = PathBuf::from(std::env::var("CLUSTER_OUTPUT").unwrap());
    let job = results::scenario(&scenario, placement.process, output.clone());
    match mesh::execute(&placement, &settings, job) {
        Ok(lines) => {
            let name = format!("result-{}", placement.process);
            std::fs::write(output.join(name), lines.join("\n")).unwrap();
            std::process::exit(0);
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(error.exit() as i32);
        }
    }
}

/// Reads the settings of a process from its environment.
fn settings(placement: &Placement) -> ClusterSettings {
    let text = |name: &str| std::env::var(name).unwrap_or_default();
    let milliseconds = |name: &str| Duration::from_millis(text(name).parse().unwrap());
    let tls = text("CLUSTER_TLS");
    let folder = Path::new(&tls);
    let name = tls::file_name(hosts::host_of(
        placement.addresses.get(placement.process).map_or("", |a| a),
    ));
    let load = || {
        let file = |kind: &str| folder.join(format!("{name}.{kind}"));
        Tls::load(&folder.join("ca.pem"), &file("pem"), &file("key")).unwrap()
    };
    ClusterSettings {
        build: "",
        hash: [text("CLUSTER_HASH").parse().unwrap(); 32],
        run: text("TOPICMILL_RUN"),
        deadline: milliseconds("CLUSTER_DEADLINE_MS"),
        peer_timeout: milliseconds("CLUSTER_PEER_TIMEOUT_MS"),
        stall_timeout: Some(milliseconds("CLUSTER_STALL_TIMEOUT_MS")),
        secret: Secret::find(None).unwrap().map(|found| found.secret),
        tls: (!tls.is_empty()).then(load),
        compress: !text("CLUSTER_COMPRESS").is_empty(),
    }
}

/// A run that a test is about to start.
pub struct Run {
    pub folder: tempfile::TempDir,
    /// Where the processes listen.
    pub addresses: Vec<String>,
    pub threads: usize,
    pub deadline: Duration,
    pub peer_timeout: Duration,
    pub stall_timeout: Duration,
    pub secret: Option<&'static str>,
    /// The folder with all certificates.
    pub tls: Option<PathBuf>,
    pub compress: bool,
}

impl Run {
    /// Creates a run on free ports of this machine.
    pub fn new(processes: usize, threads: usize) -> Run {
        let folder = tempfile::tempdir().unwrap();
        let addresses = free_hosts(processes);
        std::fs::write(folder.path().join("hosts"), addresses.join("\n")).unwrap();
        Run {
            folder,
            addresses,
            threads,
            deadline: Duration::from_secs(60),
            peer_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(30),
            secret: None,
            tls: None,
            compress: false,
        }
    }

    /// Writes the host file for one process; returns its path.
    pub fn hosts_of(&self, process: usize, addresses: &[String]) -> PathBuf {
        let path = self.folder.path().join(format!("hosts-{process}"));
        std::fs::write(&path, addresses.join("\n")).unwrap();
        path
    }

    /// Returns the command of one process; the byte `hash` stands for the job's hash.
    pub fn command(&self, scenario: &str, process: usize, hash: u8) -> Command {
        let mut command = base_command(scenario, self.threads, self.folder.path());
        command
            .env("CLUSTER_PROCESSES", self.addresses.len().to_string())
            .env("CLUSTER_PROCESS", process.to_string())
            .env("CLUSTER_HASH", hash.to_string())
            .env("CLUSTER_HOSTS", self.folder.path().join("hosts"))
            .env("CLUSTER_DEADLINE_MS", self.deadline.as_millis().to_string())
            .env("CLUSTER_PEER_TIMEOUT_MS", self.peer_timeout.as_millis().to_string())
            .env("CLUSTER_STALL_TIMEOUT_MS", self.stall_timeout.as_millis().to_string())
            .env_remove("TOPICMILL_SECRET")
            .env_remove("TOPICMILL_SECRET_FILE")
            .env_remove("TOPICMILL_RUN")
            .stdin(Stdio::null());
        if let Some(secret) = self.secret {
            command.env("TOPICMILL_SECRET", secret);
        }
        if let Some(folder) = &self.tls {
            command.env("CLUSTER_TLS", folder);
        }
        if self.compress {
            command.env("CLUSTER_COMPRESS", "1");
        }
        command
    }

    /// Starts one process.
    pub fn start(&self, scenario: &str, process: usize) -> Process {
        self.start_with(scenario, process, 1)
    }

    /// Starts one process with its own hash.
    pub fn start_with(&self, scenario: &str, process: usize, hash: u8) -> Process {
        Process::of(&mut self.command(scenario, process, hash))
    }

    /// Starts all processes.
    pub fn start_all(&self, scenario: &str) -> Vec<Process> {
        (0..self.addresses.len()).map(|process| self.start(scenario, process)).collect()
    }

    /// Reads the result of a process that succeeded.
    pub fn result(&self, process: usize) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("result-{process}"))).unwrap()
    }

    /// Waits until a process has written a mark.
    pub fn wait_for(&self, mark: &str) {
        let path = self.folder.path().join(mark);
        wait_for(mark, Duration::from_secs(60), || path.exists().then_some(()));
    }
}

/// Returns the command of a process without its number in the run.
pub fn base_command(scenario: &str, threads: usize, output: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "cluster::child::child", "--nocapture", "--quiet"])
        .env("CLUSTER_SCENARIO", scenario)
        .env("CLUSTER_THREADS", threads.to_string())
        .env("CLUSTER_OUTPUT", output)
        .env("RUST_BACKTRACE", "0")
        .env("CLUSTER_PEER_TIMEOUT_MS", "30000")
        .env("CLUSTER_STALL_TIMEOUT_MS", "30000")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A running process, killed when it is dropped.
pub struct Process(Option<Child>);

/// How a process ended.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Process {
    /// Starts a process.
    pub fn of(command: &mut Command) -> Process {
        Process(Some(command.spawn().unwrap()))
    }

    /// Sends a signal by the name that `kill` uses.
    pub fn signal(&self, name: &str) {
        send(name, self.0.as_ref().unwrap().id());
    }

    /// Returns whether the process is running.
    pub fn is_running(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_none()
    }

    /// Kills the process as `kill -9` does.
    pub fn kill(&mut self) {
        self.0.as_mut().unwrap().kill().unwrap();
    }

    /// Waits for the end, at most `limit`.
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
    /// Checks the exit code, and that standard error contains `words`.
    #[track_caller]
    pub fn expect(&self, code: i32, words: &str) {
        assert_eq!(self.status.code(), Some(code), "{}", self.stderr);
        assert!(self.stderr.contains(words), "{}", self.stderr);
    }

    /// Checks the exit code, and that standard error is one line that begins with `words`.
    #[track_caller]
    pub fn expect_line(&self, code: i32, words: &str) {
        assert_eq!(self.status.code(), Some(code), "{}", self.stderr);
        assert!(self.stderr.starts_with(words), "{} is not {words}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
    }
}
