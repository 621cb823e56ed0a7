//! The flags about other processes, converted once into the settings of a cluster.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::value_parser;

use super::Failure;
use crate::job::Job;
use mesh::hosts::host_of;
use mesh::interrupt::{DEFAULT_STOP_TIMEOUT, Interrupts};
use mesh::secret::Secret;
use mesh::tls::{Tls, file_name};
use mesh::{ClusterSettings, Placement};

/// Placeholder for this process's host in the paths of certificate and key.
const HOST: &str = "{host}";

/// How a process gets on with the others of its run, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Other processes")]
pub(crate) struct PeerArgs {
    /// Seconds within which all processes must join [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400))]
    join_timeout: Option<u64>,
    /// Seconds without data from a process after which it counts as lost [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400))]
    pub(crate) peer_timeout: Option<u64>,
    /// Seconds without progress after which a worker thread counts as stalled and the run ends;
    /// 0 disables the check [default: 1800]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(0..=86_400))]
    pub(crate) stall_timeout: Option<u64>,
    /// Seconds that the processes started by --processes or launch have to stop after SIGTERM, before they are
    /// killed [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400))]
    stop_timeout: Option<u64>,
    /// Encrypt connections: the certificate of the authority that all processes trust, PEM; needs a
    /// build with `--features tls`
    #[arg(long, value_name = "FILE", requires = "tls_cert", requires = "tls_key")]
    tls_ca: Option<PathBuf>,
    /// This process's certificate, PEM; `{host}` is replaced by its host in the host file
    #[arg(long, value_name = "FILE", requires = "tls_ca")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key, PEM; `{host}` as above
    #[arg(long, value_name = "FILE", requires = "tls_ca")]
    tls_key: Option<PathBuf>,
    /// Compress traffic between processes; pays on slow links (docs/measurements/SCALING.md)
    #[arg(long)]
    pub(crate) compress: bool,
}

impl PeerArgs {
    /// Takes over the signals of a process that waits for others, which get some time to stop.
    pub(super) fn take_over_signals(&self) -> Interrupts {
        let patience = self.stop_timeout.map(Duration::from_secs);
        Interrupts::take_over(patience.unwrap_or(DEFAULT_STOP_TIMEOUT))
    }

    /// Returns the settings of a process in the attempt `run`; warns about a secret that others can read. A
    /// process that is alone needs no secret and no certificate.
    ///
    /// # Errors
    /// The secret or a certificate cannot be read or used.
    pub(super) fn settings(
        &self,
        job: &Job,
        placement: &Placement,
        run: String,
    ) -> Result<ClusterSettings, Failure> {
        let mut settings = ClusterSettings::default();
        if let Some(seconds) = self.stall_timeout {
            settings.stall_timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
        }
        if placement.processes() == 1 {
            return Ok(settings);
        }
        let found = Secret::find(job.cluster.secret_file.as_deref())?;
        let warning = found.as_ref().and_then(|found| found.warning.as_ref());
        if let Some(warning) = warning.filter(|_| placement.process == 0) {
            super::warn(warning);
        }
        let host = placement.addresses.get(placement.process);
        let host = host.map_or("", |address| host_of(address));
        let here =
            |path: &Path| PathBuf::from(path.to_string_lossy().replace(HOST, &file_name(host)));
        let tls = match (&self.tls_ca, &self.tls_cert, &self.tls_key) {
            (Some(ca), Some(certificate), Some(key)) => {
                Some(Tls::load(ca, &here(certificate), &here(key))?)
            }
            _ => None,
        };
        let seconds = |given: Option<u64>, default| given.map_or(default, Duration::from_secs);
        Ok(ClusterSettings {
            build: env!("TOPICMILL_BUILD"),
            run,
            deadline: seconds(self.join_timeout, settings.deadline),
            peer_timeout: seconds(self.peer_timeout, settings.peer_timeout),
            secret: found.map(|found| found.secret),
            tls,
            compress: self.compress,
            ..settings
        })
    }
}
