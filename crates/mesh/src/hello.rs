//! The greeting that two processes exchange, unencrypted, before a connection is accepted.
//!
//! It contains the sender, a nonce, and everything that must be equal on both sides for the
//! dataflows to match. It proves nothing; `proof` does, over the bytes of both greetings. The frame
//! (magic, length) and the fields up to the flags have the same position in every protocol
//! version, so that processes of different builds can still authenticate and report the difference.

use bytemuck::{Pod, Zeroable};
use sha2::{Digest, Sha256};

use super::names::{Names, SettingNames};
use super::{ClusterSettings, Placement};

/// The bytes of a greeting's frame: magic, length of the rest.
pub const FRAME_BYTES: usize = 12;
/// The bytes after the frame, in any protocol version: at least the fields up to the flags.
const BODY_BYTES: std::ops::RangeInclusive<usize> = 76..=1012;

/// The first bytes of every greeting.
const MAGIC: [u8; 8] = *b"mesh v1\n";
/// The protocol version: incremented when this greeting or anything after it on the wire changes.
const PROTOCOL: u32 = 3;

/// The flag of a process that has a secret.
pub(super) const SECRET: u32 = 1;
/// The flag of a process that has certificates, and so wants encryption.
pub(super) const TLS: u32 = 2;
/// The flag of a process that compresses frames.
const COMPRESS: u32 = 4;

/// A greeting, in which a process introduces itself; its bytes are sent as they are in memory, like timely's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Hello {
    /// The version of the protocol.
    pub protocol: u32,
    /// Random bytes, new for every connection.
    pub nonce: [u8; 32],
    /// The version of this library, truncated to 16 bytes.
    pub version: [u8; 16],
    /// The first bytes of the name of the program's build.
    pub build: [u8; 16],
    /// The number of the sender, from 0.
    pub process: u32,
    /// What the sender has and wants.
    pub flags: u32,
    // What follows has a meaning only in this protocol.
    /// The hash of the name that the processes of one attempt share.
    pub run: [u8; 32],
    /// The hash of everything else that must be equal in all processes.
    pub settings: [u8; 32],
    /// The number of processes in the run.
    pub processes: u32,
    /// The worker threads of each process.
    pub threads: u32,
}

impl Hello {
    /// Creates the greeting of the process of `placement`, with a nonce of zeros.
    pub fn new(placement: &Placement, settings: &ClusterSettings) -> Hello {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let flags = [
            (settings.secret.is_some(), SECRET),
            (settings.tls.is_some(), TLS),
            (settings.compress, COMPRESS),
        ];
        Hello {
            protocol: PROTOCOL,
            nonce: [0; 32],
            version: cut(env!("CARGO_PKG_VERSION")),
            build: cut(settings.build),
            process: number(placement.process),
            flags: flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum(),
            run: Sha256::digest(settings.run.as_bytes()).into(),
            settings: settings.hash,
            processes: number(placement.processes()),
            threads: number(placement.threads),
        }
    }

    /// Returns whether the sender has set a flag.
    pub(super) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Returns the same greeting with a new nonce.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn fresh(&self) -> std::io::Result<Hello> {
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
        Ok(Hello { nonce, ..*self })
    }

    /// Returns the bytes to send: the frame, then the fields.
    pub fn encode(&self) -> Vec<u8> {
        let length = (size_of::<Hello>() as u32).to_le_bytes();
        [&MAGIC[..], &length, bytemuck::bytes_of(self)].concat()
    }

    /// Returns whether the first eight bytes are those of a greeting.
    pub(super) fn begins(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Returns the number of bytes that follow a frame; `None` if it is not that of a greeting.
    pub fn rest(frame: &[u8; FRAME_BYTES]) -> Option<usize> {
        let length = u32::from_le_bytes(*frame.last_chunk()?) as usize;
        (Hello::begins(frame) && BODY_BYTES.contains(&length)).then_some(length)
    }

    /// Parses a greeting with its frame; `None` if the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<Hello> {
        let (frame, body) = bytes.split_first_chunk()?;
        let mut hello = Hello::zeroed();
        let fields = bytemuck::bytes_of_mut(&mut hello);
        let common = body.len().min(fields.len());
        fields[..common].copy_from_slice(&body[..common]);
        let has_length = hello.protocol != PROTOCOL || body.len() == size_of::<Hello>();
        (Hello::rest(frame)? == body.len() && has_length).then_some(hello)
    }

    /// Returns whether `other` belongs to another attempt, which is waited out whatever else differs; false if the
    /// protocols differ.
    pub fn is_left_over(&self, other: &Hello) -> bool {
        self.protocol == other.protocol && self.run != other.run
    }

    /// Returns the difference, as text, that prevents `other` from working with us, if there is one.
    pub fn difference(&self, other: &Hello) -> Option<String> {
        let program = |hello: &Hello| (hello.protocol, hello.version, hello.build);
        if program(self) != program(other) {
            return Some(format!("is {}; this is {}", other.program(), self.program()));
        }
        let mut starts = self.starts().into_iter().zip(other.starts());
        if let Some((ours, theirs)) = starts.find(|(ours, theirs)| ours != theirs) {
            return Some(format!("was started {theirs}, this one {ours}"));
        }
        (self.settings != other.settings).then(|| {
            format!(
                "has different settings (hash {}, here {})",
                hex::encode(&other.settings[..4]),
                hex::encode(&self.settings[..4])
            )
        })
    }

    /// Describes how the sender was started: what must be equal in all processes.
    fn starts(&self) -> [String; 4] {
        let names = SettingNames::get();
        let flag =
            |flag, name| format!("{} {name}", if self.has(flag) { "with" } else { "without" });
        [
            flag(TLS, names.tls),
            format!("with {} {}", names.processes, self.processes),
            format!("with {} {}", names.threads, self.threads),
            flag(COMPRESS, names.compress),
        ]
    }

    /// Returns the name of the sender's program.
    fn program(&self) -> String {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.trim_end_matches('\0').escape_default().to_string()
        };
        let (version, build) = (text(&self.version), text(&self.build));
        let name = Names::get().program;
        format!("{name} {version} (build {build}, protocol {})", self.protocol)
    }
}

/// Returns the first 16 bytes of a text, padded with zeros.
fn cut(text: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    bytes
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
        assert_eq!(bytes.len(), FRAME_BYTES + size_of::<Hello>());
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
        fn no_bytes_upset_a_listener(mut body in proptest::collection::vec(0_u8.., 72..200), protocol in 0_u32..5) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&(body.len() as u32 + 4).to_le_bytes());
            bytes.extend_from_slice(&protocol.to_ne_bytes());
            bytes.append(&mut body);
            let right_length = protocol != PROTOCOL || bytes.len() == FRAME_BYTES + size_of::<Hello>();
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
        bytes[FRAME_BYTES..][..4].copy_from_slice(&9_u32.to_ne_bytes());
        bytes.extend_from_slice(&[1; 50]);
        let length = (bytes.len() - FRAME_BYTES) as u32;
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        let other = Hello::decode(&bytes).unwrap();
        assert_eq!(other.process, 1);
        let difference = hello().difference(&other).unwrap();
        assert!(difference.contains("protocol 9)"), "{difference}");
    }

    #[test]
    fn every_difference_is_named() {
        let mine = hello();
        assert_eq!(mine.difference(&mine), None);
        type Change = fn(&mut Hello);
        let changes: [(Change, &str); 7] = [
            (|h| h.version[0] = b'8', "version 8."),
            (|h| h.build = *b"0123456789abcdef", "0123456789abcdef"),
            (|h| h.flags = TLS, "with tls, this one without"),
            (|h| h.processes = 5, "processes 5"),
            (|h| h.threads = 1, "threads 1"),
            (|h| h.flags = COMPRESS, "with compress, this one"),
            (|h| h.settings[0] = 0xab, "hash ab070707, here 07070707"),
        ];
        for (change, words) in changes {
            let mut other = mine;
            change(&mut other);
            let difference = mine.difference(&other).unwrap();
            assert!(difference.contains(words), "{difference}");
            assert!(!mine.is_left_over(&other));
        }
    }

    #[test]
    fn another_attempt_is_left_over_whatever_else_differs() {
        let mine = hello();
        let mut other = hello();
        (other.run[0], other.threads) = (other.run[0] ^ 1, 9);
        assert!(mine.is_left_over(&other) && !mine.is_left_over(&mine));
    }
}
