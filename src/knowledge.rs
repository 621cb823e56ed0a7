//! A user's knowledge of words, from which the prior of topics becomes a tree ([`lda::model::tree`]; Hu &
//! Boyd-Graber 2012).
//! [`read`] parses lists of linked words ([`constraints`]) or a tree ([`outline`]), independently of a vocabulary.
//! [`Knowledge::tree`] prunes it to a vocabulary and reports what was lost ([`Pruned`]). docs/TREES.md describes the
//! files and the prior of each edge.

pub mod constraints;
pub mod outline;

use std::collections::HashMap;
use std::fmt;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::Path;

use crate::failure::{Exit, Failure};
use lda::constraints::Strengths;
use lda::model::tree::Tree;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use constraints::Constraint;
use corpus::compression::read_whole;
use corpus::settings::TokenSettings;
use corpus::tokenizer::Tokenizer;
use corpus::vocabulary::Vocabulary;
use corpus::word_file::{NOT_UTF_8, text_of};
use outline::Outline;

/// The allowed β of an edge. With another, terms could become impossible: their weights have 32 bits.
pub(crate) const EDGE_PRIORS: RangeInclusive<f64> = 1e-30..=1e30;

/// The kind of knowledge in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A text file of linked words.
    Constraints,
    /// A tree in TOML or JSON.
    Outline,
}

impl Kind {
    /// Guesses the kind by the name: `.toml` and `.json` are a tree; other files list linked words.
    pub(crate) fn guess(path: &Path) -> Self {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("toml" | "json") => Self::Outline,
            _ => Self::Constraints,
        }
    }
}

/// The knowledge in a file, independent of a vocabulary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knowledge {
    /// The file's name, for messages.
    pub file: String,
    /// Its content.
    pub content: Content,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Linked words, each with its line.
    Constraints(Vec<(usize, Constraint)>),
    /// A tree.
    Outline(Outline),
}

/// Reads a file on a disk or in an object store.
///
/// # Errors
/// It cannot be read, or is not of this kind; the error has the file, the line and the remedy.
pub(crate) fn read(path: &Path, kind: Kind) -> Result<Knowledge, Failure> {
    let file = path.file_name().unwrap_or(path.as_os_str());
    let file = file.to_string_lossy().into_owned();
    let text = read_text(path)?;
    let content = match kind {
        Kind::Constraints => Content::Constraints(constraints::parse(&file, &text)?),
        Kind::Outline => Content::Outline(outline::parse(&file, &text)?),
    };
    Ok(Knowledge { file, content })
}

/// Reads a text file, without its byte order mark.
fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = read_whole(path).map_err(|source| {
        let message = format!("{}: cannot be read: {source}", path.display());
        let exit = match source.kind() {
            ErrorKind::NotFound => Exit::Usage,
            _ => Exit::Data,
        };
        Failure::new(exit, source).context(message)
    })?;
    let mut text = text_of(bytes).map_err(|line| Failure::line(path, line, NOT_UTF_8))?;
    if text.starts_with('\u{FEFF}') {
        text.drain(..'\u{FEFF}'.len_utf8());
    }
    Ok(text)
}

impl Knowledge {
    /// Returns how many words it names; repeated words count again.
    pub(crate) fn word_count(&self) -> usize {
        match &self.content {
            Content::Constraints(lines) => lines.iter().map(|(_, line)| line.word_count()).sum(),
            Content::Outline(outline) => outline.word_count(),
        }
    }

    /// Whether nodes may be below other nodes that are not the root.
    pub(crate) fn is_hierarchy(&self) -> bool {
        matches!(&self.content, Content::Outline(outline) if outline.is_hierarchy())
    }

    /// Returns a SHA-256 of the content, independent of the file's name: 64 hexadecimal digits.
    pub(crate) fn fingerprint(&self) -> String {
        let content = serde_json::to_vec(&self.content).expect("texts and numbers are JSON");
        hex::encode(Sha256::digest(content))
    }

    /// Returns the tree for a vocabulary, and the knowledge that it leaves out. The job's own tokenizer brings words
    /// into the form of terms.
    ///
    /// # Errors
    /// Constraints contradict each other; a tree is too deep or too large; nothing is left.
    pub fn tree(
        &self,
        vocabulary: &Vocabulary,
        tokens: &TokenSettings,
        strengths: Strengths,
    ) -> Result<(Tree, Pruned), Failure> {
        let mut lexicon = Lexicon::new(vocabulary, tokens);
        let (nodes, mut pruned) = match &self.content {
            Content::Constraints(lines) => {
                constraints::structures(&self.file, lines, &mut lexicon, strengths)?
            }
            Content::Outline(outline) => outline::structures(outline, &mut lexicon, strengths),
        };
        lexicon.report(&mut pruned);
        if nodes.is_empty() {
            return Err(pruned.nothing_left(&self.file));
        }
        let tree = Tree::new(vocabulary.kept(), strengths.ordinary, &nodes);
        let tree = tree.map_err(|problem| Failure::file(&self.file, problem))?;
        Ok((tree, pruned))
    }
}

/// The entries that a tree leaves out because of the vocabulary. `Display` gives one line for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The name of the entries, in the plural.
    pub(crate) kind: &'static str,
    /// Distinct words of the knowledge.
    pub words: usize,
    /// Those that the vocabulary lacks.
    pub unknown_words: usize,
    /// The first of them.
    pub(crate) examples: Vec<String>,
    /// Number of constraints or nodes.
    pub entries: usize,
    /// Those left out for lack of terms.
    pub dropped_entries: usize,
}

impl Pruned {
    /// Starts for entries of this kind.
    fn of(kind: &'static str) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Returns the error that no word of a file is a term.
    fn nothing_left(&self, file: &str) -> Failure {
        let problem = format!(
            "nothing is left for the vocabulary: {self}; is it in the language of the collection, and \
             are tokens.lower_case and [vocabulary] as intended?"
        );
        Failure::file(file, problem)
    }
}

impl fmt::Display for Pruned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, words, entries, dropped_entries, .. } = self;
        match self.unknown_words {
            0 => write!(f, "all {words} words are in the vocabulary")?,
            unknown => write!(f, "{unknown} of {words} words are not in the vocabulary")?,
        }
        if !self.examples.is_empty() {
            let more = self.unknown_words > self.examples.len();
            let more = if more { ", …" } else { "" };
            write!(f, " ({}{more})", self.examples.join(", "))?;
        }
        if *dropped_entries > 0 {
            write!(f, "; {dropped_entries} of {entries} {kind} have too few terms left")?;
        }
        Ok(())
    }
}

/// Maximum number of unknown words that are kept as examples.
const EXAMPLES: usize = 5;

/// Finds terms, and remembers which words are not terms.
struct Lexicon<'v> {
    vocabulary: &'v Vocabulary,
    tokenizer: Tokenizer,
    /// Every word that was looked up.
    found: HashMap<String, Option<u32>>,
    unknown: usize,
    examples: Vec<String>,
}

impl<'v> Lexicon<'v> {
    fn new(vocabulary: &'v Vocabulary, tokens: &TokenSettings) -> Self {
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
    fn find(&mut self, word: &str) -> Option<u32> {
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
    fn find_all(&mut self, words: &[String]) -> Vec<u32> {
        let mut terms: Vec<u32> = words.iter().filter_map(|word| self.find(word)).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// Returns a kept term's text.
    fn term(&self, id: u32) -> &'v str {
        &self.vocabulary.kept_terms()[id as usize].term
    }

    /// Returns V.
    fn len(&self) -> usize {
        self.vocabulary.kept()
    }

    /// Reports how many words were looked up, and which of them are not terms.
    fn report(self, pruned: &mut Pruned) {
        pruned.words = self.found.len();
        pruned.unknown_words = self.unknown;
        pruned.examples = self.examples;
    }
}

#[cfg(test)]
pub(crate) mod tests;
