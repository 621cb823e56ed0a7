//! Cut links are detected; slow and idle ones are not affected.

use std::time::{Duration, Instant};

use super::child::{Process, Run};
use super::proxy::{BLOCKED, Proxy, SLOW};
use super::results::complete;

const LIMIT: Duration = Duration::from_secs(30);

/// Starts all processes of a run in which process 1 reaches process 0 only through a proxy.
fn start_behind(run: &Run, proxy: &Proxy, scenario: &str) -> Vec<Process> {
    let start = |process| {
        let mut addresses = run.addresses.clone();
        if process == 1 {
            addresses[0] = proxy.address.clone();
        }
        let hosts = run.hosts_of(process, &addresses);
        Process::of(run.command(scenario, process, 1).env("CLUSTER_HOSTS", hosts))
    };
    (0..run.addresses.len()).map(start).collect()
}

#[test]
fn a_link_that_is_cut_without_being_closed_ends_all() {
    let mut run = Run::new(3, 1);
    run.peer_timeout = Duration::from_secs(2);
    let proxy = Proxy::new(&run.addresses[0]);
    let processes = start_behind(&run, &proxy, "wait");
    for process in 0..3 {
        run.wait_for(&format!("ready-{process}"));
    }
    proxy.set(BLOCKED);
    let started = Instant::now();
    for process in processes {
        let ended = process.end(LIMIT);
        println!("{:?}: {}", started.elapsed(), ended.stderr.trim_end());
        // Either end of the link may be the first to tell the third process.
        ended.expect(69, "nothing received for 2 s");
        assert!(!ended.stderr.contains("lost process 2 ("), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    let elapsed = started.elapsed();
    assert!(elapsed > Duration::from_millis(1200), "{elapsed:?}");
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
}

#[test]
fn a_slow_link_is_not_a_lost_one() {
    let mut run = Run::new(2, 1);
    run.peer_timeout = Duration::from_secs(1);
    let proxy = Proxy::new(&run.addresses[0]);
    proxy.set(SLOW);
    let started = Instant::now();
    for process in start_behind(&run, &proxy, "trickle") {
        process.end(LIMIT).expect(0, "");
    }
    assert!(started.elapsed() > Duration::from_secs(3), "not slow");
    assert_eq!(run.result(0), "300000");
    assert_eq!(run.result(1), "300000");
}

#[test]
fn a_link_that_nothing_is_sent_over_is_not_a_lost_one() {
    let mut run = Run::new(2, 1);
    run.peer_timeout = Duration::from_secs(1);
    assert_eq!(complete(&run, "idle"), ["alive"; 2]);
}

#[test]
fn a_process_that_waits_for_a_third_is_not_lost() {
    let mut run = Run::new(3, 1);
    run.peer_timeout = Duration::from_secs(1);
    let proxy = Proxy::new(&run.addresses[1]);
    proxy.set(BLOCKED);
    let mut addresses = run.addresses.clone();
    addresses[1] = proxy.address.clone();
    let hosts = run.hosts_of(2, &addresses);
    // Process 0 is connected to both others and works; 1 and 2 cannot connect for a while.
    let first = run.start("reduce", 0);
    let second = run.start("reduce", 1);
    let third = Process::of(run.command("reduce", 2, 1).env("CLUSTER_HOSTS", hosts));
    std::thread::sleep(Duration::from_secs(4));
    proxy.set(super::proxy::OPEN);
    for process in [first, second, third] {
        process.end(LIMIT).expect(0, "");
    }
}

#[test]
fn compression_changes_nothing_but_the_bytes_on_the_wire() {
    let mut run = Run::new(2, 2);
    let plain = complete(&run, "gather");
    run.compress = true;
    assert_eq!(complete(&run, "gather"), plain);
    let lines = complete(&run, "traffic");
    for line in lines {
        let squeezed: f64 = line.split(' ').nth(3).unwrap().parse().unwrap();
        assert!(squeezed < 0.1, "{line}");
    }
}

#[test]
fn compression_must_be_the_same_everywhere() {
    let mut run = Run::new(2, 1);
    let first = run.start("reduce", 0);
    run.compress = true;
    let second = run.start("reduce", 1);
    let words = "was started with --compress, this one without";
    first.end(LIMIT).expect(64, words);
    second.end(LIMIT).expect(64, "without --compress, this one with");
}
