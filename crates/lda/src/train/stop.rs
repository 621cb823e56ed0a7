//! The rule that ends training before its passes are done.

use super::settings::TrainSettings;

/// The rule that held-out quality has stopped improving: `patience` evaluations in a row have not exceeded the best
/// before them by more than `tolerance` nats per token. Each phase has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StopRule {
    best: Option<f64>,
    evaluations_since: u32,
}

impl StopRule {
    /// Records an evaluation; returns whether the phase should end.
    pub fn observe(&mut self, value: f64, settings: &TrainSettings) -> bool {
        let improved = self.best.is_none_or(|best| value > best + settings.tolerance);
        if improved {
            self.best = Some(value);
            self.evaluations_since = 0;
        } else {
            self.evaluations_since += 1;
        }
        settings.patience > 0 && self.evaluations_since >= settings.patience
    }
}
