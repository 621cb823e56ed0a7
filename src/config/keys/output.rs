//! The rows about what is made from a model: `[project]`, `[maxent]`, `[evaluate]`, `[output]`; and `[cluster]`.

use toml::Value;

use super::constraint::Demand::{Ignored, Implied, NotGiven, Only, Unused};
use super::constraint::Given::{By, Text};
use super::constraint::When::{If, Is};
use super::constraint::{KeyConstraint, constraints, read};
use super::training::SWEEPS;
use super::{HashedStage, Section, rows};
use crate::config::kind::ValueKind::{
    Described, File, Flag, List, Mib, Name, Optional, Or, Prior, Real, Whole, Word, Words, ZeroOr,
};
use crate::config::kind::{
    AUTO, CONCENTRATION, COUNT, MIB, NOT_NEGATIVE, PART, POSITIVE, Reals, is_distinct, is_named,
    words_of,
};
use crate::evaluate::settings::Metric;
use corpus::dates::DateUnit;
use corpus::sample::Split;
use lda::evaluate::coherence::MOST_TERMS;
use lda::evaluate::completion;
use lda::infer::settings::Estimator;
use lda::infer::{self, InferenceMethod};
use lda::regression;

/// Keeps products with φ within 32 bits.
const WITHIN_32_BITS: Reals = Reals(|x| (1e-10..=1e10).contains(&x), "a number from 1e-10 to 1e10");

fn inference_methods() -> Vec<(&'static str, &'static str)> {
    infer::METHODS.iter().map(|method| (method.name, method.doc)).collect()
}

/// Returns a number that a method has.
fn of_method(name: &str, number: fn(&InferenceMethod) -> u32) -> Option<Value> {
    InferenceMethod::named(name).map(number).map(Value::from)
}

pub(super) const CONSTRAINTS: &[KeyConstraint] = constraints! {
    ["project.burn_in"] => Implied(By("project.method", |name| of_method(name, |method| method.sweeps[0])));
    ["project.sweeps"] => Implied(By("project.method", |name| of_method(name, |method| method.sweeps[1])));
    ["project.iterations"] => Implied(By("project.method", |name| of_method(name, |method| method.iterations)));
    ["project.burn_in", "project.sweeps", "project.chains", "project.estimator", "project.iterations",
     "project.tolerance", "project.temperature", "project.trends", "project.date_unit", "project.rollups"]
        => Ignored, if Is("project.method", "none");
    ["project.trends", "project.date_unit"] => Unused, if Is("project.rollups", "false");
    ["project.label_topics"] => Only(Text("0")), if If("project.method", |name| {
        !InferenceMethod::named(name).is_some_and(|method| method.takes_label_topics)
    });
    ["project.label_topics"] => Implied(Text("0")), if Is("model.label_prior", "uniform");
    ["evaluate.reference", "evaluate.coherence_terms"] => NotGiven,
        if If("evaluate.metrics", |metric| !read(metric).is_some_and(Metric::is_coherence));
    ["evaluate.particles", "evaluate.resample"] => NotGiven,
        if If("evaluate.metrics", |metric| metric != "left-to-right");
};

pub(super) const PROJECT: Section = rows! {
    "project", Some(HashedStage::Project);

    /// How topics of documents are inferred. {words}; `"none"` stops after training. In a job that names its method, as
    /// a saved job does, overriding it replaces the values that it implies ([INFERENCE.md](INFERENCE.md#effort)).
    method: Or(&["none"], &Described(inference_methods)), Default("cvb0");
    /// Sampling methods: sweeps discarded after the first one (passes, for methods that sample documents together).
    burn_in: Whole(0, SWEEPS), Default(2);
    /// Sampling methods: sweeps or passes that are averaged.
    sweeps: Whole(1, SWEEPS), Default(4);
    /// Independent chains that are averaged; not for methods that sample documents together.
    chains: Whole(1, 1_000), Default(1);
    /// Sampling methods: `"soft"` averages the conditional distributions of the tokens (θᵖ), `"counts"` the sampled
    /// topics.
    estimator: Word(words_of::<Estimator>), Default("soft");
    /// Maximum iterations of `"cvb0"` and `"variational"`.
    iterations: Whole(1, SWEEPS), Default(3);
    /// `"cvb0"` and `"variational"` stop when less than this share of a document's tokens moves.
    tolerance: Real(NOT_NEGATIVE), Default(0.001);
    /// τ of `"maxent"` and `"hybrid"`: the classifier's features are weighted 1/τ.
    // A weight of the classifier times a count, divided by it, is a number of 32 bits.
    temperature: Real(CONCENTRATION), Default(1.0);
    /// Topics with a smaller share of a document are not written; the sum of their shares is written as `dropped_mass`.
    // A share below 1 % of a document is within the noise of sampling.
    threshold: Real(PART), Default(0.01);
    /// Write at most this many topics per document; 0 sets no limit.
    // The threshold already bounds the rows.
    top: Whole(0, 65_535), Default(0);
    /// Number of topics over labels, with which `"cvb0"` models which labels occur together (Dependency-LDA). 0: labels
    /// are independent.
    // Better than none on three corpora, by 0.02 to 0.05 in F1; the difference from 20 or 200 is within chance.
    label_topics: Whole(0, 65_535), Default(50);
    /// Number of labels predicted for a document: those with the largest shares of its tokens. `"auto"` estimates the
    /// number from the document's terms (a linear regression: the Meta-Labeler).
    label_count: Or(AUTO, &Whole(1, 65_535)), Default("auto");
    /// If above 0, all labels with at least this share of a document's tokens are predicted, however many they are.
    label_threshold: Real(PART), Default(0.0);
    /// Columns of `corpus.metadata`, for each of whose values the table `topic_trends` has the shares of the topics
    /// ([FORMATS.md](FORMATS.md#topic_trends)); `language` always is one, also if it is identified.
    // A job has to say which other columns are worth it.
    trends: List(|names| is_distinct(names) && is_named(names), "a list of distinct names"), Default([]);
    /// The unit by which `trends` groups dates; `"auto"` takes the finest one with few enough values. Name one if the
    /// trends of several results are to be compared.
    date_unit: Or(AUTO, &Word(words_of::<DateUnit>)), Default("auto");
    /// Whether the tables `group_topics`, `topic_trends`, `topic_correlations` and `topic_concentration`, which sum over
    /// documents, are written.
    // They take little of a projection's time, and answer what most results are made for.
    rollups: Flag, Default(true);
    /// Documents listed per topic.
    // Enough to read what a topic is about.
    topic_documents: Whole(0, COUNT), Default(20);
    /// Terms listed per topic.
    // Twice as many as coherence is usually measured on.
    top_terms: Whole(1, 1_000), Default(20);
};

pub(super) const MAXENT: Section = rows! {
    "maxent", Some(HashedStage::Project);

    /// Maximum number of documents of the sample on which the classifier is trained.
    // Enough for a stable classifier; its time grows with them.
    documents: Whole(1, COUNT), Default(20000);
    /// σ², the variance of the Gaussian prior of the classifier's weights; a topic's bias has no prior.
    // The usual choice in text classification.
    prior_variance: Real(POSITIVE), Library(regression::Settings::default().prior_variance);
    /// Maximum iterations of L-BFGS. Training ends earlier when an iteration gains less than 10⁻⁶ nats per document.
    // It has mostly converged before.
    iterations: Whole(1, COUNT), Library(regression::Settings::default().iterations);
    /// Maximum MiB of memory for training the classifier; a job that needs more ends with an error. Does not change the
    /// result.
    // Enough for 1000 topics over some 33,000 terms.
    memory_mib: Mib(POSITIVE), Library(regression::Settings::default().most_bytes as f64 / MIB), UNHASHED;
};

pub(super) const EVALUATE: Section = rows! {
    "evaluate", Some(HashedStage::Evaluate);

    /// `"completion"` is document completion; `"umass"`, `"npmi"` and `"c_v"` are coherences.
    // The measure that training itself uses; it is cheap.
    metrics: Words(words_of::<Metric>), Default(["completion"]);
    /// Which documents to evaluate: `"held_out"` are those of the sample that were not trained on, `"sample"` those
    /// trained on, `"projected"` those not in the sample.
    // Documents that the model has not seen.
    split: Or(&["all"], &Word(words_of::<Split>)), Default("held_out");
    /// Maximum number of documents, chosen by their hash; 0 takes all.
    // The split already bounds them.
    documents: Whole(0, COUNT), Default(0);
    /// Number of particles of `"left-to-right"`.
    // As in Wallach 2009.
    particles: Whole(1, 100_000), Default(20);
    /// Whether `"left-to-right"` resamples the topics of earlier tokens at each position: more accurate, but a document
    /// of N tokens takes N² draws.
    resample: Flag, Default(false);
    /// Sweeps of `"completion"`; the first half is discarded.
    // As in training, so that figures can be compared.
    completion_sweeps: Whole(1, SWEEPS), Library(completion::SWEEPS);
    /// The Dirichlet prior over a document's topics: one number for every topic, or a list with one per topic; `"auto"`
    /// takes the model's own, or 5 / K if an external model has none.
    alpha: Or(AUTO, &Prior(WITHIN_32_BITS)), Default("auto");
    /// Top terms of a topic used by `"umass"` and `"npmi"`; 0 means 20 for `"umass"`, 10 for `"npmi"`. Also
    /// `--coherence-terms`.
    coherence_terms: ZeroOr(2, MOST_TERMS as u64), Default(0);
    /// Files, folders and globs, as in `corpus.input`, with texts on which coherence is counted; `[]` uses the
    /// documents trained on, and for `"c_v"` all texts of the input. Also `--reference`.
    reference: List(|names| !names.contains(&""), "a text or a list of texts, none of them empty"), Default([]);
};

pub(super) const OUTPUT: Section = rows! {
    "output", None;

    /// The result's folder, relative to the current directory; or its address in an object store, `s3://bucket/folder`
    /// ([OPERATIONS.md](OPERATIONS.md#without-a-shared-file-system)).
    path: Name, Required("out/my-topics");
    /// For an output in an object store: the folder for working copies, on a local disk; `""` means the system's
    /// temporary folder. Does not change the result.
    scratch: Optional, Default("");
    /// MiB of consecutive shards that become one part of `documents`, `document_topics` and `predictions`; less for a
    /// small collection, whose parts have a 128th of it or one shard ([FORMATS.md](FORMATS.md#parts)). Does not change the
    /// rows.
    // Files of some 200 MiB for short texts, and a few minutes of work that a killed run repeats.
    part_mib: Mib(POSITIVE), Default(256), UNHASHED;
    /// Whether the run writes `report.html`, a page about the result ([FORMATS.md](FORMATS.md#the-report)). Does not change
    /// the result; `topicmill report` writes it later.
    // Costs one more pass over the written tables.
    report: Flag, Default(true);
    /// The address of a document, to which its id in the report is a link: `{source_id}`, `{group_id}` and columns of
    /// `corpus.metadata` in braces are replaced by its values, as in `"https://hdl.handle.net/2027/{group_id}"`. `""`: none.
    link: Optional, Default("");
    /// How many of the latest states of the result `topicmill add`, `remove`, `retrain` and `follow` keep beside it,
    /// in `NAME.generations/`, the newest included ([OPERATIONS.md](OPERATIONS.md#a-collection-that-grows)). `remove` keeps
    /// only the newest. Does not change the result.
    keep_generations: Whole(0, COUNT), Default(0), UNHASHED;
};

pub(super) const CLUSTER: Section = rows! {
    "cluster", None;

    /// A file with the secret that the processes of a run share, relative to the job file; `TOPICMILL_SECRET` and
    /// `TOPICMILL_SECRET_FILE` override it. `""` for none. Changes neither the result nor the job's id. See
    /// [OPERATIONS.md](OPERATIONS.md#the-secret).
    secret_file: File, Default("");
};
