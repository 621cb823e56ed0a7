//! Word association: how the model ranks people's associates, cue by cue, over all workers.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use timely::worker::Worker;

use super::model::Loaded;
use super::{Evaluation, agree};
use crate::dataflow::ingest::read_vocabulary;
use crate::dataflow::sum::sum;
use crate::evaluate::measure::Figure;
use crate::evaluate::norms::{KnownCue, Norms};
use crate::failure::Failure;
use crate::knowledge::lexicon::Lexicon;
use corpus::collection::Collection;
use lda::evaluate::association::{Association, median_rank};
use lda::model::factors::FactorTable;

/// Their split in tables.
const NORMS: &str = "norms";

/// The norms, by the model's terms.
pub(super) struct KnownNorms {
    path: PathBuf,
    cues: Vec<KnownCue>,
    /// Pairs of the file, and those whose words are terms.
    pairs: [usize; 2],
    /// The terms that are ranked for a cue.
    terms: usize,
}

impl Evaluation {
    /// Reads the norms that the job names. All workers must call this.
    pub(super) fn norms(
        &self,
        worker: &mut Worker,
        model: &Loaded,
    ) -> Result<Option<&KnownNorms>, Failure> {
        let Some(path) = &self.process.job.evaluate.norms else {
            return Ok(None);
        };
        let norms = self.shared.norms.get(|| self.read_norms(path, model))?;
        let text = format!("{:?} {:?}", norms.cues, norms.pairs);
        agree(worker, &hex::encode(Sha256::digest(text)), "norms")?;
        Ok(Some(norms))
    }

    fn read_norms(&self, path: &Path, model: &Loaded) -> Result<KnownNorms, Failure> {
        let norms = Norms::read(path)?;
        let vocabulary = read_vocabulary(&self.run)?;
        let parts = [&model.factors];
        let table = FactorTable::new(&parts);
        let mut lexicon = Lexicon::new(&vocabulary, &self.run.job.tokens);
        let is_known = |term: &u32| table.find(*term).is_some();
        let cues = norms.known(|word| lexicon.find(word).filter(is_known));
        let ranked = cues.iter().map(|cue| cue.associates.len()).sum();
        let pairs = [norms.pair_count(), ranked];
        if ranked == 0 {
            return Err(Failure::data(format!(
                "{}: none of its {} pairs has two words that are terms of the collection and of the model: \
                 check its language and [tokens]",
                path.display(),
                pairs[0]
            )));
        }
        Ok(KnownNorms {
            path: path.to_owned(),
            cues,
            pairs,
            terms: (0..vocabulary.kept() as u32).filter(is_known).count() - 1,
        })
    }

    /// Ranks the associates; returns the figures, and a remark for the user. All workers must call this.
    pub(super) fn associate(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        (norms, model): (&KnownNorms, &Loaded),
    ) -> (Vec<Figure>, String) {
        self.process.progress.begin("association", "", None);
        let parts = [&model.factors];
        let table = FactorTable::new(&parts);
        let terms = collection.terms_kept as usize;
        let mut association = Association::default();
        let mut mine = Vec::new();
        let mut ranks = Vec::new();
        for (number, cue) in norms.cues.iter().enumerate() {
            ranks.clear();
            ranks.resize(cue.associates.len(), 0);
            if number % worker.peers() == worker.index() {
                ranks.clear();
                association.rank(table, terms, (cue.cue, &cue.associates), &mut ranks);
            }
            mine.extend(ranks.iter().map(|&rank| rank as i64));
        }
        let mut all: Vec<u64> = bytemuck::cast_vec(sum(worker, &mine));
        (norms.figures(&mut all), norms.note())
    }
}

impl KnownNorms {
    /// Returns the figures, from twice the rank of each associate, cue after cue.
    fn figures(&self, ranks: &mut [u64]) -> Vec<Figure> {
        let mut first = Vec::new();
        let mut start = 0;
        for cue in &self.cues {
            first.extend(cue.has_first.then(|| ranks[start]));
            start += cue.associates.len();
        }
        let figure = |metric, method: &str, unit, value| Figure {
            metric,
            method: format!("{method}, among {} terms", self.terms),
            split: NORMS,
            unit,
            value,
            standard_error: None,
            documents: 0,
            tokens: 0,
        };
        let median = |which, ranks: &mut [u64]| {
            let median = median_rank(ranks)?;
            Some(figure("association_rank", which, "rank", median))
        };
        let [pairs, ranked] = self.pairs;
        let count = |metric, method, count| figure(metric, method, "pairs", count as f64);
        let counts = [
            count("association_pairs", "first associates", first.len()),
            count("association_pairs", "all associates", ranked),
            count("association_pairs_skipped", "all associates", pairs - ranked),
        ];
        let medians = [median("first associates", &mut first), median("all associates", ranks)];
        medians.into_iter().flatten().chain(counts).collect()
    }

    fn note(&self) -> String {
        let [pairs, ranked] = self.pairs;
        format!(
            "{}: {} cues; both words of {ranked} of {pairs} pairs are terms",
            self.path.display(),
            self.cues.len()
        )
    }
}
