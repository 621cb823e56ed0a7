//! Coherence of topics by each metric, from counts summed over all workers.

use super::{Figure, mean};
use crate::evaluate::settings::Metric;
use lda::evaluate::coherence::CoherenceCounter;
use lda::evaluate::coherence::window::{C_V_WINDOW, SlidingWindowCounter};

/// The counts of some texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<'a> {
    /// The documents counted: a split, or `reference`.
    pub(crate) split: &'static str,
    /// Their number.
    pub(crate) documents: u64,
    /// Documents that contain terms: for UMass and NPMI.
    pub(crate) sets: &'a CoherenceCounter,
    /// Windows that contain terms: for C_V.
    pub(crate) windows: Option<&'a SlidingWindowCounter>,
}

/// How coherent each topic is, by one metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TopicScores {
    /// The metric.
    pub(crate) metric: Metric,
    /// Its name in tables.
    pub(crate) name: &'static str,
    /// The method, with the number of terms.
    pub(crate) method: String,
    /// The unit.
    pub(crate) unit: &'static str,
    /// The documents counted.
    pub(crate) split: &'static str,
    /// Their number.
    pub(crate) documents: u64,
    /// By topic; `None` for one of fewer than two terms, or if the score is not finite.
    pub(crate) values: Vec<Option<f64>>,
}

impl TopicScores {
    /// Scores `topics` topics by the first `terms` terms of each.
    ///
    /// # Panics
    /// Panics for a metric that is not a coherence, and for C_V without windows.
    pub(crate) fn new(metric: Metric, terms: usize, topics: usize, counted: Counted<'_>) -> Self {
        let windows = || counted.windows.expect("windows are counted where C_V is asked for");
        let score = |topic: usize| match metric {
            Metric::Umass => counted.sets.umass_of(topic, terms),
            Metric::Npmi => counted.sets.npmi_of(topic, terms),
            Metric::CV => windows().c_v(topic),
            Metric::Completion | Metric::LeftToRight => panic!("{metric:?} is no coherence"),
        };
        let enough = |topic: usize| counted.sets.term_count(topic) >= 2;
        let value = |topic: usize| enough(topic).then(|| score(topic)).filter(|x| x.is_finite());
        let method = match metric {
            Metric::CV => format!("mean over topics, {terms} terms, windows of {C_V_WINDOW}"),
            _ => format!("mean over topics, {terms} terms"),
        };
        let (name, unit) = match metric {
            Metric::Umass => ("coherence_umass", "nats"),
            Metric::CV => ("coherence_c_v", "1"),
            _ => ("coherence_npmi", "1"),
        };
        Self {
            metric,
            name,
            method,
            unit,
            split: counted.split,
            documents: counted.documents,
            values: (0..topics).map(value).collect(),
        }
    }

    /// Returns the mean over the topics that have a score, if any.
    pub(crate) fn figure(&self) -> Option<Figure> {
        mean(&self.values).map(|value| Figure {
            metric: self.name,
            method: self.method.clone(),
            split: self.split,
            unit: self.unit,
            value,
            standard_error: None,
            documents: self.documents,
            tokens: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_the_counters_and_topics_without_a_pair_have_none() {
        let tops = vec![vec![0, 1, 2], vec![3], vec![1, 3]];
        let mut sets = CoherenceCounter::new(&tops, 4, 20);
        let mut windows = SlidingWindowCounter::for_c_v(&tops, 4);
        for text in [[0, 1, 3], [1, 2, 0], [3, 2, 2], [0, 0, 0]] {
            windows.add_sequence(&text);
            let mut set = text.to_vec();
            set.sort_unstable();
            set.dedup();
            sets.add_document(&set);
        }
        let counted = Counted { split: "all", documents: 4, sets: &sets, windows: Some(&windows) };
        let umass = TopicScores::new(Metric::Umass, 2, 3, counted);
        assert_eq!(umass.values, [Some(sets.umass_of(0, 2)), None, Some(sets.umass(2))]);
        assert_ne!(umass.values[0], Some(sets.umass(0)), "two of three terms");
        let c_v = TopicScores::new(Metric::CV, 10, 3, counted);
        assert_eq!(c_v.values, [Some(windows.c_v(0)), None, Some(windows.c_v(2))]);
        let figure = c_v.figure().unwrap();
        assert_eq!(figure.value, (windows.c_v(0) + windows.c_v(2)) / 2.0);
        assert_eq!((figure.metric, figure.split), ("coherence_c_v", "all"));
        let none = TopicScores::new(Metric::Npmi, 10, 0, counted);
        assert_eq!(none.figure(), None);
    }
}
