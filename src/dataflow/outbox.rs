//! Messages of words, each from one worker to another: collected into blocks, and delivered whole.

use timely::dataflow::ProbeHandle;
use timely::dataflow::operators::{Input, Operator, Probe};
use timely::worker::Worker;

use super::block::Block;
use super::exchange::{BlockBuilder, BlockInput, route};
use super::gather::PARK;

/// Words that are collected for a worker before they are sent.
const BATCH_WORDS: usize = 8 * 1024;

/// The messages that a worker sends.
pub struct Outbox {
    input: BlockInput<u64>,
    probe: ProbeHandle<u64>,
    waiting: Vec<Vec<u64>>,
    index: usize,
}

impl Outbox {
    /// Builds a dataflow of this name; every worker must. `receive` gets the words of what comes for
    /// this worker: some messages, one after the other.
    pub fn new(worker: &mut Worker, name: &str, mut receive: impl FnMut(&[u64]) + 'static) -> Self {
        let probe = ProbeHandle::new();
        let input = worker.dataflow_named::<u64, _, _>(name, |scope| {
            let (input, stream) = scope.new_input_with_builder::<BlockBuilder>();
            stream
                .unary::<BlockBuilder, _, _, _>(route(), "receive", |_, _| {
                    move |input, _output| {
                        input.for_each(|_, block| receive(block.words()));
                    }
                })
                .probe_with(&probe);
            input
        });
        Self {
            input,
            probe,
            waiting: vec![Vec::new(); worker.peers()],
            index: worker.index(),
        }
    }

    /// The worker for which a key is: key mod workers.
    pub fn target(&self, key: u64) -> usize {
        (key % self.waiting.len() as u64) as usize
    }

    /// Sends a message to a worker; with [`BATCH_WORDS`] it must fit in a block.
    pub fn send(&mut self, target: usize, message: impl IntoIterator<Item = u64>) {
        let words = &mut self.waiting[target];
        words.extend(message);
        if words.len() >= BATCH_WORDS {
            self.flush(target);
        }
    }

    fn flush(&mut self, target: usize) {
        let words = std::mem::take(&mut self.waiting[target]);
        let mut block = Block::to_worker(self.index, target, 0, words);
        self.input.send_batch(&mut block);
    }

    /// Waits until every worker has received all messages for it.
    pub fn finish(mut self, worker: &mut Worker) {
        (0..self.waiting.len()).for_each(|target| self.flush(target));
        self.input.close();
        while !self.probe.done() {
            worker.step_or_park(Some(PARK));
        }
    }
}
