//! Coherence on a reference corpus: texts of the user's choice, read as a job's own, on which topics
//! are scored by UMass, NPMI and C_V.
//!
//! Blocks are read and tokenized by threads, each with counters of its own; counts are integers, so
//! that neither the threads nor the blocks' order show in a score.

use std::sync::Arc;

use crate::corpus::Body;
use crate::corpus::block::{BlockQueue, Share};
use crate::corpus::input::{InputError, discover};
use crate::corpus::reader::read_block;
use crate::corpus::settings::{CorpusSettings, TokenSettings};
use crate::corpus::tokenizer::Tokenizer;
use crate::evaluate::coherence::CoherenceCounter;
use crate::evaluate::coherence::window::{SlidingWindowCounter, UNKNOWN};

/// Texts to score topics on.
pub struct Reference {
    queue: BlockQueue,
    corpus: CorpusSettings,
    tokens: TokenSettings,
}

/// What was counted on a reference corpus.
#[derive(Clone, Debug)]
pub struct ReferenceCounts {
    /// Documents: for UMass and NPMI.
    pub documents: CoherenceCounter,
    /// Windows of 110 tokens: for C_V. Of documents that have an order.
    pub windows: SlidingWindowCounter,
    /// Documents that are bags of words, without an order to slide a window over: with any of them
    /// C_V is of the others only.
    pub bags: u64,
    /// Documents that could not be read, and count for nothing.
    pub unreadable: u64,
}

impl Reference {
    /// The files that `corpus` names, tokenized as `tokens` say, which should be as the model's were.
    ///
    /// # Errors
    /// No such file, or one that cannot be read.
    pub fn open(corpus: &CorpusSettings, tokens: &TokenSettings) -> Result<Self, InputError> {
        let input = Arc::new(discover(corpus)?);
        Ok(Self {
            queue: BlockQueue::new(input, corpus, Share::ALL),
            corpus: corpus.clone(),
            tokens: tokens.clone(),
        })
    }

    /// Counts the whole corpus with so many threads. `term_of`: a word's term id, if it has one;
    /// `top_terms`: each topic's heaviest terms, heaviest first, of which `most` are counted for
    /// UMass and NPMI; `vocabulary_size`: one more than the largest term id.
    ///
    /// # Errors
    /// A file that cannot be read, or is damaged where the settings do not tolerate that.
    ///
    /// # Panics
    /// As [`CoherenceCounter::with_terms`] does.
    pub fn count(
        self,
        term_of: &(dyn Fn(&str) -> Option<u32> + Sync),
        top_terms: &[Vec<u32>],
        vocabulary_size: usize,
        most: usize,
        threads: usize,
    ) -> Result<ReferenceCounts, InputError> {
        let empty = ReferenceCounts {
            documents: CoherenceCounter::with_terms(top_terms, vocabulary_size, most),
            windows: SlidingWindowCounter::for_c_v(top_terms, vocabulary_size),
            bags: 0,
            unreadable: 0,
        };
        let work = || self.count_blocks(term_of, empty.clone());
        let parts: Vec<Result<ReferenceCounts, InputError>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, _>| match worker.join() {
                Ok(counted) => counted,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            workers.into_iter().map(join).collect()
        });
        let mut all = empty;
        // Threads that were stopped because of another's error say nothing of its cause.
        let mut stopped = None;
        for part in parts {
            match part {
                Ok(part) => all.merge(&part),
                Err(InputError::Stopped) => stopped = Some(InputError::Stopped),
                Err(error) => return Err(error),
            }
        }
        stopped.map_or(Ok(all), Err)
    }

    fn count_blocks(
        &self,
        term_of: &(dyn Fn(&str) -> Option<u32> + Sync),
        mut counts: ReferenceCounts,
    ) -> Result<ReferenceCounts, InputError> {
        let mut tokenizer = Tokenizer::new(&self.tokens);
        let mut terms = Vec::new();
        while let Some(block) = self.queue.next_block()? {
            read_block(&block, &self.corpus, &mut |document| {
                terms.clear();
                match document.body {
                    Body::Text { text, .. } => {
                        let mut push = |word: &str| terms.push(term_of(word).unwrap_or(UNKNOWN));
                        tokenizer.tokens(&text, &mut push);
                        counts.add_text(&mut terms);
                    }
                    Body::Counts {
                        vocabulary,
                        counts: of,
                    } => {
                        let words = of.iter().map(|&(word, _)| &vocabulary[word as usize]);
                        terms.extend(words.filter_map(|word| term_of(word)));
                        counts.bags += 1;
                        counts.add_set(&mut terms);
                    }
                    Body::Missing { .. } => counts.unreadable += 1,
                }
            })?;
        }
        Ok(counts)
    }
}

impl ReferenceCounts {
    /// Counts a text by the term of each of its tokens; its order is lost.
    fn add_text(&mut self, terms: &mut Vec<u32>) {
        self.windows.add_sequence(terms);
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

    fn merge(&mut self, other: &Self) {
        self.documents.merge(&other.documents);
        self.windows.add_counts(other.windows.counts());
        self.bags += other.bags;
        self.unreadable += other.unreadable;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;

    const WORDS: [&str; 5] = ["sea", "ship", "whale", "law", "court"];

    fn term_of(word: &str) -> Option<u32> {
        WORDS.iter().position(|w| *w == word).map(|id| id as u32)
    }

    /// A folder of texts, and a job that reads them.
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
        Reference::open(&job.corpus, &job.tokens).unwrap()
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
        let mut naive = CoherenceCounter::with_terms(&tops, 5, 20);
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
            let found = corpus.count(&term_of, &tops, 5, 20, threads).unwrap();
            assert_eq!(found.documents.counts(), naive.counts());
            assert_eq!(found.windows.counts(), windows.counts());
            assert_eq!((found.bags, found.unreadable), (0, 0));
            assert!(
                found.windows.counts()[0] > 900,
                "some are longer than a window"
            );
        }
    }

    #[test]
    fn a_file_that_is_gone_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = reference(folder.path(), &texts(), "1.0");
        std::fs::remove_file(folder.path().join("texts.jsonl")).unwrap();
        let error = corpus.count(&term_of, &[vec![0, 1]], 5, 20, 2).unwrap_err();
        assert!(error.to_string().contains("texts.jsonl"), "{error}");
    }
}
