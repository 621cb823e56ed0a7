//! One shard: its documents inferred one by one, their rows written, their sums taken.

use super::ProjectPlan;
use super::tally::{FIXED_POINT, PARTS, Tally, part_path};
use crate::corpus::ShardDocument;
use crate::corpus::collection::Collection;
use crate::corpus::sample::Split;
use crate::corpus::shard::{Columns, ShardReader};
use crate::dataflow::error::RunError;
use crate::job::WorkStage;
use crate::tables::document_topics::{DocumentTopicRow, DocumentTopicsWriter};
use crate::tables::documents::{DocumentRow, DocumentsWriter};
use lda::infer::Bag;
use lda::infer::inferrer::{Inferrer, Target};
use lda::infer::project::log_likelihood;
use lda::infer::summary::{dropped_mass, entropy, heaviest, list};
use lda::math::random::{Stage, Stream};
use lda::math::special::ln;
use lda::model::factors::FactorTable;

/// Projects shards, one after the other, with the same buffers.
pub struct ShardProjector<'a> {
    plan: ProjectPlan<'a>,
    inferrer: Inferrer,
    /// θ of the current document, if it was inferred together with others.
    together: Vec<f32>,
    document: ShardDocument,
    /// Topics of the current document that are listed: weight and topic, the heaviest first.
    listed: Vec<(f32, u16)>,
}

/// The parts being written, and the sums of their documents.
struct Parts {
    documents: DocumentsWriter,
    topics: DocumentTopicsWriter,
    tally: Tally,
}

/// What inference says about a document.
struct Inferred {
    top: (f32, u16),
    entropy: f32,
    log_likelihood: f64,
    dropped_mass: f32,
}

impl<'a> ShardProjector<'a> {
    /// For the shards of the plan's collection.
    pub fn new(plan: ProjectPlan<'a>) -> Self {
        let document = ShardDocument::default();
        Self {
            plan,
            inferrer: Inferrer::default(),
            together: Vec::new(),
            document,
            listed: Vec::new(),
        }
    }

    /// Projects a shard and publishes its parts.
    pub fn project(&mut self, number: usize) -> Result<Tally, RunError> {
        let ProjectPlan {
            process,
            collection,
            metadata,
            model,
            ..
        } = self.plan;
        let output = &process.output;
        let temporary = PARTS.map(|table| output.temporary_path(&format!("{table}-{number:05}")));
        let settings = &process.job.project;
        let topics = metadata.topic_count.unwrap_or(0);
        let mut parts = Parts {
            documents: DocumentsWriter::create(&temporary[0], &collection.metadata, metadata)?,
            topics: DocumentTopicsWriter::create(&temporary[1], metadata)?,
            tally: Tally::new(topics, settings.documents_per_topic),
        };
        let path = output.local(&Collection::shard_name(number))?;
        let mut reader = ShardReader::open(&path, Columns::All)?;
        let first = collection.shards[number].first_document;
        model.with_table(|table| {
            let mut next = first;
            while reader.read_into(&mut self.document)? {
                self.project_document(next, table, &mut parts)?;
                process.progress.add(1);
                next += 1;
            }
            Ok::<_, RunError>(())
        })?;
        let infos = (parts.documents.finish()?, parts.topics.finish()?);
        for (path, table) in temporary.iter().zip(PARTS) {
            output.publish(path, &part_path(table, number))?;
        }
        parts.tally.parts = Some(infos);
        parts.tally.model_hash = metadata.model_hash.clone();
        parts.tally.settings_hash = metadata.settings_hash.clone();
        Ok(parts.tally)
    }

    fn project_document(
        &mut self,
        number: u64,
        table: FactorTable<'_>,
        parts: &mut Parts,
    ) -> Result<(), RunError> {
        let mut split = Split::Projected;
        let mut inferred = None;
        if self.document.status.has_terms() {
            split = self.plan.rule.split(number);
            inferred = Some(self.infer(number, split, table, &mut parts.tally)?);
            for (place, &(weight, topic)) in self.listed.iter().enumerate() {
                parts.topics.push(&DocumentTopicRow {
                    doc_id: number as i64,
                    topic: i32::from(topic),
                    weight,
                    rank: place as i32 + 1,
                })?;
            }
        }
        parts.tally.documents += 1;
        let document = &self.document;
        let in_vocabulary = document.tokens_in_vocabulary() as i64;
        let progress = &self.plan.process.progress;
        progress.work(WorkStage::Project, 1, in_vocabulary as u64);
        let (total, stopped) = (
            i64::from(document.tokens_total),
            i64::from(document.tokens_stopped),
        );
        let row = DocumentRow {
            doc_id: number as i64,
            source_id: &document.source_id,
            group_id: document.group.as_deref(),
            section: None,
            status: document.status,
            split,
            tokens_total: total,
            tokens_in_vocabulary: in_vocabulary,
            tokens_stopped: stopped,
            tokens_unknown: total - stopped - in_vocabulary,
            top_topic: inferred.as_ref().map(|i| i32::from(i.top.1)),
            top_weight: inferred.as_ref().map(|i| i.top.0),
            entropy: inferred.as_ref().map(|i| i.entropy),
            loglik_per_token: inferred.as_ref().map(|i| i.log_likelihood),
            dropped_mass: inferred.as_ref().map(|i| i.dropped_mass),
        };
        Ok(parts.documents.push(&row, &document.metadata)?)
    }

    /// Infers the current document; leaves the topics to list in `listed`.
    fn infer(
        &mut self,
        number: u64,
        split: Split,
        table: FactorTable<'_>,
        tally: &mut Tally,
    ) -> Result<Inferred, RunError> {
        let bag = Bag {
            terms: &self.document.terms,
            counts: &self.document.counts,
        };
        let seed = self.plan.process.job.model.seed;
        let mut stream = Stream::keyed(seed, Stage::Project, 0, number);
        let (together, known) = (self.plan.together, &mut self.together);
        let target = Target {
            table,
            topics: self.plan.topics,
            classifier: self.plan.classifier,
        };
        let proportions = match together.is_some_and(|all| all.proportions(number, known)) {
            true => &known[..],
            false => self
                .inferrer
                .infer(bag, target, self.plan.infer, &mut stream)
                .map_err(|source| RunError::Project {
                    document: number,
                    source,
                })?,
        };
        let (sum, tokens) = log_likelihood(bag, proportions, table);
        let settings = &self.plan.process.job.project;
        let length = bag.token_count() as f64;
        list(
            proportions,
            settings.threshold as f32,
            settings.top,
            &mut self.listed,
        );
        let top = heaviest(proportions);
        for (topic, &weight) in proportions.iter().enumerate() {
            tally.topic_tokens[topic] += fixed(f64::from(weight) * length);
            tally.count_allocation(topic, weight, length, topic == usize::from(top.1));
        }
        for &(weight, topic) in &self.listed {
            let (topic, mass) = (usize::from(topic), f64::from(weight) * length);
            tally.topic_listed[topic] += fixed(mass);
            tally.topic_entropy[topic] += fixed(mass * ln(mass));
            tally
                .best
                .add(topic, weight, number, &self.document.source_id);
        }
        let likelihood = &mut tally.likelihood[split as usize];
        likelihood[0] += fixed(sum);
        likelihood[1] += tokens as i64;
        likelihood[2] += 1;
        Ok(Inferred {
            top,
            entropy: entropy(proportions),
            log_likelihood: sum / tokens.max(1) as f64,
            dropped_mass: dropped_mass(&self.listed),
        })
    }
}

fn fixed(value: f64) -> i64 {
    (value * FIXED_POINT).round_ties_even() as i64
}
