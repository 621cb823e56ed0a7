//! The units of expected counts: whole numbers, whose sums are the same on any number of workers.

/// A token, in the units of expected counts.
pub const TOKEN: f64 = (1u64 << 12) as f64;

/// The most units of a γ, and one more.
pub const UNITS: usize = TOKEN as usize + 1;

/// Rounds `shares` of tokens to whole units of 2⁻¹² token, `units` in all, each up or down: systematic
/// sampling, in which a unit falls to a topic by its share. With a `start` that is uniform on [0, 1) the
/// expectation of each is exact, and nothing of what many topics have a little of is lost.
pub(super) fn round(shares: &[f64], units: u64, start: f64, mut emit: impl FnMut(u16, u64)) {
    let (mut sum, mut given) = (start, 0);
    let last = shares.iter().rposition(|&share| share > 0.0);
    for (k, share) in shares.iter().enumerate() {
        sum += share * TOKEN;
        let reached = match Some(k) == last {
            true => units,
            false => (sum.floor() as u64).clamp(given, units),
        };
        if reached > given {
            emit(k as u16, reached - given);
        }
        given = reached;
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
}
