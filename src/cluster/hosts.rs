//! Host files: where the processes of a run listen, one `host:port` a line.
//!
//! The first line is process 0. A `#` starts a comment, blank lines are skipped, and a name may be
//! an IPv4 address, a bracketed IPv6 address or a host name. Nothing is resolved here: a host may
//! get its address only after the file was written.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What can be wrong with a host file.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// The file cannot be read.
    #[error("cannot read the host file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is not `host:port`.
    #[error("{}:{line}: {text:?} is not host:port ({reason}); write one address a line, such as node1:7101", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What stands there.
        text: String,
        /// What is missing or wrong.
        reason: &'static str,
    },
    /// Two lines give the same address.
    #[error("{}:{line}: {address} stands on line {first} already; every process needs an address of its own", path.display())]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The second line, counted from 1.
        line: usize,
        /// The first line, counted from 1.
        first: usize,
        /// The address.
        address: String,
    },
    /// The file has not one address for each process.
    #[error("{}: {found} addresses for {wanted} processes; give one line a process, or another -n", path.display())]
    Count {
        /// The file.
        path: PathBuf,
        /// Addresses in the file.
        found: usize,
        /// Processes asked for with `-n`.
        wanted: usize,
    },
}

/// Reads the addresses of `processes` processes from the host file at `path`, in order.
///
/// # Errors
/// The file cannot be read, a line is not `host:port`, an address stands there twice, or the file
/// has more or fewer addresses than `processes`.
pub fn read(path: &Path, processes: usize) -> Result<Vec<String>, HostsError> {
    let text = std::fs::read_to_string(path).map_err(|source| HostsError::Read {
        path: path.to_owned(),
        source,
    })?;
    let addresses = parse(path, &text)?;
    if addresses.len() == processes {
        Ok(addresses)
    } else {
        Err(HostsError::Count {
            path: path.to_owned(),
            found: addresses.len(),
            wanted: processes,
        })
    }
}

/// The addresses in `text`, which came from `path`, in order and without duplicates.
///
/// # Errors
/// A line is not `host:port`, or an address stands there twice.
pub fn parse(path: &Path, text: &str) -> Result<Vec<String>, HostsError> {
    let mut first_line = HashMap::new();
    let mut addresses = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let address = line.split('#').next().unwrap_or("").trim();
        if address.is_empty() {
            continue;
        }
        let line = number + 1;
        check(address).map_err(|reason| HostsError::Line {
            path: path.to_owned(),
            line,
            text: address.to_owned(),
            reason,
        })?;
        if let Some(first) = first_line.insert(address.to_lowercase(), line) {
            return Err(HostsError::Duplicate {
                path: path.to_owned(),
                line,
                first,
                address: address.to_owned(),
            });
        }
        addresses.push(address.to_owned());
    }
    Ok(addresses)
}

/// The host in a `host:port`, an IPv6 address without its brackets.
pub fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Says what keeps `address` from being `host:port`.
fn check(address: &str) -> Result<(), &'static str> {
    let (host, port) = address.rsplit_once(':').ok_or("the port is missing")?;
    if host.is_empty() {
        return Err("the host is missing");
    }
    if host.contains(char::is_whitespace) {
        return Err("there is a space in it");
    }
    if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
        return Err("an IPv6 address goes in brackets, as in [::1]:7101");
    }
    match port.parse::<u16>() {
        Ok(0) | Err(_) => Err("the port is not a number from 1 to 65535"),
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(Path::new("hosts.txt"), text).unwrap_err().to_string()
    }

    #[test]
    fn comments_and_blank_lines_are_skipped() {
        let text = "# two hosts\nnode1:7101  # the first\n\n  [fe80::1]:7102\r\n";
        let addresses = parse(Path::new("hosts"), text).unwrap();
        assert_eq!(addresses, ["node1:7101", "[fe80::1]:7102"]);
    }

    #[test]
    fn the_host_of_an_address_has_no_port_and_no_brackets() {
        assert_eq!(host_of("node1:7101"), "node1");
        assert_eq!(host_of("[fe80::1]:7101"), "fe80::1");
    }

    #[test]
    fn errors_name_file_and_line() {
        assert!(message("a:1\nb\n").starts_with("hosts.txt:2: \"b\" is not host:port (the port"));
        assert!(message("a:x").contains("not a number"));
        assert!(message("a:0").contains("not a number"));
        assert!(message(":80").contains("the host is missing"));
        assert!(message("a b:80").contains("space"));
        assert!(message("::1:80").contains("brackets"));
        let twice = message("# x\na:1\nb:1\nA:1\n");
        assert!(
            twice.starts_with("hosts.txt:4: A:1 stands on line 2"),
            "{twice}"
        );
    }

    #[test]
    fn the_number_of_addresses_must_be_that_of_the_processes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        std::fs::write(&path, "a:1\nb:1\n").unwrap();
        assert_eq!(read(&path, 2).unwrap().len(), 2);
        for wanted in [1, 3] {
            let error = read(&path, wanted).unwrap_err().to_string();
            assert!(
                error.contains(&format!("2 addresses for {wanted} processes")),
                "{error}"
            );
        }
        let absent = read(&folder.path().join("absent"), 1)
            .unwrap_err()
            .to_string();
        assert!(absent.contains("absent"), "{absent}");
    }
}
