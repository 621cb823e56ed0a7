//! Which documents a round visits. A schedule is a constant at the end of this file, with its description, and one
//! line of [`SCHEDULES`]: it either orders the documents of a pass, each of which is visited once, or says with which influence
//! each round draws its documents ([`active`](super::active)).

use crate::infer::Bag;
use crate::listed::listed;
use crate::math::random::{Stage, Stream};
use crate::math::special::ln;

/// The schedules. The first is the default.
pub const SCHEDULES: &[DocumentSchedule] = &[UNIFORM, INFLUENCE, INFLUENCE_DRAWS, RESIDUAL];

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

/// Every document once a pass, in a random order.
pub const UNIFORM: DocumentSchedule = DocumentSchedule {
    name: "uniform",
    doc: "visits each document once per pass, at random",
    order: None,
    draw: None,
};

/// isLDA (Wahabzada & Kersting 2011, §3): every document once a pass, drawn without replacement with p(d) ∝ Σ_w n_dw²
/// (Eq. 3). Documents ascend by E/p(d), with E exponential (Efraimidis & Spirakis 2006).
pub const INFLUENCE: DocumentSchedule = DocumentSchedule {
    name: "influence",
    doc: "visits each document once per pass, those with a large Σ n² earlier",
    order: Some(exponential_order),
    draw: None,
};

fn exponential_order([seed, document]: [u64; 2], bag: Bag<'_>) -> f64 {
    let mut stream = Stream::keyed(seed, Stage::Minibatch, 0, document);
    let exponential = -ln(stream.uniform_positive());
    ln(exponential.max(f64::MIN_POSITIVE)) - ln(squares(bag).max(1.0))
}

/// Documents drawn in each round with p(d) ∝ Σ_w n_dw² (Wahabzada & Kersting 2011, Eq. 3).
pub const INFLUENCE_DRAWS: DocumentSchedule = DocumentSchedule {
    name: "influence-draws",
    doc: "draws the documents of a round with a probability proportional to Σ n²",
    order: None,
    draw: Some(InfluenceRule { first: |bag| squares(bag).sqrt(), after: None }),
};

/// Documents drawn in each round by their residuals (Wahabzada & Kersting 2011, Algorithm 3): by how much more γ
/// changed in the last visit than in the one before.
pub const RESIDUAL: DocumentSchedule = DocumentSchedule {
    name: "residual",
    doc: "draws them by how much their topics changed",
    order: None,
    draw: Some(InfluenceRule {
        first: |bag| bag.token_count() as f64,
        after: Some(after_by_residual),
    }),
};

/// Algorithm 3, lines 13 and 15. γ was 0 before the first visit.
fn after_by_residual(before: Influence, change: Change, floor: f64) -> Influence {
    let gradient = if before.is_unvisited() { change.tokens } else { change.difference };
    let growth = gradient as f64 - f64::from(before.change);
    Influence {
        squared: squared(growth.max(floor)),
        change: u32::try_from(gradient).unwrap_or(u32::MAX),
        ..before
    }
}
