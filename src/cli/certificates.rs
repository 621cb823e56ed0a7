//! `topicmill certificates --hosts FILE --out FOLDER`: temporary certificates for a run.

use std::io::{self, Write};
use std::path::Path;

use super::args::CertificatesArgs;
use super::{Failure, figures};
use mesh::certificates::{file_name, make};
use mesh::hosts::{host_of, read_all};
use store::Writer;

/// Creates an authority and a certificate for each host, and prints how to use them.
///
/// # Errors
/// The host file is wrong; a certificate file already exists or cannot be written.
pub(super) fn run(args: &CertificatesArgs) -> Result<(), Failure> {
    let addresses = read_all(&args.hosts)?;
    let mut hosts: Vec<String> = Vec::new();
    for host in addresses.iter().map(|address| host_of(address)) {
        if !hosts.iter().any(|other| other == host) {
            hosts.push(host.to_owned());
        }
    }
    let made = make(&hosts, args.days)?;
    store::create_folder(&args.out).map_err(Failure::io(&args.out))?;
    let public: Create = Writer::create_new;
    let private: Create = Writer::create_private;
    let mut files = vec![("ca.pem".to_owned(), &made.authority, public)];
    for host in &made.hosts {
        let name = file_name(&host.host);
        files.push((format!("{name}.pem"), &host.certificate, public));
        files.push((format!("{name}.key"), &host.key, private));
    }
    // Check all before writing any.
    for (name, ..) in &files {
        refuse_existing(&args.out.join(name))?;
    }
    for (name, contents, create) in &files {
        let path = args.out.join(name);
        write_new(&path, contents, *create).map_err(Failure::io(&path))?;
    }
    super::print(&usage(&args.out, hosts.len(), args.days))
}

/// Creates a file that must not exist yet, readable by everyone or only by its owner.
type Create = fn(&Path) -> io::Result<Writer>;

fn refuse_existing(path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let message = format!("{} already exists", path.display());
    Err(Failure::usage(message).help("choose another --out, or remove the old certificates first"))
}

fn write_new(path: &Path, contents: &str, create: Create) -> io::Result<()> {
    let mut file = create(path)?;
    file.write_all(contents.as_bytes())?;
    file.sync()
}

/// Explains how to use the certificates.
fn usage(out: &Path, hosts: usize, days: u32) -> String {
    let hosts = figures::counted(hosts as u64, "host");
    let out = out.display();
    format!(
        "certificates for {hosts}, valid for {days} days, in {out}\n\
         Give each host ca.pem and its own .pem and .key, and start every process with\n  \
         --tls-ca {out}/ca.pem --tls-cert '{out}/{{host}}.pem' --tls-key '{out}/{{host}}.key'\n\
         where {{host}} is a placeholder: each process substitutes its own host of the host file.\n\
         The processes also need a secret (TOPICMILL_SECRET).\n"
    )
}
