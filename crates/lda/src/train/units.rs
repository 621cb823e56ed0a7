//! The units of expected counts: integers, whose sums are the same on any number of workers.

/// A token, in the units of expected counts.
pub const TOKEN: f64 = (1u64 << 12) as f64;

/// How many values a γ can have: 0 units to those of a token.
pub const UNITS: usize = TOKEN as usize + 1;

/// Rounds `shares` of tokens to whole units of 2⁻¹² token, `units` in all, each share up or down, by systematic
/// sampling: units fall to topics in proportion to their shares. With a `start` that is uniform on [0, 1), the
/// expectation of each is exact, and small shares of many topics are not lost.
pub(super) fn round(shares: &[f64], units: u64, start: f64, mut emit: impl FnMut(u16, u64)) {
    let (mut sum, mut given) = (start, 0);
    let last = shares.iter().rposition(|&share| share > 0.0);
    for (k, share) in shares.iter().enumerate() {
        sum += share * TOKEN;
        let reached =
            if Some(k) == last { units } else { (sum.floor() as u64).clamp(given, units) };
        if reached > given {
            emit(k as u16, reached - given);
        }
        given = reached;
    }
}

/// The parts of a unit in which [`spread`] takes shares.
pub(super) const FINE: i32 = 1 << FINE_BITS;
const FINE_BITS: u32 = 18;

/// Rounds one token, as [`round`] does, for all topics and in integers: `shares` are in `FINE` parts of a unit, and
/// add up to a token except for rounding, which goes to the largest.
pub(super) fn spread(shares: &[i32], start: f64, units: &mut [u16]) {
    let (mut reached, mut given) = ((start * f64::from(FINE)) as i32, 0);
    for (units, share) in units.iter_mut().zip(shares) {
        reached += share;
        let sum = reached >> FINE_BITS;
        *units = (sum - given) as u16;
        given = sum;
    }
    let missing = TOKEN as i32 - given;
    if missing != 0
        && let Some(largest) = units.iter_mut().max()
    {
        *largest = (i32::from(*largest) + missing) as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_right_on_average_and_keeps_the_sum() {
        let shares = [0.3 / TOKEN, 0.0, 2.25 / TOKEN, 0.45 / TOKEN, 0.0];
        let mut sums = [0; 5];
        for place in 0..1000 {
            let mut all = 0;
            round(&shares, 3, f64::from(place) / 1000.0, |k, units| {
                sums[usize::from(k)] += units;
                all += units;
            });
            assert_eq!(all, 3);
        }
        assert_eq!(sums, [300, 0, 2250, 450, 0]);
    }

    #[test]
    fn spreading_is_right_on_average_and_keeps_the_sum() {
        let fine = |units: f64| (units * f64::from(FINE)) as i32;
        // The last sum is a little too small, or too large.
        for lost in [-0.001, 0.001] {
            let shares = [0.25, 0.0, 2.5, 4093.25 - lost].map(fine);
            let (mut sums, mut units) = ([0; 4], [0; 4]);
            for place in 0..1000 {
                spread(&shares, f64::from(place) / 1000.0, &mut units);
                assert_eq!(units.map(u32::from).iter().sum::<u32>(), TOKEN as u32);
                (sums.iter_mut().zip(units)).for_each(|(sum, units)| *sum += u32::from(units));
            }
            assert_eq!(sums, [250, 0, 2500, 4_093_250]);
        }
    }
}
