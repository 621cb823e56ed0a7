//! From a document of a stream to its bag of words, with a known vocabulary.
//!
//! Ingest does this in two steps: it counts every term it meets and looks them up at the end. Here
//! it is one step: terms outside the vocabulary are counted and forgotten, so that a stream of any
//! length takes the same memory.

use crate::corpus::settings::TokenSettings;
use crate::corpus::tokenizer::Tokenizer;
use crate::corpus::vocabulary::{TermStatus, Vocabulary};
use crate::corpus::{Body, DocumentStatus, RawDocument};

/// Counts as large as a shard stores them.
const MAX_TOKENS: u32 = i32::MAX as u32;

/// The bag of words of one document, and the counts of its tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordBag {
    /// Distinct terms in the vocabulary, ascending.
    pub terms: Vec<u32>,
    /// Tokens of each, ≥ 1; as long as `terms`.
    pub counts: Vec<u32>,
    /// Tokens that the tokenizer found.
    pub tokens_total: u32,
    /// Of those, stop words.
    pub tokens_stopped: u32,
}

/// Counts the terms of documents, one after the other, with the same buffers.
#[derive(Debug)]
pub struct Bagger {
    tokenizer: Tokenizer,
    /// Tokens of each term of the vocabulary in the current document; all 0 between documents.
    in_document: Vec<u32>,
    bag: WordBag,
}

impl Bagger {
    /// For texts that are cut as `settings` say, over a vocabulary of `kept` terms.
    pub fn new(settings: &TokenSettings, kept: usize) -> Self {
        Self {
            tokenizer: Tokenizer::new(settings),
            in_document: vec![0; kept],
            bag: WordBag::default(),
        }
    }

    /// The document's status and bag over `vocabulary`, whose kept terms are as many as [`new`]
    /// was told. Lines hold texts: a body of counts is none.
    ///
    /// [`new`]: Self::new
    pub fn count(
        &mut self,
        document: &RawDocument<'_>,
        vocabulary: &Vocabulary,
    ) -> (DocumentStatus, &WordBag) {
        self.bag.terms.clear();
        self.bag.counts.clear();
        let (status, text) = match &document.body {
            Body::Text { text, repaired } => match repaired {
                true => (DocumentStatus::Repaired, text.as_ref()),
                false => (DocumentStatus::Ok, text.as_ref()),
            },
            Body::Counts { .. } => (DocumentStatus::Empty, ""),
            Body::Missing { status, .. } => (*status, ""),
        };
        let (mut total, mut stopped) = (0_u32, 0_u32);
        let (in_document, terms) = (&mut self.in_document, &mut self.bag.terms);
        self.tokenizer.tokens(text, &mut |token| {
            total = total.saturating_add(1);
            match vocabulary.id(token) {
                Some(term) => {
                    let count = &mut in_document[term as usize];
                    if *count == 0 {
                        terms.push(term);
                    }
                    *count = count.saturating_add(1);
                }
                None if vocabulary.status(token) == Some(TermStatus::Stop) => {
                    stopped = stopped.saturating_add(1);
                }
                None => {}
            }
        });
        terms.sort_unstable();
        let counts = terms.iter().map(|&term| {
            let count = std::mem::take(&mut in_document[term as usize]);
            count.min(MAX_TOKENS)
        });
        self.bag.counts.extend(counts);
        self.bag.tokens_total = total;
        self.bag.tokens_stopped = stopped;
        let status = match (status.has_terms(), total, self.bag.terms.is_empty()) {
            (true, 0, _) => DocumentStatus::Empty,
            (true, _, true) => DocumentStatus::NoVocabulary,
            _ => status,
        };
        (status, &self.bag)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::corpus::ShardDocument;
    use crate::corpus::draft::Drafter;
    use crate::corpus::settings::TokenRule;
    use crate::corpus::vocabulary::{TermMap, VocabularyTerm};

    const SETTINGS: TokenSettings = TokenSettings {
        rule: TokenRule::Words,
        lower_case: true,
        min_length: 1,
        max_length: 40,
        numbers: false,
        identifiers: false,
    };

    fn vocabulary() -> Vocabulary {
        let term = |term: &str, status| VocabularyTerm {
            term: term.to_owned(),
            tokens: 9,
            documents: 5,
            status,
        };
        let kept = ["b", "a", "ab"].map(|name| term(name, TermStatus::Kept));
        let others = [
            term("c", TermStatus::Stop),
            term("d", TermStatus::Rare),
            term("e", TermStatus::Capped),
        ];
        Vocabulary::from_terms(kept.into_iter().chain(others).collect()).unwrap()
    }

    fn raw(body: Body<'_>) -> RawDocument<'_> {
        RawDocument {
            source_id: "x".into(),
            group: None,
            metadata: Vec::new(),
            body,
        }
    }

    proptest! {
        /// Against what ingest does: draft, then rewrite by the vocabulary.
        #[test]
        fn bags_are_those_of_ingest(
            documents in prop::collection::vec(("([a-f]{1,2}[ .]|[0-9 ]|A){0,12}", 0..4), 1..8),
        ) {
            let vocabulary = vocabulary();
            let mut bagger = Bagger::new(&SETTINGS, vocabulary.kept());
            let mut drafter = Drafter::new(&SETTINGS);
            for (text, kind) in &documents {
                let document = raw(match kind {
                    0 => Body::Missing { status: DocumentStatus::ParseError, reason: String::new() },
                    1 => Body::Text { text: text.into(), repaired: true },
                    _ => Body::Text { text: text.into(), repaired: false },
                });
                let mut expected = ShardDocument::default();
                drafter.draft(document.clone(), &mut expected);
                TermMap::new(drafter.terms(), vocabulary.terms()).remap(&mut expected);
                let (status, bag) = bagger.count(&document, &vocabulary);
                prop_assert_eq!(status, expected.status);
                prop_assert_eq!(&bag.terms, &expected.terms);
                prop_assert_eq!(&bag.counts, &expected.counts);
                let tokens = (bag.tokens_total, bag.tokens_stopped);
                prop_assert_eq!(tokens, (expected.tokens_total, expected.tokens_stopped));
            }
        }
    }
}
