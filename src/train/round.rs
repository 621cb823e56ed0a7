//! The local step of a round: sampling the documents of a minibatch against fixed factors, and
//! counting the assignments (Mimno 2012, Algorithm 1, inner loops, and Eq. 10).

use super::TrainError;
use super::settings::TrainSettings;
use crate::infer::Bag;
use crate::infer::sampler::Sampler;
use crate::math::random::{Stage, Stream};
use crate::model::factors::FactorTable;
use crate::model::statistics::Aggregator;

/// What identifies a document's random stream: it depends on nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamKey {
    /// The job's seed.
    pub seed: u64,
    /// The round.
    pub round: u64,
    /// The document's number in the collection.
    pub document: u64,
}

/// Samples documents, one after the other, and adds up their statistics.
#[derive(Debug)]
pub struct LocalStep {
    sampler: Sampler,
    statistics: Aggregator,
    tokens: u64,
}

impl LocalStep {
    /// For a vocabulary of `vocabulary_size` terms and `topic_count` topics.
    pub fn new(vocabulary_size: usize, topic_count: usize) -> Self {
        Self {
            sampler: Sampler::default(),
            statistics: Aggregator::new(vocabulary_size, topic_count),
            tokens: 0,
        }
    }

    /// Samples one document: the sequential first sweep, the burn-in sweeps, the kept sweeps.
    pub fn sample(
        &mut self,
        key: StreamKey,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        settings: &TrainSettings,
    ) -> Result<(), TrainError> {
        let mut stream = Stream::keyed(key.seed, Stage::Train, key.round, key.document);
        let error = |source| TrainError::ImpossibleDraw {
            document: key.document,
            source,
        };
        self.sampler.start(bag, table);
        for _ in 0..=settings.burn_in_sweeps {
            self.sampler.sweep(table, &mut stream).map_err(error)?;
        }
        for _ in 0..settings.kept_sweeps {
            self.sampler.sweep(table, &mut stream).map_err(error)?;
            let statistics = &mut self.statistics;
            self.sampler
                .for_each_assignment(|term, topic| statistics.add(term, topic));
        }
        self.tokens += self.sampler.token_count() as u64;
        Ok(())
    }

    /// The statistics since the last call: the entries, aggregated and sorted, are handed to
    /// `emit`. Returns the tokens sampled.
    pub fn finish(&mut self, emit: impl FnMut(crate::model::statistics::Assigned)) -> u64 {
        self.statistics.drain(emit);
        std::mem::take(&mut self.tokens)
    }
}
