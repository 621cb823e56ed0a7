//! φ^p of Papanikolaou 2017: every training token's full conditional in place of its topic.

use lda::bags::Bags;
use lda::model::parameters::{Entry, Parameters};
use lda::train::Trained;

/// Σ_{d,i: w_di=w} p_dik for each term and topic, where p_dik ∝ (n_dk + α_k) (n_kw + η) / (n_k + Vη)
/// with the token itself left out of all three counts.
///
/// # Panics
/// The model's counts are not those of its assignments: an average over passes.
pub fn soft_topics(train: &Bags, trained: &Trained) -> Parameters {
    let (counts, priors) = (&trained.parameters, &trained.priors);
    let (topics, terms) = (counts.topic_count(), counts.vocabulary_size());
    let rows: Vec<Vec<f64>> = (0..terms as u32).map(|w| dense(counts, w)).collect();
    let totals = counts.totals();
    let smoothing = terms as f64 * priors.eta;
    let mut soft = vec![0.0; topics * terms];
    let mut conditional = vec![0.0; topics];
    for (index, assigned) in trained.assignments.iter().enumerate() {
        let (bag_terms, bag_counts) = train.bag(index);
        let mut of_document = vec![0.0; topics];
        for &topic in assigned {
            of_document[usize::from(topic)] += 1.0;
        }
        let mut rest = &assigned[..];
        for (&term, &count) in bag_terms.iter().zip(bag_counts).rev() {
            let (own, others) = rest.split_at(count as usize);
            rest = others;
            let row = &rows[term as usize];
            for &topic in own {
                for k in 0..topics {
                    let own = f64::from(u8::from(k == usize::from(topic)));
                    conditional[k] = (of_document[k] - own + priors.alpha[k])
                        * (row[k] - own + priors.eta)
                        / (totals[k] - own + smoothing);
                }
                let sum: f64 = conditional.iter().sum();
                let first = term as usize * topics;
                for (soft, p) in soft[first..first + topics].iter_mut().zip(&conditional) {
                    *soft += p / sum;
                }
            }
        }
    }
    check(&soft, &rows, topics);
    let mut sums = vec![0.0; topics];
    for row in soft.chunks(topics) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
    Parameters::new(topics, terms, 0, 1).restore(1.0, sums, |term| {
        let first = term as usize * topics;
        let row = (0..).zip(&soft[first..first + topics]);
        let entry = |(topic, &value): (u32, &f64)| (value > 0.0).then_some((topic, value as f32));
        row.filter_map(entry)
            .map(|(topic, value)| Entry { topic, value })
            .collect()
    })
}

/// n_kw of a term, for all topics.
fn dense(counts: &Parameters, term: u32) -> Vec<f64> {
    let mut row = vec![0.0; counts.topic_count()];
    for entry in counts.row(term) {
        row[entry.topic as usize] = counts.scale() * f64::from(entry.value);
    }
    row
}

/// A term's tokens are as many as before: they are only spread over its topics.
fn check(soft: &[f64], rows: &[Vec<f64>], topics: usize) {
    for (soft, counts) in soft.chunks(topics).zip(rows) {
        let (spread, tokens): (f64, f64) = (soft.iter().sum(), counts.iter().sum());
        assert!(
            (spread - tokens).abs() <= 1e-6 * tokens.max(1.0),
            "{spread} of {tokens} tokens"
        );
    }
}
