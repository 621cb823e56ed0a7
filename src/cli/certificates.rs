//! `topicmill certificates --hosts FILE --out FOLDER`: throw-away certificates for a run.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::args::CertificatesArgs;
use super::{Exit, Failure};
use crate::cluster::certificates::{file_name, make};
use crate::cluster::hosts::{host_of, parse};

/// Makes an authority and a certificate for each host, and says how to use them.
///
/// # Errors
/// The host file is wrong; a file of a certificate is there already, or cannot be written.
pub(super) fn run(args: &CertificatesArgs) -> Result<(), Failure> {
    let text = fs::read_to_string(&args.hosts)
        .map_err(|error| Failure::new(Exit::Io, error).context(args.hosts.display()))?;
    let addresses = parse(&args.hosts, &text)?;
    let mut hosts: Vec<String> = Vec::new();
    for host in addresses.iter().map(|address| host_of(address)) {
        if !hosts.iter().any(|other| other == host) {
            hosts.push(host.to_owned());
        }
    }
    if hosts.is_empty() {
        let message = format!("{}: no hosts in it", args.hosts.display());
        return Err(Failure::message(Exit::Usage, message));
    }
    let made = make(&hosts, args.days).map_err(|error| Failure::new(Exit::Usage, error))?;
    fs::create_dir_all(&args.out)
        .map_err(|error| Failure::new(Exit::Io, error).context(args.out.display()))?;
    let mut files = vec![("ca.pem".to_owned(), &made.authority, PUBLIC)];
    for host in &made.hosts {
        let name = file_name(&host.host);
        files.push((format!("{name}.pem"), &host.certificate, PUBLIC));
        files.push((format!("{name}.key"), &host.key, PRIVATE));
    }
    // All or none, as far as can be seen beforehand.
    for (name, ..) in &files {
        refuse_existing(&args.out.join(name))?;
    }
    for (name, contents, mode) in &files {
        let path = args.out.join(name);
        write_new(&path, contents, *mode)
            .map_err(|error| Failure::new(Exit::Io, error).context(path.display()))?;
    }
    super::print(&usage(&args.out, hosts.len(), args.days))
}

/// What a file's mode is when everybody may read it.
const PUBLIC: u32 = 0o644;
/// What a file's mode is when its owner alone may.
const PRIVATE: u32 = 0o600;

fn refuse_existing(path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let message = format!("{} is there already", path.display());
    Err(Failure::message(Exit::Usage, message)
        .help("give another --out, or remove the old certificates first"))
}

/// Writes a file that must not be there, and that nobody sees with another mode than this.
fn write_new(path: &Path, contents: &str, mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path)?;
    file.write_all(contents.as_bytes())?;
    file.sync_all()
}

/// What to do with what was made.
fn usage(out: &Path, hosts: usize, days: u32) -> String {
    let out = out.display();
    format!(
        "certificates of {hosts} hosts, good for {days} days, in {out}\n\
         Give each host ca.pem and its own .pem and .key, and start every process with\n  \
         --tls-ca {out}/ca.pem --tls-cert '{out}/{{host}}.pem' --tls-key '{out}/{{host}}.key'\n\
         where {{host}} is left as it stands: each process puts in its own host of the host file.\n\
         A secret (TOPICMILL_SECRET) is needed beside them.\n"
    )
}
