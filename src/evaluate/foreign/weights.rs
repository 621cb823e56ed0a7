//! Topic–term weights from a file, checked one by one, and normalised to φ.

use std::path::Path;

use super::{ForeignModel, SMALLEST};
use crate::failure::Failure;
use lda::model::MAX_TOPICS;

/// Sums of larger weights may leave the range of f32; a topic with less than its inverse has no weight.
const LARGEST: f64 = 1e30;

/// Non-negative weights: counts, probabilities, or anything else that is normalised by topic.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weights {
    terms: Vec<String>,
    /// For each term, (k, weight), in the order they were set.
    rows: Vec<Vec<(u16, f32)>>,
    /// Σ_w weight_kw.
    totals: Vec<f64>,
}

impl Weights {
    /// Creates weights of these terms, all 0.
    pub(crate) fn new(terms: Vec<String>) -> Self {
        Self { rows: vec![Vec::new(); terms.len()], terms, totals: Vec::new() }
    }

    /// Returns K so far: the largest topic plus one.
    pub(crate) fn topic_count(&self) -> usize {
        self.totals.len()
    }

    /// Adds a term; returns its number.
    pub(crate) fn add_term(&mut self, term: &str) -> usize {
        self.terms.push(term.to_owned());
        self.rows.push(Vec::new());
        self.terms.len() - 1
    }

    /// Sets the weight of a term in a topic, once. A zero only ensures that the topic exists.
    ///
    /// # Errors
    /// The weight is negative, NaN or above 10³⁰, or the topic is above the maximum.
    pub(crate) fn set(&mut self, term: usize, topic: u64, weight: f64) -> Result<(), String> {
        if !(0.0..=LARGEST).contains(&weight) {
            return Err(format!(
                "the weight of \"{}\" in topic {topic} is {weight}: weights are numbers from 0 to 1e30",
                self.terms[term]
            ));
        }
        let topic = usize::try_from(topic).unwrap_or(usize::MAX);
        if topic >= MAX_TOPICS {
            return Err(format!(
                "topic {topic}: topics are numbered from 0 to {} at most",
                MAX_TOPICS - 1
            ));
        }
        if topic >= self.totals.len() {
            self.totals.resize(topic + 1, 0.0);
        }
        self.totals[topic] += weight;
        if weight > 0.0 {
            self.rows[term].push((topic as u16, weight as f32));
        }
        Ok(())
    }

    /// Returns φ_kw = (weight_kw + β) / (Σ_w weight_kw + Vβ); with β = 0 weights are only normalised.
    ///
    /// # Errors
    /// A topic has no weight, a weight was set twice, or there are no topics.
    pub(crate) fn normalised(mut self, path: &Path, beta: f64) -> Result<ForeignModel, Failure> {
        if self.totals.is_empty() {
            return Err(Failure::file(path, "holds no topic"));
        }
        let smoothing = beta * self.terms.len() as f64;
        let has_none = |&total: &f64| total + smoothing < 1.0 / LARGEST;
        if let Some(topic) = self.totals.iter().position(has_none) {
            let problem = format!(
                "topic {topic} has no weight at all: all of {} topics, numbered from 0, need some",
                self.totals.len()
            );
            return Err(Failure::file(path, problem));
        }
        let scales: Vec<f64> = self.totals.iter().map(|t| 1.0 / (t + smoothing)).collect();
        for (term, row) in self.rows.iter_mut().enumerate() {
            row.sort_unstable_by_key(|&(topic, _)| topic);
            if let Some(twice) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let (term, topic) = (&self.terms[term], twice[0].0);
                let problem = format!("\"{term}\" has two weights in topic {topic}");
                return Err(Failure::file(path, problem));
            }
            for (topic, weight) in row.iter_mut() {
                *weight = (f64::from(*weight) * scales[usize::from(*topic)]) as f32;
            }
            row.retain(|&(_, weight)| weight >= SMALLEST);
        }
        Ok(ForeignModel {
            terms: self.terms,
            rows: self.rows,
            smoothing: scales.iter().map(|scale| beta * scale).collect(),
            alpha: None,
            form: String::new(),
        })
    }
}
