//! Figures of a whole collection, estimated from its first records: tokens, distinct terms, labels, and values of
//! metadata.

use std::collections::BTreeMap;

use super::first_records;
use super::records::PreviewRecords;
use crate::config::Job;
use crate::failure::Failure;
use crate::plan::survey::{LabelCount, Survey};
use corpus::formats::{FALLBACK, InputFile};
use corpus::input::{self, Input, hint};
use corpus::labels::split;
use corpus::language;
use corpus::stop_words::StopList;
use corpus::{RawDocument, ShardDocument};

use lda::math::special::{ln, pow};

/// Tokens that show how fast distinct terms grow.
const TELLING_TOKENS: u64 = 10_000;

/// Counts the tokens and labels of the first records of a job's input, and corrects the survey with them.
///
/// # Errors
/// Those of [`preview`](super::preview); a stop list cannot be read.
pub(crate) fn count_tokens(job: &Job, survey: &mut Survey) -> Result<(), Failure> {
    let input = input::discover(&job.corpus)?;
    if is_counted(job, &input) && job.corpus.labels().is_none() {
        return Ok(());
    }
    let records = first_records(&input, &job.corpus)?;
    survey.labels = label_count(job, &records);
    add_figures(job, &input, &records, survey)
}

/// Whether the tokens of an input are counted already, mostly without stop words.
fn is_counted(job: &Job, input: &Input) -> bool {
    let gives_counts = |file: &InputFile| file.format.gives_counts(&job.corpus);
    input.files.iter().any(|file| !file.format.is_volume() && gives_counts(file))
}

/// Corrects a survey with the tokens of these records.
pub(super) fn add_figures(
    job: &Job,
    input: &Input,
    records: &PreviewRecords,
    survey: &mut Survey,
) -> Result<(), Failure> {
    if is_counted(job, input) {
        return Ok(());
    }
    let lists = StopList::load(&job.vocabulary, &job.tokens)?;
    let mut drafter = job.drafter(&[])?;
    let [mut words, mut tokens, mut kept] = [0u64; 3];
    let (mut document, mut growth) = (ShardDocument::default(), Vec::new());
    for text in records.texts(&job.corpus.text) {
        words += text.split_ascii_whitespace().count() as u64;
        drafter.draft(RawDocument::of_text(text), &mut document);
        tokens += u64::from(document.tokens_total);
        let terms = drafter.terms();
        let is_kept = |(id, _): &(u32, u32)| !lists.contains(terms.term(*id));
        kept +=
            document.all_terms().filter(is_kept).map(|(_, count)| u64::from(count)).sum::<u64>();
        growth.push((tokens, terms.len() as u64));
    }
    let scale = if input.files.iter().any(|file| file.format == FALLBACK) {
        survey.content_bytes as f64 / records.bytes.max(1) as f64
    } else if input.has_volumes() {
        // A volume's size says less than its word counts.
        survey.tokens as f64 / words.max(1) as f64
    } else {
        survey.records as f64 / records.len().max(1) as f64
    };
    let scaled = |count: u64| (count as f64 * scale) as u64;
    [survey.tokens, survey.kept_tokens] = [scaled(tokens), scaled(kept)];
    survey.terms = extrapolated(&growth, survey.tokens);
    survey.cut(input, &job.corpus, scaled(words));
    count_values(job, records, scale, survey);
    let names = records.names();
    let is_absent = |name: &&String| words == 0 && !names.is_empty() && !names.contains(name);
    if let Some(name) = job.corpus.text.iter().find(is_absent) {
        survey.lacking = format!("; the first ones have no `{name}`{}", hint(name, names));
    }
    Ok(())
}

/// Estimates the distinct terms of `tokens` tokens from `growth`: numbers of tokens and of terms so far. They grow by
/// a power of the tokens (Heaps' law), whose exponent the second half shows; 0 if there are too few to tell.
pub(super) fn extrapolated(growth: &[(u64, u64)], tokens: u64) -> u64 {
    let Some(&(seen, terms)) = growth.last() else {
        return 0;
    };
    let half = growth.partition_point(|&(before, _)| before <= seen / 2);
    let Some(&(before, known)) = half.checked_sub(1).map(|half| &growth[half]) else {
        return 0;
    };
    if seen < TELLING_TOKENS {
        return 0;
    }
    let ratio = |a: u64, b: u64| a as f64 / b.max(1) as f64;
    let exponent = (ln(ratio(terms, known)) / ln(ratio(seen, before))).clamp(0.0, 1.0);
    (terms as f64 * pow(ratio(tokens.max(seen), seen), exponent)) as u64
}

/// Counts the labels of a job's documents; `None` if it has no labels, or its first records have none.
fn label_count(job: &Job, records: &PreviewRecords) -> Option<LabelCount> {
    let (settings, _) = job.corpus.labels()?;
    let column = [settings.column.clone()];
    // A list has a line for each item.
    let values = records.values_of(&column).into_iter().flat_map(str::lines);
    let [seen, expected] = distinct(values.flat_map(|v| split(v, &settings.separator)));
    (seen > 0).then_some(LabelCount { seen, records: records.len() as u64, expected })
}

/// Counts the distinct values: those seen, and an estimate for all records from how many are seen once and twice
/// (Chao 1984, bias-corrected).
fn distinct<V: Ord>(values: impl IntoIterator<Item = V>) -> [u64; 2] {
    let mut found: BTreeMap<V, u64> = BTreeMap::new();
    for value in values {
        *found.entry(value).or_default() += 1;
    }
    let of = |times: u64| found.values().filter(|&&n| n == times).count() as u64;
    let [seen, once, twice] = [found.len() as u64, of(1), of(2)];
    [seen, seen + once * once.saturating_sub(1) / (2 * (twice + 1))]
}

/// Adds their figures to a survey of `scale` times as many records.
fn count_values(job: &Job, records: &PreviewRecords, scale: f64, survey: &mut Survey) {
    let scaled = |count: u64| (count as f64 * scale) as u64;
    let values_of = |name| records.values_of(std::slice::from_ref::<String>(name));
    let (group, metadata) = (job.corpus.group.iter(), job.corpus.metadata.iter());
    let values = metadata.chain(group.clone()).flat_map(values_of);
    let bytes: usize = values.map(str::len).sum();
    // Each section of a text has its metadata.
    let sections = survey.documents as f64 / survey.records.max(1) as f64;
    survey.metadata_bytes = (bytes as f64 * scale * sections) as u64;
    for name in group {
        // Records of a volume may be adjacent, so that further records are in other volumes.
        let [seen, _] = distinct(values_of(name));
        survey.volumes = scaled(seen).min(survey.documents);
    }
    let identified = job.corpus.languages.iter().flat_map(|_| records.texts(&job.corpus.text));
    let languages = distinct(identified.map(language::identify))[1];
    let named: u64 = job.trends().iter().map(|name| distinct(values_of(name))[1]).sum();
    survey.trend_values = Some(languages + named);
}
