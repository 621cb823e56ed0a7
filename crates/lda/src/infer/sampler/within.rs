//! Sweeps over a document that may have only some topics: those of its labels (Labeled LDA; Ramage, Hall, Nallapati
//! & Manning 2009; Papanikolaou 2017, §2.4). A plain loop over them suffices, because a document has few labels,
//! however many there are in all.

use super::{Sampler, UNASSIGNED, check, is_few, search};
use crate::infer::ImpossibleDraw;
use crate::math::draw::running_sums;
use crate::math::random::Stream;
use crate::model::factors::FactorTable;

/// The state of a document that is restricted to some topics, besides its counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Within {
    /// The topics that it may have, ascending; if none, it may have all.
    pub(super) topics: Vec<u16>,
    /// e_kw of the current term for each of them.
    factors: Vec<f32>,
    /// Running sums of the current draw.
    running: Vec<f32>,
}

impl Sampler {
    /// Restricts the started document to `topics`, ascending; if there are none, it is not restricted.
    pub fn restrict(&mut self, topics: &[u16]) {
        self.within.topics.extend_from_slice(topics);
    }

    /// Assigns each token one of the document's topics, drawn from α_k.
    pub(super) fn scatter_within(&mut self, table: FactorTable<'_>, stream: &mut Stream) {
        let alpha = &table.smoothing().alpha;
        let Within { topics, running, .. } = &mut self.within;
        let mass = running_sums(topics.iter().map(|&k| alpha[usize::from(k)]), running);
        for z in &mut self.assignments {
            let target = stream.uniform_f32() * mass;
            *z = topics[search(running, target)];
        }
    }

    /// Sweeps as [`sweep_tokens`](Self::sweep_tokens) does.
    pub(super) fn sweep_within<const OWN: bool>(
        &mut self,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        let mut within = std::mem::take(&mut self.within);
        let swept = self.sweep_topics::<OWN>(&mut within, table, stream);
        if !is_few(table) {
            self.list_only(&within.topics);
        }
        self.within = within;
        swept
    }

    /// Lists those of `topics` that have tokens, and no others.
    fn list_only(&mut self, topics: &[u16]) {
        let counts = &self.counts;
        let has_tokens = |&&k: &&u16| counts[usize::from(k)] > 0.0;
        let before = std::mem::take(&mut self.active);
        self.active.extend(topics.iter().filter(has_tokens));
        self.active_count = self.active.len();
        (before.iter()).for_each(|&k| self.is_active[usize::from(k)] = false);
        (self.active.iter()).for_each(|&k| self.is_active[usize::from(k)] = true);
    }

    fn sweep_topics<const OWN: bool>(
        &mut self,
        within: &mut Within,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        let Within { topics, factors, running } = within;
        let smoothing = table.smoothing();
        let mut first = 0;
        for &(term, row, count) in &self.terms {
            factors.clear();
            table.write_some(row, topics, factors);
            let tokens = first..first + count as usize;
            first = tokens.end;
            for place in tokens {
                let (old, sense) = (self.assignments[place], self.sense(place));
                if old != UNASSIGNED {
                    self.counts[usize::from(old)] -= 1.0;
                }
                let mass = |(&topic, &factor): (&u16, &f32)| {
                    let k = usize::from(topic);
                    let own = OWN && topic == old;
                    // At least 0: rounding may make e_kw smaller than the token's own part of it.
                    let others = if own {
                        (factor - table.own_part(term, row, topic, sense)).max(0.0)
                    } else {
                        factor
                    };
                    (smoothing.alpha[k] + self.counts[k]) * others
                };
                let sum = running_sums(topics.iter().zip(&*factors).map(mass), running);
                let total = check(term, sum, 0.0, 0.0)?;
                let drawn = topics[search(running, stream.uniform_f32() * total)];
                self.counts[usize::from(drawn)] += 1.0;
                self.assignments[place] = drawn;
            }
        }
        Ok(())
    }
}
