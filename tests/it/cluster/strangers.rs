//! A caller without the secret gets a greeting and nothing else, whatever else it knows.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mesh::hello::Hello;
use mesh::proof::{ANSWER_BYTES, PROOF_BYTES, Role, Transcript, Verdict, decode_answer};
use mesh::secret::Secret;
use mesh::{ClusterSettings, Placement};

use super::child::{Process, Run};
use super::proxy::Proxy;

const LIMIT: Duration = Duration::from_secs(30);
const SECRET: &str = "a secret that all processes share";

fn knock(address: &str) -> TcpStream {
    let started = Instant::now();
    loop {
        if let Ok(stream) = TcpStream::connect(address) {
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            return stream;
        }
        assert!(started.elapsed() < LIMIT, "nobody listens at {address}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the greeting of a process of the run, as far as a stranger can know it.
fn hello(run: &Run, process: usize, hash: u8) -> Hello {
    let placement = Placement { threads: run.threads, process, addresses: run.addresses.clone() };
    let settings = ClusterSettings {
        hash: [hash; 32],
        secret: Some(secret(SECRET)),
        ..ClusterSettings::default()
    };
    Hello::new(&placement, &settings)
}

fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes(), "the test").unwrap()
}

/// Greets a process, sends a proof with the given secret, and returns the verdict, and whether
/// anything follows it.
fn join(address: &str, hello: &Hello, key: &Secret) -> (Option<Verdict>, bool) {
    let mut stream = knock(address);
    let dialler = hello.encode();
    stream.write_all(&dialler).unwrap();
    let mut listener = vec![0; dialler.len()];
    stream.read_exact(&mut listener).unwrap();
    let said = Transcript { dialler, listener, binding: Vec::new() };
    let proof: [u8; PROOF_BYTES] = said.prove(Some(key), Role::Dialler);
    stream.write_all(&proof).unwrap();
    let mut answer = [0; ANSWER_BYTES];
    stream.read_exact(&mut answer).unwrap();
    let more = matches!(stream.read(&mut [0]), Ok(1));
    (decode_answer(&answer).0, more)
}

#[test]
fn an_impostor_with_everything_but_the_secret_is_dropped() {
    let mut run = Run::new(2, 1);
    run.secret = Some(SECRET);
    let first = run.start("reduce", 0);
    let wrong = secret("some other secret of some length");
    for hash in [1, 9] {
        // With the run's own settings, and with settings that would end a run that trusted them.
        let answer = join(&run.addresses[0], &hello(&run, 1, hash), &wrong);
        assert_eq!(answer, (Some(Verdict::Refused), false));
    }
    // A caller that sends nothing after its greeting receives nothing more.
    let mut curious = knock(&run.addresses[0]);
    let greeting = hello(&run, 1, 9).encode();
    curious.write_all(&greeting).unwrap();
    curious.read_exact(&mut vec![0; greeting.len()]).unwrap();
    curious.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(curious.read(&mut [0]).unwrap_or(0), 0);
    let second = run.start("reduce", 1);
    first.end(LIMIT).expect(0, "");
    second.end(LIMIT).expect(0, "");
}

#[test]
fn what_an_honest_process_said_proves_nothing_the_second_time() {
    let mut run = Run::new(3, 1);
    run.secret = Some(SECRET);
    let proxy = Proxy::new(&run.addresses[0]);
    let mut addresses = run.addresses.clone();
    addresses[0] = proxy.address.clone();
    let hosts = run.hosts_of(1, &addresses);
    // Process 2 is missing, so the set-up does not finish.
    let first = run.start("reduce", 0);
    drop(knock(&run.addresses[0]));
    let second = Process::of(run.command("reduce", 1, 1).env("CLUSTER_HOSTS", hosts));
    let greeting = hello(&run, 1, 1).encode().len();
    let length = greeting + PROOF_BYTES + 8;
    let started = Instant::now();
    while proxy.overheard().len() < length {
        assert!(started.elapsed() < LIMIT, "the second does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut replay = knock(&run.addresses[0]);
    replay.write_all(&proxy.overheard()).unwrap();
    let mut answer = vec![0; greeting + ANSWER_BYTES];
    replay.read_exact(&mut answer).unwrap();
    let answer = answer[greeting..].first_chunk().unwrap();
    assert_eq!(decode_answer(answer).0, Some(Verdict::Refused));
    let third = run.start("reduce", 2);
    for process in [first, second, third] {
        process.end(LIMIT).expect(0, "");
    }
}

#[test]
fn another_build_with_the_secret_is_named() {
    let mut run = Run::new(2, 1);
    run.secret = Some(SECRET);
    let first = run.start("reduce", 0);
    let other = Hello { build: *b"feedfacefeedface", ..hello(&run, 1, 1) };
    let answer = join(&run.addresses[0], &other, &secret(SECRET));
    assert_eq!(answer.0, Some(Verdict::Welcome), "it may see what differs");
    let line = format!("process 1 ({}) is topicmill ", run.addresses[1]);
    let ended = first.end(LIMIT);
    ended.expect_line(64, &line);
    ended.expect(64, "(build feedfacefeedface, protocol ");
}

#[test]
fn a_crowd_that_says_nothing_keeps_nobody_out() {
    let mut run = Run::new(2, 1);
    run.secret = Some(SECRET);
    let first = run.start("reduce", 0);
    let mut crowd: Vec<TcpStream> = (0..200).map(|_| knock(&run.addresses[0])).collect();
    for (number, stream) in crowd.iter_mut().enumerate() {
        // Some send half a greeting; those disconnected meanwhile cannot.
        if number % 2 == 0 {
            let _ = stream.write_all(&hello(&run, 1, 1).encode()[..40]);
        }
    }
    let started = Instant::now();
    let second = run.start("reduce", 1);
    second.end(LIMIT).expect(0, "");
    first.end(LIMIT).expect(0, "");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn nobody_joins_during_the_run() {
    let mut run = Run::new(2, 1);
    run.secret = Some(SECRET);
    let mut processes = run.start_all("wait");
    run.wait_for("ready-0");
    run.wait_for("ready-1");
    for address in &run.addresses {
        // The port closes a moment after the last process has joined.
        let started = Instant::now();
        while let Ok(mut late) = TcpStream::connect(address) {
            let _ = late.write_all(b"GET / HTTP/1.1\r\n\r\n");
            assert!(started.elapsed() < Duration::from_secs(5), "still open");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    assert!(processes.iter_mut().all(Process::is_running));
}
