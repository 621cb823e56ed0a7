//! The end of a run, on worker 0: the tables about topics and terms, the manifest, `_SUCCESS`.

mod changes;
mod evaluation;
mod labels;
mod topics;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::ingest::read_vocabulary;
use super::process::Process;
use super::project::{Projected, ProjectedDrift, Tally, written_parts};
use super::record::{TrainingRecord, write_trained};
use crate::failure::Failure;
use crate::job::Job;
use crate::job::state::TRAINED_FILE;
use crate::observe::summary::{DriftSummary, Summary, TopicFaults};
use crate::report::report;
use crate::tables::output::{JOB_FILE, REPORT};
use crate::tables::phrases::PhraseRow;
use crate::tables::topic_documents::TopicDocumentRow;
use crate::tables::topic_nodes::TopicNodeRow;
use crate::tables::topic_terms::TopicTermRow;
use crate::tables::training_log::TrainingLogRow;
use crate::tables::views::views_sql;
use crate::tables::vocabulary::VocabularyRow;
use crate::tables::{FileMetadata, Manifest, PartInfo, Row, TABLES};
use corpus::collection::Collection;
use corpus::synth::read_answer;
use corpus::vocabulary::Vocabulary;
use lda::evaluate::TermDistribution;
use lda::evaluate::matching::{SAME_TOPIC_WITHIN, match_topics, on_vocabulary};
use lda::model::Priors;
use lda::model::published::{PublishedNode, PublishedTopic};

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
    /// The topics that training started from, after a warm start.
    pub(crate) before: Option<&'a Before>,
}

/// The topics of another result.
pub(crate) struct Before {
    /// The topics, with this result's numbers of terms; those of `gone` follow.
    pub(crate) topics: Vec<PublishedTopic>,
    /// Terms that this result does not have.
    pub(crate) gone: Vec<String>,
    /// Terms that only this result has, ascending.
    pub(crate) new: Vec<u32>,
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
    let vocabulary = read_vocabulary(process)?;
    let finisher = Finisher {
        process,
        finished,
        vocabulary: &vocabulary,
        topics,
        distributions: topics.iter().map(|t| TermDistribution::of(t, vocabulary.kept())).collect(),
        record: TrainingRecord::read(process)?,
        tally: finished.projected.map(|projected| &projected.tally),
    };
    let planted = finisher.planted()?;
    summary.planted_found = planted;
    let mut written = BTreeMap::new();
    if let Some(projected) = finished.projected {
        let look = || written_parts(process, finished.collection, finished.metadata);
        written = process.seen(look)?;
        written.extend(projected.written.clone());
    }
    summary.topics = finisher.write_topics(priors, &mut written)?;
    summary.topic_faults = Some(TopicFaults::of(&summary.topics));
    finisher.write(VocabularyRow::all(&vocabulary), &mut written)?;
    finisher.write(TopicTermRow::all(topics, &vocabulary), &mut written)?;
    if let Some(tally) = finisher.tally {
        finisher.write(TopicDocumentRow::all(&tally.best.topics), &mut written)?;
    }
    finisher.write_evaluation(planted, &mut written)?;
    match finisher.drift() {
        _ if process.job.model_from.is_some() => {}
        Some(drift) => write_trained(process, &drift.whole.trained)?,
        None => process.output.remove(TRAINED_FILE)?,
    }
    finisher.write_labels(&mut written)?;
    if let Some(tree) = &priors.tree {
        let paths = TopicNodeRow::paths(tree);
        finisher
            .write(TopicNodeRow::all(tree, &paths, &finished.nodes, &vocabulary), &mut written)?;
    }
    if process.job.phrases.detection.is_some() {
        let named = PhraseRow::named(&finished.collection.phrases);
        finisher.write(PhraseRow::all(&named), &mut written)?;
    }
    summary.changes = finisher.write_changes(&mut written)?;
    summary.labels = finisher.label_summary();
    let held_out = finisher.record.held_out_documents;
    summary.drift = finisher.drift().and_then(|drift| drift_summary(drift, held_out));
    finisher.settle(&written)?;
    finisher.describe()?;
    summary.report = finisher.write_report()?;
    finisher.complete(&written)
}

/// Returns the line about drift at the end of a run with `held_out` held-out documents; `None` without new documents. It
/// advises training again only if the model is another result's and there are other new documents.
fn drift_summary(drift: &ProjectedDrift, held_out: u64) -> Option<DriftSummary> {
    let (documents, figures) = (drift.whole.new.documents, &drift.figures);
    let has_others = documents.unsigned_abs() > held_out;
    let [groups, to_retrain] = drift.groups.unwrap_or_default();
    (documents > 0).then(|| DriftSummary {
        documents,
        known_term_share: figures.known_term_share,
        known_token_share: figures.known_token_share,
        topic_shift_js: figures.topic_shift_js,
        loglik_shift: figures.loglik_shift,
        are_held_out: !has_others,
        retrain: drift.is_foreign && figures.advises_training(),
        groups,
        groups_to_retrain: if drift.is_foreign && has_others { to_retrain } else { 0 },
        too_many_groups: drift.groups.is_none(),
    })
}

type Written = BTreeMap<String, PartInfo>;

struct Finisher<'a> {
    process: &'a Process,
    finished: &'a Finished<'a>,
    vocabulary: &'a Vocabulary,
    topics: &'a [PublishedTopic],
    distributions: Vec<TermDistribution<'a>>,
    record: TrainingRecord,
    tally: Option<&'a Tally>,
}

impl Finisher<'_> {
    fn write<R: Row>(
        &self,
        rows: impl IntoIterator<Item = R>,
        written: &mut Written,
    ) -> Result<(), Failure> {
        let (output, metadata) = (&self.process.output, self.finished.metadata);
        written.extend([output.write_table(metadata, rows)?]);
        Ok(())
    }

    fn drift(&self) -> Option<&ProjectedDrift> {
        self.finished.projected.map(|projected| &projected.drift)
    }

    fn term(&self, term: u32) -> &str {
        &self.vocabulary.kept_terms()[term as usize].term
    }

    /// Returns how many of the topics that the job planted were found, and how many it planted.
    fn planted(&self) -> Result<Option<(usize, usize)>, Failure> {
        let Some(synth) = &self.process.job.synth else {
            return Ok(None);
        };
        let answer = read_answer(&synth.path)?;
        let planted: Vec<Vec<(u32, f32)>> =
            answer.iter().map(|t| on_vocabulary(t, |word| self.vocabulary.id(word))).collect();
        let vocabulary_size = self.vocabulary.kept();
        let planted: Vec<_> = planted
            .iter()
            .map(|entries| TermDistribution { entries, absent_weight: 0.0, vocabulary_size })
            .collect();
        let matching = match_topics(&planted, &self.distributions);
        Ok(Some((matching.found(SAME_TOPIC_WITHIN), planted.len())))
    }

    /// Removes parts left by a run with other settings that ended before its manifest; makes sure that all parts of
    /// this run are visible, including those of other hosts. `training_log` belongs to training, and stays.
    fn settle(&self, written: &Written) -> Result<(), Failure> {
        let output = &self.process.output;
        for table in TABLES.iter().map(|table| table.name) {
            if table == TrainingLogRow::SPEC.name {
                continue;
            }
            let names = || -> Result<BTreeSet<String>, Failure> {
                let names = output.names(table)?.into_iter();
                Ok(names.map(|name| format!("{table}/{name}")).collect())
            };
            let of_table = |path: &&String| path.split('/').next() == Some(table);
            let wanted: BTreeSet<&String> = written.keys().filter(of_table).collect();
            if wanted.is_empty() && output.is_published(table)? {
                output.clear(table)?;
            }
            for path in names()?.iter().filter(|path| !written.contains_key(*path)) {
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
        let page = report(output, self.process.placement.threads)?;
        output.write_atomic(REPORT, page.as_bytes())?;
        Ok(Some(output.path(REPORT)))
    }

    fn complete(&self, written: &Written) -> Result<(), Failure> {
        let (job, output) = (&self.process.job, &self.process.output);
        let fingerprint = &self.finished.collection.input_fingerprint;
        let mut manifest = Manifest::new(&job.id(), job.model.seed, fingerprint);
        manifest.settings = settings(job);
        manifest.results = job.results();
        manifest.documents_by_status = self.finished.collection.documents_by_status.clone();
        manifest.describe(output, written)?;
        output.clear("checkpoints")?;
        output.complete(&manifest)
    }
}
