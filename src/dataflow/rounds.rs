//! The loop of rounds: documents are sampled, statistics merged, and the model changed everywhere.
//!
//! ```text
//! start ──▶ sample ──▶ (combine) ──route by term──▶ merge ──one copy for each process──┐
//!              ▲                                                                        │
//!              └──────────────────────── feedback to next round ────────────────────────┘
//! ```
//!
//! It lives as long as training does, with one timestamp per round; a worker begins a round when
//! the frontier of the feedback shows that enough of the earlier rounds have come back. Until then,
//! and after every few documents, it merges what others have sampled. Worker o of W owns the terms w
//! with w mod W = o: it receives all counts of such a term, so that each (term, topic) is changed by
//! one addition of one integer, whichever worker sampled it. Owners also sum the counts of each
//! topic, and worker 0 sums other integers, so that no other worker has to process all of them. If
//! several processes have several threads, each process sums its own entries before it sends them.
//! One copy of the merged statistics goes to each process. A worker whose process has received a
//! signal reports it with its entries, so that all workers learn of it in the same round.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::{Capability, ConnectLoop, Feedback, Input, Operator};
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

/// The tag of the block that starts a worker's rounds; it is not sent on.
const START: u64 = u64::MAX;

/// A worker's part of a round.
pub trait Sampling: 'static {
    /// The parameters in which rounds differ.
    type Round: Copy + 'static;

    /// Prepares for sampling the documents of a round.
    ///
    /// # Errors
    /// Any error of a step, which ends the run.
    fn begin(&mut self, round: Self::Round) -> Result<(), Failure>;

    /// Takes the local step, for some of the documents; returns true while there are more.
    fn sample(&mut self, round: Self::Round) -> Result<bool, Failure>;

    /// Passes the statistics of the documents sampled since the last call to `emit`.
    fn statistics(&mut self, emit: impl FnMut(Assigned));

    /// Takes the global step: changes the model by what all workers have found in a round.
    fn update(&mut self, round: Self::Round, merged: &Merged);
}

/// The loop, on one worker.
pub struct Rounds<S: Sampling> {
    input: BlockInput<u64>,
    state: Rc<RefCell<State<S>>>,
    index: usize,
    dataflow: usize,
}

impl<S: Sampling> Rounds<S> {
    /// Builds the dataflow for V terms and K topics, with `threads` workers in each process; every
    /// worker must.
    pub fn new(worker: &mut Worker, threads: usize, size: [usize; 2], sampling: S) -> Self {
        let (index, peers, [terms, topics]) = (worker.index(), worker.peers(), size);
        let state = Rc::new(RefCell::new(State::new(sampling, [index, peers, topics])));
        let (sampled, dataflow) = (Rc::clone(&state), worker.next_dataflow_index());
        let input = worker.dataflow_named::<u64, _, _>("rounds", |scope| {
            let (input, start) = scope.new_input_with_builder::<BlockBuilder>();
            let (feedback, changes) = scope.feedback(1);
            let mut statistics = sample(start, changes, sampled);
            if threads > 1 && threads < peers {
                let combiner = Combiner::new([index, peers, threads], size);
                statistics = combine_in_process(statistics, combiner);
            }
            let owner = Owner::new(index, peers, terms, topics);
            merge_at_owners(statistics, owner).connect_loop(feedback);
            input
        });
        Self { input, state, index, dataflow }
    }

    /// Borrows the worker's samplers and state. Drop the borrow before the next call.
    pub fn sampling(&self) -> RefMut<'_, S> {
        RefMut::map(self.state.borrow_mut(), |state| &mut state.sampling)
    }

    /// Runs rounds, the same on all workers, and waits until all have changed the model. A round
    /// samples against the model as it was `lag` rounds before.
    ///
    /// # Errors
    /// Any error that ends the run.
    pub fn run(
        &mut self,
        worker: &mut Worker,
        rounds: VecDeque<S::Round>,
        lag: usize,
    ) -> Result<(), Failure> {
        let end = self.input.time() + rounds.len() as u64;
        {
            let mut state = self.state.borrow_mut();
            (state.rounds, state.lag) = (rounds, lag);
        }
        let mut start = Block::to_worker(self.index, self.index, START, Vec::new());
        self.input.send_batch(&mut start);
        self.input.advance_to(end);
        self.finish(worker)
    }

    /// Sums all workers' `values`, place by place; every worker must pass the same number of them.
    ///
    /// # Errors
    /// Any error that ends the run.
    pub(crate) fn sum(&mut self, worker: &mut Worker, values: &[i64]) -> Result<Vec<i64>, Failure> {
        give_vector(values, SUM, &mut |tag, words| {
            let mut block = Block::to_worker(self.index, 0, tag, words);
            self.input.send_batch(&mut block);
        });
        let time = *self.input.time();
        self.state.borrow_mut().outstanding.push_back((time, None));
        self.input.advance_to(time + 1);
        self.finish(worker)?;
        let mut sums = std::mem::take(&mut self.state.borrow_mut().sums);
        sums.resize(values.len(), 0);
        Ok(sums)
    }

    /// Steps until everything requested is done.
    fn finish(&self, worker: &mut Worker) -> Result<(), Failure> {
        loop {
            {
                let mut state = self.state.borrow_mut();
                if let Some(error) = state.failure.take() {
                    worker.drop_dataflow(self.dataflow);
                    return Err(error);
                }
                if state.is_idle() {
                    return Ok(());
                }
            }
            worker.step_or_park(Some(PARK));
        }
    }
}

/// The state of a worker in its rounds.
struct State<S: Sampling> {
    sampling: S,
    index: usize,
    topics: usize,
    lag: usize,
    /// Entries to send to each owner.
    entries: Vec<Vec<u64>>,
    /// Rounds to come.
    rounds: VecDeque<S::Round>,
    /// The round that is being sampled.
    current: Option<S::Round>,
    /// Rounds that have been sampled but have not changed the model yet, oldest first, by their time;
    /// `None` for a sum.
    outstanding: VecDeque<(u64, Option<S::Round>)>,
    /// The results that have come back, by the time of their rounds.
    arrived: BTreeMap<u64, Merged>,
    sums: Vec<i64>,
    /// The error that ends the run. The worker keeps its capability, so that no other considers the round complete.
    failure: Option<Failure>,
}

/// The next step of a worker.
enum Next {
    /// It waits for what others have sampled.
    Wait,
    /// It continues, after other operators have run.
    Continue,
    /// It sends its statistics of a round, and continues.
    Send(Vec<Block>),
}

impl<S: Sampling> State<S> {
    fn new(sampling: S, [index, peers, topics]: [usize; 3]) -> Self {
        Self {
            sampling,
            index,
            topics,
            lag: 0,
            entries: vec![Vec::new(); peers],
            rounds: VecDeque::new(),
            current: None,
            outstanding: VecDeque::new(),
            arrived: BTreeMap::new(),
            sums: Vec::new(),
            failure: None,
        }
    }

    fn is_sampling(&self) -> bool {
        self.current.is_some() || !self.rounds.is_empty()
    }

    fn is_idle(&self) -> bool {
        !self.is_sampling() && self.outstanding.is_empty()
    }

    /// Does one piece of work. `has_come` tells whether all of a round has come back.
    fn advance(&mut self, time: u64, has_come: impl Fn(u64) -> bool) -> Result<Next, Failure> {
        if let Some(round) = self.current {
            if self.sampling.sample(round)? {
                return Ok(Next::Continue);
            }
            self.current = None;
            self.outstanding.push_back((time, Some(round)));
            return Ok(Next::Send(self.statistics()));
        }
        let lag = if self.rounds.is_empty() { 0 } else { self.lag };
        while self.outstanding.len() > lag
            && let Some(&(time, round)) = self.outstanding.front()
        {
            if !has_come(time) {
                return Ok(Next::Wait);
            }
            self.outstanding.pop_front();
            let mut merged = self.arrived.remove(&time).unwrap_or_default();
            merged.blocks.sort_by_key(Block::source);
            merged.topic_counts.resize(self.topics, 0);
            match round {
                Some(round) => self.sampling.update(round, &merged),
                None => self.sums = merged.sums,
            }
        }
        let Some(round) = self.rounds.pop_front() else {
            return Ok(Next::Wait);
        };
        self.sampling.begin(round)?;
        self.current = Some(round);
        Ok(Next::Continue)
    }

    /// Returns the statistics of the round that was sampled, for the owners of their terms.
    fn statistics(&mut self) -> Vec<Block> {
        let (index, peers, entries) = (self.index, self.entries.len(), &mut self.entries);
        self.sampling.statistics(|entry| entries[entry.term as usize % peers].push(entry.word()));
        let mut blocks: Vec<Block> = to_owners(index, entries).collect();
        if interrupt::is_wanted() {
            blocks.push(Block::to_worker(index, index, INTERRUPT, Vec::new()));
        }
        blocks
    }
}

/// Runs the requested rounds from `start` on, as `changes` allow; outputs the statistics of this
/// worker's documents, and passes on what is to be summed.
fn sample<'scope, S: Sampling>(
    start: Stream<'scope, u64, Block>,
    changes: Stream<'scope, u64, Block>,
    state: Rc<RefCell<State<S>>>,
) -> Stream<'scope, u64, Block> {
    let scope = start.scope();
    start.binary_frontier::<_, BlockBuilder, _, _, _, _>(
        changes,
        Pipeline,
        Broadcast,
        "sample",
        |_, info| {
            let activator = scope.activator_for(info.address);
            let mut now: Option<Capability<u64>> = None;
            move |(start, _), (changes, frontier), output| {
                start.for_each(|time, block| match block.tag() {
                    START => now = Some(time.retain(0)),
                    _ => output.session(&time).give_container(block),
                });
                let mut state = state.borrow_mut();
                changes.for_each(|time, block| {
                    let merged = state.arrived.entry(time.time() - 1).or_default();
                    merged.take(std::mem::take(block));
                });
                let time = now.as_ref().map_or(0, |now| *now.time());
                match state.advance(time, |round| !frontier.less_equal(&(round + 1))) {
                    Ok(Next::Wait) => {}
                    Ok(Next::Continue) => activator.activate(),
                    Ok(Next::Send(blocks)) => {
                        let now = now.as_mut().expect("a round has begun");
                        let mut session = output.session(now);
                        for mut block in blocks {
                            session.give_container(&mut block);
                        }
                        drop(session);
                        now.downgrade(&(time + 1));
                        activator.activate();
                    }
                    Err(error) => state.failure = Some(error),
                }
                if !state.is_sampling() && state.failure.is_none() {
                    now = None;
                }
            }
        },
    )
}
