//! The user's lists: phrases, replacements and deletions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::joined;
use crate::CorpusError;
use crate::settings::{PhraseSettings, TokenSettings};
use crate::tokenizer::{Rule, Tokenizer};
use crate::word_file::{self, without_comment};

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
mod tests {
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
