//! Training at the limits of its input: what is valid, however small, trains; priors that are no positive numbers are
//! errors; what would train into wrong numbers panics.

use lda::bags::Bags;
use lda::evaluate::TermDistribution;
use lda::model::published::publish;
use lda::model::{MAX_TOPICS, Priors};
use lda::train::settings::TrainSettings;
use lda::train::{Setup, TrainError, Trained, train};

/// A document's terms and their counts.
type Document = [(u32, u32)];

fn corpus(documents: &[&Document]) -> Bags {
    let mut bags = Bags::default();
    for (number, document) in (0..).zip(documents) {
        let (terms, counts): (Vec<u32>, Vec<u32>) = document.iter().copied().unzip();
        bags.push(number, &terms, &counts);
    }
    bags
}

fn priors(topics: usize, alpha: f64, eta: f64) -> Priors {
    Priors { alpha: vec![alpha; topics], eta, exp_psi: false, tree: None }
}

fn trained(documents: &Bags, terms: usize, priors: &Priors) -> Result<Trained, TrainError> {
    let setup = Setup {
        priors,
        spare_topics: 0,
        settings: &TrainSettings::default(),
        seed: 1,
        vocabulary_size: terms,
        warm_start: None,
    };
    train(documents, &Bags::default(), &setup, |_, _| {})
}

#[test]
fn small_collections_train_and_every_token_is_counted() {
    let cases: [(&[&Document], usize, usize); 6] = [
        (&[], 3, 2),
        (&[&[], &[]], 3, 2),
        (&[&[], &[(1, 3)]], 3, 2),
        (&[&[(0, 2), (2, 1)]], 3, 1),
        (&[&[(0, 3)], &[(0, 1)]], 1, 2),
        (&[&[(0, 1), (1, 1)]], 2, 500),
    ];
    for (documents, terms, topics) in cases {
        let documents = corpus(documents);
        let trained = trained(&documents, terms, &priors(topics, 0.5, 0.1)).unwrap();
        let topics = publish(&[&trained.parameters], &trained.priors);
        let tokens: f64 = topics.iter().map(|topic| topic.total).sum();
        assert!((tokens - documents.token_count() as f64).abs() < 1e-3, "{tokens}");
        for topic in &topics {
            let topic = TermDistribution::of(topic, terms);
            let listed: f64 = topic.entries.iter().map(|&(_, weight)| f64::from(weight)).sum();
            let absent = (terms - topic.entries.len()) as f64 * topic.absent_weight;
            assert!((listed + absent - 1.0).abs() < 1e-3, "{topic:?}");
        }
    }
}

#[test]
fn priors_that_are_no_positive_numbers_are_errors() {
    let documents = corpus(&[&[(0, 2), (1, 1)]]);
    for invalid in [f64::NAN, f64::INFINITY, 0.0] {
        for priors in [priors(2, invalid, 0.1), priors(2, 0.5, invalid)] {
            assert!(trained(&documents, 2, &priors).is_err(), "{priors:?}");
        }
    }
}

#[test]
fn topics_that_do_not_fit_in_16_bits_are_refused() {
    let documents = corpus(&[&[(0, 1)]]);
    let refused = trained(&documents, 1, &priors(MAX_TOPICS + 1, 0.5, 0.1));
    assert_eq!(refused, Err(TrainError::TooManyTopics(MAX_TOPICS + 1)));
}
