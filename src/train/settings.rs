//! What a job says about training, already checked.

/// Section `[train]` of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainSettings {
    /// Documents in a minibatch, on average.
    pub minibatch: usize,
    /// Online passes over the training sample, at most; 0 begins with refining.
    pub passes: u32,
    /// Refining passes, at most; 0 ends with the online ones.
    pub refine: u32,
    /// Rounds of a refining pass.
    pub refine_rounds: u32,
    /// Refining passes before the document–topic prior α is learnt for the first time.
    pub alpha_after: u32,
    /// Refining passes between two steps of learning α; 0 holds it fixed.
    pub alpha_every: u32,
    /// Refining passes between two samples of the counts that are averaged; 0 publishes the last.
    pub average_every: u32,
    /// Bytes of remembered assignments that a process keeps in memory; more of them go to disk.
    pub assignment_bytes: u64,
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
    /// Rounds between two evaluations on the held-out documents; in refining, passes.
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
