//! Trains two topics on a few sentences, and prints the heaviest terms of each.
//!
//!     cargo run -p topicmill-lda --example train

#![allow(clippy::print_stdout, reason = "a program, not the library")]

use std::collections::{BTreeMap, BTreeSet};

use lda::bags::Bags;
use lda::model::{Priors, published::publish};
use lda::train::publish::{provisional_eta, published_priors};
use lda::train::{Setup, TrainError, settings::TrainSettings, train};

const SENTENCES: [&str; 8] = [
    "the ship left the harbour with a cargo of salt and rope",
    "a storm drove the ship from the coast and broke the mast",
    "the crew of the ship mended sail mast and rope in the harbour",
    "salt water and storm wear sail and rope on the coast",
    "the baker mixed flour water and yeast for the dough",
    "dough of rye flour rests before the oven is hot",
    "bread from the oven of the baker smells of yeast and rye",
    "flour yeast water and salt are all the bread needs",
];

/// Trains, and prints a line for each topic.
pub fn main() -> Result<(), TrainError> {
    let words = |text: &'static str| text.split(' ').filter(|word| word.len() > 3);
    let vocabulary: Vec<&str> =
        BTreeSet::from_iter(SENTENCES.into_iter().flat_map(words)).into_iter().collect();
    let mut documents = Bags::default();
    for (number, sentence) in (0..).zip(SENTENCES) {
        let mut counts = BTreeMap::new();
        for term in words(sentence).flat_map(|word| vocabulary.binary_search(&word)) {
            *counts.entry(term as u32).or_insert(0) += 1;
        }
        let (terms, counts): (Vec<u32>, Vec<u32>) = counts.into_iter().unzip();
        documents.push(number, &terms, &counts);
    }
    let priors = Priors { alpha: vec![0.5; 2], eta: 0.1, exp_psi: false, tree: None };
    let settings = TrainSettings { passes: Some(200), ..TrainSettings::default() };
    let setup = Setup {
        priors: &priors,
        spare_topics: 0,
        settings: &settings,
        seed: 1,
        vocabulary_size: vocabulary.len(),
        warm_start: None,
    };
    let trained = train(&documents, &Bags::default(), &setup, |_, _| {})?;

    let priors = published_priors(&trained.priors, provisional_eta(&trained.priors));
    let topics = publish(&[&trained.parameters], &priors);
    for (number, topic) in topics.iter().enumerate() {
        let mut weights = topic.weights.clone();
        weights.sort_by(|a, b| b.1.total_cmp(&a.1));
        let heaviest = weights.iter().take(6).map(|&(term, _)| vocabulary[term as usize]);
        println!("topic {number}: {}", heaviest.collect::<Vec<_>>().join(" "));
    }
    Ok(())
}
