//! The local step of CVB0, collapsed variational inference of order zero (Asuncion, Welling, Smyth & Teh
//! 2009; Papanikolaou, Foulds, Rubin & Tsoumakas 2017, Eq. 6):
//!
//! ```text
//! γ_dik ∝ (n'_kw without i + η) / (n'_k without i + Vη) · (n'_dk without i + α_k),      n' = sums of γ
//! ```
//!
//! Tokens of one term in a document share one γ, which is remembered in units of 2⁻¹² token and rounded at random
//! (`units::spread`): n' are integers, and exactly what was added to them is subtracted later. Within a document
//! n'_dk changes with every term; n'_kw and n'_k are those of the previous pass, as when documents are divided among
//! processors (Newman, Asuncion, Smyth & Welling 2009). A document with labels has γ only for its labels
//! (Papanikolaou 2017, §2.4). O(K) per distinct term, or O(labels), in vectorised loops over f32.

use super::{
    Counts, LocalStep, Remembered, Requirements, Sampling, TrainingMethod, Unused, Update, Visit,
};
use crate::infer::sampler::check;
use crate::infer::{Bag, ImpossibleDraw};
use crate::math::lanes::sum;
use crate::math::random::Stream;
use crate::model::factors::{Chunk, FactorTable, flat};
use crate::model::settings::Geometry;
use crate::model::statistics::Moves;
use crate::train::document_schedule::UNIFORM;
use crate::train::step::Memory;
use crate::train::units::{FINE, TOKEN, spread};

/// Updates the remembered γ of all documents.
pub const METHOD: TrainingMethod = TrainingMethod {
    name: "cvb0",
    doc: "updates the remembered γ of all documents, with θ and φ integrated out",
    requires: Requirements {
        memory: Some(Memory::On),
        geometry: Some(Geometry::Mean),
        schedule: Some(&UNIFORM),
        ..Requirements::NONE
    },
    ignores: &[Unused::Gibbs, Unused::Sweeps, Unused::Steps, Unused::Minibatch],
    prune: None,
    counts: Counts::Expected,
    update: Update::Whole,
    passes: [20, 200],
    has_gibbs_passes: false,
    remembers: Remembered::Gamma,
    takes_labels: true,
    takes_tree: false,
    step: |_| Box::new(Cvb0::default()),
};

/// The local step of CVB0, for one document after another, with the same buffers.
#[derive(Clone, Debug, Default)]
struct Cvb0 {
    /// The topics that the document may have, L of them: its labels, or all.
    topics: Vec<u16>,
    /// The share of a unit in e_kw, 1 / (n'_k + Vη) / 2¹², L long.
    unit: Vec<f32>,
    /// α_k in units, L long.
    alpha: Vec<f32>,
    /// e_kw of the current term for all topics, and for L labels.
    factors: Vec<Chunk>,
    label_factors: Vec<f32>,
    /// n'_dk in units, L long: exact up to 2¹² tokens.
    document: Vec<f32>,
    /// Eq. 6 for the current term, before it is normalised, L long.
    masses: Vec<f32>,
    /// γ of the current term in 2⁻¹⁸ units, and in units, L long.
    shares: Vec<i32>,
    units: Vec<u16>,
    /// γ of all terms in units, W × L.
    gamma: Vec<u16>,
}

impl LocalStep for Cvb0 {
    /// γ is updated.
    fn visit<'s>(
        &'s mut self,
        visit: Visit<'_>,
        remembered: &[u16],
        sampling: &'s mut Sampling,
    ) -> Result<&'s [u16], ImpossibleDraw> {
        let Visit { bag, table, labels, key, .. } = visit;
        let statistics = &mut sampling.statistics;
        self.update(bag, table, labels, remembered, &mut key.stream(), statistics)
    }
}

impl Cvb0 {
    /// Updates γ of a document's terms, one after another, and adds the counts of its tokens to `statistics`. It
    /// has L topics: its `labels` or, if there are none, all. `remembered` are its γ, W × L in units, which count
    /// in the model; all 0, or empty, before the first visit. Returns the new ones.
    ///
    /// # Errors
    /// Returns an error if a term has no topic.
    ///
    /// # Panics
    /// Panics under a tree.
    fn update(
        &mut self,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        labels: &[u16],
        remembered: &[u16],
        stream: &mut Stream,
        statistics: &mut Moves,
    ) -> Result<&[u16], ImpossibleDraw> {
        assert!(table.tree().is_none(), "counts under a tree are those of leaves");
        self.start(bag, table, labels, remembered);
        let topics = self.topics.len();
        for (index, (&term, &count)) in bag.terms.iter().zip(bag.counts).enumerate() {
            let row = index * topics..(index + 1) * topics;
            let sum = self.approximate(term, row.start, table, labels)?;
            let scale = FINE as f32 * TOKEN as f32 / sum;
            for (share, mass) in self.shares.iter_mut().zip(&self.masses) {
                *share = (mass * scale) as i32;
            }
            spread(&self.shares, stream.uniform(), &mut self.units);
            let (tokens, gamma) = (count as f32, &mut self.gamma[row]);
            let changes = gamma.iter_mut().zip(&self.units);
            for (sum, (old, &new)) in self.document.iter_mut().zip(changes) {
                *sum += tokens * (f32::from(new) - f32::from(*old));
                *old = new;
            }
            match labels {
                [] => statistics.add_row(term, &self.units, count),
                labels => {
                    for (&topic, &units) in labels.iter().zip(&self.units) {
                        statistics.add(term, topic, i64::from(units) * i64::from(count));
                    }
                }
            }
        }
        Ok(&self.gamma)
    }

    /// Starts a document, with its counts in the model.
    fn start(&mut self, bag: Bag<'_>, table: FactorTable<'_>, labels: &[u16], remembered: &[u16]) {
        self.topics.clear();
        match labels {
            [] => self.topics.extend(0..table.topic_count() as u16),
            labels => self.topics.extend_from_slice(labels),
        }
        let (smoothing, topics) = (table.smoothing(), self.topics.len());
        self.unit.clear();
        self.alpha.clear();
        for &topic in &self.topics {
            let k = usize::from(topic);
            self.unit.push(smoothing.unit[k] / TOKEN as f32);
            self.alpha.push(smoothing.alpha[k] * TOKEN as f32);
        }
        self.masses.resize(topics, 0.0);
        self.shares.resize(topics, 0);
        self.units.resize(topics, 0);
        self.gamma.clear();
        self.gamma.extend_from_slice(remembered);
        self.gamma.resize(bag.terms.len() * topics, 0);
        self.document.clear();
        self.document.resize(topics, 0.0);
        for (row, &count) in self.gamma.chunks_exact(topics).zip(bag.counts) {
            for (sum, &units) in self.document.iter_mut().zip(row) {
                *sum += f32::from(units) * count as f32;
            }
        }
    }

    /// Writes Eq. 6 for a term whose γ begin at `start` to `masses`; returns their sum.
    fn approximate(
        &mut self,
        term: u32,
        start: usize,
        table: FactorTable<'_>,
        labels: &[u16],
    ) -> Result<f32, ImpossibleDraw> {
        let row = table.find(term).expect("factors of all terms are prepared");
        let topics = self.topics.len();
        let factors = match labels {
            [] => {
                self.factors.clear();
                table.write(row, &mut self.factors);
                &flat(&self.factors)[..topics]
            }
            labels => {
                self.label_factors.clear();
                table.write_some(row, labels, &mut self.label_factors);
                &self.label_factors
            }
        };
        let own = &self.gamma[start..start + topics];
        let of_term = factors.iter().zip(&self.unit);
        let of_document = self.document.iter().zip(&self.alpha);
        let all = own.iter().zip(of_term.zip(of_document));
        for (mass, (&own, ((&e, &unit), (&n, &alpha)))) in self.masses.iter_mut().zip(all) {
            let own = f32::from(own);
            let f = unit * own;
            *mass = (e - f).max(0.0) / (1.0 - f) * ((n - own).max(0.0) + alpha);
        }
        check(term, sum(&self.masses), 0.0, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Stage;
    use crate::model::Priors;
    use crate::model::factors::Factors;
    use crate::model::parameters::{Entry, GlobalStep, Parameters};
    use crate::model::statistics::Assigned;

    const TOPICS: usize = 3;
    const TERMS: usize = 5;
    const CORPUS: [(&[u32], &[u32]); 3] =
        [(&[0, 1, 4], &[3, 1, 2]), (&[1, 2, 3], &[1, 5, 1]), (&[0, 4], &[1, 20])];

    /// Without labels; with labels for two documents.
    const LABELS: [[&[u16]; 3]; 2] = [[&[]; 3], [&[0, 2], &[1], &[]]];

    fn priors() -> Priors {
        Priors { alpha: vec![0.1, 0.4, 0.2], eta: 0.05, exp_psi: false, tree: None }
    }

    /// Eq. 6 for document d, term by term: n'_kw and n'_k are from `all`, n'_dk from the γ `found` (rounded) for
    /// the terms before; 0 outside its labels. W × K.
    fn reference(
        all: &[Vec<f64>],
        (d, labels): (usize, &[u16]),
        found: &[f64],
        priors: &Priors,
    ) -> Vec<f64> {
        let (mut own, mut wanted) = (all[d].clone(), Vec::new());
        let n_kw = |k: usize, w: u32| -> f64 {
            let of = |(&(terms, counts), gamma): (&(&[u32], &[u32]), &Vec<f64>)| -> f64 {
                let mine = terms.iter().zip(counts).enumerate().filter(|(_, (t, _))| **t == w);
                mine.map(|(i, (_, &n))| f64::from(n) * gamma[i * TOPICS + k]).sum()
            };
            CORPUS.iter().zip(all).map(of).sum()
        };
        let (terms, counts) = CORPUS[d];
        for (i, &w) in terms.iter().enumerate() {
            let mass = |k: usize| {
                if !(labels.is_empty() || labels.contains(&(k as u16))) {
                    return 0.0;
                }
                let old = all[d][i * TOPICS + k];
                let n_k: f64 = (0..TERMS as u32).map(|w| n_kw(k, w)).sum();
                let tokens = counts.iter().enumerate();
                let n_dk: f64 = tokens.map(|(j, &n)| f64::from(n) * own[j * TOPICS + k]).sum();
                (n_kw(k, w) - old + priors.eta) / (n_k - old + TERMS as f64 * priors.eta)
                    * (n_dk - own[i * TOPICS + k] + priors.alpha[k])
            };
            let masses: Vec<f64> = (0..TOPICS).map(mass).collect();
            let sum: f64 = masses.iter().sum();
            for (k, mass) in masses.iter().enumerate() {
                wanted.push(mass / sum);
                own[i * TOPICS + k] = found[i * TOPICS + k];
            }
        }
        wanted
    }

    /// The model of the statistics of all documents.
    fn model(statistics: &mut Moves) -> Parameters {
        let (mut words, mut totals) = (Vec::new(), vec![0; TOPICS]);
        statistics.drain(|entry: Assigned| {
            totals[usize::from(entry.topic)] += i64::from(entry.count);
            words.push(entry.word());
        });
        let step = GlobalStep { step_size: 1.0, weight: 1.0 / TOKEN };
        let mut parameters = Parameters::new(TOPICS, TERMS, 0, 1);
        parameters.decay(step, &totals);
        parameters.add(step, &words);
        parameters
    }

    /// γ of a document as a share of a token, W × K.
    fn dense(units: &[u16], labels: &[u16]) -> Vec<f64> {
        let all: Vec<u16> = (0..TOPICS as u16).collect();
        let topics = if labels.is_empty() { &all } else { labels };
        let mut dense = vec![0.0; units.len() / topics.len() * TOPICS];
        let rows = units.chunks(topics.len()).zip(dense.chunks_mut(TOPICS));
        for (units, row) in rows {
            assert_eq!(units.iter().sum::<u16>(), TOKEN as u16);
            for (&k, &units) in topics.iter().zip(units) {
                row[usize::from(k)] = f64::from(units) / TOKEN;
            }
        }
        dense
    }

    fn passes_follow_the_equation(labels: [&[u16]; 3]) {
        let priors = priors();
        let random = super::super::expected::random_parameters(3, 0.05, [TOPICS, TERMS], [0, 1]);
        let mut parameters = random;
        let mut gamma: Vec<Vec<u16>> = vec![Vec::new(); CORPUS.len()];
        let mut cvb0 = Cvb0::default();
        for pass in 0..30 {
            let factors = Factors::prepare(&parameters, &priors, |_| true, None);
            let parts = [&factors];
            let table = FactorTable::new(&parts);
            let mut statistics = Moves::new(TERMS, TOPICS);
            let own = gamma.iter().zip(labels);
            let before: Vec<Vec<f64>> = own.map(|(own, labels)| dense(own, labels)).collect();
            for (d, (terms, counts)) in CORPUS.into_iter().enumerate() {
                let bag = Bag { terms, counts };
                let stream = &mut Stream::keyed(1, Stage::Train, pass, d as u64);
                let own = cvb0.update(bag, table, labels[d], &gamma[d], stream, &mut statistics);
                gamma[d] = own.unwrap().to_vec();
                if pass > 0 {
                    let found = dense(&gamma[d], labels[d]);
                    let wanted = reference(&before, (d, labels[d]), &found, &priors);
                    let pairs = found.iter().zip(&wanted);
                    let error = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    // Less than a unit for rounding; factors are f32.
                    assert!(error * TOKEN < 1.01, "pass {pass}: {found:?} {wanted:?}");
                }
            }
            parameters = model(&mut statistics);
            assert_eq!(parameters.totals().iter().sum::<f64>(), 34.0);
        }
    }

    #[test]
    fn passes_are_those_of_the_equation() {
        LABELS.into_iter().for_each(passes_follow_the_equation);
    }

    #[test]
    fn a_document_that_was_not_visited_has_no_counts() {
        let priors = priors();
        let random = super::super::expected::random_parameters(3, 0.05, [TOPICS, TERMS], [0, 1]);
        let factors = Factors::prepare(&random, &priors, |_| true, None);
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        let (terms, counts) = CORPUS[0];
        let bag = Bag { terms, counts };
        let visit = |remembered: &[u16]| {
            let stream = &mut Stream::keyed(1, Stage::Train, 0, 0);
            let mut statistics = Moves::new(TERMS, TOPICS);
            let mut cvb0 = Cvb0::default();
            let gamma = cvb0.update(bag, table, &[], remembered, stream, &mut statistics);
            gamma.unwrap().to_vec()
        };
        assert_eq!(visit(&[]), visit(&[0; 9]));
    }

    #[test]
    fn a_term_without_a_topic_is_an_error() {
        let priors = Priors { eta: 0.0, ..priors() };
        let row = |term: u32| {
            let entries = (0..TOPICS as u32).map(|topic| Entry { topic, value: 9.0 });
            entries.filter(|_| term != 3).collect()
        };
        let parameters = Parameters::from_rows(TOPICS, TERMS, [0, 1], row);
        let factors = Factors::prepare(&parameters, &priors, |_| true, None);
        let (parts, (terms, counts)) = ([&factors], CORPUS[1]);
        let (bag, table) = (Bag { terms, counts }, FactorTable::new(&parts));
        let stream = &mut Stream::keyed(1, Stage::Train, 0, 0);
        let (mut cvb0, mut statistics) = (Cvb0::default(), Moves::new(TERMS, TOPICS));
        let found = cvb0.update(bag, table, &[], &[], stream, &mut statistics);
        assert_eq!(found.unwrap_err().term, 3);
    }
}
