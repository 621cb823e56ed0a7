//! The location of an output, and the local folder through which a process works on it.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use store::is_remote;

/// An output folder as a job names it, and the local folder that a process works in: the same one, unless the output
/// is in an object store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder, or its address (`s3://…`).
    pub(crate) root: PathBuf,
    /// The folder that the process works in.
    pub(crate) local: PathBuf,
}

impl Place {
    /// Returns the place of one process of a run. For an object store, it works below `scratch`, by default the
    /// system's temporary folder, in a folder that depends only on the store, the address and the process's number:
    /// a restarted process finds its files.
    pub(crate) fn new(root: &Path, scratch: Option<&Path>, process: usize) -> Self {
        if !is_remote(root) {
            let [root, local] = [root, root].map(Path::to_owned);
            return Self { root, local };
        }
        let address = root.to_string_lossy();
        let address = address.trim_end_matches('/');
        // Two stores may have buckets of the same name.
        let endpoints =
            ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"].map(std::env::var_os);
        let digest = Sha256::digest(format!("{endpoints:?} {address}"));
        let digest = hex::encode(digest);
        let name = format!("topicmill-{}-{process}", &digest[..16]);
        let scratch = scratch.map_or_else(std::env::temp_dir, Path::to_owned);
        Self { root: PathBuf::from(address), local: scratch.join(name) }
    }

    /// Whether the process works in a folder other than the output's.
    pub(super) fn is_apart(&self) -> bool {
        self.local != self.root
    }
}

impl<T: AsRef<Path> + ?Sized> From<&T> for Place {
    /// The place of a run's only process.
    fn from(root: &T) -> Self {
        Self::new(root.as_ref(), None, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_folder_and_finds_it_again() {
        let at = |root: &str, process| Place::new(Path::new(root), Some(Path::new("/s")), process);
        let first = at("s3://bucket/run1", 0);
        assert!(first.local.starts_with("/s"));
        assert_eq!(first, at("s3://bucket/run1/", 0));
        assert_ne!(first.local, at("s3://bucket/run1", 1).local);
        assert_ne!(first.local, at("s3://bucket/run2", 0).local);
        assert_eq!(at("out/run1", 3).local, Path::new("out/run1"));
    }
}
