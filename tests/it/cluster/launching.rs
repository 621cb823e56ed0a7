//! `spawn` starts all processes of a run on this machine and leaves none behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh::family::Watch;
use mesh::interrupt::Interrupts;
use mesh::spawn;

use super::child::base_command;

/// Passes the number in the run, from the arguments `N I` and `TOPICMILL_HOSTS`, to the variables that
/// `child` reads, and writes the process's PID.
const AS_CHILD: &str = r#"export CLUSTER_PROCESSES=$1 CLUSTER_PROCESS=$2
    export CLUSTER_HOSTS="$CLUSTER_OUTPUT/hosts-$2"
    echo "$TOPICMILL_HOSTS" | tr , '\n' > "$CLUSTER_HOSTS"
    echo $$ > "$CLUSTER_OUTPUT/pid-$2"
    exec "$CLUSTER_BINARY" --exact cluster::child::child --nocapture --quiet"#;

/// Returns the command of one process of a run, for `spawn`.
fn command(scenario: &str, output: &Path, [processes, process]: [usize; 2]) -> Command {
    let own = base_command(scenario, 2, output);
    let mut command = Command::new("sh");
    command
        .args(["-c", AS_CHILD, "sh"])
        .args([processes.to_string(), process.to_string()])
        .env("CLUSTER_BINARY", own.get_program())
        .env("CLUSTER_HASH", "1")
        .env("CLUSTER_DEADLINE_MS", "30000")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    for (name, value) in own.get_envs() {
        command.env(name, value.unwrap());
    }
    command
}

/// Runs the scenario in `processes` processes; returns the exit code.
fn run(processes: usize, scenario: &str, output: &Path, variables: &[(&str, &str)]) -> u8 {
    let command = |process| {
        let mut command = command(scenario, output, [processes, process]);
        command.envs(variables.iter().copied());
        command
    };
    topicmill::cli::NAMES.set();
    let watch: Watch = Arc::new(|_| {});
    let ending = spawn::run(processes, &command, &watch, &mut Interrupts::default());
    ending.unwrap().code
}

#[test]
fn a_run_of_three_processes_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(3, "reduce", folder.path(), &[]), 0);
    let results: Vec<String> = (0..3)
        .map(|p| std::fs::read_to_string(folder.path().join(format!("result-{p}"))).unwrap())
        .collect();
    assert_eq!(results, vec!["332833500\n332833500"; 3]);
}

#[test]
fn the_code_of_the_process_that_broke_is_that_of_the_run() {
    for (scenario, expected) in [("panic", 70), ("error", 65)] {
        let folder = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let code = run(2, scenario, folder.path(), &[]);
        assert_eq!(code, expected, "{scenario}");
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}

/// The process that launches the run of the next test and is killed; does nothing by itself.
#[test]
fn launcher() {
    let Some(output) = std::env::var_os("LAUNCH_OUTPUT").map(PathBuf::from) else {
        return;
    };
    let code = run(2, "wait", &output, &[("CLUSTER_THREADS", "1")]);
    panic!("the run should have outlasted its launcher: {code:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn children_end_when_their_parent_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cluster::launching::launcher", "--nocapture"])
        .env("LAUNCH_OUTPUT", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let limit = Instant::now() + Duration::from_secs(30);
    while (0..2).any(|p| !folder.path().join(format!("ready-{p}")).exists()) {
        assert!(Instant::now() < limit, "the run does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    parent.kill().unwrap();
    parent.wait().unwrap();
    let killed = Instant::now();
    for process in 0..2 {
        let path = folder.path().join(format!("pid-{process}"));
        let pid = std::fs::read_to_string(path).unwrap();
        let status = PathBuf::from(format!("/proc/{}/stat", pid.trim()));
        // A zombie that has not been reaped yet has ended too.
        while std::fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(killed.elapsed() < Duration::from_secs(10), "a child lives on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    println!("all ended {:?} after the parent", killed.elapsed());
}
