//! The published φ: each topic's term distribution.
//!
//! φ_kw = (η′ + λ̃_kw) / (Vη′ + λ̃_k): a weight for each term with λ̃_kw > 0, and one weight that all
//! other terms of the topic share. Under a tree, terms within its structures have a weight in every
//! topic.

use std::sync::Arc;

use super::Priors;
use super::factors::{FactorTable, Factors};
use super::parameters::Parameters;
use super::tree::{ROOT, Tree};

/// One topic's terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishedTopic {
    /// (term, φ_kw) of the terms with λ̃_kw > 0 or within structures, ascending by term.
    pub weights: Vec<(u32, f32)>,
    /// λ̃_kw of the same terms: their expected tokens in the sample.
    pub counts: Vec<f64>,
    /// φ_kw of every other term.
    pub absent_weight: f64,
    /// λ̃_k = Σ_w λ̃_kw: the topic's expected tokens in the sample.
    pub total: f64,
}

/// Publishes all topics of a model with the η of `priors`, whose geometry must be the mean. `parts` are all parts
/// of the model, in order.
pub fn publish(parts: &[&Parameters], priors: &Priors) -> Vec<PublishedTopic> {
    debug_assert!(!priors.exp_psi, "φ is a mean");
    if let Some(tree) = &priors.tree {
        return publish_tree(parts, priors, tree);
    }
    let (topics, terms) = (parts[0].topic_count(), parts[0].vocabulary_size());
    let scale = parts[0].scale();
    let mut published = vec![PublishedTopic::default(); topics];
    for term in 0..terms as u32 {
        for entry in parts[term as usize % parts.len()].row(term) {
            let unsmoothed = f64::from(entry.value) * scale;
            let topic = &mut published[entry.topic as usize];
            topic.weights.push((term, 0.0));
            topic.counts.push(unsmoothed);
            topic.total += unsmoothed;
        }
    }
    let eta = priors.eta;
    for topic in &mut published {
        let denominator = terms as f64 * eta + topic.total;
        topic.absent_weight = eta / denominator;
        for ((_, weight), count) in topic.weights.iter_mut().zip(&topic.counts) {
            *weight = ((eta + count) / denominator) as f32;
        }
    }
    published
}

/// A node of a tree below the root, in a topic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedNode {
    /// The number of an inner node, or of a leaf among all nodes.
    pub node: u32,
    /// The probability that the topic's next token passes through it.
    pub weight: f64,
    /// Its expected tokens in the sample.
    pub count: f64,
}

/// Returns, for each topic, the nodes within a tree's structures that have tokens, ascending; none without a tree.
/// The arguments are those of [`publish`].
pub fn publish_nodes(parts: &[&Parameters], priors: &Priors) -> Vec<Vec<PublishedNode>> {
    let mut published = vec![Vec::new(); parts[0].topic_count()];
    for part in 0..parts.len() {
        let Some(branches) = Factors::branches(parts, part, priors) else {
            break;
        };
        branches.for_each_observed(parts, part, |node, topic, weight, count| {
            published[topic].push(PublishedNode { node, weight, count });
        });
    }
    for nodes in &mut published {
        nodes.sort_unstable_by_key(|node| node.node);
    }
    published
}

fn publish_tree(parts: &[&Parameters], priors: &Priors, tree: &Tree) -> Vec<PublishedTopic> {
    let prepared = |part| Factors::branches(parts, part, priors).map(Arc::new);
    let branches: Vec<_> = (0..parts.len()).filter_map(prepared).collect();
    let structured = |term: u32| tree.is_structured(term);
    let prepare = |part| Factors::prepare_part(parts, part, priors, &branches, structured, None);
    let factors: Vec<Factors> = (0..parts.len()).map(prepare).collect();
    let factors: Vec<&Factors> = factors.iter().collect();
    let table = FactorTable::new(&factors);
    let root = priors.eta / tree.eta() * tree.prior_sum(ROOT);
    let totals = parts[0].totals().iter();
    let mut published: Vec<_> = totals
        .map(|&total| PublishedTopic {
            absent_weight: priors.eta / (root + total),
            total,
            ..PublishedTopic::default()
        })
        .collect();
    let mut counts = vec![0.0; published.len()];
    for term in 0..tree.vocabulary_size() as u32 {
        for leaf in tree.leaves_of(term) {
            let part = parts[leaf as usize % parts.len()];
            for entry in part.row(leaf) {
                counts[entry.topic as usize] += f64::from(entry.value) * part.scale();
            }
        }
        let whole = table.find(term).and_then(|row| table.whole(row));
        for (k, (topic, count)) in published.iter_mut().zip(&mut counts).enumerate() {
            let count = std::mem::take(count);
            let weight = match whole {
                Some(factors) => factors[k],
                None if count > 0.0 => ((priors.eta + count) / (root + topic.total)) as f32,
                None => continue,
            };
            topic.weights.push((term, weight));
            topic.counts.push(count);
        }
    }
    published
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::parameters::GlobalStep;
    use crate::model::statistics::Assigned;

    #[test]
    fn each_topic_is_a_distribution_whatever_the_parts() {
        let step = GlobalStep { step_size: 0.5, weight: 3.0 };
        let entries: [(u32, u16, i32); 4] = [(0, 0, 5), (0, 1, 1), (2, 1, 9), (3, 0, 2)];
        let published = |part_count: usize| {
            let parts: Vec<_> = (0..part_count)
                .map(|p| {
                    let mut part = Parameters::new(2, 5, p, part_count);
                    part.decay(step, &[7, 10]);
                    let mine = entries.iter().filter(|e| e.0 as usize % part_count == p);
                    let words =
                        mine.map(|&(term, topic, count)| Assigned { term, topic, count }.word());
                    part.add(step, &words.collect::<Vec<_>>());
                    part
                })
                .collect();
            let priors = Priors { alpha: vec![0.1; 2], eta: 0.1, exp_psi: false, tree: None };
            publish(&parts.iter().collect::<Vec<_>>(), &priors)
        };
        let topics = published(1);
        assert_eq!(topics, published(3));
        for topic in &topics {
            let listed: f64 = topic.weights.iter().map(|&(_, w)| f64::from(w)).sum();
            let sum = listed + topic.absent_weight * (5 - topic.weights.len()) as f64;
            assert!((sum - 1.0).abs() < 1e-6);
        }
        assert_eq!(topics[1].counts, [1.5, 13.5]);
    }
}
