//! When one part of a run breaks, everything ends soon and with a code that says why.

use std::time::{Duration, Instant};

use crate::child::Run;

/// Far more than it takes, on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn a_panic_in_one_of_many_threads_ends_the_process_with_70() {
    let run = Run::new(1, 4);
    let process = run.start("panic", 0);
    run.wait_for("ready-0");
    let started = Instant::now();
    let ended = process.end(SOON);
    println!("ended {:?} after the panic", started.elapsed());
    ended.expect(70, "internal error: a worker's bug at ");
    assert!(ended.stderr.contains("results.rs:"), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn an_error_in_one_of_many_threads_ends_the_process_with_its_code() {
    let run = Run::new(1, 4);
    let ended = run.start("error", 0).end(SOON);
    ended.expect(65, "line 7 of the input is damaged\n");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn an_error_or_a_panic_in_one_process_ends_all() {
    for (scenario, code) in [("panic", 70), ("error", 65)] {
        let run = Run::new(2, 1);
        let mut processes = run.start_all(scenario);
        let other = processes.pop().unwrap().end(SOON);
        let first = processes.pop().unwrap().end(SOON);
        // Worker 1 is the only one of process 1.
        assert_eq!(other.status.code(), Some(code), "{}", other.stderr);
        first.expect(69, &format!("lost process 1 ({})", run.addresses[1]));
        assert_eq!(first.stderr.lines().count(), 1, "{}", first.stderr);
    }
}

#[test]
fn the_others_end_with_69_when_a_process_is_killed() {
    let run = Run::new(3, 1);
    let mut processes = run.start_all("wait");
    for process in 0..3 {
        run.wait_for(&format!("ready-{process}"));
    }
    let started = Instant::now();
    processes.pop().unwrap().kill();
    for process in processes {
        let ended = process.end(SOON);
        // One may hear of the other's end before it hears of the first.
        ended.expect(69, "lost process ");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    println!("all ended {:?} after the kill", started.elapsed());
}
