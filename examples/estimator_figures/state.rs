//! A Gibbs state in MALLET's format: documents with a topic for each token, whichever program sampled them.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::BufReader;
use std::path::Path;

use lda::bags::Bags;
use lda::model::Priors;
use lda::model::statistics::Moves;
use lda::train::Trained;
use topicmill::corpus::compression::Compression;
pub use topicmill::evaluate::foreign::mallet_state::for_each_token;

use crate::soft_topics::parameters;

/// Reads a gzipped state: its documents, and its assignments with their counts and priors.
pub fn read(path: &Path) -> Result<(Bags, Trained), Box<dyn Error>> {
    // For each document, the topics of its tokens, by term.
    let mut documents: BTreeMap<u64, BTreeMap<u32, Vec<u16>>> = BTreeMap::new();
    let mut terms = 0;
    let file = BufReader::new(Compression::Gzip.open(path)?);
    let (alpha, eta) = for_each_token(path, file, |token| {
        let (number, _) = token.document.split_once(' ').unwrap_or_default();
        let number =
            number.parse().map_err(|_| format!("\"{number}\" is not a document number"))?;
        let document = documents.entry(number).or_default();
        let topics = document.entry(token.index as u32).or_default();
        topics.push(token.topic);
        terms = terms.max(token.index + 1);
        Ok(())
    })?;
    let (mut bags, mut assignments) = (Bags::default(), Vec::new());
    let mut statistics = Moves::new(terms, alpha.len());
    for (number, document) in documents {
        let terms: Vec<u32> = document.keys().copied().collect();
        let counts: Vec<u32> = document.values().map(|z| z.len() as u32).collect();
        bags.push(number, &terms, &counts);
        for (&term, topics) in &document {
            statistics.assigned(term, topics);
        }
        // In the sampler's order.
        assignments.push(document.into_values().rev().flatten().collect());
    }
    let trained = Trained {
        parameters: parameters(&mut statistics, 1.0, [alpha.len(), terms]),
        priors: Priors { alpha, eta, exp_psi: false, tree: None },
        assignments,
    };
    Ok((bags, trained))
}
