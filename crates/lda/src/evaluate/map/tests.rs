//! Distances compared with a dense oracle, and positions with planar points.

use super::*;
use crate::math::random::{Stage, Stream};

const TERMS: usize = 60;

fn random_topics(count: usize, seed: u64) -> Vec<(Vec<(u32, f32)>, f64)> {
    let topic = |topic: u64| {
        let mut stream = Stream::keyed(seed, Stage::Synth, topic, 0);
        let mut entries: Vec<(u32, f32)> = Vec::new();
        for term in 0..TERMS as u32 {
            if stream.uniform() < 0.3 {
                entries.push((term, stream.uniform_f32() + 0.01));
            }
        }
        let (smoothing, sum) = (0.002, entries.iter().map(|e| e.1).sum::<f32>());
        let listed = 1.0 - smoothing as f32 * TERMS as f32;
        for entry in &mut entries {
            entry.1 = smoothing as f32 + listed * entry.1 / sum;
        }
        (entries, smoothing)
    };
    (0..count as u64).map(topic).collect()
}

fn distributions(topics: &[(Vec<(u32, f32)>, f64)]) -> Vec<TermDistribution<'_>> {
    topics
        .iter()
        .map(|(entries, absent_weight)| TermDistribution {
            entries,
            absent_weight: *absent_weight,
            vocabulary_size: TERMS,
        })
        .collect()
}

/// The distance by definition, over the whole vocabulary.
fn dense(p: &TermDistribution<'_>, q: &TermDistribution<'_>) -> f64 {
    let spread = |topic: &TermDistribution<'_>| {
        let mut dense = vec![0.0; TERMS];
        for &(term, weight) in topic.entries {
            dense[term as usize] = f64::from(weight) - topic.absent_weight;
        }
        let sum: f64 = dense.iter().sum();
        dense.into_iter().map(move |w| w / sum).collect::<Vec<f64>>()
    };
    let part = |x: f64, mean: f64| if x > 0.0 { x * ln(x / mean) } else { 0.0 };
    let (p, q) = (spread(p), spread(q));
    let pairs = p.iter().zip(&q);
    let sum: f64 = pairs.map(|(&a, &b)| part(a, 0.5 * (a + b)) + part(b, 0.5 * (a + b))).sum();
    (0.5 * sum / ln(2.0)).max(0.0).sqrt()
}

/// The Hellinger distance by definition, of topics without smoothing.
fn hellinger(p: &TermDistribution<'_>, q: &TermDistribution<'_>) -> f64 {
    let of = |topic: &TermDistribution<'_>, term| {
        let sum: f64 = topic.entries.iter().map(|it| f64::from(it.1) - topic.absent_weight).sum();
        let entry = topic.entries.iter().find(|it| it.0 == term);
        entry.map_or(0.0, |it| (f64::from(it.1) - topic.absent_weight) / sum)
    };
    let roots = (0..TERMS as u32).map(|term| (of(p, term) * of(q, term)).sqrt());
    (1.0 - roots.sum::<f64>()).max(0.0).sqrt()
}

fn between(p: &TermDistribution<'_>, q: &TermDistribution<'_>) -> f64 {
    distance(common(&shares(p), &shares(q)))
}

#[test]
fn distances_are_those_of_the_definition() {
    let topics = random_topics(12, 1);
    let topics = distributions(&topics);
    for p in &topics {
        for q in &topics {
            let found = between(p, q);
            assert!((found - dense(p, q)).abs() < 1e-7, "{found}");
        }
    }
    let (p, q) = (vec![(0, 0.5), (1, 0.5)], vec![(2, 1.0)]);
    let apart = [(p, 0.0), (q, 0.0)];
    let [p, q] = &distributions(&apart)[..] else {
        panic!("two topics");
    };
    assert_eq!((between(p, p), between(p, q)), (0.0, 1.0));
}

#[test]
fn the_nearest_are_those_of_all_pairs() {
    let topics = random_topics(30, 2);
    let topics = distributions(&topics);
    let found = nearest(&topics, 5);
    for (topic, nearest) in found.iter().enumerate() {
        let others = (0..topics.len()).filter(|&other| other != topic);
        let mut all: Vec<(usize, f64)> =
            others.map(|other| (other, dense(&topics[topic], &topics[other]))).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        let expected: Vec<usize> = all[..5].iter().map(|pair| pair.0).collect();
        let numbers: Vec<usize> = nearest.iter().map(|pair| pair.0).collect();
        assert_eq!(numbers, expected, "topic {topic}");
        assert!(nearest.iter().zip(&all).all(|(a, b)| (a.1 - b.1).abs() < 1e-7));
    }
}

#[test]
fn a_topic_apart_has_no_nearest_and_one_without_tokens_no_place() {
    let (first, second, apart) = ([(0, 0.5), (1, 0.4)], [(0, 0.4), (1, 0.5)], [(7, 0.9)]);
    let topics = [&first[..], &second, &apart, &[]].map(|entries| TermDistribution {
        entries,
        absent_weight: 0.001,
        vocabulary_size: TERMS,
    });
    let near = nearest(&topics, 3);
    assert_eq!((near[0][0].0, near[1][0].0), (1, 0));
    assert_eq!((near[0].len(), near[2].len(), near[3].len()), (1, 0, 0));
    let map = topic_map(&topics, &[5.0, 4.0, 1.0, 0.0]);
    assert_eq!((map.landmarks, map.places[3]), (3, None));
    assert!((map.shown - 1.0).abs() < 1e-9, "three topics are planar");
    let apart = |a: usize, b: usize| {
        let [p, q] = [a, b].map(|topic| map.places[topic].unwrap());
        ((p[0] - q[0]).powi(2) + (p[1] - q[1]).powi(2)).sqrt()
    };
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        assert!((apart(a, b) - hellinger(&topics[a], &topics[b])).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn one_topic_none_and_equal_ones_lie_at_the_origin() {
    let entries = [(0, 0.5), (1, 0.5)];
    let topic = TermDistribution { entries: &entries, absent_weight: 0.0, vocabulary_size: TERMS };
    let same = topic_map(&[topic, topic, topic], &[1.0, 2.0, 3.0]);
    assert_eq!(same.places, [Some([0.0, 0.0]); 3]);
    assert_eq!(topic_map(&[topic], &[1.0]).places, [Some([0.0, 0.0])]);
    assert_eq!(topic_map(&[], &[]).places, []);
}

#[test]
fn planar_points_keep_their_distances_whichever_are_landmarks() {
    let mut stream = Stream::keyed(3, Stage::Synth, 0, 0);
    let points: Vec<[f64; 2]> =
        (0..40).map(|_| [3.0 * stream.uniform(), stream.uniform()]).collect();
    let squared = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
    let columns = [30, 2, 17, 8, 25, 39];
    let rows: Vec<f64> = columns
        .iter()
        .flat_map(|&landmark| points.iter().map(move |&p| (landmark, p)))
        .map(|(landmark, p)| squared(points[landmark], p))
        .collect();
    let scaled = scale(&rows, &columns, points.len());
    assert!((scaled.shown - 1.0).abs() < 1e-9);
    for (i, &a) in points.iter().enumerate() {
        for (j, &b) in points.iter().enumerate() {
            let found = squared(scaled.places[i], scaled.places[j]);
            assert!((found - squared(a, b)).abs() < 1e-6, "{i} {j}");
        }
    }
}

#[test]
fn many_topics_are_placed_by_landmarks_near_where_all_would_place_them() {
    // 300 topics between three poles: the plane preserves most of their distances.
    let mut stream = Stream::keyed(4, Stage::Synth, 0, 0);
    let topics: Vec<(Vec<(u32, f32)>, f64)> = (0..300)
        .map(|_| {
            let mix = [0, 1, 2].map(|_| stream.uniform_f32() + 0.05);
            let sum: f32 = mix.iter().sum();
            let weight = |term: u32| mix[term as usize % 3] / sum / 10.0;
            ((0..30).map(|term| (term, weight(term))).collect(), 0.0)
        })
        .collect();
    let topics = distributions(&topics);
    let tokens: Vec<f64> = (0..300).map(f64::from).collect();
    let map = topic_map(&topics, &tokens);
    assert_eq!(map.landmarks, MOST_LANDMARKS);
    assert!(map.shown > 0.9, "{}", map.shown);
    for (a, b) in [(0, 299), (10, 20), (250, 3), (40, 41)] {
        let [p, q] = [a, b].map(|topic: usize| map.places[topic].unwrap());
        let found = ((p[0] - q[0]).powi(2) + (p[1] - q[1]).powi(2)).sqrt();
        let exact = hellinger(&topics[a], &topics[b]);
        assert!((found - exact).abs() < 0.05, "{a} {b}: {found}, {exact}");
    }
}
