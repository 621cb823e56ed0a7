use super::*;
use crate::math::random::{Stage, Stream};
use crate::model::factors::{FactorTable, Factors};
use crate::model::parameters::{Entry, GlobalStep};
use crate::model::statistics::Assigned;
use crate::model::tree::examples::{TERMS, random_tree};

const TOPICS: usize = 7;

/// Random counts by leaf and topic; most are 0.
fn random_counts(tree: &Tree, seed: u64) -> Vec<Vec<i32>> {
    let mut stream = Stream::keyed(seed, Stage::Synth, 4, 0);
    let mut count = || (stream.below(3) == 0).then(|| 1 + stream.below(30) as i32);
    (0..tree.leaf_count()).map(|_| (0..TOPICS).map(|_| count().unwrap_or(0)).collect()).collect()
}

/// These counts as parameters in parts, after a step of size `step_size`.
fn parameters(counts: &[Vec<i32>], step_size: f64, part_count: usize) -> Vec<Parameters> {
    let step = GlobalStep { step_size, weight: 1.0 };
    let total = |k: usize| counts.iter().map(|row| i64::from(row[k])).sum();
    let totals: Vec<i64> = (0..TOPICS).map(total).collect();
    let part = |p| {
        let mut part = Parameters::new(TOPICS, counts.len(), p, part_count);
        let own: Vec<u32> = part.terms().collect();
        let entries = own.iter().flat_map(|&term| {
            let row = (0..).zip(&counts[term as usize]);
            row.filter(|&(_, &count)| count > 0)
                .map(move |(topic, &count)| Assigned { term, topic, count }.word())
        });
        part.decay(step, &totals);
        part.add(step, &entries.collect::<Vec<_>>());
        part
    };
    (0..part_count).map(part).collect()
}

fn priors(tree: &Tree, exp_psi: bool) -> Priors {
    Priors {
        alpha: vec![0.5; TOPICS],
        eta: tree.eta(),
        exp_psi,
        tree: Some(Arc::new(tree.clone())),
    }
}

/// The factors of all parts, one after another.
fn prepare(parts: &[Parameters], priors: &Priors) -> Vec<Factors> {
    let parts: Vec<_> = parts.iter().collect();
    let branches = |part| Factors::branches(&parts, part, priors).map(Arc::new);
    let branches: Vec<_> = (0..parts.len()).filter_map(branches).collect();
    let factors = |part| Factors::prepare_part(&parts, part, priors, &branches, |_| true, None);
    (0..parts.len()).map(factors).collect()
}

/// Calls `read` with the table of these factors.
fn with_table<T>(factors: &[Factors], read: impl FnOnce(FactorTable<'_>) -> T) -> T {
    read(FactorTable::new(&factors.iter().collect::<Vec<_>>()))
}

/// e_kl of each leaf of a term, from the term's row.
fn masses(table: FactorTable<'_>, term: u32, topic: u16, own: Own) -> Vec<f64> {
    let row = table.find(term).unwrap();
    table.leaf_masses(term, row, topic, own).collect()
}

/// e_kl by definition: every edge's parameter is summed over all leaves below it.
fn dense_path(tree: &Tree, by_leaf: &[Vec<f64>], exp_psi: bool, leaf: u32, k: usize) -> f64 {
    let leaves = || 0..tree.leaf_count() as u32;
    let passes = |leaf, node| tree.path(leaf).any(|on| on == node);
    let below = |node: u32| -> f64 {
        let passing = leaves().filter(|&leaf| node == ROOT || passes(leaf, node));
        passing.map(|leaf| by_leaf[leaf as usize][k]).sum()
    };
    let siblings =
        |parent| (1..tree.node_count() as u32).filter(move |&n| tree.parent(n) == parent);
    let raised = |node: u32| tree.prior(node) + below(node);
    tree.path(leaf)
        .map(|node| {
            let whole: f64 = siblings(tree.parent(node)).map(raised).sum();
            if exp_psi { exp(digamma(raised(node)) - digamma(whole)) } else { raised(node) / whole }
        })
        .product()
}

#[test]
fn factors_are_those_of_the_dense_definition() {
    let mut structured = 0;
    for (seed, exp_psi) in (0..10).flat_map(|seed| [(seed, false), (seed, true)]) {
        let tree = random_tree(seed);
        let counts = random_counts(&tree, seed);
        let by_leaf: Vec<Vec<f64>> = counts
            .iter()
            .map(|row| row.iter().map(|&count| 0.25 * f64::from(count)).collect())
            .collect();
        let factors = prepare(&parameters(&counts, 0.25, 1), &priors(&tree, exp_psi));
        let close =
            |got: f64, want: f64| assert!((got - want).abs() <= 1e-6 * want, "{got}, {want}");
        with_table(&factors, |table| {
            for (term, k) in (0..TERMS).flat_map(|term| (0..TOPICS).map(move |k| (term, k))) {
                // The factors of the paper's geometry are larger by a power of two.
                let lift = if exp_psi { 2f64.powi(63) } else { 1.0 };
                let path = |leaf| lift * dense_path(&tree, &by_leaf, exp_psi, leaf, k);
                let whole: f64 = tree.leaves_of(term).map(path).sum();
                let row = table.find(term).unwrap();
                close(table.all(row)[k], whole);
                assert_eq!(row.is_whole(), tree.is_structured(term));
                if !row.is_whole() {
                    let has_tokens = by_leaf[tree.leaves_of(term).start as usize][k] > 0.0;
                    assert_eq!(table.sparse(row).topics.contains(&(k as u16)), has_tokens);
                    continue;
                }
                let masses = masses(table, term, k as u16, None);
                for (leaf, mass) in tree.leaves_of(term).zip(masses) {
                    close(mass, path(leaf));
                }
            }
        });
        structured += (0..TERMS).filter(|&term| tree.is_structured(term)).count();
    }
    assert!((20..220).contains(&structured), "both forms are met");
}

#[test]
fn factors_are_the_same_bits_whatever_the_parts() {
    let tree = random_tree(3);
    let counts = random_counts(&tree, 3);
    let bits = |part_count| {
        let factors = prepare(&parameters(&counts, 0.3, part_count), &priors(&tree, false));
        with_table(&factors, |table| {
            let row = |term| {
                let row = table.find(term).unwrap();
                let sparse = table.sparse(row);
                let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                [
                    table.dense(row).map_or_else(Vec::new, bits),
                    bits(sparse.weights),
                    bits(sparse.prefix),
                ]
            };
            (0..TERMS).map(row).collect::<Vec<_>>()
        })
    };
    assert_eq!(bits(1), bits(3));
    assert_eq!(bits(1), bits(4));
}

#[test]
fn a_flat_trees_factors_are_those_of_lda() {
    let tree = Tree::flat(9, 0.2).unwrap();
    for exp_psi in [false, true] {
        let of_tree = priors(&tree, exp_psi);
        let flat = Priors { tree: None, ..of_tree.clone() };
        let parts = parameters(&random_counts(&tree, 1), 0.5, 1);
        let all = |priors: &Priors| {
            with_table(&prepare(&parts, priors), |table| -> Vec<f64> {
                let rows = (0..9).map(|term| table.find(term).unwrap());
                rows.flat_map(|row| table.all(row)).collect()
            })
        };
        for (got, want) in all(&of_tree).iter().zip(all(&flat)) {
            assert!((got - want).abs() < 1e-6 * want, "{got} for {want}");
        }
    }
}

#[test]
fn a_tokens_own_count_is_left_out_of_every_edge_but_the_roots_normaliser() {
    for seed in 0..6 {
        let tree = random_tree(seed);
        let counts = random_counts(&tree, seed);
        let with = parameters(&counts, 1.0, 1);
        let priors = priors(&tree, false);
        let factors = prepare(&with, &priors);
        let structured = |leaf: &u32| tree.is_structured(tree.term(*leaf));
        for own in (0..tree.leaf_count() as u32).filter(structured) {
            let Some(topic) = counts[own as usize].iter().position(|&count| count > 0) else {
                continue;
            };
            let mut fewer = counts.clone();
            fewer[own as usize][topic] -= 1;
            let row = |leaf: u32| -> Vec<Entry> {
                let row = (0..).zip(&fewer[leaf as usize]);
                let entries = row.map(|(topic, &count)| Entry { topic, value: count as f32 });
                entries.filter(|entry| entry.value > 0.0).collect()
            };
            let totals = with[0].totals().to_vec();
            let without = Parameters::new(TOPICS, fewer.len(), 0, 1).restore(1.0, totals, row);
            let term = tree.term(own);
            let sum = |factors: &[Factors], own| {
                with_table(factors, |table| {
                    let masses = masses(table, term, topic as u16, own);
                    masses.iter().sum::<f64>()
                })
            };
            let expected = sum(&prepare(&[without], &priors), None);
            let got = sum(&factors, Some(own));
            assert!((got - expected).abs() < 1e-6 * expected, "{got} for {expected}");
            let whole = sum(&factors, None);
            assert!(got < whole, "the token counted for something");
            with_table(&factors, |table| {
                let row = table.find(term).unwrap();
                let sense = (own - tree.leaves_of(term).start) as u16;
                let part = f64::from(table.own_part(term, row, topic as u16, sense));
                assert!((part - (whole - got)).abs() < 1e-6 * whole);
            });
        }
    }
}

#[test]
fn leaves_are_drawn_by_their_factors() {
    let tree = random_tree(2);
    let factors = prepare(&parameters(&random_counts(&tree, 2), 1.0, 1), &priors(&tree, false));
    let factors: Vec<_> = factors.iter().collect();
    let table = FactorTable::new(&factors);
    let mut stream = Stream::keyed(1, Stage::Synth, 5, 0);
    let mut choices = 0;
    for term in (0..TERMS).filter(|&term| tree.is_structured(term)) {
        let row = table.find(term).unwrap();
        let before = stream.clone();
        for topic in [0, 3] {
            let masses = masses(table, term, topic, None);
            let total: f64 = masses.iter().sum();
            let draws = 4000;
            let mut seen = vec![0.0; masses.len()];
            for _ in 0..draws {
                seen[usize::from(table.draw_sense(term, row, topic, None, &mut stream))] += 1.0;
            }
            for (mass, seen) in masses.iter().zip(seen) {
                let (p, n) = (mass / total, f64::from(draws));
                let deviation = (n * p * (1.0 - p)).sqrt();
                assert!((seen - n * p).abs() <= 5.0 * deviation + 1e-9);
                choices += usize::from(deviation > 5.0);
            }
        }
        assert_eq!(
            tree.leaves_of(term).len() == 1,
            stream == before,
            "no choice, no random number"
        );
    }
    assert!(choices > 4, "a test that cannot fail");
}
