//! The settings that the processes of a run share, their timeouts, and the requirements for joining.

use std::time::Duration;

use super::secret::Secret;
use super::tls::Tls;

/// How long the processes of a run wait for each other, by default.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(60);

/// How long a process may send nothing, by default.
pub const DEFAULT_PEER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long processes that were told to stop may take, by default.
pub const DEFAULT_STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a worker may show no sign of life, by default: long, because a false alarm would recur at every restart,
/// and a hang costs this time only once.
pub const DEFAULT_STALL_TIMEOUT: Duration = Duration::from_secs(1800);

/// How the processes of a run join and stay connected. For a run of one process, only the stall
/// timeout matters.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// Identifies the build of the program by its first 16 bytes; processes of another build are refused.
    pub build: &'static str,
    /// Identifies everything that must be equal in all processes; those with another hash are
    /// refused.
    pub hash: [u8; 32],
    /// A name that all processes of one attempt share, so that those of an earlier attempt are
    /// refused; may be empty.
    pub run: String,
    /// The time within which all processes must join.
    pub deadline: Duration,
    /// How long a process may send nothing before it counts as lost.
    pub peer_timeout: Duration,
    /// How long a worker of this process may show no sign of life before the run ends; `None` for no limit. A worker
    /// shows one when it steps timely or calls `tick` of the crate `topicmill-liveness`, as long computations should.
    pub stall_timeout: Option<Duration>,
    /// The secret by which a process proves that it may join; needed unless all addresses are loopback addresses.
    pub secret: Option<Secret>,
    /// Certificates, if connections are to be encrypted.
    pub tls: Option<Tls>,
    /// Whether to compress the traffic between processes; must be equal in all.
    pub compress: bool,
}

impl Default for ClusterSettings {
    /// No name, no secret, no encryption, no compression, the default timeouts.
    fn default() -> ClusterSettings {
        ClusterSettings {
            build: "",
            hash: [0; 32],
            run: String::new(),
            deadline: DEFAULT_DEADLINE,
            peer_timeout: DEFAULT_PEER_TIMEOUT,
            stall_timeout: Some(DEFAULT_STALL_TIMEOUT),
            secret: None,
            tls: None,
            compress: false,
        }
    }
}
