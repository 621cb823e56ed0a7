//! Parquet: fields of the footer and of pages' headers, lengths, and pages.

use super::random::Random;
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::sync::Arc;

/// Writes files of several encodings, compressions, nestings and page sizes.
pub fn seeds() -> Vec<Vec<u8>> {
    let ids = Int32Array::from_iter_values(0..40);
    let texts =
        StringArray::from_iter_values((0..40).map(|row| format!("some words of row {}", row % 7)));
    let mut lists = ListBuilder::new(StringBuilder::new());
    (0..40)
        .for_each(|row| lists.append_value((0..row % 4).map(|item| Some(format!("part {item}")))));
    let name = Arc::new(Field::new("name", DataType::Utf8, true));
    let named = StructArray::from(vec![(name, Arc::new(texts.clone()) as ArrayRef)]);
    let texts = Arc::new(texts) as ArrayRef;
    let lists = Arc::new(lists.finish()) as ArrayRef;
    let plain = WriterProperties::builder();
    let lz4 = plain.clone().set_compression(Compression::LZ4_RAW).set_data_page_row_count_limit(8);
    let version2 =
        plain.clone().set_writer_version(WriterVersion::PARQUET_2_0).set_dictionary_enabled(false);
    let zstd = version2.clone().set_compression(Compression::ZSTD(Default::default()));
    let delta = version2
        .clone()
        .set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY)
        .set_max_row_group_row_count(Some(16));
    let write = |columns: &[(&str, &ArrayRef)], properties: WriterProperties| {
        let ids = ("id", Arc::new(ids.clone()) as ArrayRef);
        let columns = columns.iter().map(|(name, column)| (*name, Arc::clone(column)));
        let batch = RecordBatch::try_from_iter(std::iter::once(ids).chain(columns)).unwrap();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    };
    let named = Arc::new(named) as ArrayRef;
    vec![
        write(&[("text", &texts)], plain.build()),
        write(&[("text", &texts), ("named", &named)], lz4.build()),
        write(&[("text", &lists)], zstd.build()),
        write(&[("text", &texts), ("tags", &lists)], delta.build()),
    ]
}

/// Changes fields of the footer, or of a struct anywhere before it, so that the footer's length is right again.
pub fn mutate(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let ends = seed.len() - 8;
    let length = u32::from_le_bytes(seed[ends..ends + 4].try_into().unwrap()) as usize;
    let (pages, footer) = seed[..ends].split_at(ends - length);
    let (mut pages, mut footer) = (pages.to_vec(), footer.to_vec());
    for _ in 0..=random.below(3) {
        if random.below(3) == 0 {
            // A page's header begins with its type, and its sizes follow.
            let heads = (4..pages.len())
                .filter(|&at| pages[at] == 0x15 && pages.get(at + 2) == Some(&0x15));
            let heads: Vec<usize> = heads.collect();
            if let Some(&head) = (!heads.is_empty()).then(|| random.pick(&heads)) {
                pages = changed(random, &pages, head);
            }
        } else {
            footer = changed(random, &footer, 0);
        }
    }
    let length = match random.below(12) {
        0 => random.number() as u32,
        _ => footer.len() as u32,
    };
    [&pages, &footer, &length.to_le_bytes()[..], b"PAR1"].concat()
}

/// Changes a field of the struct that begins at `begins`: a number, a length, or the type of a field.
fn changed(random: &mut Random, bytes: &[u8], begins: usize) -> Vec<u8> {
    let mut places = Vec::new();
    Places { bytes, at: begins, found: &mut places }.structure(0);
    // A damaged length leads past the end.
    places.retain(|&(at, length, _)| at < bytes.len() && length <= bytes.len() - at);
    if places.is_empty() {
        return bytes.to_vec();
    }
    let &(at, length, is_number) = random.pick(&places);
    let part = if is_number {
        let number = random.number();
        varint(((number << 1) ^ (number >> 63)) as u64)
    } else {
        vec![random.below(256) as u8]
    };
    [&bytes[..at], &part, &bytes[at + length..]].concat()
}

/// Encodes a number in groups of seven bits.
pub fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A walk over a struct in Thrift's compact protocol, which notes where its numbers and heads are.
struct Places<'b> {
    bytes: &'b [u8],
    at: usize,
    /// The start and length of each number or head of a field or list, and whether it is a number.
    found: &'b mut Vec<(usize, usize, bool)>,
}

impl Places<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at = self.at.saturating_add(1);
        byte
    }

    fn number(&mut self) -> Option<u64> {
        let (begins, mut number) = (self.at, 0);
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                self.found.push((begins, self.at - begins, true));
                return Some(number);
            }
        }
        None
    }

    fn structure(&mut self, depth: usize) -> Option<()> {
        loop {
            self.found.push((self.at, 1, false));
            let head = self.byte()?;
            if head == 0 || depth > 20 {
                return Some(());
            }
            if head >> 4 == 0 {
                self.number()?;
            }
            self.value(head & 0xf, depth)?;
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            1 | 2 => {}
            3 => self.at = self.at.saturating_add(1),
            4..=6 => drop(self.number()?),
            7 => self.at = self.at.saturating_add(8),
            8 => self.at = self.at.saturating_add(self.number()? as usize),
            9 | 10 => {
                self.found.push((self.at, 1, false));
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
                for _ in 0..count.min(1000) {
                    self.value(head & 0xf, depth + 1)?;
                }
            }
            _ => self.structure(depth + 1)?,
        }
        Some(())
    }
}
