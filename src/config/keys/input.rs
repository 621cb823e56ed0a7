//! The rows about what is read: `[corpus]`, `[htrc]`, `[tokens]`, `[phrases]`, `[vocabulary]`, `[synth]`.

use super::constraint::Demand::{Absent, Ignored, NotGiven, Only, Unused};
use super::constraint::Given::Text;
use super::constraint::When::{If, Is, Lacks, Names};
use super::constraint::{KeyConstraint, constraints};
use super::{HashedStage, Section, rows};
use crate::config::kind::ValueKind::{
    Encoding, File, Flag, List, Mib, Name, Optional, Or, Real, StopWords, Text as AnyText, Whole,
    Word,
};
use crate::config::kind::{
    AUTO, COUNT, POSITIVE, Reals, SHARE, is_distinct, is_named, word, words_of,
};
use corpus::formats;
use corpus::language::is_code;
use corpus::settings::{
    self, Boilerplate, Markup, OnDamage, Repetitions, TokenRule, TokenSettings,
};
use lda::model::statistics::MAX_TERMS;

const SIZE: Reals = Reals(|x| x > 0.0 && x <= 65_536.0, "a number of MiB above 0, at most 65536");
const LENGTH: Reals = Reals(|x| x > 0.0 && x <= 1e9, "a number above 0, at most 1000000000");
const NPMI: Reals = Reals(|x| (-1.0..1.0).contains(&x), "a number from -1, below 1");
/// Statistics keep a term in 24 bits.
const TERM_IDS: u64 = MAX_TERMS as u64;

/// The keys that choose terms by their frequency.
pub(in crate::config) const BY_FREQUENCY: [&str; 4] = [
    "vocabulary.stop_top",
    "vocabulary.min_documents",
    "vocabulary.max_share",
    "vocabulary.max_terms",
];
/// The keys about phrases that are detected.
pub(in crate::config) const DETECTION: [&str; 3] =
    ["phrases.min_count", "phrases.threshold", "phrases.max_words"];

/// Whether a key, or a section, has no effect on files of a format.
fn lacks(format: &str, key: &str) -> bool {
    formats::named(format).is_some_and(|format| !format.takes(key))
}

pub(super) const CONSTRAINTS: &[KeyConstraint] = constraints! {
    ["corpus.labels"] => Only(Text("")), if Names("model.from");
    ["corpus.labels"] => Only(Text("")), if Names("train.warm_start");
    ["corpus.header"] => Unused, if If("corpus.format", |format| lacks(format, "corpus.header"));
    ["corpus.counts"] => Unused, if If("corpus.format", |format| lacks(format, "corpus.counts"));
    ["htrc"] => Unused, if If("corpus.format", |format| lacks(format, "htrc"));
    ["tokens.elisions"] => Unused, if If("tokens.rule", |rule| matches!(rule, "letters" | "whitespace"));
    ["tokens.addresses"] => Unused, if Is("tokens.rule", "whitespace");
    ["corpus.duplicates", "corpus.duplicate_similarity"] => Ignored, if Names("model.from");
    ["corpus.duplicate_similarity"] => Unused, if Is("corpus.duplicates", "keep");
    DETECTION => Unused, if Is("phrases.detect", "false");
    BY_FREQUENCY => NotGiven, if Names("vocabulary.from");
    BY_FREQUENCY => Ignored, if Names("vocabulary.from");
    ["corpus.label_separator", "corpus.label_min_documents", "model.label_prior", "project.label_topics",
     "project.label_count", "project.label_threshold"] => Unused, if Lacks("corpus.labels");
    ["model.topics"] => Absent, if Names("corpus.labels"), because "each label is a topic";
};

pub(super) const CORPUS: Section = rows! {
    "corpus", Some(HashedStage::Corpus);

    /// The folder that relative `input` and `exclude` start from; itself relative to the job file's folder; may be
    /// `s3://bucket/folder`. `""` is the job file's folder. Resolved jobs contain it, so that they can be moved.
    base: File, Default(""), UNHASHED;
    /// Files, folders (recursively) and globs (`*`, `**`, `?`, `[a-z]`). `~` and `${NAME:-default}` are expanded.
    /// Plain, `.gz`, `.zst` or `.bz2`. Also in an object store: `s3://bucket/docs/**/*.jsonl.zst`.
    input: List(|names| !names.is_empty() && is_named(names), "a text or a list of texts, none of them empty"),
        Required(["texts/**/*.txt"]);
    /// Globs of files to leave out. Without a `/`, a glob excludes every file or folder of that name; with one, it is a
    /// path below the base folder, or anywhere if it begins with `**/`.
    exclude: List(|_| true, "a text or a list of texts"), Default([]);
    /// The format of all files ([FORMATS.md](FORMATS.md#input) describes each); `"auto"` decides by each file's name and
    /// first bytes.
    format: Or(AUTO, &Word(formats::words)), Default("auto");
    /// The encoding of texts that are not UTF-8, by its label in the WHATWG standard. By default their bytes are
    /// replaced, and the document is `repaired` ([FORMATS.md](FORMATS.md#encodings)).
    encoding: Encoding, Default("utf-8");
    /// `"remove"`: tags, comments, scripts and styles of HTML and XML are removed from texts, and character references
    /// such as `&eacute;` decoded ([FORMATS.md](FORMATS.md#markup)).
    markup: Word(words_of::<Markup>), Default("keep");
    /// `"auto"`: licences of Project Gutenberg, files encoded as text, running heads and page numbers, and quotations and
    /// signatures in e-mail are left out of texts, and counted ([FORMATS.md](FORMATS.md#what-is-not-the-text)).
    boilerplate: Word(words_of::<Boilerplate>), Default("auto");
    /// Whether the first line of CSV and TSV names the columns. If not, they are named by their numbers: `"1"`, `"2"`, ….
    header: Flag, Default(true);
    /// Key or column with the document's id. Documents without one are named by file and position.
    // The name in most JSON Lines files and tables.
    id: Name, Default("id");
    /// Key or column with the text; the texts of a list are joined by line breaks.
    // The same.
    text: List(|names| !names.is_empty() && is_named(names), "a text or a list of texts, none of them empty"),
        Default("text");
    /// Key of JSON Lines that holds an object of words and their counts, such as `"unigramCount"`, to be read instead of
    /// `text`. In Parquet and Arrow, the column with the count of the word in `text`: a row is a document's word
    /// ([FORMATS.md](FORMATS.md#long-tables)). `[tokens]` applies to each word.
    counts: Optional, Default("");
    /// Cut each text into documents of at least this many words, at the ends of paragraphs
    /// ([FORMATS.md](FORMATS.md#long-texts)); 0: texts are not cut. Set `section_words` or `section_paragraphs`, not both.
    /// Neither has an effect on counts and on Extracted Features, whose sections are those of `[htrc]`.
    section_words: Whole(0, COUNT), Absent;
    /// Cut each text into documents of this many paragraphs.
    section_paragraphs: Whole(1, COUNT), Absent;
    /// Key or column that names the volume of which a document is a section; `""` for none, or in Extracted Features
    /// the volume's own id, and of texts that are cut theirs.
    group: Optional, Default("");
    /// Keys or columns copied into the table `documents`, as numbers, days or lists where all values are
    /// ([FORMATS.md](FORMATS.md#documents)).
    metadata: List(|names| is_distinct(names) && is_named(names), "a list of distinct names"), Default([]);
    /// Identify the language of each text, by its first 1,000 characters: column `language` of the table `documents`
    /// ([FORMATS.md](FORMATS.md#languages)).
    identify_language: Flag, Default(false);
    /// Languages of the texts that are read, by ISO 639-1 code (`["en", "de"]`), identified in the same way; `"und"`: texts
    /// too short or too mixed to tell. Other texts get status `filtered`. `[]`: all.
    languages: List(|codes| is_distinct(codes) && codes.iter().all(|code| is_code(code)),
        "a list of distinct ISO 639-1 codes of languages that can be identified, such as \"en\", or \"und\""),
        Default([]);
    /// Key or column with a document's labels: a list, or a text in which `label_separator` separates them. Each label
    /// becomes a topic (Labeled LDA). The column is copied into `documents` too.
    labels: Optional, Default("");
    /// The separator between the labels of a text; `""`: the text is one label.
    label_separator: AnyText, Default(",");
    /// Drop labels that fewer documents with terms have.
    label_min_documents: Whole(1, COUNT), Default(1);
    /// MiB of uncompressed input that are parsed as one unit, which becomes one shard; `"auto"`
    /// derives it from the input's size.
    block_mib: Or(AUTO, &Mib(SIZE)), Default("auto");
    /// A larger document is not tokenized: it gets status `too_large`.
    // Far above any book (the longest novels have 20 MiB), and far below a size at which one document would be the
    // slowest part of a run.
    max_document_mib: Mib(SIZE), Default(256);
    /// When a file is truncated: `"fail"` stops the run, `"keep"` continues with what could be read and one document
    /// of status `truncated`.
    on_damage: Word(words_of::<OnDamage>), Default("fail");
    /// Documents that nearly repeat an earlier one ([FORMATS.md](FORMATS.md#repeated-texts)). `"once"`: they are neither
    /// counted in the vocabulary nor trained on, but have their topics; `"drop"`: they have status `duplicate` and no
    /// terms; `"keep"`: they are not looked for. Nor are they among documents that `topicmill add` adds.
    duplicates: Word(words_of::<Repetitions>), Default("keep");
    /// The least resemblance of a document and one that it nearly repeats: the share of their sequences of three tokens
    /// that both have.
    // Copies in which one word of twenty differs are found, replies that quote a whole text are not.
    duplicate_similarity: Real(SHARE), Default(0.7);
};

pub(super) const HTRC: Section = rows! {
    "htrc", Some(HashedStage::Corpus);

    /// Pages of a section; 0: a volume is a document.
    // HTRC's own unit of ten pages holds some 3,000 words, like the sections of Mimno 2012.
    section_pages: Whole(0, COUNT), Default(10);
    /// Minimum number of words in a section, instead of a number of pages; a section ends with the page that reaches it.
    section_words: Whole(1, COUNT), Absent;
    /// Pages at the start of each volume that are not read, such as the cover and the contents.
    skip_first_pages: Whole(0, COUNT), Default(0);
    /// Pages at the end of each volume that are not read, such as an index.
    skip_last_pages: Whole(0, COUNT), Default(0);
    /// Languages that are read: of volumes by three letters (`"eng"`, as their metadata), of pages by two (`"en"`, as
    /// detected). `[]`: all.
    languages: List(|codes| is_distinct(codes) && codes.iter().all(|code| matches!(code.len(), 2 | 3)),
        "a list of distinct codes of two or three letters"), Default([]);
    /// First year of publication that is read.
    first_year: Whole(0, 9_999), Default(0);
    /// Last year of publication that is read. A volume without a year is read only if neither year is set.
    last_year: Whole(0, 9_999), Default(9999);
    /// Keys of the metadata that identify copies: of the volumes that agree in all of them, only the one with the
    /// smallest id is read; the others get status `filtered`. `["record", "enumerationChronology"]`: a copy of each
    /// edition. `["title", "author", "enumerationChronology"]`: an edition of each work. `[]`: all volumes are read.
    unique_by: List(|keys| is_distinct(keys) && is_named(keys), "a list of distinct names"), Default([]);
    /// Parts of speech that are read, `*` for any ending: `["NN*", "JJ*"]` for the nouns and adjectives of English.
    /// `[]`: all.
    parts_of_speech: List(|tags| is_distinct(tags) && is_named(tags), "a list of distinct texts, none of them empty"),
        Default([]);
};

pub(super) const TOKENS: Section = rows! {
    "tokens", Some(HashedStage::Corpus);

    /// `"dictionary"`: words of Unicode's UAX #29, but of a dictionary where a text's script has no spaces between words
    /// (Chinese, Japanese, Thai, Lao, Khmer, Burmese); `"words"`: UAX #29 alone, for which each character of these
    /// scripts is a word; `"letters"`: runs of letters; `"whitespace"`: for text that is already tokenized.
    // The same as `"words"` in all other scripts, so that a few texts in Chinese are not lost among those in English.
    rule: Word(words_of::<TokenRule>), Library(word(TokenSettings::DEFAULT.rule));
    /// Lower-case every token; `I` becomes `i`, in Turkish too.
    lower_case: Flag, Library(TokenSettings::DEFAULT.lower_case);
    /// Shortest token kept, in characters. With the rule `"dictionary"`, a word of a script without spaces is kept from
    /// two on.
    // Nearly all English words of two letters are function words (MALLET's importer draws the same line).
    min_length: Whole(1, 1_000), Library(TokenSettings::DEFAULT.min_length as i64);
    /// Longest token kept, in characters; not less than `min_length`.
    // Longer than the words in any dictionary; anything longer is base64 or a URL.
    max_length: Whole(1, 1_000), Library(TokenSettings::DEFAULT.max_length as i64);
    /// Keep tokens without a letter.
    numbers: Flag, Library(TokenSettings::DEFAULT.numbers);
    /// Split `snake_case` and `camelCase`, for source code.
    identifiers: Flag, Library(TokenSettings::DEFAULT.identifiers);
    /// Keep web and e-mail addresses, cut into words like any text. By default they are dropped, except with the
    /// rule `"whitespace"`.
    // `https`, `com` and the parts of a path say little about a text, and links are long.
    addresses: Flag, Library(TokenSettings::DEFAULT.addresses);
    /// Drop elided words before an apostrophe, as French, Italian and Catalan have them: `l'état` becomes `état`.
    elisions: Flag, Library(TokenSettings::DEFAULT.elisions);
    /// Join words that are hyphenated at the end of a line, as in scanned print: a hyphen after a letter, a line break and
    /// a lower-case letter.
    join_hyphens: Flag, Library(TokenSettings::DEFAULT.join_hyphens);
};

pub(super) const PHRASES: Section = rows! {
    "phrases", Some(HashedStage::Corpus);

    /// A file with a phrase on each line, `new york`, which becomes one token, `new_york`; or, after a TAB, the token that
    /// replaces it (MALLET's `--replacement-files`). `""`: none.
    replacements: File, Default("");
    /// A file with the words on each line that are deleted where they follow each other (MALLET's `--deletion-files`),
    /// after replacements. `""`: none.
    deletions: File, Default("");
    /// `corpus/collection.json` of a result with detected phrases, which are joined here too: for texts on which its
    /// model is to be evaluated. `""`: none.
    found: File, Default("");
    /// Join two words that follow each other more often than by chance: those whose normalised pointwise mutual
    /// information (NPMI) in the collection is above `threshold`.
    detect: Flag, Default(false);
    /// Two words must follow each other at least this often to be a phrase.
    // As in gensim.
    min_count: Whole(1, COUNT), Default(5);
    /// NPMI above which two words are a phrase: 1 if neither occurs without the other, 0 if as often as by chance.
    threshold: Real(NPMI), Default(0.5);
    /// Maximum number of words in a phrase. Above 2, a second pass joins phrases with words; with 4, also with each
    /// other, as gensim's `Phrases` applied twice.
    max_words: Whole(2, 4), Default(2);
};

pub(super) const VOCABULARY: Section = rows! {
    "vocabulary", Some(HashedStage::Corpus);

    /// Words never kept: the function words of a language by its ISO 639-1 code, `"rust"` (its keywords), or a file with
    /// one word per line (a name with `/` or ending in `.txt`). `"en-iso"`: a longer list, with frequent content words.
    /// `"by-language"`: for each document, the list of the language that it is in ([FORMATS.md](FORMATS.md#stop-words)).
    // Without a list, the largest topics consist of function words.
    stop_words: StopWords, Default("en");
    /// `"drop"`: words that a text capitalises within sentences are never kept, such as the characters of novels
    /// ([FORMATS.md](FORMATS.md#names)). Not for German, which capitalises nouns.
    names: Word(words_of::<settings::Names>), Default("keep");
    /// Treat the N most frequent terms (by documents) as stop words too.
    stop_top: Whole(0, 1_000_000), Default(0);
    /// A term must occur in at least this many documents.
    // A term in four documents says nothing about a topic, and such terms are most of the vocabulary (Zipf).
    min_documents: Whole(1, COUNT), Default(5);
    /// A term must occur in at most this share of the documents.
    // A term in more than half of the documents does not tell them apart.
    max_share: Real(SHARE), Default(0.5);
    /// Keep at most this many of the remaining terms, by document frequency.
    // The vocabulary of Mimno 2012, 2^16; rarer terms are mostly OCR errors.
    max_terms: Whole(1, TERM_IDS), Default(65536);
    /// If there are more distinct terms than this, about, those in fewer than `min_documents` documents are counted, but
    /// not listed: they have no rows in `vocabulary`, and occurrences in documents that are added later are not added to
    /// theirs ([FORMATS.md](FORMATS.md#rare-terms)).
    // Five times as many as a billion words of clean text have; listing them takes 1 GiB of memory over all processes.
    max_distinct: Whole(1, COUNT), Default(4194304);
    /// A finished result whose terms are kept, under the same term ids, whatever their frequency here; all other terms
    /// are left out. `""`: `stop_top` to `max_terms` choose the terms. The default is that result of `train.warm_start`,
    /// unless there is a `tree.file` or `--set` sets one of those keys.
    from: File, Default("");
};

pub(super) const SYNTH: Section = rows! {
    "synth", Some(HashedStage::Corpus);

    /// The folder to create, relative to the current directory: `documents-00000.jsonl` … (`id`, `topic`, `text`) and,
    /// under `answer/`, the planted topics. A finished folder with the same settings is reused; a folder with anything
    /// else is refused.
    path: Name, Required("out/planted-corpus"), UNHASHED;
    /// Topics to plant.
    // Few enough to look at each.
    topics: Whole(1, 65_535), Default(20);
    /// Documents to generate.
    // Takes some seconds.
    documents: Whole(1, i64::MAX as u64), Default(10000);
    /// Terms in the vocabulary.
    // The vocabulary of a small corpus.
    terms: Whole(1, TERM_IDS), Default(5000);
    /// Tokens in a document, on average.
    // The length of a long abstract.
    mean_length: Real(LENGTH), Default(120);
    /// Sum of the Dirichlet that documents' proportions are drawn from; small means few topics per document.
    // Two or three topics per document, so that planted topics can be told apart.
    alpha_sum: Real(POSITIVE), Default(1);
    /// The seed of every random choice.
    seed: Whole(0, i64::MAX as u64), Default(1);
};
