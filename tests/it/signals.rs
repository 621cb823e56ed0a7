//! SIGTERM and SIGINT: a run exits with 143 at a point from which it can be resumed, and then ends with
//! the same bytes as an undisturbed one.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use topicmill::checkpoint::read_header;

use crate::workdir::{
    Workdir, digest, drafts, newest_checkpoint, program, send, wait_during, wait_for,
};

/// How long a run may take to end after a signal.
const SOON: Duration = Duration::from_secs(30);

/// A job with several rounds per Gibbs pass, and several shards.
const JOB: &str = r#"
[synth]
path = "planted"
topics = 8
documents = 12000
terms = 3000
mean_length = 60
[corpus]
block_mib = 0.25
[vocabulary]
stop_words = "none"
[sample]
fraction = 0.5
held_out = 0.05
[model]
topics = 12
[train]
minibatch = 256
online_passes = 2
passes = 40
patience = 0
checkpoint_every = 0
checkpoint_minutes = 0
[output]
path = "undisturbed"
"#;

fn topicmill(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = program(folder, "run job.toml");
    command.args(arguments).stdout(Stdio::null());
    command
}

/// Runs to the end; returns the digest.
fn succeed(folder: &Path, out: &str, arguments: &[&str]) -> String {
    let path = format!("output.path={out}");
    let mut command = topicmill(folder, &["--quiet", "--set", &path]);
    let ended = command.args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}");
    digest(&folder.join(out))
}

/// Returns the digest of an undisturbed run, which runs once.
fn undisturbed() -> &'static str {
    static DIGEST: OnceLock<String> = OnceLock::new();
    DIGEST.get_or_init(|| {
        let folder = Workdir::new().with_job(JOB);
        succeed(folder.root(), "undisturbed", &["-w", "1"])
    })
}

fn start(folder: &Path, out: &str, arguments: &[&str]) -> Child {
    let path = format!("output.path={out}");
    let mut command = topicmill(folder, &["--json", "--set", &path]);
    let command = command.args(arguments).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits for the end; returns the exit code and the messages.
fn end(mut child: Child) -> (Option<i32>, String) {
    wait_for("end", SOON, || child.try_wait().unwrap());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

/// Returns the round after which a run says that it stopped.
fn round_left(said: &str) -> u64 {
    let rest = said.split("after round ").nth(1).unwrap_or_else(|| panic!("{said}"));
    let digits = rest.split(';').next().unwrap();
    digits.parse().unwrap()
}

/// True if a process has a handler for SIGTERM.
fn handles_term(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << 14) != 0)
}

/// Returns the last process that a process started, if there is one.
fn last_child(parent: u32) -> Option<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let children = fs::read_to_string(path).ok()?;
    children.split_whitespace().next_back().map(|last| last.parse().unwrap())
}

/// Stops a run in training repeatedly, until it is done.
fn leave_often(placement: &[&str], target: impl Fn(u32) -> Option<u32>) {
    let folder = Workdir::new().with_job(JOB);
    let folder = folder.root();
    let out = folder.join("left");
    let corpus = out.join("corpus/collection.json");
    let mut left = Vec::new();
    // On a slow machine some pauses end before training begins, so more of them follow.
    for pause in [500, 900, 700, 1200, 1600].into_iter().cycle().take(20) {
        if left.len() == 3 {
            break;
        }
        let mut child = start(folder, "left", placement);
        let pid = child.id();
        // When the run resumes, the collection is there before the program handles signals.
        let is_ready = || corpus.exists() && target(pid).is_some_and(handles_term);
        wait_during(&mut child, "the collection", is_ready);
        sleep(Duration::from_millis(pause));
        if out.join("_SUCCESS").exists() || out.join("model").exists() {
            let (code, said) = end(child);
            assert_eq!(code, Some(0), "{said}");
            break;
        }
        send("TERM", target(pid).expect("a process"));
        let (code, said) = end(child);
        assert_eq!(code, Some(143), "{said}");
        if let Some(newest) = newest_checkpoint(&out)
            && said.contains("after round")
        {
            let header = read_header(&newest).unwrap();
            assert_eq!(header.rounds, round_left(&said), "{said}");
            left.push(header.rounds);
        }
    }
    assert!(left.len() >= 2 && left.is_sorted(), "{left:?}");
    assert_eq!(succeed(folder, "left", &["-w", "3"]), undisturbed());
}

#[test]
fn training_is_left_with_a_checkpoint_and_ends_in_the_same_bytes() {
    leave_often(&["-w", "2"], Some);
}

#[test]
fn all_processes_leave_when_one_is_asked() {
    leave_often(&["--processes", "2", "-w", "1"], last_child);
}

#[test]
fn all_processes_leave_when_the_one_that_started_them_is_asked() {
    leave_often(&["--processes", "2", "-w", "1"], Some);
}

#[test]
fn ingest_and_projection_are_left_at_once() {
    let folder = Workdir::new().with_job(JOB);
    let folder = folder.root();
    let out = folder.join("left");
    let mut child = start(folder, "left", &["-w", "2"]);
    wait_during(&mut child, "drafts", || drafts(&out) > 1);
    send("INT", child.id());
    let (code, said) = end(child);
    assert_eq!(code, Some(143), "{said}");
    assert!(said.contains("interrupted by SIGINT; rerun the same command"), "{said}");
    let parts = || fs::read_dir(out.join("document_topics")).map_or(0, Iterator::count);
    let mut child = start(folder, "left", &["-w", "2"]);
    wait_during(&mut child, "parts", || parts() > 1);
    send("TERM", child.id());
    let (code, said) = end(child);
    assert_eq!(code, Some(143), "{said}");
    assert!(said.contains("interrupted by SIGTERM; rerun the same command"), "{said}");
    assert_eq!(succeed(folder, "left", &["-w", "3"]), undisturbed());
}

#[test]
fn a_second_signal_ends_it_in_the_middle_of_a_round() {
    let job = JOB.replace("minibatch = 256", "minibatch = 1000000\nburn_in = 10000");
    let folder = Workdir::new().with_job(&job);
    let mut child = start(folder.root(), "left", &["-w", "2"]);
    let corpus = folder.root().join("left/corpus/collection.json");
    wait_during(&mut child, "the collection", || corpus.exists());
    sleep(Duration::from_millis(1500));
    send("TERM", child.id());
    sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "the round is too short");
    send("TERM", child.id());
    let asked = Instant::now();
    let (code, said) = end(child);
    assert_eq!(code, Some(143), "{said}");
    assert!(asked.elapsed() < Duration::from_secs(2), "{said}");
    assert!(said.contains("a second signal stops at once"), "{said}");
}

#[test]
fn a_command_that_writes_a_file_leaves_nothing_of_it() {
    let folder = Workdir::new();
    let mut command = program(folder.root(), "new - --output job.toml");
    let command = command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut documents = child.stdin.take().unwrap();
    documents.write_all(&b"a ship sails\n".repeat(10_000)).unwrap();
    let names = || fs::read_dir(folder.root()).unwrap().count();
    wait_during(&mut child, "the copy of standard input", || names() > 0);
    send("INT", child.id());
    let (code, said) = end(child);
    assert_eq!(code, Some(143), "{said}");
    assert!(said.ends_with("interrupted by SIGINT; rerun the same command\n"), "{said}");
    assert_eq!(names(), 0);
}
