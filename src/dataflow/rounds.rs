//! The rounds of workers that sample documents: documents are sampled, statistics merged, and the model changed
//! everywhere.
//!
//! ```text
//! sample ──▶ (combine) ──route by term──▶ merge ──one copy for each process──▶ change the model
//! ```
//!
//! The dataflow lives as long as training does, with one timestamp per round. A worker begins a round when the
//! frontier at the end shows that enough of the earlier rounds have arrived. Until then, and after every few
//! documents, it merges what others have sampled. Worker o of W owns the terms w with w mod W = o: it receives all
//! counts of such a term, so that each (term, topic) is changed by one addition of one integer, whichever worker
//! sampled it. Owners also sum the counts of each topic, and worker 0 sums other integers, so that no other worker has
//! to process all of them. If several processes have several threads, each process sums its own entries before it
//! sends them. One copy of the merged statistics goes to each process. A worker whose process has received a
//! signal reports it with its entries, so that all workers learn of it in the same round.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use timely::dataflow::operators::{Input, Operator};
use timely::worker::Worker;

use super::block::Block;
use super::exchange::{BlockBuilder, BlockInput, Broadcast};
use super::gather::PARK;
pub use super::merge::Merged;
use super::merge::{
    Combiner, INTERRUPT, Owner, SUM, combine_in_process, give_vector, merge_at_owners, to_owners,
};
use crate::failure::Failure;
use lda::model::statistics::Assigned;
use mesh::interrupt;

/// A worker's part of a round.
pub trait RoundSteps {
    /// The parameters in which rounds differ.
    type Round: Copy;

    /// Prepares for sampling the documents of a round.
    ///
    /// # Errors
    /// Any error of a step, which ends the run.
    fn begin(&mut self, round: Self::Round) -> Result<(), Failure>;

    /// Takes the local step, for some of the documents; returns true while there are more.
    ///
    /// # Errors
    /// Any error of a step, which ends the run.
    fn sample(&mut self, round: Self::Round) -> Result<bool, Failure>;

    /// Passes the statistics of the documents sampled since the last call to `emit`.
    fn statistics(&mut self, emit: impl FnMut(Assigned));

    /// Takes the global step: changes the model by what all workers have found in a round.
    fn update(&mut self, round: Self::Round, merged: &Merged);
}

/// The dataflow that merges the statistics of rounds, on one worker.
pub struct Rounds {
    input: BlockInput<u64>,
    received: Rc<RefCell<Arrived>>,
    index: usize,
    topics: usize,
    /// Entries to send to each owner.
    entries: Vec<Vec<u64>>,
    dataflow: usize,
}

/// The results that have arrived.
#[derive(Default)]
struct Arrived {
    /// By the time of their rounds.
    merged: BTreeMap<u64, Merged>,
    /// The first time of which more may arrive.
    incomplete: u64,
}

impl Rounds {
    /// Builds the dataflow for V terms and K topics, with `threads` workers in each process; every
    /// worker must.
    pub fn new(worker: &mut Worker, threads: usize, [terms, topics]: [usize; 2]) -> Self {
        let (index, peers) = (worker.index(), worker.peers());
        let received = Rc::new(RefCell::new(Arrived::default()));
        let (arrived, dataflow) = (Rc::clone(&received), worker.next_dataflow_index());
        let input = worker.dataflow_named::<u64, _, _>("rounds", |scope| {
            let (input, mut statistics) = scope.new_input_with_builder::<BlockBuilder>();
            if threads > 1 && threads < peers {
                let combiner = Combiner::new([index, peers, threads], [terms, topics]);
                statistics = combine_in_process(statistics, combiner);
            }
            let merged = merge_at_owners(statistics, Owner::new(index, peers, terms, topics));
            merged.sink(Broadcast, "receive", move |(input, frontier)| {
                let mut arrived = arrived.borrow_mut();
                input.for_each(|time, block| {
                    let merged = arrived.merged.entry(*time.time()).or_default();
                    merged.take(std::mem::take(block));
                });
                let first = frontier.frontier().first().copied();
                arrived.incomplete = first.unwrap_or(u64::MAX);
            });
            input
        });
        Self { input, received, index, topics, entries: vec![Vec::new(); peers], dataflow }
    }

    /// Runs rounds, the same on all workers, and waits until all have changed the model. A round
    /// samples against the model as it was `lag` rounds before.
    ///
    /// # Errors
    /// Any error that ends the run.
    pub fn run<S: RoundSteps>(
        &mut self,
        worker: &mut Worker,
        steps: &mut S,
        rounds: impl IntoIterator<Item = S::Round>,
        lag: usize,
    ) -> Result<(), Failure> {
        let mut outstanding = VecDeque::new();
        for round in rounds {
            while outstanding.len() > lag
                && let Some((time, round)) = outstanding.pop_front()
            {
                steps.update(round, &self.merged(worker, time));
            }
            if let Err(error) = sample(worker, steps, round) {
                // Without the dataflow no other worker considers the round complete.
                worker.drop_dataflow(self.dataflow);
                return Err(error);
            }
            outstanding.push_back((self.send(steps), round));
        }
        for (time, round) in outstanding {
            steps.update(round, &self.merged(worker, time));
        }
        Ok(())
    }

    /// Sums all workers' `values`, place by place; every worker must pass the same number of them.
    pub(crate) fn sum(&mut self, worker: &mut Worker, values: &[i64]) -> Vec<i64> {
        give_vector(values, SUM, &mut |tag, words| {
            self.input.send_batch(&mut Block::to_worker(self.index, 0, tag, words));
        });
        let time = self.end_time();
        let mut sums = self.merged(worker, time).sums;
        sums.resize(values.len(), 0);
        sums
    }

    /// Sends the statistics of the round that was sampled to the owners of their terms; returns its time.
    fn send(&mut self, steps: &mut impl RoundSteps) -> u64 {
        let (index, entries) = (self.index, &mut self.entries);
        let peers = entries.len();
        steps.statistics(|entry| entries[entry.term as usize % peers].push(entry.word()));
        for mut block in to_owners(index, entries) {
            self.input.send_batch(&mut block);
        }
        if interrupt::is_wanted() {
            self.input.send_batch(&mut Block::to_worker(index, index, INTERRUPT, Vec::new()));
        }
        self.end_time()
    }

    /// Ends the current time, and returns it.
    fn end_time(&mut self) -> u64 {
        let time = *self.input.time();
        self.input.advance_to(time + 1);
        time
    }

    /// Waits for what all workers have sent at a time.
    fn merged(&self, worker: &mut Worker, time: u64) -> Merged {
        while self.received.borrow().incomplete <= time {
            worker.step_or_park(Some(PARK));
        }
        let arrived = self.received.borrow_mut().merged.remove(&time);
        let mut merged = arrived.unwrap_or_default();
        merged.blocks.sort_by_key(Block::source);
        merged.topic_counts.resize(self.topics, 0);
        merged
    }
}

/// Samples the documents of a round, and merges what others have sampled in between.
fn sample<S: RoundSteps>(
    worker: &mut Worker,
    steps: &mut S,
    round: S::Round,
) -> Result<(), Failure> {
    steps.begin(round)?;
    while steps.sample(round)? {
        worker.step();
    }
    Ok(())
}
