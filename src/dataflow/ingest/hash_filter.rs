//! Tells which keys cannot be frequent, in a byte for each of many buckets instead of a count for each key (the hash
//! filter of Park, Chen & Yu 1995). Most distinct words of a text, and pairs of words, are rare.

use lda::math::special::ln;

/// Counts by bucket of a worker's keys, at most 255 each.
pub(super) struct HashFilter {
    buckets: Vec<u8>,
    least: u8,
}

impl HashFilter {
    /// Creates a filter of this many buckets, a power of two, for keys that occur at least `least` times.
    pub(super) fn new(buckets: u64, least: u64) -> Self {
        Self { buckets: vec![0; buckets as usize], least: least.clamp(1, u8::MAX.into()) as u8 }
    }

    /// Adds the count of a key, or a part of it.
    pub(super) fn add(&mut self, key: u64, count: u64) {
        let bucket = self.bucket(key);
        let sum = u64::from(self.buckets[bucket]).saturating_add(count);
        self.buckets[bucket] = sum.min(u8::MAX.into()) as u8;
    }

    /// Whether a key may be frequent, after all counts are added.
    pub(super) fn passes(&self, key: u64) -> bool {
        self.buckets[self.bucket(key)] >= self.least
    }

    /// Returns how many distinct keys pass, about, and at least half as many.
    pub(super) fn passing(&self) -> u64 {
        let count = |is: &dyn Fn(u8) -> bool| self.buckets.iter().filter(|&&n| is(n)).count();
        let [empty, passing] = [count(&|n| n == 0), count(&|n| n >= self.least)];
        // Linear counting (Whang et al. 1990): the keys in a bucket, on average.
        let buckets = self.buckets.len() as f64;
        let keys = ln(buckets / empty.max(1) as f64);
        (passing as f64 * (1.0 + 2.0 * keys)) as u64
    }

    fn bucket(&self, key: u64) -> usize {
        // As MurmurHash3 ends; the key's worker follows from another hash.
        let hash = (key ^ key >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        let hash = (hash ^ hash >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        (hash >> (64 - self.buckets.len().ilog2())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_keys_pass_and_few_others_do() {
        let rare = 0..40_000_u64;
        let frequent = |n: u64| (n + 1) << 32 | 7;
        let mut filter = HashFilter::new(1 << 16, 5);
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
        let mut filter = HashFilter::new(2, 1000);
        filter.add(1 << 32, 400);
        assert!(filter.passes(1 << 32));
    }
}
