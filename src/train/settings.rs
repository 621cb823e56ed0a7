//! What a job says about training, already checked.

/// Section `[train]` of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainSettings {
    /// Documents in a minibatch, on average.
    pub minibatch: usize,
    /// Passes over the training sample, at most.
    pub passes: u32,
    /// Sweeps thrown away after the sequential first one, in each round (B of Mimno 2012).
    pub burn_in_sweeps: u32,
    /// Sweeps that count, in each round (S of Mimno 2012).
    pub kept_sweeps: u32,
    /// t_0 of the step size (t_0 + t)^−κ.
    pub step_offset: f64,
    /// κ of the step size.
    pub step_decay: f64,
    /// λ̃_kw below this are dropped when the scale is folded back; 0 keeps everything.
    pub prune: f64,
    /// Rounds between two evaluations on the held-out documents.
    pub evaluate_every: u32,
    /// Stop when this many evaluations in a row have not improved; 0 never stops early.
    pub patience: u32,
    /// The improvement in log-likelihood per token that counts as one.
    pub tolerance: f64,
    /// Rounds between two checkpoints; 0 writes none within training.
    pub checkpoint_every: u32,
    /// Minutes after which a checkpoint is due in any case; 0 looks at rounds alone.
    pub checkpoint_minutes: f64,
}
