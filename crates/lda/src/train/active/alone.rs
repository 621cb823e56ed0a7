//! The documents of a sample on one thread, for schedules in which each round draws its own.

use super::{ActiveSchedule, Comparison, Draw, Influence, Sums};
use crate::bags::Bags;
use crate::train::Setup;

/// The documents of a sample, from which each round draws.
pub(in crate::train) struct ActiveBags {
    pub(in crate::train) schedule: ActiveSchedule,
    pub(in crate::train) influences: Vec<Influence>,
    pub(in crate::train) comparison: Comparison,
    /// The documents of the round, and how they were drawn.
    pub(in crate::train) drawn: Vec<u32>,
    pub(in crate::train) draw: Option<Draw>,
}

impl ActiveBags {
    pub(in crate::train) fn new(sample: &Bags, setup: &Setup<'_>) -> Option<Self> {
        let least = sample.lengths().min().unwrap_or(0) as u64;
        let schedule = ActiveSchedule::new(setup.settings, least)?;
        let bags = (0..sample.len()).map(|i| sample.bag(i));
        Some(Self {
            schedule,
            influences: bags.map(|bag| schedule.first(bag)).collect(),
            comparison: Comparison::new(setup.priors.topic_count()),
            drawn: Vec::new(),
            draw: None,
        })
    }

    /// Draws the documents of a round.
    pub(in crate::train) fn draw(&mut self, sample: &Bags, seed: u64, round: u64, length: f64) {
        let mut sums = Sums::default();
        self.influences.iter().for_each(|&influence| sums.add(influence));
        let draw = self.schedule.draw(&sums, length);
        let documents = (0..).zip(&self.influences);
        let taken = documents.filter(|&(index, &influence)| {
            draw.takes(influence, [seed, round, sample.document(index as usize)])
        });
        self.drawn = taken.map(|(index, _)| index).collect();
        self.draw = Some(draw);
    }

    /// Returns how often an assignment of a document counts; `key` is the seed, the round and the document.
    pub(in crate::train) fn weight(&self, index: usize, key: [u64; 3]) -> u32 {
        let influence = self.influences[index];
        self.draw.map_or(1, |draw| draw.weight(influence, key))
    }
}
