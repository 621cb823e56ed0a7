//! What the models of a sweep are worth, and how alike their topics are: the rows of its tables, from those of the
//! models.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::SweptModel;
use crate::evaluate::measure::mean;
use crate::failure::Failure;
use crate::tables::document_scores::DocumentScoreRow;
use crate::tables::evaluation::EvaluationRow;
use crate::tables::phi::PublishedPhi;
use crate::tables::records::{record, records, rows};
use crate::tables::sweep::SweepRow;
use crate::tables::sweep_matches::SweepMatchRow;
use crate::tables::sweep_sizes::SweepSizeRow;
use crate::tables::sweep_topics::SweepTopicRow;
use crate::tables::topics::TopicRow;
use lda::evaluate::TermDistribution;
use lda::evaluate::completion::{self, Completion};
use lda::evaluate::matching::distances;
use lda::evaluate::topic_number::{SizeFigures, partners, recommend};
use lda::math::FIXED_POINT;

/// Of how many of their top terms topics share some.
const COMPARED_TERMS: usize = 10;

/// A model of a sweep, as its tables say.
struct Made {
    model: SweptModel,
    topics: Vec<TopicRow>,
    phi: PublishedPhi,
    evaluation: Vec<EvaluationRow>,
    /// The log-likelihood of each held-out document, in units of 2⁻²⁰ nats, and its scored tokens.
    scores: BTreeMap<i64, (f64, i64)>,
    training: Option<Training>,
}

record! {
    /// How far training was after a round.
    "training_log";
    struct Training {
        tokens_seen: i64,
        seconds: f64,
    }
}

impl Made {
    fn read(model: &SweptModel, sweep: &Path) -> Result<Self, Failure> {
        let (folder, evaluation) = (model.folder(sweep), model.evaluation(sweep));
        let score =
            |row: DocumentScoreRow| (row.doc_id, (row.log_likelihood * FIXED_POINT, row.tokens));
        let is_completion = |row: &DocumentScoreRow| row.method == completion::METHOD;
        Ok(Self {
            model: model.clone(),
            topics: rows(&folder)?,
            phi: PublishedPhi::read(&folder)?,
            evaluation: [rows(&evaluation)?, rows(&folder)?].concat(),
            scores: (records(&evaluation)?.only(is_completion)?.into_iter().map(score)).collect(),
            training: rows(&folder)?.pop(),
        })
    }

    fn distributions(&self) -> Vec<TermDistribution<'_>> {
        let terms = self.phi.terms.len();
        self.phi.topics.iter().map(|topic| TermDistribution::of(topic, terms)).collect()
    }

    /// Returns a figure of quality: that of the evaluation or, if it has none, of the run.
    fn figure(&self, metric: &str) -> Option<&EvaluationRow> {
        self.evaluation.iter().find(|row| row.metric == metric)
    }

    fn row(&self, stability: &[Option<f64>]) -> SweepRow {
        let value = |metric| self.figure(metric).map(|row| row.value);
        let count =
            |is: fn(&TopicRow) -> bool| self.topics.iter().filter(|row| is(row)).count() as i32;
        let likelihood = self.figure("log_likelihood_per_token");
        let exclusivity: Vec<_> = self.topics.iter().map(|row| row.exclusivity).collect();
        SweepRow {
            settings: self.model.settings.clone(),
            topics: self.model.topics as i32,
            seed: self.model.seed as i64,
            log_likelihood_per_token: likelihood.map(|row| row.value),
            standard_error: likelihood.and_then(|row| row.standard_error),
            coherence_umass: value("coherence_umass"),
            coherence_npmi: value("coherence_npmi"),
            coherence_c_v: value("coherence_c_v"),
            exclusivity: mean(&exclusivity),
            dead: count(|row| row.dead),
            duplicates: count(|row| row.duplicate_of.is_some()),
            junk: count(|row| row.junk),
            stability: mean(stability),
            draws: self.training.as_ref().map_or(0, |training| training.tokens_seen),
            seconds: self.training.as_ref().map_or(0.0, |training| training.seconds),
        }
    }

    fn topic_rows<'a>(
        &'a self,
        stability: &'a [Option<f64>],
    ) -> impl Iterator<Item = SweepTopicRow> + 'a {
        self.topics.iter().zip(stability).map(|(row, stability)| SweepTopicRow {
            settings: self.model.settings.clone(),
            topics: self.model.topics as i32,
            seed: self.model.seed as i64,
            topic: row.topic,
            share: row.share,
            top_terms: row.top_terms.clone(),
            coherence_npmi: row.coherence_npmi,
            exclusivity: row.exclusivity,
            stability: *stability,
        })
    }
}

/// Two models side by side, one of which may be of another size.
struct Pair {
    /// The places of the models.
    places: [usize; 2],
    /// For each topic of each, its nearest in the other, and their distance.
    nearest: [Vec<(usize, f64)>; 2],
    /// The same for its partner, the same topic of the other, if it has that.
    partners: [Vec<Option<(usize, f64)>>; 2],
}

impl Pair {
    fn of(models: &[Made], places: [usize; 2]) -> Self {
        let [rows, columns] = places.map(|place| models[place].distributions());
        let (costs, width) = (distances(&rows, &columns), columns.len());
        let cost = |row: usize, column: usize| costs[row * width + column];
        let least = |all: &mut dyn Iterator<Item = (usize, f64)>| {
            all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 1.0))
        };
        let of_row = |row| least(&mut (0..width).map(|column| (column, cost(row, column))));
        let of_column = |column| least(&mut (0..rows.len()).map(|row| (row, cost(row, column))));
        let mut partners = [partners(&costs, rows.len(), width), vec![None; width]];
        for row in 0..rows.len() {
            if let Some((column, distance)) = partners[0][row] {
                partners[1][column] = Some((row, distance));
            }
        }
        let nearest = [(0..rows.len()).map(of_row).collect(), (0..width).map(of_column).collect()];
        Self { places, nearest, partners }
    }

    /// Returns all pairs of models of the same settings, computed on several threads.
    fn all(models: &[Made], threads: usize) -> Vec<Self> {
        let pairs = (0..models.len()).flat_map(|a| (0..a).map(move |b| [b, a]));
        let is_compared =
            |&[a, b]: &[usize; 2]| models[a].model.settings == models[b].model.settings;
        let places: Vec<[usize; 2]> = pairs.filter(is_compared).collect();
        let (next, made) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(&pair) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let pair = Self::of(models, pair);
                        made.lock().unwrap_or_else(PoisonError::into_inner).push(pair);
                    }
                });
            }
        });
        let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        made.sort_unstable_by_key(|pair| pair.places);
        made
    }

    /// Returns the rows of one of its two models.
    fn rows(&self, models: &[Made], side: usize) -> Vec<SweepMatchRow> {
        let [own, other] = [self.places[side], self.places[1 - side]].map(|place| &models[place]);
        let terms = |row: &TopicRow| -> Vec<String> {
            row.top_terms.iter().take(COMPARED_TERMS).cloned().collect()
        };
        let row = |(place, topic): (usize, &TopicRow)| {
            let (nearest, distance) = self.nearest[side][place];
            let partner = self.partners[side][place];
            let others = other.topics.get(nearest).map(terms).unwrap_or_default();
            let shared = terms(topic).iter().filter(|term| others.contains(term)).count();
            SweepMatchRow {
                settings: own.model.settings.clone(),
                topics: own.model.topics as i32,
                seed: own.model.seed as i64,
                topic: topic.topic,
                other_topics: other.model.topics as i32,
                other_seed: other.model.seed as i64,
                nearest: nearest as i32,
                distance,
                shared_terms: shared as i32,
                partner: partner.map(|(topic, _)| topic as i32),
                partner_distance: partner.map(|(_, distance)| distance),
            }
        };
        own.topics.iter().enumerate().map(row).collect()
    }
}

impl SweepSizeRow {
    /// Returns the figures by which a number is recommended.
    pub(super) fn figures(&self) -> SizeFigures {
        SizeFigures {
            topics: self.topics as u32,
            difference: self.difference,
            difference_error: self.difference_error,
            stable_topics: self.stable_topics,
        }
    }
}

/// The rows of the tables of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) models: Vec<SweepRow>,
    pub(crate) topics: Vec<SweepTopicRow>,
    pub(crate) matches: Vec<SweepMatchRow>,
    pub(crate) sizes: Vec<SweepSizeRow>,
}

impl Measured {
    /// Reads the tables of finished models.
    ///
    /// # Errors
    /// A table cannot be read.
    pub(crate) fn read(
        sweep: &Path,
        models: &[SweptModel],
        threads: usize,
    ) -> Result<Self, Failure> {
        let made = models.iter().map(|model| Made::read(model, sweep));
        let mut made: Vec<Made> = made.collect::<Result<_, _>>()?;
        made.sort_by(|a, b| a.model.settings.cmp(&b.model.settings).then(a.model.cmp(&b.model)));
        let pairs = Pair::all(&made, threads);
        let stability: Vec<Vec<Option<f64>>> =
            (0..made.len()).map(|place| stability(&made, &pairs, place)).collect();
        let models: Vec<SweepRow> =
            made.iter().zip(&stability).map(|(made, stability)| made.row(stability)).collect();
        let topics = made.iter().zip(&stability).flat_map(|(made, it)| made.topic_rows(it));
        let topics = topics.collect();
        let mut matches: Vec<SweepMatchRow> = pairs
            .iter()
            .flat_map(|pair| [0, 1].map(|side| pair.rows(&made, side)))
            .flatten()
            .collect();
        matches.sort_by(|a, b| order(a).cmp(&order(b)));
        let sizes = sizes(&made, &models, &stability);
        Ok(Self { models, topics, matches, sizes })
    }
}

/// Returns what rows are sorted by.
fn order(row: &SweepMatchRow) -> (&str, i32, i64, i32, i32, i64) {
    (&row.settings, row.topics, row.seed, row.topic, row.other_topics, row.other_seed)
}

/// Returns for each topic of a model the share of the models of other seeds that have it; `None` without any. A dead or
/// junk topic is not found again, nor is one that repeats another.
fn stability(models: &[Made], pairs: &[Pair], place: usize) -> Vec<Option<f64>> {
    let own = &models[place];
    let (mut others, mut found) = (0, vec![0; own.topics.len()]);
    for pair in pairs {
        let Some(side) = pair.places.iter().position(|it| *it == place) else {
            continue;
        };
        let other = &models[pair.places[1 - side]];
        if !other.model.is_alike(&own.model) {
            continue;
        }
        others += 1;
        for ((found, partner), topic) in found.iter_mut().zip(&pair.partners[side]).zip(&own.topics)
        {
            let is_found = partner
                .is_some_and(|(partner, _)| topic.is_live() && other.topics[partner].is_live());
            *found += u32::from(is_found);
        }
    }
    let share = |found: u32| (others > 0).then(|| f64::from(found) / f64::from(others));
    found.into_iter().map(share).collect()
}

/// Returns the rows of the numbers of topics, of each of the settings. One is recommended: of the settings with the number
/// that predicts held-out documents best.
fn sizes(made: &[Made], models: &[SweepRow], stability: &[Vec<Option<f64>>]) -> Vec<SweepSizeRow> {
    let mut by_size: BTreeMap<(&str, u32), Vec<usize>> = BTreeMap::new();
    for (place, made) in made.iter().enumerate() {
        by_size.entry((&made.model.settings, made.model.topics)).or_default().push(place);
    }
    let means = |places: &[usize], figure: fn(&SweepRow) -> Option<f64>| {
        let values: Vec<_> = places.iter().map(|&place| figure(&models[place])).collect();
        mean(&values)
    };
    let likelihood = |places: &[usize]| means(places, |row| row.log_likelihood_per_token);
    let best = by_size.values().max_by(|a, b| {
        let [a, b] = [a, b].map(|it| likelihood(it).unwrap_or(f64::NEG_INFINITY));
        a.total_cmp(&b)
    });
    let best = best.cloned().unwrap_or_default();
    let mut rows = Vec::new();
    for (&(settings, topics), places) in &by_size {
        let again: Vec<Option<f64>> =
            places.iter().map(|&place| stability[place].iter().copied().sum()).collect();
        let live = |&place: &usize| {
            Some(made[place].topics.iter().filter(|topic| topic.is_live()).count() as f64)
        };
        let live: Vec<_> = places.iter().map(live).collect();
        let difference = difference(made, places, &best);
        rows.push(SweepSizeRow {
            settings: settings.to_owned(),
            topics: topics as i32,
            models: places.len() as i32,
            log_likelihood_per_token: likelihood(places),
            seed_error: seed_variance(models, places).map(f64::sqrt),
            difference: difference.per_token(),
            difference_error: difference.standard_error().map(|error| {
                let of_seeds = [places, &best].map(|it| seed_variance(models, it).unwrap_or(0.0));
                let of_seeds = if *places == best { 0.0 } else { of_seeds[0] + of_seeds[1] };
                (error * error + of_seeds).sqrt()
            }),
            coherence_npmi: means(places, |row| row.coherence_npmi),
            exclusivity: means(places, |row| row.exclusivity),
            stability: means(places, |row| row.stability),
            live_topics: mean(&live).unwrap_or(0.0),
            stable_topics: mean(&again),
            recommended: false,
            acceptable: false,
        });
    }
    let of_best = best.first().map_or("", |&place| &made[place].model.settings);
    let mut candidates: Vec<&mut SweepSizeRow> =
        rows.iter_mut().filter(|row| row.settings == of_best).collect();
    let figures: Vec<SizeFigures> = candidates.iter().map(|row| row.figures()).collect();
    if let Some([first, last]) = recommend(&figures) {
        candidates[first].recommended = true;
        candidates[first..=last].iter_mut().for_each(|row| row.acceptable = true);
    }
    rows
}

/// Returns the squared standard error of the mean of some models' held-out likelihood, over their seeds; `None` for fewer
/// than two.
fn seed_variance(models: &[SweepRow], places: &[usize]) -> Option<f64> {
    let values: Option<Vec<f64>> =
        places.iter().map(|&place| models[place].log_likelihood_per_token).collect();
    let values = values.filter(|values| values.len() > 1)?;
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / (n - 1.0) / n)
}

/// Returns how much better some models score the documents than others do, in the mean over each.
fn difference(made: &[Made], models: &[usize], others: &[usize]) -> Completion {
    let mut sum = Completion::default();
    let Some(&first) = models.first() else {
        return sum;
    };
    let mean = |places: &[usize], document: i64| {
        let scores: Option<Vec<f64>> =
            places.iter().map(|&place| Some(made[place].scores.get(&document)?.0)).collect();
        let scores = scores.filter(|scores| !scores.is_empty())?;
        Some(scores.iter().sum::<f64>() / scores.len() as f64)
    };
    for (&document, &(_, tokens)) in &made[first].scores {
        if let (Some(own), Some(other)) = (mean(models, document), mean(others, document)) {
            sum.merge(Completion::of((own - other).round_ties_even() as i64, tokens));
        }
    }
    sum
}
