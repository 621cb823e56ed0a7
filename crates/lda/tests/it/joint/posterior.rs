//! The sampler against exact posteriors.

use super::{counted, passes, priors, together};
use crate::chi_square::{chi_square_z, normalized};
use lda::bags::Bags;
use lda::math::special::{exp, ln_gamma};
use lda::model::factors::{FactorTable, Factors};

/// All topic assignments of `tokens` tokens; the last token's topic varies fastest.
fn configurations(topics: usize, tokens: usize) -> Vec<Vec<usize>> {
    let digits = |mut rest: usize| {
        let mut all = vec![0; tokens];
        for place in all.iter_mut().rev() {
            *place = rest % topics;
            rest /= topics;
        }
        all
    };
    (0..topics.pow(tokens as u32)).map(digits).collect()
}

fn index_of(topics: usize, assignments: impl Iterator<Item = u16>) -> usize {
    assignments.fold(0, |index, k| index * topics + usize::from(k))
}

/// Π_k Γ(α_k + n_k) / Γ(α_k) of one document's topics.
fn document_mass(alpha: &[f64], own: &[usize]) -> f64 {
    let log = |k: usize| {
        let n = own.iter().filter(|&&z| z == k).count() as f64;
        ln_gamma(alpha[k] + n) - ln_gamma(alpha[k])
    };
    exp((0..alpha.len()).map(log).sum())
}

/// One new document hardly changes a model of many tokens: Gibbs2 is Gibbs3.
#[test]
fn one_document_against_a_large_model_has_the_posterior_of_a_document_alone() {
    let topics = 4;
    let row = |w: usize| (0..topics).map(move |k| 20_000 * (1 + (7 * k + 3 * w) as i32 % 5));
    let counts: Vec<Vec<i32>> = (0..4).map(|w| row(w).collect()).collect();
    let (fixed, priors) = (counted(topics, &counts), priors(topics, 0.1));
    let mut bags = Bags::default();
    bags.push(5, &[0, 1, 3], &[1, 1, 1]);
    let factors = Factors::prepare(&fixed, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let rows = [3, 1, 0].map(|w| table.all(table.find(w).unwrap()));
    let mass = |own: &Vec<usize>| {
        let words: f64 = own.iter().zip(&rows).map(|(&k, row)| row[k]).product();
        document_mass(&priors.alpha, own) * words
    };
    let expected = normalized(configurations(topics, 3).iter().map(mass).collect());
    let mut seen = vec![0; expected.len()];
    for seed in 0..30_000 {
        let sampled = together(&bags, &fixed, &priors, passes(4, 1, 1, seed));
        seen[index_of(topics, sampled.assignments[0].iter().copied())] += 1;
    }
    let z = chi_square_z(&expected, &seen);
    assert!(z.abs() < 4.0, "χ² is {z} deviations off");
}

/// Two documents of the same terms, each in a round of its own, against
/// p(z_1, z_2 | w) ∝ Π_d Π_k Γ(α_k + n_dk) Π_k Π_w Γ(η + ñ_kw + n_kw) / Γ(Vη + ñ_k + n_k).
/// Topics are large, because n_k includes a token's own count.
#[test]
fn two_documents_have_their_joint_posterior() {
    let topics = 3;
    let counts = [vec![2, 0, 0], vec![0, 1, 0], vec![100_000; 3]];
    let (fixed, priors) = (counted(topics, &counts), priors(topics, 0.3));
    let mut bags = Bags::default();
    bags.push(0, &[0, 1], &[1, 1]);
    bags.push(1, &[0, 1], &[1, 1]);
    // Tokens are in the order of assignments: terms 1, 0 and 1, 0.
    let words = [1, 0, 1, 0];
    let documents =
        |z: &[usize]| document_mass(&priors.alpha, &z[..2]) * document_mass(&priors.alpha, &z[2..]);
    let joint = |z: &Vec<usize>| {
        let mut log = 0.0;
        for k in 0..topics {
            let of = |w: usize| (0..4).filter(|&i| z[i] == k && words[i] == w).count() as f64;
            let mut whole = 3.0 * priors.eta;
            for (w, row) in counts.iter().enumerate() {
                let before = priors.eta + f64::from(row[k]);
                log += ln_gamma(before + of(w)) - ln_gamma(before);
                whole += f64::from(row[k]);
            }
            let n = z.iter().filter(|&&topic| topic == k).count() as f64;
            log -= ln_gamma(whole + n) - ln_gamma(whole);
        }
        documents(z) * exp(log)
    };
    let alone = |z: &Vec<usize>| {
        let factor = |i: usize| priors.eta + f64::from(counts[words[i]][z[i]]);
        documents(z) * (0..4).map(factor).product::<f64>()
    };
    let all = configurations(topics, 4);
    let mut seen = vec![0; all.len()];
    let apart = |seed: &u64| {
        let passes = passes(9, 1, 4, *seed);
        (0..passes.count()).all(|pass| {
            let rounds = passes.deal(pass, [0, 1].into_iter());
            rounds.iter().all(|round| round.len() < 2)
        })
    };
    for seed in (0..).filter(apart).take(15_000) {
        let sampled = together(&bags, &fixed, &priors, passes(9, 1, 4, seed));
        seen[index_of(topics, sampled.assignments.concat().into_iter())] += 1;
    }
    let z = chi_square_z(&normalized(all.iter().map(joint).collect()), &seen);
    assert!(z.abs() < 4.0, "χ² is {z} deviations off");
    let z = chi_square_z(&normalized(all.iter().map(alone).collect()), &seen);
    assert!(z > 20.0, "documents do not see each other: {z}");
}
