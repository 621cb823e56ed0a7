//! Damage that any file can have: changed, lost, repeated and moved bytes.

use super::random::Random;

/// Changes some bytes of a file.
pub fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let length = 1 + random.below((bytes.len() - at).min(64));
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.below(256) as u8,
            2 => bytes[at..at + length].fill(*random.pick(&[0, 0xff, b' '])),
            3 => drop(bytes.drain(at..at + length)),
            4 => {
                let part = bytes[at..at + length].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, part);
            }
            5 => bytes.truncate(at),
            _ => {
                let number = random.number().to_le_bytes();
                let length = (*random.pick(&[2, 4, 8])).min(bytes.len() - at);
                bytes[at..at + length].copy_from_slice(&number[..length]);
            }
        }
    }
}
