//! Throughput of tokenizing and counting, against a plain use of the crates.
//!
//! The texts are generated: 50,000 pronounceable terms drawn by Zipf's law, in sentences. One is ASCII, one has
//! typographic quotes (as in novels), and one has accented letters in about half of its words.
//! `TOPICMILL_BENCH_TEXT=FILE` adds a text of your own, documents separated by NUL.

use std::collections::HashMap;
use std::fmt;
use std::hint::black_box;
use std::sync::OnceLock;

use corpus::settings::TokenSettings;
use corpus::terms::TermCounter;
use corpus::tokenizer::Tokenizer;
use divan::Bencher;
use divan::counter::BytesCount;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use unicode_segmentation::UnicodeSegmentation;

fn main() {
    divan::main();
}

const TEXT_BYTES: usize = 8 << 20;
const DOCUMENT_BYTES: usize = 16 << 10;
const TERM_COUNT: usize = 50_000;

struct Text {
    name: &'static str,
    documents: Vec<String>,
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Text {
    fn bytes(&self) -> BytesCount {
        BytesCount::new(self.documents.iter().map(String::len).sum::<usize>())
    }
}

fn texts() -> &'static [Text] {
    static TEXTS: OnceLock<Vec<Text>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let mut texts = vec![
            zipfian("ascii", "aeiou", ["\"", "\"", "'"]),
            zipfian("quotes", "aeiou", ["“", "”", "’"]),
            zipfian("accents", "aeiouèü", ["«", "»", "’"]),
        ];
        if let Ok(path) = std::env::var("TOPICMILL_BENCH_TEXT") {
            let text = std::fs::read_to_string(&path).expect("TOPICMILL_BENCH_TEXT is a text");
            let documents = text.split('\0').map(str::to_owned).collect();
            texts.push(Text { name: "own", documents });
        }
        texts
    })
}

/// Draws a number from [0, 1).
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

fn zipfian(name: &'static str, vowels: &str, quotes: [&str; 3]) -> Text {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let vowels: Vec<char> = vowels.chars().collect();
    let consonants: Vec<char> = "bcdfglmnprstv".chars().collect();
    let mut pick = |letters: &[char]| letters[random.next_u64() as usize % letters.len()];
    let terms: Vec<String> = (1..=TERM_COUNT)
        .map(|rank| {
            // Frequent terms are short.
            let syllables = 1 + rank.ilog10() as usize * 3 / 4;
            let syllable = |_| [pick(&consonants), pick(&vowels)];
            (0..syllables).flat_map(syllable).collect()
        })
        .collect();
    let mut documents = vec![String::new()];
    let mut bytes = 0;
    while bytes < TEXT_BYTES {
        // The rank's logarithm is uniform: frequency ∝ 1 / rank.
        let rank = lda::math::special::pow(TERM_COUNT as f64, uniform(&mut random)) as usize;
        let document = documents.last_mut().expect("there is always one");
        let before = document.len();
        write_term(document, &terms[rank - 1], &quotes, random.next_u64() % 64);
        bytes += document.len() - before;
        if document.len() > DOCUMENT_BYTES {
            documents.push(String::new());
        }
    }
    Text { name, documents }
}

/// Appends a term with surrounding characters, which `dice` < 64 chooses.
fn write_term(text: &mut String, term: &str, quotes: &[&str; 3], dice: u64) {
    let [open, close, apostrophe] = quotes;
    match dice {
        0..=4 => {
            // A sentence begins.
            let first = term.chars().next().unwrap_or('x');
            text.push_str(". ");
            text.extend(first.to_uppercase());
            text.push_str(&term[first.len_utf8()..]);
        }
        5..=8 => text.extend([", ", term]),
        9 => text.extend([" ", open, term, close]),
        10 => text.extend([" ", term, apostrophe, "s"]),
        11 => text.extend([" 1", "984 ", term]),
        12 => text.extend(["\n\n", term]),
        _ => text.extend([" ", term]),
    }
}

fn settings() -> TokenSettings {
    TokenSettings { min_length: 2, max_length: 64, ..TokenSettings::DEFAULT }
}

#[divan::bench(args = texts())]
fn tokens(bencher: Bencher, text: &Text) {
    let mut tokenizer = Tokenizer::new(&settings());
    bencher.counter(text.bytes()).bench_local(|| {
        let mut bytes = 0;
        for document in &text.documents {
            tokenizer.tokens(document, &mut |token| bytes += black_box(token).len());
        }
        bytes
    });
}

#[divan::bench(args = texts())]
fn identifiers(bencher: Bencher, text: &Text) {
    let mut tokenizer = Tokenizer::new(&TokenSettings { identifiers: true, ..settings() });
    bencher.counter(text.bytes()).bench_local(|| {
        let mut bytes = 0;
        for document in &text.documents {
            tokenizer.tokens(document, &mut |token| bytes += black_box(token).len());
        }
        bytes
    });
}

#[divan::bench(args = texts())]
fn tokens_and_counts(bencher: Bencher, text: &Text) {
    let mut tokenizer = Tokenizer::new(&settings());
    let (mut terms, mut counts) = (Vec::new(), Vec::new());
    bencher.counter(text.bytes()).bench_local(|| {
        let mut counter = TermCounter::new();
        for document in &text.documents {
            counter.begin_document();
            tokenizer.pass(document, &mut counter);
            black_box(counter.end_document(&mut terms, &mut counts));
        }
        counter.len()
    });
}

/// The baseline: a straightforward use of the crates.
#[divan::bench(args = texts(), sample_count = 10)]
fn plain_crates(bencher: Bencher, text: &Text) {
    bencher.counter(text.bytes()).bench_local(|| {
        let mut totals: HashMap<String, (u64, u64)> = HashMap::new();
        for document in &text.documents {
            let mut bag: HashMap<String, u32> = HashMap::new();
            let words = document.unicode_words().map(str::to_lowercase);
            words.for_each(|word| *bag.entry(word).or_insert(0) += 1);
            for (word, count) in bag {
                let total = totals.entry(word).or_insert((0, 0));
                *total = (total.0 + u64::from(count), total.1 + 1);
            }
        }
        totals.len()
    });
}
