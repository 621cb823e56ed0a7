//! A model on disk: a checkpoint that training resumes from, or the finished model.
//!
//! One file, complete or absent: a magic number, a JSON header with everything small, the row sums, the length of every
//! term's row (under a tree, every leaf's), all rows end to end, and a SHA-256 over all of it. The bytes depend on the
//! model alone, not on the number of parts it was in. Little-endian.
//!
//! In Gibbs sampling, the model in a checkpoint is the counts averaged so far; the current counts
//! are those of the [`assignments`] beside it.

pub mod assignments;
pub mod classifier;
pub mod labels;
mod sealed;

use std::io::{Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(crate) use self::sealed::Hashing;
use self::sealed::invalid;
use crate::failure::{Exit, Failure};
use lda::model::parameters::{Entry, Parameters};
use lda::model::{MAX_TOPICS, Priors};
use lda::train::publish::published_priors;
use lda::train::schedule::Position;
use lda::train::{RoundReport, StopRule};

/// The first bytes of a model file.
pub(crate) const MAGIC: &[u8; 8] = b"tmmodel2";

/// Everything about a model except its numbers per term.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Hash of the settings that the model depends on; a different hash means a different model.
    pub(crate) settings_hash: String,
    /// Fingerprint of the vocabulary that defines the term ids.
    pub(crate) vocabulary_hash: String,
    /// K.
    pub topic_count: usize,
    /// V.
    pub vocabulary_size: usize,
    /// The priors it is trained with.
    pub priors: Priors,
    /// The η that φ is published with; `None` during training.
    pub published_eta: Option<f64>,
    /// π: the factor for stored values.
    pub(crate) scale: f64,
    /// Rounds completed.
    pub rounds: u64,
    /// The round that training resumes with; `None` when training is complete.
    pub next: Option<Position>,
    /// Samples of counts that the parameters average; 0 if they are not an average.
    pub averaged: u64,
    /// The state of the rule that ends the phase.
    pub(crate) stop: StopRule,
    /// The training log so far; empty in a finished model, because seconds are not reproducible.
    pub log: Vec<RoundReport>,
}

impl Header {
    /// Returns the priors of the published model; for a checkpoint, those of training.
    pub(crate) fn published(&self) -> Priors {
        published_priors(&self.priors, self.published_eta.unwrap_or(self.priors.eta))
    }

    /// Returns the number of rows of the parameters: one per term or, under a tree, per leaf.
    fn row_count(&self) -> usize {
        self.priors.row_count(self.vocabulary_size)
    }
}

/// A checkpoint file that is invalid or incomplete: its path and the reason.
#[derive(Debug, thiserror::Error)]
#[error("{0}; remove the file and run again, with --overwrite if the result was complete")]
pub(crate) struct Damage(pub(crate) String);

impl Damage {
    pub(crate) fn of(path: &Path, reason: impl std::fmt::Display) -> Failure {
        let damage = Self(format!("{}: {reason}", path.display()));
        Failure::new(Exit::Data, damage)
    }
}

/// A model as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// Everything except the numbers per term.
    pub header: Header,
    /// SHA-256 of the file's content, in hexadecimal: names the model.
    pub(crate) hash: String,
    totals: Vec<f64>,
    starts: Vec<usize>,
    entries: Vec<Entry>,
}

impl Saved {
    /// Returns part `part` of `part_count` of the model's parameters.
    pub fn parameters(&self, part: usize, part_count: usize) -> Parameters {
        let header = &self.header;
        let rows = header.row_count();
        let empty = Parameters::new(header.topic_count, rows, part, part_count);
        empty.restore(header.scale, self.totals.clone(), |term| {
            let term = term as usize;
            self.entries[self.starts[term]..self.starts[term + 1]].to_vec()
        })
    }
}

/// Writes a model to `path`, which is overwritten, and syncs it. `parts` are all its parts. Returns
/// the hash that names the model.
pub(crate) fn write(
    path: &Path,
    header: &Header,
    parts: &[&Parameters],
) -> Result<String, Failure> {
    sealed::write(path, |out| {
        sealed::write_header(out, MAGIC, header)?;
        sealed::write_numbers(out, parts[0].totals())?;
        let rows = || (0..header.row_count()).map(|w| parts[w % parts.len()].row(w as u32));
        for row in rows() {
            out.write_all(&(row.len() as u32).to_le_bytes())?;
        }
        rows().try_for_each(|row| sealed::write_numbers(out, row))
    })
}

/// Reads only the header of a model: quick, but the rest of the file is not checked.
///
/// # Errors
/// The file cannot be read, or does not begin like a model.
pub fn read_header(path: &Path) -> Result<Header, Failure> {
    sealed::read_file(path, |mut input, size| {
        sealed::read_header(&mut input, MAGIC, size, "a model")
    })
}

/// Reads a model, and checks all of it.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn read(path: &Path) -> Result<Saved, Failure> {
    sealed::read_file(path, read_from)
}

/// Reads a model of `size` bytes from `input`, and checks all of it. Whatever the bytes, this takes
/// no more memory than a few times their size.
///
/// # Errors
/// Errors of `input`; `UnexpectedEof` or `InvalidData` if the bytes are not a model.
pub fn read_from(input: impl Read, size: u64) -> std::io::Result<Saved> {
    let (parts, hash) = sealed::read(input, |input| {
        let header: Header = sealed::read_header(input, MAGIC, size, "a model")?;
        let (topics, terms) = (header.topic_count, header.row_count());
        let tree = header.priors.tree.as_ref();
        let fits = topics <= MAX_TOPICS
            && topics == header.priors.topic_count()
            && tree.is_none_or(|tree| tree.vocabulary_size() == header.vocabulary_size);
        if !fits || (terms as u64).saturating_mul(4) > size {
            return Err(invalid("its header does not fit the file"));
        }
        let totals = sealed::read_numbers(input, topics)?;
        let mut starts = vec![0usize];
        for length in sealed::read_numbers::<u32>(input, terms)? {
            starts.push(starts[starts.len() - 1] + (length as usize).min(topics + 1));
        }
        let count = starts[terms];
        if count as u64 > size / 8 {
            return Err(invalid("its rows are longer than the file"));
        }
        let entries: Vec<Entry> = sealed::read_numbers(input, count)?;
        let fits = |entry: &Entry| {
            (entry.topic as usize) < topics && entry.value.is_finite() && entry.value >= 0.0
        };
        let mut rows = starts.windows(2).map(|row| &entries[row[0]..row[1]]);
        if !rows.all(|row| row.iter().all(fits) && row.is_sorted_by(|a, b| a.topic < b.topic)) {
            return Err(invalid("a row has an entry that is out of range"));
        }
        Ok((header, totals, starts, entries))
    })?;
    let (header, totals, starts, entries) = parts;
    Ok(Saved { header, hash, totals, starts, entries })
}

fn read_bytes<const N: usize>(input: &mut impl Read) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lda::model::parameters::GlobalStep;
    use lda::model::statistics::Assigned;

    fn header() -> Header {
        Header {
            settings_hash: "s".to_owned(),
            vocabulary_hash: "v".to_owned(),
            topic_count: 3,
            vocabulary_size: 5,
            priors: Priors {
                alpha: vec![0.1, 1.0 / 3.0, 0.2],
                eta: 0.1 + 0.2,
                exp_psi: false,
                tree: None,
            },
            published_eta: Some(1.0 / 7.0),
            scale: 0.123_456_789_012_345_67,
            rounds: 7,
            next: None,
            averaged: 3,
            stop: StopRule::default(),
            log: Vec::new(),
        }
    }

    fn parts(part_count: usize) -> Vec<Parameters> {
        let step = GlobalStep { step_size: 0.3, weight: 2.0 };
        let word = |term, topic| Assigned { term, topic, count: 1 + term as i32 }.word();
        (0..part_count)
            .map(|p| {
                let mut part = Parameters::new(3, 5, p, part_count);
                part.decay(step, &[1, 2, 3]);
                let terms = (0..5u32).filter(|w| *w as usize % part_count == p && *w != 3);
                part.add(step, &terms.map(|w| word(w, (w % 3) as u16)).collect::<Vec<_>>());
                part
            })
            .collect()
    }

    fn written(folder: &Path, part_count: usize) -> Vec<u8> {
        let parts = parts(part_count);
        let header = Header { scale: parts[0].scale(), ..header() };
        let path = folder.join("model");
        write(&path, &header, &parts.iter().collect::<Vec<_>>()).unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn a_model_comes_back_bit_for_bit_in_any_number_of_parts() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = written(folder.path(), 1);
        assert_eq!(bytes, written(folder.path(), 3));
        let saved = read(&folder.path().join("model")).unwrap();
        assert_eq!(saved.header.priors, header().priors);
        let quick = read_header(&folder.path().join("model")).unwrap();
        assert_eq!(quick, saved.header);
        for part_count in [1, 2] {
            let restored: Vec<_> =
                (0..part_count).map(|p| saved.parameters(p, part_count)).collect();
            assert_eq!(restored, parts(part_count));
        }
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broken");
        let bytes = written(folder.path(), 1);
        for place in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[place] ^= 0x10;
            std::fs::write(&path, &broken).unwrap();
            assert!(read(&path).is_err(), "byte {place}");
            std::fs::write(&path, &bytes[..place]).unwrap();
            assert!(read(&path).is_err(), "cut at {place}");
        }
    }
}
