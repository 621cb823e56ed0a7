//! When training ends before its passes are done.

use super::settings::TrainSettings;

/// Tells when held-out quality has stopped improving: when `patience` evaluations in a row were
/// not better than the best before them by `tolerance` nats a token. Each phase has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StopRule {
    best: Option<f64>,
    evaluations_since: u32,
}

impl StopRule {
    /// Takes note of an evaluation; true if the phase should end.
    pub fn observe(&mut self, value: f64, settings: &TrainSettings) -> bool {
        let improved = self
            .best
            .is_none_or(|best| value > best + settings.tolerance);
        if improved {
            self.best = Some(value);
            self.evaluations_since = 0;
        } else {
            self.evaluations_since += 1;
        }
        settings.patience > 0 && self.evaluations_since >= settings.patience
    }
}
