//! Only processes with the same secret join, and others report the difference.

use std::time::{Duration, Instant};

use super::child::{Process, Run};
use super::results::complete;

const LIMIT: Duration = Duration::from_secs(30);
const SECRET: &str = "a secret that all processes share";
const OTHER: &str = "a secret that only one process has";

#[test]
fn processes_with_the_same_secret_come_together() {
    let mut run = Run::new(3, 1);
    run.secret = Some(SECRET);
    assert_eq!(complete(&run, "reduce"), vec!["332833500"; 3]);
}

#[test]
fn another_secret_is_named_on_both_sides_and_the_right_one_may_still_join() {
    let mut run = Run::new(2, 1);
    run.secret = Some(SECRET);
    let first = run.start("reduce", 0);
    run.secret = Some(OTHER);
    let started = Instant::now();
    let wrong = run.start("reduce", 1).end(LIMIT);
    let line = format!("process 0 ({}) has a different secret; give all", run.addresses[0]);
    wrong.expect_line(64, &line);
    assert!(started.elapsed() > Duration::from_secs(2), "too credulous");
    run.secret = Some(SECRET);
    run.start("reduce", 1).end(LIMIT).expect(0, "");
    first.end(LIMIT).expect(0, "");

    run.deadline = Duration::from_secs(5);
    let first = run.start("reduce", 0);
    run.secret = Some(OTHER);
    let second = run.start("reduce", 1);
    let line = format!("missing: process 1 ({}: has a different secret", run.addresses[1]);
    first.end(LIMIT).expect(69, &line);
    second.end(LIMIT).expect(64, "has a different secret");
}

#[test]
fn one_without_a_secret_gives_up_and_is_named_by_the_other() {
    for without in [0, 1] {
        let mut run = Run::new(2, 1);
        run.deadline = Duration::from_secs(4);
        let start = |secret: Option<&'static str>, run: &mut Run, process| {
            run.secret = secret;
            run.start("reduce", process)
        };
        let with = start(Some(SECRET), &mut run, 1 - without);
        let without_secret = start(None, &mut run, without);
        let words = "was started with a secret (TOPICMILL_SECRET), this one without";
        without_secret.end(LIMIT).expect(64, words);
        let line = format!(
            "missing: process {without} ({}: was started without a secret)",
            run.addresses[without]
        );
        with.end(LIMIT).expect(69, &line);
    }
}

#[test]
fn other_settings_are_named_on_both_sides_and_other_attempts_waited_out() {
    let mut run = Run::new(2, 1);
    run.secret = Some(SECRET);
    let first = run.start_with("reduce", 0, 1);
    let second = run.start_with("reduce", 1, 2);
    let words = "has different settings (hash 02020202, here 01010101)";
    first.end(LIMIT).expect(64, words);
    second.end(LIMIT).expect(64, "has different settings (hash 01");
    run.deadline = Duration::from_secs(4);
    let start = |run: &Run, process, attempt| {
        Process::of(run.command("reduce", process, 1).env("TOPICMILL_RUN", attempt))
    };
    let (first, second) = (start(&run, 0, "attempt 2"), start(&run, 1, "attempt 1"));
    first.end(LIMIT).expect(69, "belongs to another attempt");
    second.end(LIMIT).expect(69, "belongs to another attempt");
    let left_over = start(&run, 1, "attempt 1");
    run.deadline = Duration::from_secs(30);
    let first = start(&run, 0, "attempt 2");
    left_over.end(LIMIT).expect(69, "belongs to another attempt");
    let second = start(&run, 1, "attempt 2");
    for process in [first, second] {
        process.end(LIMIT).expect(0, "");
    }
}

#[test]
fn without_a_secret_no_other_machine_may_be_in_the_run() {
    let mut run = Run::new(2, 1);
    run.addresses[0] = "192.0.2.1:7101".to_owned();
    let hosts = run.hosts_of(1, &run.addresses);
    let command = &mut run.command("reduce", 1, 1);
    let ended = Process::of(command.env("CLUSTER_HOSTS", hosts)).end(LIMIT);
    ended.expect_line(64, "192.0.2.1:7101 is not a loopback address");
    ended.expect(64, "TOPICMILL_SECRET");
    ended.expect(64, "openssl rand -hex 32");
}

#[test]
fn an_address_that_is_not_this_machine_s_is_mentioned_when_nobody_comes() {
    let mut run = Run::new(2, 1);
    run.secret = Some(SECRET);
    run.deadline = Duration::from_secs(1);
    let port = run.addresses[0].rsplit_once(':').unwrap().1.to_owned();
    run.addresses[0] = format!("192.0.2.1:{port}");
    let hosts = run.hosts_of(0, &run.addresses);
    let command = &mut run.command("reduce", 0, 1);
    let ended = Process::of(command.env("CLUSTER_HOSTS", hosts)).end(LIMIT);
    ended.expect(69, "missing: process 1 (");
    let words =
        format!("listens on all addresses of this machine, because 192.0.2.1:{port} is not");
    ended.expect(69, &words);
}
