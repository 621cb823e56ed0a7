//! Tells which pairs cannot be frequent, in a byte for each of many buckets instead of a count for each pair (the hash
//! filter of Park, Chen & Yu 1995). Most distinct pairs of a text are rare.

use corpus::phrases::pair_buckets;
use lda::math::special::ln;

/// Counts by bucket of a worker's pairs, at most 255 each.
pub(super) struct PairFilter {
    buckets: Vec<u8>,
    least: u8,
}

impl PairFilter {
    /// Creates a filter for the pairs of this many tokens that occur at least `least` times.
    pub(super) fn new(tokens: u64, least: u64) -> Self {
        Self {
            buckets: vec![0; pair_buckets(tokens, least) as usize],
            least: least.clamp(1, u8::MAX.into()) as u8,
        }
    }

    /// Adds the count of a pair, or a part of it.
    pub(super) fn add(&mut self, pair: u64, count: u64) {
        let bucket = self.bucket(pair);
        let sum = u64::from(self.buckets[bucket]).saturating_add(count);
        self.buckets[bucket] = sum.min(u8::MAX.into()) as u8;
    }

    /// Whether a pair may be frequent, after all counts are added.
    pub(super) fn passes(&self, pair: u64) -> bool {
        self.buckets[self.bucket(pair)] >= self.least
    }

    /// Returns how many distinct pairs pass, about, and at least half as many.
    pub(super) fn passing(&self) -> u64 {
        let count = |is: &dyn Fn(u8) -> bool| self.buckets.iter().filter(|&&n| is(n)).count();
        let [empty, passing] = [count(&|n| n == 0), count(&|n| n >= self.least)];
        // Linear counting (Whang et al. 1990): the pairs in a bucket, on average.
        let buckets = self.buckets.len() as f64;
        let pairs = ln(buckets / empty.max(1) as f64);
        (passing as f64 * (1.0 + 2.0 * pairs)) as u64
    }

    fn bucket(&self, pair: u64) -> usize {
        // As MurmurHash3 ends; the pair's worker and part follow from another hash.
        let hash = (pair ^ pair >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        let hash = (hash ^ hash >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        (hash >> (64 - self.buckets.len().ilog2())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_pairs_pass_and_few_others_do() {
        let rare = 0..40_000_u64;
        let frequent = |n: u64| (n + 1) << 32 | 7;
        let mut filter = PairFilter::new(50_000, 5);
        rare.clone().for_each(|n| filter.add(n << 32 | n, 1));
        for n in 0..1000 {
            (0..2).for_each(|_| filter.add(frequent(n), 2));
            filter.add(frequent(n), 300);
        }
        assert!((0..1000).all(|n| filter.passes(frequent(n))));
        let wrong = rare.filter(|&n| filter.passes(n << 32 | n)).count();
        assert!(wrong < 2500, "{wrong}");
        let passing = 1000 + wrong as u64;
        let estimate = filter.passing();
        assert!((passing / 2..4 * passing).contains(&estimate), "{estimate} {passing}");
    }

    #[test]
    fn limits_that_no_byte_holds_let_more_pass() {
        let mut filter = PairFilter::new(10, 1000);
        filter.add(1 << 32, 400);
        assert!(filter.passes(1 << 32));
    }
}
