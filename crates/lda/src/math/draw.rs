//! Draws from the normal, gamma, Dirichlet, Poisson and categorical distributions, with our own streams.
//!
//! Each function cites its method, and is tested twice: for exact values of a seed (they are a format, as in
//! [`random`](crate::math::random)) and for goodness of fit. `rand_distr` is not used, because its
//! logarithms and exponentials are the C library's, whose last bits differ between systems and processors.

use crate::math::random::Stream;
use crate::math::special::{exp, ln, ln_gamma};

/// Draws a standard normal number by the polar method (Marsaglia & Bray, SIAM Review 1964). Only the first of its
/// two numbers is used, so that no draw depends on what an earlier one left over.
pub fn normal(stream: &mut Stream) -> f64 {
    loop {
        let x = 2.0 * stream.uniform() - 1.0;
        let y = 2.0 * stream.uniform() - 1.0;
        let square = x * x + y * y;
        if square < 1.0 && square > 0.0 {
            return x * (-2.0 * ln(square) / square).sqrt();
        }
    }
}

/// Draws a gamma-distributed number of this shape > 0 and scale 1, and returns its logarithm.
///
/// Marsaglia & Tsang, "A simple method for generating gamma variables", ACM TOMS 2000; shapes below 1 by their
/// section 6, Gamma(a) = Gamma(a + 1) · U^(1/a). The logarithm is returned because the number itself underflows
/// where the shape is small.
///
/// # Panics
///
/// Panics if the shape is not a positive finite number.
fn ln_gamma_draw(stream: &mut Stream, shape: f64) -> f64 {
    assert!(shape > 0.0 && shape.is_finite(), "a gamma draw of shape {shape} is impossible");
    if shape < 1.0 {
        let raised = ln_gamma_draw(stream, shape + 1.0);
        return raised + ln(stream.uniform_positive()) / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(stream);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let u = stream.uniform_positive();
        if ln(u) < 0.5 * x * x + d - d * v + d * ln(v) {
            return ln(d) + ln(v);
        }
    }
}

/// Draws a gamma-distributed number of this shape > 0 and scale 1; it may round to 0 for shapes far below 1.
///
/// # Panics
///
/// Panics if the shape is not a positive finite number.
pub fn gamma(stream: &mut Stream, shape: f64) -> f64 {
    exp(ln_gamma_draw(stream, shape))
}

/// Replaces the Dirichlet parameters in `proportions` by a draw from their distribution: independent gamma draws,
/// normalised. The largest logarithm is subtracted first, so that small parameters yield a one and zeros, never
/// 0/0.
///
/// # Panics
///
/// Panics if `proportions` is empty or a parameter is not a positive finite number.
pub fn dirichlet(stream: &mut Stream, proportions: &mut [f64]) {
    assert!(!proportions.is_empty(), "a Dirichlet draw over nothing");
    let mut largest = f64::NEG_INFINITY;
    for value in &mut *proportions {
        *value = ln_gamma_draw(stream, *value);
        largest = largest.max(*value);
    }
    let mut sum = 0.0;
    for value in &mut *proportions {
        *value = exp(*value - largest);
        sum += *value;
    }
    for value in proportions {
        *value /= sum;
    }
}

/// From this mean on, Poisson draws are made by transformed rejection.
const POISSON_REJECTION_FROM: f64 = 10.0;

/// Draws a Poisson-distributed number of any finite mean ≥ 0. It is exact for every mean: below 10 by inversion
/// (one uniform number against the running sum of probabilities), from 10 on by Hörmann's PTRS ("The transformed
/// rejection method for generating Poisson random variables", Insurance: Mathematics and Economics 1993).
///
/// # Panics
///
/// Panics if the mean is negative or not finite.
pub fn poisson(stream: &mut Stream, mean: f64) -> u64 {
    assert!(mean >= 0.0 && mean.is_finite(), "a Poisson draw of mean {mean} is impossible");
    if mean < POISSON_REJECTION_FROM {
        poisson_by_inversion(stream, mean)
    } else {
        poisson_by_rejection(stream, mean)
    }
}

fn poisson_by_inversion(stream: &mut Stream, mean: f64) -> u64 {
    let mut left = stream.uniform();
    let mut probability = exp(-mean);
    let mut count = 0_u64;
    // Probabilities below 10⁻¹⁷ are less than the last bit of `left`: stop there.
    while left >= probability && (probability > 1e-17 || (count as f64) < mean) {
        left -= probability;
        count += 1;
        probability *= mean / count as f64;
    }
    count
}

fn poisson_by_rejection(stream: &mut Stream, mean: f64) -> u64 {
    let b = 0.931 + 2.53 * mean.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = stream.uniform() - 0.5;
        let v = stream.uniform_positive();
        let u_s = 0.5 - u.abs();
        let k = ((2.0 * a / u_s + b) * u + mean + 0.43).floor();
        if u_s >= 0.07 && v <= v_r {
            return k as u64;
        }
        if k < 0.0 || (u_s < 0.013 && v > u_s) {
            continue;
        }
        let hat = ln(v) + ln(inverse_alpha) - ln(a / (u_s * u_s) + b);
        if hat <= -mean + k * ln(mean) - ln_gamma(k + 1.0) {
            return k as u64;
        }
    }
}

/// Returns the running sums of `weights`, as [`categorical`] takes them.
pub fn prefix_sums(weights: &[f64]) -> Vec<f64> {
    weights
        .iter()
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect()
}

/// Writes the running sums of `masses` to `running`; returns their sum.
pub(crate) fn running_sums(masses: impl Iterator<Item = f32>, running: &mut Vec<f32>) -> f32 {
    let mut sum = 0.0;
    running.clear();
    running.extend(masses.map(|mass| {
        sum += mass;
        sum
    }));
    sum
}

/// Draws an index in proportion to the weights whose running sums are `cumulative` (see [`prefix_sums`]), by a
/// binary search for a uniform point. An index of weight 0 is never drawn.
///
/// # Panics
///
/// Panics if the sum of the weights is not a positive finite number.
#[inline]
pub fn categorical(stream: &mut Stream, cumulative: &[f64]) -> usize {
    let total = cumulative.last().copied().unwrap_or(0.0);
    assert!(total > 0.0 && total.is_finite(), "a draw from weights of sum {total} is impossible");
    let point = stream.uniform() * total;
    let index = cumulative.partition_point(|&sum| sum <= point);
    if index < cumulative.len() {
        return index;
    }
    // Rounding raised the point to the total: take the last index with a weight.
    cumulative.partition_point(|&sum| sum < total)
}

/// Returns the first item whose running sum of masses exceeds `target`; if rounding puts the target beyond them
/// all, the last one with a mass.
pub fn first_beyond<T>(masses: impl Iterator<Item = (T, f64)>, target: f64) -> Option<T> {
    let (mut sum, mut last) = (0.0, None);
    for (item, mass) in masses.filter(|&(_, mass)| mass > 0.0) {
        sum += mass;
        last = Some(item);
        if sum > target {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Stage;

    fn stream(document: u64) -> Stream {
        Stream::keyed(1, Stage::Synth, 0, document)
    }

    /// Sample mean and variance of `count` draws.
    fn moments(count: u32, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let draws: Vec<f64> = (0..count).map(|_| draw()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(count);
        let square = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        (mean, square / f64::from(count - 1))
    }

    #[test]
    fn draws_are_a_format() {
        let mut s = stream(0);
        assert_eq!(normal(&mut s), 0.142_405_590_052_758_19);
        assert_eq!(gamma(&mut s, 2.5), 1.191_443_993_519_276_2);
        assert_eq!(gamma(&mut s, 0.1), 0.014_937_122_211_060_21);
        assert_eq!([poisson(&mut s, 3.0), poisson(&mut s, 300.0)], [8, 304]);
        let mut proportions = [0.5, 1.0, 2.0];
        dirichlet(&mut s, &mut proportions);
        assert_eq!(
            proportions,
            [0.061_500_849_482_313_37, 0.227_466_310_067_423_74, 0.711_032_840_450_262_8]
        );
        assert_eq!(categorical(&mut s, &prefix_sums(&[1.0, 2.0, 3.0])), 1);
    }

    #[test]
    fn gamma_has_the_moments_of_its_shape() {
        for (document, shape) in [0.1, 0.5, 1.0, 2.5, 40.0].into_iter().enumerate() {
            let mut s = stream(document as u64);
            let count = 200_000;
            let (mean, variance) = moments(count, || gamma(&mut s, shape));
            // Mean and variance equal the shape; five standard errors of each are allowed. The fourth central
            // moment of a gamma is 3a² + 6a.
            let mean_error = 5.0 * (shape / f64::from(count)).sqrt();
            let variance_error =
                5.0 * ((2.0 * shape * shape + 6.0 * shape) / f64::from(count)).sqrt();
            assert!((mean - shape).abs() < mean_error, "{shape}: mean {mean}");
            assert!((variance - shape).abs() < variance_error, "{shape}: {variance}");
        }
    }

    #[test]
    fn gamma_of_shape_one_is_exponential() {
        // Its distribution function 1 − e⁻ˣ is uniform: χ² over 50 cells.
        let mut s = stream(9);
        let mut cells = [0_u32; 50];
        for _ in 0..50_000 {
            let place = 1.0 - exp(-gamma(&mut s, 1.0));
            cells[((place * 50.0) as usize).min(49)] += 1;
        }
        let chi: f64 = cells.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 94.0, "χ² = {chi} with 49 degrees of freedom");
    }

    #[test]
    fn dirichlet_sums_to_one_and_has_its_mean() {
        let mut s = stream(2);
        let parameters = [0.2, 0.8, 3.0];
        let mut sums = [0.0; 3];
        for _ in 0..100_000 {
            let mut draw = parameters;
            dirichlet(&mut s, &mut draw);
            assert!((draw.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for (sum, value) in sums.iter_mut().zip(draw) {
                *sum += value;
            }
        }
        for (sum, parameter) in sums.into_iter().zip(parameters) {
            assert!((sum / 100_000.0 - parameter / 4.0).abs() < 0.004);
        }
    }

    #[test]
    fn dirichlet_with_tiny_parameters_is_a_corner_not_nan() {
        let mut s = stream(3);
        for _ in 0..1000 {
            let mut draw = [1e-4; 5];
            dirichlet(&mut s, &mut draw);
            assert!((draw.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{draw:?}");
        }
    }

    #[test]
    fn poisson_has_its_probabilities() {
        for (document, mean) in [0.3_f64, 4.0, 9.99, 10.0, 37.5, 1000.0].into_iter().enumerate() {
            let mut s = stream(100 + document as u64);
            let draws = 100_000_u32;
            let mut counts = vec![0_u32; (mean + 20.0 * mean.sqrt() + 20.0) as usize];
            for _ in 0..draws {
                counts[poisson(&mut s, mean) as usize] += 1;
            }
            // Cells with an expected count ≥ 10; rarer ones are pooled.
            let (mut chi, mut cells, mut pooled, mut pooled_expected) = (0.0, 0.0, 0.0, 0.0);
            for (k, &count) in counts.iter().enumerate() {
                let k = k as f64;
                let expected = f64::from(draws) * exp(k * ln(mean) - mean - ln_gamma(k + 1.0));
                if expected >= 10.0 {
                    chi += (f64::from(count) - expected).powi(2) / expected;
                    cells += 1.0;
                } else {
                    pooled += f64::from(count);
                    pooled_expected += expected;
                }
            }
            chi += (pooled - pooled_expected).powi(2) / pooled_expected.max(1.0);
            let bound = cells + 5.0 * (2.0_f64 * cells).sqrt();
            assert!(chi < bound, "mean {mean}: χ² = {chi} over {cells} cells");
        }
        assert_eq!(poisson(&mut stream(1), 0.0), 0);
    }

    #[test]
    fn categorical_draws_in_proportion_and_never_weight_zero() {
        let mut s = stream(5);
        let weights = [0.0, 1.0, 0.0, 3.0, 6.0, 0.0];
        let cumulative = prefix_sums(&weights);
        let mut counts = [0_u32; 6];
        for _ in 0..100_000 {
            counts[categorical(&mut s, &cumulative)] += 1;
        }
        assert_eq!([counts[0], counts[2], counts[5]], [0, 0, 0]);
        let chi: f64 = [(1, 1.0), (3, 3.0), (4, 6.0)]
            .into_iter()
            .map(|(i, w)| (f64::from(counts[i]) - w * 1e4).powi(2) / (w * 1e4))
            .sum();
        assert!(chi < 19.8, "χ² = {chi} with 2 degrees of freedom");
    }

    #[test]
    #[should_panic(expected = "impossible")]
    fn categorical_refuses_weights_without_mass() {
        categorical(&mut stream(0), &prefix_sums(&[0.0, 0.0]));
    }
}
