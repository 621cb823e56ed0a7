//! A UCI bag of words in memory, part of it held out.

#[path = "../common/uci.rs"]
mod uci;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use lda::bags::Bags;
use lda::math::random::{Stage, hash_unit};

/// The most documents held out.
const HELD_OUT_AT_MOST: f64 = 1000.0;

/// A corpus, split.
pub struct Corpus {
    /// V.
    pub vocabulary_size: usize,
    /// Trained on.
    pub train: Bags,
    /// Held out, to choose η′.
    pub validation: Bags,
    /// Held out, and scored.
    pub test: Bags,
}

/// Reads `docword*.txt` of a folder, and holds out a share `held_out`; `vocab*.txt` must have a line for each term.
pub fn read(folder: &Path, seed: u64, held_out: f64) -> Result<Corpus, Box<dyn Error>> {
    let (vocabulary_size, documents) = uci::read(&find(folder, "docword")?)?;
    let terms = fs::read_to_string(find(folder, "vocab")?)?.lines().count();
    if terms != vocabulary_size {
        return Err(format!("{terms} terms in vocab, {vocabulary_size} in docword").into());
    }
    let mut corpus = Corpus {
        vocabulary_size,
        train: Bags::default(),
        validation: Bags::default(),
        test: Bags::default(),
    };
    let held_out = held_out.min(HELD_OUT_AT_MOST / documents.len() as f64);
    for (number, bag) in (0..).zip(documents) {
        let (terms, counts): (Vec<u32>, Vec<u32>) = bag.into_iter().unzip();
        let place = hash_unit(seed, Stage::HeldOut, number, 0) / held_out;
        let split = match place {
            _ if terms.is_empty() => continue,
            ..0.5 => &mut corpus.validation,
            0.5..1.0 => &mut corpus.test,
            _ => &mut corpus.train,
        };
        split.push(number, &terms, &counts);
    }
    Ok(corpus)
}

/// Returns the folder's first file, by name, that is called `start`….txt.
fn find(folder: &Path, start: &str) -> Result<PathBuf, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(start) && name.ends_with(".txt") {
            found.push(path);
        }
    }
    found.sort();
    let missing = || format!("no {start}*.txt in {} (unpack it first)", folder.display());
    Ok(found.into_iter().next().ok_or_else(missing)?)
}
