//! Stop words: lists by language, your own files, and a list for Rust sources.
//!
//! A language's list is that of NLTK, which has function words, where NLTK has one (except Greek); else that of Stopwords ISO, which
//! joins lists of many sources and has many content words too (*computer*, *system*, *research* in English). Where they
//! differ, that of Stopwords ISO is `en-iso`. The English one also has the other words of closed classes, because
//! topics begin with *would*, *one* and *upon* without them (docs/measurements/DEFAULTS.md).
//!
//! Every entry goes through the job's own tokenizer, so that it has the form of tokens: with the rule `letters`,
//! "don't" stops "don" and "t". Stop words are removed when the vocabulary is pruned; their tokens are counted before
//! that, and `documents` has their number.

use std::collections::{BTreeMap, BTreeSet};

use super::CorpusError;
use super::language::is_code;
use super::names;
use super::settings::{Names, StopWords, TokenSettings, VocabularySettings};
use super::terms::TermCounter;
use super::tokenizer::Tokenizer;
use super::word_file::{self, without_comment};

/// Loads the stop words of a job's lists, joined, in the form of tokens. Languages are those of [`languages`].
///
/// ```
/// use corpus::settings::{StopWords, TokenRule, TokenSettings};
/// use corpus::stop_words;
///
/// let tokens = TokenSettings {
///     min_length: 1,
///     max_length: 64,
///     ..TokenSettings::DEFAULT
/// };
/// let list = stop_words::load(&[StopWords::Language("en".into())], &tokens).unwrap();
/// assert!(list.contains("the") && list.contains("don't") && !list.contains("whale"));
/// ```
///
/// # Errors
/// Fails if a language has no list, or a file cannot be read or is not UTF-8.
pub fn load(lists: &[StopWords], tokens: &TokenSettings) -> Result<BTreeSet<String>, CorpusError> {
    let (mut words, mut tokenizer) = (BTreeSet::new(), Tokenizer::new(tokens));
    let mut add = |entry: &str| {
        tokenizer.tokens(entry, &mut |token| {
            words.insert(token.to_owned());
        });
    };
    let mut is_by_language = false;
    for source in lists {
        match source {
            StopWords::Language(name) => {
                for word in language(name)?.iter().flat_map(|words| words.split_ascii_whitespace())
                {
                    add(word);
                    if name == "el" {
                        accented(word).for_each(|word| add(&word));
                    }
                }
            }
            StopWords::File(path) => {
                let text = word_file::read("vocabulary.stop_words", path)?;
                text.lines().map(without_comment).for_each(&mut add);
            }
            StopWords::ByLanguage => is_by_language = true,
        }
    }
    if is_by_language {
        for code in languages().filter(|code| is_code(code)) {
            let own = load(&[StopWords::Language(code.to_owned())], tokens)?;
            words.extend(own.iter().map(|word| marked(word, code)));
        }
    }
    Ok(words)
}

/// The terms that are never kept: a job's stop words and, if it drops them, names.
#[derive(Clone, Debug, Default)]
pub struct StopList {
    words: BTreeSet<String>,
    has_names: bool,
}

impl StopList {
    /// Loads the list of a job.
    ///
    /// # Errors
    /// Like [`load`].
    pub fn load(
        settings: &VocabularySettings,
        tokens: &TokenSettings,
    ) -> Result<Self, CorpusError> {
        let has_names = settings.names == Names::Drop;
        Ok(Self { words: load(&settings.stop_words, tokens)?, has_names })
    }

    /// Returns a list of these words.
    pub fn of<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        Self { words: words.into_iter().map(str::to_owned).collect(), has_names: false }
    }

    /// Returns whether a term is on the list.
    pub fn contains(&self, term: &str) -> bool {
        self.has_word(term) || self.has_names && names::word_of(term).is_some()
    }

    /// Returns whether a term is on the list, and not merely a name.
    pub fn has_word(&self, term: &str) -> bool {
        self.words.contains(term)
    }

    /// Returns whether names are on the list.
    pub fn has_names(&self) -> bool {
        self.has_names
    }

    /// Adds a word.
    pub fn insert(&mut self, word: &str) {
        self.words.insert(word.to_owned());
    }
}

/// Returns the term for a stop word in documents of one language, which may be a content word in another: `die (de)`.
fn marked(word: &str, code: &str) -> String {
    format!("{word} ({code})")
}

/// The stop words of the languages that documents are in. In documents of its language a stop word counts as a term of
/// its own, `die (de)`, which [`load`] has in the list.
#[derive(Clone, Debug)]
pub struct StopWordsByLanguage {
    tokens: TokenSettings,
    /// The local ids of the stop words of each language met, and of the terms that they become.
    by_language: BTreeMap<&'static str, BTreeMap<u32, u32>>,
}

impl StopWordsByLanguage {
    /// Creates one that has met no language, for texts that are cut in this way.
    pub fn new(tokens: &TokenSettings) -> Self {
        Self { tokens: tokens.clone(), by_language: BTreeMap::new() }
    }

    /// Returns the local ids in `terms` of the stop words of a language, and those of the terms that they become; none
    /// for a language without a list.
    pub(crate) fn of(
        &mut self,
        code: &'static str,
        terms: &mut TermCounter,
    ) -> &BTreeMap<u32, u32> {
        self.by_language.entry(code).or_insert_with(|| {
            let list = load(&[StopWords::Language(code.to_owned())], &self.tokens);
            let words = list.unwrap_or_default();
            let ids = |word: &String| (terms.intern(word), terms.intern(&marked(word, code)));
            words.iter().map(ids).collect()
        })
    }
}

/// The languages that have a list of NLTK and another one of Stopwords ISO.
const OF_BOTH: [&str; 21] = [
    "ar", "da", "de", "en", "es", "eu", "fi", "fr", "he", "hu", "id", "it", "nl", "no", "pt", "ro",
    "ru", "sl", "sv", "tr", "zh",
];
/// What follows the code of one of these in the name of its list of Stopwords ISO.
const ISO: &str = "-iso";

/// Returns the languages that have a list, by ISO 639-1 code, and `rust`. The list of Norwegian (`no`) is that of
/// Bokmål (`nb`).
pub fn languages() -> impl Iterator<Item = &'static str> {
    let codes = stop_words::available_languages().iter().copied();
    codes.filter(|code| code.len() == 2).chain(["nb", "rust"])
}

/// Returns whether there is a list of this name: a language of [`languages`], one with `-iso`, or `by-language`.
pub fn is_name(name: &str) -> bool {
    if name == StopWords::BY_LANGUAGE {
        return true;
    }
    let code = name.strip_suffix(ISO);
    code.map_or_else(|| languages().any(|known| known == name), |code| OF_BOTH.contains(&code))
}

/// Returns the names of the lists and files: "de, en-iso, words.txt".
pub fn names(lists: &[StopWords]) -> String {
    let name = |list: &StopWords| match list {
        StopWords::Language(name) => name.clone(),
        StopWords::File(path) => path.display().to_string(),
        StopWords::ByLanguage => StopWords::BY_LANGUAGE.to_owned(),
    };
    lists.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn language(name: &str) -> Result<Vec<&'static str>, CorpusError> {
    let list: Option<&[&str]> = match name {
        "rust" => Some(&[RUST]),
        "en" => return Ok([stop_words::get("en"), &[CLOSED_CLASSES]].concat()),
        "nb" => stop_words::lookup("no"),
        // NLTK's list lacks common words (όμως, εδώ).
        "el" => Some(stop_words_iso::get("el")),
        name => match name.strip_suffix(ISO).filter(|code| OF_BOTH.contains(code)) {
            Some(code) => Some(stop_words_iso::get(code)),
            None => stop_words::lookup(name),
        },
    };
    list.map(<[_]>::to_vec).ok_or_else(|| {
        CorpusError::Setting(format!(
            "vocabulary.stop_words: unknown list \"{name}\"; did you mean \"{}\"? Lists are named by ISO 639-1 code: \
             {}; the longer list of a language as en-iso; a word file must exist",
            nearest(name),
            languages().collect::<Vec<_>>().join(" ")
        ))
    })
}

/// Returns a Greek word as it is and with an accent on each of its vowels in turn: the list has hardly any accents, and
/// `∆` (U+2206) for δ.
fn accented(word: &str) -> impl Iterator<Item = String> {
    let word = word.replace('\u{2206}', "δ");
    let vowels = "αεηιουω".chars();
    let places: Vec<usize> = vowels
        .flat_map(|vowel| word.match_indices(vowel).map(move |(at, _)| at + vowel.len_utf8()))
        .collect();
    let plain = word.clone();
    let accented = move |at: usize| format!("{}\u{301}{}", &word[..at], &word[at..]);
    std::iter::once(plain).chain(places.into_iter().map(accented))
}

/// Returns the list with the nearest name, on a tie the first; `english` and `en_GB` find `en`.
fn nearest(name: &str) -> &'static str {
    let name = name.to_lowercase();
    let score = |code: &str| strsim::jaro_winkler(&name, code);
    languages()
        .reduce(|best, code| if score(code) > score(best) { code } else { best })
        .unwrap_or("en")
}

/// English modal verbs, conjunctions, prepositions, pronouns, determiners and the adverbs of sentences that NLTK's list
/// lacks.
const CLOSED_CLASSES: &str = include_str!("stop_words/english.txt");

/// Keywords, names of primitive types, and names from the standard library that are common in any source file.
const RUST: &str = include_str!("stop_words/rust.txt");

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;
    use crate::settings::TokenRule;

    fn settings(rule: TokenRule, identifiers: bool) -> TokenSettings {
        TokenSettings {
            rule,
            min_length: 1,
            max_length: 64,
            numbers: true,
            identifiers,
            ..TokenSettings::DEFAULT
        }
    }

    fn file(text: &[u8]) -> (tempfile::TempDir, StopWords) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stop.txt");
        fs::File::create(&path).unwrap().write_all(text).unwrap();
        (folder, StopWords::File(path))
    }

    #[test]
    fn greek_words_are_stopped_with_and_without_accents() {
        let el = [StopWords::Language("el".into())];
        let words = load(&el, &settings(TokenRule::Words, false)).unwrap();
        for word in "είναι αλλά όμως εδώ αυτό ειναι αλλα και εδω".split(' ')
        {
            assert!(words.contains(word), "{word}");
        }
        assert!(!words.contains("θάλασσα"));
    }

    #[test]
    fn entries_take_the_form_of_tokens() {
        let en = [StopWords::Language("en".into())];
        let words = load(&en, &settings(TokenRule::Words, false)).unwrap();
        assert!(words.contains("don't") && words.contains("the"));
        assert!(!words.contains("don") || stop_words::get("en").contains(&"don"));
        let letters = load(&en, &settings(TokenRule::Letters, false)).unwrap();
        assert!(letters.contains("don") && letters.contains("t") && !letters.contains("don't"));
    }

    #[test]
    fn elided_words_are_stop_words_too() {
        let tokens = TokenSettings { elisions: true, ..settings(TokenRule::Words, false) };
        let fr = load(&[StopWords::Language("fr".into())], &tokens).unwrap();
        assert!(["est", "on", "qui"].iter().all(|word| fr.contains(*word)));
    }

    #[test]
    fn files_have_comments_and_join_languages() {
        let (_folder, own) = file("\u{FEFF}# mine\nWhale  # big\nC#\n\nSAÏD\r\nl’eau\n".as_bytes());
        let lists = [own, StopWords::Language("it".into())];
        let list = load(&lists, &settings(TokenRule::Words, false)).unwrap();
        for word in ["whale", "c", "saïd", "l'eau", "della", "perché"] {
            assert!(list.contains(word), "{word}");
        }
        for word in ["mine", "big", "Whale", "the"] {
            assert!(!list.contains(word), "{word}");
        }
    }

    #[test]
    fn rust_sources_lose_their_keywords() {
        let rust = [StopWords::Language("rust".into())];
        let list = load(&rust, &settings(TokenRule::Words, true)).unwrap();
        for word in ["fn", "impl", "usize", "self", "hash", "map", "unwrap", "vec"] {
            assert!(list.contains(word), "{word}");
        }
        assert!(!list.contains("tokenizer") && !list.contains("socket"));
    }

    #[test]
    fn unknown_languages_get_a_suggestion_and_the_list() {
        for (name, nearest) in [("english", "en"), ("EN", "en"), ("rusty", "rust"), ("itt", "it")] {
            let lists = [StopWords::Language(name.into())];
            let error = load(&lists, &settings(TokenRule::Words, false)).unwrap_err();
            let message = error.to_string();
            assert!(message.contains(&format!("mean \"{nearest}\"")), "{message}");
            assert!(
                message.contains(" de ")
                    && message.contains(" rust;")
                    && message.contains("en-iso"),
                "{message}"
            );
        }
    }

    #[test]
    fn broken_files_are_named() {
        let (_folder, own) = file(b"good\nbad \xff\n");
        let error = load(&[own], &settings(TokenRule::Words, false)).unwrap_err();
        assert!(error.to_string().contains("stop.txt, line 2"), "{error}");
        let missing = StopWords::File("no/such/list.txt".into());
        let error = load(&[missing], &settings(TokenRule::Words, false)).unwrap_err();
        assert!(error.to_string().contains("no/such/list.txt"), "{error}");
    }

    fn list(name: &str) -> BTreeSet<String> {
        assert!(is_name(name), "{name}");
        let lists = [StopWords::Language(name.into())];
        load(&lists, &settings(TokenRule::Words, false)).unwrap()
    }

    #[test]
    fn every_language_loads() {
        for name in languages() {
            assert!(!list(name).is_empty(), "{name}");
        }
        assert_eq!(list("nb"), list("no"));
        assert!(!is_name("hinglish") && !is_name("th-iso") && !is_name("rust-iso"));
    }

    #[test]
    fn lists_have_function_words_and_the_longer_ones_content_words_too() {
        for code in OF_BOTH {
            let (short, long) = (list(code), list(&format!("{code}{ISO}")));
            assert!(short != long, "{code}");
        }
        let (short, long) = (list("en"), list("en-iso"));
        for word in "computer system research results information web state member bill fire order right million man \
                     area"
            .split(' ')
        {
            assert!(!short.contains(word) && long.contains(word), "{word}");
        }
        for word in "the would one upon may".split(' ') {
            assert!(short.contains(word), "{word}");
        }
        assert!(short.len() < 350 && long.len() > 1000);
        for (code, word) in [("de", "mensch"), ("fr", "mot"), ("it", "paese"), ("ru", "земля")]
        {
            assert!(!list(code).contains(word), "{word}");
            assert!(list(&format!("{code}{ISO}")).contains(word), "{word}");
        }
    }
}
