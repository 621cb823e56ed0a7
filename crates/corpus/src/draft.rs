//! From a document as returned by a reader to a row of a draft shard: its bag of words, in one worker's local ids.
//!
//! Each worker has its own [`Drafter`]: a tokenizer, and a count of every term it has met. Words that are already
//! counted pass through the tokenizer one by one; the terms of a bag of words are kept unchanged.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::document::{Body, DocumentStatus, RawDocument, ShardDocument, set};
use super::language::nearest;
use super::minhash::{Hashed, MinHash};
use super::names;
use super::passages::beginning;
use super::settings::Snippets;
use super::stop_words::StopWordsByLanguage;
use super::terms::TermCounter;
use super::tokenizer::Tokenizer;

/// The most tokens of a document: the largest count that a shard stores. Further ones are left out.
const MAX_TOKENS: u32 = i32::MAX as u32;

/// A tokenizer with the counts of every term it has met, for drafting documents.
///
/// ```
/// use corpus::draft::Drafter;
/// use corpus::settings::TokenSettings;
/// use corpus::tokenizer::Tokenizer;
/// use corpus::{DocumentStatus, RawDocument, ShardDocument};
///
/// let mut drafter = Drafter::new(Tokenizer::new(&TokenSettings {
///     min_length: 1,
///     max_length: 64,
///     ..TokenSettings::DEFAULT
/// }));
/// let mut document = ShardDocument::default();
/// drafter.draft(RawDocument::of_text("To be, or not to be"), &mut document);
/// assert_eq!((document.status, document.tokens_total), (DocumentStatus::Ok, 6));
/// assert_eq!(drafter.terms().term(document.terms[0]), "to");
/// assert_eq!(document.counts, [2, 2, 1, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Drafter {
    tokenizer: Tokenizer,
    counter: TermCounter,
    /// The stop words of each language, if documents have those of their own.
    stop_words: Option<StopWordsByLanguage>,
    /// Whether names are terms of their own.
    marks_names: bool,
    keeps_order: bool,
    /// The local ids of the tokens of the text being drafted, if their order is kept.
    sequence: Vec<u32>,
    /// The bins of the document being drafted, if it gets a signature.
    hashes: Option<Box<MinHash>>,
    /// What is kept of each text.
    snippets: Snippets,
}

impl Drafter {
    /// Creates a drafter that has seen nothing.
    pub fn new(tokenizer: Tokenizer) -> Self {
        Self {
            tokenizer,
            counter: TermCounter::new(),
            stop_words: None,
            marks_names: false,
            keeps_order: false,
            sequence: Vec::new(),
            hashes: None,
            snippets: Snippets::None,
        }
    }

    /// Makes the stop words of each document's language terms of their own.
    #[must_use]
    pub fn stopping(mut self, by_language: StopWordsByLanguage) -> Self {
        self.stop_words = Some(by_language);
        self
    }

    /// Makes the names of each text terms of their own.
    #[must_use]
    pub fn marking_names(mut self) -> Self {
        self.marks_names = true;
        self
    }

    /// Makes sequences instead of bags: `terms` has every token of a text, in order, each with count 1.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.keeps_order = true;
        self
    }

    /// Makes the signatures of documents ([`minhash`](super::minhash)) too.
    #[must_use]
    pub fn with_signatures(mut self) -> Self {
        self.hashes = Some(Box::default());
        self
    }

    /// Keeps texts, or the beginnings of them.
    #[must_use]
    pub fn keeping(mut self, snippets: Snippets) -> Self {
        self.snippets = snippets;
        self
    }

    /// Writes the document over `out`, reusing its buffers. Its terms are local ids of [`terms`](Self::terms), in
    /// no particular order; `tokens_stopped` is 0 until the vocabulary is known.
    pub fn draft(&mut self, raw: RawDocument<'_>, out: &mut ShardDocument) {
        out.source_id.clear();
        out.source_id.push_str(&raw.source_id);
        set(&mut out.group, raw.group.as_deref());
        out.metadata.resize(raw.metadata.len(), None);
        for (value, raw) in out.metadata.iter_mut().zip(&raw.metadata) {
            set(value, raw.as_deref());
        }
        (out.tokens_stopped, out.duplicate_of) = (0, None);
        self.counter.begin_document();
        let language = self.stop_words.as_ref().and_then(|_| nearest(&raw.body));
        let mut named = BTreeMap::new();
        let read = |repaired| if repaired { DocumentStatus::Repaired } else { DocumentStatus::Ok };
        let is_counted = matches!(raw.body, Body::Counts { .. });
        out.text = match (&raw.body, self.snippets) {
            (Body::Text { text, .. }, Snippets::Start) => Some(beginning(text)),
            (Body::Text { text, .. }, Snippets::Passage) => Some(text.to_string()),
            _ => None,
        };
        let status = match raw.body {
            Body::Text { text, repaired } => {
                self.count_text(&text);
                if self.marks_names {
                    named = self.names(&text);
                }
                read(repaired)
            }
            Body::Counts { counts, words, repaired } => {
                self.count_counts(&counts, words);
                read(repaired)
            }
            Body::Missing { status, .. } => status,
        };
        if let Some((stop_words, code)) = self.stop_words.as_mut().zip(language) {
            let own = stop_words.of(code, &mut self.counter);
            self.counter.replace(own);
            replace(&mut self.sequence, own);
        }
        self.counter.replace(&named);
        replace(&mut self.sequence, &named);
        let total = self.counter.end_document(&mut out.terms, &mut out.counts);
        out.signature.clear();
        if let Some(hashes) = &mut self.hashes {
            for (&id, &count) in out.terms.iter().zip(&out.counts).filter(|_| is_counted) {
                hashes.term(self.counter.term(id), count);
            }
            hashes.finish(&mut out.signature);
        }
        if self.keeps_order {
            std::mem::swap(&mut out.terms, &mut self.sequence);
            self.sequence.clear();
            out.counts.clear();
            out.counts.resize(out.terms.len(), 1);
        }
        // Only a text of more than 2 GiB of one-letter words has more.
        out.counts.iter_mut().for_each(|count| *count = (*count).min(MAX_TOKENS));
        out.tokens_total = u32::try_from(total).unwrap_or(u32::MAX);
        let nothing = status.has_terms() && total == 0;
        out.status = if nothing { DocumentStatus::Empty } else { status };
    }

    /// Returns every term met so far, by local id.
    pub fn terms(&self) -> &TermCounter {
        &self.counter
    }

    /// Returns the terms, once the last document is drafted.
    pub fn into_terms(self) -> TermCounter {
        self.counter
    }

    /// Returns the local ids of the names of the text that is being counted, and of the terms that they become.
    fn names(&mut self, text: &str) -> BTreeMap<u32, u32> {
        let counter = &mut self.counter;
        let mut tokens: BTreeMap<u32, u32> = BTreeMap::new();
        for (word, count) in names::capitalised(text) {
            self.tokenizer.tokens(word, &mut |token| {
                *tokens.entry(counter.intern(token)).or_insert(0) += count;
            });
        }
        tokens.retain(|&id, count| 2 * *count >= counter.in_document(id));
        let term = |id| (id, counter.intern(&names::marked(counter.term(id))));
        tokens.into_keys().map(term).collect()
    }

    fn count_text(&mut self, text: &str) {
        let Self { tokenizer, counter, keeps_order, sequence, hashes, .. } = self;
        if !*keeps_order {
            return match hashes {
                Some(hashes) => tokenizer.pass(text, &mut Hashed { hashes, sink: counter }),
                None => tokenizer.pass(text, counter),
            };
        }
        let mut sink = |token: &str| {
            let local_id = counter.intern(token);
            counter.add_local(local_id, 1);
            sequence.push(local_id);
        };
        match hashes {
            Some(hashes) => tokenizer.pass(text, &mut Hashed { hashes, sink: &mut sink }),
            None => tokenizer.pass(text, &mut sink),
        }
    }

    fn count_counts(&mut self, counts: &[(Cow<'_, str>, u32)], words: bool) {
        let counter = &mut self.counter;
        let mut room = MAX_TOKENS;
        self.tokenizer.counted(counts, words, &mut |term, count: u32| {
            let count = count.min(room);
            room -= count;
            let local_id = counter.intern(term);
            counter.add_local(local_id, count);
        });
    }
}

/// Replaces ids of a sequence.
fn replace(sequence: &mut [u32], by: &BTreeMap<u32, u32>) {
    sequence.iter_mut().for_each(|id| *id = by.get(id).copied().unwrap_or(*id));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{StopWords, TokenSettings};
    use crate::stop_words;

    fn drafter() -> Drafter {
        Drafter::new(Tokenizer::new(&TokenSettings {
            min_length: 1,
            max_length: 64,
            ..TokenSettings::DEFAULT
        }))
    }

    fn raw(body: Body<'_>) -> RawDocument<'_> {
        RawDocument {
            source_id: "id".into(),
            group: Some("volume".into()),
            metadata: vec![None, Some("x".into())],
            body,
        }
    }

    fn text(text: &str, repaired: bool) -> RawDocument<'_> {
        raw(Body::Text { text: text.into(), repaired })
    }

    #[test]
    fn statuses_say_what_the_body_was() {
        let mut drafter = drafter();
        let mut out = ShardDocument::default();
        let missing = |status| raw(Body::Missing { status, reason: String::new() });
        for (document, status, tokens) in [
            (text("one two", false), DocumentStatus::Ok, 2),
            (text("one \u{fffd}two", true), DocumentStatus::Repaired, 2),
            (text(" 42 ... ", false), DocumentStatus::Empty, 0),
            (text("\u{fffd}", true), DocumentStatus::Empty, 0),
            (missing(DocumentStatus::ParseError), DocumentStatus::ParseError, 0),
            (missing(DocumentStatus::Truncated), DocumentStatus::Truncated, 0),
            (missing(DocumentStatus::Empty), DocumentStatus::Empty, 0),
        ] {
            drafter.draft(document, &mut out);
            assert_eq!((out.status, out.tokens_total), (status, tokens));
            assert_eq!(out.terms.len(), tokens as usize);
            assert_eq!(out.group.as_deref(), Some("volume"));
            assert_eq!(out.metadata, [None, Some("x".to_owned())]);
        }
    }

    #[test]
    fn nothing_of_the_document_before_is_left() {
        let mut drafter = drafter();
        let mut out = ShardDocument::default();
        drafter.draft(text("one", false), &mut out);
        let body = Body::Text { text: "two".into(), repaired: false };
        let metadata = vec![Some("y".into()), None];
        drafter.draft(RawDocument { source_id: "b".into(), group: None, metadata, body }, &mut out);
        assert_eq!((out.source_id.as_str(), &out.group), ("b", &None));
        assert_eq!(out.metadata, [Some("y".to_owned()), None]);
        assert_eq!((out.terms, out.counts), (vec![1], vec![1]));
    }

    fn counts<'a>(counts: &[(&'a str, u32)], words: bool) -> RawDocument<'a> {
        let own = |&(term, count): &(&'a str, u32)| (Cow::Borrowed(term), count);
        raw(Body::Counts { counts: counts.iter().map(own).collect(), words, repaired: false })
    }

    #[test]
    fn counts_keep_their_terms_unless_they_are_words() {
        let mut drafter = drafter();
        let mut out = ShardDocument::default();
        let bag = [("The", 1), ("42", 3), ("the", 2), ("to-day", 1)];
        for (words, expected) in [
            (false, vec![("The", 1), ("42", 3), ("the", 2), ("to-day", 1)]),
            (true, vec![("the", 3), ("to", 1), ("day", 1)]),
        ] {
            drafter.draft(counts(&bag, words), &mut out);
            let held = out.terms.iter().map(|&id| drafter.terms().term(id));
            let mut held: Vec<_> = held.zip(out.counts.iter().copied()).collect();
            held.sort_by_key(|held| expected.iter().position(|other| other == held));
            assert_eq!((held, out.status), (expected, DocumentStatus::Ok));
        }
    }

    #[test]
    fn stop_words_are_those_of_the_language_of_a_document() {
        let tokens = TokenSettings { min_length: 1, ..TokenSettings::DEFAULT };
        let mut drafter = drafter().stopping(StopWordsByLanguage::new(&tokens));
        let list = stop_words::load(&[StopWords::ByLanguage], &tokens).unwrap();
        let (english, german) = (
            "The men who die in the war are not the ones who have made it, and that is what they say",
            "Die Leute, die in dem Krieg sterben, sind nicht die, die ihn gemacht haben, und das war so",
        );
        for (text, stopped, kept) in [
            (english, ["the (en)", "are (en)"], ["die", "war"]),
            (german, ["die (de)", "war (de)"], ["krieg", "leute"]),
            ("the die", ["the (en)", "the (en)"], ["die", "die"]),
        ] {
            for keeps_order in [false, true] {
                drafter.keeps_order = keeps_order;
                let mut out = ShardDocument::default();
                drafter.draft(RawDocument::of_text(text), &mut out);
                let has = |word: &str| out.terms.iter().any(|&id| drafter.terms().term(id) == word);
                assert!(stopped.iter().all(|word| has(word) && list.contains(*word)), "{text}");
                assert!(kept.iter().all(|word| has(word) && !list.contains(*word)), "{text}");
                assert!(!has("the") && !has("und"), "{text}");
                let words = text.split(' ').count();
                assert_eq!(out.counts.iter().sum::<u32>() as usize, words);
            }
        }
    }

    #[test]
    fn names_are_terms_of_their_own() {
        let mut drafter = drafter().marking_names();
        let text = "When Rose came, the rose of Darcy was here. A rose is for Rose Darcy. The rose, he said.";
        for keeps_order in [false, true] {
            drafter.keeps_order = keeps_order;
            let mut out = ShardDocument::default();
            drafter.draft(RawDocument::of_text(text), &mut out);
            let terms = |word: &str| {
                let is_it = |&(id, _): &(u32, u32)| drafter.terms().term(id) == word;
                out.all_terms().filter(is_it).map(|(_, count)| count).sum::<u32>()
            };
            // Of five tokens of `rose`, two are capitalised within sentences.
            assert_eq!(["darcy (name)", "darcy", "rose", "rose (name)"].map(terms), [2, 0, 5, 0]);
        }
    }

    #[test]
    fn a_document_of_counts_stops_at_what_a_shard_stores() {
        let mut drafter = drafter();
        let mut out = ShardDocument::default();
        let bag = [("a", u32::MAX - 9), ("b", 7), ("a", 7)];
        drafter.draft(counts(&bag, false), &mut out);
        assert_eq!((out.terms, out.counts), (vec![0], vec![MAX_TOKENS]));
        assert_eq!(out.tokens_total, MAX_TOKENS);
        let mut out = ShardDocument::default();
        drafter.draft(counts(&[("b", 0)], false), &mut out);
        assert_eq!(out.status, DocumentStatus::Empty);
    }
}
