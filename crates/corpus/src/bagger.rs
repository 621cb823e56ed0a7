//! One document as ingest would store it: drafted, then rewritten by the vocabulary.
//!
//! Ingest keeps every term that it sees until the vocabulary is made. Here the vocabulary is known,
//! and terms are forgotten from time to time, so that any number of documents takes the same memory.

use crate::draft::Drafter;
use crate::vocabulary::{TermMap, Vocabulary};
use crate::{RawDocument, ShardDocument};

/// Distinct terms seen before all are forgotten, about 8 MiB.
const MOST_TERMS: usize = 1 << 17;

/// Counts the terms of documents one after another, reusing buffers.
#[derive(Debug)]
pub struct Bagger<'a> {
    /// One that has seen nothing.
    fresh: &'a Drafter,
    vocabulary: &'a Vocabulary,
    drafter: Drafter,
    map: TermMap,
    most_terms: usize,
    document: ShardDocument,
}

impl<'a> Bagger<'a> {
    /// Creates one whose documents are drafted as `fresh` drafts them, which has seen nothing.
    pub fn new(fresh: &'a Drafter, vocabulary: &'a Vocabulary) -> Self {
        Self {
            fresh,
            vocabulary,
            drafter: fresh.clone(),
            map: TermMap::new(0, vocabulary.kept()),
            most_terms: MOST_TERMS,
            document: ShardDocument::default(),
        }
    }

    /// Returns the document's bag of words over the vocabulary.
    pub fn count(&mut self, raw: RawDocument<'_>) -> &ShardDocument {
        if self.drafter.terms().len() > self.most_terms {
            self.drafter = self.fresh.clone();
            self.map = TermMap::new(0, self.vocabulary.kept());
        }
        self.drafter.draft(raw, &mut self.document);
        self.map.extend(self.drafter.terms(), self.vocabulary);
        self.map.remap(&mut self.document);
        &self.document
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::settings::TokenSettings;
    use crate::tokenizer::Tokenizer;
    use crate::vocabulary::{TermStatus, VocabularyTerm};

    const SETTINGS: TokenSettings = TokenSettings { min_length: 1, ..TokenSettings::DEFAULT };

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
            term("e", TermStatus::Frequent),
        ];
        Vocabulary::from_terms(kept.into_iter().chain(others).collect()).unwrap()
    }

    proptest! {
        /// Compares with ingest: all drafted, then all rewritten. Forgetting changes nothing.
        #[test]
        fn bags_are_those_of_ingest(
            documents in prop::collection::vec("([a-f]{1,2}[ .]|[0-9 ]|A){0,12}", 1..8),
            most_terms in 0..6_usize,
        ) {
            let vocabulary = vocabulary();
            let fresh = Drafter::new(Tokenizer::new(&SETTINGS));
            let mut drafter = fresh.clone();
            let drafts: Vec<ShardDocument> = documents.iter().map(|text| {
                let mut draft = ShardDocument::default();
                drafter.draft(RawDocument::of_text(text), &mut draft);
                draft
            }).collect();
            let mut map = TermMap::new(0, vocabulary.kept());
            map.extend(drafter.terms(), &vocabulary);
            let mut bagger = Bagger { most_terms, ..Bagger::new(&fresh, &vocabulary) };
            for (text, mut expected) in documents.iter().zip(drafts) {
                map.remap(&mut expected);
                prop_assert_eq!(bagger.count(RawDocument::of_text(text)), &expected);
            }
        }
    }
}
