//! The rows about what is trained: `[sample]`, `[model]`, `[tree]`, `[train]`.

use super::{Section, Stage, rows};
use crate::job::kind::Kind::{File, Flag, Mib, Or, Prior, Real, Whole, Word};
use crate::job::kind::{
    AUTO, CONCENTRATION, COUNT, EDGE, NOT_NEGATIVE, PART, POSITIVE, Reals, SHARE, words_of,
};
use crate::knowledge;
use lda::infer::settings::Estimator;
use lda::model::settings::{Geometry, LabelPrior};
use lda::train::settings::{DocumentSchedule, Memory};
use lda::train::step;
use lda::train::warm_start::Unassigned;

/// Maximum number of sweeps over a document; few enough that sums fit in 32 bits.
pub(super) const SWEEPS: u64 = 10_000;
/// Robbins and Monro's condition: the sum of the steps is infinite, that of their squares finite.
const DECAY: Reals = Reals(|x| x > 0.5 && x <= 1.0, "a number above 0.5, at most 1");

fn training_methods() -> &'static [&'static str] {
    &step::NAMES
}

pub(super) const SAMPLE: Section = rows! {
    "sample", Some(Stage::Train);

    /// Train on this share of the documents that have terms.
    fraction: Real(SHARE), Absent;
    /// Train on this many of the documents that have terms, or on all if there are fewer.
    // Smaller collections are trained on completely; of larger ones, this many documents of a hundred distinct terms
    // take 160 MB.
    documents: Whole(1, COUNT), Default(200000);
    /// Share of the sample that is not trained on, so that quality can be measured on it. With 0, quality is not
    /// measured.
    // 4,000 of 200,000 documents give the figure three digits.
    held_out: Real(PART), Default(0.02);
};

pub(super) const MODEL: Section = rows! {
    "model", Some(Stage::Train);

    /// A finished result whose model is used as it is: nothing is trained, and all documents are projected onto its topics
    /// ([OPERATIONS.md](OPERATIONS.md#new-documents)). `[tokens]`, `[phrases]`, `[vocabulary]` and `[model]` are then those
    /// of that result. `""`: a model is trained.
    from: File, Default(""), Later;
    /// Number of topics.
    topics: Whole(1, 65_535), Required(100);
    /// The seed of every random choice.
    // Any number; the same seed produces the same bytes.
    seed: Whole(0, i64::MAX as u64), Default(1);
    /// The Dirichlet prior over a document's topics: one number for every topic, or a list with one per topic.
    alpha: Prior(CONCENTRATION), Absent;
    /// The sum of that prior over the topics, shared evenly; if α is learnt, `"auto"` is the least of 0.1 per topic
    /// (but at least 10 in all), 2 √`topics`, and a fifth of the mean document length (but at least 1); 5 if α is
    /// fixed.
    alpha_sum: Or(AUTO, &Real(CONCENTRATION)), Default("auto");
    /// The Dirichlet prior over a topic's terms in training; `"auto"` derives it from the sample's size.
    eta: Or(AUTO, &Real(CONCENTRATION)), Default("auto");
    /// That prior in the published topics, with which documents are also inferred; `"auto"` chooses it on the
    /// held-out documents.
    published_eta: Or(AUTO, &Real(CONCENTRATION)), Default("auto");
    /// How a round derives weights from the parameters: `"mean"`, or the paper's `"exp-psi"`, which needs
    /// `train.memory = "off"`.
    geometry: Word(words_of::<Geometry>), Default("mean");
    /// The prior of a label in inference: in proportion to the documents that have it (`"frequency"`: Prior-LDA), or
    /// the same for every label (`"uniform"`: Labeled LDA).
    // Papanikolaou 2017, §6.3.
    label_prior: Word(words_of::<LabelPrior>), Default("frequency"), Labelled, Later;
};

pub(super) const TREE: Section = rows! {
    "tree", Some(Stage::Train);

    /// A file with knowledge of words: a list of words that belong together or do not, or a tree
    /// ([TREES.md](TREES.md)). `""`: none.
    file: File, Default(""), Later;
    /// Form of the file: `"constraints"`, `"outline"`; `"auto"` decides by its name.
    format: Or(AUTO, &Word(words_of::<knowledge::Kind>)), Default("auto"), Later, Tree;
    /// β₁, the prior of each edge from words that belong together to one of them. The larger it is, the more alike
    /// their probabilities.
    // The value of Hu, Boyd-Graber & Satinoff 2011.
    must_link: Real(EDGE), Default(100.0), Later, Tree;
    /// β₂, the prior of each edge that separates words that do not belong together. The smaller it is,
    /// the more strictly they are separated.
    // Far below any count, and far above the smallest float.
    cannot_link: Real(EDGE), Default(0.000000000001), Later, Tree;
};

pub(super) const TRAIN: Section = rows! {
    "train", Some(Stage::Train);

    /// What an online round does with a document: sample its topics (`"sampled"`); sample them once, for good
    /// (`"smc"`); approximate them by `"online-vb"`, `"scvb0"` or `"online-em"` or, for all documents at once, by `"batch-vb"`
    /// or `"cvb0"`. All but the first are for comparison with the papers: they have no Gibbs passes, and all but `"cvb0"`
    /// remember nothing.
    method: Word(training_methods), Default("sampled"), Later;
    /// Average number of documents in a minibatch; `"auto"` divides a sample of N tokens into √(N / 1500) minibatches,
    /// at least 16, of 64 to 2048 documents each; `"norms"` derives it from the norms of the documents
    /// ([TRAINING.md](TRAINING.md#minibatches)). A Gibbs round samples up to eight minibatches.
    minibatch: Or(&["auto", "norms"], &Whole(1, COUNT)), Default("auto"), NotBatch;
    /// Maximum number of passes over the sample; `"auto"` is as many as draw 400 million tokens, from 20 to 200, or 1 to
    /// 20 if nothing is remembered; after a warm start, 20.
    passes: Or(AUTO, &Whole(1, COUNT)), Default("auto");
    /// Whether assignments are remembered: `"on"`, `"off"`, or decided by `memory_mib`. If off, all passes are online,
    /// the 2012 paper's algorithm, and a sample larger than `sample_mib` is streamed from disk.
    memory: Word(words_of::<Memory>), Default("auto");
    /// `"auto"` remembers assignments up to this many MiB (2 bytes per token) over all processes. `"cvb0"` ends with an
    /// error if it takes more (2 bytes per topic, or label of its own, and distinct term of a document).
    // The assignments of two billion tokens. A larger sample needs no remembered passes.
    memory_mib: Mib(NOT_NEGATIVE), Default(4096.0), Memory;
    /// Which documents a round visits. Two schedules visit each document once per pass: at random (`"uniform"`), or
    /// those with a large Σ n² earlier (`"influence"`). Two draw documents in each round: with a probability
    /// proportional to Σ n² (`"influence-draws"`), or by how much their topics changed (`"residual"`); a pass is then
    /// as many draws as there are documents.
    // No other schedule reached a held-out figure with fewer draws on all corpora.
    schedule: Word(words_of::<DocumentSchedule>), Default("uniform"), Later;
    /// Whether a drawn document is weighted by the inverse of its probability in online rounds.
    // Algorithm 3 of Wahabzada & Kersting 2011 does not.
    importance: Flag, Default(false), Online, Drawn;
    /// c, the minimum influence of a document, in tokens; `"auto"` is the length of the shortest document.
    residual_floor: Or(AUTO, &Real(POSITIVE)), Default("auto"), Residual;
    /// ε: a round draws uniformly if the entropy of the probabilities is this close to its maximum, in nats.
    // So close to it, draws are nearly uniform without the switch.
    residual_switch: Real(NOT_NEGATIVE), Default(0.0), Residual;
    /// Number of online passes, before the Gibbs passes; 0 starts from random topics: batch Gibbs sampling.
    // On 1.7 and 16 million tokens a few reach good topics fastest; more of them gain less than Gibbs passes do.
    online_passes: Whole(0, COUNT), Default(3), Gibbs;
    /// Sweeps over a document that are discarded in each online round, after the first one.
    // Mimno 2012, §4.4, finds three to five sweeps in all enough: a sequential first one, one discarded, and
    burn_in: Whole(0, SWEEPS), Default(1), Online, Sweeps;
    /// Sweeps that count in each online round.
    // three that count.
    sweeps: Whole(1, SWEEPS), Default(3), Online, Sweeps;
    /// t₀ of the step size (t₀ + t)^−κ of online rounds.
    // Small enough to forget the random start soon.
    step_offset: Real(POSITIVE), Default(10.0), Online, Steps;
    /// κ of the step size.
    // That of Mimno 2012; must be above 0.5 to converge.
    step_decay: Real(DECAY), Default(0.6), Online, Steps;
    /// In online rounds, weights below this many tokens are dropped; 0 keeps all, as `"online-vb"` and `"scvb0"` do by
    /// default.
    // Decay leaves less than half a token of chance assignments; dropping it keeps rows short with many topics.
    prune: Real(NOT_NEGATIVE), Default(0.4), Online, Steps;
    /// A finished result whose topics training starts from: its folder. They keep their numbers; each document is first
    /// assigned by them, and all passes are Gibbs passes. If `tree.file` has changed, passes visit only documents with words
    /// that the change concerns ([TREES.md](TREES.md#correcting-a-model)). `""`: topics at random.
    warm_start: File, Default(""), Later;
    /// Whose assignments are forgotten where `tree.file` has changed: those of the words concerned (`"terms"`), of all words
    /// of documents that contain one (`"documents"`), or `"nothing"`.
    // The one that separates words, among those that keep the topics; docs/measurements/DEFAULTS.md.
    unassign: Word(words_of::<Unassigned>), Default("terms"), Later, WarmStart;
    /// Gibbs passes before α is first learnt; `"auto"` is a quarter of them.
    alpha_after: Or(AUTO, &Whole(0, COUNT)), Default("auto"), Gibbs;
    /// Gibbs passes between two steps of learning α; `"auto"` is an eighth of them, 0 keeps α fixed.
    alpha_every: Or(AUTO, &Whole(0, COUNT)), Default("auto"), Gibbs;
    /// Gibbs passes between two samples of the counts whose average is published; `"auto"` is a fiftieth of them, 1 to 5;
    /// 0 publishes the last counts.
    average_every: Or(AUTO, &Whole(0, COUNT)), Default("auto"), Gibbs;
    /// What is averaged and published: `"counts"`, or `"soft"` (φ^p of Papanikolaou et al. 2017), with which each token
    /// counts in all topics by the probabilities of its next draw. Each soft sample takes one more round over the whole
    /// sample, in time proportional to `topics`.
    estimator: Word(words_of::<Estimator>), Default("counts"), Later, Gibbs;
    /// MiB of memory that a process uses for its share of the sample: for the documents (8 bytes per distinct term)
    /// and, separately, for remembered assignments. The rest is kept in a file below the output folder, from which each
    /// round reads its minibatch. With `memory = "off"` the default is 32. Does not change the result.
    // The documents of about a billion tokens per process; further ones are kept on disk.
    sample_mib: Mib(NOT_NEGATIVE), Default(4096.0), Unhashed;
    /// Online rounds, or Gibbs passes, between two evaluations on the held-out documents; `"auto"` is a
    /// quarter of a pass (at least 10 rounds), or a twentieth of `passes` (at least 2).
    evaluate_every: Or(AUTO, &Whole(1, COUNT)), Default("auto");
    /// A phase ends after this many evaluations in a row without a gain: online, once every document has been visited; in
    /// the Gibbs phase, after the second step of α. 0 never ends it early.
    // Evaluations scatter by some 0.005 nats per token; five in a row without a gain are not chance.
    patience: Whole(0, COUNT), Default(5);
    /// The smallest gain that counts, in nats per token.
    // Below the scatter of evaluations.
    tolerance: Real(NOT_NEGATIVE), Default(0.002);
    /// Rounds between two checkpoints; 0 ignores rounds. Does not change the result.
    // Only by time: a round may take a millisecond or a minute.
    checkpoint_every: Whole(0, COUNT), Default(0), Unhashed;
    /// Minutes between two checkpoints, or a little more: until the next point that allows one; 0 ignores time. Does
    /// not change the result.
    // A killed run repeats this much, and the pass that it was in. A checkpoint takes a fifth of a Gibbs pass, so one
    // every few rounds would cost too much.
    checkpoint_minutes: Real(NOT_NEGATIVE), Default(2.0), Unhashed;
};
