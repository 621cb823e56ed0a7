//! Replaces sequences of tokens by one token, or by none: one [`Rewriter`] for the user's lists and for phrases that
//! were found.

use std::collections::HashMap;
use std::sync::Arc;

/// A sequence of tokens and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The sequence.
    pub words: Vec<String>,
    /// The token that replaces it; if none, the sequence is deleted.
    pub target: Option<String>,
}

/// A token on its way through a [`Rewriter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its number in the rewriter, or [`Token::UNKNOWN`].
    pub symbol: u32,
    /// The caller's number for it; [`Token::NEW`] for a token from a rule.
    pub origin: u32,
}

impl Token {
    /// The symbol of tokens that no rule knows.
    pub const UNKNOWN: u32 = u32::MAX;
    /// The origin of tokens that come from a rule.
    pub const NEW: u32 = u32::MAX;
}

/// Rules for the tokens of a document, in passes: each rewrites the result of the previous one.
///
/// A pass goes from left to right. The longest sequence that begins at a token is replaced, and the pass continues
/// after it, so that no two of them overlap.
///
/// ```
/// use corpus::tokenizer::{Rewriter, Rule, Token};
///
/// let rule = |words: &str, target: &str| Rule {
///     words: words.split(' ').map(str::to_owned).collect(),
///     target: Some(target.to_owned()),
/// };
/// let rewriter = Rewriter::new(&[
///     vec![rule("new york", "new_york"), rule("york city", "york_city")],
///     vec![rule("new_york city", "new_york_city")],
/// ]);
/// let words = ["york", "city", "new", "york", "city"];
/// let token = |(place, word): (usize, &&str)| Token {
///     symbol: rewriter.symbol(word),
///     origin: place as u32,
/// };
/// let mut tokens: Vec<Token> = words.iter().enumerate().map(token).collect();
/// rewriter.rewrite(&mut tokens);
/// let names: Vec<&str> = tokens.iter().map(|token| rewriter.name(token.symbol)).collect();
/// assert_eq!(names, ["york_city", "new_york_city"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Rewriter {
    /// Every word and target of the rules, by symbol.
    names: Vec<String>,
    symbols: HashMap<String, u32>,
    passes: Vec<Trie>,
}

/// The rules of a pass, by their sequences: node 0 is the root.
#[derive(Clone, Debug, Default)]
struct Trie {
    /// The node that follows a node and a symbol.
    next: HashMap<(u32, u32), u32>,
    /// The replacement of the sequence that ends at a node; `None` deletes it.
    ends: HashMap<u32, Option<u32>>,
}

impl Rewriter {
    /// Creates a rewriter with the rules of each pass. Of two with the same sequence, the first applies.
    pub fn new(passes: &[Vec<Rule>]) -> Self {
        let mut rewriter = Self::default();
        for rules in passes {
            let mut trie = Trie::default();
            for rule in rules {
                let words = rule.words.iter().map(|word| rewriter.intern(word));
                let node = trie.insert(words);
                let target = rule.target.as_ref().map(|name| rewriter.intern(name));
                trie.ends.entry(node).or_insert(target);
            }
            rewriter.passes.push(trie);
        }
        rewriter
    }

    fn intern(&mut self, name: &str) -> u32 {
        if let Some(&symbol) = self.symbols.get(name) {
            return symbol;
        }
        let symbol = u32::try_from(self.names.len()).expect("fewer than 2^32 rules");
        self.names.push(name.to_owned());
        self.symbols.insert(name.to_owned(), symbol);
        symbol
    }

    /// Returns the symbol of a token; [`Token::UNKNOWN`] if it is in no rule.
    pub fn symbol(&self, token: &str) -> u32 {
        self.symbols.get(token).copied().unwrap_or(Token::UNKNOWN)
    }

    /// Returns the token with this symbol, which must be known.
    pub fn name(&self, symbol: u32) -> &str {
        &self.names[symbol as usize]
    }

    /// Returns every known token, by symbol.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Applies all passes to the tokens of a document.
    pub fn rewrite(&self, tokens: &mut Vec<Token>) {
        for trie in &self.passes {
            let (mut read, mut written) = (0, 0);
            while read < tokens.len() {
                let (length, token) = match trie.longest(&tokens[read..]) {
                    None => (1, Some(tokens[read])),
                    Some((length, target)) => {
                        let origin = Token::NEW;
                        (length, target.map(|symbol| Token { symbol, origin }))
                    }
                };
                if let Some(token) = token {
                    tokens[written] = token;
                    written += 1;
                }
                read += length;
            }
            tokens.truncate(written);
        }
    }
}

impl Trie {
    /// Returns the node of a sequence, which is added if it is new.
    fn insert(&mut self, words: impl Iterator<Item = u32>) -> u32 {
        words.fold(0, |node, symbol| {
            let new = u32::try_from(self.next.len() + 1).expect("fewer than 2^32 words");
            *self.next.entry((node, symbol)).or_insert(new)
        })
    }

    /// Returns the length and the replacement of the longest sequence that the tokens begin with.
    fn longest(&self, tokens: &[Token]) -> Option<(usize, Option<u32>)> {
        let (mut node, mut found) = (0, None);
        for (length, token) in (1..).zip(tokens) {
            node = match self.next.get(&(node, token.symbol)) {
                Some(&next) if token.symbol != Token::UNKNOWN => next,
                _ => break,
            };
            found = self.ends.get(&node).map(|&target| (length, target)).or(found);
        }
        found
    }
}

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rule(words: &[&str], target: Option<&str>) -> Rule {
        Rule {
            words: words.iter().map(|&word| word.to_owned()).collect(),
            target: target.map(str::to_owned),
        }
    }

    fn rewritten(rewriter: &Rewriter, text: &[&str]) -> Vec<String> {
        let token = |(place, word): (usize, &&str)| Token {
            symbol: rewriter.symbol(word),
            origin: place as u32,
        };
        let mut tokens: Vec<Token> = text.iter().enumerate().map(token).collect();
        rewriter.rewrite(&mut tokens);
        let name = |token: &Token| match token.origin {
            Token::NEW => rewriter.name(token.symbol),
            place => text[place as usize],
        };
        tokens.iter().map(|token| name(token).to_owned()).collect()
    }

    /// Rewrites a text by the definition of a pass.
    fn naive(rules: &[Rule], text: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.first() {
            let fits = rules.iter().filter(|rule| rest.starts_with(&rule.words));
            // The longest, and of two the first.
            match fits.rev().max_by_key(|rule| rule.words.len()) {
                None => {
                    out.push(first.clone());
                    rest = &rest[1..];
                }
                Some(rule) => {
                    out.extend(rule.target.clone());
                    rest = &rest[rule.words.len()..];
                }
            }
        }
        out
    }

    proptest! {
        #[test]
        fn passes_are_what_the_definition_says(
            passes in prop::collection::vec(prop::collection::vec(
                (prop::collection::vec("[a-d]", 1..4), prop::option::of("[a-e]")), 0..6), 0..4),
            text in prop::collection::vec("[a-f]", 0..30),
        ) {
            let passes: Vec<Vec<Rule>> = passes.into_iter().map(|rules| {
                rules.into_iter().map(|(words, target)| Rule { words, target }).collect()
            }).collect();
            let mut expected = text.clone();
            for rules in &passes {
                expected = naive(rules, &expected);
            }
            let text: Vec<&str> = text.iter().map(String::as_str).collect();
            prop_assert_eq!(rewritten(&Rewriter::new(&passes), &text), expected);
        }
    }

    #[test]
    fn a_sequence_that_breaks_off_leaves_its_shorter_beginning() {
        let rules = vec![
            rule(&["a", "b"], Some("ab")),
            rule(&["a", "b", "c", "d"], Some("abcd")),
            rule(&["x"], None),
        ];
        let rewriter = Rewriter::new(&[rules]);
        let text = ["a", "b", "c", "a", "x", "a", "b", "c", "d"];
        assert_eq!(rewritten(&rewriter, &text), ["ab", "c", "a", "abcd"]);
    }
}
