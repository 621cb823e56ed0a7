//! The work of rounds so far: documents, tokens, seconds.

use std::time::Instant;

use lda::train::{RoundReport, RoundSeconds};

/// The sums of the log.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) seconds: f64,
    pub(super) documents: u64,
    pub(super) tokens: u64,
}

impl Seen {
    /// Returns the sums after the rounds in a log.
    pub(super) fn after(log: &[RoundReport]) -> Self {
        log.last().map_or(Self::default(), |last| Self {
            seconds: last.seconds,
            documents: last.documents_seen,
            tokens: last.tokens_seen,
        })
    }

    /// Adds a round.
    pub(super) fn add(&mut self, [documents, tokens]: [u64; 2], spent: RoundSeconds) {
        self.documents += documents;
        self.tokens += tokens;
        self.seconds += spent.preparing + spent.sampling + spent.aggregating;
        self.seconds += spent.exchanging + spent.updating;
    }
}

/// Adds the seconds of a round to a sum.
pub(super) fn add(sum: &mut RoundSeconds, round: RoundSeconds) {
    sum.preparing += round.preparing;
    sum.sampling += round.sampling;
    sum.aggregating += round.aggregating;
    sum.exchanging += round.exchanging;
    sum.updating += round.updating;
}

/// Returns the seconds since `since`, which becomes now.
pub(super) fn lap(since: &mut Instant) -> f64 {
    let now = Instant::now();
    let seconds = now.duration_since(*since).as_secs_f64();
    *since = now;
    seconds
}
