//! The cost of sending statistics from process to process.
//!
//! `encode_decode`: one block to bytes and back, its words read once. As plain words (the default);
//! in abomonation's layout, with `--features abomonation`; and as timely sends a plain vector of
//! records: by bincode, record by record.
//!
//! `round`: the exchange of a training round between two processes of one worker each, over TCP on
//! this machine: entries to their owners, merged there, and back to both. With the feature, blocks
//! have abomonation's layout there, too. Both processes are threads of this one.

#![allow(clippy::unwrap_used, reason = "what fails here ends the benchmark")]

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use divan::Bencher;
use divan::counter::ItemsCount;
use lda::model::statistics::Assigned;
use mesh::{ClusterSettings, Placement, execute};
use parking_lot::Mutex;
use timely::bytes::arc::BytesMut;
use timely::dataflow::channels::ContainerBytes;
use topicmill::dataflow::block::{Block, MAX_BLOCK_WORDS};
use topicmill::dataflow::rounds::{Merged, RoundSteps, Rounds};
use topicmill::failure::Failure;

const LENGTHS: [usize; 2] = [8 * 1024, MAX_BLOCK_WORDS];
const TOPICS: usize = 100;
const TERMS: usize = 2 * MAX_BLOCK_WORDS;

fn main() {
    divan::main();
}

/// Returns a different entry for every term.
fn entry(term: usize) -> Assigned {
    Assigned { term: term as u32, topic: (term % TOPICS) as u16, count: 1 + (term % 9) as i32 }
}

/// Returns the same as a word.
fn word(term: usize) -> u64 {
    entry(term).word()
}

fn block(length: usize) -> Block {
    Block::to_worker(0, 1, 7, (0..length).map(word).collect())
}

/// XORs a block's words, so that all of them are read.
fn xor(block: &Block) -> u64 {
    block.words().iter().fold(0, |xor, word| xor ^ word)
}

#[divan::bench(args = LENGTHS)]
fn encode_decode_plain(bencher: Bencher<'_, '_>, length: usize) {
    let block = block(length);
    let count = bencher.counter(ItemsCount::new(length));
    count.with_inputs(|| Vec::with_capacity(16 * length)).bench_local_values(|mut bytes| {
        block.write_plain(&mut bytes);
        xor(&Block::from_plain(BytesMut::from(bytes).freeze()))
    });
}

#[cfg(feature = "abomonation")]
#[divan::bench(args = LENGTHS)]
fn encode_decode_abomonation(bencher: Bencher<'_, '_>, length: usize) {
    let block = block(length);
    let count = bencher.counter(ItemsCount::new(length));
    count.with_inputs(|| Vec::with_capacity(16 * length)).bench_local_values(|mut bytes| {
        block.into_bytes(&mut bytes);
        xor(&Block::from_bytes(BytesMut::from(bytes).freeze()))
    });
}

#[divan::bench(args = LENGTHS)]
fn encode_decode_records_by_bincode(bencher: Bencher<'_, '_>, length: usize) {
    let record = |term: usize| (term as u32, (term % TOPICS) as u32, 1_u32);
    let records: Vec<(u32, u32, u32)> = (0..length).map(record).collect();
    let count = bencher.counter(ItemsCount::new(length));
    count.with_inputs(|| Vec::with_capacity(16 * length)).bench_local_values(|mut bytes| {
        records.into_bytes(&mut bytes);
        let records = Vec::<(u32, u32, u32)>::from_bytes(BytesMut::from(bytes).freeze());
        records.iter().fold(0, |xor, (term, topic, n)| xor ^ term ^ topic ^ n)
    });
}

/// A worker that sends `length` entries in each round; and the XOR of all words that came back.
struct Entries {
    length: usize,
    xor: u64,
}

impl RoundSteps for Entries {
    type Round = ();

    fn begin(&mut self, (): ()) -> Result<(), Failure> {
        Ok(())
    }

    fn sample(&mut self, (): ()) -> Result<bool, Failure> {
        Ok(false)
    }

    fn statistics(&mut self, emit: impl FnMut(Assigned)) {
        (0..self.length).map(entry).for_each(emit);
    }

    fn update(&mut self, (): (), merged: &Merged) {
        self.xor = merged.blocks.iter().map(xor).fold(0, |all, one| all ^ one);
    }
}

/// Runs one of two processes: for each of `orders`, a round with that many entries, until `orders`
/// is closed.
fn process(placement: Placement, orders: Receiver<usize>, done: Sender<u64>) {
    // timely requires `Sync` of what its threads share, though there is only one.
    let ends = Arc::new(Mutex::new((orders, done)));
    let rounds = execute(&placement, &ClusterSettings::default(), move |worker| {
        let ends = ends.lock();
        let mut entries = Entries { length: 0, xor: 0 };
        let mut rounds = Rounds::new(worker, 1, [TERMS, TOPICS]);
        while let Ok(length) = ends.0.recv() {
            entries.length = length;
            rounds.run(worker, &mut entries, [()], 0).unwrap();
            ends.1.send(entries.xor).unwrap();
        }
        Ok::<_, Failure>(())
    });
    rounds.unwrap();
}

#[divan::bench(args = LENGTHS)]
fn round(bencher: Bencher<'_, '_>, length: usize) {
    let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let addresses = free.map(|listener| listener.local_addr().unwrap().to_string());
    let processes = [0, 1].map(|number| {
        let placement = Placement { threads: 1, process: number, addresses: addresses.to_vec() };
        let ((order, orders), (done, answers)) = (channel(), channel());
        let handle = thread::spawn(move || process(placement, orders, done));
        (order, answers, handle)
    });
    let one_round = || {
        for (order, ..) in &processes {
            order.send(length).unwrap();
        }
        let xors = [0, 1].map(|process| processes[process].1.recv().unwrap());
        assert_eq!(xors[0], xors[1]);
    };
    one_round(); // connects
    bencher.counter(ItemsCount::new(2 * length)).bench_local(one_round);
    // Both are told to end before either is joined.
    let handles = processes.map(|(_, _, handle)| handle);
    for handle in handles {
        handle.join().unwrap();
    }
}
