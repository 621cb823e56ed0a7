//! The topic–term parameters λ_kw, stored sparsely (Mimno 2012, Eqs. 11 and 19).
//!
//! Kept is the unsmoothed λ̃_kw = λ_kw − η, as v_kw = λ̃_kw / π with one scale π for all, so that a
//! round touches only the entries it sampled. A process may cut its model in parts, one a thread:
//! part p of P holds the terms w with w mod P = p, and a copy of everything that is per topic.
//! However it is cut, every value is the same: each λ̃_kw is changed by one addition a round, and
//! row sums come from integers.

use super::statistics::Assigned;

/// The scale below which it is folded back into the values.
const SMALLEST_SCALE: f64 = 1e-2;

/// Row sums are added up in units of 2⁻²⁰, as integers, so that their order does not matter.
const FIXED_POINT: f64 = (1u64 << 20) as f64;

/// v_kw of one topic, within the row of a term.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Entry {
    /// The topic.
    pub topic: u32,
    /// λ̃_kw divided by the scale.
    pub value: f32,
}

/// A change of the parameters by one round (Mimno 2012, Eq. 11).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GlobalStep {
    /// ρ_t, in (0, 1).
    pub step_size: f64,
    /// What one assignment stands for: D / (|B| S).
    pub weight: f64,
}

/// A part of the topic–term parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    topic_count: usize,
    vocabulary_size: usize,
    part: usize,
    part_count: usize,
    scale: f64,
    totals: Vec<f64>,
    rows: Vec<Vec<Entry>>,
}

impl Parameters {
    /// λ = η everywhere: part `part` of `part_count`.
    pub fn new(topic_count: usize, vocabulary_size: usize, part: usize, part_count: usize) -> Self {
        debug_assert!(part < part_count);
        let row_count = (vocabulary_size + part_count - 1 - part) / part_count;
        Self {
            topic_count,
            vocabulary_size,
            part,
            part_count,
            scale: 1.0,
            totals: vec![0.0; topic_count],
            rows: vec![Vec::new(); row_count],
        }
    }

    /// A part made of what was saved: `row` gives each term's entries, ascending by topic.
    pub fn restore(
        mut self,
        scale: f64,
        totals: Vec<f64>,
        mut row: impl FnMut(u32) -> Vec<Entry>,
    ) -> Self {
        self.scale = scale;
        self.totals = totals;
        for (index, entries) in self.rows.iter_mut().enumerate() {
            *entries = row((index * self.part_count + self.part) as u32);
        }
        self
    }

    /// K.
    pub fn topic_count(&self) -> usize {
        self.topic_count
    }

    /// V.
    pub fn vocabulary_size(&self) -> usize {
        self.vocabulary_size
    }

    /// The number of parts that the terms are dealt to.
    pub fn part_count(&self) -> usize {
        self.part_count
    }

    /// π: what stored values are multiplied by.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// λ̃_k = Σ_w λ̃_kw for each topic, over all parts.
    pub fn totals(&self) -> &[f64] {
        &self.totals
    }

    /// The terms of this part, ascending.
    pub fn terms(&self) -> impl Iterator<Item = u32> + use<> {
        (self.part..self.vocabulary_size)
            .step_by(self.part_count)
            .map(|w| w as u32)
    }

    /// The stored entries of a term of this part, ascending by topic.
    pub fn row(&self, term: u32) -> &[Entry] {
        &self.rows[self.place(term)]
    }

    /// Entries stored in this part.
    pub fn nonzero_count(&self) -> u64 {
        self.rows.iter().map(|row| row.len() as u64).sum()
    }

    /// Where a term of this part lies in it.
    pub fn place(&self, term: u32) -> usize {
        debug_assert_eq!(term as usize % self.part_count, self.part);
        term as usize / self.part_count
    }

    /// λ ← (1 − ρ) λ + ρ (η + D/|B| N̂), the first half: decays everything, moves the row sums.
    ///
    /// `topic_counts` are the round's assignments per topic over all terms, S·N̂_k.
    pub fn decay(&mut self, step: GlobalStep, topic_counts: &[u64]) {
        self.scale *= 1.0 - step.step_size;
        for (total, &count) in self.totals.iter_mut().zip(topic_counts) {
            *total = (1.0 - step.step_size) * *total + step.step_size * step.weight * count as f64;
        }
    }

    /// The second half (Eq. 19): v_kw += (ρ/π)(D/|B|) N̂_kw for the entries of this part, which
    /// must be aggregated and ascend by term, then topic.
    pub fn add(&mut self, step: GlobalStep, entries: &[u64]) {
        let coefficient = step.step_size / self.scale * step.weight;
        let mut rest = entries;
        while let Some(&first) = rest.first() {
            let term = Assigned::from_word(first).term;
            let length = rest.partition_point(|&w| Assigned::from_word(w).term == term);
            let place = self.place(term);
            add_to_row(&mut self.rows[place], &rest[..length], coefficient);
            rest = &rest[length..];
        }
    }

    /// True when the scale is so small that it should be folded back.
    pub fn is_scale_small(&self) -> bool {
        self.scale < SMALLEST_SCALE
    }

    /// Folds the scale into the values and drops λ̃_kw < `prune`.
    ///
    /// The row sums are then stale: add up [`fixed_point_totals`](Self::fixed_point_totals) over
    /// all parts and give them to [`set_totals`](Self::set_totals) of each.
    pub fn fold_scale(&mut self, prune: f64) {
        for row in &mut self.rows {
            for entry in row.iter_mut() {
                entry.value = (f64::from(entry.value) * self.scale) as f32;
            }
            row.retain(|entry| f64::from(entry.value) >= prune);
            row.shrink_to(row.len() * 2);
        }
        self.scale = 1.0;
    }

    /// Σ_w λ̃_kw over the terms of this part, in units of 2⁻²⁰, added to `totals`.
    pub fn fixed_point_totals(&self, totals: &mut [i64]) {
        for entry in self.rows.iter().flatten() {
            let value = f64::from(entry.value) * self.scale * FIXED_POINT;
            totals[entry.topic as usize] += value.round_ties_even() as i64;
        }
    }

    /// Replaces the row sums by sums over all parts, in units of 2⁻²⁰.
    pub fn set_totals(&mut self, totals: &[i64]) {
        for (total, &fixed) in self.totals.iter_mut().zip(totals) {
            *total = fixed as f64 / FIXED_POINT;
        }
    }
}

/// Merges a round's counts of one term into its row.
fn add_to_row(row: &mut Vec<Entry>, counts: &[u64], coefficient: f64) {
    let mut place = 0;
    for &word in counts {
        let assigned = Assigned::from_word(word);
        let topic = u32::from(assigned.topic);
        while place < row.len() && row[place].topic < topic {
            place += 1;
        }
        let change = coefficient * f64::from(assigned.count);
        if place < row.len() && row[place].topic == topic {
            row[place].value = (f64::from(row[place].value) + change) as f32;
        } else {
            row.insert(
                place,
                Entry {
                    topic,
                    value: change as f32,
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(term: u32, topic: u16, count: u32) -> u64 {
        Assigned { term, topic, count }.word()
    }

    /// The dense recursion of Eq. 11, in f64.
    fn eq_11(lambda: &mut [Vec<f64>], step: GlobalStep, eta: f64, counts: &[(usize, usize, u32)]) {
        for row in lambda.iter_mut() {
            row.iter_mut()
                .for_each(|l| *l = (1.0 - step.step_size) * *l + step.step_size * eta);
        }
        for &(w, k, n) in counts {
            lambda[w][k] += step.step_size * step.weight * f64::from(n);
        }
    }

    const TOPICS: usize = 3;
    const TERMS: usize = 5;

    /// The same step on all parts.
    fn step_parts(parts: &mut [Parameters], step: GlobalStep, counts: &[(usize, usize, u32)]) {
        let mut by_topic = vec![0u64; TOPICS];
        for &(_, k, n) in counts {
            by_topic[k] += u64::from(n);
        }
        let part_count = parts.len();
        for (p, part) in parts.iter_mut().enumerate() {
            part.decay(step, &by_topic);
            let mine = counts.iter().filter(|c| c.0 % part_count == p);
            let words = mine.map(|&(w, k, n)| word(w as u32, k as u16, n));
            part.add(step, &words.collect::<Vec<_>>());
            if part.is_scale_small() {
                part.fold_scale(0.0);
            }
        }
    }

    fn assert_equal_to_dense(parts: &[Parameters], dense: &[Vec<f64>], eta: f64) {
        for w in 0..TERMS {
            let part = &parts[w % parts.len()];
            for entry in part.row(w as u32) {
                let lambda = eta + f64::from(entry.value) * part.scale();
                let expected = dense[w][entry.topic as usize];
                assert!(
                    (lambda - expected).abs() < 1e-5 * expected,
                    "{lambda} {expected}"
                );
            }
        }
        let mut fixed = vec![0; TOPICS];
        parts.iter().for_each(|p| p.fixed_point_totals(&mut fixed));
        for k in 0..TOPICS {
            let expected: f64 = dense.iter().map(|row| row[k] - eta).sum();
            assert!((parts[0].totals()[k] - expected).abs() < 1e-5);
            assert!((fixed[k] as f64 / FIXED_POINT - expected).abs() < 1e-4);
        }
    }

    #[test]
    fn sparse_updates_follow_eq_11_on_any_number_of_parts() {
        let eta = 0.1;
        let rounds = [
            vec![(0, 1, 4), (2, 0, 1), (4, 2, 7)],
            vec![(0, 0, 2), (0, 1, 1), (3, 2, 5)],
            vec![(1, 1, 9), (4, 0, 3), (4, 2, 1)],
        ];
        for part_count in [1, 2, 3] {
            let part = |p| Parameters::new(TOPICS, TERMS, p, part_count);
            let mut parts: Vec<_> = (0..part_count).map(part).collect();
            let mut dense = vec![vec![eta; TOPICS]; TERMS];
            for (t, counts) in rounds.iter().cycle().take(30).enumerate() {
                let step = GlobalStep {
                    step_size: 1.0 / (t as f64 + 2.0),
                    weight: 2.5,
                };
                eq_11(&mut dense, step, eta, counts);
                step_parts(&mut parts, step, counts);
            }
            assert_equal_to_dense(&parts, &dense, eta);
        }
    }

    #[test]
    fn folding_drops_what_is_below_the_threshold() {
        let mut part = Parameters::new(2, 1, 0, 1);
        let step = GlobalStep {
            step_size: 0.5,
            weight: 1.0,
        };
        part.decay(step, &[1, 4]);
        part.add(step, &[word(0, 0, 1), word(0, 1, 4)]);
        part.fold_scale(0.6);
        assert_eq!(
            part.row(0),
            [Entry {
                topic: 1,
                value: 2.0
            }]
        );
        let mut totals = vec![0; 2];
        part.fixed_point_totals(&mut totals);
        part.set_totals(&totals);
        assert_eq!(part.totals(), [0.0, 2.0]);
    }
}
