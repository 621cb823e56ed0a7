//! Drift of the new documents, counted by all workers: one more pass over the shards and the parts
//! that projection has written, after which only those need to survive a restart.
//!
//! Every worker sums over the run. Sums over a group go to the worker given by the hash of its
//! name, so that each worker holds some of the groups. They are held as long as they fit into
//! [`MOST_GROUP_BYTES`]; if a collection has more groups than that, no group gets a row, whatever
//! the number of workers.
//!
//! The run's distinct terms are kept and pruned ones; a group's are kept ones alone, because a set
//! of all terms for each group would take many times the memory.

mod groups;

use serde::{Deserialize, Serialize};
use timely::worker::Worker;

use super::block::MAX_BLOCK_WORDS;
use super::error::RunError;
use super::gather::{all_gather, all_gather_blocks};
use super::process::{Process, Tickets};
use super::project::{FIXED_POINT, PARTS, part_path};
use super::sum::sum;
use crate::corpus::ShardDocument;
use crate::corpus::collection::Collection;
use crate::corpus::sample::Split;
use crate::corpus::shard::{Columns, ShardReader};
use crate::job::DriftSummary;
use crate::tables::projected::{ProjectedDocument, ProjectedReader};
use groups::Groups;
use lda::evaluate::drift::{DriftFigures, DriftSums, TermSet};
use lda::model::published::PublishedTopic;

/// Bytes that the sums of all groups may take.
pub const MOST_GROUP_BYTES: usize = 1 << 30;

/// What drift is counted on.
pub struct DriftPlan<'a> {
    /// The process.
    pub process: &'a Process,
    /// The collection, projected.
    pub collection: &'a Collection,
    /// The topics, published; worker 0 has them.
    pub topics: Option<&'a [PublishedTopic]>,
    /// Hands out the shards of the process.
    pub tickets: &'a Tickets,
}

/// How far some new documents have moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriftLine {
    /// Their group; `None` for all of them.
    pub group: Option<String>,
    /// Documents with terms of the vocabulary.
    pub documents: i64,
    /// Their tokens, stop words left out.
    pub tokens: i64,
    /// Of these, tokens of kept terms.
    pub kept_tokens: i64,
    /// Of these, tokens of terms that the model knows.
    pub known_tokens: i64,
    /// The figures.
    pub figures: DriftFigures,
}

/// Drift of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drift {
    /// Of all new documents.
    pub run: DriftLine,
    /// Of each group of them, ascending.
    pub groups: Vec<DriftLine>,
    /// True if there are too many groups for one line each.
    pub too_many_groups: bool,
}

impl Drift {
    /// What the end of a run says of it; `None` without new documents.
    pub fn summary(&self) -> Option<DriftSummary> {
        let figures = &self.run.figures;
        let to_retrain = self.groups.iter().filter(|g| g.figures.advises_training());
        (self.run.documents > 0).then(|| DriftSummary {
            documents: self.run.documents,
            known_term_share: figures.known_term_share,
            known_token_share: figures.known_token_share,
            topic_shift_js: figures.topic_shift_js,
            loglik_shift: figures.loglik_shift,
            retrain: figures.advises_training(),
            groups: self.groups.len(),
            groups_to_retrain: to_retrain.count(),
            too_many_groups: self.too_many_groups,
        })
    }
}

/// The sums of a worker.
struct Counted {
    /// Documents trained on.
    trained: DriftSums,
    /// All others with terms of the vocabulary.
    new: DriftSums,
}

/// Counts drift over all shards; the same for every worker.
///
/// # Errors
/// A shard or a part that cannot be read.
pub fn drift(worker: &mut Worker, plan: &DriftPlan<'_>) -> Result<Drift, RunError> {
    let process = plan.process;
    process
        .progress
        .begin("drift", "documents", Some(process.share(plan.collection)));
    let vocabulary_size = plan.collection.terms_kept as usize;
    let topic_count = process.job.model.topics;
    let known = known_terms(worker, plan.topics, vocabulary_size);
    let empty = DriftSums::new(topic_count, plan.collection.terms_total as usize);
    let mut counted = Counted {
        trained: empty.clone(),
        new: empty,
    };
    let of_group = DriftSums::new(topic_count, vocabulary_size);
    let mut groups = Groups::new(worker, &of_group, MOST_GROUP_BYTES);
    let (first, step) = (process.placement.process, process.placement.processes());
    loop {
        let number = first + plan.tickets.take() * step;
        if number >= plan.collection.shards.len() {
            break;
        }
        count_shard(plan, number, &known, &mut counted, &mut groups)?;
        worker.step();
    }
    let (held, too_many_groups) = groups.finish(worker);
    let counted = add_up(worker, &counted);
    let line = |group: Option<String>, sums: &DriftSums| DriftLine {
        group,
        documents: sums.documents,
        tokens: sums.tokens,
        kept_tokens: sums.kept_tokens,
        known_tokens: sums.known_tokens,
        figures: sums.figures(&counted.trained, FIXED_POINT),
    };
    let mine: Vec<DriftLine> = held.iter().map(|(g, s)| line(Some(g.clone()), s)).collect();
    Ok(Drift {
        run: line(None, &counted.new),
        groups: gather_lines(worker, &mine),
        too_many_groups,
    })
}

/// The terms with weight above the prior in some topic, told to all by worker 0.
fn known_terms(
    worker: &mut Worker,
    topics: Option<&[PublishedTopic]>,
    vocabulary_size: usize,
) -> TermSet {
    let mut known = TermSet::new(vocabulary_size);
    for topic in topics.into_iter().flatten() {
        topic
            .weights
            .iter()
            .for_each(|&(term, _)| known.insert(term));
    }
    union(worker, &known)
}

/// The terms of all workers' sets.
fn union(worker: &mut Worker, mine: &TermSet) -> TermSet {
    let pieces = mine.words().chunks(MAX_BLOCK_WORDS).map(<[u64]>::to_vec);
    let mut all = mine.clone();
    for blocks in all_gather_blocks(worker, pieces.collect()) {
        let words = blocks.iter().flat_map(|block| block.words());
        for (place, &bits) in words.enumerate() {
            all.extend_word(place, bits);
        }
    }
    all
}

/// Counts the documents of one shard, read beside the parts that were made of it.
fn count_shard(
    plan: &DriftPlan<'_>,
    number: usize,
    known: &TermSet,
    counted: &mut Counted,
    groups: &mut Groups,
) -> Result<(), RunError> {
    let output = &plan.process.output;
    let [documents, topics] = PARTS.map(|table| output.local(&part_path(table, number)));
    let mut projected = ProjectedReader::new(vec![documents?], vec![topics?]);
    let path = output.local(&Collection::shard_name(number))?;
    let mut reader = ShardReader::open(&path, Columns::Terms)?;
    let (mut bag, mut document) = (ShardDocument::default(), ProjectedDocument::default());
    while reader.read_into(&mut bag)? {
        if !projected.read_into(&mut document)? {
            return Err(RunError::Data(format!(
                "{} has fewer documents than the shard it was made of; remove it and run again",
                output.path(&part_path(PARTS[0], number)).display()
            )));
        }
        plan.process.progress.add(1);
        if !bag.status.has_terms() {
            continue;
        }
        let is_new = document.split != Some(Split::Sample);
        let of_run = match is_new {
            true => &mut counted.new,
            false => &mut counted.trained,
        };
        count(&bag, &document, known, of_run);
        bag.pruned
            .iter()
            .for_each(|&term| of_run.terms.insert(term));
        if let Some(group) = document.group_id.as_ref().filter(|_| is_new) {
            groups.add(group, |sums| count(&bag, &document, known, sums));
        }
    }
    Ok(())
}

/// Adds one document to some sums, except its pruned terms.
fn count(bag: &ShardDocument, document: &ProjectedDocument, known: &TermSet, sums: &mut DriftSums) {
    let fixed = |value: f64| (value * FIXED_POINT).round_ties_even() as i64;
    let length = document.tokens_in_vocabulary as f64;
    sums.documents += 1;
    sums.tokens += document.tokens_total - document.tokens_stopped;
    sums.kept_tokens += document.tokens_in_vocabulary;
    sums.likelihood += fixed(document.loglik_per_token.unwrap_or(0.0) * length);
    for (&term, &tokens) in bag.terms.iter().zip(&bag.counts) {
        sums.terms.insert(term);
        if known.contains(term) {
            sums.known_tokens += i64::from(tokens);
        }
    }
    for &(topic, weight) in &document.topics {
        sums.topics[topic as usize] += fixed(f64::from(weight) * length);
    }
}

/// All workers' sums, added up.
fn add_up(worker: &mut Worker, mine: &Counted) -> Counted {
    let mut add_up = |mine: &DriftSums| {
        let values = [&fixed_sums(mine), mine.topics.as_slice()].concat();
        let all = sum(worker, &values);
        let mut sums = DriftSums {
            topics: all[SUMS..].to_vec(),
            terms: union(worker, &mine.terms),
            ..DriftSums::default()
        };
        set_fixed_sums(&mut sums, &all[..SUMS]);
        sums
    };
    Counted {
        trained: add_up(&mine.trained),
        new: add_up(&mine.new),
    }
}

/// Sums that do not depend on topics or terms.
const SUMS: usize = 5;

fn fixed_sums(sums: &DriftSums) -> [i64; SUMS] {
    [
        sums.documents,
        sums.tokens,
        sums.kept_tokens,
        sums.known_tokens,
        sums.likelihood,
    ]
}

/// Adds what [`fixed_sums`] gave.
fn set_fixed_sums(sums: &mut DriftSums, values: &[i64]) {
    sums.documents += values[0];
    sums.tokens += values[1];
    sums.kept_tokens += values[2];
    sums.known_tokens += values[3];
    sums.likelihood += values[4];
}

/// The lines of all workers, ascending by group.
fn gather_lines(worker: &mut Worker, mine: &[DriftLine]) -> Vec<DriftLine> {
    let mine = serde_json::to_vec(mine).expect("numbers and texts are JSON");
    let mut all = Vec::new();
    for bytes in all_gather(worker, &mine) {
        let lines: Vec<DriftLine> = serde_json::from_slice(&bytes).expect("written by a peer");
        all.extend(lines);
    }
    all.sort_by(|a, b| a.group.cmp(&b.group));
    all
}
