//! The tokens of a text, held until it is complete and rules have been applied.

use std::sync::Arc;

use super::rewriter::{Rewriter, Token};

/// The tokens of one text after the other, in the same buffers.
#[derive(Clone, Debug)]
pub(super) struct Rewriting {
    rewriter: Arc<Rewriter>,
    /// The tokens, one after the other, and where each ends.
    text: String,
    ends: Vec<usize>,
    tokens: Vec<Token>,
}

impl Rewriting {
    pub(super) fn new(rewriter: Arc<Rewriter>) -> Self {
        Self { rewriter, text: String::new(), ends: Vec::new(), tokens: Vec::new() }
    }

    /// Adds a token as it was cut.
    pub(super) fn push(&mut self, token: &str) {
        let origin = u32::try_from(self.ends.len()).expect("a text has fewer than 2^32 tokens");
        self.text.push_str(token);
        self.ends.push(self.text.len());
        let symbol = self.rewriter.symbol(token);
        self.tokens.push(Token { symbol, origin });
    }

    /// Visits the rewritten tokens, and forgets them.
    pub(super) fn finish(&mut self, visit: &mut impl FnMut(&str)) {
        self.rewriter.rewrite(&mut self.tokens);
        for token in self.tokens.drain(..) {
            match (token.origin, token.origin as usize) {
                (Token::NEW, _) => visit(self.rewriter.name(token.symbol)),
                (_, 0) => visit(&self.text[..self.ends[0]]),
                (_, place) => visit(&self.text[self.ends[place - 1]..self.ends[place]]),
            }
        }
        self.text.clear();
        self.ends.clear();
    }
}
