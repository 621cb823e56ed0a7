//! Ingest in several processes: this test binary starts itself for each of them.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mesh::{Placement, guard, spawn};
use topicmill::tables::Output;

use super::fixture::{self, Fixture, files, write_all_kinds};

const THREADS: usize = 2;

/// The entry of the processes; does nothing without their environment.
#[test]
fn child() {
    let Ok(folder) = std::env::var("INGEST_FOLDER") else {
        return;
    };
    guard::install(|failure| eprintln!("{failure}"));
    spawn::follow_parent();
    let addresses = std::env::var("INGEST_ADDRESSES").unwrap();
    let placement = Placement {
        threads: THREADS,
        process: std::env::var("INGEST_PROCESS").unwrap().parse().unwrap(),
        addresses: addresses.split(' ').map(str::to_owned).collect(),
    };
    let mut job = fixture::job(Path::new(&folder), "out", &[]);
    job.corpus.block_bytes = Some(2000);
    let output = Output::follow(&job.output.path).unwrap();
    output.join().unwrap();
    match fixture::run(&placement, &job, output) {
        Ok(_) => std::process::exit(0),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(error.exit() as i32);
        }
    }
}

/// A process that is killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Path, addresses: &[String], process: usize) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "ingest::processes::child", "--nocapture", "--quiet"])
        .env("INGEST_FOLDER", folder)
        .env("INGEST_ADDRESSES", addresses.join(" "))
        .env("INGEST_PROCESS", process.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Process(command.spawn().unwrap())
}

#[test]
fn processes_do_not_show_in_a_single_byte() {
    let fixture = Fixture::new();
    write_all_kinds(&fixture);
    let mut alone = fixture.job("alone", &[]);
    alone.corpus.block_bytes = Some(2000);
    fixture.ingest(1, &alone).unwrap();

    let job = fixture.job("out", &[]);
    let _lead = Output::lead(&job.output.path).unwrap();
    let listeners: Vec<_> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<_> =
        listeners.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect();
    drop(listeners);
    let started = Instant::now();
    let processes = [0, 1].map(|process| start(fixture.folder.path(), &addresses, process));
    for mut process in processes {
        let status = loop {
            if let Some(status) = process.0.try_wait().unwrap() {
                break status;
            }
            assert!(started.elapsed() < Duration::from_secs(120), "a process hangs");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(status.success(), "{status}");
    }
    let (alone, together) = (files(&alone.output.path), files(&job.output.path));
    assert!(together.keys().eq(alone.keys()));
    assert!(together == alone);
}
