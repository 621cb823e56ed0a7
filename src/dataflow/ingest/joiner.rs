//! Joins phrases in drafts that keep the order of tokens.

use corpus::ShardDocument;
use corpus::phrases::{Phrase, rules};
use corpus::terms::TermCounter;
use corpus::tokenizer::{Rewriter, Token};

/// Joins phrases in sequences of a worker's local ids.
pub(super) struct Joiner {
    rewriter: Rewriter,
    /// The rewriter's symbols by local id.
    symbols: Vec<u32>,
    /// Local ids by symbol.
    local_ids: Vec<u32>,
    tokens: Vec<Token>,
}

impl Joiner {
    /// Assigns local ids to the phrases that have none yet.
    pub(super) fn new(phrases: &[Phrase], terms: &mut TermCounter) -> Self {
        let rewriter = Rewriter::new(&rules(phrases));
        let names = rewriter.names().iter();
        let local_ids = names.map(|name| terms.intern(name)).collect();
        let ids = 0..terms.len() as u32;
        Self {
            symbols: ids.map(|id| rewriter.symbol(terms.term(id))).collect(),
            local_ids,
            rewriter,
            tokens: Vec::new(),
        }
    }

    /// Joins the phrases of a sequence; returns how many tokens shorter it has become.
    pub(super) fn join(&mut self, sequence: &mut Vec<u32>) -> u64 {
        let before = sequence.len();
        self.tokens.clear();
        self.tokens.extend(
            sequence.iter().map(|&origin| Token { symbol: self.symbols[origin as usize], origin }),
        );
        self.rewriter.rewrite(&mut self.tokens);
        sequence.clear();
        sequence.extend(self.tokens.iter().map(|token| match token.origin {
            Token::NEW => self.local_ids[token.symbol as usize],
            local => local,
        }));
        (before - sequence.len()) as u64
    }

    /// Turns the sequence of a draft into its bag of words.
    pub(super) fn bag(&mut self, document: &mut ShardDocument) {
        let ShardDocument { terms, counts, .. } = document;
        self.join(terms);
        document.tokens_total = u32::try_from(terms.len()).unwrap_or(u32::MAX);
        terms.sort_unstable();
        counts.clear();
        for same in terms.chunk_by(|a, b| a == b) {
            counts.push(same.len() as u32);
        }
        terms.dedup();
    }
}
