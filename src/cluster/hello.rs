//! The greeting that two processes exchange before a connection is theirs.
//!
//! A fixed 80 bytes, the same both ways: who speaks, and everything that must be equal on both
//! sides for the dataflows to fit together. It proves nothing about identity.

use super::Placement;
use crate::math::hex::hex;

/// Bytes of a greeting on the wire.
pub(super) const HELLO_BYTES: usize = 80;

/// First bytes of every greeting.
const MAGIC: [u8; 8] = *b"tpcmill\n";

/// Counts changes of this greeting and of what follows it on the wire.
const PROTOCOL: u32 = 1;

/// Last word of the set-up: the dialling side has read our greeting and takes the connection.
pub(super) const READY: [u8; 8] = *b"tpcready";

/// What a side thinks of the other's greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Come in, or see for yourself what differs.
    Welcome,
    /// A process of this number has joined already.
    Taken,
}

/// A process introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    /// What the speaker thinks of the other side.
    pub(super) verdict: Verdict,
    /// Number of the wire protocol.
    pub(super) protocol: u32,
    /// Version of the program, cut to 16 bytes.
    pub(super) version: [u8; 16],
    /// Hash of everything that must be equal in all processes.
    pub(super) settings: [u8; 32],
    /// Number of the speaker, from 0.
    pub(super) process: u32,
    /// Number of processes in the run.
    pub(super) processes: u32,
    /// Worker threads of each process.
    pub(super) threads: u32,
}

impl Hello {
    /// The greeting of the process that `placement` describes.
    pub(super) fn new(placement: &Placement, settings: [u8; 32]) -> Hello {
        let mut version = [0; 16];
        for (to, from) in version.iter_mut().zip(env!("CARGO_PKG_VERSION").bytes()) {
            *to = from;
        }
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Hello {
            verdict: Verdict::Welcome,
            protocol: PROTOCOL,
            version,
            settings,
            process: number(placement.process),
            processes: number(placement.processes()),
            threads: number(placement.threads),
        }
    }

    /// The same greeting with a verdict on the other side.
    pub(super) fn with_verdict(&self, verdict: Verdict) -> Hello {
        Hello {
            verdict,
            ..self.clone()
        }
    }

    /// The bytes to send: magic, then the fields, numbers in little-endian order.
    pub(super) fn encode(&self) -> [u8; HELLO_BYTES] {
        let verdict: u32 = match self.verdict {
            Verdict::Welcome => 0,
            Verdict::Taken => 1,
        };
        let mut bytes = [0; HELLO_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.protocol.to_le_bytes());
        bytes[12..16].copy_from_slice(&verdict.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.version);
        bytes[32..64].copy_from_slice(&self.settings);
        bytes[64..68].copy_from_slice(&self.process.to_le_bytes());
        bytes[68..72].copy_from_slice(&self.processes.to_le_bytes());
        bytes[72..76].copy_from_slice(&self.threads.to_le_bytes());
        bytes
    }

    /// True when the first eight bytes are those of a greeting.
    pub(super) fn begins(bytes: &[u8; HELLO_BYTES]) -> bool {
        bytes[..8] == MAGIC
    }

    /// Reads a greeting, or `None` when these are not the bytes of one.
    pub(super) fn decode(bytes: &[u8; HELLO_BYTES]) -> Option<Hello> {
        if !Hello::begins(bytes) {
            return None;
        }
        let number = |at: usize| {
            let mut four = [0; 4];
            four.copy_from_slice(&bytes[at..at + 4]);
            u32::from_le_bytes(four)
        };
        let mut version = [0; 16];
        version.copy_from_slice(&bytes[16..32]);
        let mut settings = [0; 32];
        settings.copy_from_slice(&bytes[32..64]);
        Some(Hello {
            verdict: match number(12) {
                0 => Verdict::Welcome,
                _ => Verdict::Taken,
            },
            protocol: number(8),
            version,
            settings,
            process: number(64),
            processes: number(68),
            threads: number(72),
        })
    }

    /// What makes it impossible for `other` to work with us, in words, if anything does.
    pub(super) fn difference(&self, other: &Hello) -> Option<String> {
        if self.protocol != other.protocol || self.version != other.version {
            let text = |hello: &Hello| {
                let version = String::from_utf8_lossy(&hello.version).into_owned();
                let version = version.trim_end_matches('\0').escape_default().to_string();
                format!("topicmill {version}, protocol {}", hello.protocol)
            };
            return Some(format!("is {}; this is {}", text(other), text(self)));
        }
        if self.processes != other.processes {
            return Some(format!(
                "was started with -n {}, this one with -n {}",
                other.processes, self.processes
            ));
        }
        if self.threads != other.threads {
            return Some(format!(
                "was started with -w {}, this one with -w {}",
                other.threads, self.threads
            ));
        }
        if self.settings != other.settings {
            return Some(format!(
                "has other settings (hash {}, here {}): its job file or options differ",
                short(&other.settings),
                short(&self.settings)
            ));
        }
        None
    }
}

/// The first eight hexadecimal digits of a hash.
fn short(hash: &[u8; 32]) -> String {
    hex(&hash[..4])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let placement = Placement {
            threads: 3,
            process: 1,
            addresses: vec!["a:1".into(), "b:1".into()],
        };
        Hello::new(&placement, [7; 32])
    }

    #[test]
    fn a_greeting_survives_the_wire() {
        for verdict in [Verdict::Welcome, Verdict::Taken] {
            let hello = hello().with_verdict(verdict);
            assert_eq!(Hello::decode(&hello.encode()), Some(hello));
        }
        let mut bytes = hello().encode();
        bytes[0] ^= 1;
        assert_eq!(Hello::decode(&bytes), None);
    }

    #[test]
    fn every_difference_is_named() {
        let mine = hello();
        assert_eq!(mine.difference(&mine), None);
        type Change = fn(&mut Hello);
        let changes: [(Change, &str); 5] = [
            (|h| h.protocol = 9, "protocol 9"),
            (|h| h.version[0] = b'8', "topicmill 8."),
            (|h| h.processes = 5, "-n 5"),
            (|h| h.threads = 1, "-w 1"),
            (|h| h.settings[0] = 0xab, "hash ab070707, here 07070707"),
        ];
        for (change, words) in changes {
            let mut other = mine.clone();
            change(&mut other);
            let difference = mine.difference(&other).unwrap();
            assert!(difference.contains(words), "{difference}");
        }
    }
}
