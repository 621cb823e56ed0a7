//! Distances between topics, the nearest topics of each, and a two-dimensional map of all of them
//! (after LDAvis, Sievert & Shirley 2014).
//!
//! A topic is represented here by its 4,096 heaviest listed terms without the smoothing, scaled to sum to 1. Smoothing
//! is the same for all topics and would pull small ones together. The nearest topics are those by the square root of the
//! Jensen–Shannon divergence in bits, a metric from 0 to 1 (Endres & Schindelin 2003). The map shows the Hellinger
//! distance, also from 0 to 1 and close to it, which takes no logarithm: √(1 − Σ_w √(p_w q_w)), by which topics are
//! points of a Euclidean space with a dimension for each term, and classical scaling projects these onto two.

use super::TermDistribution;
use crate::math::special::ln;

/// Maximum number of topics whose distances to all others determine the map's axes: those with the most tokens.
pub const MOST_LANDMARKS: usize = 256;

/// The number of landmarks whose distances are computed together.
const LANDMARKS: usize = 8;

/// Maximum number of a topic's heaviest listed terms that represent it.
const MOST_TERMS: usize = 4096;

/// The number of a topic's heaviest terms that find its nearest topics.
const HEAD_TERMS: usize = 100;

/// The number of full comparisons for each nearest topic that is requested.
const COMPARED_PER_NEAREST: usize = 4;

/// The positions of topics in two dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicMap {
    /// The position of each topic; `None` for a topic without tokens. The origin is the centre of the
    /// landmarks, and units are those of the distance.
    pub places: Vec<Option<[f64; 2]>>,
    /// The share of the landmarks' squared distances from their centre that the two axes show, 0 to 1.
    pub shown: f64,
    /// The number of topics that determined the axes.
    pub landmarks: usize,
}

/// Returns, for each topic, the `count` nearest others and their distances, nearest first; ties are
/// ordered by topic.
///
/// Not all pairs are compared. The candidates are the topics that have most in common with a topic
/// among the 100 heaviest terms of both, four for each that is requested. A topic that shares none of
/// these terms with another has no nearest topics.
pub fn nearest(topics: &[TermDistribution<'_>], count: usize) -> Vec<Vec<(usize, f64)>> {
    let all: Vec<Vec<Share>> = topics.iter().map(shares).collect();
    let heads: Vec<Vec<Share>> = all.iter().map(|it| heaviest(it.clone(), HEAD_TERMS)).collect();
    let terms = topics.iter().map(|t| t.vocabulary_size).max().unwrap_or(0);
    let mut holders: Vec<Vec<(usize, Share)>> = vec![Vec::new(); terms];
    for (topic, head) in heads.iter().enumerate() {
        for share in head {
            holders[share.term as usize].push((topic, *share));
        }
    }
    let mut in_common = vec![0.0; topics.len()];
    let nearest_of = |topic: usize| {
        let mut found = Vec::new();
        for share in &heads[topic] {
            for (other, theirs) in &holders[share.term as usize] {
                if in_common[*other] == 0.0 {
                    found.push(*other);
                }
                in_common[*other] += overlap(share, theirs);
            }
        }
        found.sort_unstable_by(|&a, &b| in_common[b].total_cmp(&in_common[a]).then(a.cmp(&b)));
        found.iter().for_each(|&other| in_common[other] = 0.0);
        found.retain(|&other| other != topic);
        found.truncate(COMPARED_PER_NEAREST * count);
        let compared = found.into_iter();
        let mut compared: Vec<(usize, f64)> =
            compared.map(|other| (other, distance(common(&all[topic], &all[other])))).collect();
        compared.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        compared.truncate(count);
        compared
    };
    (0..topics.len()).map(nearest_of).collect()
}

/// Places the topics so that their distances in two dimensions approximate their Hellinger
/// distances: classical scaling of the [`MOST_LANDMARKS`] topics with the most `tokens` (ties go to
/// the smaller topic); the others are placed by their distances to these (landmark scaling, de Silva
/// & Tenenbaum 2004). Takes the time of `landmarks × topics` distances.
///
/// # Panics
///
/// Panics if `topics` and `tokens` differ in length.
pub fn topic_map(topics: &[TermDistribution<'_>], tokens: &[f64]) -> TopicMap {
    assert_eq!(topics.len(), tokens.len(), "tokens of each topic");
    let all: Vec<Vec<Share>> = topics.iter().map(shares).collect();
    let mut landmarks: Vec<usize> = (0..topics.len()).filter(|&k| !all[k].is_empty()).collect();
    let placed = landmarks.clone();
    landmarks.sort_by(|&a, &b| tokens[b].total_cmp(&tokens[a]).then(a.cmp(&b)));
    landmarks.truncate(MOST_LANDMARKS);
    let terms = topics.iter().map(|t| t.vocabulary_size).max().unwrap_or(0);
    let mut roots = vec![[0.0; LANDMARKS]; terms];
    let mut squared = Vec::with_capacity(landmarks.len() * placed.len());
    for some in landmarks.chunks(LANDMARKS) {
        for (lane, &landmark) in some.iter().enumerate() {
            all[landmark].iter().for_each(|it| roots[it.term as usize][lane] = it.root);
        }
        let from = squared.len();
        squared.resize(from + some.len() * placed.len(), 0.0);
        for (place, &topic) in placed.iter().enumerate() {
            let mut sums = [0.0_f32; LANDMARKS];
            for it in &all[topic] {
                let theirs = &roots[it.term as usize];
                sums.iter_mut().zip(theirs).for_each(|(sum, root)| *sum += it.root * root);
            }
            for (lane, sum) in sums[..some.len()].iter().enumerate() {
                squared[from + lane * placed.len() + place] = f64::from((1.0 - sum).max(0.0));
            }
        }
        for &landmark in some {
            all[landmark].iter().for_each(|it| roots[it.term as usize] = [0.0; LANDMARKS]);
        }
    }
    let is_at = |landmark| placed.binary_search(landmark).expect("it is one of them");
    let columns: Vec<usize> = landmarks.iter().map(is_at).collect();
    let scaled = scale(&squared, &columns, placed.len());
    let mut places = vec![None; topics.len()];
    for (&topic, place) in placed.iter().zip(scaled.places) {
        places[topic] = Some(place);
    }
    TopicMap { places, shown: scaled.shown, landmarks: landmarks.len() }
}

/// A term's share of a topic's tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Share {
    term: u32,
    share: f64,
    /// share · ln share.
    entropy: f64,
    /// √share.
    root: f32,
}

/// Returns the shares of a topic's heaviest listed terms without smoothing, terms ascending; empty without tokens.
fn shares(topic: &TermDistribution<'_>) -> Vec<Share> {
    let beyond = |&(term, weight): &(u32, f32)| Share {
        term,
        share: f64::from(weight) - topic.absent_weight,
        entropy: 0.0,
        root: 0.0,
    };
    let listed = topic.entries.iter().map(beyond);
    let mut shares = heaviest(listed.filter(|it| it.share > 0.0).collect(), MOST_TERMS);
    let sum: f64 = shares.iter().map(|it| it.share).sum();
    for it in &mut shares {
        it.share /= sum;
        it.entropy = it.share * ln(it.share);
        it.root = it.share.sqrt() as f32;
    }
    shares
}

/// Returns the `most` heaviest shares, terms ascending.
fn heaviest(mut shares: Vec<Share>, most: usize) -> Vec<Share> {
    if shares.len() > most {
        let heavier = |a: &Share, b: &Share| b.share.total_cmp(&a.share).then(a.term.cmp(&b.term));
        shares.select_nth_unstable_by(most, heavier);
        shares.truncate(most);
        shares.sort_unstable_by_key(|share| share.term);
        shares.shrink_to_fit();
    }
    shares
}

/// Returns the amount by which a shared term lowers the divergence, which is 1 bit between topics
/// that share no term: ½ [(p + q) log₂ (p + q) − p log₂ p − q log₂ q].
fn overlap(p: &Share, q: &Share) -> f64 {
    let both = p.share + q.share;
    0.5 * (both * ln(both) - p.entropy - q.entropy) / std::f64::consts::LN_2
}

/// Returns the sum of [`overlap`]s of two topics, terms ascending in both.
fn common(p: &[Share], q: &[Share]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < p.len() && j < q.len() {
        let (a, b) = (&p[i], &q[j]);
        if a.term == b.term {
            sum += overlap(a, b);
        }
        i += usize::from(a.term <= b.term);
        j += usize::from(b.term <= a.term);
    }
    sum
}

/// Returns the distance, given the sum of overlaps; rounding can exceed the range.
fn distance(in_common: f64) -> f64 {
    (1.0 - in_common).clamp(0.0, 1.0).sqrt()
}

#[cfg(test)]
mod tests;

// Classical multidimensional scaling in two dimensions, by landmarks (de Silva & Tenenbaum 2004,
// "Sparse multidimensional scaling using landmark points", §2).
//
// With D the landmarks' squared distances and J = I − 11ᵀ/n, the leading eigenvectors of
// B = −½ J D J are the axes, each scaled by the root of its eigenvalue. A point with squared
// distances δ to the landmarks is at −½ vᵀ (δ − δ̄) / √λ on the axis (λ, v), where δ̄ is the mean of
// D's columns; for a landmark this is its position by classical scaling.

/// Maximum number of iterations for an axis; they end when the relative change of the eigenvalue is at most 10⁻¹³.
const MOST_ITERATIONS: usize = 1000;

/// Points in two dimensions.
struct Scaled {
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
fn scale(squared: &[f64], columns: &[usize], points: usize) -> Scaled {
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
