//! Counts terms while documents are read: one [`TermCounter`] per worker.
//!
//! A term gets a *local id*, dense from 0, when it is first seen. The strings are stored in one
//! arena; the index over them hashes with fixed constants, and nothing is ever read in its order.
//! Departures from a plain `HashMap<String, u32>`, because waiting for memory takes most of the time: a term of up to
//! eleven bytes *is* its key, so that most tokens are found in one cache line, and growth rereads no term; and short
//! tokens are looked up in batches, so that their cache misses overlap.
//! Local ids depend on the documents that a worker met: drafts have them, and
//! [`TermMap`](super::vocabulary::TermMap) maps them to term ids of the vocabulary.

use std::collections::BTreeMap;

use super::tokenizer::{ShortToken, TokenSink};

/// An interner of terms that counts their tokens and documents.
///
/// ```
/// use corpus::terms::TermCounter;
///
/// let mut counter = TermCounter::new();
/// let (mut terms, mut counts) = (Vec::new(), Vec::new());
/// counter.begin_document();
/// for token in ["to", "be", "or", "not", "to", "be"] {
///     counter.add(token);
/// }
/// assert_eq!(counter.end_document(&mut terms, &mut counts), 6);
/// assert_eq!((terms, counts), (vec![0, 1, 2, 3], vec![2, 2, 1, 1]));
/// assert_eq!(counter.term(1), "be");
/// counter.visit_counts(&mut |term, tokens, documents| {
///     assert_eq!((tokens, documents), (if ["to", "be"].contains(&term) { 2 } else { 1 }, 1));
/// });
/// ```
#[derive(Clone, Debug, Default)]
pub struct TermCounter {
    /// All terms, one after the other, in the order of their local ids.
    arena: String,
    /// Local ids by term: at least twice as many slots, a power of two. A term is at the place that its hash says, or at
    /// the next free one.
    index: Vec<Slot>,
    /// Where each term ends in the arena; it starts where the previous one ends.
    ends: Vec<usize>,
    /// The counts of each local id in documents finished since the last [`forget_counts`](Self::forget_counts).
    entries: Vec<NewCounts>,
    /// Tokens of each local id in the document being counted; all 0 between documents.
    in_document: Vec<u32>,
    /// The local ids counted in it.
    touched: Vec<u32>,
    /// Short tokens of the document that are not counted yet.
    pending: Vec<ShortToken>,
}

/// The most tokens that are looked up together.
const PENDING: usize = 32;
/// Slots of an index without terms.
const FIRST_SLOTS: usize = 256;

/// An entry of the index: a term's [`TermKey`], flat so that a slot has 16 bytes, and its local id.
#[derive(Clone, Copy, Debug)]
struct Slot {
    bits: u64,
    rest: u32,
    id: u32,
}

impl Slot {
    /// A slot without a term: no key is as this one.
    const FREE: Self = Self { bits: 0, rest: TermKey::LONG - 1, id: 0 };

    #[inline]
    fn key(&self) -> TermKey {
        TermKey { bits: self.bits, rest: self.rest }
    }

    #[inline]
    fn is_free(&self) -> bool {
        self.rest == Self::FREE.rest
    }
}

#[derive(Clone, Debug, Default)]
struct NewCounts {
    tokens: u64,
    documents: u64,
}

impl TermCounter {
    /// Returns about the bytes of this many terms: their texts, two counts, slots of the index.
    pub fn bytes(terms: u64) -> u64 {
        terms * 96
    }

    /// Creates a counter that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of distinct terms seen so far; local ids are below it.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether no term has been seen.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the term with this local id, which must come from this counter.
    pub fn term(&self, id: u32) -> &str {
        term(&self.arena, &self.ends, id)
    }

    /// Returns the [`hash`] of each term.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        (0..self.len() as u32).map(|id| hash(self.term(id)))
    }

    /// Returns the term's local id, if it was seen.
    pub fn id(&self, text: &str) -> Option<u32> {
        self.find(TermKey::new(text), text).ok()
    }

    /// Returns the term's local id; a new one if it was never seen. Counts nothing.
    #[inline]
    pub fn intern(&mut self, text: &str) -> u32 {
        match ShortToken::new(text) {
            Some(token) => self.intern_short(token),
            None => {
                let key = TermKey::long(text);
                self.find(key, text).unwrap_or_else(|place| self.insert(place, key, text))
            }
        }
    }

    /// Like [`intern`](Self::intern), for a short term.
    #[inline]
    pub fn intern_short(&mut self, token: ShortToken) -> u32 {
        let key = TermKey::short(token);
        self.find(key, "").unwrap_or_else(|place| token.visit(|text| self.insert(place, key, text)))
    }

    /// Returns the local id of the term with this key, or the place of the free slot for it. Only a long term is
    /// compared.
    #[inline]
    fn find(&self, key: TermKey, text: &str) -> Result<u32, usize> {
        let mask = self.index.len().wrapping_sub(1);
        let mut place = key.hash() as usize & mask;
        loop {
            match self.index.get(place) {
                Some(slot)
                    if slot.key() == key && (key.is_exact() || self.term(slot.id) == text) =>
                {
                    return Ok(slot.id);
                }
                Some(slot) if !slot.is_free() => place = (place + 1) & mask,
                _ => return Err(place),
            }
        }
    }

    #[cold]
    fn insert(&mut self, mut place: usize, key: TermKey, text: &str) -> u32 {
        let id = u32::try_from(self.ends.len())
            .expect("2^32 distinct terms need more memory than a process gets");
        self.arena.push_str(text);
        self.ends.push(self.arena.len());
        self.entries.push(NewCounts::default());
        self.in_document.push(0);
        if 2 * self.ends.len() > self.index.len() {
            self.grow();
            place = self.free_place(key);
        }
        let TermKey { bits, rest } = key;
        self.index[place] = Slot { bits, rest, id };
        id
    }

    fn grow(&mut self) {
        let slots = (2 * self.index.len()).max(FIRST_SLOTS);
        let before = std::mem::replace(&mut self.index, vec![Slot::FREE; slots]);
        for slot in before.into_iter().filter(|slot| !slot.is_free()) {
            let place = self.free_place(slot.key());
            self.index[place] = slot;
        }
    }

    /// Returns the place for a key that has no slot.
    fn free_place(&self, key: TermKey) -> usize {
        let mask = self.index.len() - 1;
        let mut place = key.hash() as usize & mask;
        while !self.index[place].is_free() {
            place = (place + 1) & mask;
        }
        place
    }

    /// Begins a document, and forgets what was added to one that was never ended.
    #[inline]
    pub fn begin_document(&mut self) {
        for id in self.touched.drain(..) {
            self.in_document[id as usize] = 0;
        }
        self.pending.clear();
    }

    /// Counts one token.
    #[inline]
    pub fn add(&mut self, token: &str) {
        match ShortToken::new(token) {
            Some(short) => self.add_short(short),
            None => {
                let id = self.intern(token);
                self.add_local(id, 1);
            }
        }
    }

    /// Counts one short token.
    #[inline]
    fn add_short(&mut self, token: ShortToken) {
        self.pending.push(token);
        if self.pending.len() == PENDING {
            self.count_pending();
        }
    }

    /// Looks up the short tokens in two steps: the first needs nothing but their slots, so that the processor waits for
    /// the memory of all of them at once.
    #[inline(never)]
    fn count_pending(&mut self) {
        let mut slots = [Slot::FREE; PENDING];
        let mask = self.index.len().wrapping_sub(1);
        for (slot, &token) in slots.iter_mut().zip(&self.pending) {
            let place = TermKey::short(token).hash() as usize & mask;
            *slot = self.index.get(place).copied().unwrap_or(Slot::FREE);
        }
        let mut pending = std::mem::take(&mut self.pending);
        for (slot, token) in slots.into_iter().zip(pending.drain(..)) {
            let is_found = slot.key() == TermKey::short(token);
            let id = if is_found { slot.id } else { self.intern_short(token) };
            self.add_local(id, 1);
        }
        self.pending = pending;
    }

    /// Counts `count` tokens of a term [interned](Self::intern) before. A term's count within a
    /// document stops at `u32::MAX`.
    #[inline]
    pub fn add_local(&mut self, id: u32, count: u32) {
        let in_document = &mut self.in_document[id as usize];
        if *in_document == 0 && count > 0 {
            self.touched.push(id);
        }
        *in_document = in_document.saturating_add(count);
    }

    /// Returns the tokens of a term in the document that is being counted.
    pub fn in_document(&mut self, id: u32) -> u32 {
        self.count_pending();
        self.in_document[id as usize]
    }

    /// Counts the document's tokens of some terms as those of other terms, which it has not.
    pub fn replace(&mut self, by: &BTreeMap<u32, u32>) {
        self.count_pending();
        for id in &mut self.touched {
            if let Some(&other) = by.get(id) {
                self.in_document[other as usize] =
                    std::mem::take(&mut self.in_document[*id as usize]);
                *id = other;
            }
        }
    }

    /// Ends the document: replaces `terms` and `counts` by its distinct local ids, in no particular order, and the
    /// tokens of each. Returns the number of its tokens.
    pub fn end_document(&mut self, terms: &mut Vec<u32>, counts: &mut Vec<u32>) -> u64 {
        self.count_pending();
        terms.clear();
        terms.extend_from_slice(&self.touched);
        counts.clear();
        let mut total = 0;
        for id in self.touched.drain(..) {
            let count = std::mem::take(&mut self.in_document[id as usize]);
            counts.push(count);
            total += u64::from(count);
            let entry = &mut self.entries[id as usize];
            entry.tokens += u64::from(count);
            entry.documents += 1;
        }
        total
    }

    /// Visits (term, tokens, documents), by local id, of every term in documents finished since counts were last
    /// forgotten.
    pub fn visit_counts(&self, visit: &mut impl FnMut(&str, u64, u64)) {
        for (id, &NewCounts { tokens, documents }) in (0..).zip(&self.entries) {
            if documents > 0 {
                visit(self.term(id), tokens, documents);
            }
        }
    }

    /// Forgets the counts, but not the terms.
    pub fn forget_counts(&mut self) {
        self.entries.fill(NewCounts::default());
    }

    /// Frees what only counting needs: terms have their local ids still, but no more documents can be counted.
    #[must_use]
    pub fn without_counts(self) -> Self {
        Self { arena: self.arena, index: self.index, ends: self.ends, ..Self::default() }
    }
}

#[inline]
fn term<'a>(arena: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &arena[start..ends[id]]
}

impl TokenSink for TermCounter {
    #[inline]
    fn token(&mut self, token: &str) {
        self.add(token);
    }

    #[inline]
    fn short(&mut self, token: ShortToken) {
        self.add_short(token);
    }
}

/// Estimates how many distinct terms a collection has, from the smallest of their hashes (Bar-Yossef et al. 2002,
/// "Counting distinct elements in a data stream"): those of its parts give the same estimate.
///
/// ```
/// use corpus::terms::{DistinctTerms, hash};
///
/// let mut terms = DistinctTerms::default();
/// terms.extend((0..300_000).map(|number| hash(&format!("term{}", number % 100_000))));
/// assert!(terms.count().abs_diff(100_000) < 2500);
/// ```
#[derive(Clone, Debug, Default)]
pub struct DistinctTerms {
    /// Ascending.
    smallest: Vec<u64>,
}

impl DistinctTerms {
    /// The hashes that are kept: the estimate's relative standard error is 1 / √ of this.
    const KEPT: usize = 1 << 14;

    /// Adds terms by their [`hash`].
    pub fn extend(&mut self, hashes: impl IntoIterator<Item = u64>) {
        let bound = self.smallest.get(Self::KEPT - 1).copied().unwrap_or(u64::MAX);
        self.smallest.extend(hashes.into_iter().filter(|&hash| hash < bound));
        self.smallest.sort_unstable();
        self.smallest.dedup();
        self.smallest.truncate(Self::KEPT);
    }

    /// Returns what [`extend`](Self::extend) needs to know of them.
    pub fn hashes(&self) -> &[u64] {
        &self.smallest
    }

    /// Returns their number: exact if they are few.
    pub fn count(&self) -> u64 {
        match self.smallest.get(Self::KEPT - 1) {
            None => self.smallest.len() as u64,
            Some(&largest) => (((Self::KEPT as u128 - 1) << 64) / u128::from(largest)) as u64,
        }
    }
}

/// Terms at which a worker begins another folder of drafts: 400 MiB of terms and counts.
pub const TERMS_A_FOLDER: u64 = 1 << 22;

/// The most bytes of a worker's filter.
const MOST_BUCKETS: u64 = 1 << 28;

/// Returns the size in bytes of the filter by which a worker finds the terms that can be in `min_documents` documents,
/// given the number of its distinct terms. If most terms are in one or two documents, the terms of a byte are together in
/// fewer than `min_documents` / 4, on average.
pub fn filter_bytes(distinct: u64, min_documents: u64) -> u64 {
    (8 * distinct / min_documents).next_power_of_two().clamp(2, MOST_BUCKETS)
}

/// The key by which a term is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TermKey {
    /// The first number of a short token; a hash of a longer one.
    bits: u64,
    /// The other number of a short token; [`LONG`](Self::LONG) for any other, in the byte that has the length of short
    /// ones.
    rest: u32,
}

/// Two odd constants without pattern, from the digits of π.
pub(crate) const PI: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345];

impl TermKey {
    const LONG: u32 = 0xff;

    #[inline]
    fn new(term: &str) -> Self {
        ShortToken::new(term).map_or_else(|| Self::long(term), Self::short)
    }

    #[inline]
    fn short(token: ShortToken) -> Self {
        Self { bits: token.first, rest: token.rest }
    }

    /// Returns the key of a term that is not short.
    #[inline]
    fn long(term: &str) -> Self {
        Self { bits: long(term.as_bytes()), rest: (term.len() as u32) << 8 | Self::LONG }
    }

    /// Returns whether terms with this key are equal.
    #[inline]
    fn is_exact(self) -> bool {
        self.rest & 0xff != Self::LONG
    }

    #[inline]
    fn hash(self) -> u64 {
        fold(self.bits ^ PI[1], PI[0] ^ u64::from(self.rest) << 32)
    }
}

/// Returns a hash of a term, the same in every process.
#[inline]
pub fn hash(term: &str) -> u64 {
    TermKey::new(term).hash()
}

/// Returns the [`hash`] of a short term.
#[inline]
pub(crate) fn hash_short(token: ShortToken) -> u64 {
    TermKey::short(token).hash()
}

/// Folds eight bytes at a time into 64 bits; the last eight may overlap those before.
#[inline]
fn long(bytes: &[u8]) -> u64 {
    let (chunks, _) = bytes.as_chunks::<8>();
    let last = bytes.last_chunk::<8>().copied().unwrap_or_default();
    let mix = |bits: u64, eight: &[u8; 8]| fold(bits ^ u64::from_le_bytes(*eight), PI[0]);
    mix(chunks.iter().fold(PI[1], mix), &last)
}

/// Returns the exclusive or of the product's two halves.
#[inline]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::TermCounter;

    type Counts = BTreeMap<String, (u64, u64)>;

    /// Counts naively: (tokens, documents) of each term, and each document's bag.
    fn naive(documents: &[Vec<String>]) -> (Counts, Vec<BTreeMap<String, u32>>) {
        let mut counts = Counts::new();
        let mut bags = Vec::new();
        for document in documents {
            let mut bag = BTreeMap::new();
            for token in document {
                *bag.entry(token.clone()).or_insert(0) += 1;
            }
            for (term, &tokens) in &bag {
                let entry = counts.entry(term.clone()).or_insert((0, 0));
                entry.0 += u64::from(tokens);
                entry.1 += 1;
            }
            bags.push(bag);
        }
        (counts, bags)
    }

    proptest! {
        #[test]
        fn counts_like_the_naive_twin(
            documents in prop::collection::vec(
                prop::collection::vec("[a-c\\x00é]{0,4}|[ab]{5,13}|[ab]{5,20}|[a-z]{15,40}", 0..60), 0..20),
            forget_every in 1_usize..5,
        ) {
            let (expected, bags) = naive(&documents);
            let mut counter = TermCounter::new();
            let mut visited = Counts::new();
            let (mut terms, mut counts) = (Vec::new(), Vec::new());
            for (number, (document, bag)) in documents.iter().zip(&bags).enumerate() {
                counter.begin_document();
                document.iter().for_each(|token| counter.add(token));
                let total = counter.end_document(&mut terms, &mut counts);
                prop_assert_eq!(total, document.len() as u64);
                prop_assert_eq!(terms.len(), bag.len());
                let found: BTreeMap<_, _> = terms.iter().zip(&counts)
                    .map(|(&id, &count)| (counter.term(id).to_owned(), count)).collect();
                prop_assert_eq!(&found, bag);
                if number % forget_every == 0 || number + 1 == documents.len() {
                    counter.visit_counts(&mut |term, tokens, documents| {
                        assert!(documents > 0 && tokens >= documents);
                        let entry = visited.entry(term.to_owned()).or_insert((0, 0));
                        entry.0 += tokens;
                        entry.1 += documents;
                    });
                    counter.forget_counts();
                }
            }
            prop_assert_eq!(&visited, &expected);
            let known = counter.without_counts();
            prop_assert_eq!(known.len(), expected.len());
            prop_assert!(expected.keys().all(|term| known.id(term).is_some_and(|id| known.term(id) == *term)));
        }
    }

    #[test]
    fn many_terms_keep_their_ids_while_the_index_grows() {
        let mut counter = TermCounter::new();
        for number in 0..50_000_u32 {
            assert_eq!(counter.intern(&format!("term{number}")), number);
        }
        for number in 0..50_000_u32 {
            assert_eq!(counter.intern(&format!("term{number}")), number);
            assert_eq!(counter.term(number), format!("term{number}"));
        }
        assert_eq!(counter.len(), 50_000);
    }

    #[test]
    fn a_document_count_saturates_and_totals_agree_with_it() {
        let mut counter = TermCounter::new();
        let id = counter.intern("the");
        let (mut terms, mut counts) = (Vec::new(), Vec::new());
        counter.begin_document();
        counter.add_local(id, u32::MAX);
        counter.add_local(id, 7);
        assert_eq!(counter.end_document(&mut terms, &mut counts), u64::from(u32::MAX));
        assert_eq!(counts, [u32::MAX]);
        counter.visit_counts(&mut |_, tokens, _| assert_eq!(tokens, u64::from(u32::MAX)));
    }

    #[test]
    fn an_abandoned_document_and_zero_counts_leave_no_trace() {
        let mut counter = TermCounter::new();
        let (mut terms, mut counts) = (vec![9], vec![9]);
        counter.begin_document();
        counter.add("half");
        counter.begin_document();
        let id = counter.intern("none");
        counter.add_local(id, 0);
        assert_eq!(counter.end_document(&mut terms, &mut counts), 0);
        assert!(terms.is_empty() && counts.is_empty());
        counter.visit_counts(&mut |term, _, _| panic!("{term} was never counted"));
    }
}
