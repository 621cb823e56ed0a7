//! The work of a run's workers, and that all processes and threads get the same result.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use mesh::{Exit, Failure, bytes_sent, traffic as traffic_so_far};
use sha2::{Digest, Sha256};
use timely::dataflow::ProbeHandle;
use timely::dataflow::channels::pact::ParallelizationContract;
use timely::dataflow::operators::{Input, Operator, Probe};
use timely::worker::Worker;
use topicmill::dataflow::block::{Block, MAX_BLOCK_WORDS};
use topicmill::dataflow::exchange::{BlockBuilder, BlockInput, Broadcast, route};
use topicmill::dataflow::gather::{all_gather, all_gather_blocks, barrier};
use topicmill::dataflow::process::Once;

use super::child::Run;

/// Runs the work of every worker in a scenario; its text becomes a line of the process's result.
pub fn scenario(
    name: &str,
    process: usize,
    output: PathBuf,
) -> impl Fn(&mut Worker) -> Result<String, Failure> + Send + Sync + 'static {
    let name = name.to_owned();
    move |worker| {
        let index = worker.index();
        match name.as_str() {
            "reduce" => Ok(reduce(worker)),
            "rounds" => Ok(rounds(worker)),
            "gather" => Ok(gather(worker)),
            "traffic" => Ok(traffic(worker)),
            "trickle" => Ok(trickle(worker)),
            "idle" => {
                barrier(worker);
                std::thread::sleep(Duration::from_secs(5));
                barrier(worker);
                Ok("alive".to_owned())
            }
            "panic" | "error" | "signal" => {
                barrier(worker);
                mark(&output, &format!("ready-{process}"));
                if index == 1 {
                    stop(&name)?;
                }
                barrier(worker);
                Ok(String::new())
            }
            "wait" => {
                barrier(worker);
                mark(&output, &format!("ready-{process}"));
                if process + 1 == worker.peers() {
                    std::thread::sleep(Duration::from_secs(60));
                }
                barrier(worker);
                Ok(String::new())
            }
            "stall" => {
                barrier(worker);
                liveness::stage("a long stage");
                if index == 3 {
                    loop {
                        std::hint::spin_loop();
                    }
                }
                barrier(worker);
                Ok(String::new())
            }
            "slow" => {
                // One worker of process 0 works, the other waits for its value, and process 1 waits for messages.
                if index < 2 {
                    let time = Duration::from_secs(5);
                    SLOWLY_MADE.get(|| Ok::<_, Failure>(work_for(time)))?;
                }
                barrier(worker);
                Ok("alive".to_owned())
            }
            name => panic!("no scenario {name}"),
        }
    }
}

/// A value that one worker of a process computes and another waits for.
static SLOWLY_MADE: LazyLock<Once<Duration>> = LazyLock::new(Once::default);

/// Works for `time` with signs of life; returns the actual duration.
fn work_for(time: Duration) -> Duration {
    let started = Instant::now();
    while started.elapsed() < time {
        std::thread::sleep(Duration::from_millis(100));
        liveness::tick();
    }
    started.elapsed()
}

/// Ends the worker that fails.
fn stop(how: &str) -> Result<(), Failure> {
    let (exit, message) = match how {
        "panic" => panic!("a worker's bug"),
        "signal" => (Exit::Interrupted, "asked to end"),
        _ => (Exit::Data, "line 7 of the input is damaged"),
    };
    Err(Failure { exit, message: message.to_owned() })
}

/// Writes a mark for the test.
fn mark(output: &Path, name: &str) {
    std::fs::write(output.join(name), "").unwrap();
}

/// Sums the contributions of all workers.
fn reduce(worker: &mut Worker) -> String {
    let peers = worker.peers() as u64;
    // The total is the same for any number of workers.
    let mine: u64 = (0..1000).filter(|n| n % peers == worker.index() as u64).map(|n| n * n).sum();
    let all = all_gather(worker, &mine.to_le_bytes());
    let sum: u64 =
        all.iter().map(|bytes| u64::from_le_bytes(bytes.as_slice().try_into().unwrap())).sum();
    sum.to_string()
}

/// Gathers nothing, a little, and 20 MB; returns a digest of everything in worker order.
fn gather(worker: &mut Worker) -> String {
    let mut digest = Sha256::new();
    let index = worker.index();
    for length in [0, 5 + index, 5_000_000 + index] {
        let mine: Vec<u8> = (0..length).map(|n| (n % 251 + index) as u8).collect();
        for bytes in all_gather(worker, &mine) {
            digest.update(bytes.len().to_le_bytes());
            digest.update(&bytes);
        }
    }
    format!("{:x?}", digest.finalize())
}

/// Gathers a small message that takes seconds on a slow link; returns its sum.
fn trickle(worker: &mut Worker) -> String {
    let mine = vec![1_u8; 150_000];
    let all = all_gather(worker, &mine);
    let sum: u64 = all.iter().flatten().map(|&byte| u64::from(byte)).sum();
    sum.to_string()
}

/// Runs 200 rounds over each pact; returns the blocks that arrived, and the sum of their words.
fn rounds(worker: &mut Worker) -> String {
    let (index, peers) = (worker.index(), worker.peers());
    let routed = exchange(worker, route(), |round| {
        (0..peers)
            .map(|target| Block::to_worker(index, target, round, vec![(index + target) as u64]))
            .collect()
    });
    let broadcast = exchange(worker, Broadcast, |round| {
        vec![Block::to_everyone(index, peers, round, vec![round + index as u64]); 2]
    });
    for (round, (count, sum)) in (0..).zip(routed) {
        let expected: usize = (0..peers).map(|source| source + index).sum();
        assert_eq!((count, sum), (peers, expected as u64), "round {round}");
    }
    for (round, (count, sum)) in (0..).zip(broadcast) {
        let expected: u64 = (0..peers as u64).map(|source| 2 * (round + source)).sum();
        assert_eq!((count, sum), (2 * peers, expected), "round {round}");
    }
    "complete".to_owned()
}

/// Returns the number of blocks and the sum of words that arrived in each of 200 rounds.
fn exchange<P: ParallelizationContract<u64, Block>>(
    worker: &mut Worker,
    pact: P,
    blocks: impl Fn(u64) -> Vec<Block>,
) -> Vec<(usize, u64)> {
    const ROUNDS: u64 = 200;
    let sums = Rc::new(RefCell::new(vec![(0, 0); ROUNDS as usize]));
    let filled = Rc::clone(&sums);
    let probe = ProbeHandle::new();
    let mut input: BlockInput<u64> = worker.dataflow(|scope| {
        let (input, stream) = scope.new_input_with_builder::<BlockBuilder>();
        stream
            .unary::<BlockBuilder, _, _, _>(pact, "sum", |_, _| {
                move |input, _output| {
                    input.for_each(|time, block| {
                        let sum = &mut filled.borrow_mut()[*time.time() as usize];
                        sum.0 += 1;
                        sum.1 += block.words().iter().sum::<u64>();
                    });
                }
            })
            .probe_with(&probe);
        input
    });
    let mut seen = Vec::new();
    for round in 0..ROUNDS {
        for mut block in blocks(round) {
            input.send_batch(&mut block);
        }
        input.advance_to(round + 1);
        while probe.less_than(&(round + 1)) {
            worker.step_or_park(Some(Duration::from_millis(100)));
        }
        seen.push(sums.borrow()[round as usize]);
    }
    seen
}

/// Gathers 16.8 MB from all workers together; returns the bytes that this process sent, as a
/// multiple of its workers' contributions, and the milliseconds per gathering.
fn traffic(worker: &mut Worker) -> String {
    let words = 16_800_000 / 8 / worker.peers();
    let mine = vec![worker.index() as u64; words];
    let pieces: Vec<Vec<u64>> = mine.chunks(MAX_BLOCK_WORDS).map(<[u64]>::to_vec).collect();
    let mut times = Vec::new();
    barrier(worker);
    let before = bytes_sent();
    for _ in 0..10 {
        barrier(worker);
        let started = Instant::now();
        let gathered = all_gather_blocks(worker, pieces.clone());
        times.push(started.elapsed().as_secs_f64() * 1e3);
        let total: usize = gathered.iter().flatten().map(|b| b.words().len()).sum();
        assert_eq!(total, words * worker.peers());
    }
    barrier(worker);
    // The sending thread counts bytes a moment after we send them.
    std::thread::sleep(Duration::from_millis(100));
    let sent = (bytes_sent() - before) as f64 / 10.0;
    times.sort_by(f64::total_cmp);
    let threads = 2.0;
    let ratio = sent / (words as f64 * 8.0 * threads);
    let payload: u64 = traffic_so_far().iter().map(|peer| peer.payload_sent).sum();
    let wire: u64 = traffic_so_far().iter().map(|peer| peer.sent).sum();
    let squeezed = wire as f64 / payload as f64;
    format!("{ratio:.4} {:.1} {:.1} {squeezed:.4}", times[0], times[5])
}

/// Runs a scenario that must succeed; returns the workers' texts, in order.
pub fn complete(run: &Run, scenario: &str) -> Vec<String> {
    let processes = run.start_all(scenario);
    for process in processes {
        let ended = process.end(Duration::from_secs(90));
        ended.expect(0, "");
        let said: String = ended.stdout.chars().filter(|c| !"\n.".contains(*c)).collect();
        assert_eq!(said, "running 1 test", "something was printed");
        assert_eq!(ended.stderr, "");
    }
    let count = run.addresses.len();
    (0..count)
        .flat_map(|process| {
            let result = run.result(process);
            let lines: Vec<String> = result.lines().map(str::to_owned).collect();
            assert_eq!(lines.len(), run.threads);
            lines
        })
        .collect()
}

#[test]
fn any_placement_gives_the_same_sum_on_every_worker() {
    for (processes, threads) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)] {
        let run = Run::new(processes, threads);
        let expected: u64 = (0..1000).map(|n: u64| n * n).sum();
        for sum in complete(&run, "reduce") {
            assert_eq!(sum, expected.to_string(), "{processes} x {threads}");
        }
    }
}

#[test]
fn nothing_little_and_much_is_gathered_by_two_processes_of_two_threads() {
    let run = Run::new(2, 2);
    let digests = complete(&run, "gather");
    assert!(digests.iter().all(|digest| *digest == digests[0] && digest.len() > 60));
}

#[test]
fn every_block_arrives_once_in_every_round() {
    let run = Run::new(2, 2);
    let lines = complete(&run, "rounds");
    assert_eq!(lines, vec!["complete"; 4]);
}

#[test]
fn a_broadcast_sends_one_copy_to_each_process() {
    let run = Run::new(2, 2);
    let lines = complete(&run, "traffic");
    println!("copies sent, best and median ms to gather 16.8 MB: {lines:?}");
    for line in lines {
        let copies: f64 = line.split(' ').next().unwrap().parse().unwrap();
        assert!((0.99..1.02).contains(&copies), "{line}");
    }
}
