//! Every document once a pass, in a random order.

use super::DocumentSchedule;

/// Documents at random.
pub const SCHEDULE: DocumentSchedule = DocumentSchedule {
    name: "uniform",
    doc: "visits each document once per pass, at random",
    order: None,
    draw: None,
};
