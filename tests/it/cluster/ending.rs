//! When one part of a run fails, all of it ends soon, with a code that gives the reason.

use std::time::{Duration, Instant};

use super::child::Run;
use super::results::complete;

/// Far more than needed, because other tests keep the machine busy.
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
fn an_error_or_a_panic_in_one_process_ends_all_and_all_say_why() {
    let cases = [
        ("panic", 70, 69, "internal error: a worker's bug at "),
        ("error", 65, 69, "line 7 of the input is damaged"),
        ("signal", 143, 143, "asked to end"),
    ];
    for (scenario, code, others, words) in cases {
        let run = Run::new(3, 1);
        let mut processes = run.start_all(scenario);
        // Worker 1 is the only worker of process 1.
        processes.remove(1).end(SOON).expect_line(code, words);
        let line = format!("process 1 ({}) ended: {words}", run.addresses[1]);
        for process in processes {
            process.end(SOON).expect_line(others, &line);
        }
    }
}

#[test]
fn the_others_end_with_69_and_name_the_process_that_was_killed() {
    let run = Run::new(3, 1);
    let mut processes = run.start_all("wait");
    for process in 0..3 {
        run.wait_for(&format!("ready-{process}"));
    }
    let started = Instant::now();
    processes.pop().unwrap().kill();
    let line = format!("lost process 2 ({}): ", run.addresses[2]);
    for process in processes {
        process.end(SOON).expect_line(69, &line);
    }
    println!("all ended {:?} after the kill", started.elapsed());
}

#[test]
fn a_process_that_is_frozen_is_lost_when_its_time_is_over() {
    let mut run = Run::new(3, 1);
    run.peer_timeout = Duration::from_secs(2);
    let mut processes = run.start_all("wait");
    for process in 0..3 {
        run.wait_for(&format!("ready-{process}"));
    }
    let frozen = processes.pop().unwrap();
    frozen.signal("STOP");
    let started = Instant::now();
    let line = format!(
        "lost process 2 ({}): nothing received for 2 s; rerun the same command to resume",
        run.addresses[2]
    );
    for process in processes {
        process.end(SOON).expect_line(69, &line);
    }
    println!("all ended {:?} after the freeze", started.elapsed());
    assert!(started.elapsed() > Duration::from_secs(1), "too early");
    // The frozen process learns of it when it thaws.
    frozen.signal("CONT");
    let ended = frozen.end(SOON);
    ended.expect_line(69, "process ");
    ended.expect(69, &format!("reports this process as lost: {line}"));
}

#[test]
fn a_worker_that_hangs_in_a_live_process_ends_the_run_and_is_named() {
    let mut run = Run::new(2, 2);
    run.stall_timeout = Duration::from_secs(2);
    let started = Instant::now();
    let mut processes = run.start_all("stall");
    let line = "worker 3 of process 1 stalled in a long stage: no progress for 2 s; rerun the \
                same command to resume; if it stalls there again, report it or raise --stall-timeout";
    processes.pop().unwrap().end(SOON).expect_line(69, line);
    let line = format!("process 1 ({}) ended: {line}", run.addresses[1]);
    processes.pop().unwrap().end(SOON).expect_line(69, &line);
    println!("all ended after {:?}", started.elapsed());
    assert!(started.elapsed() > run.stall_timeout, "too early");
}

#[test]
fn who_waits_for_a_slow_worker_longer_than_the_limit_is_not_accused() {
    let mut run = Run::new(2, 2);
    run.stall_timeout = Duration::from_secs(2);
    assert_eq!(complete(&run, "slow"), vec!["alive"; 4]);
}
