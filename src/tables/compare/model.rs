//! Models read back from their tables, and the matching of their topics.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::TopicMatch;
use crate::failure::Failure;
use crate::tables::phi::PublishedPhi;
use lda::evaluate::TermDistribution;
use lda::evaluate::matching::{SAME_TOPIC_WITHIN, match_topics};
use lda::model::published::PublishedTopic;

/// A topic: its listed terms, ascending, and the weight of every other term.
type SharedTopic = (Vec<(u32, f32)>, f64);

/// Matches the topics of two models over the terms that both have.
///
/// # Errors
/// A table cannot be read; the vocabularies have no common term.
pub(super) fn match_models(a: &Path, b: &Path) -> Result<TopicMatch, Failure> {
    let (first, second) = (PublishedPhi::read(a)?, PublishedPhi::read(b)?);
    let mut shared: HashMap<&str, u32> = HashMap::new();
    let own: HashSet<&str> = first.terms.iter().map(String::as_str).collect();
    for term in second.terms.iter().filter(|t| own.contains(t.as_str())) {
        let next = shared.len() as u32;
        shared.insert(term, next);
    }
    if shared.is_empty() {
        let message = format!(
            "has no kept term in common with {}: their topics cannot be matched",
            b.display()
        );
        return Err(Failure::file(a, message));
    }
    let (p, q) = (on(&first, &shared), on(&second, &shared));
    let vocabulary_size = shared.len();
    let matching = match_topics(&views(&p, vocabulary_size), &views(&q, vocabulary_size));
    Ok(TopicMatch {
        same: matching.found(SAME_TOPIC_WITHIN),
        mean_distance: matching.mean_distance(),
        shared_terms: vocabulary_size,
        partners: matching.partners,
    })
}

fn views(topics: &[SharedTopic], vocabulary_size: usize) -> Vec<TermDistribution<'_>> {
    let views = topics.iter().map(|(entries, absent)| TermDistribution {
        entries,
        absent_weight: *absent,
        vocabulary_size,
    });
    views.collect()
}

/// Returns the topics over the shared terms only, in their numbering, each normalised to 1.
fn on(phi: &PublishedPhi, shared: &HashMap<&str, u32>) -> Vec<SharedTopic> {
    let number = |term: u32| shared.get(phi.terms[term as usize].as_str()).copied();
    let topic = |published: &PublishedTopic| {
        let absent = published.absent_weight;
        let kept = |&(term, weight): &(u32, f32)| Some((number(term)?, weight));
        let mut kept: Vec<(u32, f32)> = published.weights.iter().filter_map(kept).collect();
        kept.sort_unstable_by_key(|entry| entry.0);
        let listed: f64 = kept.iter().map(|entry| f64::from(entry.1)).sum();
        let mass = listed + absent * (shared.len() - kept.len()) as f64;
        let scale = if mass > 0.0 { 1.0 / mass } else { 0.0 };
        for entry in &mut kept {
            entry.1 = (f64::from(entry.1) * scale) as f32;
        }
        (kept, absent * scale)
    };
    phi.topics.iter().map(topic).collect()
}
