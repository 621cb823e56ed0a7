//! The estimate of what a job takes: documents, rounds, memory of each process, disk, time. It aims to be right within a
//! factor of two, and errs on the high side for memory; nothing that runs depends on it.
//!
//! With N tokens and D documents in the collection, N_s and D_s of them in the sample, K topics, V terms kept,
//! P processes of T threads:
//!
//! - distinct terms: 50 √N (Heaps' law; Manning, Raghavan & Schütze give 30 to 100), or more if the first records
//!   show that they grow faster, at most N; in a document of n tokens, n / √(1 + n/500);
//! - of these, 1.5 / m are in m documents (Zipf gives 1 / m; 1.3 to 1.7 were measured);
//! - a kept term w is in n_w / prune topics at most, n_w = N_s / (rank · ln V) (Zipf), since each weight that
//!   pruning leaves is `prune` tokens;
//! - Gibbs passes keep the counts and their average; φ^p is in all topics.
//!
//! The bytes of an allocation are stated beside it, by functions called `bytes`.

mod disk;
mod seconds;

use super::survey::Survey;
use crate::assignments::{Assignments, Influences};
use crate::config::Job;
use crate::config::state::MODEL_FILE;
use crate::tables::drift::Drift;
use crate::tables::phi::PublishedPhi;
use crate::tables::{group_topics, topic_correlations, topic_trends};
use corpus::formats::htrc::VOLUME_BYTES;
use corpus::formats::vocabulary_bytes;
use corpus::minhash::key_bytes;
use corpus::phrases::pair_bytes;
use corpus::settings::{Repetitions, SampleSize};
use corpus::shard::writing_bytes;
use corpus::terms::{TERMS_A_FOLDER, TermCounter, filter_bytes};
use corpus::vocabulary::Vocabulary;
pub(crate) use disk::Disk;
use disk::shard_bytes;
use lda::bags::Bags;
use lda::evaluate::coherence::UMASS_TERMS;
use lda::infer::DocumentScope;
use lda::infer::settings::Estimator;
use lda::math::special::ln;
use lda::model::factors::Factors;
use lda::model::parameters::{Entry, Parameters};
use lda::train::alpha::Histograms;
use lda::train::joint::TopicSums;
use lda::train::schedule::Schedule;
use lda::train::step::{Counts, Remembered, Update};
pub(crate) use seconds::Seconds;

/// Bytes of the program and of its allocator's reserve: 28 MiB with 1,000 short documents.
const PROGRAM_BYTES: u64 = 28 << 20;
/// Bytes of a part's rows before compression: per token in drafts and shards, per topic of a document, per
/// document.
const TOKEN_BYTES: u64 = 13;
const ROW_BYTES: u64 = 20;
const DOCUMENT_ROW_BYTES: u64 = 128;
/// Maximum number of parts that a thread writes at a time: `documents` and `document_topics`.
const OPEN_PARTS: u64 = 2;

/// Assumed numbers of labels of a labelled collection, if `model.topics` is not set, and of each of its documents:
/// those of large catalogues of tags.
pub(crate) const LABELS: u64 = 1000;
const OWN_LABELS: u64 = 20;

/// An estimate of what a job takes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Estimate {
    /// Maximum number of documents trained on.
    pub(crate) sample_documents: u64,
    /// Documents of the sample that quality is measured on.
    pub(crate) held_out_documents: u64,
    /// Minibatches per pass.
    pub(crate) minibatches: u64,
    /// Maximum number of rounds.
    pub(crate) rounds: u64,
    /// Maximum number of passes, and how many of them are online.
    pub(crate) passes: [u64; 2],
    /// Bytes of all assignments, if they are remembered.
    pub(crate) remembered: Option<u64>,
    /// Whether a process reads its share of the sample from disk, round by round.
    pub(crate) streams: bool,
    /// Memory of each process.
    pub(crate) memory: Memory,
    /// Disk for the result.
    pub(crate) disk: Disk,
    /// Time of the stages.
    pub(crate) seconds: Seconds,
}

/// A stage of a run, by what is in memory in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryStage {
    Ingest,
    Phrases,
    Train,
    Classify,
    Project,
    Finish,
}

use MemoryStage::{Classify, Finish, Ingest, Phrases, Project, Train};

const STAGES: &[MemoryStage] = &[Ingest, Phrases, Train, Classify, Project, Finish];

/// A part of the memory of one process.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct MemoryPart {
    pub(crate) name: &'static str,
    /// About its bytes.
    pub(crate) bytes: u64,
    #[serde(skip)]
    stages: &'static [MemoryStage],
}

/// The memory of one process, part by part.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Memory(pub(crate) Vec<MemoryPart>);

impl Memory {
    /// Returns the most that a stage needs.
    pub(crate) fn peak(&self) -> u64 {
        let of = |stage| self.0.iter().filter(move |part| part.stages.contains(stage));
        STAGES.iter().map(|stage| of(stage).map(|part| part.bytes).sum()).max().unwrap_or(0)
    }

    /// Returns the bytes of a part.
    pub(crate) fn bytes(&self, name: &str) -> u64 {
        self.0.iter().find(|part| part.name == name).map_or(0, |part| part.bytes)
    }
}

/// Numbers of weights of a model.
#[derive(Clone, Copy, Debug)]
struct WeightCounts {
    /// λ̃_kw > 0 in training.
    stored: u64,
    /// Those that remain at its end: half or fewer, if the model is sparse.
    left: u64,
    /// Whether every term is in every topic.
    is_dense: bool,
    /// Those in dense rows, K each, which terms in enough topics also get.
    dense: u64,
}

/// The sizes that all estimates of a job follow from.
struct Sizes<'j> {
    job: &'j Job,
    survey: &'j Survey,
    /// K, or an assumed K if the labels determine it.
    topics: u64,
    /// Documents of the sample, and those of them to train on.
    sampled: u64,
    trained: u64,
    /// Tokens to train on.
    tokens: u64,
    /// Distinct terms; those that are listed; those that are kept.
    distinct: u64,
    listed: u64,
    kept: u64,
    weights: WeightCounts,
    schedule: Schedule,
}

impl<'j> Sizes<'j> {
    fn of(job: &'j Job, survey: &'j Survey) -> Self {
        let topics = if job.model.topics == 0 { LABELS } else { job.model.topics as u64 };
        let sampled = sampled_documents(job, survey);
        let trained = sampled - (sampled as f64 * job.sample.held_out) as u64;
        let tokens = trained_tokens(job, survey, trained);
        let distinct = distinct_terms(survey, 1);
        let frequent = (3 * distinct / (2 * job.vocabulary.min_documents.max(1))).min(distinct);
        let lists_all = distinct <= job.vocabulary.max_distinct;
        let kept = frequent.min(job.vocabulary.max_terms as u64);
        let schedule = Schedule::new(&job.train, trained, tokens, Default::default())
            .with_spare_topics(job.train.spare(&job.model));
        Self {
            job,
            survey,
            topics,
            sampled,
            trained,
            tokens,
            distinct,
            listed: if lists_all { distinct } else { frequent },
            kept,
            weights: WeightCounts {
                left: weight_counts(job, topics, kept, tokens).left,
                ..weight_counts(job, topics + schedule.spare_topics as u64, kept, tokens)
            },
            schedule,
        }
    }

    /// Estimates the (document, term) pairs of `documents` documents that are trained on.
    fn pairs(&self, documents: u64) -> u64 {
        pairs(trained_tokens(self.job, self.survey, documents), documents)
    }

    /// Returns the documents that have signatures, if repeated texts are looked for.
    fn signed_documents(&self) -> u64 {
        let keeps = self.job.corpus.duplicates == Repetitions::Keep;
        if keeps || self.job.model_from.is_some() { 0 } else { self.survey.documents }
    }

    /// Returns an upper bound on the rows of `document_topics`: a document lists no more topics than it has tokens.
    fn listed_rows(&self, documents: u64) -> u64 {
        let project = &self.job.project;
        if project.infer.is_none() {
            return 0;
        }
        let top = if project.top == 0 { u64::MAX } else { project.top as u64 };
        let most = ((1.0 / project.threshold.max(1e-9)) as u64).min(self.topics).min(top);
        documents.saturating_mul(most).min(kept_tokens(self.survey, documents))
    }

    /// Returns the pairs of a tree's terms, whose rows have all topics, with topics.
    fn tree_pairs(&self) -> u64 {
        self.job.tree.as_ref().map_or(0, |tree| self.topics * self.kept.min(tree.word_count as u64))
    }

    /// Estimates a round's statistics, three times in transit, the threads' sums, and the counts for learning α.
    fn statistics(&self, threads: u64) -> u64 {
        let (train, schedule, weights) = (&self.job.train, &self.schedule, self.weights.stored);
        // The draws of one minibatch; initially, those of all remembered assignments.
        let draws = self.tokens.div_ceil(schedule.minibatch_count) * u64::from(train.kept_sweeps);
        let counted = if schedule.estimates() || train.method.counts == Counts::Expected {
            weights
        } else if schedule.remembers() {
            weights.min(self.tokens)
        } else {
            0
        };
        // Each thread sums γ in rows over all topics, or φ^p, which took twice as much.
        let summed = match train.method.remembers {
            _ if schedule.estimates() => 2 * threads * weights,
            Remembered::Gamma if self.job.corpus.labels().is_none() => threads * weights,
            _ => 0,
        };
        let mean = if schedule.learns_alpha() { self.tokens / self.trained.max(1) } else { 0 };
        let topics = self.topics + schedule.spare_topics as u64;
        let words = 3 * draws.min(topics * self.kept).max(counted) + summed;
        words * size_of::<u64>() as u64 + threads * Histograms::bytes(topics, mean)
    }

    /// Estimates the counts of the heaviest terms of topics and of their pairs, twice while they are summed.
    fn coherence(&self, threads: u64) -> u64 {
        let terms = UMASS_TERMS as u64;
        2 * threads * self.topics * (terms * (terms + 1) / 2) * size_of::<u64>() as u64
    }

    /// Estimates the sums over documents: topics and terms by volume, topics by values of metadata, with their
    /// replicates, and pairs of topics.
    fn sums(&self, threads: u64) -> u64 {
        let (project, survey) = (&self.job.project, self.survey);
        if project.infer.is_none() {
            return 0;
        }
        let (topics, volumes) = (self.topics as usize, survey.volumes);
        let pairs = survey.kept_tokens.min(volumes.saturating_mul(self.kept));
        let groups = [volumes, survey.documents, pairs];
        let drift = Drift::bytes(groups, [self.topics, self.listed], threads);
        if !project.rollups {
            return drift;
        }
        let most = volumes.saturating_mul(self.topics);
        let listed = |documents| self.listed_rows(documents);
        let bucket = group_topics::bucket_bytes(survey.documents, most, listed);
        let found = survey.trend_values.map(|found| found as usize);
        let trends = topic_trends::bytes(topics, self.job.trends().len(), found);
        drift + threads * bucket + trends + topic_correlations::bytes(topics)
    }

    /// Estimates the documents that are sampled together: their bags, twice while they are sorted, and their topics.
    fn together(&self) -> [u64; 2] {
        let documents = match self.job.project.infer.as_ref().map(|infer| infer.method.scope) {
            None | Some(DocumentScope::Alone) => return [0; 2],
            Some(DocumentScope::All) => self.survey.documents,
            Some(DocumentScope::Untrained) => self.survey.documents.saturating_sub(self.trained),
        };
        let tokens = kept_tokens(self.survey, documents);
        let bags = 2 * Bags::bytes(tokens, documents);
        [bags + TopicSums::bytes(tokens, documents), Assignments::bytes(tokens)]
    }

    /// Estimates the bytes for fitting the classifier, if the method needs one: all kept terms may occur.
    fn classifier(&self) -> u64 {
        if !self.job.project.needs_classifier() {
            return 0;
        }
        let examples = self.sampled.min(self.job.project.maxent.documents as u64);
        let [examples, pairs, kept, topics] =
            [examples, self.pairs(examples), self.kept, self.topics].map(|n| n as usize);
        lda::regression::memory(examples, pairs, topics, kept)
    }

    /// Estimates the memory of each of these processes, which `remember` these bytes together.
    fn memory(&self, processes: u64, threads: u64, remembered: u64) -> Memory {
        let Self { job, survey, weights, schedule, .. } = self;
        let (limit, sample) = (job.train.sample_bytes, self.sample_bytes(processes));
        let blocks = survey.blocks.max(1);
        // No block is larger than the input.
        let block = survey.block_bytes.min(survey.content_bytes);
        let volume = survey.largest_volume.saturating_mul(VOLUME_BYTES);
        let read = block.saturating_mul(3).max(volume);
        let draft = writing_bytes(survey.tokens * TOKEN_BYTES / blocks);
        let vocabularies = threads.min(survey.files) * vocabulary_bytes(survey.vocabulary_bytes);
        let pairs = job.phrases.detection.as_ref().map_or(0, |detection| {
            let tokens = survey.kept_tokens.div_ceil(processes * threads);
            threads * pair_bytes(tokens, detection.min_count)
        });
        let rows = survey.documents.saturating_mul(DOCUMENT_ROW_BYTES);
        let listed = self.listed_rows(survey.documents).saturating_mul(ROW_BYTES);
        let shards = shard_bytes(survey);
        let parts = (shards / job.output.part_size(shards)).clamp(1, blocks);
        let table = writing_bytes(rows.saturating_add(listed) / parts / OPEN_PARTS);
        let copies = 1 + u64::from(schedule.remembers());
        let model = Parameters::bytes(weights.stored) * copies;
        let factors = Factors::bytes(weights.stored, weights.dense);
        let is_hierarchy = job.tree.as_ref().is_some_and(|tree| tree.is_hierarchy);
        let tree = Factors::tree_bytes(self.tree_pairs(), is_hierarchy);
        let vocabulary = Vocabulary::bytes(self.kept);
        let influences = if schedule.is_drawn() { self.trained.div_ceil(processes) } else { 0 };
        let [bags, assignments] = self.together().map(|bytes| bytes.div_ceil(processes));
        // The memory of training is still in use.
        let (again, trained): (_, &[MemoryStage]) = match bags {
            0 => (0, &[Train]),
            _ => (vocabulary + 2 * model + factors + tree, &[Train, Classify, Project]),
        };
        // A process sums, and prunes, its share of the terms.
        let here = distinct_terms(survey, threads).min(threads * TERMS_A_FOLDER);
        let counted = here + (2 * self.listed).div_ceil(processes);
        let filter = if self.listed < self.distinct {
            filter_bytes(self.distinct.div_ceil(processes), job.vocabulary.min_documents)
        } else {
            0
        };
        let stored = u64::from(job.output.report) * weights.left;
        let modelled = &[Train, Classify, Project];
        let keys = key_bytes(self.signed_documents().div_ceil(processes * threads));
        let parts: [(_, _, &[MemoryStage]); 18] = [
            ("program", PROGRAM_BYTES, STAGES),
            ("counting terms", TermCounter::bytes(counted) + filter, &[Ingest, Phrases]),
            ("pairs of tokens", pairs, &[Phrases]),
            ("blocks", threads * (read + draft) + vocabularies, &[Ingest]),
            // When the blocks are drafted; their memory may not have been returned.
            ("repeated texts", threads * keys, &[Ingest]),
            // The bags are in memory twice while they are sorted; beyond the limit, with three minibatches.
            (
                "sample",
                2 * sample.min(limit)
                    + if sample > limit { 3 * sample / schedule.minibatch_count } else { 0 },
                trained,
            ),
            ("vocabulary", vocabulary, &[Train, Classify, Project, Finish]),
            ("model", model, modelled),
            ("factors", factors, modelled),
            ("tree", tree, modelled),
            ("statistics", self.statistics(threads).max(self.coherence(threads)), &[Train]),
            (
                "assignments",
                remembered.div_ceil(processes).min(limit) + Influences::bytes(influences),
                trained,
            ),
            ("tables", threads.min(parts) * OPEN_PARTS * table, &[Project, Finish]),
            ("sums over documents", self.sums(threads), &[Project]),
            ("documents sampled together", bags + assignments.min(limit), &[Classify, Project]),
            ("their models", again, &[Classify, Project]),
            ("classifier", self.classifier(), &[Classify]),
            ("report", PublishedPhi::bytes(stored), &[Finish]),
        ];
        Memory(parts.map(|(name, bytes, stages)| MemoryPart { name, bytes, stages }).into())
    }

    /// Returns the bytes of a process's share of the sample.
    fn sample_bytes(&self, processes: u64) -> u64 {
        let held_out = self.sampled - self.trained;
        let held_out = pairs(kept_tokens(self.survey, held_out), held_out);
        Bags::bytes(self.pairs(self.trained) + held_out, self.sampled).div_ceil(processes)
    }
}

/// Estimates `job` with this input, in `processes` processes of `threads` threads.
pub(crate) fn estimate(job: &Job, survey: &Survey, processes: usize, threads: usize) -> Estimate {
    let sizes = Sizes::of(job, survey);
    let Sizes { schedule, trained, tokens, .. } = &sizes;
    let seconds = Seconds::of(&sizes, processes * threads);
    let (processes, threads) = (processes as u64, threads as u64);
    let own_topics = job.corpus.labels().map_or(sizes.topics, |_| OWN_LABELS);
    let remembered = schedule.remembers().then(|| {
        Assignments::bytes(match job.train.method.remembers {
            Remembered::Gamma => own_topics * sizes.pairs(*trained),
            Remembered::Topics => *tokens,
        })
    });
    let (every, minutes) = (job.train.checkpoint_every, job.train.checkpoint_minutes);
    let has_checkpoints = (every > 0 && schedule.round_count() > u64::from(every))
        || (minutes > 0.0 && seconds.train > 60.0 * minutes);
    Estimate {
        sample_documents: *trained,
        held_out_documents: sizes.sampled - trained,
        minibatches: schedule.minibatch_count,
        rounds: schedule.round_count(),
        passes: [schedule.passes, schedule.online_passes],
        remembered,
        streams: sizes.sample_bytes(processes) > job.train.sample_bytes,
        memory: sizes.memory(processes, threads, remembered.unwrap_or(0)),
        disk: Disk::of(&sizes, has_checkpoints.then(|| remembered.unwrap_or(0))),
        seconds,
    }
}

fn weight_counts(job: &Job, topics: u64, kept: u64, sample_tokens: u64) -> WeightCounts {
    if let Some(folder) = &job.model_from {
        let bytes = std::fs::metadata(folder.join(MODEL_FILE)).map_or(0, |file| file.len());
        let stored = bytes / size_of::<Entry>() as u64;
        return WeightCounts { stored, left: stored, is_dense: false, dense: stored };
    }
    let is_dense = job.train.estimator == Estimator::Soft
        || job.train.method.update == Update::Whole
        || job.train.prune == 0.0;
    let (topics, terms) = (topics as f64, kept as f64);
    // The term of rank r is in reach / r topics, at most K.
    let reach = if is_dense {
        f64::INFINITY
    } else {
        sample_tokens as f64 / (job.train.prune * ln(terms.max(3.0)))
    };
    let full = (reach / topics).min(terms).max(1.0);
    let tail = if full < terms { reach * ln(terms / full) } else { 0.0 };
    let stored = (topics * full + tail).min(topics * terms);
    let dense_from = (topics / 5.0).clamp(16.0, 512.0);
    WeightCounts {
        stored: stored as u64,
        left: if is_dense { stored } else { stored / 2.0 } as u64,
        is_dense,
        dense: ((reach / dense_from).min(terms) * topics) as u64,
    }
}

/// Returns the largest sample, in documents, with which a process stays within `bytes` of memory; `None` if a
/// smaller sample does not help.
pub(crate) fn fitting_sample(
    job: &Job,
    survey: &Survey,
    processes: usize,
    threads: usize,
    bytes: u64,
) -> Option<u64> {
    let mut smaller = job.clone();
    let mut documents = sampled_documents(job, survey);
    while documents >= 1_000 {
        documents /= 2;
        smaller.sample.size = SampleSize::Documents(documents);
        if estimate(&smaller, survey, processes, threads).memory.peak() <= bytes {
            return Some(documents);
        }
    }
    None
}

fn sampled_documents(job: &Job, survey: &Survey) -> u64 {
    match job.sample.size {
        SampleSize::Fraction(share) => (survey.documents as f64 * share).ceil() as u64,
        SampleSize::Documents(most) => survey.documents.min(most),
    }
}

/// Estimates the tokens in the vocabulary of `documents` documents.
fn kept_tokens(survey: &Survey, documents: u64) -> u64 {
    let share = documents as f64 / survey.documents.max(1) as f64;
    (survey.kept_tokens as f64 * share) as u64
}

/// Estimates those of documents that are trained on, in part if the job says so.
fn trained_tokens(job: &Job, survey: &Survey, documents: u64) -> u64 {
    let most = match job.train.max_document_tokens {
        0 => u64::MAX,
        most => documents.saturating_mul(most.into()),
    };
    kept_tokens(survey, documents).min(most)
}

/// Estimates the (document, term) pairs of `tokens` tokens in `documents` documents.
fn pairs(tokens: u64, documents: u64) -> u64 {
    let mean = tokens as f64 / documents.max(1) as f64;
    (tokens as f64 / (1.0 + mean / 500.0).sqrt()) as u64
}

/// Estimates the distinct terms that the threads of a process count, each those of its own tokens.
fn distinct_terms(survey: &Survey, threads: u64) -> u64 {
    let usual = (50.0 * (survey.tokens as f64 * threads as f64).sqrt()) as u64;
    survey.tokens.min(usual.max(survey.terms))
}

#[cfg(test)]
mod tests;
