//! The end of a run, on worker 0: the tables about topics and terms, the manifest, `_SUCCESS`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::ingest::read_vocabulary;
use super::process::Process;
use super::project::Projected;
use super::record::{TrainingRecord, write_trained};
use crate::config::Job;
use crate::config::state::TRAINED_FILE;
use crate::failure::Failure;
use crate::observe::summary::{DriftSummary, Summary};
use crate::report::report;
use crate::tables::evaluation::{of_labels, of_planted, of_projection, of_training};
use crate::tables::labels::{LabelRow, LabelSums};
use crate::tables::output::{JOB_FILE, REPORT, part_name};
use crate::tables::phrases::PhraseRow;
use crate::tables::records;
use crate::tables::topic_changes::TopicChangeRow;
use crate::tables::topic_concentration::TopicConcentrationRow;
use crate::tables::topic_names::TopicNameRow;
use crate::tables::topic_nodes::TopicNodeRow;
use crate::tables::topic_passages::TopicPassageRow;
use crate::tables::topic_stability::TopicStabilityRow;
use crate::tables::topic_terms::TopicTermRow;
use crate::tables::topics::{FinishedTopics, TopicLine};
use crate::tables::training_log::TrainingLogRow;
use crate::tables::views::views_sql;
use crate::tables::vocabulary::VocabularyRow;
use crate::tables::warnings;
use crate::tables::{FileMetadata, Manifest, PartInfo, Row, TABLES};
use corpus::collection::Collection;
use corpus::settings::Snippets;
use corpus::synth::read_answer;
use corpus::vocabulary::Vocabulary;
use lda::evaluate::TermDistribution;
use lda::evaluate::matching::{SAME_TOPIC_WITHIN, match_topics, on_vocabulary};
use lda::model::Priors;
use lda::model::published::{PublishedNode, PublishedTopic};

/// The tables that stay as long as the model: those that training writes, the names of its topics, and which of them the
/// other models of a sweep have.
pub(crate) const OF_MODEL: [&str; 4] = [
    TrainingLogRow::SPEC.name,
    TopicChangeRow::SPEC.name,
    TopicNameRow::SPEC.name,
    TopicStabilityRow::SPEC.name,
];

/// Returns the hashes of a job's settings, by the stage that they determine.
pub(crate) fn settings(job: &Job) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("corpus".to_owned(), job.corpus_hash()),
        ("train".to_owned(), job.train_hash()),
        ("project".to_owned(), job.project_hash()),
    ])
}

/// The results from which the last tables are made.
pub(crate) struct Finished<'a> {
    /// The collection.
    pub(crate) collection: &'a Collection,
    /// The metadata of every part.
    pub(crate) metadata: &'a FileMetadata,
    /// The sums over the documents, if they were projected.
    pub(crate) projected: Option<&'a Projected>,
    /// For each topic, the nodes of the prior's tree that have tokens; none without a tree.
    pub(crate) nodes: Vec<Vec<PublishedNode>>,
    /// The passages of the documents of each topic.
    pub(crate) passages: Vec<TopicPassageRow>,
}

/// Writes the remaining tables and declares the output complete.
pub(crate) fn finish(
    process: &Process,
    finished: &Finished<'_>,
    priors: &Priors,
    topics: &[PublishedTopic],
    summary: &mut Summary,
) -> Result<(), Failure> {
    process.progress.begin("finish", "tables", None);
    let (job, collection) = (&process.job, finished.collection);
    let vocabulary = read_vocabulary(process)?;
    let record = TrainingRecord::read(process)?;
    let mut finisher = Finisher { process, finished, written: BTreeMap::new() };
    let projected = finished.projected;
    if let Some(projected) = projected {
        finisher.written.clone_from(&projected.written);
    }
    let tally = projected.map(|projected| &projected.tally);
    let (rows, terms) = FinishedTopics {
        published: topics,
        alpha: &priors.alpha,
        vocabulary: &vocabulary,
        coherence: &record.coherence,
        counted: &record.top_terms,
        tally,
        top_terms: job.project.top_terms,
    }
    .rows();
    finisher.write(rows.iter().cloned())?;
    finisher.write(terms)?;
    finisher.write(VocabularyRow::all(&vocabulary))?;
    finisher.write(TopicTermRow::all(topics, &vocabulary))?;
    summary.planted_found = planted(job, topics, &vocabulary)?;
    let sums = LabelSums(tally.map_or(&[], |tally| &tally.labels));
    let of_projection = projected.map(|it| of_projection(&it.tally, &it.drift));
    let figures = of_training(&record.heldout, &record.coherence)
        .chain(of_projection.into_iter().flatten())
        .chain(of_labels(&sums))
        .chain(summary.planted_found.and_then(|(found, planted)| of_planted(found, planted)));
    summary.evaluation = figures.collect();
    finisher.write(summary.evaluation.iter().cloned())?;
    match projected {
        _ if job.model_from.is_some() => {}
        Some(projected) => write_trained(process, &projected.trained)?,
        None => process.output.remove(TRAINED_FILE)?,
    }
    let labels = LabelRow::all(&collection.labels, &sums);
    if !labels.is_empty() {
        finisher.write(labels.iter().cloned())?;
    }
    if let Some(tree) = &priors.tree {
        finisher.write(TopicNodeRow::all(tree, &finished.nodes, &vocabulary))?;
    }
    if job.corpus.snippets != Snippets::None && projected.is_some() {
        finisher.write(finished.passages.iter().cloned())?;
    }
    if job.phrases.detection.is_some() {
        finisher.write(PhraseRow::all(&collection.phrases))?;
    }
    let changes = process.output.local_root(&[&first_part::<TopicChangeRow>()])?;
    let concentration = first_part::<TopicConcentrationRow>();
    let concentration = match finisher.written.get(&concentration) {
        Some(_) => records::rows(process.output.local_root(&[&concentration])?)?,
        None => Vec::new(),
    };
    summary.topics = TopicLine::join(rows, labels, records::rows(changes)?, concentration);
    summary.drift = projected.and_then(|it| drift_summary(it, job, record.held_out_documents));
    let drift = summary.drift.as_ref();
    let drift = drift.and_then(|it| warnings::of_drift(&it.run, [it.groups, it.groups_to_retrain]));
    let size = warnings::of_size(record.training_documents, record.training_tokens);
    let findings = warnings::of_topics(&summary.topics).into_iter().chain(size).chain(drift);
    summary.findings = Some(findings.collect());
    finisher.settle()?;
    finisher.describe()?;
    summary.report = finisher.write_report()?;
    finisher.complete()
}

/// Returns the path of the first part of a table.
pub(super) fn first_part<R: Row>() -> String {
    format!("{}/{}", R::SPEC.name, part_name(0))
}

/// Returns how many of the topics that the job planted were found, and how many it planted.
fn planted(
    job: &Job,
    topics: &[PublishedTopic],
    vocabulary: &Vocabulary,
) -> Result<Option<(usize, usize)>, Failure> {
    let Some(synth) = &job.synth else {
        return Ok(None);
    };
    let vocabulary_size = vocabulary.kept();
    let planted: Vec<Vec<(u32, f32)>> = read_answer(&synth.path)?
        .iter()
        .map(|topic| on_vocabulary(topic, |word| vocabulary.id(word)))
        .collect();
    let planted: Vec<_> = planted
        .iter()
        .map(|entries| TermDistribution { entries, absent_weight: 0.0, vocabulary_size })
        .collect();
    let found: Vec<_> =
        topics.iter().map(|topic| TermDistribution::of(topic, vocabulary_size)).collect();
    let matching = match_topics(&planted, &found);
    Ok(Some((matching.found(SAME_TOPIC_WITHIN), planted.len())))
}

/// Returns the drift of the new documents of a run with `held_out` held-out documents; `None` without new documents.
/// Groups are advised to be trained on only if the model is another result's and there are other new documents.
fn drift_summary(projected: &Projected, job: &Job, held_out: u64) -> Option<DriftSummary> {
    let run = projected.drift.clone();
    let has_others = run.documents.unsigned_abs() > held_out;
    let [groups, to_retrain] = projected.groups.unwrap_or_default();
    let is_advised = job.model_from.is_some() && has_others;
    (run.documents > 0).then(|| DriftSummary {
        run,
        are_held_out: !has_others,
        groups,
        groups_to_retrain: if is_advised { to_retrain } else { 0 },
        too_many_groups: projected.groups.is_none(),
    })
}

/// Writes the last tables of an output.
struct Finisher<'a> {
    process: &'a Process,
    finished: &'a Finished<'a>,
    /// The parts of all tables, by path.
    written: BTreeMap<String, PartInfo>,
}

impl Finisher<'_> {
    fn write<R: Row>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Failure> {
        let written = self.process.output.write_table(self.finished.metadata, rows)?;
        self.written.extend([written]);
        Ok(())
    }

    /// Removes parts left by a run with other settings that ended before its manifest; makes sure that all parts of
    /// this run are visible, including those of other hosts. The tables of the model stay.
    fn settle(&self) -> Result<(), Failure> {
        let output = &self.process.output;
        for table in TABLES.iter().map(|table| table.name) {
            if OF_MODEL.contains(&table) {
                continue;
            }
            let names = || -> Result<BTreeSet<String>, Failure> {
                let names = output.names(table)?.into_iter();
                Ok(names.map(|name| format!("{table}/{name}")).collect())
            };
            let of_table = |path: &&String| path.split('/').next() == Some(table);
            let wanted: BTreeSet<&String> = self.written.keys().filter(of_table).collect();
            if wanted.is_empty() && output.is_published(table)? {
                output.clear(table)?;
            }
            for path in names()?.iter().filter(|path| !self.written.contains_key(*path)) {
                output.remove(path)?;
            }
            self.process.seen(|| {
                let found = names()?;
                let missing = wanted.iter().find(|path| !found.contains(**path));
                Ok(missing.map_or(Ok(()), |path| Err((*path).clone())))
            })?;
        }
        Ok(())
    }

    /// Writes the job file and the SQL views beside the tables.
    fn describe(&self) -> Result<(), Failure> {
        let (job, output) = (&self.process.job, &self.process.output);
        output.write_atomic(JOB_FILE, job.resolved_toml().as_bytes())?;
        output.write_atomic("views.sql", views_sql(output)?.as_bytes())
    }

    /// Writes the report, or removes an earlier run's if the job wants none; returns its path.
    fn write_report(&self) -> Result<Option<PathBuf>, Failure> {
        let Process { output, progress, .. } = self.process;
        if !self.process.job.output.report {
            output.remove(REPORT)?;
            return Ok(None);
        }
        progress.begin("report", "page", None);
        let is_of_documents = |path: &str| path.starts_with("documents/");
        let parts = self.written.iter().filter(|(path, _)| is_of_documents(path));
        let parts: Vec<u64> = parts.map(|(_, part)| part.rows).collect();
        let page = report(output, &parts, self.process.placement.threads)?;
        output.write_atomic(REPORT, page.as_bytes())?;
        Ok(Some(output.path(REPORT)))
    }

    fn complete(&self) -> Result<(), Failure> {
        let (job, output) = (&self.process.job, &self.process.output);
        let fingerprint = &self.finished.collection.input_fingerprint;
        let mut manifest = Manifest::new(&job.id(), job.model.seed, fingerprint);
        manifest.settings = settings(job);
        manifest.results = job.results();
        manifest.documents_by_status = self.finished.collection.documents_by_status.clone();
        manifest.describe(output, &self.written)?;
        output.clear("checkpoints")?;
        output.complete(&manifest)
    }
}
