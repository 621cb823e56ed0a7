//! The terms of a vocabulary, found by words as people write them.

use std::collections::HashMap;

use super::Pruned;
use corpus::settings::TokenSettings;
use corpus::tokenizer::Tokenizer;
use corpus::vocabulary::Vocabulary;

/// Maximum number of unknown words that are kept as examples.
const EXAMPLES: usize = 5;

/// Finds terms, and remembers which words are not terms.
pub(crate) struct Lexicon<'v> {
    vocabulary: &'v Vocabulary,
    tokenizer: Tokenizer,
    /// Every word that was looked up.
    found: HashMap<String, Option<u32>>,
    unknown: usize,
    examples: Vec<String>,
}

impl<'v> Lexicon<'v> {
    pub(crate) fn new(vocabulary: &'v Vocabulary, tokens: &TokenSettings) -> Self {
        Self {
            vocabulary,
            tokenizer: Tokenizer::new(tokens),
            found: HashMap::new(),
            unknown: 0,
            examples: Vec::new(),
        }
    }

    /// Returns the kept term for a word: the word as written, or else the single token that the job's tokenizer
    /// makes of it.
    pub(crate) fn find(&mut self, word: &str) -> Option<u32> {
        if let Some(found) = self.found.get(word) {
            return *found;
        }
        let id = self.vocabulary.id(word).or_else(|| self.by_token(word));
        self.found.insert(word.to_owned(), id);
        if id.is_none() {
            self.unknown += 1;
            if self.examples.len() < EXAMPLES {
                self.examples.push(word.to_owned());
            }
        }
        id
    }

    fn by_token(&mut self, word: &str) -> Option<u32> {
        let (mut id, mut tokens) = (None, 0);
        self.tokenizer.tokens(word, &mut |token| {
            id = self.vocabulary.id(token);
            tokens += 1;
        });
        id.filter(|_| tokens == 1)
    }

    /// Returns the terms of these words, each once, ascending.
    pub(super) fn find_all(&mut self, words: &[String]) -> Vec<u32> {
        let mut terms: Vec<u32> = words.iter().filter_map(|word| self.find(word)).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// Returns a kept term's text.
    pub(super) fn term(&self, id: u32) -> &'v str {
        &self.vocabulary.kept_terms()[id as usize].term
    }

    /// Returns V.
    pub(super) fn len(&self) -> usize {
        self.vocabulary.kept()
    }

    /// Reports how many words were looked up, and which of them are not terms.
    pub(super) fn report(self, pruned: &mut Pruned) {
        pruned.words = self.found.len();
        pruned.unknown_words = self.unknown;
        pruned.examples = self.examples;
    }
}
