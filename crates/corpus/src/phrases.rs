//! Phrases: tokens that follow each other and count as one.
//!
//! They are listed by the user (`lists`) or found by their counts: two tokens are a phrase if their normalised
//! pointwise mutual information ([`npmi`]) is high. As in gensim's `Phrases`, a second pass over the joined text finds
//! phrases of phrases. Either way the tokenizer joins them by rules, in every text that is tokenized for the same
//! model.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lda::math::special::ln;
use serde::{Deserialize, Serialize};

use crate::CorpusError;
use crate::settings::{PhraseSettings, TokenSettings};
use crate::tokenizer::{Rule, Tokenizer};
use crate::word_file::{self, without_comment};

/// Two tokens that a collection joins. Either may be a phrase of an earlier pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phrase {
    /// The pass that found it, from 1.
    pub pass: u32,
    /// The first token.
    pub first: String,
    /// The token that follows it.
    pub second: String,
    /// How often they follow each other in the text of that pass.
    pub count: u64,
    /// Their [`npmi`] there.
    pub score: f64,
}

impl Phrase {
    /// Returns the token that replaces them.
    pub fn name(&self) -> String {
        joined([&*self.first, &*self.second].into_iter())
    }
}

/// Pairs of tokens that a worker adds up at a time, on average at most, when phrases are looked for. Fewer in debug
/// builds, so that tests reach it.
pub const PAIRS_A_PART: u64 = if cfg!(debug_assertions) { 1 << 16 } else { 4 << 20 };

/// The most bytes of [`pair_buckets`].
const MOST_BUCKETS: u64 = 1 << 26;

/// Returns the buckets, of a byte each, with which a worker finds out which of its pairs can occur `least` times, in a
/// text of this many tokens a worker: in a bucket without such a pair there are `least` / 4 at most, on average, unless
/// there are too many tokens.
pub fn pair_buckets(tokens: u64, least: u64) -> u64 {
    let buckets = (4 * tokens / least.clamp(1, u8::MAX.into())).next_power_of_two();
    buckets.clamp(2, MOST_BUCKETS)
}

/// Returns about the bytes in which a worker counts the pairs of this many tokens, and the buckets of those that can be
/// frequent: there are fewer distinct pairs than tokens.
pub fn pair_bytes(tokens: u64, least: u64) -> u64 {
    let buckets = if tokens > PAIRS_A_PART { pair_buckets(tokens, least) } else { 0 };
    buckets + 2 * size_of::<(u64, u64)>() as u64 * tokens.min(PAIRS_A_PART)
}

/// Joins the words of a phrase into one token.
fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join("_")
}

/// Returns the rules that join phrases, by pass, in order.
pub fn rules(phrases: &[Phrase]) -> Vec<Vec<Rule>> {
    let mut passes: Vec<Vec<Rule>> = Vec::new();
    for phrase in phrases {
        passes.resize(passes.len().max(phrase.pass as usize), Vec::new());
        passes[phrase.pass as usize - 1].push(Rule {
            words: vec![phrase.first.clone(), phrase.second.clone()],
            target: Some(phrase.name()),
        });
    }
    passes
}

/// Computes the normalised pointwise mutual information, ln(p(a, b) / (p(a) p(b))) / −ln p(a, b), from −1 to 1 (Bouma
/// 2009, Eq. 8), of tokens a and b that occur `first` and `second` times among `tokens`, and `count` times one after
/// the other: p is each count's share of the tokens, as in gensim.
///
/// ```
/// use corpus::phrases::npmi;
///
/// assert!((npmi(10, [10, 10], 1000) - 1.0).abs() < 1e-12);
/// assert_eq!(npmi(1, [10, 100], 1000), 0.0);
/// ```
pub fn npmi(count: u64, [first, second]: [u64; 2], tokens: u64) -> f64 {
    let share = |count: u64| count as f64 / tokens as f64;
    let both = share(count);
    ln(both / (share(first) * share(second))) / -ln(both)
}

// The user's lists: phrases, replacements and deletions.

/// A parser of a list's lines.
type Parse = fn(&str, &mut Tokenizer) -> Result<Rule, String>;

/// Loads the rules of the lists that a job names: a pass for each.
///
/// # Errors
/// Fails if a file cannot be read, is not UTF-8, or has an invalid line.
pub fn load(
    settings: &PhraseSettings,
    tokens: &TokenSettings,
) -> Result<Vec<Vec<Rule>>, CorpusError> {
    let rules = |key, path: &Option<PathBuf>, parse: Parse| {
        path.as_ref().map(|path| read(key, path, tokens, parse))
    };
    let replacements = rules("phrases.replacements", &settings.replacements, replacement);
    let deletions = rules("phrases.deletions", &settings.deletions, deletion);
    replacements.into_iter().chain(deletions).collect()
}

fn read(
    key: &'static str,
    path: &Path,
    tokens: &TokenSettings,
    parse: Parse,
) -> Result<Vec<Rule>, CorpusError> {
    let text = word_file::read(key, path)?;
    let mut tokenizer = Tokenizer::new(tokens);
    let mut rules: Vec<Rule> = Vec::new();
    // The line and the rule's index of each sequence.
    let mut known: HashMap<Vec<String>, (usize, usize)> = HashMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = without_comment(line);
        if line.trim().is_empty() {
            continue;
        }
        let broken = |problem: String| word_file::line(key, path, number, &problem);
        let rule = parse(line, &mut tokenizer).map_err(broken)?;
        match known.get(&rule.words) {
            None => {
                known.insert(rule.words.clone(), (number, rules.len()));
                rules.push(rule);
            }
            Some(&(first, place)) if rules[place] != rule => {
                return Err(broken(format!(
                    "line {first} replaces the same words by another term; remove one of the two lines"
                )));
            }
            Some(_) => {}
        }
    }
    Ok(rules)
}

/// Tokenizes a line like a text.
fn words(text: &str, tokenizer: &mut Tokenizer) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    tokenizer.tokens(text, &mut |token| words.push(token.to_owned()));
    match words.len() {
        0 => Err(format!(
            "{:?} has no token under [tokens]; remove the line, or change tokens.min_length or \
             tokens.numbers",
            text.trim()
        )),
        _ => Ok(words),
    }
}

fn deletion(line: &str, tokenizer: &mut Tokenizer) -> Result<Rule, String> {
    if line.trim().contains('\t') {
        return Err("has a tab; a line is the words to delete, with spaces between them".to_owned());
    }
    Ok(Rule { words: words(line, tokenizer)?, target: None })
}

/// Joins `a b` into one token, `a_b`; replaces `a b` in `a b<TAB>c` by `c`.
fn replacement(line: &str, tokenizer: &mut Tokenizer) -> Result<Rule, String> {
    let (source, target) = match line.split_once('\t') {
        None => (line, None),
        Some((source, target)) => (source, Some(joined(target.split_whitespace()))),
    };
    let words = words(source, tokenizer)?;
    let target = match target {
        None if words.len() == 1 => {
            return Err(format!(
                "{:?} is a single token under [tokens]: a phrase has two or more; a replacement has a \
                 tab and the term that replaces it",
                source.trim()
            ));
        }
        None => joined(words.iter().map(String::as_str)),
        Some(target) if target.is_empty() => {
            return Err(
                "nothing follows the tab; words to delete belong in phrases.deletions".to_owned()
            );
        }
        Some(target) => target,
    };
    Ok(Rule { words, target: Some(target) })
}

#[cfg(test)]
mod lists_tests {
    use super::*;

    fn load_texts(replacements: &str, deletions: &str) -> Result<Vec<Vec<Rule>>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        std::fs::write(path("r.txt"), replacements).unwrap();
        std::fs::write(path("d.txt"), deletions).unwrap();
        load_from(path("r.txt"), Some(path("d.txt")))
    }

    fn load_from(
        replacements: PathBuf,
        deletions: Option<PathBuf>,
    ) -> Result<Vec<Vec<Rule>>, String> {
        let settings = PhraseSettings {
            replacements: Some(replacements),
            deletions,
            ..PhraseSettings::default()
        };
        let tokens = TokenSettings { min_length: 2, ..TokenSettings::DEFAULT };
        load(&settings, &tokens).map_err(|error| error.to_string())
    }

    fn rule(words: &[&str], target: Option<&str>) -> Rule {
        Rule {
            words: words.iter().map(|&word| word.to_owned()).collect(),
            target: target.map(str::to_owned),
        }
    }

    #[test]
    fn lines_are_rules_in_the_form_of_tokens() {
        let found = load_texts(
            "\u{FEFF}# places\nNew York  # the city\nNYC\tnew_york\r\n\nHead of a State\tHead  of state\n\
             new york\n",
            "all rights reserved\nre\n",
        );
        let expected = vec![
            vec![
                rule(&["new", "york"], Some("new_york")),
                rule(&["nyc"], Some("new_york")),
                rule(&["head", "of", "state"], Some("Head_of_state")),
            ],
            vec![rule(&["all", "rights", "reserved"], None), rule(&["re"], None)],
        ];
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn broken_lines_are_named_with_a_remedy() {
        for (replacements, deletions, told) in [
            ("good line\nvitamin C\n", "", "r.txt, line 2: \"vitamin C\" is a single token"),
            ("#\n\n1 2\n", "", "r.txt, line 3: \"1 2\" has no token under [tokens]; remove"),
            ("nyc\t \n", "", "r.txt, line 1: nothing follows the tab; words to delete belong in"),
            ("nyc\ta\nnyc\ta\nNYC\tb\n", "", "r.txt, line 3: line 1 replaces the same words"),
            ("", "dear sir\tmadam\n", "phrases.deletions: "),
            ("", "x\n", "d.txt, line 1: \"x\" has no token"),
        ] {
            let error = load_texts(replacements, deletions).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = load_from("no/such.txt".into(), None).unwrap_err();
        assert!(error.starts_with("phrases.replacements: cannot read no/such.txt: "), "{error}");
    }
}
