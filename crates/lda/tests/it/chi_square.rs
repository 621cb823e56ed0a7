//! Probabilities from masses, and how far counts are from their expectation.

/// Returns the masses, divided by their sum.
pub fn normalized(masses: Vec<f64>) -> Vec<f64> {
    let whole: f64 = masses.iter().sum();
    masses.into_iter().map(|mass| mass / whole).collect()
}

/// Returns (χ² − degrees of freedom) / its standard deviation; cells that expect fewer than 8 are pooled.
pub fn chi_square_z(expected: &[f64], seen: &[u64]) -> f64 {
    let draws: u64 = seen.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0.0);
    let mut pooled = (0.0, 0.0);
    for (p, &n) in expected.iter().zip(seen) {
        let e = p * draws as f64;
        if e < 8.0 {
            pooled = (pooled.0 + e, pooled.1 + n as f64);
        } else {
            statistic += (n as f64 - e).powi(2) / e;
            cells += 1.0;
        }
    }
    if pooled.0 >= 8.0 {
        statistic += (pooled.1 - pooled.0).powi(2) / pooled.0;
        cells += 1.0;
    }
    let freedom: f64 = cells - 1.0;
    assert!(freedom >= 5.0, "a test that cannot fail");
    (statistic - freedom) / (2.0 * freedom).sqrt()
}
