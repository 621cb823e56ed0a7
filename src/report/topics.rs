//! Topics as the page shows them: figures, map, nearest topics, and the terms that any position of its
//! slider can show; and for its search more terms, and the topics that have most of each.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds::{Bounds, LEAST_HELD, MOST_HOLDERS, MOST_TERMS, NAME_CHARS, NEAREST, clip};
use super::data::{PageTerms, PageTopic};
use crate::tables::phi::PublishedPhi;
use crate::tables::topics::TopicLine;
use crate::tables::vocabulary::VocabularyRow;
use lda::evaluate::map::{nearest, topic_map};
use lda::math::special::ln;

/// Positions of the slider: λ = 0, 0.05, …, 1.
const POSITIONS: usize = 20;

/// The topics, with the figures of the map.
pub(super) struct MappedTopics {
    pub(crate) topics: Vec<PageTopic>,
    pub(crate) map_shown: f64,
    pub(crate) map_landmarks: usize,
}

/// Returns the topics and the terms that they show.
pub(super) fn topics(
    lines: Vec<TopicLine>,
    phi: &PublishedPhi,
    terms: &[VocabularyRow],
    mut documents: Vec<Vec<u32>>,
    bounds: &Bounds,
) -> (MappedTopics, PageTerms) {
    let distributions = phi.distributions();
    let tokens: Vec<f64> = lines.iter().map(|line| line.row.tokens as f64).collect();
    let map = topic_map(&distributions, &tokens);
    let nearest = nearest(&distributions, NEAREST);
    let total = terms.iter().map(|term| term.count).sum::<i64>();
    let log_shares: Vec<f64> =
        terms.iter().map(|term| ln(term.count.max(1) as f64 / total.max(1) as f64)).collect();
    // The terms that some position of the slider shows, with the logarithms of their probabilities.
    let shown_of = |topic| {
        let log_lift = |term: u32, weight| ln(weight) - log_shares[term as usize];
        let chosen = phi.most_relevant(topic, [bounds.terms, POSITIONS], log_lift).into_iter();
        chosen.map(|(term, _, relevance)| (term, relevance.log_probability)).collect()
    };
    let shown: Vec<Vec<(u32, f64)>> = (0..lines.len()).map(shown_of).collect();
    let assigned = assigned(phi, &tokens, terms.len());
    let (mut table, places) = listed_terms(&shown, terms, &assigned, total);
    table.topics = holders(&places, &shown, phi, &tokens, &assigned);
    let topic = |(number, line): (usize, TopicLine)| PageTopic {
        place: map.places[number],
        nearest: nearest[number].clone(),
        terms: shown[number]
            .iter()
            .scan(0, |before, &(term, log)| {
                let log = (-1000.0 * log).round() as u32;
                Some([places[&term], log - std::mem::replace(before, log)])
            })
            .flatten()
            .collect(),
        documents: std::mem::take(&mut documents[number]),
        ..said_of(line)
    };
    let topics = MappedTopics {
        topics: lines.into_iter().enumerate().map(topic).collect(),
        map_shown: map.shown,
        map_landmarks: map.landmarks,
    };
    (topics, table)
}

/// Returns the figures of a topic that the page shows, with its name, label and changed terms clipped to the shown length.
fn said_of(mut topic: TopicLine) -> PageTopic {
    let label = topic.label.iter_mut().map(|line| &mut line.label);
    let name = topic.named.iter_mut().flat_map(|row| &mut row.name);
    let changes = topic.change.iter_mut();
    let terms = changes.flat_map(|change| change.gained.iter_mut().chain(&mut change.lost));
    for text in label.chain(name).chain(terms) {
        *text = clip(text, NAME_CHARS);
    }
    PageTopic {
        tokens: topic.row.tokens,
        share: topic.row.share,
        coherence_npmi: topic.row.coherence_npmi,
        exclusivity: topic.row.exclusivity,
        effective_terms: topic.row.effective_terms,
        rank1_documents: topic.row.rank1_documents,
        stability: topic.stability,
        dead: topic.row.dead,
        duplicate_of: topic.row.duplicate_of,
        junk: topic.row.junk,
        label: topic.label,
        change: topic.change,
        named: topic.named,
        ..PageTopic::default()
    }
}

/// Returns the tokens of each term that the topics have together, Σ_k φ_kw T_k: by this, shares of a term sum to 1.
fn assigned(phi: &PublishedPhi, tokens: &[f64], terms: usize) -> Vec<f64> {
    let mut assigned = vec![0.0; terms];
    for (topic, tokens) in phi.topics.iter().zip(tokens) {
        for &(term, weight) in &topic.weights {
            assigned[term as usize] += f64::from(weight) * tokens;
        }
    }
    assigned
}

/// Returns the table of all shown terms and the most frequent others, and each term's place in it.
fn listed_terms(
    shown: &[Vec<(u32, f64)>],
    terms: &[VocabularyRow],
    assigned: &[f64],
    total: i64,
) -> (PageTerms, BTreeMap<u32, u32>) {
    let is_shown: BTreeSet<u32> = shown.iter().flatten().map(|entry| entry.0).collect();
    let count = |term: u32| terms[term as usize].count;
    let mut all: Vec<u32> = (0..terms.len() as u32).collect();
    all.sort_unstable_by_key(|&term| (std::cmp::Reverse(count(term)), term));
    let mut others = MOST_TERMS.saturating_sub(is_shown.len());
    all.retain(|term| {
        is_shown.contains(term) || {
            let has_room = others > 0;
            others = others.saturating_sub(1);
            has_room
        }
    });
    let places = all.iter().zip(0..).map(|(&term, place)| (term, place));
    let places = places.collect();
    let text = |&term: &u32| clip(&terms[term as usize].term, NAME_CHARS);
    let table = PageTerms {
        texts: all.iter().map(text).collect(),
        counts: all.iter().map(|&term| count(term)).collect(),
        assigned: all.iter().map(|&term| assigned[term as usize].ceil().max(1.0) as u64).collect(),
        total,
        topics: Vec::new(),
    };
    (table, places)
}

/// Returns, for each term of the table, which of the topics with most of its uses do not show it: topic and share of its
/// uses in hundredths, alternating; the largest first.
fn holders(
    places: &BTreeMap<u32, u32>,
    shown: &[Vec<(u32, f64)>],
    phi: &PublishedPhi,
    tokens: &[f64],
    assigned: &[f64],
) -> Vec<Vec<u32>> {
    let mut most: Vec<Vec<(f64, usize)>> = vec![Vec::new(); places.len()];
    for (topic, &tokens) in tokens.iter().enumerate() {
        for &(term, weight) in &phi.topics[topic].weights {
            let Some(&place) = places.get(&term) else { continue };
            let of_term = &mut most[place as usize];
            of_term.push((f64::from(weight) * tokens / assigned[term as usize].max(1.0), topic));
            of_term.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            of_term.truncate(MOST_HOLDERS);
        }
    }
    for (topic, entries) in shown.iter().enumerate() {
        for (term, _) in entries {
            let of_term = &mut most[places[term] as usize];
            of_term.iter_mut().filter(|held| held.1 == topic).for_each(|held| held.0 = 0.0);
        }
    }
    let listed = |of_term: Vec<(f64, usize)>| {
        let held = of_term.into_iter().filter(|&(share, _)| share >= LEAST_HELD);
        held.flat_map(|(share, topic)| [topic as u32, (100.0 * share) as u32]).collect()
    };
    most.into_iter().map(listed).collect()
}
