//! The client: blocking calls from any thread, over the crate `object_store`.
//!
//! Settings come from the usual `AWS_*` variables. Requests that fail temporarily are retried,
//! each for at most as many seconds as [a variable](crate::Names::patience) says. Large files are uploaded in parts and downloaded
//! in ranges, a few at a time, so that memory does not grow with the file.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::future::pending;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant, SystemTime};

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ClientConfigKey, Error, GetOptions, ObjectStore, ObjectStoreExt, PutMode,
    PutMultipartOptions, PutPayload, RetryConfig, UpdateVersion, WriteMultipart,
};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::explain::{explain, is_final, lacks_bucket};
use super::{Condition, ObjectMeta, address_of};
use crate::{Names, SCHEME, StoreError, Writer, named};

/// How long a request is retried, by default.
const PATIENCE: Duration = Duration::from_secs(60);
/// The timeout of a request without a large body; after one that hung, a lease must still be renewed in time.
const TIMEOUT: &str = "30 seconds";
/// The variable for the timeout of the transfer of one part.
const TRANSFER_TIMEOUT_VARIABLE: &str = "AWS_TIMEOUT";
/// Its default: enough for the parts in flight on a link of half a megabyte per second.
const TRANSFER_TIMEOUT: &str = "120 seconds";
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Files above this size are uploaded in parts of at least this size; all are downloaded in ranges of it.
const PART_BYTES: u64 = 8 << 20;
/// Maximum number of parts of one upload; S3 allows 10,000.
const MOST_PARTS: u64 = 9_000;
/// Maximum number of parts or ranges of one file in flight.
const IN_FLIGHT: usize = 4;

/// Limits the files that this process uploads in parts at a time: more would only share the link, and time out together.
static UPLOADS: Semaphore = Semaphore::const_new(2);

/// The clients of this process, by bucket.
static BUCKETS: Mutex<BTreeMap<String, Arc<Bucket>>> = Mutex::new(BTreeMap::new());

/// A bucket of an object store.
#[derive(Debug)]
pub struct Bucket {
    name: String,
    /// For requests without a large body.
    store: Arc<AmazonS3>,
    /// For parts of files, which are slow on a slow link.
    transfers: Arc<AmazonS3>,
    handle: Handle,
    patience: Duration,
}

impl Bucket {
    /// Returns the process's client for a bucket, configured by the `AWS_*` variables. Sends no
    /// request yet.
    ///
    /// # Errors
    /// A variable is wrong; the system refuses a thread.
    pub fn open(name: &str) -> Result<Arc<Self>, StoreError> {
        let mut buckets = BUCKETS.lock();
        if let Some(bucket) = buckets.get(name) {
            return Ok(Arc::clone(bucket));
        }
        let refuse = |reason: String| {
            let patience = Names::get().patience;
            let message = format!("{reason}; check the variables AWS_… and {patience}");
            let url = Path::new(SCHEME).join(name);
            named(&url)(io::Error::new(io::ErrorKind::InvalidInput, message))
        };
        let patience = patience().map_err(refuse)?;
        // The client uses the process's provider. An error means that the same one is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = AmazonS3Builder::from_env().with_bucket_name(name).with_retry(RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: LONGEST_PAUSE,
                base: 2.0,
            },
            max_retries: usize::MAX,
            retry_timeout: patience,
        });
        let client = |timeout: &str| {
            let key = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
            let built = builder.clone().with_config(key, timeout).build();
            built.map(Arc::new).map_err(|e| refuse(e.to_string()))
        };
        let asked = std::env::var(TRANSFER_TIMEOUT_VARIABLE);
        let (store, transfers) =
            (client(TIMEOUT)?, client(asked.as_deref().unwrap_or(TRANSFER_TIMEOUT))?);
        let handle = runtime().map_err(|e| refuse(e.to_string()))?;
        let bucket = Arc::new(Self { name: name.to_owned(), store, transfers, handle, patience });
        buckets.insert(name.to_owned(), Arc::clone(&bucket));
        Ok(bucket)
    }

    /// Returns the metadata of an object; `None` if there is none.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    pub fn head(&self, key: &str) -> Result<Option<ObjectMeta>, StoreError> {
        let location = self.location(key)?;
        let head = self.persist(|| self.store.head(&location));
        self.if_there(key, head.map(meta))
    }

    /// Reads a small object as a whole; `None` if there is none.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    pub fn get(&self, key: &str) -> Result<Option<(ObjectMeta, Vec<u8>)>, StoreError> {
        let location = self.location(key)?;
        let get = self.persist(|| async {
            let got = self.store.get(&location).await?;
            let about = got.meta.clone();
            Ok((meta(about), got.bytes().await?.to_vec()))
        });
        self.if_there(key, get)
    }

    /// Reads a range of an object's bytes.
    ///
    /// # Errors
    /// The object no longer has the tag (`StaleNetworkFileHandle`); the store refuses or does not answer.
    pub fn read(&self, key: &str, range: Range<u64>, etag: &str) -> Result<Vec<u8>, StoreError> {
        let location = self.location(key)?;
        let read = self.persist(|| read_range(&self.transfers, &location, range.clone(), etag));
        read.map_err(|e| self.error(key, &e))
    }

    /// Copies an object to a local file, which is overwritten and synced.
    ///
    /// # Errors
    /// The store refuses or does not answer; the object has changed; the disk fails.
    pub fn download(&self, meta: &ObjectMeta, path: &Path) -> Result<(), StoreError> {
        let key = &meta.key;
        let disk = |e| self.disk(key, path, &e);
        let mut file = Writer::create(path).map_err(disk)?;
        let mut coming = VecDeque::new();
        let mut next = 0;
        let location = self.location(key)?;
        while next < meta.bytes || !coming.is_empty() {
            while next < meta.bytes && coming.len() < IN_FLIGHT {
                let range = next..(next + PART_BYTES).min(meta.bytes);
                next = range.end;
                coming.push_back((range.clone(), self.start_read(&location, range, &meta.etag)));
            }
            let Some((range, first)) = coming.pop_front() else {
                break;
            };
            let bytes = match wait(&self.handle, first) {
                Ok(Ok(bytes)) => bytes,
                // Retry with patience: the client retries requests, but not bodies that break off.
                _ => self.read(key, range.clone(), &meta.etag)?,
            };
            file.write_all(&bytes).map_err(disk)?;
        }
        file.sync().map_err(disk)
    }

    fn start_read(
        &self,
        location: &Key,
        range: Range<u64>,
        etag: &str,
    ) -> JoinHandle<Result<Vec<u8>, Error>> {
        let (store, location) = (Arc::clone(&self.transfers), location.clone());
        let etag = etag.to_owned();
        self.handle.spawn(async move { read_range(&store, &location, range, &etag).await })
    }

    /// Lists every object whose key begins with `prefix`, sorted by key.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    pub fn list(&self, prefix: &str) -> Result<Vec<ObjectMeta>, StoreError> {
        let mut found = Vec::new();
        self.pages(prefix, PaginatedListOptions::default(), &mut |page| {
            found.extend(page.objects.into_iter().map(meta));
            true
        })?;
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }

    /// Returns the first object that the store lists for `prefix`.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    pub fn first(&self, prefix: &str) -> Result<Option<ObjectMeta>, StoreError> {
        let one = PaginatedListOptions { max_keys: Some(1), ..PaginatedListOptions::default() };
        let mut first = None;
        self.pages(prefix, one, &mut |page| {
            first = page.objects.into_iter().next().map(meta);
            first.is_none()
        })?;
        Ok(first)
    }

    /// Lists the names below `prefix`: the part up to the next `/` of each key that begins with it; sorted, each once.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        let name = |key: &Key| {
            let name = key.as_ref().strip_prefix(prefix)?.trim_matches('/');
            (!name.is_empty()).then(|| name.to_owned())
        };
        let by_part =
            PaginatedListOptions { delimiter: Some("/".into()), ..PaginatedListOptions::default() };
        self.pages(prefix, by_part, &mut |page| {
            names.extend(page.objects.iter().filter_map(|o| name(&o.location)));
            names.extend(page.common_prefixes.iter().filter_map(name));
            true
        })?;
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Visits pages of a listing until `visit` returns false.
    fn pages(
        &self,
        prefix: &str,
        mut options: PaginatedListOptions,
        visit: &mut dyn FnMut(object_store::ListResult) -> bool,
    ) -> Result<(), StoreError> {
        let prefix = (!prefix.is_empty()).then_some(prefix);
        loop {
            let page = self.persist(|| self.store.list_paginated(prefix, options.clone()));
            let page = page.map_err(|e| self.error(prefix.unwrap_or(""), &e))?;
            options.page_token = page.page_token;
            if !visit(page.result) || options.page_token.is_none() {
                return Ok(());
            }
        }
    }

    /// Writes a small object if the condition holds, and returns its tag; `None` if the condition does
    /// not hold.
    ///
    /// A write whose response is lost may be retried and then find its own object: a caller that must
    /// know has to read the object.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    pub fn put(
        &self,
        key: &str,
        bytes: &[u8],
        condition: Condition<'_>,
    ) -> Result<Option<String>, StoreError> {
        let location = self.location(key)?;
        let mode = match condition {
            Condition::Always => PutMode::Overwrite,
            Condition::Absent => PutMode::Create,
            Condition::Unchanged(etag) => {
                PutMode::Update(UpdateVersion { e_tag: Some(etag.to_owned()), version: None })
            }
        };
        let payload = PutPayload::from(bytes.to_vec());
        let ask = |store: &Arc<AmazonS3>| {
            let (store, location) = (Arc::clone(store), location.clone());
            let (payload, mode) = (payload.clone(), mode.clone());
            async move { store.put_opts(&location, payload, mode.into()).await }
        };
        let put = match condition {
            Condition::Always => self.persist(|| ask(&self.transfers)),
            _ => wait(&self.handle, ask(&self.store)),
        };
        match put {
            Ok(put) => Ok(Some(put.e_tag.unwrap_or_default())),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(None),
            Err(e) => Err(self.error(key, &e)),
        }
    }

    /// Copies a local file to an object, in parts if it is large, and returns the tag. The object
    /// appears when all of it has arrived.
    ///
    /// # Errors
    /// The store refuses or does not answer; the file cannot be read, or shrinks meanwhile.
    pub fn put_file(&self, path: &Path, key: &str) -> Result<String, StoreError> {
        let disk = |e| self.disk(key, path, &e);
        let mut file = File::open(path).map_err(disk)?;
        let bytes = file.metadata().map_err(disk)?.len();
        if bytes <= PART_BYTES {
            let mut whole = Vec::with_capacity(bytes as usize);
            file.read_to_end(&mut whole).map_err(disk)?;
            let put = self.put(key, &whole, Condition::Always)?;
            return Ok(put.unwrap_or_default());
        }
        let location = self.location(key)?;
        let put = self.persist(|| put_parts(&self.transfers, &location, path, bytes));
        put.map_err(|e| self.error(key, &e))?.map_err(disk)
    }

    /// Removes an object; an absent one is not an error.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    pub fn delete(&self, key: &str) -> Result<(), StoreError> {
        let location = self.location(key)?;
        let delete = self.persist(|| self.store.delete(&location));
        self.if_there(key, delete).map(|_| ())
    }

    /// Retries a request that breaks off or is not answered, at least once, and as long as the patience
    /// lasts: the client itself retries only idempotent HTTP methods, and no bodies.
    fn persist<T, F: Future<Output = Result<T, Error>>>(
        &self,
        ask: impl Fn() -> F,
    ) -> Result<T, Error> {
        let started = Instant::now();
        let mut is_repeated = false;
        loop {
            match wait(&self.handle, ask()) {
                Err(e @ Error::Generic { .. })
                    if !is_final(&e) && (!is_repeated || started.elapsed() < self.patience) =>
                {
                    is_repeated = true;
                    sleep(LONGEST_PAUSE / 4);
                }
                answer => return answer,
            }
        }
    }

    fn if_there<T>(&self, key: &str, asked: Result<T, Error>) -> Result<Option<T>, StoreError> {
        match asked {
            Ok(answer) => Ok(Some(answer)),
            Err(e @ Error::NotFound { .. }) if !lacks_bucket(&e) => Ok(None),
            Err(e) => Err(self.error(key, &e)),
        }
    }

    /// Returns the error for a local file that is the source or copy of an object.
    pub(super) fn disk(&self, key: &str, path: &Path, source: &io::Error) -> StoreError {
        let path = path.display();
        let copies = Names::get().copies;
        let message = format!("{path}: {source}; check the disk, or set another {copies}");
        named(&self.address(key))(io::Error::other(message))
    }

    pub(super) fn address(&self, key: &str) -> PathBuf {
        address_of(&self.name, key)
    }

    fn location(&self, key: &str) -> Result<Key, StoreError> {
        Key::parse(key).map_err(|e| {
            let message = format!("{e}; choose another name");
            named(&self.address(key))(io::Error::new(io::ErrorKind::InvalidInput, message))
        })
    }

    fn error(&self, key: &str, error: &Error) -> StoreError {
        explain(&self.name, key, error)
    }
}

/// Returns how long a request is retried.
fn patience() -> Result<Duration, String> {
    let variable = Names::get().patience;
    let Ok(text) = std::env::var(variable) else {
        return Ok(PATIENCE);
    };
    match text.parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => Err(format!("{variable}={text} is not a number of seconds")),
    }
}

/// Converts the crate's metadata of an object to ours.
fn meta(object: object_store::ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        key: object.location.as_ref().to_owned(),
        bytes: object.size,
        etag: object.e_tag.unwrap_or_default(),
        modified: SystemTime::from(object.last_modified),
    }
}

/// Reads a range of an object; fails if the object no longer has the tag.
async fn read_range(
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
async fn put_parts(
    store: &AmazonS3,
    location: &Key,
    path: &Path,
    bytes: u64,
) -> Result<io::Result<String>, Error> {
    // The semaphore is never closed, so this cannot fail.
    let _permit = UPLOADS.acquire().await;
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let part_bytes = PART_BYTES.max(bytes.div_ceil(MOST_PARTS));
    let upload = store.put_multipart_opts(location, PutMultipartOptions::default()).await?;
    let mut upload = WriteMultipart::new_with_chunk_size(upload, part_bytes as usize);
    let mut left = bytes;
    while left > 0 {
        let mut part = vec![0; left.min(part_bytes) as usize];
        left -= part.len() as u64;
        let read = file.read_exact(&mut part);
        let sent = upload.wait_for_capacity(IN_FLIGHT).await;
        if read.is_err() || sent.is_err() {
            // The store keeps the parts until told to discard them; it may not be responding.
            let _ = upload.abort().await;
            return sent.map(|()| read.map(|()| String::new()));
        }
        upload.put(part.into());
    }
    match upload.finish().await {
        Ok(put) => Ok(Ok(put.e_tag.unwrap_or_default())),
        // If the response to a completion is lost, some stores no longer know the upload at the retry.
        Err(Error::NotFound { .. }) => Err(broken("the store no longer knows the upload")),
        Err(error) => Err(error),
    }
}

/// Returns the error for an invalid response.
pub(super) fn broken(reason: &'static str) -> Error {
    Error::Generic { store: "S3", source: reason.into() }
}

/// The runtime of the thread that drives the client's connections and timers, once started: one per process, for any
/// number of buckets and callers. It sleeps while no request is in flight.
static RUNTIME: Mutex<Option<Handle>> = Mutex::new(None);

/// Returns the process's runtime, and starts it if needed.
///
/// # Errors
/// The system refuses a thread or a poller.
fn runtime() -> io::Result<Handle> {
    let mut started = RUNTIME.lock();
    if let Some(handle) = &*started {
        return Ok(handle.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("object-store".to_owned())
        .spawn(move || runtime.block_on(pending::<()>()))?;
    *started = Some(handle.clone());
    Ok(handle)
}

/// Waits for a future on the calling thread. Requests have their own timeouts.
fn wait<T>(handle: &Handle, future: impl Future<Output = T>) -> T {
    liveness::waiting(|| handle.block_on(future))
}
