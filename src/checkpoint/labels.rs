//! The label model on disk, beside the topic model that it was learnt for.
//!
//! One file, complete or absent: a magic number, the length of a JSON header and the header, the
//! regression's bias and weights (f64), the two constants of the labels' prior and φ′ (f32), and a
//! SHA-256 over all of it. Little-endian.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sealed::{self, invalid, read_numbers, write_numbers};
use crate::failure::Failure;
use lda::infer::labels::{LabelModel, LabelTopics};
use lda::model::MAX_TOPICS;
use lda::regression::Linear;

/// Path of the file in the output folder.
pub(crate) const LABELS_FILE: &str = "model/labels";

const MAGIC: &[u8; 8] = b"tmlabel1";

#[derive(Serialize, Deserialize)]
struct LabelHeader {
    /// The hash that names the model.
    model_hash: String,
    /// K; 0 if labels are independent.
    label_count: usize,
    /// Terms with a weight in the regression; `None` without one.
    term_count: Option<usize>,
    /// T; 0 if labels are independent.
    topic_count: usize,
}

/// Writes the label model beside the model of this hash to `path`, which is overwritten, and syncs it.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(path: &Path, model_hash: &str, model: &LabelModel) -> Result<(), Failure> {
    let LabelModel { count, topics } = model;
    let header = LabelHeader {
        model_hash: model_hash.to_owned(),
        label_count: topics.as_ref().map_or(0, |topics| topics.labels),
        term_count: count.as_ref().map(|linear| linear.weights.len()),
        topic_count: topics.as_ref().map_or(0, LabelTopics::topics),
    };
    let written = sealed::write(path, |out| {
        sealed::write_header(out, MAGIC, &header)?;
        if let Some(linear) = count {
            write_numbers(out, &[linear.bias])?;
            write_numbers(out, &linear.weights)?;
        }
        if let Some(topics) = topics {
            write_numbers(out, &[topics.alpha_sum, topics.shared])?;
            write_numbers(out, &topics.weights)?;
        }
        Ok(())
    });
    written.map(drop)
}

/// Reads the file, and checks all of it; also returns the hash of the model beside it.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub(crate) fn read(path: &Path) -> Result<(String, LabelModel), Failure> {
    sealed::read_file(path, read_from)
}

/// Reads it from the `size` bytes of `input`. Whatever the bytes, this takes no more memory than a few
/// times their size.
///
/// # Errors
/// Errors of `input`; `UnexpectedEof` or `InvalidData` if the bytes are not such a file.
pub fn read_from(input: impl Read, size: u64) -> std::io::Result<(String, LabelModel)> {
    let read = sealed::read(input, |input| {
        let header: LabelHeader = sealed::read_header(input, MAGIC, size, "a label model")?;
        let (labels, topics) = (header.label_count, header.topic_count);
        let weights = (labels as u64).saturating_mul(topics as u64);
        let terms = header.term_count.unwrap_or(0) as u64;
        let fits = weights.saturating_mul(4) <= size
            && terms.saturating_mul(8) <= size
            && (topics == 0 || (1..=MAX_TOPICS).contains(&labels));
        if !fits {
            return Err(invalid("its header does not fit the file"));
        }
        let count = header.term_count.map(|terms| {
            let bias = read_numbers::<f64>(input, 1)?[0];
            let weights: Vec<f64> = read_numbers(input, terms)?;
            if bias.is_finite() && weights.iter().all(|weight| weight.is_finite()) {
                Ok(Linear { bias, weights })
            } else {
                Err(invalid("a weight is out of range"))
            }
        });
        let count = count.transpose()?;
        let topics = (topics > 0).then(|| {
            let constants = read_numbers(input, 2)?;
            let weights = read_numbers(input, weights as usize)?;
            let is_sound = |value: &f32| value.is_finite() && *value >= 0.0;
            if constants.iter().chain(&weights).all(is_sound) {
                Ok(LabelTopics { labels, weights, alpha_sum: constants[0], shared: constants[1] })
            } else {
                Err(invalid("a weight is out of range"))
            }
        });
        let topics = topics.transpose()?;
        Ok((header.model_hash, LabelModel { count, topics }))
    });
    read.map(|(read, _)| read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> LabelModel {
        LabelModel {
            count: Some(Linear { bias: 1.0 / 3.0, weights: vec![0.1, -1e-30, 7.0] }),
            topics: Some(LabelTopics {
                labels: 3,
                weights: vec![0.25, 0.5, 0.25, 0.0, 1.0 / 3.0, 2.0 / 3.0],
                alpha_sum: 50.0,
                shared: 10.0,
            }),
        }
    }

    #[test]
    fn labels_come_back_and_every_flipped_byte_and_cut_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels");
        for model in
            [LabelModel { count: None, ..model() }, LabelModel { topics: None, ..model() }, model()]
        {
            write(&path, "hash", &model).unwrap();
            assert_eq!(read(&path).unwrap(), ("hash".to_owned(), model));
        }
        let bytes = std::fs::read(&path).unwrap();
        for place in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[place] ^= 0x10;
            std::fs::write(&path, &broken).unwrap();
            assert!(read(&path).is_err(), "byte {place}");
            std::fs::write(&path, &bytes[..place]).unwrap();
            assert!(read(&path).is_err(), "cut at {place}");
        }
    }

    #[test]
    fn a_header_that_promises_too_much_is_refused_before_memory_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels");
        for (label_count, term_count, topic_count) in [
            (usize::MAX, None, 2),
            (0, None, 2),
            (MAX_TOPICS + 1, None, 0),
            (3, None, usize::MAX),
            (3, Some(usize::MAX), 0),
        ] {
            let header =
                LabelHeader { model_hash: String::new(), label_count, term_count, topic_count };
            sealed::write(&path, |out| sealed::write_header(out, MAGIC, &header)).unwrap();
            let is_empty = topic_count == 0 && term_count.is_none();
            assert_eq!(read(&path).is_ok(), is_empty, "{label_count} {term_count:?} {topic_count}");
        }
    }
}
