//! Roll-ups: sums over the projected documents by a key, such as the volume, and rows of a table from them.
//!
//! All sums are integers, of proportions as `document_topics` lists them: workers can add them in any order, a restart
//! can sum what an earlier run has written, and users can check them against the tables.

use std::fmt::Debug;
use std::sync::Arc;

use super::check::{Known, VerifyReport};
use super::records::{Record, records};
use super::schema::Row;
use super::trend_columns::TrendColumn;
use crate::failure::Failure;
use crate::wire::{OwnedWire, name_hash};
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::sample::Split;
use lda::evaluate::drift::TermSet;
use lda::math::FIXED_POINT;

/// A document with terms, and its projection as in its rows of `documents` and `document_topics`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedDocument<'a> {
    pub(crate) number: u64,
    /// Its bag of words, its volume and its metadata.
    pub(crate) read: &'a ShardDocument,
    /// Its split: trained on, held out, or neither.
    pub(crate) split: Split,
    /// Its listed topics, weight and topic.
    pub(crate) topics: &'a [(f32, u16)],
    /// Log-likelihood per token, in nats.
    pub(crate) loglik_per_token: f64,
}

impl ListedDocument<'_> {
    /// Returns its listed topics, and its tokens θ_dk N_d in each, in fixed point.
    pub(crate) fn masses(&self) -> impl Iterator<Item = (u64, i64)> {
        let tokens = self.read.tokens_in_vocabulary() as f64;
        let topics = self.topics.iter();
        topics.map(move |&(weight, topic)| (topic.into(), fixed(f64::from(weight) * tokens)))
    }
}

/// Integer sums that can be sent to another worker and added to its own.
pub(crate) trait Sums: Send + 'static {
    /// A part of them; a few hundred words at most.
    type Part: OwnedWire;

    /// Passes everything added to `send`, and becomes empty.
    fn take(&mut self, send: &mut dyn FnMut(Self::Part));

    /// Adds a part of another worker's sums.
    fn add(&mut self, part: Self::Part);
}

/// No sums.
impl Sums for () {
    type Part = u64;

    fn take(&mut self, _: &mut dyn FnMut(u64)) {}

    fn add(&mut self, _: u64) {}
}

/// What documents are summed by: a name, or a number below a limit.
pub(crate) trait Key: Ord + ToOwned<Owned: OwnedWire + Ord + Send> + 'static {
    /// The most keys that a worker sums before it sends them to their owners. Numbers are sent only at the end.
    const MOST_PENDING: usize;

    /// Returns a number, alike on every worker, that determines the owner.
    fn hash(&self) -> u64;
}

impl Key for str {
    const MOST_PENDING: usize = 256;

    fn hash(&self) -> u64 {
        name_hash(self)
    }
}

impl Key for u64 {
    const MOST_PENDING: usize = usize::MAX;

    fn hash(&self) -> u64 {
        *self
    }
}

/// A table that is summed while documents are projected. The engine adds documents on every worker, merges the sums of
/// a key at one worker, its owner, and passes them to [`lines`](Self::lines).
pub(crate) trait RollUp: Sized + 'static {
    /// What documents are summed by.
    type Key: Key + ?Sized;
    /// The sums of a key.
    type Sums: Sums + Clone;
    /// Sums over all documents, which every line depends on.
    type Whole: Sums + Clone;
    /// What an owner makes of its sums, to be sent to the worker that writes the table.
    type Line: OwnedWire;
    /// A row of the table.
    type Row: Row;

    /// The most keys for which there are lines; none if there are more.
    const MOST_KEYS: Option<u64> = None;
    /// Whether each bucket becomes a part of the table, which its owner writes; otherwise the first worker writes all.
    const IS_IN_PARTS: bool = false;

    /// Returns the number of buckets for the keys of these documents; an owner holds one bucket at a time in memory.
    fn buckets(&self, _documents: u64) -> u64 {
        1
    }

    /// Returns the sums of no document.
    fn empty(&self) -> Self::Sums;

    /// Returns the sums of no document, for all documents.
    fn whole(&self) -> Self::Whole;

    /// Returns the sums to which those of all documents are added.
    fn before(&self) -> Self::Whole {
        self.whole()
    }

    /// Adds a document: to `whole`, and by `each` to the sums of its keys.
    #[expect(
        clippy::type_complexity,
        reason = "the function that adds is passed to the function that finds a key"
    )]
    fn add(
        &mut self,
        document: &ListedDocument<'_>,
        whole: &mut Self::Whole,
        each: &mut dyn FnMut(&Self::Key, &mut dyn FnMut(&mut Self::Sums)),
    );

    /// Whether the sums of a key are kept for additions: unless no documents could make a line of them.
    fn is_kept(&self, _key: &Self::Key, _sums: &Self::Sums, _whole: &Self::Whole) -> bool {
        true
    }

    /// Appends the lines of a key.
    fn lines(
        &self,
        key: <Self::Key as ToOwned>::Owned,
        sums: Self::Sums,
        whole: &Self::Whole,
        lines: &mut Vec<Self::Line>,
    );

    /// Returns the rows of a part, or of the table, in order.
    fn rows(&self, lines: Vec<Self::Line>, whole: &Self::Whole) -> Vec<Self::Row>;
}

/// What roll-ups depend on.
pub(crate) struct RollUpContext {
    pub(crate) seed: u64,
    /// K.
    pub(crate) topic_count: usize,
    /// The collection that is projected.
    pub(crate) collection: Arc<Collection>,
    /// The terms that the collection lacked on which the model was trained.
    pub(crate) unknown: Arc<TermSet>,
    /// The metadata columns whose trends are requested.
    pub(crate) columns: Arc<[TrendColumn]>,
}

/// Starts roll-ups of different types.
pub(crate) trait StartRollUp {
    fn start<R: RollUp>(&mut self, roll_up: R);
}

/// Converts a mass or a likelihood to units of 2⁻²⁰ tokens or nats.
pub(crate) fn fixed(value: f64) -> i64 {
    (value * FIXED_POINT).round_ties_even() as i64
}

/// Checks each row of a roll-up's table, given the one before it.
pub(super) fn check_rows<R: Record + Debug>(
    known: &Known<'_>,
    report: &mut VerifyReport,
    mut is_sound: impl FnMut(Option<&R>, &R) -> bool,
) -> Result<(), Failure> {
    let mut last: Option<R> = None;
    for row in records::<R>(known.root)? {
        let row = row?;
        report.expect(is_sound(last.as_ref(), &row), || {
            format!("{}: {row:?} follows {last:?}, or has figures out of their bounds", R::TABLE)
        });
        last = Some(row);
    }
    Ok(())
}
