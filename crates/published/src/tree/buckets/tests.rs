use super::*;
use crate::tree::document::Document;
use crate::tree::examples::{TERMS, random_token, random_tree, recount};
use crate::tree::naive::Naive;
use lda::math::random::{Stage, Stream};

const TOPICS: usize = 5;

/// Counts after many changes, buckets that were updated at each change, and a document.
fn example<'t>(tree: &'t Tree, variant: Variant, seed: u64) -> (State<'t>, Buckets) {
    let mut state = State {
        tree,
        alpha: (0..TOPICS).map(|k| 0.1 + 0.2 * k as f64).collect(),
        counts: recount(tree, TOPICS, &[]),
        document: Document::new(TOPICS, variant.sorts_documents()),
    };
    let mut buckets = Buckets::new(&state, variant);
    let mut stream = Stream::keyed(seed, Stage::Synth, 3, 0);
    let mut tokens = Vec::new();
    // Grows and shrinks, so that paths appear and disappear.
    for step in 0..450 {
        if stream.uniform() < [0.3, 0.7][step / 50 % 2] && !tokens.is_empty() {
            let gone = tokens.swap_remove(stream.below(tokens.len() as u64) as usize);
            state.counts.remove(tree, gone);
            buckets.update(&state, gone, false);
        } else {
            let token = random_token(&mut stream, tree, TOPICS as u64);
            state.counts.add(tree, token);
            buckets.update(&state, token, true);
            tokens.push(token);
        }
    }
    assert_eq!(state.counts, recount(tree, TOPICS, &tokens));
    tokens.iter().take(7).for_each(|token| state.document.add(token.topic));
    (state, buckets)
}

/// Masses by path, then by topic.
fn cells(tree: &Tree, masses: impl Iterator<Item = (Assignment, f64)>) -> Vec<f64> {
    let mut cells = vec![0.0; tree.leaf_count() * TOPICS];
    for (Assignment { topic, leaf }, mass) in masses {
        let cell = &mut cells[leaf as usize * TOPICS + usize::from(topic)];
        assert_eq!(*cell, 0.0, "a path of a topic comes once in a bucket");
        *cell = mass;
    }
    cells
}

#[test]
fn the_three_buckets_add_up_to_enumeration() {
    for (seed, variant) in (0..15).flat_map(|seed| Variant::ALL.map(|variant| (seed, variant))) {
        let tree = random_tree(seed);
        let (state, buckets) = example(&tree, variant, seed);
        for term in 0..TERMS {
            let s = cells(&tree, buckets.smoothing(&state, term));
            let r = cells(&tree, buckets.document(&state, term));
            let q = cells(&tree, buckets.term(&state, term));
            assert_eq!(q, cells(&tree, buckets.term_by_document(&state, term)));
            let mut naive = Naive::default();
            let dense = naive.masses(&state, term);
            let first = tree.leaves_of(term).start as usize * TOPICS;
            for (place, &mass) in dense.iter().enumerate() {
                let cell = first + place;
                let sum = s[cell] + r[cell] + q[cell];
                assert!((sum - mass).abs() < 1e-12 * mass, "{sum} for {mass}");
            }
            let whole: f64 = [&s, &r, &q].iter().map(|cells| cells.iter().sum::<f64>()).sum();
            assert!((whole / dense.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(s.iter().sum::<f64>() < bound(&tree, &state.alpha, term));
        }
    }
}

#[test]
fn what_is_kept_up_to_date_is_what_it_would_be_made_anew() {
    for (seed, variant) in (0..15).flat_map(|seed| Variant::ALL.map(|variant| (seed, variant))) {
        let tree = random_tree(seed);
        let (state, buckets) = example(&tree, variant, seed);
        let fresh = Buckets::new(&state, variant);
        for term in 0..TERMS {
            let in_order = |buckets: &Buckets| {
                let mut paths = buckets.observed.of(term).to_vec();
                paths.sort_by_key(|path| path.token);
                paths
            };
            assert_eq!(in_order(&buckets), in_order(&fresh));
            for path in buckets.observed.of(term) {
                assert_eq!(buckets.observed.find(&tree, path.token), Some(path));
            }
            if variant.sorts_terms() {
                let paths = buckets.observed.of(term);
                assert!(paths.is_sorted_by(|a, b| a.masked_count() >= b.masked_count()));
            }
        }
    }
}

#[test]
fn every_sampler_draws_from_the_enumerated_conditional() {
    // Evenly spaced numbers instead of random ones: counts are exact to within a few.
    let steps = 20_000;
    for (seed, variant) in (0..4).flat_map(|seed| Variant::ALL.map(|variant| (seed, variant))) {
        let tree = random_tree(seed);
        let (state, buckets) = example(&tree, variant, seed);
        for term in 0..TERMS {
            let mut naive = Naive::default();
            let dense = naive.masses(&state, term).to_vec();
            let total: f64 = dense.iter().sum();
            let first = tree.leaves_of(term).start;
            let mut seen = vec![0; dense.len()];
            for step in 0..steps {
                let uniform = (f64::from(step) + 0.5) / f64::from(steps);
                let drawn = match variant {
                    Variant::Naive => naive.draw(&state, term, uniform).unwrap(),
                    _ => buckets.draw(&state, term, uniform).unwrap(),
                };
                let place = (drawn.leaf - first) as usize * TOPICS + usize::from(drawn.topic);
                seen[place] += 1;
            }
            for (&mass, &count) in dense.iter().zip(&seen) {
                let expected = mass / total * f64::from(steps);
                let off = (expected - f64::from(count)).abs();
                assert!(off < 6.0, "{variant:?}: {count} for {expected}");
            }
        }
    }
}

#[test]
fn a_flat_trees_conditional_is_that_of_lda() {
    let tree = Tree::flat(6, 0.3).unwrap();
    for variant in Variant::ALL {
        let (state, buckets) = example(&tree, variant, 1);
        for term in 0..6 {
            let lda = |k: u16| {
                let of_topic: u32 = (0..6).map(|w| state.counts.get(tree.node(w), k)).sum();
                let of_term = f64::from(state.counts.get(tree.node(term), k));
                let weight = state.alpha[usize::from(k)] + state.document.count(k);
                weight * (0.3 + of_term) / (6.0 * 0.3 + f64::from(of_topic))
            };
            let mut naive = Naive::default();
            let dense = naive.masses(&state, term);
            let buckets = [
                cells(&tree, buckets.smoothing(&state, term)),
                cells(&tree, buckets.document(&state, term)),
                cells(&tree, buckets.term(&state, term)),
            ];
            for (k, &mass) in dense.iter().enumerate() {
                let cell = term as usize * TOPICS + k;
                let sum: f64 = buckets.iter().map(|bucket| bucket[cell]).sum();
                for mass in [mass, sum] {
                    assert!((mass / lda(k as u16) - 1.0).abs() < 1e-12);
                }
            }
        }
    }
}

/// Shares of s, r and q among evenly spaced samples.
fn shares(choose: impl Fn(f64) -> Choice, whole: f64) -> [f64; 3] {
    let steps = 100_000;
    let mut shares = [0.0; 3];
    for step in 0..steps {
        let bucket = match choose((f64::from(step) + 0.5) / f64::from(steps) * whole) {
            Choice::Smoothing(_) => 0,
            Choice::Document(_) => 1,
            Choice::Term(_) => 2,
        };
        shares[bucket] += 1.0 / f64::from(steps);
    }
    shares
}

#[test]
fn a_refined_bucket_leaves_every_bucket_its_share() {
    let (s, bound, r, q) = (0.2, 0.9, 0.3, 0.5);
    let refined = shares(|sample| choose(sample, bound, [r, q], || s), bound + r + q);
    for (share, exact) in refined.into_iter().zip([0.2, 0.3, 0.5]) {
        assert!((share - exact).abs() < 1e-4, "{refined:?}");
    }
    // Algorithm 1 as printed: the remainder of s' goes to r first.
    let printed = |sample: f64| {
        if sample >= bound {
            let sample = sample - bound;
            return if sample < r { Choice::Document(sample) } else { Choice::Term(sample - r) };
        }
        let sample = sample * (s + r + q) / (bound + r + q);
        match sample - s {
            rest if rest < 0.0 => Choice::Smoothing(sample),
            rest if rest < r => Choice::Document(rest),
            rest => Choice::Term(rest - r),
        }
    };
    let printed = shares(printed, bound + r + q);
    assert!((printed[0] - 0.2).abs() < 1e-4);
    assert!(printed[1] > 0.4, "{printed:?}");
}

#[test]
fn a_choice_is_always_one_with_a_mass() {
    let zero = || 0.0;
    assert!(matches!(choose(0.3, 0.4, [0.0, 0.0], || 0.3), Choice::Smoothing(_)));
    assert!(matches!(choose(0.5, 0.4, [0.1, 0.0], zero), Choice::Document(_)));
    assert!(matches!(choose(0.4, 0.4, [0.0, 0.1], zero), Choice::Term(_)));
    assert!(matches!(choose(0.1, 0.4, [0.1, 0.0], zero), Choice::Document(_)));
    assert!(matches!(choose(0.1, 0.4, [0.0, 0.1], zero), Choice::Term(_)));
}

#[test]
fn an_impossible_draw_is_an_error() {
    let tree = random_tree(1);
    let (mut state, _) = example(&tree, Variant::FastRb, 1);
    state.alpha = vec![f64::NAN; TOPICS];
    for variant in Variant::ALL {
        let buckets = Buckets::new(&state, variant);
        assert!(buckets.draw(&state, 0, 0.5).is_err());
    }
    assert!(Naive::default().draw(&state, 0, 0.5).is_err());
}
