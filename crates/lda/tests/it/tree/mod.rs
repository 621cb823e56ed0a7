//! Tree-structured priors: collapsed Gibbs sampling against the exact posterior of tiny corpora,
//! planted constraints, and rounds with fixed parameters.

mod rounds;
mod warm_start;

use crate::chi_square::{chi_square_z, normalized};
use lda::bags::Bags;
use lda::constraints::{Strengths, structures};
use lda::math::random::{Stage, Stream};
use lda::math::special::{exp, ln_gamma};
use lda::model::tree::{Node, Tree};
use published::tree::counts::{Assignment, Counts};
use published::tree::gibbs::Gibbs;
use published::tree::sampler::Variant;

/// Term 0 has two senses, at different depths; term 3 is attached to the root.
fn small_tree() -> Tree {
    let node = |prior, leaf_prior, terms: &[u32], children| Node {
        name: "node".to_owned(),
        prior,
        leaf_prior,
        children,
        terms: terms.to_vec(),
    };
    let inside = node(0.05, 0.4, &[0, 2], Vec::new());
    let structures = [node(0.5, 1.5, &[0, 1], Vec::new()), node(0.9, 0.6, &[1], vec![inside])];
    Tree::new(4, 0.3, &structures).unwrap()
}

/// Three structures of up to four levels; terms have up to three senses.
fn larger_tree() -> Tree {
    let node = |terms: &[u32], children| Node {
        name: "node".to_owned(),
        prior: 0.3 + 0.1 * terms.len() as f64,
        leaf_prior: 0.2 * terms.len() as f64,
        children,
        terms: terms.to_vec(),
    };
    let deep = node(&[3, 5], vec![node(&[5, 6, 11], Vec::new())]);
    let wide = [&[0u32, 1, 3][..], &[2, 3], &[4, 11]].map(|terms| node(terms, Vec::new()));
    let structures =
        [node(&[1, 2], vec![deep]), node(&[7], wide.to_vec()), node(&[5, 8, 9, 11], Vec::new())];
    Tree::new(12, 0.3, &structures).unwrap()
}

/// Every topic and path of a term.
fn places(tree: &Tree, topics: u16, term: u32) -> Vec<Assignment> {
    let leaves = tree.leaves_of(term);
    leaves.flat_map(|leaf| (0..topics).map(move |topic| Assignment { topic, leaf })).collect()
}

/// Every way to assign the tokens of some documents; the last token's place varies fastest.
fn configurations(tree: &Tree, topics: u16, terms: &[u32]) -> Vec<Vec<Assignment>> {
    terms.iter().fold(vec![Vec::new()], |begun, &term| {
        let further = |tokens: &Vec<Assignment>| {
            let tokens = tokens.clone();
            let next = places(tree, topics, term);
            next.into_iter().map(move |place| [&tokens[..], &[place]].concat())
        };
        begun.iter().flat_map(further).collect()
    })
}

/// ln of Γ(Σ prior) / Γ(Σ (prior + n)) Π Γ(prior + n) / Γ(prior): a Dirichlet–multinomial.
fn ln_polya(cells: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut ln, mut prior_sum, mut count_sum) = (0.0, 0.0, 0.0);
    for (prior, count) in cells {
        ln += ln_gamma(prior + count) - ln_gamma(prior);
        prior_sum += prior;
        count_sum += count;
    }
    ln + ln_gamma(prior_sum) - ln_gamma(prior_sum + count_sum)
}

/// ln p(z) of one document.
fn ln_topics(alpha: &[f64], tokens: &[Assignment]) -> f64 {
    let count = |k: usize| tokens.iter().filter(|t| usize::from(t.topic) == k).count() as f64;
    ln_polya(alpha.iter().enumerate().map(|(k, &a)| (a, count(k))))
}

#[test]
fn every_sampler_draws_from_the_joint_posterior() {
    let (tree, alpha) = (small_tree(), [0.4, 0.7]);
    let mut bags = Bags::default();
    bags.push(0, &[0], &[2]);
    bags.push(1, &[1, 3], &[1, 1]);
    let terms = [0, 0, 1, 3];
    let configurations = configurations(&tree, 2, &terms);
    // p(z, l) = Π_d p(z_d) Π_k Π_i p(choices at node i in topic k)
    let posterior = normalized(
        configurations
            .iter()
            .map(|tokens| {
                let mut counts = Counts::new(&tree, 2);
                tokens.iter().for_each(|&token| counts.add(&tree, token));
                let inner = 0..tree.inner_count() as u32;
                let nodes = inner.flat_map(|i| [(i, 0), (i, 1)]);
                let walks: f64 = nodes
                    .map(|(i, k)| {
                        let below = (1..tree.node_count() as u32).filter(|&j| tree.parent(j) == i);
                        ln_polya(below.map(|j| (tree.prior(j), f64::from(counts.get(j, k)))))
                    })
                    .sum();
                exp(walks + ln_topics(&alpha, &tokens[..2]) + ln_topics(&alpha, &tokens[2..]))
            })
            .collect(),
    );
    for variant in Variant::ALL {
        let mut seen = vec![0; configurations.len()];
        for chain in 0..20_000 {
            let mut gibbs = Gibbs::new(&bags, &tree, alpha.to_vec(), variant, chain);
            (0..6).for_each(|_| gibbs.pass().unwrap());
            let tokens = [gibbs.assignments(0), gibbs.assignments(1)].concat();
            let place = configurations.iter().position(|c| *c == tokens);
            seen[place.unwrap()] += 1;
        }
        let z = chi_square_z(&posterior, &seen);
        assert!(z.abs() < 4.0, "{variant:?}: χ² is {z} deviations off");
    }
}

/// Documents of a few terms, each of one theme.
fn themed(themes: &[&[u32]], sizes: &[u64]) -> Bags {
    let mut bags = Bags::default();
    let mut stream = Stream::keyed(5, Stage::Synth, 0, 0);
    for (theme, &size) in themes.iter().zip(sizes) {
        for _ in 0..size {
            let mut counts = [0; 12];
            for _ in 0..6 {
                counts[theme[stream.below(theme.len() as u64) as usize] as usize] += 1;
            }
            let present: Vec<u32> = (0..12).filter(|&w| counts[w as usize] > 0).collect();
            let counts: Vec<u32> = present.iter().map(|&w| counts[w as usize]).collect();
            bags.push(bags.len() as u64, &present, &counts);
        }
    }
    bags
}

fn trained<'a>(
    bags: &'a Bags,
    tree: &'a Tree,
    topics: usize,
    variant: Variant,
    seed: u64,
) -> Gibbs<'a> {
    let mut gibbs = Gibbs::new(bags, tree, vec![0.1; topics], variant, seed);
    (0..60).for_each(|_| gibbs.pass().unwrap());
    gibbs
}

#[test]
fn counts_after_many_passes_are_those_of_the_assignments() {
    let bags = themed(&[&[0, 1, 2], &[1, 2, 3]], &[12, 9]);
    let tree = small_tree();
    for variant in Variant::ALL {
        let gibbs = trained(&bags, &tree, 3, variant, 1);
        let mut counts = Counts::new(&tree, 3);
        for index in 0..bags.len() {
            let bag = bags.bag(index);
            let terms = bag.terms.iter().zip(bag.counts);
            let terms = terms.flat_map(|(&w, &n)| std::iter::repeat_n(w, n as usize));
            let own = gibbs.assignments(index);
            assert!(own.iter().map(|token| tree.term(token.leaf)).eq(terms));
            own.iter().for_each(|&token| counts.add(&tree, token));
        }
        assert_eq!(gibbs.counts(), &counts, "{variant:?}");
        let again = trained(&bags, &tree, 3, variant, 1);
        assert_eq!(again.counts(), &counts);
    }
}

/// The topic that has most tokens of a term.
fn main_topic(gibbs: &Gibbs<'_>, tree: &Tree, term: u32) -> u16 {
    let count = |topic: u16| -> u32 {
        let leaves = tree.leaves_of(term);
        leaves.map(|leaf| gibbs.counts().get(tree.node(leaf), topic)).sum()
    };
    (0..gibbs.counts().topic_count() as u16).max_by_key(|&k| count(k)).unwrap()
}

const STRENGTHS: Strengths = Strengths { ordinary: 0.05, must: 100.0, cannot: 1e-12 };

#[test]
fn must_linked_terms_end_up_in_one_topic() {
    // Three themes for two topics: without a link, the first may share its topic with either of the others. Terms 8
    // and 9 never occur in one document.
    let bags = themed(&[&[0, 1, 2, 3], &[8], &[9]], &[30, 35, 35]);
    let linked = structures(12, &[vec![8, 9]], &[], STRENGTHS).unwrap();
    let together = |structures: &[Node]| {
        let tree = Tree::new(12, STRENGTHS.ordinary, structures).unwrap();
        let runs = Variant::ALL.map(|variant| {
            let gibbs = trained(&bags, &tree, 2, variant, 3);
            main_topic(&gibbs, &tree, 8) == main_topic(&gibbs, &tree, 9)
        });
        runs.into_iter().filter(|&is_one| is_one).count()
    };
    assert_eq!(together(&linked), Variant::ALL.len());
    assert!(together(&[]) < Variant::ALL.len());
}

#[test]
fn cannot_linked_terms_end_up_in_different_topics() {
    // Terms 8 and 9 share the documents of one theme, unless that is forbidden.
    let bags = themed(&[&[0, 1, 2, 3], &[4, 8, 9]], &[30, 30]);
    let apart = structures(12, &[], &[vec![8, 9]], STRENGTHS).unwrap();
    let is_together = |structures: &[Node]| {
        let tree = Tree::new(12, STRENGTHS.ordinary, structures).unwrap();
        let gibbs = trained(&bags, &tree, 2, Variant::FastRbSdw, 2);
        main_topic(&gibbs, &tree, 8) == main_topic(&gibbs, &tree, 9)
    };
    assert!(is_together(&[]));
    assert!(!is_together(&apart));
}

/// Term 0 has a sense with terms 1 and 2, and one with 3 and 4.
fn two_senses() -> Tree {
    let sense = |terms: &[u32]| Node {
        name: "sense".to_owned(),
        prior: 0.05 * terms.len() as f64,
        leaf_prior: 100.0,
        children: Vec::new(),
        terms: terms.to_vec(),
    };
    Tree::new(12, 0.05, &[sense(&[0, 1, 2]), sense(&[0, 3, 4])]).unwrap()
}

#[test]
fn the_senses_of_a_planted_term_are_told_apart() {
    // Term 0 goes with 1 and 2 in some documents, with 3 and 4 in others, and has a leaf with each.
    let bags = themed(&[&[0, 1, 2], &[0, 3, 4]], &[30, 30]);
    let tree = two_senses();
    for variant in Variant::ALL {
        let gibbs = trained(&bags, &tree, 2, variant, 4);
        let [first, second] = [(0..30, 0), (30..60, 1)].map(|(documents, sense)| {
            let leaf = tree.leaves_of(0).start + sense;
            let tokens = documents.flat_map(|index| gibbs.assignments(index));
            let of_term: Vec<_> = tokens.filter(|token| tree.term(token.leaf) == 0).collect();
            let right = of_term.iter().filter(|token| token.leaf == leaf).count();
            right as f64 / of_term.len() as f64
        });
        assert!(first > 0.8 && second > 0.8, "{variant:?}: {first}, {second}");
    }
}
