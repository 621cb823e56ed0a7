//! Compressed streams: JSON Lines in gzip, zstd and bzip2, of one and of several members.

use super::random::Random;
use std::io::Write;

/// Compresses a text as one member.
type Pack = fn(&[u8]) -> Vec<u8>;

pub fn gzip() -> Vec<Vec<u8>> {
    seeds(|bytes| {
        let header =
            flate2::GzBuilder::new().filename("x.jsonl").comment("text").extra(vec![1, 2, 3, 4]);
        let mut encoder = header.write(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    })
}

pub fn zstd() -> Vec<Vec<u8>> {
    seeds(|bytes| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    })
}

pub fn bzip2() -> Vec<Vec<u8>> {
    seeds(|bytes| {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    })
}

/// A short text, one that repeats itself, one of many kinds of bytes, and two members.
fn seeds(pack: Pack) -> Vec<Vec<u8>> {
    let line = |text: &str| format!("{{\"id\": \"a\", \"text\": \"{text}\"}}\n").into_bytes();
    let mixed: String =
        (0..3000_u32).filter_map(|n| char::from_u32(0x21 + n * 7919 % 0x2f00)).collect();
    let mixed = mixed.replace(['"', '\\'], "");
    let short = pack(&line("one two"));
    let two = [pack(&line("one two")), pack(&line("three"))].concat();
    vec![short, pack(&line(&"again ".repeat(500))), pack(&line(&mixed)), two]
}

/// Changes the headers, the ends, or one bit of a stream; moves its bits; repeats and cuts members.
pub fn mutate(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    let length = bytes.len();
    match random.below(6) {
        // A header, up to the tables of the first block.
        0 => {
            let at = random.below(length.min(40));
            bytes[at] = random.below(256) as u8;
        }
        // Checksum and length, or the last block.
        1 => {
            let at = length - 1 - random.below(length.min(12));
            bytes[at] ^= 1 << random.below(8);
        }
        2 => {
            let at = random.below(length);
            bytes[at] ^= 1 << random.below(8);
        }
        // Everything after a place by one bit: blocks of bzip2 and deflate begin at any bit.
        3 => {
            let mut carry = 0;
            for byte in &mut bytes[random.below(length)..] {
                (*byte, carry) = (*byte << 1 | carry, *byte >> 7);
            }
        }
        4 => bytes.extend_from_slice(seed),
        _ => {
            let rest = seed[random.below(length)..].to_vec();
            bytes.truncate(random.below(length) + 1);
            bytes.extend(rest);
        }
    }
    bytes
}
