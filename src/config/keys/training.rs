//! The rows about what is trained: `[sample]`, `[model]`, `[tree]`, `[train]`.

use toml::Value;

use super::constraint::Demand::{Absent, Holds, Ignored, Implied, OneOf, Only, Unused};
use super::constraint::Given::{By, Text};
use super::constraint::When::{If, Is, Lacks, Names};
use super::constraint::{KeyConstraint, constraints};
use super::{HashedStage, Section, rows};
use crate::config::kind::ValueKind::{Described, File, Flag, Mib, Or, Prior, Real, Whole, Word};
use crate::config::kind::{
    AUTO, CONCENTRATION, COUNT, EDGE, MIB, NOT_NEGATIVE, PART, POSITIVE, Reals, SHARE, word,
    words_of,
};
use crate::knowledge;
use lda::infer::InferenceMethod;
use lda::infer::settings::Estimator;
use lda::model::settings::{Geometry, LabelPrior};
use lda::train::document_schedule::{DocumentSchedule, SCHEDULES};
use lda::train::labels;
use lda::train::settings::{Memory, TrainSettings};
use lda::train::step::{METHODS, TrainingMethod, Unused as Setting};
use lda::train::warm_start::Unassigned;

/// Maximum number of sweeps over a document; few enough that sums fit in 32 bits.
pub(super) const SWEEPS: u64 = 10_000;
/// Robbins and Monro's condition: the sum of the steps is infinite, that of their squares finite.
const DECAY: Reals = Reals(|x| x > 0.5 && x <= 1.0, "a number above 0.5, at most 1");

/// Keys without effect if nothing is remembered.
const GIBBS: [&str; 5] = [
    "train.online_passes",
    "train.alpha_after",
    "train.alpha_every",
    "train.average_every",
    "train.estimator",
];

/// The settings of `lda`, whose defaults are those of `[train]`; what is `None` there is `"auto"` here.
fn default() -> TrainSettings {
    TrainSettings::default()
}

fn training_methods() -> Vec<(&'static str, &'static str)> {
    METHODS.iter().map(|method| (method.name, method.doc)).collect()
}

fn schedules() -> Vec<(&'static str, &'static str)> {
    SCHEDULES.iter().map(|schedule| (schedule.name, schedule.doc)).collect()
}

fn method(name: &str) -> &'static TrainingMethod {
    TrainingMethod::named(name).expect("it is a word of train.method")
}

/// Whether a method has no use for such settings.
fn ignores(name: &str, setting: Setting) -> bool {
    method(name).ignores.contains(&setting)
}

fn is_drawn(schedule: &str) -> bool {
    DocumentSchedule::named(schedule).is_some_and(DocumentSchedule::is_drawn)
}

fn needs_memory(schedule: &str) -> bool {
    DocumentSchedule::named(schedule).is_some_and(DocumentSchedule::needs_memory)
}

/// Whether documents are projected each alone, or not at all.
fn is_alone(method: &str) -> bool {
    !InferenceMethod::named(method).is_some_and(InferenceMethod::is_joint)
}

fn needs_classifier(method: &str) -> bool {
    InferenceMethod::named(method).is_some_and(|method| method.needs_classifier)
}

fn is(value: &Value, holds: fn(&str) -> bool) -> bool {
    value.as_str().is_some_and(holds)
}

const ALONE: &str = "one that infers each document alone";

pub(super) const CONSTRAINTS: &[KeyConstraint] = constraints! {
    // A model that is not trained.
    ["sample", "tree", "train"] => Ignored, if Names("model.from");
    ["project.method"] => Holds(|method| is(method, is_alone) && !is(method, needs_classifier),
        "one that needs no training documents"), if Names("model.from");
    // Documents are assigned once by the topics of that result, and then visited by a few Gibbs passes
    // (docs/measurements/DEFAULTS.md).
    ["train.method"] => Only(Text("sampled")), if Names("train.warm_start");
    ["train.schedule"] => Only(Text("uniform")), if Names("train.warm_start");
    ["train.memory"] => Only(Text("on")), if Names("train.warm_start");
    ["train.online_passes"] => Only(Text("0")), if Names("train.warm_start");
    ["train.estimator"] => Only(Text("counts")), if Names("train.warm_start");
    ["train.passes"] => Implied(Text("20")), if Names("train.warm_start");
    // With labels, α is the paper's and is not learnt.
    ["model.alpha"] => Holds(|alpha| !alpha.is_array(), "a number"), if Names("corpus.labels");
    ["model.alpha_sum"] => Implied(By("corpus.labels", |_| Some(labels::ALPHA_SUM.into()))), if Names("corpus.labels");
    ["train.alpha_every"] => Only(Text("0")), if Names("corpus.labels");
    ["train.spare_topics"] => Only(Text("0")), if Names("corpus.labels");
    ["train.spare_topics"] => Only(Text("0")), if Names("train.warm_start");
    ["train.spare_topics"] => Only(Text("0")), if Names("tree.file");
    ["train.spare_topics"] => Only(Text("0")), if If("train.schedule", is_drawn);
    ["train.method"] => OneOf(|name| method(name).takes_labels), if Names("corpus.labels");
    ["project.method"] => Holds(|method| is(method, is_alone), ALONE), if Names("corpus.labels");
    // Only sampling supports a tree's leaves.
    ["train.method"] => OneOf(|name| method(name).takes_tree), if Names("tree.file");
    ["train.schedule"] => OneOf(|schedule| !is_drawn(schedule)), if Names("tree.file");
    ["train.estimator"] => Only(Text("counts")), if Names("tree.file");
    ["model.geometry"] => Only(Text("mean")), if Names("tree.file"),
        because "exp Ψ of the small prior of a cannot-link is 0";
    ["project.method"] => Holds(|method| is(method, is_alone), ALONE), if Names("tree.file");
    // The training method.
    ["train.memory"] => Only(By("train.method", |name| Some(word(method(name).requires.memory?).into())));
    ["train.passes"] => Only(By("train.method", |name| Some(method(name).requires.passes?.into())));
    ["model.geometry"] => Only(By("train.method", |name| Some(word(method(name).requires.geometry?).into())));
    ["train.schedule"] => Only(By("train.method", |name| Some(method(name).requires.schedule?.name.into())));
    ["train.schedule"] => OneOf(|schedule| !is_drawn(schedule)),
        if If("train.method", |name| method(name).requires.one_visit_a_pass);
    ["train.prune"] => Implied(By("train.method", |name| Some(method(name).prune?.into())));
    // What is remembered.
    ["model.geometry"] => Only(Text("mean")), if If("train.memory", |memory| memory != "off"),
        because "Gibbs passes support only the mean";
    ["model.eta"] => Holds(|eta| eta.as_float().is_none_or(|eta| eta >= 0.01), "at least 0.01"),
        if Is("model.geometry", "exp-psi"), because "exp Ψ of a smaller one is almost nothing, in every topic";
    ["train.schedule"] => OneOf(|schedule| !needs_memory(schedule)), if Is("train.memory", "off"),
        if If("train.method", |name| method(name).requires.memory.is_none());
    // About as much as a process reads ahead; small samples need no file.
    ["train.sample_mib"] => Implied(Text("32.0")), if Is("train.memory", "off"),
        if If("train.schedule", |schedule| !is_drawn(schedule));
    ["train.memory_mib"] => Absent, if Is("train.memory", "off");
    ["train.spare_topics"] => Only(Text("0")), if Is("train.memory", "off");
    ["train.spare_topics"] => Only(Text("0")), if If("train.method", |name| ignores(name, Setting::Gibbs));
    GIBBS => Absent, if Is("train.memory", "off");
    GIBBS => Absent, if If("train.method", |name| ignores(name, Setting::Gibbs));
    ["train.importance", "train.burn_in", "train.sweeps", "train.step_offset", "train.step_decay", "train.prune"]
        => Absent, if Is("train.online_passes", "0");
    ["train.burn_in", "train.sweeps"] => Absent, if If("train.method", |name| ignores(name, Setting::Sweeps));
    ["train.step_offset", "train.step_decay", "train.prune"] => Absent,
        if If("train.method", |name| ignores(name, Setting::Steps));
    ["train.minibatch"] => Absent, if If("train.method", |name| ignores(name, Setting::Minibatch));
    ["train.importance"] => Unused, if If("train.schedule", |schedule| !is_drawn(schedule));
    ["train.residual_floor", "train.residual_switch"] => Unused,
        if If("train.schedule", |schedule| !needs_memory(schedule));
    ["tree.format", "tree.must_link", "tree.cannot_link"] => Unused, if Lacks("tree.file");
    ["train.unassign"] => Unused, if Lacks("train.warm_start");
};

pub(super) const SAMPLE: Section = rows! {
    "sample", Some(HashedStage::Train);

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
    /// The seed by which documents are sampled, held out and, when they are scored, split into halves; `"auto"` is
    /// `model.seed`. Models with the same one can be compared document by document.
    seed: Or(AUTO, &Whole(0, i64::MAX as u64)), Default("auto");
};

pub(super) const MODEL: Section = rows! {
    "model", Some(HashedStage::Train);

    /// A finished result whose model is used as it is: nothing is trained, and all documents are projected onto its topics
    /// ([OPERATIONS.md](OPERATIONS.md#new-documents)). `[tokens]`, `[phrases]`, `[vocabulary]` and `[model]` are then those
    /// of that result. `""`: a model is trained.
    from: File, Default("");
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
    /// How a round derives weights from the parameters: `"mean"`, or the paper's `"exp-psi"`.
    geometry: Word(words_of::<Geometry>), Default("mean");
    /// The prior of a label in inference: in proportion to the documents that have it (`"frequency"`: Prior-LDA), or
    /// the same for every label (`"uniform"`: Labeled LDA).
    // Papanikolaou 2017, §6.3.
    label_prior: Word(words_of::<LabelPrior>), Default("frequency");
};

pub(super) const TREE: Section = rows! {
    "tree", Some(HashedStage::Train);

    /// A file with knowledge of words: a list of words that belong together or do not, or a tree
    /// ([TREES.md](TREES.md)). `""`: none.
    file: File, Default("");
    /// Form of the file: `"constraints"`, `"outline"`; `"auto"` decides by its name.
    format: Or(AUTO, &Word(words_of::<knowledge::Kind>)), Default("auto");
    /// β₁, the prior of each edge from words that belong together to one of them. The larger it is, the more alike
    /// their probabilities.
    // The value of Hu, Boyd-Graber & Satinoff 2011.
    must_link: Real(EDGE), Default(100.0);
    /// β₂, the prior of each edge that separates words that do not belong together. The smaller it is,
    /// the more strictly they are separated.
    // Far below any count, and far above the smallest float.
    cannot_link: Real(EDGE), Default(0.000000000001);
};

pub(super) const TRAIN: Section = rows! {
    "train", Some(HashedStage::Train);

    /// What an online round does with a document: {words}. All but the first are for comparison with the papers: they
    /// have no Gibbs passes, and all but `"cvb0"` remember nothing.
    method: Described(training_methods), Library(default().method.name);
    /// Average number of documents in a minibatch; `"auto"` divides a sample of N tokens into √(N / 1500) minibatches,
    /// at least 16, of 64 to 2048 documents each; `"norms"` derives it from the norms of the documents
    /// ([TRAINING.md](TRAINING.md#minibatches)). A Gibbs round samples up to eight minibatches.
    minibatch: Or(&["auto", "norms"], &Whole(1, COUNT)), Default("auto");
    /// Maximum number of passes over the sample; `"auto"` follows from its size
    /// ([TRAINING.md](TRAINING.md#defaults-that-follow-from-the-sample)): from 20 to 200 up to 200 million tokens, then
    /// fewer; from 1 to 20 if nothing is remembered.
    passes: Or(AUTO, &Whole(1, COUNT)), Default("auto");
    /// Whether assignments are remembered: `"on"`, `"off"`, or decided by `memory_mib`. If off, all passes are online,
    /// the 2012 paper's algorithm, and a sample larger than `sample_mib` is streamed from disk.
    memory: Word(words_of::<Memory>), Library(word(default().memory));
    /// `"auto"` remembers assignments up to this many MiB (2 bytes per token) over all processes, so that the result does
    /// not depend on their number. `"cvb0"` ends with an error if it takes more (2 bytes per topic, or label of its own,
    /// and distinct term of a document).
    // The assignments of two billion tokens. By default a larger sample has no Gibbs passes.
    memory_mib: Mib(NOT_NEGATIVE), Library(default().memory_bytes as f64 / MIB);
    /// If above 0, a longer document is trained on by this many of its tokens, drawn at random; all of them are projected,
    /// and held-out documents are whole. Without a limit, a very long text can have topics of its own.
    // Lengths that differ less are no harm.
    max_document_tokens: Whole(0, COUNT), Library(default().max_document_tokens);
    /// Which documents a round visits. {words}. Where documents are drawn, a pass is as many draws as there are
    /// documents.
    // No other schedule reached a held-out figure with fewer draws on all corpora.
    schedule: Described(schedules), Library(default().schedule.name);
    /// Whether a drawn document is weighted by the inverse of its probability in online rounds.
    // Algorithm 3 of Wahabzada & Kersting 2011 does not.
    importance: Flag, Library(default().importance);
    /// c, the minimum influence of a document, in tokens; `"auto"` is the length of the shortest document.
    residual_floor: Or(AUTO, &Real(POSITIVE)), Default("auto");
    /// ε: a round draws uniformly if the entropy of the probabilities is this close to its maximum, in nats.
    // So close to it, draws are nearly uniform without the switch.
    residual_switch: Real(NOT_NEGATIVE), Library(default().residual_switch);
    /// Number of online passes, before the Gibbs passes; 0 starts from random topics: batch Gibbs sampling.
    // On 1.7 and 16 million tokens a few reach good topics fastest; more of them gain less than Gibbs passes do.
    online_passes: Whole(0, COUNT), Library(default().online_passes);
    /// Number of topics that are trained in addition to `model.topics`; halfway through the Gibbs passes as many are
    /// dissolved, near-duplicates and those of the least NPMI, and the others take their tokens. `"auto"` is a fifth of
    /// `model.topics`, rounded down; with them there are at most 65,535 topics. 0 trains no others, nor does a job whose
    /// `model.alpha` is a list or that has fewer than two Gibbs passes.
    // Otherwise some of the topics are made of unrelated documents (docs/measurements/DEFAULTS.md).
    spare_topics: Or(AUTO, &Whole(0, 65_535)), Default("auto");
    /// Sweeps over a document that are discarded in each online round, after the first one.
    // Mimno 2012, §4.4, finds three to five sweeps in all enough: a sequential first one, one discarded, and
    burn_in: Whole(0, SWEEPS), Library(default().burn_in_sweeps);
    /// Sweeps that count in each online round.
    // three that count.
    sweeps: Whole(1, SWEEPS), Library(default().kept_sweeps);
    /// t₀ of the step size (t₀ + t)^−κ of online rounds.
    // Small enough to forget the random start soon.
    step_offset: Real(POSITIVE), Library(default().step_offset);
    /// κ of the step size.
    // That of Mimno 2012; must be above 0.5 to converge.
    step_decay: Real(DECAY), Library(default().step_decay);
    /// In online rounds, weights below this many tokens are dropped; 0 keeps all.
    // Decay leaves less than half a token of chance assignments; dropping it keeps rows short with many topics.
    prune: Real(NOT_NEGATIVE), Library(default().prune);
    /// A finished result whose topics training starts from: its folder. They keep their numbers; each document is first
    /// assigned by them, and all passes are Gibbs passes. If `tree.file` has changed, passes visit only documents with words
    /// that the change concerns ([TREES.md](TREES.md#correcting-a-model)). `""`: topics at random.
    warm_start: File, Default("");
    /// Whose assignments are forgotten where `tree.file` has changed: those of the words concerned (`"terms"`), of all words
    /// of documents that contain one (`"documents"`), or `"nothing"`.
    // The one that separates words, among those that keep the topics; docs/measurements/DEFAULTS.md.
    unassign: Word(words_of::<Unassigned>), Default("terms");
    /// Gibbs passes before α is first learnt; `"auto"` is a quarter of them.
    alpha_after: Or(AUTO, &Whole(0, COUNT)), Default("auto");
    /// Gibbs passes between two steps of learning α; `"auto"` is an eighth of them, 0 keeps α fixed.
    alpha_every: Or(AUTO, &Whole(0, COUNT)), Default("auto");
    /// Gibbs passes between two samples of the counts whose average is published; `"auto"` is a fiftieth of them, 1 to 5;
    /// 0 publishes the last counts.
    average_every: Or(AUTO, &Whole(0, COUNT)), Default("auto");
    /// What is averaged and published: `"counts"`, or `"soft"` (φ^p of Papanikolaou et al. 2017), with which each token
    /// counts in all topics by the probabilities of its next draw. Each soft sample takes one more round over the whole
    /// sample, in time proportional to `topics`.
    estimator: Word(words_of::<Estimator>), Library(word(default().estimator));
    /// MiB of memory that a process uses for its share of the sample: for the documents (8 bytes per distinct term)
    /// and, separately, for remembered assignments. The rest is kept in a file below the output folder, from which each
    /// round reads its minibatch. Does not change the result.
    // The documents of about a billion tokens per process; further ones are kept on disk.
    sample_mib: Mib(NOT_NEGATIVE), Library(default().sample_bytes as f64 / MIB), UNHASHED;
    /// Online rounds, or Gibbs passes, between two evaluations on the held-out documents; `"auto"` is a
    /// quarter of a pass (at least 10 rounds), or a twentieth of `passes` (at least 2).
    evaluate_every: Or(AUTO, &Whole(1, COUNT)), Default("auto");
    /// A phase ends after this many evaluations in a row without a gain in held-out likelihood or, in the Gibbs phase, in
    /// the topics' NPMI: online, once every document has been visited; in the Gibbs phase, after the second step of α, once
    /// the spare topics have been dissolved. 0 never ends it early.
    // Evaluations scatter by some 0.005 nats per token; five in a row without a gain are not chance.
    patience: Whole(0, COUNT), Library(default().patience);
    /// The smallest gain that counts, in nats per token or in NPMI.
    // Below the scatter of evaluations.
    tolerance: Real(NOT_NEGATIVE), Library(default().tolerance);
    /// Rounds between two checkpoints; 0 ignores rounds. Does not change the result.
    // Only by time: a round may take a millisecond or a minute.
    checkpoint_every: Whole(0, COUNT), Library(default().checkpoint_every), UNHASHED;
    /// Minutes between two checkpoints, or a little more: until the next point that allows one; 0 ignores time. Does
    /// not change the result.
    // A killed run repeats this much, and the pass that it was in. A checkpoint takes a fifth of a Gibbs pass, so one
    // every few rounds would cost too much.
    checkpoint_minutes: Real(NOT_NEGATIVE), Library(default().checkpoint_minutes), UNHASHED;
};
