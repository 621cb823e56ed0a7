//! How a process proves that it has the secret, without revealing it.
//!
//! A proof is HMAC-SHA256, keyed by the secret, over the role of the prover, both greetings as sent,
//! and, on an encrypted connection, a value of that connection. The greetings contain both sides'
//! numbers, settings and fresh nonces, so a proof that is intercepted, reflected, or relayed to
//! another connection proves nothing there.

use hmac::Mac;

use super::secret::Secret;

/// The bytes of a proof.
pub const PROOF_BYTES: usize = 32;
/// The bytes of a listener's answer to a proof: its verdict, and its own proof.
pub const ANSWER_BYTES: usize = 4 + PROOF_BYTES;

/// The last message of the handshake: the dialling side has read the answer and accepts the connection.
pub(crate) const READY: [u8; 8] = *b"mesh go\n";

/// The role of the prover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The side that called; it proves first.
    Dialler,
    /// The side that was called, with its verdict on the caller.
    Listener(Verdict),
}

/// The listener's verdict on a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Verdict {
    /// The caller is accepted, unless the greetings differ.
    Welcome = 0,
    /// A process with this number has already joined.
    Taken = 1,
    /// The proof is wrong. This verdict comes without a proof.
    Refused = 2,
}

/// The messages of one connection before any proof, as seen by both sides.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// The dialler's greeting, as sent.
    pub dialler: Vec<u8>,
    /// The listener's greeting, as sent.
    pub listener: Vec<u8>,
    /// A value that only the ends of this encrypted connection know; empty without encryption.
    pub binding: Vec<u8>,
}

impl Transcript {
    /// Returns the proof of one side; without a secret, it only proves that the side has read the greetings.
    pub fn prove(&self, secret: Option<&Secret>, role: Role) -> [u8; PROOF_BYTES] {
        self.keyed(secret, role).finalize().into_bytes().into()
    }

    /// Returns whether `proof` is that of the side `role`, in constant time.
    pub(crate) fn is_proved(&self, secret: Option<&Secret>, role: Role, proof: &[u8]) -> bool {
        self.keyed(secret, role).verify_slice(proof).is_ok()
    }

    fn keyed(&self, secret: Option<&Secret>, role: Role) -> hmac::Hmac<sha2::Sha256> {
        let (side, verdict) = match role {
            Role::Dialler => (1_u32, 0),
            Role::Listener(verdict) => (2, verdict as u32),
        };
        let mut keyed = Secret::keyed(secret);
        keyed.update(b"mesh proof\n");
        keyed.update(&side.to_le_bytes());
        keyed.update(&verdict.to_le_bytes());
        for part in [&self.dialler, &self.listener, &self.binding] {
            keyed.update(&(part.len() as u64).to_le_bytes());
            keyed.update(part);
        }
        keyed
    }
}

/// Encodes a listener's answer to a proof.
pub fn encode_answer(verdict: Verdict, proof: &[u8; PROOF_BYTES]) -> [u8; ANSWER_BYTES] {
    let mut bytes = [0; ANSWER_BYTES];
    bytes[..4].copy_from_slice(&(verdict as u32).to_le_bytes());
    bytes[4..].copy_from_slice(proof);
    bytes
}

/// Parses an answer: the verdict, if it is valid, and the proof.
pub fn decode_answer(bytes: &[u8; ANSWER_BYTES]) -> (Option<Verdict>, &[u8]) {
    let (verdict, proof) = bytes.split_at(4);
    let verdict = match verdict {
        [0, 0, 0, 0] => Some(Verdict::Welcome),
        [1, 0, 0, 0] => Some(Verdict::Taken),
        [2, 0, 0, 0] => Some(Verdict::Refused),
        _ => None,
    };
    (verdict, proof)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELCOME: Role = Role::Listener(Verdict::Welcome);

    fn transcript() -> Transcript {
        Transcript { dialler: vec![1, 2, 3], listener: vec![4, 5], binding: Vec::new() }
    }

    #[test]
    fn a_proof_holds_for_its_secret_its_side_and_its_greetings_alone() {
        let secret = Secret::new(b"0123456789abcdef", "x").unwrap();
        let other = Secret::new(b"0123456789abcdeg", "x").unwrap();
        let (mine, said) = (Some(&secret), transcript());
        let proof = said.prove(mine, Role::Dialler);
        assert!(said.is_proved(mine, Role::Dialler, &proof));
        assert!(!said.is_proved(Some(&other), Role::Dialler, &proof));
        assert!(!said.is_proved(None, Role::Dialler, &proof));
        assert!(!said.is_proved(mine, WELCOME, &proof), "reflected");
        assert!(!said.is_proved(mine, Role::Dialler, &proof[..31]));
        let taken = said.prove(mine, Role::Listener(Verdict::Taken));
        assert!(!said.is_proved(mine, WELCOME, &taken));
        type Change = fn(&mut Transcript);
        let changes: [Change; 4] = [
            |t| t.dialler[0] ^= 1,
            |t| t.listener.push(0),
            |t| t.binding.push(0),
            // The same bytes, split elsewhere.
            |t| (t.dialler, t.listener) = (vec![1, 2], vec![3, 4, 5]),
        ];
        for change in changes {
            let mut changed = transcript();
            change(&mut changed);
            assert!(!changed.is_proved(mine, Role::Dialler, &proof));
        }
    }

    #[test]
    fn an_answer_survives_the_wire() {
        for verdict in [Verdict::Welcome, Verdict::Taken, Verdict::Refused] {
            let bytes = encode_answer(verdict, &[9; PROOF_BYTES]);
            assert_eq!(decode_answer(&bytes), (Some(verdict), &[9; 32][..]));
        }
        assert_eq!(decode_answer(&[3; ANSWER_BYTES]).0, None);
    }
}
