//! Documents sampled together on one thread: what workers must reproduce.

use lda::bags::Bags;
use lda::model::Priors;
use lda::model::factors::{FactorTable, Factors};
use lda::model::parameters::Parameters;
use lda::train::TrainError;
use lda::train::joint::{JointVisitor, Passes, TopicSums};

/// The model and the settings with which documents are sampled.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The trained model, which documents begin with.
    pub trained: &'a Parameters,
    /// The priors that φ is published with.
    pub published: &'a Priors,
    /// The fixed counts; none in Gibbs1.
    pub fixed: Option<&'a Parameters>,
    /// The priors that documents are sampled with.
    pub priors: &'a Priors,
    /// The passes over the documents.
    pub passes: Passes,
}

/// Documents that were sampled together.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// n_kw of their last assignments.
    pub counts: Parameters,
    /// Their last assignments, the largest term's first.
    pub assignments: Vec<Vec<u16>>,
    /// The sums over kept passes, for each document.
    pub sums: Vec<TopicSums>,
}

/// Samples documents together, on one thread.
///
/// # Errors
/// Returns an error if a draw has impossible masses.
pub fn sample_together(documents: &Bags, setup: &Setup<'_>) -> Result<Together, TrainError> {
    let (passes, trained) = (setup.passes, setup.trained);
    let (topics, terms) = (trained.topic_count(), trained.vocabulary_size());
    let nothing = Parameters::new(topics, terms, 0, 1);
    let fixed = setup.fixed.unwrap_or(&nothing);
    let mut visitor = JointVisitor::new(terms, topics);
    let mut all = Together {
        counts: nothing.clone(),
        assignments: Vec::new(),
        sums: vec![TopicSums::default(); documents.len()],
    };
    let factors = Factors::prepare(trained, setup.published, |_| true, None);
    for index in 0..documents.len() {
        let (key, bag) = (passes.key(0, documents.document(index)), documents.bag(index));
        let drawn = visitor.assign(key, bag, FactorTable::new(&[&factors]))?;
        all.assignments.push(drawn.to_vec());
    }
    let mut whole = nothing.clone();
    replace(&mut all.counts, &mut visitor);
    for pass in 0..passes.count() {
        let numbers = (0..documents.len()).map(|index| documents.document(index));
        for (minibatch, dealt) in (0..).zip(passes.deal(pass, numbers)) {
            whole.set_sum(fixed, &all.counts, whole.terms());
            let factors = Factors::prepare(&whole, setup.priors, |_| true, None);
            let parts = [&factors];
            let table = FactorTable::new(&parts);
            for index in dealt.into_iter().map(|index| index as usize) {
                let key = passes.key(passes.round(pass, minibatch), documents.document(index));
                let own = &mut all.assignments[index];
                let sums = &mut all.sums[index];
                let kept = passes.is_kept(pass).then_some((passes.estimator, sums));
                let drawn = visitor.resample(key, documents.bag(index), table, own, kept)?;
                own.copy_from_slice(drawn);
            }
            replace(&mut all.counts, &mut visitor);
        }
    }
    Ok(all)
}

/// Applies the changes of a round to the counts.
fn replace(counts: &mut Parameters, visitor: &mut JointVisitor) {
    let (mut entries, mut changes) = (Vec::new(), vec![0; counts.topic_count()]);
    visitor.finish(|entry| {
        changes[usize::from(entry.topic)] += i64::from(entry.count);
        entries.push(entry.word());
    });
    counts.replace(&entries);
    counts.replace_totals(&changes);
}
