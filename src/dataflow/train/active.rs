//! The documents of a process if each round draws its own (`lda::train::active`).

use std::sync::Arc;

use parking_lot::RwLock;

use crate::assignments::Influences;
use crate::failure::Failure;
use corpus::minibatches::{Minibatch, Minibatches};
use lda::train::active::{ActiveSchedule, Draw, InfluenceSums};

/// The documents of a process with their influences, and those that the round draws.
pub struct ActiveDocuments {
    pub(super) schedule: ActiveSchedule,
    /// The documents' numbers in the collection.
    numbers: Vec<u64>,
    pub(super) influences: Arc<Influences>,
    drawn: RwLock<Option<Drawn>>,
}

/// The draw of a round, and those of the process's documents that were drawn.
struct Drawn {
    draw: Draw,
    seed: u64,
    round: u64,
    minibatch: Minibatch,
    /// Documents and tokens.
    length: [u64; 2],
}

impl ActiveDocuments {
    /// Creates them for documents that have not been visited.
    ///
    /// # Errors
    /// The documents do not fit in memory.
    pub fn new(schedule: ActiveSchedule, training: &Minibatches) -> Result<Self, Failure> {
        let refused = || {
            let message = "the sample of a process is larger than train.sample_mib, and documents are \
                           drawn from memory: raise it, use more processes, or set train.schedule to \
                           \"uniform\" or \"influence\"";
            Failure::data(message)
        };
        let all = (0..training.document_count() as u32).collect();
        let all = training.pick(all).ok_or_else(refused)?;
        let first = |index| schedule.first(all.bag(index));
        Ok(Self {
            schedule,
            numbers: (0..all.len()).map(|index| all.document(index)).collect(),
            influences: Arc::new(Influences::new((0..all.len()).map(first))),
            drawn: RwLock::new(None),
        })
    }

    /// Returns the influence of each document, remembered with its assignments.
    pub fn influences(&self) -> Arc<Influences> {
        Arc::clone(&self.influences)
    }

    /// Returns the sums by which documents are drawn.
    pub(super) fn sums(&self) -> InfluenceSums {
        let mut sums = InfluenceSums::default();
        (0..self.numbers.len()).for_each(|index| sums.add(self.influences.get(index)));
        sums
    }

    /// Draws the process's documents of a round; returns their number and tokens.
    pub(super) fn draw(
        &self,
        draw: Draw,
        seed: u64,
        round: u64,
        training: &Minibatches,
    ) -> [u64; 2] {
        let takes = |&index: &u32| {
            let (influence, number) =
                (self.influences.get(index as usize), self.numbers[index as usize]);
            draw.takes(influence, [seed, round, number])
        };
        let list = (0..self.numbers.len() as u32).filter(takes).collect();
        let minibatch = training.pick(list).expect("documents in memory");
        let tokens = |index| minibatch.bag(index).token_count();
        let length = [minibatch.len() as u64, (0..minibatch.len()).map(tokens).sum()];
        *self.drawn.write() = Some(Drawn { draw, seed, round, minibatch, length });
        length
    }

    fn with_drawn<T>(&self, read: impl FnOnce(&Drawn) -> T) -> T {
        let drawn = self.drawn.read();
        read(drawn.as_ref().expect("documents are drawn before a round"))
    }

    /// Returns the process's documents of the round.
    pub(super) fn minibatch(&self) -> Minibatch {
        self.with_drawn(|drawn| drawn.minibatch.clone())
    }

    /// Returns their number and tokens.
    pub(super) fn length(&self) -> [u64; 2] {
        self.with_drawn(|drawn| drawn.length)
    }

    /// Returns how many times an assignment of a drawn document counts.
    pub(super) fn weight(&self, index: usize) -> u32 {
        let number = self.numbers[index];
        self.with_drawn(|drawn| {
            let key = [drawn.seed, drawn.round, number];
            drawn.draw.weight(self.influences.get(index), key)
        })
    }
}
