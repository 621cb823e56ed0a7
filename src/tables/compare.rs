//! Compares two results: the proportions of the documents that both have, by the measures of
//! `evaluate::comparison`, and the topics of the two models, matched one to one.
//!
//! Documents are read side by side and joined by number if both results have the same input, or else by the input's
//! own ids. Memory is bounded by the two models and, for ids, by a million documents at a time; both results are
//! then read as often as necessary.
//!
//! If the models differ, the topics of the second take the places of their partners in the first: the assignment of
//! least total Hellinger distance over the terms that both vocabularies have, each topic normalised to them. Topics
//! without a partner keep places of their own. The mass that a result does not list for a document, `dropped_mass`,
//! is spread evenly over the topics that are not listed.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::manifest::Manifest;
use super::phi::PublishedPhi;
use super::projected::{ProjectedDocument, ProjectedReader};
use super::read::table_schema;
use crate::failure::Failure;
use crate::wire::name_hash;
use lda::evaluate::TermDistribution;
use lda::evaluate::comparison::{Figure, Measures};
use lda::evaluate::matching::{SAME_TOPIC_WITHIN, match_topics};
use lda::model::published::PublishedTopic;

/// Maximum number of documents in memory when results are joined by the input's ids.
const HELD_DOCUMENTS: u64 = 1 << 20;

/// How similar two results are.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Documents compared: in both results, with topics in both.
    pub documents: u64,
    /// Such documents of the first result that are not in the second.
    pub unmatched: u64,
    /// Such documents that share their id with another one; left out, if ids join.
    pub(crate) ambiguous: u64,
    /// Cosine of the proportions (Yao 2009, Eq. 19).
    pub cosine: Figure,
    /// D_KL(first‖second) in nats (Eq. 20).
    pub kl_divergence: Figure,
    /// F1 of the topics that hold 80 % of the mass (§6.1), with the first result as reference.
    pub f1: Figure,
    /// How the topics were matched; `None` for two results of one model, whose topics are the same.
    pub topics: Option<TopicMatch>,
}

/// The matching of the topics of two models.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicMatch {
    /// For each topic of the first model, its partner in the second and their Hellinger distance.
    pub partners: Vec<Option<(usize, f64)>>,
    /// Pairs that are the same topic: a distance of at most 0.3.
    pub(crate) same: usize,
    /// Mean distance of all pairs.
    pub(crate) mean_distance: f64,
    /// Number of terms in both vocabularies, over which distances are computed.
    pub(crate) shared_terms: usize,
}

/// Compares the documents of result `a`, the reference, with those of result `b`: all that have topics in both.
///
/// # Errors
/// A result cannot be read, is not complete or has no projection; the models have no common term.
pub fn compare(a: &Path, b: &Path) -> Result<Comparison, Failure> {
    let manifests = [Manifest::read(a)?, Manifest::read(b)?];
    let (places, topics) = if one_model(a, b)? {
        (Places::same(topic_count(a)?), None)
    } else {
        let matched = match_models(a, b)?;
        let places = Places::of_partners(&matched.partners, topic_count(b)?);
        (places, Some(matched))
    };
    let mut join = Join {
        places,
        measures: Measures::default(),
        unmatched: 0,
        ambiguous: 0,
        spread: Default::default(),
    };
    if manifests[0].input_fingerprint == manifests[1].input_fingerprint {
        join.by_number(a, b)?
    } else {
        let documents = manifests.iter().map(|it| it.documents_by_status.values().sum::<u64>());
        let all: u64 = documents.sum();
        join.by_source(a, b, all / HELD_DOCUMENTS + 1)?;
    }
    Ok(Comparison {
        documents: join.measures.documents,
        unmatched: join.unmatched,
        ambiguous: join.ambiguous,
        cosine: join.measures.cosine(),
        kl_divergence: join.measures.kl_divergence(),
        f1: join.measures.f1(),
        topics,
    })
}

/// The places of each model's topics among the topics over which documents are compared.
#[derive(Clone, Debug, PartialEq)]
struct Places {
    /// Topic → place, for each of the two.
    of: [Vec<usize>; 2],
    count: usize,
}

impl Places {
    fn same(topics: usize) -> Self {
        let of: Vec<usize> = (0..topics).collect();
        Self { of: [of.clone(), of], count: topics }
    }

    fn of_partners(partners: &[Option<(usize, f64)>], topics: usize) -> Self {
        let mut second = vec![usize::MAX; topics];
        for (place, partner) in partners.iter().enumerate() {
            if let Some((topic, _)) = partner {
                second[*topic] = place;
            }
        }
        let mut count = partners.len();
        for place in second.iter_mut().filter(|place| **place == usize::MAX) {
            *place = count;
            count += 1;
        }
        Self { of: [(0..partners.len()).collect(), second], count }
    }

    /// Computes a document's proportions over all places, by result 0 or 1.
    ///
    /// Errors: the first topic that its model lacks.
    fn spread(
        &self,
        result: usize,
        topics: &[(i32, f32)],
        dropped: f32,
        out: &mut Vec<f64>,
    ) -> Result<(), i32> {
        let of = &self.of[result];
        out.clear();
        out.resize(self.count, 0.0);
        let absent = of.len().saturating_sub(topics.len()).max(1) as f64;
        let each = f64::from(dropped) / absent;
        of.iter().for_each(|&place| out[place] = each);
        for &(topic, weight) in topics {
            let place = usize::try_from(topic).ok().and_then(|t| of.get(t));
            out[*place.ok_or(topic)?] = f64::from(weight);
        }
        let sum: f64 = out.iter().sum();
        if sum > 0.0 {
            out.iter_mut().for_each(|share| *share /= sum);
        }
        Ok(())
    }
}

struct Join {
    places: Places,
    measures: Measures,
    unmatched: u64,
    ambiguous: u64,
    spread: [Vec<f64>; 2],
}

/// The part of a document that is kept: its topics and its dropped mass.
type Held = (Vec<(i32, f32)>, f32);

fn held(document: &ProjectedDocument) -> Held {
    (document.topics.clone(), document.document.dropped_mass.unwrap_or(0.0))
}

/// Returns the documents of a result with topics whose ids are chosen.
fn all_held(root: &Path, is_chosen: impl Fn(&str) -> bool) -> Result<Vec<(String, Held)>, Failure> {
    let (mut all, mut document) = (Vec::new(), ProjectedDocument::default());
    let mut reader = ProjectedReader::open(root, &[])?;
    while reader.read_into(&mut document)? {
        if is_chosen(&document.document.source_id) && is_inferred(&document) {
            all.push((document.document.source_id.clone(), held(&document)));
        }
    }
    Ok(all)
}

impl Join {
    /// Joins two results of one input: documents are in the same order.
    fn by_number(&mut self, a: &Path, b: &Path) -> Result<(), Failure> {
        let (mut first, mut second) =
            (ProjectedReader::open(a, &[])?, ProjectedReader::open(b, &[])?);
        let (mut p, mut q) = (ProjectedDocument::default(), ProjectedDocument::default());
        let mut more = second.read_into(&mut q)?;
        while first.read_into(&mut p)? {
            while more && q.document.doc_id < p.document.doc_id {
                more = second.read_into(&mut q)?;
            }
            if !is_inferred(&p) {
                continue;
            }
            let is_match = more && q.document.doc_id == p.document.doc_id && is_inferred(&q);
            if is_match { self.add(a, b, &held(&p), &held(&q))? } else { self.unmatched += 1 }
        }
        Ok(())
    }

    /// Joins two results of different inputs: documents with the same id match. Takes one of `parts` shares of the
    /// ids at a time.
    fn by_source(&mut self, a: &Path, b: &Path, parts: u64) -> Result<(), Failure> {
        for part in 0..parts {
            let is_of_part = |id: &str| name_hash(id) % parts == part;
            let [first, second] = [all_held(a, is_of_part)?, all_held(b, is_of_part)?];
            // None: several documents have the id.
            let mut partners: HashMap<&str, Option<&Held>> = HashMap::new();
            for (id, q) in &second {
                let partner = partners.entry(id);
                partner.and_modify(|it| *it = None).or_insert(Some(q));
            }
            let mut seen = HashSet::new();
            for (id, _) in first.iter().filter(|(id, _)| !seen.insert(id)) {
                partners.entry(id).and_modify(|it| *it = None);
            }
            for (id, p) in &first {
                match partners.get(id.as_str()) {
                    None => self.unmatched += 1,
                    Some(None) => self.ambiguous += 1,
                    Some(Some(q)) => self.add(a, b, p, q)?,
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, a: &Path, b: &Path, p: &Held, q: &Held) -> Result<(), Failure> {
        let unknown = |root: &Path, topic: i32| {
            let message = format!("document_topics has topic {topic}, which topics lacks");
            Failure::file(root, format!("{message}; run `topicmill verify`"))
        };
        let [first, second] = &mut self.spread;
        self.places.spread(0, &p.0, p.1, first).map_err(|topic| unknown(a, topic))?;
        self.places.spread(1, &q.0, q.1, second).map_err(|topic| unknown(b, topic))?;
        self.measures.add(first, second);
        Ok(())
    }
}

fn is_inferred(document: &ProjectedDocument) -> bool {
    document.document.dropped_mass.is_some()
}

/// Whether two results state that they have the same model.
fn one_model(a: &Path, b: &Path) -> Result<bool, Failure> {
    let hash_of = |root: &Path| {
        let pairs = table_schema(&root.join("topics"))?.metadata.into_iter();
        let mut hashes = pairs.filter(|(key, _)| key == "model_hash");
        Ok::<_, Failure>(hashes.next().map(|(_, hash)| hash))
    };
    let (first, second) = (hash_of(a)?, hash_of(b)?);
    Ok(first.is_some() && first == second)
}

fn topic_count(root: &Path) -> Result<usize, Failure> {
    Ok(table_schema(&root.join("topics"))?.rows as usize)
}

/// A topic: its listed terms, ascending, and the weight of every other term.
type SharedTopic = (Vec<(u32, f32)>, f64);

/// Matches the topics of two models over the terms that both have.
///
/// # Errors
/// A table cannot be read; the vocabularies have no common term.
fn match_models(a: &Path, b: &Path) -> Result<TopicMatch, Failure> {
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
