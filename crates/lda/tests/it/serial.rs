//! SparseLDA and the plain sampler against the exact posterior of tiny corpora: every configuration of
//! topics is enumerated.

use crate::chi_square::{chi_square_z, normalized};
use lda::bags::Bags;
use lda::math::special::{exp, ln_gamma};
use lda::model::Priors;
use published::sparse_lda::{Chain, DenseLda, SparseLda};

const TERMS: usize = 3;
/// Sweeps between two draws that are compared.
const APART: usize = 6;

/// Three documents of six tokens in all.
fn corpus() -> Bags {
    let mut bags = Bags::default();
    bags.push(0, &[0, 1], &[2, 1]);
    bags.push(1, &[1], &[1]);
    bags.push(2, &[0, 2], &[1, 1]);
    bags
}

/// p(z | w) ∝ Π_d Π_k Γ(α_k + n_dk)/Γ(α_k) · Π_k [Π_w Γ(β + n_wk)/Γ(β)] Γ(Vβ)/Γ(Vβ + n_k), for every z
/// (Griffiths & Steyvers 2004, Eqs. 2 and 3), the last token's topic fastest.
fn posterior(bags: &Bags, priors: &Priors) -> Vec<f64> {
    let topics = priors.topic_count();
    let tokens: Vec<(usize, usize)> = (0..bags.len())
        .flat_map(|d| {
            let bag = bags.bag(d);
            let pairs = bag.terms.iter().zip(bag.counts);
            pairs.flat_map(move |(&w, &n)| vec![(d, w as usize); n as usize]).collect::<Vec<_>>()
        })
        .collect();
    let rise = |a: f64, n: f64| ln_gamma(a + n) - ln_gamma(a);
    let mass = |configuration: usize| {
        let mut of_document = vec![vec![0.0; topics]; bags.len()];
        let mut of_term = vec![vec![0.0; topics]; TERMS];
        let mut rest = configuration;
        for &(d, w) in tokens.iter().rev() {
            of_document[d][rest % topics] += 1.0;
            of_term[w][rest % topics] += 1.0;
            rest /= topics;
        }
        let mut sum = 0.0;
        for k in 0..topics {
            let all: f64 = of_term.iter().map(|row| row[k]).sum();
            sum -= rise(TERMS as f64 * priors.eta, all);
            sum += of_term.iter().map(|row| rise(priors.eta, row[k])).sum::<f64>();
            let documents = of_document.iter().map(|row| rise(priors.alpha[k], row[k]));
            sum += documents.sum::<f64>();
        }
        exp(sum)
    };
    normalized((0..topics.pow(tokens.len() as u32)).map(mass).collect())
}

fn check(chain: &mut impl Chain, priors: &Priors, expected: &[f64]) {
    let mut seen = vec![0; expected.len()];
    for _ in 0..120_000 {
        (0..APART).for_each(|_| chain.sweep());
        let place = chain.assignments().iter();
        let place = place.fold(0, |place, &k| place * priors.topic_count() + usize::from(k));
        seen[place] += 1;
    }
    let z = chi_square_z(expected, &seen);
    assert!(z.abs() < 4.0, "χ² is {z} deviations off");
}

#[test]
fn both_samplers_draw_from_the_posterior() {
    let bags = corpus();
    for alpha in [vec![0.5, 0.9], vec![0.3, 0.7, 0.4]] {
        let priors = Priors { alpha, eta: 0.25, exp_psi: false, tree: None };
        let expected = posterior(&bags, &priors);
        check(&mut DenseLda::new(&bags, TERMS, &priors, 1), &priors, &expected);
        let mut sparse = SparseLda::new(&bags, TERMS, &priors, 2);
        check(&mut sparse, &priors, &expected);
        assert!(sparse.buckets().iter().all(|&draws| draws > 1000));
    }
}
