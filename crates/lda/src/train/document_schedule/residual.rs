//! Documents drawn in each round by their residuals (Wahabzada & Kersting 2011, Algorithm 3): by how much more γ changed
//! in the last visit than in the one before.

use super::{Change, DocumentSchedule, Influence, InfluenceRule, squared};

/// Draws by residuals.
pub const SCHEDULE: DocumentSchedule = DocumentSchedule {
    name: "residual",
    doc: "draws them by how much their topics changed",
    order: None,
    draw: Some(InfluenceRule { first: |bag| bag.token_count() as f64, after: Some(after) }),
};

/// Algorithm 3, lines 13 and 15. γ was 0 before the first visit.
fn after(before: Influence, change: Change, floor: f64) -> Influence {
    let gradient = if before.is_unvisited() { change.tokens } else { change.difference };
    let growth = gradient as f64 - f64::from(before.change);
    Influence {
        squared: squared(growth.max(floor)),
        change: u32::try_from(gradient).unwrap_or(u32::MAX),
        ..before
    }
}
