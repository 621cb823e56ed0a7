//! Counts of terms that occur in most topics: a row of K sums for each term.

use super::{Assigned, in_pieces};

/// A row for each term; empty if the term was never counted.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Vec<i64>>,
}

impl Rows {
    /// Adds `counts`, one per topic, `times` times.
    #[inline]
    pub(super) fn add(&mut self, term: u32, counts: &[u16], times: u32) {
        let (term, rows) = (term as usize, &mut self.rows);
        if rows.len() <= term {
            rows.resize(term + 1, Vec::new());
        }
        let row = &mut rows[term];
        if row.is_empty() {
            row.resize(counts.len(), 0);
        }
        for (sum, &count) in row.iter_mut().zip(counts) {
            *sum += i64::from(count) * i64::from(times);
        }
    }

    /// Passes the counts to `emit`, ascending by term, then topic, and forgets them.
    pub(super) fn drain(&mut self, mut emit: impl FnMut(Assigned)) {
        for (term, row) in (0..).zip(&mut self.rows) {
            for (topic, sum) in (0..).zip(row) {
                let count = std::mem::take(sum);
                in_pieces(count, |count| emit(Assigned { term, topic, count }));
            }
        }
    }
}
