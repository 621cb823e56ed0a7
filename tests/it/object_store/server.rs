//! The S3 server of these tests: starting, stopping and freezing it, and access to its objects as
//! files.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::workdir::{free_ports, program, send};

/// The only bucket.
pub const BUCKET: &str = "topicmill";
const KEY: &str = "a-key";
const SECRET: &str = "a-secret";

/// A running server.
pub struct Server {
    program: PathBuf,
    root: PathBuf,
    port: u16,
    child: Child,
}

impl Server {
    /// Starts a server with its objects in `root`; prints a note and returns `None` if none is installed.
    pub fn start(root: &Path) -> Option<Self> {
        let program = installed()?;
        fs::create_dir_all(root.join(BUCKET)).unwrap();
        let port = free_ports(1)[0];
        let child = spawn(&program, root, port);
        Some(Self { program, root: root.to_owned(), port, child })
    }

    /// Returns the command of topicmill in a folder, with the settings for this server.
    pub fn topicmill(&self, folder: &Path, arguments: &[String]) -> Command {
        let mut command = program(folder, arguments);
        // The files that a failed run keeps for the next one are removed with the test.
        command.env("TMPDIR", folder);
        self.set(&mut command);
        command
    }

    /// Returns the port on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sets the environment of a command for this server.
    pub fn set<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        command
            .envs([
                ("AWS_ACCESS_KEY_ID", KEY),
                ("AWS_SECRET_ACCESS_KEY", SECRET),
                ("AWS_REGION", "us-east-1"),
                ("AWS_ALLOW_HTTP", "true"),
                ("AWS_ENDPOINT_URL", &endpoint),
            ])
            .env_remove("AWS_SESSION_TOKEN")
    }

    /// Stores a file under a key.
    pub fn put(&self, file: &Path, key: &str) {
        let target = self.file(key);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }

    /// Whether there is an object with this key, or below it.
    pub fn has(&self, key: &str) -> bool {
        holds_file(&self.file(key))
    }

    /// Returns the file in which the server keeps the object of a key.
    pub fn file(&self, key: &str) -> PathBuf {
        self.root.join(BUCKET).join(key)
    }

    /// Stops the server; its objects stay.
    pub fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again on the same port.
    pub fn restart(&mut self) {
        self.child = spawn(&self.program, &self.root, self.port);
    }

    /// Stops it from answering, without closing connections.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets it continue.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        send(name, self.child.id());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a path is a file or a folder with a file in it, at any depth.
fn holds_file(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().any(|entry| holds_file(&entry.path())),
        Err(_) => path.exists(),
    }
}

fn installed() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TOPICMILL_S3_SERVER") {
        let program = PathBuf::from(named);
        assert!(program.exists(), "{}: not there", program.display());
        return Some(program);
    }
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/bin/s3s-fs");
    if program.exists() {
        return Some(program);
    }
    // Bypasses the harness, which would hide it if the test passes.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: no S3 server at {}; scripts/test installs one",
        program.display()
    );
    None
}

fn spawn(program: &Path, root: &Path, port: u16) -> Child {
    let child = Command::new(program)
        .args(["--host", "127.0.0.1", "--port", &port.to_string()])
        .args(["--access-key", KEY, "--secret-key", SECRET])
        .arg(root)
        .env("RUST_LOG", "off")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        assert!(started.elapsed() < Duration::from_secs(20), "the server does not start");
        sleep(Duration::from_millis(20));
    }
    child
}
