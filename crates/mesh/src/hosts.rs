//! Host files: the addresses of the processes of a run, one `host:port` per line.
//!
//! The first line is process 0. A `#` starts a comment, blank lines are skipped, and a host is an IPv4 address, a
//! bracketed IPv6 address or a host name. The variable for
//! [the hosts](VariableNames::hosts) has the same content, separated by commas. Nothing is resolved here, because a host may get its address after the file is written.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::UsageError;
use crate::names::{SettingNames, VariableNames};

/// The most bytes of a host file that are read.
const HOST_FILE_BYTES: u64 = 16 << 20;

/// Reads the addresses in the host file at `path`, in order: at least one.
///
/// # Errors
/// The file cannot be read, a line is not `host:port`, an address occurs twice, or there is none.
pub fn read(path: &Path) -> Result<Vec<String>, UsageError> {
    let cannot = |problem: &dyn Display| {
        UsageError(format!("cannot read the host file {}: {problem}", path.display()))
    };
    let mut text = String::new();
    let file = File::open(path).map_err(|error| cannot(&error))?;
    let read = file.take(HOST_FILE_BYTES + 1).read_to_string(&mut text);
    if read.map_err(|error| cannot(&error))? as u64 > HOST_FILE_BYTES {
        return Err(cannot(&"it has more than 16 MiB; write one host:port per line"));
    }
    let addresses = parse(path, text.trim_start_matches('\u{feff}'))?;
    if addresses.is_empty() {
        Err(UsageError(format!(
            "{}: no address in this file; write one per line, such as node1:7101",
            path.display()
        )))
    } else {
        Ok(addresses)
    }
}

/// Parses the value of the variable for [the hosts](VariableNames::hosts) into addresses, in order; errors count its entries as lines.
///
/// # Errors
/// An entry is not `host:port`, or an address occurs twice.
pub fn parse_list(list: &str) -> Result<Vec<String>, UsageError> {
    parse(Path::new(VariableNames::get().hosts), &list.replace(',', "\n"))
}

/// Returns `addresses`, which came from a file or variable `source`, if there is one for each process.
///
/// # Errors
/// There are more or fewer addresses than `processes`.
pub fn counted(
    source: impl Display,
    addresses: Vec<String>,
    processes: usize,
) -> Result<Vec<String>, UsageError> {
    if addresses.len() == processes {
        Ok(addresses)
    } else {
        Err(UsageError(format!(
            "{source}: the number of addresses is {}, that of processes {processes}; write one line per process, or \
             change {}",
            addresses.len(),
            SettingNames::get().processes
        )))
    }
}

/// Parses the addresses in `text`, which came from `path`, in order.
///
/// # Errors
/// A line is not `host:port`, or an address occurs twice.
pub fn parse(path: &Path, text: &str) -> Result<Vec<String>, UsageError> {
    let mut first_line = HashMap::new();
    let mut addresses = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let address = line.split('#').next().unwrap_or("").trim();
        if address.is_empty() {
            continue;
        }
        let line = number + 1;
        let refuse = |problem: String| UsageError(format!("{}:{line}: {problem}", path.display()));
        let port = check(address).map_err(|reason| {
            refuse(format!(
                "{address:?} is not host:port ({reason}); write one address per line, such as node1:7101"
            ))
        })?;
        let place = (host_of(address).to_lowercase(), port);
        if let Some(first) = first_line.insert(place, line) {
            return Err(refuse(format!(
                "{address} is already on line {first}; every process needs its own address"
            )));
        }
        addresses.push(address.to_owned());
    }
    Ok(addresses)
}

/// Returns the host of `host:port`, an IPv6 address without its brackets.
pub fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    bare.unwrap_or(host)
}

/// Checks that `address` is `host:port`, and returns the port; the error is the problem.
fn check(address: &str) -> Result<u16, String> {
    let (host, port) = address.rsplit_once(':').ok_or("the port is missing")?;
    let is_bare = !(host.starts_with('[') && host.ends_with(']'));
    let refuse = |reason: &str| Err(reason.to_owned());
    match port.parse::<u16>() {
        _ if host_of(address).is_empty() => refuse("the host is missing"),
        _ if host.starts_with('-') => refuse("a host name cannot begin with a hyphen"),
        _ if host.contains('@') => Err(format!(
            "a user does not belong here, but in the remote shell: {} 'ssh -l USER'",
            SettingNames::get().ssh
        )),
        _ if host.contains(char::is_whitespace) => refuse("it contains a space"),
        _ if host.contains(':') && is_bare => {
            refuse("an IPv6 address goes in brackets, as in [::1]:7101")
        }
        Ok(0) | Err(_) => refuse("the port is not a number from 1 to 65535"),
        Ok(port) => Ok(port),
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
    fn commas_may_stand_for_lines() {
        assert_eq!(parse_list("a:1,b:2,").unwrap(), ["a:1", "b:2"]);
        let error = parse_list("a:1,b").unwrap_err().to_string();
        assert!(error.starts_with("MESH_HOSTS:2: \"b\""), "{error}");
    }

    #[test]
    fn the_host_is_what_stands_before_the_port() {
        assert_eq!(host_of("node1:7101"), "node1");
        assert_eq!(host_of("[fe80::1]:7101"), "fe80::1");
    }

    #[test]
    fn errors_name_file_and_line() {
        assert!(message("a:1\nb\n").starts_with("hosts.txt:2: \"b\" is not host:port (the port"));
        assert!(message("a:x").contains("not a number"));
        assert!(message("a:0").contains("not a number"));
        assert!(message(":80").contains("the host is missing"));
        assert!(message("[]:80").contains("the host is missing"));
        assert!(message("a b:80").contains("space"));
        assert!(message("a b 80").contains("the port is missing"));
        assert!(message("me@a:80").contains("ssh 'ssh -l"));
        assert!(message("-oProxyCommand=x:80").contains("hyphen"));
        assert!(message("::1:80").contains("brackets"));
        let twice = message("# x\na:1\nb:1\nA:1\n");
        assert!(twice.starts_with("hosts.txt:4: A:1 is already on line 2"), "{twice}");
        assert!(message("a:7101\na:07101").contains("a:07101 is already on line 1"));
    }

    #[test]
    fn the_number_of_addresses_must_be_that_of_the_processes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        std::fs::write(&path, "a:1\nb:1\n").unwrap();
        let read_for = |processes| counted("hosts", read(&path).unwrap(), processes);
        assert_eq!(read_for(2).unwrap().len(), 2);
        for wanted in [1, 3] {
            let error = read_for(wanted).unwrap_err().to_string();
            assert!(
                error.contains(&format!("addresses is 2, that of processes {wanted};")),
                "{error}"
            );
        }
        std::fs::write(&path, "\u{feff}a:1\n").unwrap();
        assert_eq!(read_for(1).unwrap(), ["a:1"]);
        std::fs::write(&path, "# nobody\n\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("no address"), "{error}");
        let error = counted("SLURM", vec!["a:1".to_owned()], 2).unwrap_err().to_string();
        assert!(error.starts_with("SLURM: the number of addresses is 1,"), "{error}");
        let absent = read(&folder.path().join("absent")).unwrap_err().to_string();
        assert!(absent.contains("absent"), "{absent}");
    }
}
