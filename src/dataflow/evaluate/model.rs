//! The evaluated model, as factors: the job's own, or an external one on its vocabulary.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::config::state::MODEL_FILE;
use crate::dataflow::ingest::read_vocabulary;
use crate::dataflow::process::Process;
use crate::evaluate::foreign::terms::Mapping;
use crate::evaluate::foreign::{self, ForeignModel};
use crate::failure::Failure;
use crate::tables::output::{View, Wanted};
use crate::tables::phi;
use corpus::collection::Collection;
use corpus::vocabulary::Vocabulary;
use lda::evaluate::TermDistribution;
use lda::model::factors::Factors;
use lda::model::published::publish;
use lda::model::settings::Alpha;

/// A model, ready to score documents.
pub(super) struct Loaded {
    /// φ, in one part.
    pub(super) factors: Factors,
    /// K.
    pub(super) topic_count: usize,
    /// A hash of its topics and of α, equal for equal models.
    pub(super) fingerprint: String,
    /// The heaviest terms of each topic, as many as requested, heaviest first.
    pub(super) top_terms: Vec<Vec<u32>>,
    /// For display.
    pub(super) notes: Vec<String>,
}

/// Reads the model, and `most` of each topic's heaviest terms.
pub(super) fn load(
    run: &Process,
    collection: &Collection,
    model: Option<&Path>,
    most: usize,
) -> Result<Loaded, Failure> {
    match model {
        Some(path) => {
            let vocabulary = read_vocabulary(run)?;
            let theirs = read(path)?;
            on_vocabulary(run, path, theirs, &vocabulary, most)
        }
        None => own(run, collection, most),
    }
}

/// Reads the job's own model, with φ as it was published.
fn own(run: &Process, collection: &Collection, most: usize) -> Result<Loaded, Failure> {
    let output = &run.output;
    if !output.is_published(MODEL_FILE)? {
        return Err(Failure::data(format!(
            "{} has no model yet: run `topicmill run` or `topicmill train` first, or name one by --model",
            output.root().display()
        )));
    }
    let saved = run.read_model(collection)?;
    let header = &saved.header;
    let mut priors = header.published();
    let (alpha, source) = prior(run, Some(priors.alpha), header.topic_count)?;
    priors.alpha = alpha;
    let parameters = saved.parameters(0, 1);
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let top_terms = match most {
        0 => Vec::new(),
        most => publish(&[&parameters], &priors)
            .iter()
            .map(|topic| {
                TermDistribution::of(topic, collection.terms_kept as usize).top_terms(most)
            })
            .collect(),
    };
    let mut hash = Sha256::new();
    hash.update(&saved.hash);
    hash.update(bytemuck::cast_slice::<f64, u8>(&priors.alpha));
    Ok(Loaded {
        factors,
        topic_count: header.topic_count,
        fingerprint: hex::encode(hash.finalize()),
        top_terms,
        notes: vec![format!("the job's own model: {} topics", header.topic_count), source],
    })
}

/// Reads an external model in any format.
fn read(given: &Path) -> Result<ForeignModel, Failure> {
    let view = View::open(given, Wanted::All)?;
    let path = view.path();
    if !path.exists() {
        return Err(foreign::absent(given));
    }
    if !phi::is_parquet(path) {
        return foreign::read(path);
    }
    phi::read_theirs(path)
}

/// Maps an external model onto the job's vocabulary.
fn on_vocabulary(
    run: &Process,
    path: &Path,
    mut theirs: ForeignModel,
    vocabulary: &Vocabulary,
    most: usize,
) -> Result<Loaded, Failure> {
    let topics = theirs.topic_count();
    let mapping = Mapping::new(&theirs, vocabulary, path)?;
    let (alpha, source) = prior(run, theirs.alpha.take(), topics)?;
    let row = |term: u32| {
        let place = mapping.places[term as usize]?;
        Some(&theirs.rows[place as usize][..])
    };
    let kept = vocabulary.kept() as u32;
    let entries: u64 = (0..kept).filter_map(row).map(|row| row.len() as u64).sum();
    // Rows are padded to whole blocks, and addressed with 32 bits.
    if entries + 4 * u64::from(kept) > u64::from(u32::MAX) {
        let problem = format!("has {entries} weights on this vocabulary, more than 2^32");
        return Err(Failure::file(path, problem));
    }
    let mut hash = Sha256::new();
    for term in 0..kept {
        let row = row(term);
        hash.update((row.map_or(u64::MAX, |row| row.len() as u64)).to_le_bytes());
        for (topic, weight) in row.into_iter().flatten() {
            hash.update(topic.to_le_bytes());
            hash.update(weight.to_le_bytes());
        }
    }
    for value in theirs.smoothing.iter().chain(&alpha) {
        hash.update(value.to_le_bytes());
    }
    let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let lacking = u64::from(kept) - mapping.terms;
    let unknown = mapping.all_tokens - mapping.tokens;
    let passed = passed_over(&theirs, &mapping, most);
    Ok(Loaded {
        factors: Factors::from_topics(&alpha, &theirs.smoothing, kept as usize, row),
        topic_count: topics,
        fingerprint: hex::encode(hash.finalize()),
        top_terms: heaviest(topics, kept, row, most),
        notes: vec![
            format!(
                "{}: {}; {topics} topics, {} terms",
                path.display(),
                theirs.form,
                theirs.terms.len()
            ),
            format!(
                "the model lacks {lacking} of the collection's {kept} terms, {unknown} of {} tokens ({:.2} %)",
                mapping.all_tokens,
                share(unknown, mapping.all_tokens)
            ),
            source,
        ]
        .into_iter()
        .chain(passed)
        .collect(),
    })
}

/// Reports how many of a model's heaviest terms the collection lacks, if any are used.
fn passed_over(theirs: &ForeignModel, mapping: &Mapping, most: usize) -> Option<String> {
    let mut has = vec![false; theirs.terms.len()];
    for &place in mapping.places.iter().flatten() {
        has[place as usize] = true;
    }
    let row = |term: u32| Some(&theirs.rows[term as usize][..]);
    let top = heaviest(theirs.topic_count(), has.len() as u32, row, most);
    let lacking = top.iter().flatten().filter(|&&term| !has[term as usize]);
    (most > 0).then(|| {
        format!(
            "coherence: the collection lacks {} of the {} heaviest terms of the model's topics (at most {most} \
             each); the next ones replace them",
            lacking.count(),
            top.iter().map(Vec::len).sum::<usize>()
        )
    })
}

/// Returns each topic's heaviest terms, of those that have a row.
fn heaviest<'a>(
    topics: usize,
    terms: u32,
    row: impl Fn(u32) -> Option<&'a [(u16, f32)]>,
    most: usize,
) -> Vec<Vec<u32>> {
    if most == 0 {
        return Vec::new();
    }
    let mut entries = vec![Vec::new(); topics];
    for term in 0..terms {
        for &(topic, weight) in row(term).into_iter().flatten() {
            entries[usize::from(topic)].push((term, weight));
        }
    }
    let top = |entries: Vec<(u32, f32)>| {
        let topic = TermDistribution {
            entries: &entries,
            absent_weight: 0.0,
            vocabulary_size: terms as usize,
        };
        topic.top_terms(most)
    };
    entries.into_iter().map(top).collect()
}

/// The sum of α for an external model whose files do not contain it: the value of a fixed α.
const FOREIGN_ALPHA_SUM: f64 = 5.0;

/// Returns α_k for each topic, and its source: the job's `evaluate.alpha`, the model, or 5 / K.
fn prior(
    run: &Process,
    own: Option<Vec<f64>>,
    topics: usize,
) -> Result<(Vec<f64>, String), Failure> {
    let asked = run.job.evaluate.alpha.as_ref();
    let (alpha, source) = match (asked, own) {
        (Some(alpha), _) => (alpha.values(topics), "from evaluate.alpha"),
        (None, Some(alpha)) => (alpha, "from the model"),
        (None, None) => (
            Alpha::Sum(FOREIGN_ALPHA_SUM).values(topics),
            "5 / K, because the model's files have none",
        ),
    };
    if alpha.len() != topics {
        return Err(Failure::data(format!(
            "evaluate.alpha lists {} values, but the model has {topics} topics",
            alpha.len()
        )));
    }
    let sum: f64 = alpha.iter().sum();
    Ok((alpha, format!("alpha: {source}; its sum is {sum:.4}")))
}
