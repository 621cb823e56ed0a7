//! Random numbers that depend on a format's name and a mutant's number.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A source of random choices.
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Returns the source of a format's mutant.
    pub fn of(format: &str, number: u64) -> Self {
        let name = format.bytes().fold(0u64, |hash, byte| hash.wrapping_mul(31) + u64::from(byte));
        Self(Xoshiro256PlusPlus::seed_from_u64(name ^ number.rotate_left(24)))
    }

    /// Draws a number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    /// Draws one of the items.
    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    /// Draws a number that programs are often wrong about: near 0, a power of two, or the ends of a type.
    pub fn number(&mut self) -> i64 {
        let near = self.below(5) as i64 - 2;
        match self.below(5) {
            0 => near,
            1 => (1i64 << self.below(63)).wrapping_add(near),
            2 => -(1i64 << self.below(63)).wrapping_add(near),
            3 => {
                *self.pick(&[i64::MIN, i64::MAX, i32::MIN.into(), i32::MAX.into(), u32::MAX.into()])
            }
            _ => self.0.next_u64() as i64 >> self.below(64),
        }
    }
}
