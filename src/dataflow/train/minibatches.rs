//! The documents of a process that each round samples.

use timely::worker::Worker;

use crate::corpus::sample::Bags;
use crate::dataflow::rounds::Rounds;
use crate::train::schedule::{Position, Schedule};

/// The minibatches of a pass, as indices of a process's documents.
#[derive(Debug)]
pub struct Minibatches {
    minibatches: Vec<Vec<u32>>,
    all: Vec<u32>,
    /// Documents and tokens of each, in this process.
    shares: Vec<[i64; 2]>,
}

impl Minibatches {
    /// Deals the documents of a process.
    pub fn new(schedule: &Schedule, bags: &Bags) -> Self {
        let minibatches = schedule.deal((0..bags.len()).map(|i| bags.document(i)));
        let share = |batch: &Vec<u32>| {
            let tokens = |&i: &u32| bags.bag(i as usize).1.iter().map(|&n| i64::from(n));
            [batch.len() as i64, batch.iter().flat_map(tokens).sum()]
        };
        Self {
            shares: minibatches.iter().map(share).collect(),
            all: (0..bags.len() as u32).collect(),
            minibatches,
        }
    }

    /// The documents that a round samples.
    pub(super) fn of(&self, schedule: &Schedule, position: Position) -> &[u32] {
        let minibatch = schedule.minibatch(position);
        minibatch.map_or(&self.all, |batch| &self.minibatches[batch as usize])
    }

    /// Documents and tokens of the process that a round draws.
    pub(super) fn share(&self, schedule: &Schedule, position: Position) -> [u64; 2] {
        match schedule.minibatch(position) {
            Some(batch) => self.shares[batch as usize].map(|n| n as u64),
            None => [0; 2],
        }
    }

    /// Documents and tokens of each minibatch, over all processes; all workers must ask, `part` 0
    /// speaking for its process.
    pub(super) fn lengths(
        &self,
        worker: &mut Worker,
        rounds: &mut Rounds,
        part: usize,
    ) -> Vec<[i64; 2]> {
        let mine = match part {
            0 => self.shares.clone(),
            _ => vec![[0; 2]; self.shares.len()],
        };
        let sums = rounds.sum(worker, bytemuck::cast_slice(&mine));
        bytemuck::pod_collect_to_vec(&sums)
    }
}
