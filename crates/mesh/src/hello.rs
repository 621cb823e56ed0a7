//! The greeting that two processes exchange, unencrypted, before a connection is accepted.
//!
//! It contains the sender, a nonce, and everything that must be equal on both sides for the
//! dataflows to match. It proves nothing; `proof` does, over the bytes of both greetings. The frame
//! (magic, length, protocol) and the fields up to the flags have the same position in every protocol
//! version, so that processes of different builds can still authenticate and report the difference.

use sha2::{Digest, Sha256};

use super::names::{Names, SettingNames};
use super::{ClusterSettings, Placement};

/// The bytes of a greeting's frame: magic, length of the rest, protocol.
pub const FRAME_BYTES: usize = 16;
/// Maximum number of bytes of a greeting, in any protocol version.
const MOST_BYTES: usize = 1024;
/// The bytes of a greeting of this protocol.
const HELLO_BYTES: usize = 164;
/// The bytes that greetings of all protocols share.
const STABLE_BYTES: usize = 88;

/// The first bytes of every greeting.
const MAGIC: [u8; 8] = *b"tpcmill\n";
/// The protocol version: incremented when this greeting or anything after it on the wire changes.
const PROTOCOL: u32 = 2;

/// The flag of a process that has a secret.
const SECRET: u32 = 1;
/// The flag of a process that has certificates.
const TLS: u32 = 2;

/// A greeting, in which a process introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The version of the protocol.
    pub protocol: u32,
    /// Random bytes, new for every connection.
    pub nonce: [u8; 32],
    /// The version of the program, truncated to 16 bytes.
    pub version: [u8; 16],
    /// The first bytes of the hash of the program's sources, as 16 hexadecimal digits.
    pub build: [u8; 16],
    /// The number of the sender, from 0.
    pub process: u32,
    /// Whether the sender has a secret.
    pub has_secret: bool,
    /// Whether the sender has certificates, and so wants encryption.
    pub has_tls: bool,
    /// The terms of a greeting of this protocol; `None` for other protocols.
    pub terms: Option<Terms>,
}

/// The terms that must be equal on both sides, in addition to the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The hash of the name that the processes of one attempt share.
    pub run: [u8; 32],
    /// The hash of the job's settings.
    pub settings: [u8; 32],
    /// The number of processes in the run.
    pub processes: u32,
    /// The worker threads of each process.
    pub threads: u32,
    /// Whether frames are compressed.
    pub compress: bool,
}

impl Hello {
    /// Creates the greeting of the process of `placement`, with a nonce of zeros.
    pub fn new(placement: &Placement, settings: &ClusterSettings) -> Hello {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Hello {
            protocol: PROTOCOL,
            nonce: [0; 32],
            version: cut(env!("CARGO_PKG_VERSION")),
            build: cut(settings.build),
            process: number(placement.process),
            has_secret: settings.secret.is_some(),
            has_tls: settings.tls.is_some(),
            terms: Some(Terms {
                run: Sha256::digest(settings.run.as_bytes()).into(),
                settings: settings.hash,
                processes: number(placement.processes()),
                threads: number(placement.threads),
                compress: settings.compress,
            }),
        }
    }

    /// Returns the same greeting with a new nonce.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn fresh(&self) -> std::io::Result<Hello> {
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
        Ok(Hello { nonce, ..self.clone() })
    }

    /// Returns the bytes to send: the frame, then the fields; numbers are little-endian.
    pub fn encode(&self) -> Vec<u8> {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let flags = flag(self.has_secret, SECRET) | flag(self.has_tls, TLS);
        let mut bytes = Vec::with_capacity(HELLO_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.protocol.to_le_bytes());
        bytes.extend_from_slice(&self.nonce);
        bytes.extend_from_slice(&self.version);
        bytes.extend_from_slice(&self.build);
        bytes.extend_from_slice(&self.process.to_le_bytes());
        bytes.extend_from_slice(&flags.to_le_bytes());
        if let Some(terms) = &self.terms {
            bytes.extend_from_slice(&terms.run);
            bytes.extend_from_slice(&terms.settings);
            bytes.extend_from_slice(&terms.processes.to_le_bytes());
            bytes.extend_from_slice(&terms.threads.to_le_bytes());
            bytes.extend_from_slice(&u32::from(terms.compress).to_le_bytes());
        }
        let length = (bytes.len() - FRAME_BYTES) as u32;
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    /// Returns whether the first eight bytes are those of a greeting.
    pub(super) fn begins(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Returns the number of bytes that follow a frame; `None` if it is not that of a greeting.
    pub fn rest(frame: &[u8; FRAME_BYTES]) -> Option<usize> {
        let length = number(frame, 8) as usize;
        let sound = (STABLE_BYTES - FRAME_BYTES..=MOST_BYTES - FRAME_BYTES).contains(&length);
        (Hello::begins(frame) && sound).then_some(length)
    }

    /// Parses a greeting with its frame; `None` if the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<Hello> {
        let frame = bytes.first_chunk()?;
        if Hello::rest(frame)? + FRAME_BYTES != bytes.len() {
            return None;
        }
        let protocol = number(bytes, 12);
        let terms = match protocol {
            PROTOCOL => Some(Terms::decode(bytes.get(STABLE_BYTES..)?)?),
            _ => None,
        };
        let flags = number(bytes, 84);
        Some(Hello {
            protocol,
            nonce: array(bytes, 16),
            version: array(bytes, 48),
            build: array(bytes, 64),
            process: number(bytes, 80),
            has_secret: flags & SECRET != 0,
            has_tls: flags & TLS != 0,
            terms,
        })
    }

    /// Returns whether `other` belongs to another attempt, which is waited out whatever else differs; false if the
    /// protocols differ.
    pub fn is_left_over(&self, other: &Hello) -> bool {
        let runs = [self, other].map(|hello| hello.terms.as_ref().map(|terms| terms.run));
        matches!(runs, [Some(mine), Some(theirs)] if mine != theirs)
    }

    /// Returns the difference, as text, that prevents `other` from working with us, if there is one.
    pub fn difference(&self, other: &Hello) -> Option<String> {
        let program = |hello: &Hello| (hello.protocol, hello.version, hello.build);
        let (Some(mine), Some(theirs)) = (&self.terms, &other.terms) else {
            return Some(format!("is {}; this is {}", name(other), name(self)));
        };
        if program(self) != program(other) {
            return Some(format!("is {}; this is {}", name(other), name(self)));
        }
        if self.has_tls != other.has_tls {
            let with = |has_tls| if has_tls { "with" } else { "without" };
            return Some(format!(
                "was started {} {}, this one {}",
                with(other.has_tls),
                SettingNames::get().tls,
                with(self.has_tls)
            ));
        }
        mine.difference(theirs)
    }
}

impl Terms {
    fn decode(bytes: &[u8]) -> Option<Terms> {
        (bytes.len() == HELLO_BYTES - STABLE_BYTES).then(|| Terms {
            run: array(bytes, 0),
            settings: array(bytes, 32),
            processes: number(bytes, 64),
            threads: number(bytes, 68),
            compress: number(bytes, 72) != 0,
        })
    }

    fn difference(&self, other: &Terms) -> Option<String> {
        let names = SettingNames::get();
        let numbers = [
            (names.processes, other.processes, self.processes),
            (names.threads, other.threads, self.threads),
        ];
        if let Some((name, theirs, ours)) = numbers.iter().find(|(_, theirs, ours)| theirs != ours)
        {
            return Some(format!("was started with {name} {theirs}, this one with {name} {ours}"));
        }
        if self.compress != other.compress {
            let with = |compress| if compress { "with" } else { "without" };
            return Some(format!(
                "was started {} {}, this one {}",
                with(other.compress),
                names.compress,
                with(self.compress)
            ));
        }
        (self.settings != other.settings).then(|| {
            format!(
                "has different settings (hash {}, here {}): its job or options differ",
                short(&other.settings),
                short(&self.settings)
            )
        })
    }
}

/// Returns the name of a program, according to its greeting.
fn name(hello: &Hello) -> String {
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.trim_end_matches('\0').escape_default().to_string()
    };
    format!(
        "{} {} (build {}, protocol {})",
        Names::get().program,
        text(&hello.version),
        text(&hello.build),
        hello.protocol
    )
}

/// Returns the first 16 bytes of a text, padded with zeros.
fn cut(text: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    bytes
}

/// Returns the number in the four bytes at `at`, which must exist.
fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

/// Returns the `N` bytes at `at`, which must exist.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

/// Returns the first eight hexadecimal digits of a hash.
fn short(hash: &[u8; 32]) -> String {
    hex::encode(&hash[..4])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let placement =
            Placement { threads: 3, process: 1, addresses: vec!["a:1".into(), "b:1".into()] };
        let settings = ClusterSettings { hash: [7; 32], ..ClusterSettings::default() };
        Hello::new(&placement, &settings)
    }

    #[test]
    fn a_greeting_survives_the_wire() {
        let hello = hello().fresh().unwrap();
        assert_ne!(hello.nonce, hello.fresh().unwrap().nonce);
        let bytes = hello.encode();
        assert_eq!(bytes.len(), HELLO_BYTES);
        assert_eq!(Hello::decode(&bytes), Some(hello));
        for length in 0..bytes.len() {
            assert_eq!(Hello::decode(&bytes[..length]), None);
        }
        let mut damaged = bytes.clone();
        damaged[0] ^= 1;
        assert_eq!(Hello::decode(&damaged), None);
        let mut long = bytes;
        long.push(0);
        assert_eq!(Hello::decode(&long), None);
        long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Hello::rest(long.first_chunk().unwrap()), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_upset_a_listener(mut body in proptest::collection::vec(0_u8.., 72..200), protocol in 0_u32..4) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&protocol.to_le_bytes());
            bytes.append(&mut body);
            let right_length = protocol != PROTOCOL || bytes.len() == HELLO_BYTES;
            match Hello::decode(&bytes) {
                // Any greeting can be shown to people.
                Some(other) => assert!(hello().difference(&other).is_some_and(|d| d.is_ascii())),
                None => assert!(!right_length),
            }
        }
    }

    #[test]
    fn a_greeting_of_another_protocol_still_says_who_speaks() {
        let mut bytes = hello().encode();
        bytes[12] = 9;
        bytes.extend_from_slice(&[1; 50]);
        let length = (bytes.len() - FRAME_BYTES) as u32;
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        let other = Hello::decode(&bytes).unwrap();
        assert_eq!((other.process, &other.terms), (1, &None));
        let difference = hello().difference(&other).unwrap();
        assert!(difference.contains("protocol 9)"), "{difference}");
    }

    #[test]
    fn every_difference_is_named() {
        let mine = hello();
        assert_eq!(mine.difference(&mine), None);
        type Change = fn(&mut Hello, &mut Terms);
        let changes: [(Change, &str); 7] = [
            (|h, _| h.version[0] = b'8', "version 8."),
            (|h, _| h.build = *b"0123456789abcdef", "0123456789abcdef"),
            (|h, _| h.has_tls = true, "with tls, this one without"),
            (|_, t| t.processes = 5, "processes 5"),
            (|_, t| t.threads = 1, "threads 1"),
            (|_, t| t.compress = true, "with compress, this one"),
            (|_, t| t.settings[0] = 0xab, "hash ab070707, here 07070707"),
        ];
        for (change, words) in changes {
            let mut other = mine.clone();
            let mut terms = other.terms.clone().unwrap();
            change(&mut other, &mut terms);
            other.terms = Some(terms);
            let difference = mine.difference(&other).unwrap();
            assert!(difference.contains(words), "{difference}");
            assert!(!mine.is_left_over(&other));
        }
    }

    #[test]
    fn another_attempt_is_left_over_whatever_else_differs() {
        let mine = hello();
        let mut other = hello();
        let terms = other.terms.as_mut().unwrap();
        (terms.run[0], terms.threads) = (terms.run[0] ^ 1, 9);
        assert!(mine.is_left_over(&other) && !mine.is_left_over(&mine));
    }
}
