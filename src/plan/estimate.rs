//! The estimate of what a job takes: documents, rounds, memory of each process, disk. It aims to be right within a
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
//! - Gibbs passes keep the counts and their average, and 2 bytes per token; φ^p is in all topics;
//! - CVB0 keeps 2 bytes for each topic of a (document, term), or for each of 20 labels;
//! - the sample as bags: 8 bytes per (document, term), twice while it is sorted;
//! - if α is learnt, each thread counts how many documents have n tokens of a topic: 4 bytes for each n up to
//!   twice the mean length of a document.

mod disk;
pub(crate) mod seconds;
mod tree;
mod weights;

use super::survey::Survey;
use crate::job::Job;
use crate::tables::drift::Drift;
use crate::tables::{group_topics, topic_correlations, topic_trends};
use corpus::formats::htrc::VOLUME_BYTES;
use corpus::phrases::{PAIRS_A_PART, pair_buckets};
use corpus::settings::SampleSize;
pub(crate) use disk::Disk;
use disk::disk;
use lda::infer::DocumentScope;
use lda::train::schedule::Schedule;
use lda::train::step::{Counts, Remembered};
use seconds::Seconds;
use tree::whole_rows;
use weights::weight_count;

/// Bytes of the program and of its allocator's reserve: 28 MiB with 1,000 short documents.
const PROGRAM_BYTES: u64 = 28 << 20;
/// Bytes of a distinct term while it is counted: its text, two counts, its slot in a hash table.
const TERM_BYTES: u64 = 96;
/// Bytes per token while pairs are counted: there are fewer distinct pairs than tokens.
const TOKEN_PAIR_BYTES: u64 = 32;
/// Bytes of a kept term in training: text, counts, row headers, marks.
const KEPT_TERM_BYTES: u64 = 160;
/// Bytes of a (document, term) pair, or of a stored weight of the model: two 32-bit numbers.
const PAIR_BYTES: u64 = 8;
/// Bytes of a document besides its pairs: its number, and where it ends.
const DOCUMENT_BYTES: u64 = 16;
/// Bytes of the influence of a document, if documents are drawn.
const INFLUENCE_BYTES: u64 = 24;
/// Bytes of a prepared weight: a topic, the weight, a running sum.
const FACTOR_BYTES: u64 = 10;
/// Bytes of a weight while the report is made: in the finished model, and when read back.
const REPORT_BYTES: u64 = 24 + 40;
/// Bytes per byte of the vocabulary beside a bag of words: its text, its terms, and a number for each.
const VOCABULARY_BYTES: u64 = 10;
/// Bytes of a Parquet part while it is written (a row group, its batches): minimum and maximum.
const PART_BYTES: [u64; 2] = [8 << 20, 96 << 20];
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

/// Returns K, or an assumed K if the labels determine it.
fn topic_count(job: &Job) -> usize {
    match job.model.topics {
        0 => LABELS as usize,
        topics => topics,
    }
}

/// An estimate of what a job takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
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
}

/// Approximate bytes of memory of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Memory {
    /// The program itself.
    pub(crate) program: u64,
    /// Ingest: the terms that are counted.
    pub(crate) counted_terms: u64,
    /// Ingest: the pairs of tokens that are counted to detect phrases.
    pub(crate) counted_pairs: u64,
    /// Ingest: blocks being parsed, shards being written.
    pub(crate) blocks: u64,
    /// Training: its share of the sample as bags of words.
    pub(crate) sample: u64,
    /// Training and projection: the kept vocabulary.
    pub(crate) vocabulary: u64,
    /// Training and projection: the model, K · (non-zeros of a term).
    pub(crate) model: u64,
    /// Training and projection: the model, prepared for sampling.
    pub(crate) factors: u64,
    /// Training and projection: rows over all topics, for the terms in a tree.
    pub(crate) tree: u64,
    /// Training: a round's statistics, here and in transit, and the counts for learning α.
    pub(crate) statistics: u64,
    /// Training: remembered assignments, and the influences of drawn documents.
    pub(crate) assignments: u64,
    /// Projection: shards being read, tables being written.
    pub(crate) tables: u64,
    /// Projection: sums over documents by volume, by values of metadata, and by pair of topics.
    pub(crate) sums: u64,
    /// Projection of documents that are sampled together: their bags, assignments and topics.
    pub(crate) together: u64,
    /// Between training and projection: fitting the classifier.
    pub(crate) classifier: u64,
    /// At the end: the model, read back for the report.
    pub(crate) report: u64,
}

impl Memory {
    /// Returns the program's memory plus the largest of what ingest, training, projection and the report need.
    pub(crate) fn peak(&self) -> u64 {
        let model = self.vocabulary + self.model + self.factors + self.tree;
        let ingest = self.counted_terms + self.counted_pairs.max(self.blocks);
        let train = model + self.sample + self.statistics + self.assignments;
        // The memory of training is still in use.
        let together = match self.together {
            0 => 0,
            bytes => bytes + model + self.model + self.sample + self.assignments,
        };
        let project = model + (self.tables + self.sums).max(self.classifier) + together;
        let finish = self.vocabulary + self.tables + self.report;
        self.program + ingest.max(train).max(project).max(finish)
    }
}

/// Estimates `job` with this input, in `processes` processes of `threads` threads.
pub(crate) fn estimate(job: &Job, survey: &Survey, processes: usize, threads: usize) -> Estimate {
    let (processes, threads) = (processes as u64, threads as u64);
    let sampled = sampled_documents(job, survey.documents);
    let held_out = (sampled as f64 * job.sample.held_out) as u64;
    let trained = sampled - held_out;
    let tokens_in = |documents: u64| kept_tokens(survey, documents);
    let schedule = Schedule::new(&job.train, trained, tokens_in(trained), Default::default());
    let distinct = distinct_terms(survey);
    let kept = kept_terms(job, distinct);
    let weights = weight_count(job, kept, tokens_in(trained));
    let volume = survey.largest_volume.saturating_mul(VOLUME_BYTES);
    // No block is larger than the input.
    let block = survey.block_bytes.min(survey.content_bytes);
    let in_flight = block.saturating_mul(3).max(volume);
    let own_topics = (job.corpus.labels()).map_or(topic_count(job) as u64, |_| OWN_LABELS);
    let remembered = match job.train.method.remembers {
        Remembered::Gamma => 2 * own_topics * pairs(tokens_in(trained), trained),
        Remembered::Topics => 2 * tokens_in(trained),
    };
    let remembered = schedule.remembers().then_some(remembered);
    let tree = whole_rows(job, kept);
    let (every, minutes) = (job.train.checkpoint_every, job.train.checkpoint_minutes);
    let trains = Seconds::of(job, survey, (processes * threads) as usize).train;
    let has_checkpoints = (every > 0 && schedule.round_count() > u64::from(every))
        || (minutes > 0.0 && trains > 60.0 * minutes);
    let checkpointed = has_checkpoints.then(|| remembered.unwrap_or(0));
    let blocks = survey.blocks.max(1);
    let parts = |bytes: u64, open: u64| part_bytes(bytes / blocks, open);
    let pairs = pairs(tokens_in(sampled), sampled);
    let sample_bytes = (pairs * PAIR_BYTES + sampled * DOCUMENT_BYTES).div_ceil(processes);
    Estimate {
        sample_documents: trained,
        held_out_documents: held_out,
        minibatches: schedule.minibatch_count,
        rounds: schedule.round_count(),
        passes: [schedule.passes, schedule.online_passes],
        remembered,
        streams: sample_bytes > job.train.sample_bytes,
        memory: Memory {
            program: PROGRAM_BYTES,
            counted_terms: (counted_terms(survey, threads) + 2 * distinct) * TERM_BYTES,
            counted_pairs: counted_pairs(job, survey, processes, threads),
            blocks: threads * (in_flight + parts(survey.tokens * TOKEN_BYTES, 1))
                + threads.min(survey.files) * survey.vocabulary_bytes * VOCABULARY_BYTES,
            sample: sample(job, &schedule, sample_bytes),
            vocabulary: kept * KEPT_TERM_BYTES,
            model: weights.stored * PAIR_BYTES * (1 + u64::from(schedule.remembers())),
            factors: weights.stored * FACTOR_BYTES + weights.dense * 4,
            tree: tree.bytes,
            statistics: statistics(
                job,
                &schedule,
                [weights.stored, kept],
                [trained, tokens_in(trained)],
                threads,
            ),
            assignments: assignments(job, &schedule, [trained, remembered.unwrap_or(0)], processes),
            tables: threads.min(blocks) * parts(of_documents(job, survey), OPEN_PARTS),
            sums: sums(job, survey, [kept, distinct], threads),
            together: together(job, survey, trained, processes),
            classifier: classifier(job, survey, kept, sampled),
            report: u64::from(job.output.report) * weights.left * REPORT_BYTES,
        },
        disk: disk(job, survey, distinct, &weights, tree.pairs, checkpointed),
    }
}

/// Estimates `open` parts that are written at a time. A part has one block of the input, of `bytes`; while it is
/// compressed it takes twice that.
fn part_bytes(bytes: u64, open: u64) -> u64 {
    let [least, most] = PART_BYTES;
    (2 * bytes).clamp(open * least, open * most)
}

/// Estimates a round's statistics, three times in transit, the threads' sums, and the counts for learning α.
fn statistics(
    job: &Job,
    schedule: &Schedule,
    [weights, kept]: [u64; 2],
    [documents, tokens]: [u64; 2],
    threads: u64,
) -> u64 {
    let topics = topic_count(job) as u64;
    // The draws of one minibatch; initially, those of all remembered assignments.
    let draws = tokens.div_ceil(schedule.minibatch_count) * u64::from(job.train.kept_sweeps);
    let counted = match schedule.remembers() {
        _ if schedule.estimates() || job.train.method.counts == Counts::Expected => weights,
        true => weights.min(tokens),
        false => 0,
    };
    // Each thread sums γ in rows over all topics, or φ^p, which took twice as much.
    let summed = match job.train.method.remembers {
        _ if schedule.estimates() => 2 * threads * weights,
        Remembered::Gamma if job.corpus.labels().is_none() => threads * weights,
        _ => 0,
    };
    let histograms = if schedule.learns_alpha() {
        threads * topics * 8 * (tokens / documents.max(1))
    } else {
        0
    };
    (3 * draws.min(topics * kept).max(counted) + summed) * PAIR_BYTES + histograms
}

/// Estimates the pairs of tokens, counted in parts, and the filter of frequent ones, if phrases are detected.
fn counted_pairs(job: &Job, survey: &Survey, processes: u64, threads: u64) -> u64 {
    let Some(detection) = &job.phrases.detection else {
        return 0;
    };
    let tokens = survey.kept_tokens.div_ceil(processes * threads);
    let filter = if tokens > PAIRS_A_PART { pair_buckets(tokens, detection.min_count) } else { 0 };
    threads * (TOKEN_PAIR_BYTES * tokens.min(PAIRS_A_PART) + filter)
}

/// Estimates the bags, twice while they are sorted; beyond the limit, plus three minibatches.
fn sample(job: &Job, schedule: &Schedule, bytes: u64) -> u64 {
    match bytes > job.train.sample_bytes {
        false => 2 * bytes,
        true => 2 * job.train.sample_bytes + 3 * bytes / schedule.minibatch_count,
    }
}

/// Estimates the remembered assignments in memory, and the influences of drawn documents.
fn assignments(job: &Job, schedule: &Schedule, sizes: [u64; 2], processes: u64) -> u64 {
    let [documents, bytes] = sizes.map(|size| size.div_ceil(processes));
    let remembered = match schedule.remembers() {
        false => 0,
        true => bytes.min(job.train.sample_bytes),
    };
    remembered + documents * INFLUENCE_BYTES * u64::from(schedule.is_drawn())
}

/// Estimates the bytes of the sums over documents: topics and terms by volume, topics by values of metadata, with
/// their replicates, and pairs of topics.
fn sums(job: &Job, survey: &Survey, [kept, distinct]: [u64; 2], threads: u64) -> u64 {
    if job.project.infer.is_none() {
        return 0;
    }
    let (topics, volumes) = (topic_count(job), survey.volumes);
    let pairs = survey.kept_tokens.min(volumes.saturating_mul(kept));
    let sizes = [topics as u64, distinct];
    let drift = Drift::bytes([volumes, survey.documents, pairs], sizes, threads);
    if !job.project.rollups {
        return drift;
    }
    let listed = |documents| listed_rows(job, documents, survey);
    let most = volumes.saturating_mul(topics as u64);
    let bucket = group_topics::bucket_bytes(survey.documents, most, listed);
    let found = survey.trend_values.map(|found| found as usize);
    let trends = topic_trends::bytes(topics, job.project.trends.len(), found);
    drift + threads * bucket + trends + topic_correlations::bytes(topics)
}

/// Estimates the bags, twice while they are sorted, two bytes per token, and the topics of each document: at
/// most one per token while there are few passes.
fn together(job: &Job, survey: &Survey, trained: u64, processes: u64) -> u64 {
    let documents = match job.project.infer.as_ref().map(|infer| infer.method.scope) {
        None | Some(DocumentScope::Alone) => return 0,
        Some(DocumentScope::All) => survey.documents,
        Some(DocumentScope::Untrained) => survey.documents.saturating_sub(trained),
    };
    let tokens = kept_tokens(survey, documents);
    let assignments = (2 * tokens).div_ceil(processes).min(job.train.sample_bytes);
    assignments + (3 * tokens * PAIR_BYTES + documents * 80).div_ceil(processes)
}

/// Estimates the bytes for fitting the classifier, if the method needs one: all kept terms may occur.
fn classifier(job: &Job, survey: &Survey, kept: u64, sampled: u64) -> u64 {
    if !job.project.needs_classifier() {
        return 0;
    }
    let examples = sampled.min(job.project.maxent.documents as u64);
    let occurrences = pairs(kept_tokens(survey, examples), examples);
    let [examples, occurrences, kept] = [examples, occurrences, kept].map(|n| n as usize);
    lda::regression::memory(examples, occurrences, topic_count(job), kept)
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
    let mut documents = sampled_documents(job, survey.documents);
    while documents >= 1_000 {
        documents /= 2;
        smaller.sample.size = SampleSize::Documents(documents);
        if estimate(&smaller, survey, processes, threads).memory.peak() <= bytes {
            return Some(documents);
        }
    }
    None
}

fn sampled_documents(job: &Job, documents: u64) -> u64 {
    match job.sample.size {
        SampleSize::Fraction(share) => (documents as f64 * share).ceil() as u64,
        SampleSize::Documents(most) => documents.min(most),
    }
}

/// Estimates the tokens in the vocabulary of `documents` documents.
fn kept_tokens(survey: &Survey, documents: u64) -> u64 {
    let share = documents as f64 / survey.documents.max(1) as f64;
    (survey.kept_tokens as f64 * share) as u64
}

/// Estimates the (document, term) pairs of `tokens` tokens in `documents` documents.
fn pairs(tokens: u64, documents: u64) -> u64 {
    let mean = tokens as f64 / documents.max(1) as f64;
    (tokens as f64 / (1.0 + mean / 500.0).sqrt()) as u64
}

fn distinct_terms(survey: &Survey) -> u64 {
    let usual = (50.0 * (survey.tokens as f64).sqrt()) as u64;
    survey.tokens.min(usual.max(survey.terms))
}

/// Estimates the distinct terms that the threads of a process count, each those of its own tokens.
fn counted_terms(survey: &Survey, threads: u64) -> u64 {
    let usual = (50.0 * (survey.tokens as f64 * threads as f64).sqrt()) as u64;
    survey.tokens.min(usual.max(survey.terms))
}

/// Estimates the bytes of the tables about documents, before compression.
fn of_documents(job: &Job, survey: &Survey) -> u64 {
    let documents = survey.documents.saturating_mul(DOCUMENT_ROW_BYTES);
    documents.saturating_add(listed_rows(job, survey.documents, survey).saturating_mul(ROW_BYTES))
}

/// Returns an upper bound on the rows of `document_topics`: a document lists no more topics than it has tokens.
fn listed_rows(job: &Job, documents: u64, survey: &Survey) -> u64 {
    let project = &job.project;
    if project.infer.is_none() {
        return 0;
    }
    let most = (1.0 / project.threshold.max(1e-9)) as u64;
    let most = most.min(topic_count(job) as u64);
    let most = match project.top {
        0 => most,
        top => most.min(top as u64),
    };
    documents.saturating_mul(most).min(kept_tokens(survey, documents))
}

/// Estimates how many of `distinct` terms are in enough documents.
fn kept_terms(job: &Job, distinct: u64) -> u64 {
    let frequent = 3 * distinct / (2 * job.vocabulary.min_documents.max(1));
    frequent.min(distinct).min(job.vocabulary.max_terms as u64)
}

#[cfg(test)]
mod tests;
