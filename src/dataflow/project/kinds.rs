//! The kinds of projection's blocks, numbers below [`KINDS`](crate::dataflow::merge::KINDS) in their tags.

// Sums of all documents:
pub(super) const TALLY: u64 = 0;
pub(super) const TRAINED: u64 = 1;
pub(super) const NEW: u64 = 2;
pub(super) const PRESENCE: u64 = 3;
// Sums of an owner:
pub(super) const GROUP_DRIFT: u64 = 5;
pub(super) const GROUP_TOPICS: u64 = 6;
pub(super) const PAIRS: u64 = 7;
pub(super) const CELLS: u64 = 8;
// How many groups there are:
pub(super) const GROUPED: u64 = 4;
// Results, for the first worker:
pub(super) const OWNED: u64 = 9;
pub(super) const PAIR_ROWS: u64 = 10;
pub(super) const CELL_ROWS: u64 = 11;
