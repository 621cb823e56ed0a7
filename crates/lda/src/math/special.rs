//! exp, ln, ln Γ, digamma and exp Ψ, with the same bits on every CPU and system.
//!
//! The elementary functions are those of the `libm` crate (musl's, in Rust); digamma and exp Ψ are built on them.
//! Square roots need no wrapper: IEEE 754 fixes every bit of them. Code whose numbers reach a result calls these
//! functions, never `f64::exp` and the like.

/// Returns eˣ.
#[inline]
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Returns the natural logarithm; −∞ at 0, NaN below.
#[inline]
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// Raises `base` to the power `exponent`.
#[inline]
pub fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

/// Returns ln Γ(x) for x > 0.
#[inline]
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// From here on, digamma uses its asymptotic series: the first omitted term, 3617/8160 x⁻¹⁶, is below 5·10⁻¹⁷.
const ASYMPTOTIC_FROM: f64 = 10.0;

/// Returns Ψ(x), the derivative of ln Γ, for x > 0; NaN otherwise.
///
/// Ψ(x) = Ψ(x + 1) − 1/x (Abramowitz & Stegun 6.3.5) until x ≥ 10, then
/// Ψ(x) ≈ ln x − 1/(2x) − Σ B₂ₙ / (2n x²ⁿ) (6.3.18). The error is below 10⁻¹³ of the value, or
/// 10⁻¹⁵ absolute near the zero at x ≈ 1.4616.
///
/// ```
/// use lda::math::special::digamma;
/// let euler_mascheroni = 0.577_215_664_901_532_9;
/// assert!((digamma(1.0) + euler_mascheroni).abs() < 1e-15);
/// ```
pub fn digamma(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let (shifted, reciprocals) = shift_up(x);
    ln(shifted) - tail(shifted) - reciprocals
}

/// Returns exp Ψ(x) for x ≥ 0; NaN otherwise. It is close to x − ½ for large x and to e^(−1/x) near 0, where it
/// underflows: from x = 0 to about 0.0013 it is 0.
///
/// The logarithm in [`digamma`]'s series is never taken: exp Ψ(x) = y · exp(Ψ(x) − ln y), where y is the argument
/// after the recurrence.
pub(crate) fn exp_digamma(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return 0.0;
    }
    let (shifted, reciprocals) = shift_up(x);
    shifted * exp(-tail(shifted) - reciprocals)
}

/// Returns x + n, with the smallest n that reaches the asymptotic range, and Σ_{i<n} 1/(x + i), summed as one
/// fraction so that it costs one division.
#[inline]
fn shift_up(x: f64) -> (f64, f64) {
    let (mut shifted, mut numerator, mut denominator) = (x, 0.0, 1.0);
    while shifted < ASYMPTOTIC_FROM {
        numerator = numerator * shifted + denominator;
        denominator *= shifted;
        shifted += 1.0;
    }
    (shifted, numerator / denominator)
}

/// Returns ln x − Ψ(x) = 1/(2x) + Σ B₂ₙ / (2n x²ⁿ), n = 1 … 7, for x ≥ 10.
#[inline]
fn tail(x: f64) -> f64 {
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = 1.0 / 12.0;
    let series = -691.0 / 32_760.0 + square * series;
    let series = 1.0 / 132.0 + square * series;
    let series = -1.0 / 240.0 + square * series;
    let series = 1.0 / 252.0 + square * series;
    let series = -1.0 / 120.0 + square * series;
    let series = 1.0 / 12.0 + square * series;
    0.5 * inverse + square * series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ψ, computed to 40 digits with mpmath 1.3.
    const DIGAMMA: [(f64, f64); 18] = [
        (1e-5, -100_000.577_199_215_67),
        (0.002, -500.573_930_596_353_4),
        (0.01, -100.560_885_457_868_68),
        (0.05, -20.497_844_991_299_868),
        (0.1, -10.423_754_940_411_076),
        (0.4, -2.561_384_544_585_116),
        (0.5, -1.963_510_026_021_423_5),
        (1.0, -0.577_215_664_901_532_9),
        (1.25, -0.227_453_533_376_265_42),
        (2.0, 0.422_784_335_098_467_13),
        (3.7, 1.167_153_539_361_511_3),
        (9.999, 2.251_647_417_205_735_5),
        (10.0, 2.251_752_589_066_721),
        (10.5, 2.303_001_034_297_686_5),
        (100.0, 4.600_161_852_738_087),
        (12345.678, 9.421_020_820_741_761),
        (1e8, 18.420_680_738_952_367),
        (1e15, 34.538_776_394_910_684),
    ];

    fn relative(got: f64, want: f64) -> f64 {
        ((got - want) / want).abs()
    }

    #[test]
    fn digamma_agrees_with_tabulated_values() {
        for (x, want) in DIGAMMA {
            let error = relative(digamma(x), want);
            assert!(error < 1e-13, "Ψ({x}) = {}, not {want}", digamma(x));
        }
        let zero = 1.461_632_144_968_362_3;
        assert!(digamma(zero).abs() < 1e-15, "{}", digamma(zero));
    }

    #[test]
    fn exp_digamma_is_the_exponential_of_digamma() {
        for (x, want) in DIGAMMA.into_iter().filter(|&(x, _)| x >= 0.002) {
            // exp turns an absolute error into a relative one.
            let allowed = 1e-14 * want.abs().max(1.0);
            let error = relative(exp_digamma(x), exp(want));
            assert!(error < allowed, "exp Ψ({x}) = {}", exp_digamma(x));
        }
        assert_eq!(exp_digamma(0.0), 0.0);
        assert_eq!(exp_digamma(0.001), 0.0);
    }

    #[test]
    fn digamma_rises_by_the_reciprocal() {
        for x in (1..4000).map(|i| f64::from(i) * 0.01) {
            let step = digamma(x + 1.0) - digamma(x);
            assert!((step - 1.0 / x).abs() < 4e-15 * (1.0 / x).max(4.0), "at {x}");
        }
    }

    #[test]
    fn arguments_outside_the_domain_give_nan() {
        for x in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert!(digamma(x).is_nan() && exp_digamma(x).is_nan());
        }
        assert!(digamma(0.0).is_nan());
    }

    #[test]
    fn elementary_functions_are_pinned_to_the_bit() {
        assert_eq!(exp(1.0).to_bits(), 0x4005_BF0A_8B14_576A);
        assert_eq!(ln(10.0).to_bits(), 0x4002_6BB1_BBB5_5516);
        assert_eq!(ln_gamma(0.5).to_bits(), 0x3FE2_50D0_48E7_A1BD);
        assert_eq!(pow(10.0, -0.6).to_bits(), 0x3FD0_1379_87DD_704C);
        assert_eq!(digamma(0.1).to_bits(), 0xC024_D8F6_6855_2B02);
        assert_eq!(exp_digamma(0.4).to_bits(), 0x3FB3_C33B_DFC8_2D1B);
    }
}
