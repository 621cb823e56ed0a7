//! The documents that a round samples, and how they change the model.
//!
//! One global step serves all rounds. With M the counts of the remembered assignments, B the minibatch of round t,
//! Δ its new counts minus the remembered ones, and D documents in the sample:
//!
//! ```text
//! λ ← (1 − ρ_t) λ + ρ_t (η + M + (D/|B|) Δ),   M ← M + Δ
//! ```
//!
//! *Online* rounds remember nothing yet, M = 0: the step of Mimno 2012, Eq. 11, with ρ_t = (t_0 + t)^−κ. When the
//! online passes end, every document has been assigned: a step of ρ = 1 makes λ = η + M. From then on ρ_t = |B|/D,
//! which keeps λ = η + M: collapsed Gibbs sampling whose counts are updated every round (AD-LDA; Newman, Asuncion,
//! Smyth & Welling 2009). Values of ρ_t in between gained nothing (docs/measurements/DEFAULTS.md).
//!
//! Documents are assigned to minibatches once, by a hash of (seed, document)
//! ([`place`](super::minibatches::place)): minibatches are random over the whole sample, any worker knows which of
//! its documents belong to a round, and a document returns after exactly one pass, when its own counts are in the
//! model.
//!
//! A round samples against the model as it was [`LAG`] rounds before, so that merging the statistics of one round
//! overlaps with sampling the next. The ends of passes and evaluations wait for all rounds, and so does every round
//! whose documents are drawn ([`active`]).

use std::collections::VecDeque;
use std::ops::Range;

use super::document_schedule::DocumentSchedule;
use super::norms::Norms;
use super::settings::{Memory, MinibatchSize, TrainSettings};
use super::step::Update;
use super::warm_start::Unassigned;
use super::{active, units};
use crate::infer::settings::Estimator;
use crate::math::special::pow;
use crate::model::Priors;
use crate::model::parameters::{GlobalStep, Parameters, TermRow};

/// The number of rounds whose statistics may be outstanding while the next is sampled.
pub const LAG: usize = 1;

/// Without a setting of the minibatch, a pass over N tokens has √(N / 1500) online rounds: more rounds learn a
/// large sample sooner, but a small one less well (docs/measurements/DEFAULTS.md).
const TOKENS_A_SQUARED_ROUND: u64 = 1500;
const LEAST_ROUNDS: u64 = 16;
/// The smallest and the largest minibatch chosen, in documents.
const MINIBATCHES: [u64; 2] = [64, 2048];
/// The most minibatches that a Gibbs round takes: fresher counts gain little there, and each round has its cost.
const MINIBATCHES_A_ROUND: u64 = 8;

/// Averaged counts below this are dropped: they are assignments that did not last.
pub const AVERAGE_PRUNE: f64 = 0.01;

/// Without a setting of the passes, these are as many as visit the first number of tokens, within bounds: those of the
/// method or, if Gibbs passes are among them, from 20, or fewer if they would visit the second number, to 200.
const TOKENS_VISITED: [u64; 2] = [400_000_000, 4_000_000_000];
const PASSES: [u64; 2] = [20, 200];

/// How a round samples its documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Sampled-online variational inference.
    Online,
    /// Collapsed Gibbs sampling with remembered assignments.
    Gibbs,
}

impl Phase {
    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Gibbs => "gibbs",
        }
    }
}

/// The position of training: the next round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Position {
    /// The round, from 0, over both phases.
    pub round: u64,
    /// Its phase.
    pub phase: Phase,
    /// Rounds of this phase before it.
    pub taken: u64,
    /// Passes of the phase before this one.
    pub passes_before: u64,
    /// True for a round that estimates φ^p, after the Gibbs round with the same numbers.
    pub is_estimate: bool,
}

/// The action of a round on its documents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Samples them from scratch, or approximates them, as the method does, and changes the model by the result.
    Online,
    /// Assigns all of them at random, and makes their counts the model: nothing is learnt yet.
    Scatter,
    /// Samples them against the model that training starts from, and makes their counts the model.
    Assign,
    /// Samples them against that model, and removes their counts from it.
    Withdraw,
    /// Makes the counts of all remembered assignments the model.
    Count,
    /// Redraws their assignments, and replaces their counts.
    Gibbs,
    /// Adds up the probabilities of all topics for every remembered assignment: φ^p ([`soft`](super::soft)).
    Estimate,
}

impl Action {
    /// Returns whether documents keep the assignments that they have.
    pub fn keeps_assignments(self) -> bool {
        matches!(self, Self::Count | Self::Estimate)
    }
}

/// The rounds of a training run.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// D: the number of documents trained on.
    pub document_count: u64,
    /// Minibatches of the sample: the rounds of an online pass.
    pub minibatch_count: u64,
    /// Further minibatches, whose documents are not visited.
    pub(crate) unvisited_count: u64,
    /// Rounds of a Gibbs pass.
    gibbs_rounds: u64,
    /// The maximum number of passes.
    pub passes: u64,
    /// The maximum number of online passes.
    pub online_passes: u64,
    /// How many topics are dissolved halfway through the Gibbs passes ([`spare`](super::spare)).
    pub spare_topics: usize,
    alpha_after: u64,
    alpha_every: u64,
    average_every: u64,
    settings: TrainSettings,
}

impl Schedule {
    /// Creates the schedule for a sample of `document_count` documents, of these norms, and `token_count` tokens,
    /// which decide what the settings leave open.
    pub fn new(
        settings: &TrainSettings,
        document_count: u64,
        token_count: u64,
        norms: Norms,
    ) -> Self {
        let method = settings.method;
        let [least, most] = MINIBATCHES;
        let rounds = (token_count / TOKENS_A_SQUARED_ROUND).isqrt();
        let chosen = (document_count / rounds.max(LEAST_ROUNDS)).clamp(least, most);
        let minibatch = match settings.minibatch {
            _ if method.update == Update::Whole => document_count.max(1),
            Some(MinibatchSize::Documents(documents)) => documents as u64,
            Some(MinibatchSize::Norms) => norms.minibatch(document_count),
            None => chosen,
        };
        let minibatch_count = document_count.div_ceil(minibatch).max(1);
        let gibbs_rounds = minibatch_count.div_ceil(MINIBATCHES_A_ROUND);
        let [few, many] = TOKENS_VISITED.map(|tokens| tokens / token_count.max(1));
        let passes =
            |[least, most]: [u64; 2]| settings.passes.map_or(few.clamp(least, most), u64::from);
        let online = u64::from(settings.online_passes);
        let least = many.clamp(1, PASSES[0]);
        let (passes, online_passes) = if !method.has_gibbs_passes {
            (passes(method.passes), passes(method.passes))
        } else if settings.remember(token_count) {
            let passes = passes([least, PASSES[1]]);
            (passes, passes.min(online))
        } else {
            // As many draws of a token as with Gibbs passes, in online passes.
            let sweeps = settings.sweeps().draws();
            let draws = online.min(least) * sweeps + least.saturating_sub(online);
            let passes = passes([(draws / sweeps).max(1), method.passes[1]]);
            (passes, passes)
        };
        let gibbs = passes - online_passes;
        Self {
            document_count,
            minibatch_count,
            unvisited_count: 0,
            gibbs_rounds: gibbs_rounds.max(LEAST_ROUNDS).min(minibatch_count),
            passes,
            online_passes,
            spare_topics: 0,
            alpha_after: settings.alpha_after.map_or(gibbs / 4, u64::from).max(1),
            alpha_every: settings.alpha_every.map_or((gibbs / 8).max(1), u64::from),
            average_every: (settings.average_every).map_or((gibbs / 50).clamp(1, 5), u64::from),
            settings: settings.clone(),
        }
    }

    /// Dissolves `topics` topics halfway through the Gibbs passes; none if every document is not visited both before and
    /// after that.
    #[must_use]
    pub fn with_spare_topics(mut self, topics: usize) -> Self {
        let is_possible = self.passes - self.online_passes >= 2
            && !self.is_drawn()
            && self.settings.warm_start.is_none();
        self.spare_topics = if is_possible { topics } else { 0 };
        self
    }

    /// Returns whether the spare topics are dissolved after the round.
    pub(super) fn dissolves_after(&self, position: Position) -> bool {
        self.spare_topics > 0
            && !position.is_estimate
            && self.gibbs_passes(position) == Some(self.passes_with_spare())
    }

    /// Returns the number of Gibbs passes with spare topics, if there are any.
    fn passes_with_spare(&self) -> u64 {
        if self.spare_topics > 0 { (self.passes - self.online_passes) / 2 } else { 0 }
    }

    /// Returns whether assignments (with CVB0, γ) are remembered: for Gibbs passes, and if documents are drawn by
    /// the changes of their last visits.
    pub fn remembers(&self) -> bool {
        let needs_memory = self.settings.schedule.needs_memory();
        self.has_gibbs_passes() || needs_memory || self.settings.method.always_remembers()
    }

    fn has_gibbs_passes(&self) -> bool {
        self.online_passes < self.passes
    }

    /// Returns the schedule of documents.
    pub fn documents(&self) -> &'static DocumentSchedule {
        self.settings.schedule
    }

    /// Returns whether the documents of each round are drawn.
    pub fn is_drawn(&self) -> bool {
        self.settings.schedule.is_drawn()
    }

    /// Returns S: how many documents a round draws on average, if they are drawn.
    pub fn expected_length(&self, position: Position) -> f64 {
        let share = self.minibatches(position);
        let share = (share.end - share.start) as f64 / self.minibatch_count as f64;
        self.document_count as f64 * share
    }

    /// Returns the maximum number of rounds.
    pub fn round_count(&self) -> u64 {
        self.rounds_of(Phase::Online) + self.rounds_of(Phase::Gibbs) + self.estimate_count()
    }

    /// Returns the maximum number of rounds of a phase. The first Gibbs round precedes the passes: it counts the
    /// remembered assignments, or makes the first ones.
    fn rounds_of(&self, phase: Phase) -> u64 {
        match phase {
            Phase::Online => self.minibatch_count * self.online_passes,
            Phase::Gibbs if !self.has_gibbs_passes() => 0,
            Phase::Gibbs => 1 + self.gibbs_rounds * (self.passes - self.online_passes),
        }
    }

    /// Returns the first round; `None` if there are none.
    pub fn start(&self) -> Option<Position> {
        let first = Position {
            round: 0,
            phase: Phase::Online,
            taken: 0,
            passes_before: 0,
            is_estimate: false,
        };
        match self.online_passes {
            0 => self.gibbs_from(first),
            _ => Some(first),
        }
    }

    /// Returns the round after `position`; `None` at the end. `has_settled`: held-out quality has stopped
    /// improving, which ends the phase.
    pub fn next(&self, position: Position, has_settled: bool) -> Option<Position> {
        let round = position.round + 1;
        if self.estimates_after(position) {
            return Some(Position { round, is_estimate: true, ..position });
        }
        let next = Position { round, taken: position.taken + 1, is_estimate: false, ..position };
        let is_over = next.taken == self.rounds_of(position.phase);
        match position.phase {
            _ if !is_over && !has_settled => Some(next),
            Phase::Online => self.gibbs_from(next),
            Phase::Gibbs => None,
        }
    }

    fn gibbs_from(&self, next: Position) -> Option<Position> {
        self.has_gibbs_passes().then(|| Position {
            round: next.round,
            phase: Phase::Gibbs,
            taken: 0,
            is_estimate: false,
            passes_before: next.taken.div_ceil(self.minibatch_count),
        })
    }

    /// Returns the action of a round on its documents.
    pub fn action(&self, position: Position) -> Action {
        match (position.phase, position.taken) {
            _ if position.is_estimate => Action::Estimate,
            (Phase::Online, _) => Action::Online,
            (Phase::Gibbs, 0) if position.passes_before > 0 => Action::Count,
            (Phase::Gibbs, 0) if self.is_partial() => Action::Withdraw,
            (Phase::Gibbs, 0) if self.settings.warm_start.is_some() => Action::Assign,
            (Phase::Gibbs, 0) => Action::Scatter,
            (Phase::Gibbs, _) => Action::Gibbs,
        }
    }

    /// Returns the number of rounds of a pass of the phase.
    fn rounds_a_pass(&self, phase: Phase) -> u64 {
        match phase {
            Phase::Online => self.minibatch_count,
            Phase::Gibbs => self.gibbs_rounds,
        }
    }

    /// Returns the number of earlier rounds of the phase that belong to passes, as the first Gibbs round does not.
    fn sampled(&self, position: Position) -> u64 {
        match position.phase {
            Phase::Online => position.taken,
            Phase::Gibbs => position.taken.saturating_sub(1),
        }
    }

    /// Returns the pass that a round belongs to, from 0, over both phases.
    pub fn pass(&self, position: Position) -> u64 {
        position.passes_before + self.sampled(position) / self.rounds_a_pass(position.phase)
    }

    /// Returns the minibatches whose documents a round samples (if documents are drawn, as many as these have);
    /// `None` if it takes the whole sample.
    pub fn drawn(&self, position: Position) -> Option<Range<u64>> {
        let rounds = self.rounds_a_pass(position.phase);
        let place = self.sampled(position) % rounds;
        let start = |place| place * self.minibatch_count / rounds;
        match self.action(position) {
            Action::Online | Action::Gibbs => Some(start(place)..start(place + 1)),
            Action::Scatter
            | Action::Assign
            | Action::Withdraw
            | Action::Count
            | Action::Estimate => None,
        }
    }

    /// Returns the minibatches that a round takes.
    pub fn minibatches(&self, position: Position) -> Range<u64> {
        self.drawn(position).unwrap_or(0..self.minibatch_count)
    }

    /// Returns the step of an online round over a minibatch of `minibatch_length` documents (Mimno 2012, Eq. 11),
    /// with ρ_t = (t_0 + t)^−κ, t from 1. If drawn documents are weighted, |B| is their expected number. For a
    /// round that estimates φ^p, it is the step of the average.
    pub fn step(&self, position: Position, minibatch_length: u64) -> GlobalStep {
        if position.is_estimate {
            return GlobalStep {
                step_size: self.average_after(position).unwrap_or(1.0),
                weight: 1.0 / units::TOKEN,
            };
        }
        let t = (position.taken + 1) as f64;
        let method = self.settings.method;
        let step_size = match method.update {
            Update::Step => pow(self.settings.step_offset + t, -self.settings.step_decay),
            Update::Whole => 1.0,
            Update::Add => 1.0 / t,
        };
        let counted = method.counts.of_token(self.settings.sweeps());
        let length = if self.settings.importance {
            self.expected_length(position) * active::WEIGHT_UNIT
        } else {
            minibatch_length as f64
        };
        let scaled = length * counted;
        GlobalStep { step_size, weight: self.document_count as f64 / scaled }
    }

    /// Returns how the statistics of a round over `minibatch_length` documents change the model: in one change after
    /// another, or not at all.
    pub fn changes(&self, position: Position, minibatch_length: u64) -> Vec<ModelChange> {
        let counts = |is_new| ModelChange::Counts { is_new };
        match self.action(position) {
            Action::Online if self.settings.method.update == Update::Add => vec![counts(false)],
            Action::Online if minibatch_length == 0 => Vec::new(),
            Action::Online => {
                let step = self.step(position, minibatch_length);
                vec![ModelChange::Step { step, prune: self.settings.prune, is_of_average: false }]
            }
            Action::Gibbs => vec![counts(false)],
            Action::Scatter | Action::Assign => vec![counts(true)],
            Action::Count => vec![counts(!self.is_partial())],
            Action::Withdraw if self.unassigns_documents() => vec![ModelChange::Withdraw],
            Action::Withdraw => vec![ModelChange::Withdraw, counts(false)],
            Action::Estimate => {
                let (step, prune) = (self.step(position, 0), AVERAGE_PRUNE);
                vec![ModelChange::Step { step, prune, is_of_average: true }]
            }
        }
    }

    /// Returns the priors that a round is sampled with: collapsed Gibbs sampling has only the mean geometry.
    pub fn round_priors(&self, position: Position, priors: &Priors) -> Priors {
        let is_collapsed = matches!(self.action(position), Action::Gibbs | Action::Estimate);
        Priors { exp_psi: priors.exp_psi && !is_collapsed, ..priors.clone() }
    }

    /// Returns whether a round needs what its documents remember.
    pub fn recalls(&self, position: Position) -> bool {
        let action = self.action(position);
        let is_updated = self.is_drawn() || self.settings.method.always_remembers();
        is_updated || action == Action::Gibbs || action.keeps_assignments()
    }

    /// Returns ρ_t of a round over `minibatch_length` documents; if counts are added, this round's share of all
    /// rounds so far.
    pub fn step_size(&self, position: Position, minibatch_length: u64) -> f64 {
        match self.action(position) {
            Action::Online | Action::Estimate => self.step(position, minibatch_length).step_size,
            Action::Scatter | Action::Assign | Action::Withdraw | Action::Count => 1.0,
            Action::Gibbs => minibatch_length as f64 / self.document_count as f64,
        }
    }

    /// Returns whether the round is the last of a pass.
    pub fn ends_pass(&self, position: Position) -> bool {
        self.drawn(position).is_some_and(|drawn| drawn.end == self.minibatch_count)
    }

    /// Returns whether α is learnt at all.
    pub fn learns_alpha(&self) -> bool {
        self.has_gibbs_passes() && self.alpha_every > 0
    }

    /// Returns whether the round's pass ends with a step of learning α.
    pub fn learns_alpha_in(&self, position: Position) -> bool {
        let pass = position.taken.div_ceil(self.gibbs_rounds);
        self.action(position) == Action::Gibbs
            && self.alpha_every > 0
            && pass >= self.alpha_after
            && (pass - self.alpha_after).is_multiple_of(self.alpha_every)
    }

    /// Returns the number of rounds, this one included, whose statistics may be outstanding when the next one begins.
    pub(crate) fn lag_after(&self, position: Position) -> usize {
        let is_whole = self.drawn(position).is_none();
        // Drawn documents may return in the next round, whose draw depends on this one.
        match self.is_drawn()
            || is_whole
            || self.ends_pass(position)
            || self.evaluates_after(position)
        {
            true => 0,
            false => LAG,
        }
    }

    /// Returns the rounds from `first` to the first that waits for all.
    pub fn until_all_wait(&self, first: Position) -> VecDeque<Position> {
        let mut rounds = VecDeque::from([first]);
        let mut last = first;
        while self.lag_after(last) > 0
            && let Some(next) = self.next(last, false)
        {
            rounds.push_back(next);
            last = next;
        }
        rounds
    }

    /// Returns whether the round may end with a checkpoint, from which training can be resumed: nothing is
    /// outstanding, and no sum over a pass is incomplete.
    pub fn allows_checkpoint_after(&self, position: Position) -> bool {
        let is_between = position.phase == Phase::Online || self.gibbs_passes(position).is_some();
        is_between && self.lag_after(position) == 0
    }

    /// Returns whether the round ends with a checkpoint, if it allows one: every `checkpoint_every` rounds.
    pub fn checkpoints_after(&self, position: Position) -> bool {
        let every = u64::from(self.settings.checkpoint_every);
        let since = match position.phase {
            Phase::Online => self.evaluates_online_every(),
            Phase::Gibbs => self.gibbs_rounds,
        };
        let done = position.round + 1;
        every > 0 && done / every > done.saturating_sub(since) / every
    }
}

/// Rounds after a warm start from a model with another prior over terms: passes visit the documents that the change
/// concerns; the counts of all others stay in the model unchanged.
impl Schedule {
    /// Creates the schedule for a sample of `document_count` documents, of which passes visit `revisited` (their
    /// number and their tokens), with these norms. All passes are Gibbs passes, and α stays fixed.
    pub fn partial(
        settings: &TrainSettings,
        document_count: u64,
        revisited: [u64; 2],
        norms: Norms,
    ) -> Self {
        let settings = TrainSettings {
            memory: Memory::On,
            online_passes: 0,
            alpha_every: Some(0),
            ..settings.clone()
        };
        let visited = Self::new(&settings, revisited[0], revisited[1], norms);
        let minibatch = revisited[0].div_ceil(visited.minibatch_count);
        let others = document_count - revisited[0];
        Self {
            document_count,
            unvisited_count: others.div_ceil(minibatch.max(MINIBATCHES[0])).max(1),
            ..visited
        }
    }

    /// Returns whether passes visit only some documents.
    pub fn is_partial(&self) -> bool {
        self.unvisited_count > 0
    }

    /// Returns whether the documents that passes visit begin without assignments.
    pub fn unassigns_documents(&self) -> bool {
        self.is_partial() && self.settings.warm_start == Some(Unassigned::Documents)
    }

    /// Returns whether a round visits documents that have no assignments yet.
    pub fn visits_unassigned(&self, position: Position) -> bool {
        self.unassigns_documents()
            && self.action(position) == Action::Gibbs
            && position.taken <= self.gibbs_rounds
    }

    /// Returns whether the round visits the last of them, after which the first weights of the changed terms are no
    /// longer needed.
    pub fn forgets_first_weights_after(&self, position: Position) -> bool {
        self.visits_unassigned(position) && position.taken == self.gibbs_rounds
    }
}

/// A change of the model by the statistics of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ModelChange {
    /// A step towards them ([`Schedule::step`]). When the scale is folded, weights below `prune` are dropped.
    Step {
        /// The step.
        step: GlobalStep,
        /// The smallest weight.
        prune: f64,
        /// Whether it is the average that changes.
        is_of_average: bool,
    },
    /// They are added to the counts, which are 0 before if `is_new`.
    Counts {
        /// Whether the model is forgotten.
        is_new: bool,
    },
    /// They are removed from the counts, and the rows that the prior over terms has changed are replaced.
    Withdraw,
}

impl ModelChange {
    /// Returns whether it is the average over passes that changes.
    pub fn is_of_average(self) -> bool {
        matches!(self, Self::Step { is_of_average: true, .. })
    }

    /// Changes a part of the model by the entries of its terms, in `runs` that ascend; `topic_counts` are sums over
    /// all terms, and `changed` the rows that the prior has changed. Returns whether the row sums are stale: then
    /// they are added up over all parts.
    pub fn apply(
        self,
        part: &mut Parameters,
        runs: &[&[u64]],
        topic_counts: &[i64],
        changed: &[TermRow],
    ) -> bool {
        match self {
            Self::Step { step, prune, .. } => {
                part.decay(step, topic_counts);
                runs.iter().for_each(|entries| part.add(step, entries));
                part.fold_small_scale(prune)
            }
            Self::Counts { is_new } => {
                if is_new {
                    part.clear();
                }
                runs.iter().for_each(|entries| part.replace(entries));
                part.replace_totals(topic_counts);
                false
            }
            Self::Withdraw => {
                // A term's entries, which may be in two runs, are withdrawn together.
                let mut entries = runs.concat();
                entries.sort_unstable();
                part.withdraw(&entries);
                part.set_rows(changed);
                true
            }
        }
    }
}

// The actions after a pass: a sample that enters the average, an evaluation.
//
// The average is published. Its samples are the counts after some of the Gibbs passes or, with
// `Estimator::Soft`, φ^p of the assignments after them (`soft`): each takes one more round
// over the whole sample, which leaves the counts unchanged.

/// γ of polynomial-decay averaging (Shamir & Zhang, ICML 2013): sample s of S weighs about (s/S)^γ,
/// so that most of the weight is on the last quarter.
const AVERAGE_DECAY: f64 = 3.0;

/// The fewest rounds between two evaluations in an online pass, which has four evaluations by default.
const EVALUATE_EVERY: u64 = 10;

impl Schedule {
    /// Returns the number of Gibbs passes that are complete after a round, if it completes one or estimates φ^p
    /// after one.
    fn gibbs_passes(&self, position: Position) -> Option<u64> {
        let completes = self.action(position) == Action::Gibbs && self.ends_pass(position);
        (completes || position.is_estimate).then(|| position.taken / self.gibbs_rounds)
    }

    /// Returns whether φ^p is estimated after Gibbs passes.
    pub fn estimates(&self) -> bool {
        self.has_gibbs_passes() && self.settings.estimator == Estimator::Soft
    }

    /// Returns whether the round is followed by one that estimates φ^p.
    fn estimates_after(&self, position: Position) -> bool {
        let passes = self.gibbs_passes(position);
        let is_sampled = passes.is_some_and(|passes| self.samples_before(passes).is_some());
        self.estimates() && !position.is_estimate && is_sampled
    }

    /// Returns the maximum number of rounds that estimate φ^p.
    pub fn estimate_count(&self) -> u64 {
        let passes = 1..=self.passes - self.online_passes;
        if self.estimates() {
            (passes.filter_map(|passes| self.samples_before(passes))).count() as u64
        } else {
            0
        }
    }

    /// If a sample is taken after Gibbs pass number `passes`, returns how many samples are in the average by then.
    /// None is taken before spare topics have been dissolved. The last pass has one if no other has, so that there is
    /// an average. If only the last sample counts and taking one needs a round, one is taken for each evaluation.
    fn samples_before(&self, passes: u64) -> Option<u64> {
        let is_last = passes == self.passes - self.online_passes;
        let without = self.passes_with_spare();
        if passes <= without {
            return None;
        }
        match self.average_every {
            0 => (is_last || self.estimates() && self.evaluates_gibbs_pass(passes)).then_some(0),
            every => {
                let before = (passes - 1) / every - without / every;
                let is_due = passes.is_multiple_of(every) || (is_last && before == 0);
                is_due.then_some(before)
            }
        }
    }

    /// Returns the weight with which the sample of this round enters the average, if there is one; 1 for the first.
    /// The sample is the counts after the round or, in a round that estimates it, φ^p.
    pub fn average_after(&self, position: Position) -> Option<f64> {
        let samples = self.samples_before(self.gibbs_passes(position)?)?;
        (self.estimates() == position.is_estimate).then(|| match samples {
            0 => 1.0,
            _ => (AVERAGE_DECAY + 1.0) / ((samples + 1) as f64 + AVERAGE_DECAY),
        })
    }

    /// Returns whether the model is scored on the held-out documents after the round: every N rounds online, every
    /// N passes in Gibbs sampling, and at the end of a phase. If φ^p is due, it is estimated first.
    pub fn evaluates_after(&self, position: Position) -> bool {
        let next = self.next(position, false);
        let ends = next.is_none_or(|next| next.phase != position.phase);
        let is_due = match position.phase {
            Phase::Online => (position.taken + 1).is_multiple_of(self.evaluates_online_every()),
            Phase::Gibbs if self.estimates_after(position) => false,
            Phase::Gibbs => {
                let passes = self.gibbs_passes(position);
                passes.is_some_and(|passes| self.evaluates_gibbs_pass(passes))
            }
        };
        is_due || ends
    }

    /// Returns whether the coherence of the topics is counted after the round: where the model is scored in the Gibbs
    /// phase, at the end of the online phase, and to choose the topics that are dissolved.
    pub fn counts_coherence_after(&self, position: Position) -> bool {
        let next = self.next(position, false);
        let is_late =
            position.phase == Phase::Gibbs || next.is_none_or(|next| next.phase != position.phase);
        self.dissolves_after(position) || is_late && self.evaluates_after(position)
    }

    /// Returns the number of rounds between two evaluations in online passes.
    fn evaluates_online_every(&self) -> u64 {
        let chosen = (self.minibatch_count / 4).max(EVALUATE_EVERY);
        self.settings.evaluate_every.map_or(chosen, u64::from)
    }

    /// Returns whether the model is scored after Gibbs pass number `passes`.
    fn evaluates_gibbs_pass(&self, passes: u64) -> bool {
        let every = self.settings.evaluate_every.map(u64::from);
        passes.is_multiple_of(every.unwrap_or((self.passes / 20).max(2)))
    }

    /// Returns whether the score after the round may end the phase. Before every document has been visited, before
    /// φ^p has been estimated, before spare topics have been dissolved, and while α is still wide or has just begun to
    /// shrink, quality may stall without having settled.
    pub fn may_settle_after(&self, position: Position) -> bool {
        match position.phase {
            Phase::Online => position.taken + 1 >= self.minibatch_count,
            Phase::Gibbs => {
                let learnt = match self.alpha_every {
                    0 => 0,
                    every => self.alpha_after + every + 1,
                };
                let estimated = self.average_every * u64::from(self.estimates());
                let passes = self.gibbs_passes(position);
                let least = learnt.max(estimated).max(self.passes_with_spare() + 1);
                passes.is_none_or(|passes| passes >= least)
            }
        }
    }
}

#[cfg(test)]
mod passes_tests {
    use super::*;
    use crate::train::norms::Norms;
    use crate::train::settings::{Memory, TrainSettings};

    /// Returns the Gibbs passes after which a sample is taken, with its weight, and those after which the model is
    /// scored; over all rounds of a job of ten Gibbs passes.
    fn samples(estimator: Estimator, every: u32) -> (Vec<(u64, f64)>, Vec<u64>) {
        samples_with_spare(0, (estimator, every))
    }

    /// Returns the same for a job with spare topics.
    fn samples_with_spare(
        spare: usize,
        (estimator, every): (Estimator, u32),
    ) -> (Vec<(u64, f64)>, Vec<u64>) {
        let settings = TrainSettings {
            estimator,
            passes: Some(12),
            online_passes: 2,
            memory: Memory::On,
            average_every: Some(every),
            evaluate_every: Some(4),
            ..TrainSettings::default()
        };
        let schedule =
            Schedule::new(&settings, 5000, 200_000, Norms::default()).with_spare_topics(spare);
        let (mut next, mut rounds) = (schedule.start(), 0);
        let (mut averaged, mut scored) = (Vec::new(), Vec::new());
        while let Some(position) = next {
            rounds += 1;
            if position.phase == Phase::Gibbs {
                let passes = schedule.gibbs_passes(position);
                averaged.extend(passes.zip(schedule.average_after(position)));
                scored.extend(passes.filter(|_| schedule.evaluates_after(position)));
            }
            next = schedule.next(position, false);
            assert!(next.is_none_or(|next| next.round == rounds));
        }
        assert_eq!(rounds, schedule.round_count());
        (averaged, scored)
    }

    #[test]
    fn soft_samples_are_taken_where_counts_are() {
        for every in [3, 5, 40] {
            let counts = samples(Estimator::Counts, every);
            assert_eq!(samples(Estimator::Soft, every), counts);
            assert_eq!(counts.1, [4, 8, 10]);
        }
        assert_eq!(samples(Estimator::Counts, 40).0, [(10, 1.0)]);
        let third = samples(Estimator::Soft, 3).0;
        assert_eq!(third, [(3, 1.0), (6, 0.8), (9, 4.0 / 6.0)]);
    }

    #[test]
    fn no_sample_is_taken_before_spare_topics_are_dissolved() {
        for estimator in [Estimator::Counts, Estimator::Soft] {
            let samples = |every| samples_with_spare(2, (estimator, every)).0;
            assert_eq!(samples(2), [(6, 1.0), (8, 0.8), (10, 4.0 / 6.0)]);
            assert_eq!(samples(5), [(10, 1.0)]);
            assert_eq!(samples(7), [(7, 1.0)]);
            assert_eq!(samples(8), [(8, 1.0)]);
            assert_eq!(samples(40), [(10, 1.0)]);
        }
    }

    #[test]
    fn spare_topics_are_dissolved_once_halfway_through_the_gibbs_passes() {
        for (passes, dissolved) in [(2, None), (3, None), (4, Some(1)), (5, Some(1)), (12, Some(5))]
        {
            let settings = TrainSettings {
                passes: Some(passes),
                online_passes: 2,
                memory: Memory::On,
                ..TrainSettings::default()
            };
            let schedule = Schedule::new(&settings, 5000, 200_000, Norms::default());
            let schedule = schedule.with_spare_topics(3);
            let mut rounds =
                std::iter::successors(schedule.start(), |&it| schedule.next(it, false));
            let found = rounds.by_ref().find(|&round| schedule.dissolves_after(round));
            assert_eq!(found.and_then(|round| schedule.gibbs_passes(round)), dissolved);
            assert!(rounds.all(|round| !schedule.dissolves_after(round)));
            assert_eq!(schedule.spare_topics, dissolved.map_or(0, |_| 3));
        }
    }

    /// Returns the draws of a token in training on a sample of `tokens` tokens.
    fn draws(memory: Memory, tokens: u64) -> u64 {
        let settings = TrainSettings { memory, ..TrainSettings::default() };
        let schedule = Schedule::new(&settings, tokens / 100, tokens, Norms::default());
        let online = schedule.online_passes;
        online * settings.sweeps().draws() + schedule.passes - online
    }

    #[test]
    fn a_token_is_drawn_as_often_on_both_sides_of_the_memory_limit() {
        let limit = TrainSettings::default().memory_bytes / 2;
        assert_eq!([0, 1].map(|more| draws(Memory::Auto, limit + more)), [5, 5]);
        for tokens in (63..4000).map(|millions| millions * 1_000_000) {
            let [on, off] = [Memory::On, Memory::Off].map(|memory| draws(memory, tokens));
            assert!((off..off + 5).contains(&on), "{tokens} tokens: {on}, {off}");
        }
        let known = [1, 5, 20, 200, 400, 1000].map(|millions| {
            [Memory::On, Memory::Off].map(|memory| draws(memory, millions * 1_000_000))
        });
        assert_eq!(known, [[212, 100], [92, 100], [32, 100], [32, 30], [22, 20], [16, 15]]);
    }

    #[test]
    fn the_last_sample_alone_is_there_when_the_model_is_scored() {
        let (averaged, scored) = samples(Estimator::Soft, 0);
        assert_eq!(averaged, [(4, 1.0), (8, 1.0), (10, 1.0)]);
        assert_eq!(scored, [4, 8, 10]);
        assert_eq!(samples(Estimator::Counts, 0).0, [(10, 1.0)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_revisited_documents_do_not_make_the_minibatches_of_the_others_small() {
        for revisited in [0, 1] {
            let settings = TrainSettings::default();
            let schedule = Schedule::partial(&settings, 640, [revisited; 2], Norms::default());
            assert_eq!((schedule.minibatch_count, schedule.unvisited_count), (1, 10));
        }
    }
}
