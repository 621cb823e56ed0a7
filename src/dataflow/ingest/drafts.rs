//! The two passes over the documents: the input becomes drafts in a worker's own term ids, and,
//! once the vocabulary is known, drafts become shards.
//!
//! A worker rewrites its own drafts, and those that it has taken over. Drafts of a folder share term ids; a worker begins
//! another folder when one has `TERMS_A_FOLDER` terms, and has the terms of one folder in memory at a time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use sha2::{Digest, Sha256};
use timely::worker::Worker;

use super::duplicates::{self, Duplicates};
use super::joiner::Joiner;
use super::journal::{Draft, DraftFolder, Findings, Journal, OwnDraft, TakenOver};
use super::source::IngestInput;
use crate::dataflow::gather::{gather_records, gather_values, sum};
use crate::dataflow::process::{Process, Tickets};
use crate::failure::Failure;
use crate::observe::WorkStage;
use corpus::CorpusError;
use corpus::block::{Block, BlockQueue};
use corpus::boilerplate::LeftOut;
use corpus::collection::Collection;
use corpus::draft::Drafter;
use corpus::input::InputError;
use corpus::labels::LabelCounter;
use corpus::settings::CorpusSettings;
use corpus::shard::{Columns, ShardCompression, ShardWriter, hash_file};
use corpus::terms::TERMS_A_FOLDER;
use corpus::value_type::TypeFinder;
use corpus::vocabulary::TermMap;
use corpus::{Body, DocumentStatus, Sections, ShardDocument};

/// How long a worker waits for another one to report what is wrong with the input.
const CAUSE_FIRST: Duration = Duration::from_secs(5);

/// The drafts of one worker.
pub(super) struct Drafted {
    /// The folders that have drafts; if there are several, only the first has its terms in memory.
    pub(super) folders: Vec<DraftFolder>,
    /// Others, to be removed once ingest is complete.
    pub(super) empty_folders: Vec<DraftFolder>,
    /// What all workers have left out of texts.
    pub(super) left_out: Vec<LeftOut>,
    /// About the distinct terms that all workers have met.
    pub(super) distinct: u64,
}

/// Returns what was left out of a block as text, empty for nothing.
fn json_of(left_out: &[LeftOut]) -> String {
    match left_out {
        [] => String::new(),
        _ => serde_json::to_string(left_out).expect("texts and numbers are JSON"),
    }
}

/// Adds up what was left out of blocks, in their order.
fn sum_left_out(mut blocks: Vec<(u64, String)>) -> Vec<LeftOut> {
    blocks.sort_unstable();
    let mut sums = Vec::new();
    for (_, json) in blocks {
        let block: Vec<LeftOut> = serde_json::from_str(&json).expect("it is as it was written");
        LeftOut::add(&mut sums, &block);
    }
    sums
}

/// The most remarks kept.
const MOST_REMARKS: usize = 20;

/// Why documents have no text: the first reasons in the order of the input; last those of documents that are merely
/// empty, and of filtered ones. Each is under its rank, its draft, and the document's number there.
#[derive(Debug, Default)]
pub(super) struct Remarks(BTreeMap<[u64; 3], String>);

impl Remarks {
    /// The ranks of documents that are merely empty, and of those that are filtered out.
    const EMPTY: u64 = 1;
    const FILTERED: u64 = 2;

    /// Keeps the first of these reasons.
    fn first(reasons: Vec<([u64; 3], String)>) -> Self {
        let mut first: BTreeMap<_, _> = reasons.into_iter().collect();
        while first.len() > MOST_REMARKS {
            first.pop_last();
        }
        Self(first)
    }

    /// Keeps the reason why the next document of a draft has no text.
    fn add(&mut self, draft: &Draft, body: &Body<'_>) {
        let Body::Missing { status, reason } = body else {
            return;
        };
        let rank = match status {
            DocumentStatus::Empty => Self::EMPTY,
            DocumentStatus::Filtered => Self::FILTERED,
            _ => 0,
        };
        self.insert([rank, draft.key, draft.documents], reason.clone());
    }

    fn insert(&mut self, rank: [u64; 3], reason: String) {
        self.0.insert(rank, reason);
        if self.0.len() > MOST_REMARKS {
            self.0.pop_last();
        }
    }

    /// Returns those of a draft.
    fn of(&self, key: u64) -> Vec<([u64; 3], String)> {
        let remarks = self.0.iter().filter(|(rank, _)| rank[1] == key);
        remarks.map(|(&rank, reason)| (rank, reason.clone())).collect()
    }

    /// Returns the reasons, each with file, place and remedy, except those of filtered documents.
    pub(super) fn reasons(&self) -> impl Iterator<Item = &String> {
        self.0.range(..[Self::FILTERED, 0, 0]).map(|(_, reason)| reason)
    }

    /// Returns the first reason why a document was filtered out.
    pub(super) fn filtered(&self) -> Option<&String> {
        self.0.range([Self::FILTERED, 0, 0]..).next().map(|(_, reason)| reason)
    }
}

/// Drafts blocks until there are no more. Also returns why documents have no text.
pub(super) fn draft_all(
    worker: &mut Worker,
    process: &Process,
    source: &IngestInput,
    blocks: &BlockQueue,
) -> Result<(Drafted, Remarks), Failure> {
    let new_drafter = || {
        let mut drafter = source.drafter.clone();
        if process.job.phrases.detection.is_some() {
            drafter = drafter.in_order();
        }
        if duplicates::are_looked_for(process) {
            drafter = drafter.with_signatures();
        }
        drafter
    };
    // Whatever the drafts depend on; another build may tokenize differently.
    let key = [env!("TOPICMILL_BUILD"), &process.job.corpus_hash(), &source.fingerprint].join(" ");
    let TakenOver { mut folders, findings, done, mut distinct } =
        TakenOver::find(worker, process, &key)?;
    if !done.is_empty() && worker.index().is_multiple_of(process.placement.threads) {
        process.progress.note(format!("{} blocks were drafted before", done.len()));
        tracing::info!(blocks = done.len(), "ingest resumes: these were drafted before");
    }
    let (mut drafter, mut number) = (new_drafter(), 0);
    let mut journal = Journal::create(worker, process, &key, number)?;
    let most_terms = process.job.vocabulary.max_distinct.min(TERMS_A_FOLDER) as usize;
    let (mut remarks, mut left_out) = (Remarks::default(), Vec::new());
    let named = named(&process.job.corpus);
    let mut missing: Vec<usize> = named.iter().map(|&(_, place)| place).collect();
    for (draft_key, findings) in findings {
        missing.retain(|place| findings.missing.contains(place));
        findings.remarks.into_iter().for_each(|(rank, reason)| remarks.insert(rank, reason));
        left_out.push((draft_key, findings.left_out));
        process.progress.add(findings.content_bytes);
    }
    while let Some(block) = blocks.next_block().map_err(cause_first)? {
        if !done.contains(&key_of(&block)) {
            let path = journal.folder.draft(key_of(&block));
            let (figures, found) =
                draft(process, &path, &block, &mut drafter, &mut missing, &mut remarks)?;
            let findings = Findings {
                content_bytes: block.content_bytes(),
                missing: missing.clone(),
                remarks: remarks.of(figures.key),
                left_out: json_of(&found),
            };
            left_out.push((figures.key, findings.left_out.clone()));
            journal.add(figures, &findings, drafter.terms())?;
            process.progress.add(findings.content_bytes);
            process.progress.work(WorkStage::Ingest, figures.documents, figures.tokens);
            if drafter.terms().len() >= most_terms {
                distinct.extend(drafter.terms().hashes());
                drafter = new_drafter();
                number += 1;
                let next = Journal::create(worker, process, &key, number)?;
                folders.push(std::mem::replace(&mut journal, next).folder);
            }
        }
        worker.step();
    }
    // The last worker of the process to have no more blocks begins the next phase.
    if process.shared_default::<Tickets>("drafted").take() + 1 == process.placement.threads {
        process.progress.begin("vocabulary", "terms", None);
    }
    let found = named.iter().map(|(_, place)| i64::from(!missing.contains(place)));
    let found = sum(worker, &found.collect::<Vec<_>>());
    if worker.index() == 0 {
        let absent = named.into_iter().zip(found).filter(|(_, found)| *found == 0);
        absent.for_each(|((warning, _), _)| process.warn(warning));
    }
    left_out.retain(|(_, json)| !json.is_empty());
    let left_out = sum_left_out(gather_values(worker, left_out));
    let Journal { folder: mut last } = journal;
    let terms = drafter.into_terms();
    distinct.extend(terms.hashes());
    distinct.extend(gather_records(worker, distinct.hashes()));
    (last.terms, last.has_counts) = (Some(terms), true);
    folders.insert(0, last);
    let (folders, empty_folders) =
        folders.into_iter().partition(|folder| !folder.drafts.is_empty());
    let drafted = Drafted { folders, empty_folders, left_out, distinct: distinct.count() };
    Ok((drafted, Remarks::first(gather_values(worker, remarks.0.into_iter().collect()))))
}

/// Returns a block's key, as one number in the order of the blocks.
fn key_of(block: &Block) -> u64 {
    let (source, number) = block.key();
    u64::from(source) << 32 | u64::from(number)
}

/// Drafts a block at `path`; if it has no documents, the file is removed. Removes from `missing` the places of [`named`]
/// that a document has.
fn draft(
    process: &Process,
    path: &Path,
    block: &Block,
    drafter: &mut Drafter,
    missing: &mut Vec<usize>,
    remarks: &mut Remarks,
) -> Result<(Draft, Vec<LeftOut>), Failure> {
    let mut draft = Draft { key: key_of(block), documents: 0, documents_with_tokens: 0, tokens: 0 };
    let settings = &process.job.corpus;
    let mut writer = ShardWriter::create(path, &settings.columns(), ShardCompression::None)?;
    let mut document = ShardDocument::default();
    let mut failed: Option<CorpusError> = None;
    let left_out = block.read(settings, &mut |raw| {
        if failed.is_some() {
            return;
        }
        remarks.add(&draft, &raw.body);
        drafter.draft(raw, &mut document);
        missing.retain(|&place| match place {
            GROUP => document.group.is_none(),
            ID => block.is_place(&document.source_id),
            CUT => !document.source_id.ends_with("/0002"),
            place => document.metadata[place].is_none(),
        });
        draft.documents += 1;
        draft.documents_with_tokens += u64::from(!document.terms.is_empty());
        draft.tokens += u64::from(document.tokens_total);
        failed = writer.push(&document).err();
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    writer.finish()?;
    if draft.documents == 0 {
        store::remove_file(path).map_err(Failure::io(path))?;
    }
    Ok((draft, left_out))
}

/// The places of group and id among what the job expects of documents; others are those of metadata.
const GROUP: usize = usize::MAX;
const ID: usize = usize::MAX - 1;
/// The place of texts that are cut, where long ones are to be.
const CUT: usize = usize::MAX - 2;

/// Returns warnings that no document has a key or column that the job names, each with its place.
fn named(settings: &CorpusSettings) -> Vec<(String, usize)> {
    let group = settings.group.iter().map(|name| (name, GROUP));
    let id = Some(&settings.id).filter(|id| !["", "id"].contains(&id.as_str()));
    let metadata = settings.metadata.iter().zip(0..);
    let all = group.chain(id.map(|name| (name, ID))).chain(metadata);
    let absent = all.map(|(name, place)| (format!("no document has `{name}`"), place));
    let uncut = "no text is longer than the sections that texts are cut into".to_owned();
    absent.chain(settings.sections.map(|_| (uncut, CUT))).collect()
}

/// Lets the worker that hit the error end the run, so that the user reads the cause.
pub(in crate::dataflow) fn cause_first(error: InputError) -> InputError {
    if matches!(error, InputError::Stopped) {
        std::thread::sleep(CAUSE_FIRST);
    }
    error
}

/// Figures of a shard's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct WrittenShard {
    /// The shard's number.
    pub(super) number: u64,
    /// Tokens found.
    pub(super) tokens_total: u64,
    /// Tokens in the vocabulary.
    pub(super) tokens: u64,
    /// Tokens that are stop words.
    pub(super) tokens_stopped: u64,
    /// Documents that have a volume.
    pub(super) sections: u64,
    /// Digest of the volume of the first of them; 0 without any.
    pub(super) first_volume: u64,
    /// Digest of the volume of the last of them.
    pub(super) last_volume: u64,
    /// Documents of that volume at the shard's end.
    pub(super) last_sections: u64,
    /// Documents by status.
    pub(super) by_status: [u64; DocumentStatus::ALL.len()],
    /// Size of the file.
    pub(super) bytes: u64,
    /// SHA-256 of the file.
    pub(super) sha256: [u8; 32],
}

/// Rewrites a draft as a shard in final term ids, joins phrases, counts labels, finds the types of
/// metadata, and publishes the shard.
pub(super) fn rewrite(
    process: &Process,
    map: &TermMap,
    draft: &OwnDraft,
    duplicates: &Duplicates,
    (labels, types): (&mut LabelCounter, &mut TypeFinder),
    mut joiner: Option<&mut Joiner>,
) -> Result<WrittenShard, Failure> {
    let number = draft.number;
    let name = Collection::shard_name(number);
    let temporary = process.output.temporary_path(&format!("shard-{number:05}.parquet"));
    let metadata = process.job.corpus.columns();
    let labelled = process.job.corpus.labels();
    let mut writer = ShardWriter::create(&temporary, &metadata, ShardCompression::Zstd)?;
    let (mut tokens_total, mut tokens_stopped, mut first_volume) = (0, 0, None);
    let (mut volumes, mut sections, mut last_sections) = (Sections::default(), 0, 0);
    draft.read(Columns::All, |number, document| {
        if let Some(joiner) = &mut joiner {
            joiner.bag(document);
        }
        map.remap(document);
        duplicates.mark(number, document);
        if let Some(section) = volumes.number(document.group.as_deref()) {
            sections += 1;
            last_sections = section + 1;
            first_volume.get_or_insert_with(|| volume_digest(volumes.group()));
        }
        tokens_total += u64::from(document.tokens_total);
        tokens_stopped += u64::from(document.tokens_stopped);
        if let Some((settings, place)) = labelled
            && document.status.has_terms()
            && document.duplicate_of.is_none()
            && let Some(value) = &document.metadata[place]
        {
            labels.add(value, settings);
        }
        types.add(&document.metadata);
        Ok(writer.push(document)?)
    })?;
    let info = writer.finish()?;
    let (bytes, sha256) = hash_file(&temporary).map_err(Failure::io(&temporary))?;
    process.output.publish(&temporary, &name)?;
    process.progress.add(info.documents);
    let (tokens, by_status) = (info.tokens, info.by_status);
    Ok(WrittenShard {
        number: number as u64,
        tokens_total,
        tokens,
        tokens_stopped,
        sections,
        first_volume: first_volume.unwrap_or(0),
        last_volume: volume_digest(volumes.group()),
        last_sections,
        by_status,
        bytes,
        sha256,
    })
}

/// Returns a digest that distinguishes volumes; 0 for none.
fn volume_digest(group: Option<&str>) -> u64 {
    group.map_or(0, |group| {
        let digest = Sha256::digest(group.as_bytes());
        u64::from_le_bytes(std::array::from_fn(|place| digest[place]))
    })
}
