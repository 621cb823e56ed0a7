//! The remembered assignments of a process's documents on disk, beside a checkpoint.
//!
//! With `train.method = "cvb0"` they are γ. Each process writes its own documents; a resuming process reads all files
//! and takes the documents that are now its own. Layout, little-endian: a magic number, the round that the checkpoint
//! resumes with, the number of documents; then for each document its number, its tokens, and a topic for each token; at
//! the end a SHA-256 over all of it. If the schedule draws documents, the magic number is another, and each
//! document ends with its influence, in 16 bytes.

use std::io::{Read, Write};
use std::path::Path;

use super::read_bytes;
use super::sealed::{self, invalid};
use crate::assignments::Assignments;
use crate::failure::Failure;
use corpus::minibatches::Minibatches;
use lda::train::active::Influence;

const MAGIC: &[u8; 8] = b"tmassig1";
/// For schedules that draw documents.
const MAGIC_DRAWN: &[u8; 8] = b"tmassig2";

/// Returns the name of a process's file in the folder of checkpoints.
pub(crate) fn file_name(round: u64, process: usize) -> String {
    format!("assignments-{round:08}-{process:04}.bin")
}

/// Returns the round that a file with such a name belongs to.
pub fn round_of(file_name: &str) -> Option<u64> {
    let rest = file_name.strip_prefix("assignments-")?;
    rest.split('-').next()?.parse().ok()
}

/// Writes the assignments of `documents` to `path`, which is overwritten, and syncs it.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(
    path: &Path,
    round: u64,
    documents: &Minibatches,
    assignments: &Assignments,
) -> Result<(), Failure> {
    let influences = assignments.influences();
    let written = sealed::write(path, |out| {
        out.write_all(match influences {
            None => MAGIC,
            Some(_) => MAGIC_DRAWN,
        })?;
        out.write_all(&round.to_le_bytes())?;
        out.write_all(&(documents.document_count() as u64).to_le_bytes())?;
        let mut topics = Vec::new();
        documents.for_each(|position, document, _| {
            assignments.read(position, &mut topics)?;
            out.write_all(&document.to_le_bytes())?;
            out.write_all(&(topics.len() as u32).to_le_bytes())?;
            sealed::write_numbers(out, &topics)?;
            match influences {
                Some(influences) => sealed::write_numbers(out, &[influences.get(position)]),
                None => Ok(()),
            }
        })
    });
    written.map(drop)
}

/// Reads a file, and passes each document's number, assignments, all below `bound`, and influence, if it has one, to
/// `visit`. The checksum comes last, so what was visited is valid only once this returns.
///
/// # Errors
/// The file cannot be read, is damaged, or belongs to another round.
pub fn read(
    path: &Path,
    round: u64,
    bound: usize,
    visit: impl FnMut(u64, &[u16], Option<Influence>) -> std::io::Result<()>,
) -> Result<(), Failure> {
    sealed::read_file(path, |input, _| read_from(input, round, bound, visit))
}

/// Does the same for the bytes of `input`, in no more memory than a few times their size, even if damaged.
///
/// # Errors
/// Errors of `input` and `visit`; `UnexpectedEof` or `InvalidData` if the bytes are not assignments.
pub fn read_from(
    input: impl Read,
    round: u64,
    bound: usize,
    mut visit: impl FnMut(u64, &[u16], Option<Influence>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let read = sealed::read(input, |input| {
        let magic = read_bytes(input)?;
        let is_drawn = magic == *MAGIC_DRAWN;
        if (!is_drawn && magic != *MAGIC) || u64::from_le_bytes(read_bytes(input)?) != round {
            return Err(invalid("it does not hold the assignments of this checkpoint"));
        }
        let documents = u64::from_le_bytes(read_bytes(input)?);
        let (mut topics, mut bytes) = (Vec::new(), Vec::new());
        for _ in 0..documents {
            let document = u64::from_le_bytes(read_bytes(input)?);
            let tokens = u64::from(u32::from_le_bytes(read_bytes(input)?));
            bytes.clear();
            input.by_ref().take(2 * tokens).read_to_end(&mut bytes)?;
            let pairs = bytes.chunks_exact(2);
            topics.clear();
            topics.extend(pairs.map(|pair| u16::from_le_bytes([pair[0], pair[1]])));
            let is_whole = topics.len() as u64 == tokens;
            if !is_whole || topics.iter().any(|&k| usize::from(k) >= bound) {
                return Err(invalid("a document's assignments are out of range"));
            }
            let influence =
                if is_drawn { Some(bytemuck::cast(read_bytes::<16>(input)?)) } else { None };
            visit(document, &topics, influence)?;
        }
        Ok(())
    });
    read.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignments::Influences;
    use corpus::minibatches::MinibatchBuilder;
    use lda::train::minibatches::Deal;
    use std::sync::Arc;

    const ASSIGNED: [(u64, &[u16]); 3] = [(3, &[4, 0, 2]), (8, &[]), (9, &[3, 3])];

    fn assigned() -> (Minibatches, Assignments) {
        let mut builder = MinibatchBuilder::new(u64::MAX, "unused".into());
        for (document, topics) in ASSIGNED {
            let terms: Vec<u32> = (0..topics.len() as u32).collect();
            builder.push([document << 60, document], &[], &terms, &vec![1; terms.len()]).unwrap();
        }
        let documents = builder.finish(&Deal::Even(2)).unwrap();
        let lengths = documents.lengths(|counts, _| counts.len()).unwrap().into_iter();
        let assignments = Assignments::new(lengths, 1 << 20, Path::new("unused")).unwrap();
        let influences = (0..3u64).map(|n| bytemuck::cast([n, n << 40]));
        let assignments = assignments.with_influences(Arc::new(Influences::new(influences)));
        documents
            .for_each(|position, document, _| {
                let (_, topics) = ASSIGNED.iter().find(|(d, _)| *d == document).unwrap();
                assignments.write(position, topics)
            })
            .unwrap();
        (documents, assignments)
    }

    #[test]
    fn assignments_come_back_and_every_flipped_byte_and_cut_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file_name(70, 1));
        assert_eq!(round_of(path.file_name().unwrap().to_str().unwrap()), Some(70));
        let (documents, assignments) = assigned();
        write(&path, 70, &documents, &assignments).unwrap();
        let mut seen = Vec::new();
        let (mut positions, mut influences) = (0.., Vec::new());
        read(&path, 70, 5, |document, topics, influence| {
            seen.push((document, topics.to_vec()));
            let own = assignments.influences().unwrap().get(positions.next().unwrap());
            influences.push(influence == Some(own));
            Ok(())
        })
        .unwrap();
        assert_eq!(influences, [true; 3]);
        seen.sort_unstable();
        assert_eq!(seen, ASSIGNED.map(|(document, topics)| (document, topics.to_vec())));
        let attempt = |round, topics| read(&path, round, topics, |_, _, _| Ok(()));
        assert!(attempt(71, 5).is_err() && attempt(70, 4).is_err());
        let bytes = std::fs::read(&path).unwrap();
        for place in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[place] ^= 0x10;
            std::fs::write(&path, &broken).unwrap();
            assert!(attempt(70, 5).is_err(), "byte {place}");
            std::fs::write(&path, &bytes[..place]).unwrap();
            assert!(attempt(70, 5).is_err(), "cut at {place}");
        }
    }
}
