//! With certificates all traffic is encrypted, and a certificate is valid only for its host.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::child::{Process, Run};
use super::results::complete;
use crate::workdir;

const LIMIT: Duration = Duration::from_secs(30);
const SECRET: &str = "a secret that all processes share";

/// Makes certificates of one authority for these hosts.
fn certify(folder: &Path, hosts: &[&str]) {
    let list = folder.with_extension("hosts");
    let lines: String = hosts.iter().map(|host| format!("{host}:7101\n")).collect();
    fs::write(&list, lines).unwrap();
    workdir::certify(&list, folder).unwrap();
}

fn run() -> Run {
    let mut run = Run::new(2, 1);
    run.secret = Some(SECRET);
    let folder = run.folder.path().join("tls");
    certify(&folder, &["127.0.0.1"]);
    run.tls = Some(folder);
    run
}

#[test]
fn encrypted_links_carry_the_same_bytes() {
    let mut run = run();
    run.threads = 2;
    let encrypted = complete(&run, "gather");
    assert_eq!(complete(&run, "rounds"), vec!["complete"; 4]);
    run.compress = true;
    assert_eq!(complete(&run, "gather"), encrypted);
    run.tls = None;
    assert_eq!(complete(&run, "gather"), encrypted);
}

#[test]
fn an_error_is_told_over_an_encrypted_link() {
    let run = run();
    let mut processes = run.start_all("error");
    let second = processes.pop().unwrap().end(LIMIT);
    second.expect_line(65, "line 7 of the input is damaged");
    let line = format!("process 1 ({}) ended: line 7", run.addresses[1]);
    processes.pop().unwrap().end(LIMIT).expect_line(69, &line);
}

#[test]
fn a_certificate_of_another_authority_or_for_another_host_is_refused() {
    for host in ["127.0.0.1", "10.9.8.7"] {
        let mut run = run();
        run.deadline = Duration::from_secs(3);
        let other = run.folder.path().join("other");
        certify(&other, &["127.0.0.1", "10.9.8.7"]);
        if host != "127.0.0.1" {
            // The second process trusts the first, and has a valid certificate, but for another host.
            let first = run.folder.path().join("first");
            fs::create_dir(&first).unwrap();
            for name in ["ca.pem", "127.0.0.1.pem", "127.0.0.1.key"] {
                fs::copy(other.join(name), first.join(name)).unwrap();
            }
            for kind in ["pem", "key"] {
                let [from, to] =
                    [host, "127.0.0.1"].map(|host| other.join(format!("{host}.{kind}")));
                fs::rename(from, to).unwrap();
            }
            run.tls = Some(first);
        }
        let first = run.start("reduce", 0);
        let mut command = run.command("reduce", 1, 1);
        let second = Process::of(command.env("CLUSTER_TLS", other));
        let words = |process: usize| {
            let address = &run.addresses[process];
            format!("process {process} ({address}: cannot encrypt the connection: ")
        };
        first.end(LIMIT).expect(69, &words(1));
        second.end(LIMIT).expect(69, "missing: process 0 (");
    }
}

#[test]
fn one_side_without_certificates_is_named_by_both() {
    let mut run = run();
    let first = run.start("reduce", 0);
    run.tls = None;
    let second = run.start("reduce", 1);
    let words = "was started without --tls-ca, this one with";
    first.end(LIMIT).expect(64, words);
    second.end(LIMIT).expect(64, "was started with --tls-ca, this one without");
}
