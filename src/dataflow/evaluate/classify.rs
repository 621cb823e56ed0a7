//! How well topics predict labels: all workers infer the proportions again, and one of them fits
//! and tests the classifiers (`evaluate::classification`).
//!
//! A document is sent as an example, with the SHA-256 of its label instead of terms and counts.

use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};
use timely::worker::Worker;

use super::Evaluation;
use super::model::Loaded;
use super::score::Chosen;
use crate::dataflow::block::{Block, MAX_BLOCK_WORDS};
use crate::dataflow::examples::{pack, unpack};
use crate::dataflow::gather::all_gather_blocks;
use crate::dataflow::sample::for_each_document;
use crate::dataflow::sum::sum;
use crate::evaluate::measure::Figure;
use crate::failure::Failure;
use crate::job::defaults::inference;
use crate::job::settings::Budget;
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::shard::Columns;
use lda::evaluate::classification::{
    Classification, ClassificationError, ClassificationSettings, classification,
};
use lda::infer::Bag;
use lda::infer::mean_field::MeanField;
use lda::infer::settings::Method;
use lda::infer::term_topics::TermTopics;
use lda::model::factors::FactorTable;
use lda::regression::RegressionError;

/// A label is represented by its SHA-256: of fixed length, and equal only for equal texts.
type Label = [u32; 8];

/// The most proportions held in memory: one worker holds all of them, about four times.
const MOST_PROPORTIONS: u64 = 1 << 28;

/// The method's name in the table.
const METHOD: &str = "logistic regression on cvb0 proportions";

/// The findings of a worker.
#[derive(Default)]
struct Found {
    /// Packed documents, several to a piece.
    pieces: Vec<Vec<u64>>,
    documents: i64,
    /// Documents of the split without a label, or without a term.
    skipped: i64,
}

impl Evaluation {
    /// Predicts the column `name`; returns the figures on worker 0, none on others. All workers must call this.
    pub(super) fn classify(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        (chosen, model): (&Chosen<'_>, &Loaded),
        name: &str,
    ) -> Result<Vec<Figure>, Failure> {
        let found = self.infer_labelled(worker, collection, (chosen, model), name)?;
        let sums = sum(worker, &[found.documents, found.skipped]);
        let (documents, skipped) = (sums[0] as u64, sums[1] as u64);
        self.check_labelled(documents, model, name)?;
        let gathered = all_gather_blocks(worker, found.pieces);
        if worker.index() > 0 {
            return Ok(Vec::new());
        }
        self.process.progress.begin("classification", "", None);
        let (proportions, labels) = collect(&gathered, model.topic_count);
        drop(gathered);
        let job = &self.process.job;
        let mut settings = ClassificationSettings {
            folds: job.evaluate.folds,
            seed: job.model.seed,
            ..ClassificationSettings::default()
        };
        settings.regression.threads = self.process.placement.threads;
        let result = classification(&proportions, model.topic_count, &labels, &settings);
        let result = result.map_err(|error| {
            let failure = Failure::data(format!(
                "evaluate.labels \"{name}\", evaluate.folds {}: {error}",
                settings.folds
            ));
            match error {
                ClassificationError::Regression(RegressionError::TooLarge { .. }) => failure.help(
                    "name a column with fewer labels, or set evaluate.documents to fewer documents",
                ),
                _ => failure,
            }
        })?;
        Ok(self.rows(&result, name, documents, skipped))
    }

    /// Infers the documents of this worker's shards that have a label.
    fn infer_labelled(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        (chosen, model): (&Chosen<'_>, &Loaded),
        name: &str,
    ) -> Result<Found, Failure> {
        let process = &self.process;
        process.begin_documents("classification", collection);
        let mut columns = self.run.job.corpus.label_columns();
        let column = columns.position(|column| column == name);
        let column = column.expect("a job's labels are one of these columns");
        let parts = [&model.factors];
        let table = FactorTable::new(&parts);
        let settings = inference(Budget::Balanced, Method::Cvb0);
        let terms = collection.terms_kept as usize;
        let shared = &self.shared.term_topics;
        let topics = shared.make(|| TermTopics::new(table, terms));
        let (mut found, mut mean_field) = (Found::default(), MeanField::default());
        let tickets = &self.shared.labels;
        let visit = |number: u64, document: &ShardDocument| {
            process.progress.add(1);
            if !chosen.is_of_split(number, document) {
                return Ok(());
            }
            let text = text_of(document, column).filter(|text| !text.is_empty());
            let Some(text) = text.filter(|_| document.status.has_terms()) else {
                found.skipped += 1;
                return Ok(());
            };
            if !chosen.holds(number, document) {
                return Ok(());
            }
            refuse_list(name, document, text)?;
            let bag = document.bag();
            let proportions = mean_field.cvb0(bag, (table, topics), &settings);
            let proportions = proportions.map_err(Failure::drawing("document", number))?;
            found.push(number, label(text), proportions);
            Ok(())
        };
        for_each_document(worker, &self.run, tickets, collection, Columns::All, visit)?;
        Ok(found)
    }

    /// Refuses empty input, and input that does not fit in memory.
    fn check_labelled(&self, documents: u64, model: &Loaded, name: &str) -> Result<(), Failure> {
        let topics = model.topic_count as u64;
        if documents == 0 {
            let split = self.process.job.evaluate.split_name();
            return Err(Failure::data(format!(
                "no document of evaluate.split \"{split}\" has a label in \"{name}\" and a term of \
                 the vocabulary: choose another split or column"
            )));
        }
        match documents.saturating_mul(topics) > MOST_PROPORTIONS {
            false => Ok(()),
            true => Err(Failure::data(format!(
                "{documents} labelled documents of {topics} topics do not fit in memory for \
                 classification: set evaluate.documents to {} or less",
                MOST_PROPORTIONS / topics
            ))),
        }
    }

    fn rows(
        &self,
        result: &Classification,
        name: &str,
        documents: u64,
        skipped: u64,
    ) -> Vec<Figure> {
        let settings = &self.process.job.evaluate;
        let row = |metric, method: String, unit, value, standard_error| Figure {
            metric,
            method,
            split: settings.split_name(),
            unit,
            value,
            standard_error,
            documents,
            tokens: 0,
        };
        let method = format!("{METHOD}, {} folds, {name}", result.accuracies.len());
        let (mean, error) = (result.mean, Some(result.standard_error));
        let counts =
            |metric, unit, count| row(metric, format!("classification, {name}"), unit, count, None);
        vec![
            row("classification_accuracy", method, "share", mean, error),
            row(
                "classification_baseline",
                format!("most frequent label, {name}"),
                "share",
                result.baseline,
                None,
            ),
            counts("labels", "labels", result.classes as f64),
            counts("documents_scored", "documents", documents as f64),
            counts("documents_skipped", "documents", skipped as f64),
        ]
    }
}

/// Returns the value of a document's column; metadata come first, the group last.
fn text_of(document: &ShardDocument, column: usize) -> Option<&str> {
    let text = document.metadata.get(column).unwrap_or(&document.group);
    text.as_deref()
}

/// Refuses lists and objects, which reach `documents` as JSON.
fn refuse_list(name: &str, document: &ShardDocument, text: &str) -> Result<(), Failure> {
    let is_nested =
        text.starts_with(['[', '{']) && serde_json::from_str::<IgnoredAny>(text).is_ok();
    match is_nested {
        false => Ok(()),
        true => Err(Failure::data(format!(
            "evaluate.labels: \"{name}\" of document \"{}\" is a list or an object, and a label is \
             one value: name a column with one label for each document",
            document.source_id
        ))),
    }
}

fn label(text: &str) -> Label {
    let bytes: [u8; 32] = Sha256::digest(text).into();
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|place| u32::from_be_bytes(words[place]))
}

impl Found {
    fn push(&mut self, number: u64, label: Label, proportions: &[f32]) {
        let mut words = Vec::new();
        let (terms, counts) = label.split_at(4);
        pack(number, Bag { terms, counts }, proportions, &mut words);
        let fits = |piece: &&mut Vec<u64>| piece.len() + words.len() <= MAX_BLOCK_WORDS;
        match self.pieces.last_mut().filter(fits) {
            Some(piece) => piece.extend(words),
            None => self.pieces.push(words),
        }
        self.documents += 1;
    }
}

/// Returns the proportions and labels of all documents, in the order of their numbers.
fn collect(gathered: &[Vec<Block>], topics: usize) -> (Vec<f32>, Vec<Vec<u32>>) {
    let blocks = gathered.iter().flatten();
    let documents = blocks.flat_map(|block| unpack(block.words(), topics));
    let mut documents: Vec<_> = documents.collect();
    documents.sort_unstable_by_key(|document| document.number);
    let mut proportions = Vec::with_capacity(documents.len() * topics);
    let mut labels = Vec::with_capacity(documents.len());
    for document in documents {
        labels.push([document.bag.terms, document.bag.counts].concat());
        proportions.extend(document.proportions);
    }
    (proportions, labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_travel_as_words_and_come_out_in_order() {
        for topics in [1, 4, 5] {
            let share = |number: u64, k: usize| number as f32 + 0.25 * k as f32;
            let mut halves = [Found::default(), Found::default()];
            for number in (0..40_000).rev() {
                let proportions: Vec<f32> = (0..topics).map(|k| share(number, k)).collect();
                let half = &mut halves[number as usize % 2];
                half.push(number, label(&format!("class {}", number % 3)), &proportions);
            }
            assert!(halves[0].pieces.len() > 1, "more than a block holds");
            let blocks: Vec<Vec<Block>> = halves
                .into_iter()
                .map(|half| {
                    let pieces = half.pieces.into_iter().enumerate();
                    pieces.map(|(tag, words)| Block::to_everyone(0, 1, tag as u64, words)).collect()
                })
                .collect();
            let (proportions, labels) = collect(&blocks, topics);
            assert_eq!(labels.len(), 40_000);
            assert!(labels[1] == labels[4] && labels[1] != labels[2]);
            for (number, row) in proportions.chunks_exact(topics).enumerate() {
                let expected: Vec<f32> = (0..topics).map(|k| share(number as u64, k)).collect();
                assert_eq!(row, expected);
            }
        }
    }

    #[test]
    fn lists_are_no_labels_and_brackets_alone_are() {
        let document = ShardDocument::default();
        let refused = |text| refuse_list("tags", &document, text).is_err();
        assert!(refused("[\"a\",\"b\"]") && refused("{\"a\":1}"));
        assert!(!refused("[draft] sea") && !refused("sea") && !refused("7"));
    }
}
