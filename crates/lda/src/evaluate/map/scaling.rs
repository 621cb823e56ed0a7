//! Classical multidimensional scaling in two dimensions, by landmarks (de Silva & Tenenbaum 2004,
//! "Sparse multidimensional scaling using landmark points", §2).
//!
//! With D the landmarks' squared distances and J = I − 11ᵀ/n, the leading eigenvectors of
//! B = −½ J D J are the axes, each scaled by the root of its eigenvalue. A point with squared
//! distances δ to the landmarks is at −½ vᵀ (δ − δ̄) / √λ on the axis (λ, v), where δ̄ is the mean of
//! D's columns; for a landmark this is its position by classical scaling.

/// Maximum number of iterations for an axis; they end when the relative change of the eigenvalue is at most 10⁻¹³.
const MOST_ITERATIONS: usize = 1000;

/// Points in two dimensions.
pub(super) struct Scaled {
    /// The position of each point.
    pub places: Vec<[f64; 2]>,
    /// (λ₁ + λ₂) over the trace of B.
    pub shown: f64,
}

/// An eigenvalue of B, and its eigenvector of length 1.
struct Axis {
    value: f64,
    vector: Vec<f64>,
}

/// Places `points` points by `squared`, which has a row of squared distances to all points for each
/// landmark; `columns` are the landmarks' own columns.
pub(super) fn scale(squared: &[f64], columns: &[usize], points: usize) -> Scaled {
    let count = columns.len();
    let row = |landmark: usize| &squared[landmark * points..(landmark + 1) * points];
    let mean = |sum: f64| sum / count.max(1) as f64;
    let means: Vec<f64> = (0..count)
        .map(|landmark| mean(columns.iter().map(|&column| row(landmark)[column]).sum()))
        .collect();
    let grand = mean(means.iter().sum());
    let mut centred = Vec::with_capacity(count * count);
    for (i, of_row) in means.iter().enumerate() {
        let entries = columns.iter().zip(&means);
        centred.extend(
            entries
                .map(|(&column, of_column)| -0.5 * (row(i)[column] - of_row - of_column + grand)),
        );
    }
    let trace: f64 = (0..count).map(|i| centred[i * count + i]).sum();
    let first = leading(&centred, None);
    let second = leading(&centred, Some(&first));
    let mut places = vec![[0.0; 2]; points];
    for (which, axis) in [&first, &second].into_iter().enumerate() {
        // Such an axis is a rounding error.
        if axis.value <= 1e-12 * trace.max(0.0) || axis.value <= 0.0 {
            continue;
        }
        let root = axis.value.sqrt();
        for (landmark, (weight, mean)) in axis.vector.iter().zip(&means).enumerate() {
            for (place, distance) in places.iter_mut().zip(row(landmark)) {
                place[which] -= 0.5 * weight * (distance - mean) / root;
            }
        }
    }
    let shown = (first.value + second.value) / trace;
    Scaled { places, shown: if trace > 0.0 { shown.min(1.0) } else { 0.0 } }
}

/// Finds the eigenvector of the largest eigenvalue among those orthogonal to `known`, by power
/// iteration. Its largest entry (ties go to the first) is positive, so that a map is never mirrored.
fn leading(matrix: &[f64], known: Option<&Axis>) -> Axis {
    let count = matrix.len().isqrt();
    // Multiples of the golden ratio: unlike any eigenvector, and the same everywhere.
    let golden = 0.618_033_988_749_894_9;
    let start = (1..=count).map(|i| (i as f64 * golden).fract() - 0.5);
    let mut axis = Axis { value: 0.0, vector: start.collect() };
    for _ in 0..MOST_ITERATIONS {
        if let Some(known) = known {
            let along = dot(&axis.vector, &known.vector);
            let entries = axis.vector.iter_mut().zip(&known.vector);
            entries.for_each(|(entry, other)| *entry -= along * other);
        }
        let length = dot(&axis.vector, &axis.vector).sqrt();
        if length == 0.0 {
            break;
        }
        axis.vector.iter_mut().for_each(|entry| *entry /= length);
        let rows = matrix.chunks_exact(count.max(1));
        let product: Vec<f64> = rows.map(|row| dot(row, &axis.vector)).collect();
        let value = dot(&product, &axis.vector);
        let settled = (value - axis.value).abs() <= 1e-13 * value.abs();
        axis.value = value;
        if settled {
            break;
        }
        axis.vector = product;
    }
    turn(&mut axis);
    axis
}

/// Normalises the vector to length 1 and makes its largest entry positive.
fn turn(axis: &mut Axis) {
    let length = dot(&axis.vector, &axis.vector).sqrt();
    let larger =
        |largest: f64, &entry: &f64| if entry.abs() > largest.abs() { entry } else { largest };
    let sign = axis.vector.iter().fold(0.0, larger).signum();
    if length > 0.0 {
        axis.vector.iter_mut().for_each(|e| *e *= sign / length);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
