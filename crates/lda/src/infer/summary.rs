//! What is told of a document's proportions: the topics that are listed, the heaviest one, the
//! entropy. The same for a collection and for a stream of documents.

use crate::math::special::ln;

/// The topics at or above the threshold, the heaviest first, at most `top` of them (0: all); of
/// equal weights the smaller topic first. `proportions` has one weight a topic; `listed` is
/// emptied first.
pub fn list(proportions: &[f32], threshold: f32, top: usize, listed: &mut Vec<(f32, u16)>) {
    listed.clear();
    let heavy = proportions
        .iter()
        .enumerate()
        .filter(|&(_, &weight)| weight >= threshold);
    listed.extend(heavy.map(|(topic, &weight)| (weight, topic as u16)));
    listed.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    if top > 0 {
        listed.truncate(top);
    }
}

/// 1 − Σ of the listed weights: what the list leaves out.
pub fn dropped_mass(listed: &[(f32, u16)]) -> f32 {
    let listed: f64 = listed.iter().map(|&(weight, _)| f64::from(weight)).sum();
    (1.0 - listed).max(0.0) as f32
}

/// The largest proportion and its topic; of equal ones the smaller topic.
pub fn heaviest(proportions: &[f32]) -> (f32, u16) {
    let mut best = (f32::NEG_INFINITY, 0);
    for (topic, &weight) in proportions.iter().enumerate() {
        if weight > best.0 {
            best = (weight, topic as u16);
        }
    }
    best
}

/// −Σ θ_k ln θ_k in nats.
pub fn entropy(proportions: &[f32]) -> f32 {
    let terms = proportions
        .iter()
        .map(|&weight| f64::from(weight))
        .filter(|&w| w > 0.0);
    -terms.map(|weight| weight * ln(weight)).sum::<f64>() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_listed_by_weight_and_the_limits_hold() {
        let proportions = [0.1, 0.4, 0.05, 0.4, 0.05];
        let mut listed = Vec::new();
        list(&proportions, 0.1, 0, &mut listed);
        assert_eq!(listed, [(0.4, 1), (0.4, 3), (0.1, 0)]);
        assert!((dropped_mass(&listed) - 0.1).abs() < 1e-6);
        list(&proportions, 0.0, 2, &mut listed);
        assert_eq!(listed, [(0.4, 1), (0.4, 3)]);
        assert_eq!(heaviest(&proportions), (0.4, 1));
        assert!((entropy(&[0.5, 0.5]) - std::f32::consts::LN_2).abs() < 1e-6);
    }
}
