//! Transfer of objects: downloads of ranges, uploads in parts.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use object_store::aws::AmazonS3;
use object_store::path::Path as Key;
use object_store::{Error, GetOptions, MultipartUpload, ObjectStore, PutMultipartOptions};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::ObjectMeta;

/// Files above this size are uploaded in parts of at least this size; all are downloaded in ranges of it.
pub(super) const PART_BYTES: u64 = 8 << 20;
/// Maximum number of parts of one upload; S3 allows 10,000.
const MOST_PARTS: u64 = 9_000;
/// Maximum number of parts or ranges of one file in flight.
pub(super) const IN_FLIGHT: usize = 4;

/// Limits the parts that this process uploads at a time, whatever the number of files: more would only
/// share the link, and time out together.
static UPLOADS: Semaphore = Semaphore::const_new(8);

/// Converts the crate's metadata of an object to ours.
pub(super) fn meta(object: object_store::ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        key: object.location.as_ref().to_owned(),
        bytes: object.size,
        etag: object.e_tag.unwrap_or_default(),
        modified: SystemTime::from(object.last_modified),
    }
}

/// Reads a range of an object; fails if the object no longer has the tag.
pub(super) async fn read_range(
    store: &AmazonS3,
    location: &Key,
    range: Range<u64>,
    etag: &str,
) -> Result<Vec<u8>, Error> {
    let wanted = range.end - range.start;
    let options = GetOptions::new().with_if_match(Some(etag)).with_range(Some(range));
    let got = store.get_opts(location, options).await?;
    // Not every store observes the condition.
    if got.meta.e_tag.as_deref() != Some(etag) {
        return Err(Error::Precondition {
            path: location.to_string(),
            source: "another tag".into(),
        });
    }
    let bytes = got.bytes().await?;
    if bytes.len() as u64 == wanted {
        Ok(bytes.to_vec())
    } else {
        Err(broken("the response was cut off"))
    }
}

/// Copies a file of the given size to an object, part by part; returns its tag, or the disk's error.
/// If the upload fails, the uploaded parts are discarded.
pub(super) async fn put_parts(
    store: &AmazonS3,
    location: &Key,
    path: &Path,
    bytes: u64,
) -> Result<io::Result<String>, Error> {
    let mut upload = store.put_multipart_opts(location, PutMultipartOptions::default()).await?;
    let sent = send_parts(upload.as_mut(), path, bytes).await;
    if !matches!(sent, Ok(Ok(()))) {
        // The store keeps the parts until told to discard them; it may not be responding.
        let _ = upload.abort().await;
    }
    if let Err(error) = sent? {
        return Ok(Err(error));
    }
    match upload.complete().await {
        Ok(put) => Ok(Ok(put.e_tag.unwrap_or_default())),
        // If the response to a completion is lost, some stores no longer know the upload at the retry.
        Err(Error::NotFound { .. }) => Err(broken("the store no longer knows the upload")),
        Err(error) => {
            // The caller may retry with a new upload.
            let _ = upload.abort().await;
            Err(error)
        }
    }
}

async fn send_parts(
    upload: &mut dyn MultipartUpload,
    path: &Path,
    bytes: u64,
) -> Result<io::Result<()>, Error> {
    let part_bytes = PART_BYTES.max(bytes.div_ceil(MOST_PARTS));
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let mut on_their_way = JoinSet::new();
    let mut left = bytes;
    while left > 0 || !on_their_way.is_empty() {
        if left > 0 && on_their_way.len() < IN_FLIGHT {
            let mut part = vec![0; left.min(part_bytes) as usize];
            if let Err(error) = file.read_exact(&mut part) {
                return Ok(Err(error));
            }
            left -= part.len() as u64;
            let part = upload.put_part(part.into());
            on_their_way.spawn(async {
                // The semaphore is never closed, so this cannot fail.
                let _permit = UPLOADS.acquire().await;
                part.await
            });
            continue;
        }
        match on_their_way.join_next().await {
            Some(Ok(sent)) => sent?,
            Some(Err(error)) => return Err(error.into()),
            None => {}
        }
    }
    Ok(Ok(()))
}

/// Returns the error for an invalid response.
pub(super) fn broken(reason: &'static str) -> Error {
    Error::Generic { store: "S3", source: reason.into() }
}
