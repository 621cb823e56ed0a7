//! Which documents a round visits. A schedule is a file below this one, with its description, and one line of
//! [`SCHEDULES`]: it either orders the documents of a pass, each of which is visited once, or says with which influence
//! each round draws its documents ([`active`](super::active)).

pub mod influence;
pub mod influence_draws;
pub mod residual;
pub mod uniform;

use crate::infer::Bag;
use crate::listed::listed;

/// The schedules. The first is the default.
pub const SCHEDULES: &[DocumentSchedule] =
    &[uniform::SCHEDULE, influence::SCHEDULE, influence_draws::SCHEDULE, residual::SCHEDULE];

/// A schedule of documents.
#[derive(Clone, Copy)]
pub struct DocumentSchedule {
    /// Its name: the word in a job's `train.schedule`.
    pub name: &'static str,
    /// Which documents a round visits.
    pub doc: &'static str,
    /// The order of a pass; `None` if it is random.
    pub(super) order: Option<DocumentOrder>,
    /// How each round draws its documents; `None` if each is visited once a pass.
    pub(super) draw: Option<InfluenceRule>,
}

listed!(DocumentSchedule in SCHEDULES);

/// Returns the logarithm of a number, by which documents ascend, from the seed, a document's number, and its counts.
pub(super) type DocumentOrder = fn([u64; 2], Bag<'_>) -> f64;

/// The influence ξ with which documents are drawn.
#[derive(Clone, Copy)]
pub(super) struct InfluenceRule {
    /// Returns ξ of a document that has not been visited.
    pub(super) first: fn(Bag<'_>) -> f64,
    /// Returns a document's influence after a visit, by what the visit changed and c, the smallest ξ; `None` if ξ does
    /// not change.
    pub(super) after: Option<fn(Influence, Change, f64) -> Influence>,
}

impl DocumentSchedule {
    /// Returns whether each round draws its documents by their influence.
    pub fn is_drawn(&self) -> bool {
        self.draw.is_some()
    }

    /// Returns whether documents have a fixed order that depends on their counts.
    pub fn is_ordered(&self) -> bool {
        self.order.is_some()
    }

    /// Returns whether a visit is compared with the previous one.
    pub fn needs_memory(&self) -> bool {
        self.draw.is_some_and(|rule| rule.after.is_some())
    }
}

/// ξ² is stored in units of 2⁻¹⁶, as an integer.
pub(super) const UNIT: f64 = (1u64 << 16) as f64;
/// The largest ξ: that of a document of a million tokens.
const LARGEST: f64 = (1u64 << 20) as f64;

/// A document's influence: plain old data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Influence {
    /// ξ², in units of 2⁻¹⁶.
    pub(super) squared: u64,
    /// ∇ of the last visit.
    pub(super) change: u32,
    /// Visits so far, at most 2³² − 1.
    pub(super) visits: u32,
}

impl Influence {
    /// Returns the influence ξ of a document that has not been visited.
    pub(super) fn first(influence: f64) -> Self {
        Self { squared: squared(influence), change: 0, visits: 0 }
    }

    /// Returns whether the document has not been visited.
    pub fn is_unvisited(self) -> bool {
        self.visits == 0
    }
}

/// The change of a document by a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// N_d.
    pub tokens: u64,
    /// Σ_k |Δn_dk|.
    pub difference: u64,
}

/// Returns ξ² in its units.
pub(super) fn squared(influence: f64) -> u64 {
    let influence = influence.min(LARGEST);
    (influence * influence * UNIT).round_ties_even().max(1.0) as u64
}

/// Returns Σ_w n_dw².
fn squares(bag: Bag<'_>) -> f64 {
    bag.counts.iter().map(|&n| f64::from(n) * f64::from(n)).sum()
}
