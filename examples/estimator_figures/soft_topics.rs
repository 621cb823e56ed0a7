//! φ^p of Papanikolaou 2017: every training token's full conditional instead of its topic.

use lda::bags::Bags;
use lda::math::random::{Stage, Stream};
use lda::model::factors::FactorTable;
use lda::model::parameters::{GlobalStep, Parameters};
use lda::model::statistics::{Moves, topic_counts};
use lda::train::Trained;
use lda::train::schedule::ModelChange;
use lda::train::soft::SoftCounts;
use lda::train::units::TOKEN;

/// Returns Σ_{d,i: w_di=w} p_dik for each term and topic; `table` has the factors of the counts of the
/// same assignments.
pub fn soft_topics(
    train: &Bags,
    trained: &Trained,
    table: FactorTable<'_>,
    seed: u64,
) -> Parameters {
    let (topics, terms) = (table.topic_count(), trained.parameters.vocabulary_size());
    let (mut soft, mut statistics) = (SoftCounts::default(), Moves::new(terms, topics));
    for (index, assigned) in trained.assignments.iter().enumerate() {
        let bag = train.bag(index);
        let stream = &mut Stream::keyed(seed, Stage::Train, u64::MAX, train.document(index));
        soft.add(bag, table, &[], assigned, stream, &mut statistics);
    }
    parameters(&mut statistics, 1.0 / TOKEN, [topics, terms])
}

/// Returns the model of all statistics, each counting `weight` tokens, for K topics and V terms.
pub fn parameters(statistics: &mut Moves, weight: f64, [topics, terms]: [usize; 2]) -> Parameters {
    let mut entries = Vec::new();
    statistics.drain(|entry| entries.push(entry.word()));
    let mut parameters = Parameters::new(topics, terms, 0, 1);
    let step = GlobalStep { step_size: 1.0, weight };
    let change = ModelChange::Step { step, prune: 0.0, is_of_average: false };
    change.apply(&mut parameters, &[&entries], &topic_counts(&entries, topics), &[]);
    parameters
}
