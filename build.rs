//! Names the build: a hash of the sources, so that processes of different builds refuse each other,
//! and the commit and features, so that a result and `--version` identify the build.
//!
//! The hash covers `Cargo.lock`, if present, and every file under `src` and under the `src` of each
//! of `crates`, sorted by path below the package: the same sources have the same name wherever
//! they are built. A published package contains no `crates`; there `Cargo.lock` has their checksums.
//! The feature `abomonation` changes what goes over the wire, and therefore the name.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rustc-env=TOPICMILL_BUILD={}", build()?);
    println!("cargo::rustc-env=TOPICMILL_COMMIT={}", commit());
    println!("cargo::rustc-env=TOPICMILL_FEATURES={}", features());
    Ok(())
}

/// Returns the name of the build.
fn build() -> io::Result<String> {
    let mut files = Vec::new();
    for folder in source_folders()? {
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files)?;
    }
    let lock = Path::new("Cargo.lock");
    if lock.exists() {
        files.push(lock.to_owned());
    }
    let mut named: Vec<(String, PathBuf)> =
        files.into_iter().map(|path| (name(&path), path)).collect();
    named.sort();
    let mut hash = Sha256::new();
    for (name, path) in named {
        let contents = std::fs::read(path)?;
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update((contents.len() as u64).to_le_bytes());
        hash.update(contents);
    }
    let digits: String = hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    // A build whose blocks have another layout has another name.
    Ok(match std::env::var_os("CARGO_FEATURE_ABOMONATION") {
        Some(_) => format!("{}+a", &digits[..14]),
        None => digits,
    })
}

/// Returns the enabled features, as `--version` lists them.
fn features() -> String {
    let on = |name: &&str| {
        std::env::var_os(format!("CARGO_FEATURE_{}", name.to_ascii_uppercase())).is_some()
    };
    let names: Vec<&str> = ["s3", "tls", "abomonation"].into_iter().filter(on).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// Returns the commit that is built: `TOPICMILL_COMMIT`, that of the git checkout, or that noted by
/// `cargo package`.
fn commit() -> String {
    println!("cargo::rerun-if-env-changed=TOPICMILL_COMMIT");
    std::env::var("TOPICMILL_COMMIT")
        .ok()
        .or_else(checked_out)
        .or_else(packaged)
        .unwrap_or_else(|| "unknown: not built from a git checkout".to_owned())
}

/// Returns the commit of the git checkout, with `-modified` if the sources differ from it; `None`
/// without git, or if the package is in a repository that does not track it.
fn checked_out() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // The log grows with every commit, checkout and merge. A debug build checks again only when the
    // sources change, so that a commit alone does not recompile the tests.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists());
    if let Some(log) = log.filter(|_| std::env::var("PROFILE").is_ok_and(|p| p == "release")) {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let sources = ["src", "crates", "build.rs", "Cargo.toml", "Cargo.lock"];
    let changed = git(&[&["status", "--porcelain", "--"], sources.as_slice()].concat())?;
    Some(match changed.as_str() {
        "" => commit,
        _ => format!("{commit}-modified"),
    })
}

/// Returns git's output, if it succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Returns the commit that `cargo package` noted in the package.
fn packaged() -> Option<String> {
    let noted = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = noted.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    let is_hash = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| commit.to_owned())
}

/// Returns the folders of the package's own sources and of its crates' sources.
fn source_folders() -> io::Result<Vec<PathBuf>> {
    let mut folders = vec![PathBuf::from("src")];
    let crates = Path::new("crates");
    if crates.exists() {
        for entry in std::fs::read_dir(crates)? {
            folders.push(entry?.path().join("src"));
        }
    }
    Ok(folders)
}

/// Returns the path with `/` between its parts on every system.
fn name(path: &Path) -> String {
    let parts = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    parts.collect::<Vec<_>>().join("/")
}

fn extension(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

/// Adds the sources below `folder` to `files`: code, and the parts of the report's page.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if matches!(extension(&path), Some("rs" | "html" | "css" | "js")) {
            files.push(path);
        }
    }
    Ok(())
}
