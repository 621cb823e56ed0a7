//! Coherence on a reference corpus: texts of the user's choice, read with the job's settings, on
//! which topics are scored by UMass, NPMI and C_V.
//!
//! Threads read and tokenize blocks, each with its own counters; counts are integers, so that
//! neither the threads nor the blocks' order affect a score.

use std::sync::Arc;

use super::ingest::cause_first;
use corpus::Body;
use corpus::block::{BlockQueue, Share};
use corpus::input::{Input, InputError, identify};
use corpus::settings::CorpusSettings;
use corpus::tokenizer::Tokenizer;
use lda::evaluate::coherence::CoherenceCounter;
use lda::evaluate::coherence::window::{SlidingWindowCounter, UNKNOWN};

/// Texts to score topics on.
pub(crate) struct Reference {
    /// Changes when the input does.
    pub(crate) fingerprint: String,
    input: Arc<Input>,
    queue: BlockQueue,
    corpus: CorpusSettings,
    tokenizer: Tokenizer,
}

/// The counts of a reference corpus.
#[derive(Clone, Debug)]
pub(crate) struct ReferenceCounts {
    /// Documents: for UMass and NPMI.
    pub(crate) documents: CoherenceCounter,
    /// Windows of 110 tokens, where requested: for C_V.
    pub(crate) windows: Option<SlidingWindowCounter>,
    /// Documents that could not be read, and are not counted otherwise.
    pub(crate) unreadable: u64,
}

impl Reference {
    /// Opens the files that `corpus` names, to be cut by `tokenizer`, which should be the model's, and
    /// queues the blocks of one process.
    ///
    /// # Errors
    /// A file is missing, or cannot be read.
    pub(crate) fn open(
        corpus: &CorpusSettings,
        tokenizer: Tokenizer,
        share: Share,
    ) -> Result<Self, InputError> {
        let (input, fingerprint) = identify(corpus)?;
        let input = Arc::new(input);
        Ok(Self {
            fingerprint,
            queue: BlockQueue::new(Arc::clone(&input), corpus, share),
            input,
            corpus: corpus.clone(),
            tokenizer,
        })
    }

    /// Returns the first file that contains counts, and therefore no order to slide a window over.
    pub(crate) fn without_order(&self) -> Option<&str> {
        let mut files = self.input.files.iter();
        let counts = files.find(|file| file.format.gives_counts(&self.corpus));
        counts.map(|file| file.name.as_str())
    }

    /// Counts the remaining blocks into `counts`; any number of threads may do so concurrently, until none
    /// is left. `term_of`: a word's term id, if it has one.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged and the settings do not tolerate that.
    pub(crate) fn count(
        &self,
        term_of: &dyn Fn(&str) -> Option<u32>,
        counts: &mut ReferenceCounts,
    ) -> Result<(), InputError> {
        let mut tokenizer = self.tokenizer.clone();
        let mut terms = Vec::new();
        while let Some(block) = self.queue.next_block().map_err(cause_first)? {
            block.read(&self.corpus, &mut |document| {
                terms.clear();
                match document.body {
                    Body::Text { text, .. } => {
                        let mut push = |word: &str| terms.push(term_of(word).unwrap_or(UNKNOWN));
                        tokenizer.tokens(&text, &mut push);
                        counts.add_text(&mut terms);
                    }
                    Body::Counts { counts: of, words, .. } => {
                        let mut push = |word: &str, _| terms.extend(term_of(word));
                        tokenizer.counted(&of, words, &mut push);
                        counts.add_set(&mut terms);
                    }
                    Body::Missing { .. } => counts.unreadable += 1,
                }
            })?;
        }
        Ok(())
    }
}

impl ReferenceCounts {
    /// Creates empty counts. `top_terms`: each topic's heaviest terms, heaviest first, of which `most` are
    /// counted for UMass and NPMI; `vocabulary_size`: one more than the largest term id.
    ///
    /// # Panics
    /// Panics as [`CoherenceCounter::new`] does.
    pub(crate) fn new(
        top_terms: &[Vec<u32>],
        vocabulary_size: usize,
        most: usize,
        with_windows: bool,
    ) -> Self {
        Self {
            documents: CoherenceCounter::new(top_terms, vocabulary_size, most),
            windows: with_windows
                .then(|| SlidingWindowCounter::for_c_v(top_terms, vocabulary_size)),
            unreadable: 0,
        }
    }

    /// Counts a text by the term of each of its tokens; its order is lost.
    fn add_text(&mut self, terms: &mut Vec<u32>) {
        if let Some(windows) = &mut self.windows {
            windows.add_sequence(terms);
        }
        self.add_set(terms);
    }

    fn add_set(&mut self, terms: &mut Vec<u32>) {
        terms.sort_unstable();
        terms.dedup();
        if terms.last() == Some(&UNKNOWN) {
            terms.pop();
        }
        self.documents.add_document(terms);
    }

    /// Returns all counts in one row, which workers can sum entry by entry.
    pub(crate) fn words(&self) -> Vec<i64> {
        let windows = self.windows.iter().flat_map(|windows| windows.counts());
        let counts = self.documents.counts().iter().chain(windows);
        let counts = counts.chain([&self.unreadable]);
        counts.map(|&count| count as i64).collect()
    }

    /// Adds the [`words`](Self::words) of counts of the same topics.
    ///
    /// # Panics
    /// Panics if they are of other topics.
    pub(crate) fn add_words(&mut self, words: &[i64]) {
        let words: &[u64] = bytemuck::cast_slice(words);
        let (documents, rest) = words.split_at(self.documents.counts().len());
        self.documents.add_counts(documents);
        let (windows, unreadable) = rest.split_at(rest.len() - 1);
        if let Some(counter) = &mut self.windows {
            counter.add_counts(windows);
        }
        self.unreadable += unreadable[0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Job;

    const WORDS: [&str; 5] = ["sea", "ship", "whale", "law", "court"];

    fn term_of(word: &str) -> Option<u32> {
        WORDS.iter().position(|w| *w == word).map(|id| id as u32)
    }

    /// Writes texts, and a job that reads them; opens the texts.
    fn reference(folder: &std::path::Path, texts: &[String], block_mib: &str) -> Reference {
        let lines = texts.iter().enumerate().map(|(number, text)| {
            let id = format!("d{number}");
            serde_json::json!({ "id": id, "text": text }).to_string() + "\n"
        });
        std::fs::write(folder.join("texts.jsonl"), lines.collect::<String>()).unwrap();
        let job = format!(
            "[corpus]\ninput = 'texts.jsonl'\nblock_mib = {block_mib}\n[model]\ntopics = 2\n\
             [output]\npath = 'out'\n"
        );
        let path = folder.join("job.toml");
        std::fs::write(&path, job).unwrap();
        let job = Job::load(&path, &[]).unwrap();
        Reference::open(&job.corpus, job.tokenizer(&[]).unwrap(), Share::ALL).unwrap()
    }

    fn texts() -> Vec<String> {
        let text = |d: usize| {
            let words: Vec<&str> = (0..d % 150).map(|i| WORDS[(i * i + d) % 5]).collect();
            format!("{} and nobody else, {}", words.join(" "), WORDS[d % 5])
        };
        (0..900).map(text).collect()
    }

    #[test]
    fn a_corpus_is_counted_the_same_by_any_number_of_threads() {
        let tops = vec![vec![0, 1, 2], vec![3, 4]];
        let mut naive = CoherenceCounter::new(&tops, 5, 20);
        let mut windows = SlidingWindowCounter::for_c_v(&tops, 5);
        for text in texts() {
            let tokens = text.replace(',', "");
            let sequence: Vec<u32> = tokens
                .split(' ')
                .filter(|word| !word.is_empty())
                .map(|word| term_of(word).unwrap_or(UNKNOWN))
                .collect();
            windows.add_sequence(&sequence);
            let has = |id: &u32| sequence.contains(id);
            naive.add_document(&(0..5).filter(has).collect::<Vec<u32>>());
        }
        for (threads, block_mib) in [(1, "1.0"), (1, "0.01"), (3, "0.01")] {
            let folder = tempfile::tempdir().unwrap();
            let corpus = reference(folder.path(), &texts(), block_mib);
            let empty = ReferenceCounts::new(&tops, 5, 20, true);
            let count = || {
                let mut counts = empty.clone();
                corpus.count(&term_of, &mut counts).unwrap();
                counts.words()
            };
            let mut found = empty.clone();
            std::thread::scope(|scope| {
                let workers: Vec<_> = (0..threads).map(|_| scope.spawn(count)).collect();
                for worker in workers {
                    found.add_words(&worker.join().unwrap());
                }
            });
            assert_eq!(found.documents.counts(), naive.counts());
            let of_windows = found.windows.unwrap();
            assert_eq!(of_windows.counts(), windows.counts());
            assert_eq!(found.unreadable, 0);
            assert_eq!(corpus.without_order(), None);
            assert!(of_windows.counts()[0] > 900, "some are longer than a window");
        }
    }

    #[test]
    fn a_file_that_is_gone_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = reference(folder.path(), &texts(), "1.0");
        std::fs::remove_file(folder.path().join("texts.jsonl")).unwrap();
        let mut counts = ReferenceCounts::new(&[vec![0, 1]], 5, 20, true);
        let error = corpus.count(&term_of, &mut counts).unwrap_err();
        assert!(error.to_string().contains("texts.jsonl"), "{error}");
    }
}
