//! Arrow IPC: words of the messages' descriptions, which are flatbuffers, lengths, and bodies.

use super::random::Random;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use std::sync::Arc;

/// Writes files and streams, with and without compression and dictionaries.
pub fn seeds() -> Vec<Vec<u8>> {
    let ids = Arc::new(Int32Array::from_iter_values(0..40)) as ArrayRef;
    let texts = (0..40).map(|row| format!("some words of row {}", row % 7));
    let texts = Arc::new(StringArray::from_iter_values(texts)) as ArrayRef;
    let tags: DictionaryArray<Int32Type> = (0..40).map(|row| ["a", "b", "c"][row % 3]).collect();
    let tags = Arc::new(tags) as ArrayRef;
    let plain = RecordBatch::try_from_iter([("id", Arc::clone(&ids)), ("text", texts)]).unwrap();
    let coded = RecordBatch::try_from_iter([("id", ids), ("text", tags)]).unwrap();
    let options = |kind| IpcWriteOptions::default().try_with_compression(kind).unwrap();
    let mut files = Vec::new();
    for batch in [&plain, &coded] {
        for compression in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
            let (schema, options) = (batch.schema(), options(compression));
            let mut file =
                FileWriter::try_new_with_options(Vec::new(), &schema, options.clone()).unwrap();
            let mut stream =
                StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
            for _ in 0..2 {
                file.write(batch).unwrap();
                stream.write(batch).unwrap();
            }
            files.extend([file.into_inner().unwrap(), stream.into_inner().unwrap()]);
        }
    }
    files
}

/// Changes words where the messages' descriptions are: everything there is aligned.
pub fn mutate(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    let begins: Vec<usize> =
        (0..bytes.len() - 8).step_by(4).filter(|&at| bytes[at..at + 4] == [0xff; 4]).collect();
    for _ in 0..=random.below(3) {
        let begin = *random.pick(&begins);
        let length = u32::from_le_bytes(bytes[begin + 4..begin + 8].try_into().unwrap()) as usize;
        let words = (length.min(bytes.len() - begin - 8) / 4).max(1) + 1;
        let at = begin + 4 + 4 * random.below(words);
        let size = *random.pick(&[1, 2, 4, 4, 8]);
        let size = size.min(bytes.len() - at);
        let number = match random.below(3) {
            0 => random.number(),
            1 => i64::from(bytes[at]) + random.below(9) as i64 - 4,
            _ => random.below(bytes.len()) as i64,
        };
        bytes[at..at + size].copy_from_slice(&number.to_le_bytes()[..size]);
    }
    bytes
}
