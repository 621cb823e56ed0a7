//! The passages of the documents in which topics are largest. The first worker has the rows of `topic_documents`; each
//! worker reads the texts of some shards, and sends the passages back.

use std::collections::BTreeMap;
use std::sync::Arc;

use timely::worker::Worker;

use super::finish::first_part;
use super::gather::{all_gather_blocks, gather_records, in_pieces, joined};
use super::ingest::read_vocabulary;
use super::process::Process;
use super::project::Projected;
use super::sample::{next_shard, read_shard};
use crate::failure::Failure;
use crate::tables::Row;
use crate::tables::read::table_schema;
use crate::tables::records::rows;
use crate::tables::topic_documents::TopicDocumentRow;
use crate::tables::topic_passages::TopicPassageRow;
use crate::wire::{packed, unpacked};
use corpus::bagger::Bagger;
use corpus::collection::Collection;
use corpus::passages::{best, marked, sentences, shown};
use corpus::settings::Snippets;
use corpus::shard::Columns;
use corpus::{RawDocument, ShardDocument};
use lda::model::published::PublishedTopic;

/// The terms of a topic that count most: those before this one.
const USUAL_TERMS: usize = 50;
/// A word is a topic's if the topic has at least this share of its tokens.
const MARKED: f64 = 0.25;

/// Finds the passage of each document that `topic_documents` lists; returns the rows on the first worker, which has the
/// result of projection. All workers must call this.
///
/// # Errors
/// A shard or the vocabulary cannot be read.
pub(super) fn passages(
    worker: &mut Worker,
    process: &Process,
    collection: &Collection,
    (topics, model_hash): (&Arc<[PublishedTopic]>, &str),
    projected: Option<&Projected>,
) -> Result<Vec<TopicPassageRow>, Failure> {
    let job = &process.job;
    if job.corpus.snippets == Snippets::None {
        return Ok(Vec::new());
    }
    process.begin_documents("passages", collection);
    let path = first_part::<TopicDocumentRow>();
    let listed: Vec<TopicDocumentRow> = match projected {
        Some(projected) if projected.written.contains_key(&path) => {
            rows(process.output.local_root(&[&path])?)?
        }
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    let known = if listed.is_empty() { BTreeMap::new() } else { known(process, model_hash)? };
    let of_listed = |row: TopicDocumentRow| {
        let TopicDocumentRow { topic, rank, doc_id, .. } = row;
        match known.get(&(topic, doc_id)) {
            Some(row) => found.push(TopicPassageRow { rank, ..row.clone() }),
            None => return Some([doc_id as u64, topic as u64, rank as u64]),
        }
        None
    };
    let wanted: Vec<[u64; 3]> = listed.into_iter().filter_map(of_listed).collect();
    let mut wanted = gather_records(worker, &wanted);
    wanted.sort_unstable();
    let vocabulary = process.shared("passages' vocabulary", || read_vocabulary(process))?;
    let model = process
        .shared("topics of terms", || Ok(TermShares::new(Arc::clone(topics), vocabulary.kept())))?;
    let drafter = job.drafter(&collection.phrases)?;
    let mut finder = PassageFinder {
        are_whole: job.corpus.snippets == Snippets::Passage,
        model: &model,
        bagger: Bagger::new(&drafter, &vocabulary),
    };
    let tickets = process.shared_default("passages");
    let mut mine = Vec::new();
    while let Some(number) = next_shard(process, &tickets, collection) {
        let shard = &collection.shards[number];
        let end = shard.first_document + shard.documents;
        let [first, last] =
            [shard.first_document, end].map(|bound| wanted.partition_point(|row| row[0] < bound));
        let mut rest = &wanted[first..last];
        if !rest.is_empty() {
            read_shard(process, collection, number, Columns::Texts, |number, document| {
                let (here, others) = rest.split_at(rest.partition_point(|row| row[0] == number));
                rest = others;
                finder.find(document, here, &mut mine);
                Ok(())
            })?;
        }
        process.progress.add(shard.documents);
        worker.step();
    }
    let gathered = all_gather_blocks(worker, in_pieces(&packed(mine)));
    if worker.index() == 0 {
        let of_worker = |blocks| unpacked::<TopicPassageRow>(&joined(blocks)).collect::<Vec<_>>();
        found.extend(gathered.iter().flat_map(of_worker));
        found.sort_unstable_by_key(|row| (row.topic, row.rank));
    }
    Ok(found)
}

/// Returns the passages that the output has of this model, by topic and document: those before an addition.
fn known(
    process: &Process,
    model_hash: &str,
) -> Result<BTreeMap<(i32, i64), TopicPassageRow>, Failure> {
    let path = first_part::<TopicPassageRow>();
    if !process.output.is_published(&path)? {
        return Ok(BTreeMap::new());
    }
    let root = process.output.local_root(&[&path])?;
    let metadata = table_schema(&root.join(TopicPassageRow::SPEC.name))?.metadata;
    if !metadata.iter().any(|(key, value)| key == "model_hash" && value == model_hash) {
        return Ok(BTreeMap::new());
    }
    let known = rows(root)?.into_iter();
    Ok(known.map(|row: TopicPassageRow| ((row.topic, row.doc_id), row)).collect())
}

/// The shares that topics have of terms.
struct TermShares {
    topics: Arc<[PublishedTopic]>,
    /// The tokens of each term in all topics.
    tokens: Vec<f64>,
    /// For each topic, its tokens of its n-th term, by which terms that a topic seldom has count less.
    usual: Vec<f64>,
}

/// Finds passages, reusing buffers.
struct PassageFinder<'a> {
    /// Whether documents have their whole texts, and not the beginnings.
    are_whole: bool,
    model: &'a TermShares,
    bagger: Bagger<'a>,
}

impl PassageFinder<'_> {
    /// Appends the passages of a document, one for each of these rows.
    fn find(
        &mut self,
        document: &ShardDocument,
        rows: &[[u64; 3]],
        found: &mut Vec<TopicPassageRow>,
    ) {
        let Self { are_whole, model, bagger } = self;
        let Some(text) = document.text.as_ref().filter(|_| !rows.is_empty()) else {
            return;
        };
        let sentences = if *are_whole { sentences(text) } else { Vec::new() };
        let bag = |sentence| bagger.count(RawDocument::of_text(&text[sentence])).clone();
        let bags: Vec<ShardDocument> = sentences.iter().cloned().map(bag).collect();
        for &[doc_id, topic, rank] in rows {
            let score = |bag: &ShardDocument| {
                let terms = bag.terms.iter().zip(&bag.counts);
                terms.map(|(&term, &count)| f64::from(count) * model.score(topic, term)).sum()
            };
            let scores: Vec<f64> = bags.iter().map(score).collect();
            let passage = if *are_whole {
                shown(text, best(text, &sentences, &scores))
            } else {
                text.clone()
            };
            let words = marked(&passage, |words| {
                let terms = &bagger.count(RawDocument::of_text(words)).terms;
                terms.iter().any(|&term| model.share(topic, term) >= MARKED)
            });
            let (topic, rank, doc_id) = (topic as i32, rank as i32, doc_id as i64);
            found.push(TopicPassageRow { topic, rank, doc_id, passage, words });
        }
    }
}

impl TermShares {
    fn new(topics: Arc<[PublishedTopic]>, terms: usize) -> Self {
        let mut tokens = vec![0.0; terms];
        for topic in &*topics {
            for (&(term, _), count) in topic.weights.iter().zip(&topic.counts) {
                tokens[term as usize] += count;
            }
        }
        let usual = |topic: &PublishedTopic| {
            let mut counts = topic.counts.clone();
            counts.sort_unstable_by(|a, b| b.total_cmp(a));
            counts.get(USUAL_TERMS).or(counts.last()).copied().unwrap_or(0.0)
        };
        Self { usual: topics.iter().map(usual).collect(), tokens, topics }
    }

    /// Returns a topic's tokens of a term.
    fn count(&self, topic: u64, term: u32) -> f64 {
        let topic = &self.topics[topic as usize];
        let place = topic.weights.binary_search_by_key(&term, |&(term, _)| term);
        place.map_or(0.0, |place| topic.counts[place])
    }

    /// Returns the share that a topic has of a term's tokens.
    fn share(&self, topic: u64, term: u32) -> f64 {
        let count = self.count(topic, term);
        if count > 0.0 { count / self.tokens[term as usize] } else { 0.0 }
    }

    /// Returns how much a term says that a text is about a topic: the share, less for terms that the topic seldom has,
    /// so that lists of names do not win.
    fn score(&self, topic: u64, term: u32) -> f64 {
        let count = self.count(topic, term);
        let usual = self.usual[topic as usize];
        if count > 0.0 { self.share(topic, term) * count / (count + usual) } else { 0.0 }
    }
}
