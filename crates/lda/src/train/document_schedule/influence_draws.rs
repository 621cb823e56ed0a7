//! Documents drawn in each round with p(d) ∝ Σ_w n_dw² (Wahabzada & Kersting 2011, Eq. 3).

use super::{DocumentSchedule, InfluenceRule, squares};

/// Draws by influence.
pub const SCHEDULE: DocumentSchedule = DocumentSchedule {
    name: "influence-draws",
    doc: "draws the documents of a round with a probability proportional to Σ n²",
    order: None,
    draw: Some(InfluenceRule { first: |bag| squares(bag).sqrt(), after: None }),
};
