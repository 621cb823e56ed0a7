//! The numbers behind LDAvis, checked against their definitions on dense matrices; files that are complete or
//! absent.

use std::fs;
use std::io::Write;

use super::Sink;
use super::relevance::Relevance;
use crate::tables::phi::PublishedPhi;
use lda::evaluate::relevance::Relevance as TermRelevance;
use lda::math::special::ln;
use lda::model::published::PublishedTopic;

const TERMS: usize = 40;

/// Three topics of sparse terms, and one without tokens.
fn phi() -> (PublishedPhi, Vec<f64>) {
    let topics = (0..4_usize).map(|k| {
        let is_listed = |w: &usize| k < 3 && (w * 7 + k * 3) % 5 < 2;
        let weights: Vec<(u32, f32)> = (0..TERMS)
            .filter(is_listed)
            .map(|w| (w as u32, (1 + (w * (k + 3)) % 11) as f32 / 120.0))
            .collect();
        let listed: f64 = weights.iter().map(|&(_, weight)| f64::from(weight)).sum();
        PublishedTopic {
            absent_weight: (1.0 - listed) / (TERMS - weights.len()) as f64,
            weights,
            ..PublishedTopic::default()
        }
    });
    let terms = (0..TERMS).map(|term| term.to_string()).collect();
    let phi = PublishedPhi { topics: topics.collect(), terms, ..PublishedPhi::default() };
    (phi, vec![500.0, 20.0, 3000.0, 0.0])
}

fn dense(phi: &PublishedPhi) -> Vec<Vec<f64>> {
    let of = |topic: &PublishedTopic| {
        let mut row = vec![topic.absent_weight; TERMS];
        for &(term, weight) in &topic.weights {
            row[term as usize] = f64::from(weight);
        }
        row
    };
    phi.topics.iter().map(of).collect()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * (1.0 + b.abs())
}

#[test]
fn relevant_terms_are_those_of_the_definition() {
    let (phi, tokens) = phi();
    let relevance = Relevance::new(&phi, &tokens);
    let dense = dense(&phi);
    let total = |w: usize| dense.iter().zip(&tokens).map(|(row, n)| row[w] * n).sum::<f64>();
    let all: f64 = (0..TERMS).map(total).sum();
    for w in 0..TERMS {
        assert!(near(relevance.totals[w], total(w)));
    }
    for (k, of_topic) in dense.iter().take(3).enumerate() {
        let measured = |&(term, _): &(u32, f32)| {
            let w = term as usize;
            let weight = of_topic[w];
            let log_lift = ln(weight / (total(w) / all));
            (term, weight, TermRelevance { log_probability: ln(weight), log_lift })
        };
        let listed: Vec<(u32, f64, TermRelevance)> =
            phi.topics[k].weights.iter().map(measured).collect();
        let mut expected = Vec::new();
        for step in 0..=100 {
            let lambda = f64::from(step) / 100.0;
            let of = |t: &(u32, f64, TermRelevance)| {
                let of_term = t.2;
                lambda * of_term.log_probability + (1.0 - lambda) * of_term.log_lift
            };
            let mut best = listed.clone();
            best.sort_by(|a, b| of(b).total_cmp(&of(a)).then(a.0.cmp(&b.0)));
            expected.extend(best[..5].iter().map(|t| t.0));
        }
        expected.sort_unstable();
        expected.dedup();
        let found = relevance.terms(k, 5);
        let mut terms: Vec<u32> = found.iter().map(|t| t.0).collect();
        let probability = |t: &(u32, f64, TermRelevance)| t.2.log_probability;
        assert!(found.is_sorted_by(|a, b| probability(a) >= probability(b)));
        terms.sort_unstable();
        assert_eq!(terms, expected);
        for term in &found {
            let expected = listed.iter().find(|t| t.0 == term.0).unwrap();
            assert!(near(term.1, expected.1));
            assert!(near(term.2.log_lift, expected.2.log_lift));
        }
    }
    assert!(relevance.terms(3, 5).is_empty());
    assert!(near(relevance.share(2), 3000.0 / 3520.0));
}

#[test]
fn salient_terms_are_those_of_the_definition() {
    let (phi, tokens) = phi();
    let relevance = Relevance::new(&phi, &tokens);
    let dense = dense(&phi);
    let saliency = |w: usize| {
        let sum: f64 = (0..3).map(|k| dense[k][w]).sum();
        let part = |k: usize| {
            let q = dense[k][w] / sum;
            q * ln(q / relevance.share(k))
        };
        relevance.totals[w] * (0..3).map(part).sum::<f64>()
    };
    let mut expected: Vec<u32> = (0..TERMS as u32).collect();
    expected.sort_by(|&a, &b| saliency(b as usize).total_cmp(&saliency(a as usize)));
    assert_eq!(relevance.salient(12), expected[..12]);
}

#[test]
fn the_spread_of_a_term_is_over_topics_with_half_a_token() {
    let (phi, tokens) = phi();
    let spread = Relevance::new(&phi, &tokens).spread(&[39, 0]);
    let expected = |w: usize| -> Vec<(usize, f64)> {
        let listed = |k: &usize| phi.topics[*k].weights.iter().any(|&(term, _)| term == w as u32);
        let tokens = |k: usize| (k, dense(&phi)[k][w] * tokens[k]);
        let topics = (0..4).filter(listed).map(tokens);
        topics.filter(|&(_, tokens)| tokens >= 0.5).collect()
    };
    assert_eq!(spread, [expected(39), expected(0)]);
    assert!(!spread[1].is_empty());
}

#[test]
fn a_file_is_complete_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/x.json");
    let names = || -> Vec<_> {
        let entries = fs::read_dir(folder.path().join("new")).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    let put = |overwrite, text: &str| {
        let sink = Sink::new(&path, overwrite).unwrap();
        sink.check().and_then(|()| sink.file(|out| Ok(write!(out, "{text}")?)))
    };
    let fails = Sink::new(&path, false).unwrap().file(|out| {
        write!(out, "a part")?;
        Err(std::io::Error::other("the disk is gone").into())
    });
    let said = fails.unwrap_err().to_string();
    assert_eq!(said, format!("{}: the disk is gone", path.display()));
    assert!(names().is_empty());
    put(false, "one").unwrap();
    let refused = put(false, "two").unwrap_err();
    assert!(refused.to_string().starts_with(&format!("{} exists; ", path.display())));
    assert!(refused.to_string().ends_with("replace it with --overwrite"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "one");
    put(true, "three").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "three");
    assert_eq!(names(), ["x.json"]);
}
