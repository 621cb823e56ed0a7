//! The topic–term parameters λ_kw, stored sparsely (Mimno 2012, Eqs. 11 and 19).
//!
//! The unsmoothed λ̃_kw = λ_kw − η is stored as v_kw = λ̃_kw / π, with one scale π for all, so that a round touches
//! only the entries it sampled. A process may divide its model into parts, one per thread: part p of P contains the
//! terms w with w mod P = p, and a copy of everything that is per topic. However it is divided, every value is the
//! same, because each λ̃_kw is changed by one addition per round, and row sums come from integers.

use super::statistics::Assigned;
use crate::math::FIXED_POINT;

/// A scale below this is folded back into the values.
const SMALLEST_SCALE: f64 = 1e-2;

/// Every integer up to this one is exact in f32.
const LARGEST_EXACT: f64 = (1u64 << f32::MANTISSA_DIGITS) as f64;

/// v_kw of one topic, within the row of a term.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Entry {
    /// The topic.
    pub topic: u32,
    /// λ̃_kw divided by the scale.
    pub value: f32,
}

/// A term and its entries.
pub type TermRow = (u32, Vec<Entry>);

/// A change of the parameters by one round (Mimno 2012, Eq. 11).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GlobalStep {
    /// ρ_t, in (0, 1].
    pub step_size: f64,
    /// The weight of one assignment: D / (|B| S).
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
    /// Returns the bytes of this many weights λ̃_kw > 0.
    pub fn bytes(weights: u64) -> u64 {
        weights * size_of::<Entry>() as u64
    }

    /// Creates part `part` of `part_count`, with λ = η everywhere.
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

    /// Creates part `part` of `part_count` of the parameters with these rows, each ascending by topic.
    pub fn from_rows(
        topic_count: usize,
        vocabulary_size: usize,
        [part, part_count]: [usize; 2],
        row: impl Fn(u32) -> Vec<Entry>,
    ) -> Self {
        let mut totals = vec![0.0; topic_count];
        for entry in (0..vocabulary_size as u32).flat_map(&row) {
            totals[entry.topic as usize] += f64::from(entry.value);
        }
        Self::new(topic_count, vocabulary_size, part, part_count).restore(1.0, totals, row)
    }

    /// Fills a part with saved values; `row` returns each term's entries, ascending by topic.
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

    /// Returns K.
    pub fn topic_count(&self) -> usize {
        self.topic_count
    }

    /// Returns V.
    pub fn vocabulary_size(&self) -> usize {
        self.vocabulary_size
    }

    /// Returns the number of parts that the terms are dealt to.
    pub fn part_count(&self) -> usize {
        self.part_count
    }

    /// Returns π, by which stored values are multiplied.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Returns λ̃_k = Σ_w λ̃_kw for each topic, over all parts.
    pub fn totals(&self) -> &[f64] {
        &self.totals
    }

    /// Returns the terms of this part, ascending.
    pub fn terms(&self) -> impl Iterator<Item = u32> + use<> {
        (self.part..self.vocabulary_size).step_by(self.part_count).map(|w| w as u32)
    }

    /// Returns the stored entries of a term of this part, ascending by topic.
    pub fn row(&self, term: u32) -> &[Entry] {
        &self.rows[self.place(term)]
    }

    /// Returns the number of entries stored in this part.
    pub fn nonzero_count(&self) -> u64 {
        self.rows.iter().map(|row| row.len() as u64).sum()
    }

    /// Returns the place of a term's row in this part.
    pub fn place(&self, term: u32) -> usize {
        debug_assert_eq!(term as usize % self.part_count, self.part);
        term as usize / self.part_count
    }

    /// Takes the first half of λ ← (1 − ρ) λ + ρ (η + D/|B| N̂): decays everything and updates the row sums.
    ///
    /// `topic_counts` are the round's assignments per topic over all terms, S·N̂_k.
    pub fn decay(&mut self, step: GlobalStep, topic_counts: &[i64]) {
        match step.step_size {
            1.0 => self.clear(),
            step_size => self.scale *= 1.0 - step_size,
        }
        for (total, &count) in self.totals.iter_mut().zip(topic_counts) {
            *total = (1.0 - step.step_size) * *total + step.step_size * step.weight * count as f64;
        }
    }

    /// Takes the second half (Eq. 19): v_kw += (ρ/π)(D/|B|) N̂_kw for the entries of this part, which must be
    /// aggregated and ascend by term, then topic.
    pub fn add(&mut self, step: GlobalStep, entries: &[u64]) {
        let coefficient = step.step_size / self.scale * step.weight;
        self.for_each_run(entries, |row, counts| {
            add_to_row(row, counted(counts, coefficient));
        });
    }

    /// Replaces counts by newer ones: λ̃_kw += the change of n_kw, for the entries of this part, which must be
    /// aggregated and ascend by term, then topic. Entries that are no longer positive are dropped. The row sums
    /// need [`replace_totals`](Self::replace_totals).
    ///
    /// For parameters that are counts of assignments: their scale must be 1. Up to 2²⁴ tokens of a term in a topic
    /// are counted exactly; [`rounded_count`](Self::rounded_count) returns how many counts are larger.
    pub fn replace(&mut self, entries: &[u64]) {
        debug_assert_eq!(self.scale, 1.0, "counts have no scale");
        self.for_each_run(entries, |row, counts| {
            if add_to_row(row, counted(counts, 1.0)) {
                row.retain(|entry| entry.value > 0.0);
            }
        });
    }

    /// Replaces the given rows that are in this part. The row sums are then stale, as after
    /// [`fold_small_scale`](Self::fold_small_scale).
    pub fn set_rows(&mut self, rows: &[TermRow]) {
        for (term, row) in rows {
            if let Some(own) = self.own_row(*term) {
                own.clone_from(row);
            }
        }
    }

    /// Rounds the values of the given rows that are in this part to whole tokens, and so removes the small weights
    /// that counts of assignments began with. The row sums are then stale.
    pub fn round_rows(&mut self, rows: &[TermRow]) {
        debug_assert_eq!(self.scale, 1.0, "counts have no scale");
        for (term, _) in rows {
            if let Some(own) = self.own_row(*term) {
                own.iter_mut().for_each(|entry| entry.value = entry.value.round_ties_even());
                own.retain(|entry| entry.value > 0.0);
            }
        }
    }

    /// Returns the row of a term, if it is in this part.
    fn own_row(&mut self, term: u32) -> Option<&mut Vec<Entry>> {
        let is_own = term as usize % self.part_count == self.part;
        is_own.then(|| &mut self.rows[term as usize / self.part_count])
    }

    /// Subtracts the counts of one sample from averages: λ̃_kw ← max(λ̃_kw − n_kw, 0) for the entries of this part,
    /// as in [`replace`](Self::replace). Where a topic has less than n_kw of a term, the term's other topics lose
    /// the difference, in proportion. The row sums are then stale, as after [`fold_small_scale`](Self::fold_small_scale).
    pub fn withdraw(&mut self, entries: &[u64]) {
        debug_assert_eq!(self.scale, 1.0, "counts have no scale");
        self.for_each_run(entries, |row, counts| {
            let sum = |row: &[Entry]| -> f64 { row.iter().map(|e| f64::from(e.value)).sum() };
            let before = sum(row);
            let tokens = |&word: &u64| f64::from(Assigned::from_word(word).count);
            let left = (before - counts.iter().map(tokens).sum::<f64>()).max(0.0);
            add_to_row(row, counted(counts, -1.0));
            row.retain(|entry| entry.value > 0.0);
            let (share, step) = ((left / sum(row)).min(1.0), grid_step(before));
            for entry in row.iter_mut() {
                entry.value = on_grid(f64::from(entry.value) * share, step) as f32;
            }
            row.retain(|entry| entry.value > 0.0);
        });
    }

    /// Returns how many λ̃_kw of this part exceed 2²⁴. Each round that changes such a count rounds it to 24 bits,
    /// an error of at most one in 2²⁴. Row sums stay exact, and results are the same on any number of workers,
    /// because a count is changed by one addition per round.
    pub fn rounded_count(&self) -> usize {
        let values = self.rows.iter().flatten();
        let counts = values.map(|entry| f64::from(entry.value) * self.scale);
        counts.filter(|&count| count > LARGEST_EXACT).count()
    }

    /// Adds the change of n_k over all terms to λ̃_k, for each topic.
    pub fn replace_totals(&mut self, topic_changes: &[i64]) {
        for (total, &change) in self.totals.iter_mut().zip(topic_changes) {
            *total += change as f64;
        }
    }

    /// Averages the same part of another model, whose scale must be 1, with a weight: λ̃ ← (1 − ρ) λ̃ + ρ λ̃′; 1 starts
    /// the average. Returns whether the row sums are stale, as after
    /// [`fold_small_scale`](Self::fold_small_scale).
    pub fn average(&mut self, weight: f64, other: &Self, prune: f64) -> bool {
        debug_assert_eq!(other.scale, 1.0, "what is averaged has no scale");
        if weight == 1.0 {
            *self = other.clone();
            return false;
        }
        self.scale *= 1.0 - weight;
        for (total, new) in self.totals.iter_mut().zip(&other.totals) {
            *total = (1.0 - weight) * *total + weight * new;
        }
        let coefficient = weight / self.scale;
        for (row, new) in self.rows.iter_mut().zip(&other.rows) {
            add_to_row(row, scaled(new, coefficient));
        }
        self.fold_small_scale(prune)
    }

    /// Sets λ̃ to the sum of `fixed` and `counts`, the same parts of two other models, for `terms` of this part and
    /// for the row sums. The sum is computed afresh, not updated, so that nothing drifts.
    pub fn set_sum(&mut self, fixed: &Self, counts: &Self, terms: impl Iterator<Item = u32>) {
        self.scale = 1.0;
        let totals = fixed.totals.iter().zip(&counts.totals);
        self.totals.clear();
        self.totals.extend(totals.map(|(a, b)| a + b));
        for term in terms {
            let place = self.place(term);
            let row = &mut self.rows[place];
            row.clear();
            row.extend(fixed.rows[place].iter().map(|entry| Entry {
                topic: entry.topic,
                value: (f64::from(entry.value) * fixed.scale) as f32,
            }));
            add_to_row(row, scaled(&counts.rows[place], counts.scale));
        }
    }

    /// Keeps only `topics`, given in ascending order, and renumbers them from 0.
    pub fn keep_topics(&mut self, topics: &[usize]) {
        let mut number = vec![None; self.topic_count];
        (0..).zip(topics).for_each(|(new, &old)| number[old] = Some(new));
        for row in &mut self.rows {
            row.retain_mut(|entry| {
                let new = number[entry.topic as usize];
                entry.topic = new.unwrap_or_default();
                new.is_some()
            });
        }
        self.totals = topics.iter().map(|&old| self.totals[old]).collect();
        self.topic_count = topics.len();
    }

    /// Sets λ̃ = 0 everywhere, as in a new model.
    pub fn clear(&mut self) {
        let (topics, terms) = (self.topic_count, self.vocabulary_size);
        *self = Self::new(topics, terms, self.part, self.part_count);
    }

    /// Passes each term's row, with the entries for it, to `change`.
    fn for_each_run(&mut self, entries: &[u64], mut change: impl FnMut(&mut Vec<Entry>, &[u64])) {
        let mut rest = entries;
        while let Some(&first) = rest.first() {
            let term = Assigned::from_word(first).term;
            let run = |word: &&u64| Assigned::from_word(**word).term == term;
            let (own, others) = rest.split_at(rest.iter().take_while(run).count());
            let place = self.place(term);
            change(&mut self.rows[place], own);
            rest = others;
        }
    }

    /// If the scale has become small, folds it into the values and drops λ̃_kw < `prune`; returns whether it did.
    ///
    /// The row sums are then stale: add up [`fixed_point_totals`](Self::fixed_point_totals) over all parts and pass
    /// them to [`set_totals`](Self::set_totals) of each.
    pub fn fold_small_scale(&mut self, prune: f64) -> bool {
        let is_small = self.scale < SMALLEST_SCALE;
        if is_small {
            self.fold_scale(prune);
        }
        is_small
    }

    fn fold_scale(&mut self, prune: f64) {
        for row in &mut self.rows {
            for entry in row.iter_mut() {
                entry.value = (f64::from(entry.value) * self.scale) as f32;
            }
            row.retain(|entry| f64::from(entry.value) >= prune);
            row.shrink_to(row.len() * 2);
        }
        self.scale = 1.0;
    }

    /// Adds Σ_w λ̃_kw over the terms of this part, in units of 2⁻²⁰, to `totals`.
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

/// Returns the `most` heaviest terms of each topic, heaviest first and ties in order of the terms; `parts` are all parts of
/// the parameters.
pub fn top_terms(parts: &[&Parameters], most: usize) -> Vec<Vec<u32>> {
    let mut topics: Vec<Vec<(f32, u32)>> = vec![Vec::new(); parts[0].topic_count];
    let shorten = |terms: &mut Vec<(f32, u32)>| {
        terms.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        terms.truncate(most);
    };
    for part in parts {
        for term in part.terms() {
            for entry in part.row(term) {
                let terms = &mut topics[entry.topic as usize];
                terms.push((entry.value, term));
                if terms.len() >= 8 * most {
                    shorten(terms);
                }
            }
        }
    }
    topics.iter_mut().for_each(shorten);
    topics.into_iter().map(|terms| terms.into_iter().map(|(_, term)| term).collect()).collect()
}

/// Returns the spacing of a grid on which 32-bit values stay exact while counts of up to twice `tokens` are added
/// and subtracted.
pub(crate) fn grid_step(tokens: f64) -> f64 {
    ((2.0 * tokens).ceil() as u64).next_power_of_two() as f64 / LARGEST_EXACT
}

/// Returns the multiple of `step` nearest to a weight.
pub(crate) fn on_grid(weight: f64, step: f64) -> f64 {
    (weight / step).round_ties_even() * step
}

/// Returns a round's counts of one term, times `coefficient`.
fn counted(counts: &[u64], coefficient: f64) -> impl Iterator<Item = (u32, f64)> {
    let assigned = counts.iter().map(|&word| Assigned::from_word(word));
    assigned.map(move |it| (u32::from(it.topic), coefficient * f64::from(it.count)))
}

/// Returns the entries of a row, times `coefficient`.
pub(crate) fn scaled(row: &[Entry], coefficient: f64) -> impl Iterator<Item = (u32, f64)> {
    row.iter().map(move |entry| (entry.topic, coefficient * f64::from(entry.value)))
}

/// Adds changes by topic to a row; both ascend. Returns whether a changed value is not positive.
pub(crate) fn add_to_row(row: &mut Vec<Entry>, changes: impl Iterator<Item = (u32, f64)>) -> bool {
    let (mut place, mut least) = (0, f32::INFINITY);
    for (topic, change) in changes {
        while place < row.len() && row[place].topic < topic {
            place += 1;
        }
        if place < row.len() && row[place].topic == topic {
            row[place].value = (f64::from(row[place].value) + change) as f32;
        } else {
            let value = change as f32;
            row.insert(place, Entry { topic, value });
        }
        least = least.min(row[place].value);
    }
    least <= 0.0
}

#[cfg(test)]
mod tests;
