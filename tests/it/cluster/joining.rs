//! Processes find each other despite other connections to the port, or report which is missing or wrong.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::child::{Process, Run};

const LIMIT: Duration = Duration::from_secs(30);

/// Connects to a process that is waiting for its peers.
fn knock(address: &str) -> TcpStream {
    let started = Instant::now();
    loop {
        if let Ok(stream) = TcpStream::connect(address) {
            return stream;
        }
        assert!(started.elapsed() < LIMIT, "nobody listens at {address}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns whether the other side closes the connection within five seconds without sending anything.
fn is_dropped(mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    match stream.read(&mut [0; 16]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_process_may_come_seconds_later() {
    let run = Run::new(2, 1);
    for late in [0, 1] {
        let early = run.start("reduce", 1 - late);
        std::thread::sleep(Duration::from_secs(3));
        let late = run.start("reduce", late);
        early.end(LIMIT).expect(0, "");
        late.end(LIMIT).expect(0, "");
    }
}

#[test]
fn strangers_at_the_port_are_dropped_and_keep_nobody_out() {
    let run = Run::new(2, 1);
    let first = run.start("reduce", 0);
    let silent: Vec<TcpStream> = (0..10).map(|_| knock(&run.addresses[0])).collect();
    let mut browser = knock(&run.addresses[0]);
    browser.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut noise = knock(&run.addresses[0]);
    noise.write_all(&[0xff; 4096]).unwrap();
    let mut half = knock(&run.addresses[0]);
    half.write_all(b"mesh v1\n and then nothing").unwrap();
    drop(knock(&run.addresses[0]));
    // Ten silent callers, handled one after the other, would take twenty seconds.
    let started = Instant::now();
    let second = run.start("reduce", 1);
    first.end(LIMIT).expect(0, "");
    second.end(LIMIT).expect(0, "");
    assert!(started.elapsed() < Duration::from_secs(10));
    for stream in silent.into_iter().chain([browser, noise, half]) {
        assert!(is_dropped(stream));
    }
}

#[test]
fn a_stranger_is_dropped_while_the_process_still_waits() {
    let run = Run::new(2, 1);
    let _waiting = run.start("reduce", 0);
    let silent = knock(&run.addresses[0]);
    let mut browser = knock(&run.addresses[0]);
    browser.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(is_dropped(browser));
    assert!(is_dropped(silent));
}

#[test]
fn a_stranger_who_listens_at_a_host_s_port_is_called_again_until_the_peer_is_there() {
    let run = Run::new(2, 1);
    let stranger = std::net::TcpListener::bind(&run.addresses[0]).unwrap();
    let second = run.start("reduce", 1);
    let (mut stream, _) = stranger.accept().unwrap();
    stream.write_all(&[b'x'; 100]).unwrap();
    drop((stream, stranger));
    let first = run.start("reduce", 0);
    first.end(LIMIT).expect(0, "");
    second.end(LIMIT).expect(0, "");
}

#[test]
fn other_settings_are_refused_by_both() {
    let run = Run::new(2, 1);
    let first = run.start_with("reduce", 0, 1);
    let second = run.start_with("reduce", 1, 2);
    let ended = first.end(LIMIT);
    ended.expect(64, "process 1 (127.0.0.1:");
    ended.expect(64, "has different settings (hash 02020202, here 01010101)");
    let ended = second.end(LIMIT);
    ended.expect(64, "process 0 (127.0.0.1:");
    ended.expect(64, "has different settings (hash 01010101, here 02020202)");
}

#[test]
fn other_numbers_of_threads_or_processes_are_refused_by_both() {
    let mut run = Run::new(2, 1);
    let first = run.start("reduce", 0);
    run.threads = 2;
    let second = run.start("reduce", 1);
    first.end(LIMIT).expect(64, "with -w 2, this one with -w 1");
    second.end(LIMIT).expect(64, "with -w 1, this one with -w 2");

    let mut run = Run::new(3, 1);
    let last = run.addresses.pop().unwrap();
    std::fs::write(run.folder.path().join("hosts"), run.addresses.join("\n")).unwrap();
    let first = run.start("reduce", 0);
    // The first must have read its hosts before they change.
    drop(knock(&run.addresses[0]));
    run.addresses.push(last);
    std::fs::write(run.folder.path().join("hosts"), run.addresses.join("\n")).unwrap();
    let second = run.start("reduce", 1);
    first.end(LIMIT).expect(64, "with -n 3, this one with -n 2");
    second.end(LIMIT).expect(64, "with -n 2, this one with -n 3");
}

#[test]
fn a_number_that_no_process_has_is_refused() {
    let mut run = Run::new(3, 1);
    run.secret = Some("a secret of the test, long enough");
    let third = run.start("reduce", 2);
    let hosts = run.hosts_of(0, &run.addresses[..2]);
    let command = &mut run.command("reduce", 0, 1);
    let first = Process::of(command.env("CLUSTER_PROCESSES", "2").env("CLUSTER_HOSTS", hosts));
    let words = "was started with -n 3, this one with -n 2";
    first.end(LIMIT).expect(64, words);
    third.end(LIMIT).expect(64, "was started with -n 2, this one with -n 3");
}

#[test]
fn the_deadline_names_the_missing() {
    let mut run = Run::new(4, 1);
    let patient = run.start("reduce", 3);
    run.deadline = Duration::from_secs(2);
    let started = Instant::now();
    let hasty = run.start("reduce", 1).end(LIMIT);
    assert!(started.elapsed() < Duration::from_secs(10));
    hasty.expect(69, "not all processes joined within 2 s; missing: process 0 (");
    hasty.expect(69, "refused");
    hasty.expect(69, &format!("process 2 ({})", run.addresses[2]));
    assert!(!hasty.stderr.contains("process 3"), "{}", hasty.stderr);
    // A process that was connected to another does not wait a minute when the other exits.
    let left = format!("process 1 ({}) left", run.addresses[1]);
    patient.end(LIMIT).expect(69, &left);
}

#[test]
fn a_process_that_is_started_twice_is_refused() {
    let run = Run::new(3, 1);
    // Process 1 is missing, so the set-up does not finish.
    let first = run.start("reduce", 0);
    let third = run.start("reduce", 2);
    // The twin cannot listen at the same address.
    std::thread::sleep(Duration::from_millis(500));
    let twin = run.start("reduce", 2).end(LIMIT);
    twin.expect(75, &format!("cannot listen on {}", run.addresses[2]));
    let second = run.start("reduce", 1);
    for process in [first, second, third] {
        process.end(LIMIT).expect(0, "");
    }
}
