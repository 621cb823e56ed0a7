//! What training starts from: the result of another job, and the tree-structured prior over terms, built from what a user
//! knows about words, for the job's vocabulary.

use std::fmt;
use std::sync::Arc;

use super::Run;
use crate::config::Job;
use crate::dataflow::ingest::{read_collection, read_vocabulary};
use crate::dataflow::sample::Sample;
use crate::failure::Failure;
use crate::knowledge::Pruned;
use crate::observe::figures::counted;
use crate::result::OpenedResult;
use crate::tables::topic_changes::{EarlierTopics, TopicChangeRow};
use corpus::vocabulary::{Vocabulary, VocabularyTerm};
use lda::model::Priors;
use lda::model::parameters::TermRow;
use lda::model::published::{PublishedTopic, publish};
use lda::model::tree::Tree;
use lda::train::senses::are_remembered;
use lda::train::warm_start::WarmStart;

/// A model to start from, on the vocabulary of this job.
pub(super) struct Start {
    pub(super) model: WarmStart,
    /// Its topics.
    before: EarlierTopics,
}

/// A tree, and the knowledge that it leaves out. Displayed as one line.
pub(super) struct Planted {
    pub(super) tree: Arc<Tree>,
    pruned: Pruned,
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |number: usize, noun| counted(number as u64, noun);
        write!(
            f,
            "{} over {}, at most {}; {}",
            counted(self.tree.inner_count() - 1, "node"),
            counted(self.tree.structured_count(), "term"),
            counted(self.tree.most_senses(), "sense"),
            self.pruned
        )
    }
}

impl Run<'_> {
    /// Returns the start of training, if the job names a result.
    pub(super) fn warm_start(&self) -> Result<Arc<Option<Start>>, Failure> {
        self.process.shared("warm start", || {
            let job = &self.process.job;
            let (Some(folder), Some(unassigned)) = (&job.warm_start, job.train.warm_start) else {
                return Ok(None);
            };
            let result = OpenedResult::at(folder);
            let (saved, known) = result.model()?;
            let header = &saved.header;
            let vocabulary = read_vocabulary(self.process)?;
            let kept = vocabulary.kept_terms().iter();
            let terms: Vec<_> = kept.map(|term| known.id(&term.term)).collect();
            let parameters = saved.parameters(0, 1);
            let topics = publish(&[&parameters], &header.published());
            let before = renumbered(topics, &known, &vocabulary);
            // Some priors within its structures are relative to η: with that of the model, they
            // differ only where the knowledge does.
            let eta = header.priors.tree.as_deref().map_or(header.priors.eta, Tree::eta);
            let tree = self.grow(eta)?.map(|(tree, _)| tree);
            let model = (parameters, &header.priors);
            let mut model = WarmStart::new(unassigned, model, terms, tree.as_ref());
            if model.is_partial() {
                let pruned = self.grow_on(&known, eta).ok().flatten();
                if pruned.map(|(tree, _)| tree).as_ref() == header.priors.tree.as_deref() {
                    model = model.of_same_knowledge()
                } else {
                    self.check_same_sample(&result)?
                }
            }
            Ok(Some(Start { model, before }))
        })
    }

    /// Returns how the topics have moved since the result that training started from, if it started from one.
    pub(super) fn changes(
        &self,
        topics: &[PublishedTopic],
    ) -> Result<Option<Vec<TopicChangeRow>>, Failure> {
        let (start, most) = (self.warm_start()?, self.process.job.project.top_terms);
        let Some(start) = &*start else {
            return Ok(None);
        };
        Ok(Some(start.before.rows(topics, &read_vocabulary(self.process)?, most)))
    }

    /// Returns the rows of the model that are changed before training: none, unless its prior over terms has changed.
    pub(super) fn changed_rows(&self, priors: &Priors) -> Result<Vec<TermRow>, Failure> {
        let (start, seed) = (self.warm_start()?, self.process.job.model.seed);
        let rows = |start: &Start| start.model.changed_rows(priors, seed);
        Ok((*start).as_ref().map(rows).unwrap_or_default())
    }

    /// Checks that the model was trained on the same sample, as only some documents are visited.
    fn check_same_sample(&self, result: &OpenedResult) -> Result<(), Failure> {
        let folder = result.root();
        let (job, before) = (&self.process.job, Job::load(folder, &[])?);
        let [ours, theirs] = [read_collection(self.process)?, result.collection()?];
        let has_its_terms = job.vocabulary_from.as_deref() == Some(folder)
            && before.corpus_hash_without_terms() == job.corpus_hash_without_terms();
        let is_same = (has_its_terms || before.corpus_hash() == job.corpus_hash())
            && (before.sample == job.sample && before.model.seed == job.model.seed)
            && ours.input_fingerprint == theirs.input_fingerprint;
        if is_same {
            Ok(())
        } else {
            Err(Failure::data(format!(
                "train.warm_start: with a tree.file that differs from that of {0}, the job must have the same \
                 documents: the same input, and [corpus], [tokens], [phrases], [vocabulary], [sample] and \
                 model.seed as in {0}/job.toml",
                folder.display()
            ))
            .help(format!(
                "if the input has changed since, rerun the job of {} with --overwrite first",
                folder.display()
            )))
        }
    }

    /// Returns the tree that the job requests, in which a topic's ordinary terms have the η of `priors`.
    pub(super) fn tree(
        &self,
        priors: &Priors,
        remembers: bool,
    ) -> Result<Arc<Option<Planted>>, Failure> {
        self.process.shared("tree", || {
            let Some((tree, pruned)) = self.grow(priors.eta)? else {
                return Ok(None);
            };
            if remembers && !are_remembered(&tree, priors.topic_count()) {
                return Err(Failure::data(format!(
                    "{} topics and up to {} senses per term are more than a remembered token can store: their \
                     product may be at most 65,536. Set train.memory = \"off\", give its terms fewer senses in \
                     tree.file, or lower model.topics",
                    priors.topic_count(),
                    tree.most_senses()
                )));
            }
            let tree = Arc::new(tree);
            Ok(Some(Planted { tree, pruned }))
        })
    }

    /// Builds the tree of the job's knowledge; returns it, and what it leaves out.
    fn grow(&self, eta: f64) -> Result<Option<(Tree, Pruned)>, Failure> {
        match self.process.job.tree {
            Some(_) => self.grow_on(&read_vocabulary(self.process)?, eta),
            None => Ok(None),
        }
    }

    /// Builds the same tree for another vocabulary.
    fn grow_on(
        &self,
        vocabulary: &Vocabulary,
        eta: f64,
    ) -> Result<Option<(Tree, Pruned)>, Failure> {
        let job = &self.process.job;
        let Some(settings) = &job.tree else {
            return Ok(None);
        };
        let knowledge = settings.read()?;
        let grown = knowledge.tree(vocabulary, &job.tokens, settings.strengths(eta))?;
        Ok(Some(grown))
    }

    /// Checks that some document will be visited.
    pub(super) fn check_revisited(&self, sample: &Sample) -> Result<(), Failure> {
        match *self.warm_start()? {
            Some(_) if sample.revisited_documents == 0 => Err(Failure::data(
                "no document of the sample contains a word that the change of tree.file concerns: name words that \
                 occur in it, or train on a larger sample (sample.documents)",
            )),
            _ => Ok(()),
        }
    }
}

/// Gives the terms of `topics`, which are those of vocabulary `old`, the numbers that vocabulary `new` has for them.
fn renumbered(
    mut topics: Vec<PublishedTopic>,
    old: &Vocabulary,
    new: &Vocabulary,
) -> EarlierTopics {
    let mut gone = Vec::new();
    let number = |term: &VocabularyTerm| {
        new.id(&term.term).unwrap_or_else(|| {
            gone.push(term.term.clone());
            (new.kept() + gone.len() - 1) as u32
        })
    };
    let numbers: Vec<u32> = old.kept_terms().iter().map(number).collect();
    for topic in &mut topics {
        let weights = topic.weights.iter().zip(&topic.counts);
        let mut entries: Vec<_> = weights
            .map(|(&(term, weight), &count)| (numbers[term as usize], weight, count))
            .collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        topic.weights = entries.iter().map(|entry| (entry.0, entry.1)).collect();
        topic.counts = entries.iter().map(|entry| entry.2).collect();
    }
    let is_new = |(_, term): &(u32, &VocabularyTerm)| old.id(&term.term).is_none();
    let of_new = (0..).zip(new.kept_terms()).filter(is_new);
    EarlierTopics { topics, gone, new: of_new.map(|(number, _)| number).collect() }
}
