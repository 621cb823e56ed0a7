//! The MaxEnt classifier on disk, beside the model that it was trained for.
//!
//! One file, complete or absent: a magic number, the length of a JSON header and the header, the
//! bias of each topic, one byte per term of the vocabulary (1: it has weights), the weights term by
//! term, and a SHA-256 over all of it. Numbers are f32; little-endian.

use std::io::{Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sealed::{self, invalid, read_numbers, write_numbers};
use crate::failure::Failure;
use lda::infer::maxent::Classifier;
use lda::model::MAX_TOPICS;

/// Path of the classifier in the output folder.
pub const CLASSIFIER_FILE: &str = "model/maxent";

const MAGIC: &[u8; 8] = b"tmmaxen1";

/// Everything about a classifier except its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassifierHeader {
    /// Hash of the settings that it depends on; a different hash means a different classifier.
    pub(crate) settings_hash: String,
    /// The hash that names the model whose proportions it has learnt.
    pub(crate) model_hash: String,
    /// K.
    pub topic_count: usize,
    /// V.
    pub vocabulary_size: usize,
    /// Terms with weights: those of the documents that it was trained on.
    pub term_count: usize,
    /// Documents that it was trained on.
    pub documents: u64,
    /// Iterations of its training.
    pub iterations: u32,
    /// The mean loss per document, including the prior's part, in nats.
    pub(crate) loss: f64,
}

/// Writes a classifier to `path`, which is overwritten, and syncs it. The header's counts are the
/// classifier's.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(
    path: &Path,
    header: &ClassifierHeader,
    classifier: &Classifier,
) -> Result<(), Failure> {
    let written = sealed::write(path, |out| {
        sealed::write_header(out, MAGIC, header)?;
        write_numbers(out, classifier.bias())?;
        let mut has_weights = vec![0; classifier.vocabulary_size()];
        for &term in classifier.terms() {
            has_weights[term as usize] = 1;
        }
        out.write_all(&has_weights)?;
        write_numbers(out, classifier.weights())
    });
    written.map(drop)
}

/// Reads a classifier, and checks all of it.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn read(path: &Path) -> Result<(ClassifierHeader, Classifier), Failure> {
    sealed::read_file(path, read_from)
}

/// Reads a classifier of `size` bytes from `input`, and checks all of it. Whatever the bytes, this
/// takes no more memory than a few times their size.
///
/// # Errors
/// Errors of `input`; `UnexpectedEof` or `InvalidData` if the bytes are not a classifier.
pub fn read_from(input: impl Read, size: u64) -> std::io::Result<(ClassifierHeader, Classifier)> {
    let read = sealed::read(input, |input| {
        let header: ClassifierHeader = sealed::read_header(input, MAGIC, size, "a classifier")?;
        let (topics, terms) = (header.topic_count, header.term_count);
        let rows = (terms as u64).saturating_add(1);
        let bytes = rows.saturating_mul(4).saturating_mul(topics as u64);
        let bytes = bytes.saturating_add(header.vocabulary_size as u64);
        if bytes > size || terms > header.vocabulary_size || topics > MAX_TOPICS {
            return Err(invalid("its header does not fit the file"));
        }
        let bias = read_numbers(input, topics)?;
        let mut has_weights = vec![0; header.vocabulary_size];
        input.read_exact(&mut has_weights)?;
        let with_weights = (0..).zip(&has_weights).filter(|&(_, &has)| has == 1);
        let ids: Vec<u32> = with_weights.map(|(term, _)| term).collect();
        let weights = read_numbers(input, terms * topics)?;
        let classifier = Classifier::new(header.vocabulary_size, bias, ids, weights)
            .ok_or_else(|| invalid("a term or a weight is out of range"))?;
        Ok((header, classifier))
    });
    read.map(|(read, _)| read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classifier() -> (ClassifierHeader, Classifier) {
        let weights = vec![0.5, -1.0 / 3.0, 0.0, 1e-30, -7.25, 3.0];
        let classifier = Classifier::new(9, vec![0.1, -0.1], vec![0, 3, 8], weights).unwrap();
        let header = ClassifierHeader {
            settings_hash: "s".to_owned(),
            model_hash: "m".to_owned(),
            topic_count: 2,
            vocabulary_size: 9,
            term_count: 3,
            documents: 17,
            iterations: 5,
            loss: 0.1 + 0.2,
        };
        (header, classifier)
    }

    #[test]
    fn a_classifier_comes_back_and_every_flipped_byte_and_cut_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("maxent");
        let (header, classifier) = classifier();
        write(&path, &header, &classifier).unwrap();
        assert_eq!(read(&path).unwrap(), (header, classifier));
        let bytes = std::fs::read(&path).unwrap();
        for place in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[place] ^= 0x10;
            std::fs::write(&path, &broken).unwrap();
            assert!(read(&path).is_err(), "byte {place}");
            std::fs::write(&path, &bytes[..place]).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("maxent"), "cut at {place}: {error}");
        }
    }

    #[test]
    fn a_header_that_promises_too_much_is_refused_before_memory_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("maxent");
        let (header, classifier) = classifier();
        let refused = |change: fn(&mut ClassifierHeader)| {
            let mut wrong = header.clone();
            change(&mut wrong);
            write(&path, &wrong, &classifier).unwrap();
            read(&path).unwrap_err().to_string()
        };
        for change in [
            (|h| h.term_count = usize::MAX) as fn(&mut ClassifierHeader),
            |h| h.topic_count = 1 << 40,
            |h| h.vocabulary_size = 1 << 40,
            |h| h.vocabulary_size = 2,
        ] {
            assert!(refused(change).contains("does not fit"));
        }
        assert!(refused(|h| h.term_count = 2).contains("out of range"));
        assert!(refused(|h| h.topic_count = 0).contains("out of range"));
    }
}
