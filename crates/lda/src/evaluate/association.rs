//! Word association: the ranks of terms that a model gives for a cue (Griffiths, Steyvers & Tenenbaum 2007;
//! Papanikolaou, Foulds, Rubin & Tsoumakas 2017, Eq. 57).

use crate::model::factors::FactorTable;

/// Ranks terms for one cue after another, reusing its buffers.
#[derive(Clone, Debug, Default)]
pub struct Association {
    /// φ_kw of the cue, then P(k | cue); length K.
    topics: Vec<f64>,
    /// P(w | cue) without the part that all terms share, length V; `None` for the cue and for terms that the model
    /// lacks.
    scores: Vec<Option<f64>>,
}

impl Association {
    /// Appends *twice* the rank of each target to `ranks`, among the model's terms except the cue, by
    ///
    /// ```text
    /// P(w2 | w1) = Σ_k φ_kw2 P(k | w1),      P(k | w1) ∝ α_k φ_kw1
    /// ```
    ///
    /// The most probable term has rank 1; ties share the mean of their ranks, hence the doubling. With equal α_k
    /// this is Eq. 57. The table must hold the mean geometry.
    ///
    /// # Panics
    /// Panics if the model lacks the cue or a target, or if the cue is a target.
    pub fn rank(
        &mut self,
        table: FactorTable<'_>,
        vocabulary_size: usize,
        (cue, targets): (u32, &[u32]),
        ranks: &mut Vec<u64>,
    ) {
        let row = table.find(cue).expect("a term of the model");
        let smoothing = table.smoothing();
        self.topics.clear();
        table.write_all(row, &mut self.topics);
        let alpha = smoothing.alpha.iter().map(|&alpha| f64::from(alpha));
        (self.topics.iter_mut().zip(alpha)).for_each(|(topic, alpha)| *topic *= alpha);
        let sum: f64 = self.topics.iter().sum();
        self.topics.iter_mut().for_each(|topic| *topic /= sum);
        self.scores.clear();
        let topics = &self.topics;
        // φ_kw is g_kw + h_k, and Σ_k h_k P(k | w1) does not depend on w.
        self.scores.extend((0..vocabulary_size as u32).map(|term| {
            let row = table.sparse(table.find(term)?);
            let shares = row.topics.iter().zip(row.weights);
            let shares = shares.map(|(&k, &g)| f64::from(g) * topics[usize::from(k)]);
            (term != cue).then(|| shares.sum::<f64>())
        }));
        ranks.extend(targets.iter().map(|&target| {
            let own = self.scores[target as usize].expect("another term of the model");
            let others = self.scores.iter().flatten();
            let (above, equal) = others.fold((0, 0), |(above, equal), &score| {
                (above + u64::from(score > own), equal + u64::from(score == own))
            });
            2 * above + equal + 1
        }));
    }
}

/// Returns the median rank, given doubled ranks; `None` if there are none.
pub fn median_rank(twice: &mut [u64]) -> Option<f64> {
    twice.sort_unstable();
    let last = twice.len().checked_sub(1)?;
    Some((twice[last / 2] + twice[last.div_ceil(2)]) as f64 / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Stage, Stream};
    use crate::model::factors::Factors;

    const TERMS: usize = 40;
    const TOPICS: usize = 6;

    /// Factors from (k, g_kw) for each term, and h_k; the model lacks terms without a row.
    fn factors(rows: &[Option<Vec<(u16, f32)>>], smoothing: &[f64], alpha: &[f64]) -> Factors {
        Factors::from_topics(alpha, smoothing, rows.len(), |term| rows[term as usize].as_deref())
    }

    fn ranks(factors: &Factors, terms: usize, cue: u32, targets: &[u32]) -> Vec<u64> {
        let (parts, mut ranks) = ([factors], Vec::new());
        let table = FactorTable::new(&parts);
        Association::default().rank(table, terms, (cue, targets), &mut ranks);
        ranks
    }

    #[test]
    fn a_cue_of_one_topic_ranks_the_terms_of_that_topic() {
        // Terms 0 to 2 are in topic 0, 3 and 4 in topic 1, 5 in both; the model lacks 6.
        let of = |topics: &[(u16, f32)]| Some(topics.to_vec());
        let rows = [
            of(&[(0, 0.2)]),
            of(&[(0, 0.5)]),
            of(&[(0, 0.2)]),
            of(&[(1, 0.6)]),
            of(&[(1, 0.3)]),
            of(&[(0, 0.1), (1, 0.1)]),
            None,
        ];
        let factors = factors(&rows, &[0.0; 2], &[1.0; 2]);
        // P(w | 0): 0.5, 0.2, 0, 0, 0.1; the terms of topic 1 share ranks 4 and 5.
        assert_eq!(ranks(&factors, 7, 0, &[1, 2, 3, 4, 5]), [2, 4, 9, 9, 6]);
        // P(k | 5) is ½ each: 0.1, 0.25, 0.1, 0.3, 0.15.
        assert_eq!(ranks(&factors, 7, 5, &[0, 1, 2, 3, 4]), [9, 4, 9, 2, 6]);
    }

    #[test]
    fn a_prior_on_topics_moves_the_ranks() {
        let of = |topics: &[(u16, f32)]| Some(topics.to_vec());
        let rows = [of(&[(0, 0.4), (1, 0.4)]), of(&[(0, 0.6)]), of(&[(1, 0.5)])];
        let ranks = |alpha: [f64; 2]| ranks(&factors(&rows, &[0.0; 2], &alpha), 3, 0, &[1, 2]);
        assert_eq!(ranks([1.0, 1.0]), [2, 4]);
        assert_eq!(ranks([0.1, 1.0]), [4, 2]);
    }

    /// Eq. 57 as printed, with P(k) ∝ α_k, computed densely.
    #[test]
    fn ranks_are_those_of_the_equation() {
        let mut stream = Stream::keyed(5, Stage::Synth, 0, 0);
        let smoothing: Vec<f64> = (0..TOPICS).map(|k| 1e-4 * (k + 1) as f64).collect();
        let alpha: Vec<f64> = (0..TOPICS).map(|k| 0.1 + 0.05 * k as f64).collect();
        let rows: Vec<_> = (0..TERMS)
            .map(|term| {
                let mut row = Vec::new();
                for k in 0..TOPICS as u16 {
                    if stream.below(3) == 0 {
                        row.push((k, 0.05 * stream.uniform_f32()));
                    }
                }
                (term != 7).then_some(row)
            })
            .collect();
        let phi = |k: usize, w: usize| {
            let row = rows[w].as_ref().unwrap();
            let own = row.iter().find(|entry| usize::from(entry.0) == k);
            smoothing[k] + own.map_or(0.0, |entry| f64::from(entry.1))
        };
        let factors = factors(&rows, &smoothing, &alpha);
        for cue in [0, 3, 20] {
            let of_cue: Vec<f64> = (0..TOPICS).map(|k| alpha[k] * phi(k, cue)).collect();
            let sum: f64 = of_cue.iter().sum();
            let p = |w: usize| -> f64 { (0..TOPICS).map(|k| phi(k, w) * of_cue[k] / sum).sum() };
            let targets: Vec<usize> = (0..TERMS).filter(|&w| w != cue && w != 7).collect();
            let wanted = targets.iter().map(|&w| {
                let above = |other: &&usize| p(**other) > p(w) + 1e-12;
                let equal = |other: &&usize| (p(**other) - p(w)).abs() <= 1e-12;
                let count = |is: &dyn Fn(&&usize) -> bool| targets.iter().filter(is).count();
                (2 * count(&above) + count(&equal) + 1) as u64
            });
            let wanted: Vec<u64> = wanted.collect();
            let all: Vec<u32> = targets.iter().map(|&w| w as u32).collect();
            assert_eq!(ranks(&factors, TERMS, cue as u32, &all), wanted, "{cue}");
        }
    }

    #[test]
    fn a_median_of_ranks_is_the_middle_one_or_the_mean_of_two() {
        assert_eq!(median_rank(&mut []), None);
        assert_eq!(median_rank(&mut [6, 200, 2]), Some(3.0));
        assert_eq!(median_rank(&mut [5, 2, 8, 200]), Some(3.25));
    }
}
