//! Names the build: a hash of the sources, so that processes of different builds refuse each other.
//!
//! Over `Cargo.lock`, where there is one, and every file under `src` and under the `src` of each of
//! `crates`, by path below the package and in order of the paths: the same sources have the same name
//! wherever they are built. A published package holds no `crates`; there `Cargo.lock` has their
//! checksums. The feature `abomonation` changes what goes over the wire, and so the name.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=Cargo.lock");
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
    let digits: String = hash.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    // Who has blocks in another layout is another build.
    let name = match std::env::var_os("CARGO_FEATURE_ABOMONATION") {
        Some(_) => format!("{}+a", &digits[..14]),
        None => digits,
    };
    println!("cargo::rustc-env=TOPICMILL_BUILD={name}");
    Ok(())
}

/// The package's own sources, and those of the crates beside it.
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

/// The path with `/` between its parts on every system.
fn name(path: &Path) -> String {
    let parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    parts.collect::<Vec<_>>().join("/")
}

/// Every source file below `folder`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
