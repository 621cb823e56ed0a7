//! The page of a sweep: which number of topics, and which of the topics other seeds and other numbers have too.
//!
//! All models have their figures on it; of each number of topics, the model that predicts held-out documents best has
//! its topics. If there are several settings, each has its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use super::bounds::{NAME_CHARS, clip};
use super::page;
use crate::failure::Failure;
use crate::tables::VERSION;
use crate::tables::records::{records, rows};
use crate::tables::sweep::SweepRow;
use crate::tables::sweep_matches::SweepMatchRow;
use crate::tables::sweep_sizes::SweepSizeRow;
use crate::tables::sweep_topics::SweepTopicRow;
use corpus::collection::Collection;

/// Topics of all models that are shown together.
const MOST_TOPICS: usize = 3_000;
/// Topics of each, the largest.
const MODEL_TOPICS: usize = 300;
/// Other seeds in which their partners are shown.
const MOST_SEEDS: usize = 4;
/// Terms of a topic.
const TERMS: usize = 10;

/// A model, by its number of topics and its seed.
type Model = (i32, i64);

#[derive(Debug, Serialize)]
struct SweepData {
    inputs: Vec<String>,
    version: &'static str,
    advice: String,
    parts: Vec<SweepPart>,
}

/// The models of the same settings.
#[derive(Debug, Serialize)]
struct SweepPart {
    settings: String,
    sizes: Vec<SweepSizeRow>,
    models: Vec<SweepRow>,
    /// One of each number of topics.
    shown: Vec<ShownModel>,
}

#[derive(Debug, Serialize)]
struct ShownModel {
    topics: i32,
    seed: i64,
    /// The largest, largest first.
    rows: Vec<ShownTopic>,
}

#[derive(Debug, Serialize)]
struct ShownTopic {
    #[serde(flatten)]
    row: SweepTopicRow,
    /// The nearest topic of the shown model of the next smaller number, and the distance to it.
    parent: Option<(i32, f64)>,
    /// Its partners in models of other seeds.
    partners: Vec<Partner>,
}

#[derive(Debug, Serialize)]
struct Partner {
    #[serde(flatten)]
    row: SweepTopicRow,
    distance: f64,
}

/// Returns the page of the sweep in a folder, with what it advises.
///
/// # Errors
/// A table or the collection cannot be read.
pub(crate) fn sweep_page(root: &Path, advice: &str) -> Result<String, Failure> {
    let settings: Vec<SweepSizeRow> = rows(root)?;
    let settings: BTreeSet<String> = settings.into_iter().map(|row| row.settings).collect();
    let most = MOST_TOPICS / settings.len().max(1);
    let part = |settings| part(root, settings, most);
    let data = SweepData {
        inputs: super::inputs(root, &Collection::read(root)?),
        version: VERSION,
        advice: advice.to_owned(),
        parts: settings.into_iter().map(part).collect::<Result<_, _>>()?,
    };
    let title = match data.inputs.first() {
        Some(input) => format!("How many topics? – {input}"),
        None => "How many topics?".to_owned(),
    };
    Ok(page::SWEEP.of(&title, &data))
}

/// Reads the models of the same settings, with at most this many topics.
fn part(root: &Path, settings: String, most: usize) -> Result<SweepPart, Failure> {
    let models = records(root)?.only(|row: &SweepRow| row.settings == settings)?;
    let shown = shown_models(&models);
    let is_shown =
        |row: &SweepMatchRow| row.settings == settings && shown.get(&row.topics) == Some(&row.seed);
    let matches = records(root)?.only(is_shown)?;
    let all = records(root)?.only(|row: &SweepTopicRow| row.settings == settings)?;
    let sizes = records(root)?.only(|row: &SweepSizeRow| row.settings == settings)?;
    let shown = topics(&shown, all, &matches, most);
    Ok(SweepPart { sizes, models, shown, settings })
}

/// Returns the seed of the model that is shown, by number of topics: the one that predicts held-out documents best.
fn shown_models(models: &[SweepRow]) -> BTreeMap<i32, i64> {
    let mut sorted: Vec<&SweepRow> = models.iter().collect();
    let likelihood = |row: &SweepRow| row.log_likelihood_per_token.unwrap_or(f64::NEG_INFINITY);
    sorted.sort_by(|a, b| likelihood(a).total_cmp(&likelihood(b)).then(b.seed.cmp(&a.seed)));
    sorted.into_iter().map(|row| (row.topics, row.seed)).collect()
}

/// Returns the shown models with their largest topics.
fn topics(
    shown: &BTreeMap<i32, i64>,
    all: Vec<SweepTopicRow>,
    matches: &[SweepMatchRow],
    most: usize,
) -> Vec<ShownModel> {
    let most = (most / shown.len().max(1)).min(MODEL_TOPICS);
    let mut by_model: BTreeMap<Model, Vec<SweepTopicRow>> = BTreeMap::new();
    for mut row in all {
        row.top_terms.truncate(TERMS);
        row.top_terms.iter_mut().for_each(|term| *term = clip(term, NAME_CHARS));
        by_model.entry((row.topics, row.seed)).or_default().push(row);
    }
    let mut matched: BTreeMap<(i32, i32), Vec<&SweepMatchRow>> = BTreeMap::new();
    for row in matches {
        matched.entry((row.topics, row.topic)).or_default().push(row);
    }
    let mut smaller = None;
    let mut models = Vec::new();
    for (&size, &seed) in shown {
        let topic = |row: SweepTopicRow| {
            let matches = matched.get(&(size, row.topic)).map(Vec::as_slice).unwrap_or_default();
            let parent =
                matches.iter().find(|it| Some((it.other_topics, it.other_seed)) == smaller);
            let partner = |it: &&SweepMatchRow| {
                let (topic, distance) = it.partner.zip(it.partner_distance)?;
                let row = by_model.get(&(size, it.other_seed))?.get(topic as usize)?.clone();
                Some(Partner { row, distance })
            };
            let of_size = matches.iter().filter(|it| it.other_topics == size);
            ShownTopic {
                parent: parent.map(|it| (it.nearest, it.distance)),
                partners: of_size.filter_map(partner).take(MOST_SEEDS).collect(),
                row,
            }
        };
        let mut rows = by_model.get(&(size, seed)).cloned().unwrap_or_default();
        rows.sort_by(|a, b| b.share.total_cmp(&a.share));
        rows.truncate(most);
        let rows = rows.into_iter().map(topic).collect();
        models.push(ShownModel { topics: size, seed, rows });
        smaller = Some((size, seed));
    }
    models
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a model of each seed from 1 on, with these likelihoods.
    fn models(topics: i32, likelihoods: &[f64]) -> Vec<SweepRow> {
        let model = |(&likelihood, seed)| SweepRow {
            topics,
            seed,
            log_likelihood_per_token: Some(likelihood),
            ..SweepRow::default()
        };
        likelihoods.iter().zip(1..).map(model).collect()
    }

    #[test]
    fn the_best_model_of_each_number_has_its_largest_topics_with_parent_and_partners() {
        let models = [models(2, &[-7.0, -6.0]), models(200, &[-5.0, -5.0])].concat();
        let shown = shown_models(&models);
        assert_eq!(shown, [(2, 2), (200, 1)].into());
        let row = |model: &SweepRow, topic| SweepTopicRow {
            topics: model.topics,
            seed: model.seed,
            topic,
            share: f64::from(topic + 1),
            top_terms: vec!["term".to_owned(); 20],
            ..SweepTopicRow::default()
        };
        let all = models.iter().flat_map(|it| (0..it.topics).map(move |topic| row(it, topic)));
        let matched =
            |[topics, seed, topic, other_topics, other_seed]: [i32; 5], distance| SweepMatchRow {
                topics,
                seed: seed.into(),
                topic,
                other_topics,
                other_seed: other_seed.into(),
                nearest: 1,
                distance,
                partner: Some(0),
                partner_distance: Some(distance),
                ..SweepMatchRow::default()
            };
        let matches = [
            matched([2, 2, 1, 2, 1], 0.25),
            matched([2, 2, 1, 200, 1], 0.125),
            matched([200, 1, 7, 2, 1], 0.625),
            matched([200, 1, 7, 2, 2], 0.5),
            matched([200, 1, 7, 200, 2], 0.75),
        ];
        let mut all: Vec<SweepTopicRow> = all.collect();
        all[0].stability = Some(1.0);
        let found = topics(&shown, all, &matches, MOST_TOPICS);
        let numbers: Vec<i32> = found[1].rows.iter().map(|it| it.row.topic).collect();
        assert_eq!(numbers, (0..200).rev().collect::<Vec<_>>());
        let small = &found[0].rows[0];
        assert_eq!((small.row.topic, small.parent, small.partners.len()), (1, None, 1));
        assert_eq!(small.partners[0].row.seed, 1);
        let large = &found[1].rows[192];
        assert_eq!((large.row.topic, large.parent), (7, Some((1, 0.5))));
        assert_eq!(large.partners[0].row.topic, 0);
        assert_eq!(large.row.top_terms.len(), TERMS);
    }
}
