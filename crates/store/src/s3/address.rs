//! Addresses of objects: `s3://bucket/key`.

use std::io;
use std::path::{Path, PathBuf};

use crate::{SCHEME, StoreError, named};

/// Splits an address into bucket and key. The key has no trailing `/`, and is empty for the whole
/// bucket.
///
/// # Errors
/// It does not begin with `s3://`, names no bucket, or has a part that is empty, `.` or `..`.
pub(super) fn split(path: &Path) -> Result<(String, String), StoreError> {
    let text = path.to_string_lossy();
    let refuse = |reason: &str| {
        let message = format!("{reason}; write `s3://bucket/folder`");
        named(path)(io::Error::new(io::ErrorKind::InvalidInput, message))
    };
    let Some(rest) = text.strip_prefix(SCHEME) else {
        return Err(refuse("this is not an address in an object store"));
    };
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    let key = key.trim_end_matches('/');
    if bucket.is_empty() {
        return Err(refuse("the bucket is missing"));
    }
    if !key.is_empty() && key.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(refuse("a part of it is empty, `.` or `..`"));
    }
    Ok((bucket.to_owned(), key.to_owned()))
}

/// Returns the address of an object, as in jobs and errors.
pub(super) fn of(bucket: &str, key: &str) -> PathBuf {
    PathBuf::from(format!("{SCHEME}{bucket}/{key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_apart_and_together() {
        let parts = |text: &str| split(Path::new(text)).unwrap();
        assert_eq!(parts("s3://bucket"), ("bucket".to_owned(), String::new()));
        let (bucket, key) = parts("s3://bucket/runs/first/");
        assert_eq!((bucket.as_str(), key.as_str()), ("bucket", "runs/first"));
        assert_eq!(of(&bucket, &key), Path::new("s3://bucket/runs/first"));
        for wrong in ["bucket/run1", "s3://", "s3:///runs", "s3://b//x", "s3://b/x/../y"] {
            let error = split(Path::new(wrong)).unwrap_err();
            assert_eq!(error.source.kind(), io::ErrorKind::InvalidInput, "{wrong}");
            assert!(error.to_string().contains("s3://bucket/folder"), "{error}");
        }
    }
}
