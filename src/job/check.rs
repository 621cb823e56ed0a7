//! From the text of a job to settings that cannot be wrong: one function per section.
//!
//! Defaults come from `defaults`; nothing is read from disk here.

mod evaluate;
mod project;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::Value;

use super::defaults;
use super::error::JobError;
use super::section::{Entry, NOT_NEGATIVE, PART, POSITIVE, Reals, SHARE, Section};
use super::{ClusterSection, OutputSettings, SynthStage};
use crate::corpus::settings::{
    CorpusSettings, Format, OnDamage, SampleSettings, SampleSize, StopWords, TokenRule,
    TokenSettings, VocabularySettings,
};
use crate::corpus::synth_settings::SynthSettings;
use crate::storage;
use lda::model::settings::{Alpha, Geometry, ModelSettings};
use lda::model::statistics::MAX_TERMS;
use lda::train::settings::{Memory, TrainSettings};

pub(super) use evaluate::{METRICS, SPLITS, evaluate};
pub(super) use project::{BUDGETS, ESTIMATORS, METHODS, keys_of_budget, project};

/// Bytes of a MiB; a power of two, so that sizes in MiB are exact.
pub(super) const MIB: f64 = 1_048_576.0;

/// The words for [`Format`].
pub(super) const FORMATS: &[(&str, Option<Format>)] = &[
    ("auto", None),
    ("text", Some(Format::Text)),
    ("jsonl", Some(Format::JsonLines)),
    ("csv", Some(Format::Csv)),
    ("tsv", Some(Format::Tsv)),
    ("parquet", Some(Format::Parquet)),
    ("uci", Some(Format::Uci)),
];
/// The words for [`OnDamage`].
pub(super) const ON_DAMAGE: &[(&str, OnDamage)] =
    &[("fail", OnDamage::Fail), ("keep", OnDamage::Keep)];
/// The words for [`TokenRule`].
pub(super) const RULES: &[(&str, TokenRule)] = &[
    ("words", TokenRule::Words),
    ("letters", TokenRule::Letters),
    ("whitespace", TokenRule::Whitespace),
];
/// The words for [`Geometry`].
pub(super) const GEOMETRIES: &[(&str, Geometry)] =
    &[("mean", Geometry::Mean), ("exp-psi", Geometry::ExpPsi)];

/// The words for [`Memory`].
pub(super) const MEMORIES: &[(&str, Memory)] = &[
    ("auto", Memory::Auto),
    ("on", Memory::On),
    ("off", Memory::Off),
];

/// Counts that are kept in 32 bits.
const COUNT: u64 = u32::MAX as u64;
/// Sweeps over a document: more than anyone has asked for, few enough that sums fit in 32 bits.
const SWEEPS: u64 = 10_000;

/// `[corpus]`. `folder` is the job file's; `synth` the corpus that the job makes, if it makes one.
pub(super) fn corpus(
    section: &Section,
    job_path: &Path,
    folder: &Path,
    synth: Option<&SynthStage>,
) -> Result<CorpusSettings, JobError> {
    let base = match section.name("base")? {
        None => folder.to_owned(),
        Some(base) => storage::join(folder, &base),
    };
    Ok(CorpusSettings {
        base,
        input: input(section, job_path, synth)?,
        exclude: section.texts("exclude")?.unwrap_or_default(),
        format: section.choice("format", FORMATS, None)?,
        id: section
            .name("id")?
            .unwrap_or_else(|| defaults::ID.to_owned()),
        text: names(section, "text")?.unwrap_or_else(|| vec![defaults::TEXT.to_owned()]),
        group: section.text("group")?.filter(|group| !group.is_empty()),
        metadata: metadata(section)?,
        block_bytes: section.real_or_auto("block_mib", SIZE)?.map(bytes),
        max_document_bytes: bytes(section.real(
            "max_document_mib",
            SIZE,
            defaults::MAX_DOCUMENT_MIB,
        )?),
        on_damage: section.choice("on_damage", ON_DAMAGE, OnDamage::Fail)?,
    })
}

const SIZE: Reals = Reals {
    holds: |x| x > 0.0 && x <= 65_536.0,
    allowed: "a number of MiB above 0, at most 65536",
};

fn bytes(mebibytes: f64) -> u64 {
    ((mebibytes * MIB) as u64).max(1)
}

fn input(
    section: &Section,
    job_path: &Path,
    synth: Option<&SynthStage>,
) -> Result<Vec<String>, JobError> {
    match (names(section, "input")?, synth) {
        (Some(input), _) => Ok(input),
        (None, Some(synth)) => Ok(vec![synth.input()]),
        (None, None) => Err(missing(job_path, "corpus", "input")),
    }
}

/// One name or more, none of them empty; `None` when absent.
fn names(section: &Section, key: &'static str) -> Result<Option<Vec<String>>, JobError> {
    let names = section.texts(key)?;
    match (&names, section.get(key)) {
        (Some(list), Some(entry)) if list.is_empty() || list.iter().any(String::is_empty) => {
            Err(section.invalid(key, entry, "a text or a list of texts, none of them empty"))
        }
        _ => Ok(names),
    }
}

fn metadata(section: &Section) -> Result<Vec<String>, JobError> {
    let columns = section.texts("metadata")?.unwrap_or_default();
    let distinct: BTreeSet<&String> = columns.iter().collect();
    match section.get("metadata") {
        Some(entry) if distinct.len() < columns.len() || columns.iter().any(String::is_empty) => {
            Err(section.invalid("metadata", entry, "a list of distinct names"))
        }
        _ => Ok(columns),
    }
}

/// `[tokens]`.
pub(super) fn tokens(section: &Section) -> Result<TokenSettings, JobError> {
    let min_length = section.whole("min_length", 1..=1_000, defaults::MIN_LENGTH)?;
    let max_default = defaults::MAX_LENGTH.max(min_length);
    Ok(TokenSettings {
        rule: section.choice("rule", RULES, TokenRule::Words)?,
        lower_case: section.flag("lower_case", true)?,
        min_length: min_length as usize,
        max_length: section.whole("max_length", min_length..=1_000, max_default)? as usize,
        numbers: section.flag("numbers", false)?,
        identifiers: section.flag("identifiers", false)?,
    })
}

/// `[vocabulary]`. Stop-word files are relative to `folder`, the job file's.
pub(super) fn vocabulary(section: &Section, folder: &Path) -> Result<VocabularySettings, JobError> {
    Ok(VocabularySettings {
        stop_words: stop_words(section, folder)?,
        stop_top: section.whole("stop_top", 0..=1_000_000, 0)? as usize,
        min_documents: section.whole("min_documents", 1..=COUNT, defaults::MIN_DOCUMENTS)?,
        max_share: section.real("max_share", SHARE, defaults::MAX_SHARE)?,
        max_terms: section.whole("max_terms", 1..=MAX_TERM_IDS, defaults::MAX_TERMS)? as usize,
    })
}

/// Statistics keep a term in 24 bits.
const MAX_TERM_IDS: u64 = MAX_TERMS as u64;

fn stop_words(section: &Section, folder: &Path) -> Result<Vec<StopWords>, JobError> {
    let Some(entry) = section.get("stop_words") else {
        return Ok(vec![StopWords::Language(defaults::STOP_WORDS.to_owned())]);
    };
    let lists = section.texts("stop_words")?.unwrap_or_default();
    if lists == ["none"] {
        return Ok(Vec::new());
    }
    let list = |name: String| {
        if name.contains('/') || name.ends_with(".txt") {
            Ok(StopWords::File(folder.join(name)))
        } else if is_language(&name) {
            Ok(StopWords::Language(name))
        } else {
            Err(section.invalid("stop_words", entry, STOP_WORDS_ALLOWED))
        }
    };
    lists.into_iter().map(list).collect()
}

const STOP_WORDS_ALLOWED: &str = "\"none\", a language (\"en\", \"de\", …; \"rust\"), a file (\"./words.txt\"), or a list of these";

/// Whether there is a list for this name: an ISO 639-1 code, or a programming language of ours.
fn is_language(name: &str) -> bool {
    name == "rust" || (name.len() == 2 && stop_words::lookup(name).is_some())
}

/// `[sample]`.
pub(super) fn sample(section: &Section) -> Result<SampleSettings, JobError> {
    section.exclude("fraction", "documents")?;
    let size = match (
        section.get("fraction"),
        section.whole_if_set("documents", 1..=COUNT)?,
    ) {
        (Some(entry), _) => SampleSize::Fraction(section.real_of("fraction", entry, SHARE)?),
        (None, Some(documents)) => SampleSize::Documents(documents),
        (None, None) => SampleSize::Documents(defaults::SAMPLE_DOCUMENTS),
    };
    Ok(SampleSettings {
        size,
        held_out: section.real("held_out", PART, defaults::HELD_OUT)?,
    })
}

/// `[model]`.
///
/// The paper's geometry has no Gibbs passes, which know the mean only: it needs `memory` off.
pub(super) fn model(
    section: &Section,
    job_path: &Path,
    memory: Memory,
) -> Result<ModelSettings, JobError> {
    section.exclude("alpha", "alpha_sum")?;
    let topics = section
        .whole_if_set("topics", 1..=65_535)?
        .ok_or_else(|| missing(job_path, "model", "topics"))? as usize;
    let alpha = match section.get("alpha") {
        Some(entry) => Some(alpha(section, entry, topics)?),
        None => (section.real_or_auto("alpha_sum", POSITIVE)?).map(Alpha::Sum),
    };
    let geometry = section.choice("geometry", GEOMETRIES, Geometry::Mean)?;
    if let (Geometry::ExpPsi, Some(entry)) = (geometry, section.get("geometry"))
        && memory != Memory::Off
    {
        let allowed =
            "\"mean\", unless train.memory is \"off\": Gibbs passes support only the mean";
        return Err(section.invalid("geometry", entry, allowed));
    }
    Ok(ModelSettings {
        topics,
        seed: section.whole("seed", 0..=i64::MAX as u64, defaults::SEED)?,
        alpha,
        eta: section.real_or_auto("eta", POSITIVE)?,
        published_eta: section.real_or_auto("published_eta", POSITIVE)?,
        geometry,
    })
}

fn alpha(section: &Section, entry: &Entry, topics: usize) -> Result<Alpha, JobError> {
    let refuse = || {
        let allowed = format!("a number above 0, or a list of {topics} of them (one per topic)");
        section.invalid("alpha", entry, &allowed)
    };
    let positive = |value: &Value| {
        super::section::number(value)
            .filter(|x| (POSITIVE.holds)(*x))
            .ok_or_else(refuse)
    };
    match &entry.value {
        Value::Array(items) if items.len() == topics => Ok(Alpha::Vector(
            items.iter().map(positive).collect::<Result<_, _>>()?,
        )),
        value => Ok(Alpha::Each(positive(value)?)),
    }
}

/// `[train]`.
pub(super) fn train(section: &Section) -> Result<TrainSettings, JobError> {
    let whole = |key, least, default| section.whole(key, least..=COUNT, default);
    let auto = |key, least| section.whole_or_auto(key, least..=COUNT);
    let passes = |key, least| Ok::<_, JobError>(auto(key, least)?.map(|n| n as u32));
    let sweeps = |key, least, default| section.whole(key, least..=SWEEPS, default);
    let bytes = |key, default| Ok::<_, JobError>(section.real(key, NOT_NEGATIVE, default)? * MIB);
    let memory = section.choice("memory", MEMORIES, Memory::Auto)?;
    let online_passes = whole("online_passes", 0, defaults::ONLINE_PASSES)? as u32;
    for &key in unused(memory, online_passes) {
        if let Some(entry) = section.get(key) {
            return Err(section.invalid(
                key,
                entry,
                match memory {
                    Memory::Off => "absent: it has no effect with train.memory = \"off\"",
                    _ => "absent: it has no effect with train.online_passes = 0",
                },
            ));
        }
    }
    let sample_mib = match memory {
        Memory::Off => defaults::STREAMED_SAMPLE_MIB,
        Memory::On | Memory::Auto => defaults::SAMPLE_MIB,
    };
    Ok(TrainSettings {
        minibatch: auto("minibatch", 1)?.map(|n| n as usize),
        passes: passes("passes", 1)?,
        memory,
        memory_bytes: bytes("memory_mib", defaults::MEMORY_MIB)? as u64,
        online_passes,
        alpha_after: passes("alpha_after", 0)?,
        alpha_every: passes("alpha_every", 0)?,
        average_every: passes("average_every", 0)?,
        sample_bytes: bytes("sample_mib", sample_mib)? as u64,
        burn_in_sweeps: sweeps("burn_in", 0, defaults::TRAIN_BURN_IN)? as u32,
        kept_sweeps: sweeps("sweeps", 1, defaults::TRAIN_SWEEPS)? as u32,
        step_offset: section.real("step_offset", POSITIVE, defaults::STEP_OFFSET)?,
        step_decay: section.real("step_decay", DECAY, defaults::STEP_DECAY)?,
        prune: section.real("prune", NOT_NEGATIVE, defaults::PRUNE)?,
        evaluate_every: passes("evaluate_every", 1)?,
        patience: whole("patience", 0, defaults::PATIENCE)? as u32,
        tolerance: section.real("tolerance", NOT_NEGATIVE, defaults::TOLERANCE)?,
        checkpoint_every: whole("checkpoint_every", 0, defaults::CHECKPOINT_EVERY)? as u32,
        checkpoint_minutes: section.real(
            "checkpoint_minutes",
            NOT_NEGATIVE,
            defaults::CHECKPOINT_MINUTES,
        )?,
    })
}

/// Keys of `[train]` that would change nothing.
pub(super) fn unused(memory: Memory, online_passes: u32) -> &'static [&'static str] {
    match (memory, online_passes) {
        (Memory::Off, _) => &[
            "memory_mib",
            "online_passes",
            "alpha_after",
            "alpha_every",
            "average_every",
        ],
        (_, 0) => &["burn_in", "sweeps", "step_offset", "step_decay", "prune"],
        _ => &[],
    }
}

/// Robbins and Monro's condition: steps whose squares have a finite sum, but not the steps.
const DECAY: Reals = Reals {
    holds: |x| x > 0.5 && x <= 1.0,
    allowed: "a number above 0.5, at most 1",
};

/// `[output]`.
pub(super) fn output(section: &Section, job_path: &Path) -> Result<OutputSettings, JobError> {
    let path = section
        .name("path")?
        .ok_or_else(|| missing(job_path, "output", "path"))?;
    let scratch = section.text("scratch")?.filter(|path| !path.is_empty());
    Ok(OutputSettings {
        path: PathBuf::from(path),
        scratch: scratch.map(PathBuf::from),
    })
}

/// `[cluster]`. The file is relative to `folder`, the job file's.
pub(super) fn cluster(section: &Section, folder: &Path) -> Result<ClusterSection, JobError> {
    let file = section.text("secret_file")?.filter(|file| !file.is_empty());
    Ok(ClusterSection {
        secret_file: file.map(|file| folder.join(file)),
    })
}

/// `[synth]`, where it was written. A word list is relative to `folder`, the job file's.
pub(super) fn synth(
    section: &Section,
    job_path: &Path,
    folder: &Path,
) -> Result<SynthStage, JobError> {
    let path = section
        .name("path")?
        .ok_or_else(|| missing(job_path, "synth", "path"))?;
    let words = section.text("words")?.filter(|words| !words.is_empty());
    let settings = SynthSettings {
        topics: section.whole("topics", 1..=65_535, defaults::SYNTH_TOPICS)? as usize,
        documents: section.whole("documents", 1..=i64::MAX as u64, defaults::SYNTH_DOCUMENTS)?,
        vocabulary: section.whole("terms", 1..=MAX_TERM_IDS, defaults::SYNTH_TERMS)? as usize,
        mean_length: section.real("mean_length", POSITIVE, defaults::SYNTH_MEAN_LENGTH)?,
        alpha_sum: section.real("alpha_sum", POSITIVE, defaults::SYNTH_ALPHA_SUM)?,
        zipf: section.real("zipf", NOT_NEGATIVE, defaults::SYNTH_ZIPF)?,
        seed: section.whole("seed", 0..=i64::MAX as u64, defaults::SEED)?,
        words: words.map(|words| folder.join(words)),
    };
    Ok(SynthStage {
        path: PathBuf::from(path),
        settings,
    })
}

fn missing(path: &Path, section: &'static str, key: &'static str) -> JobError {
    JobError::Missing {
        path: path.to_owned(),
        section,
        key,
    }
}
