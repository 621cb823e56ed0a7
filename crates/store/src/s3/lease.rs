//! A lock in an object store: an object that names its holder, which must keep renewing it.
//!
//! A process takes it by a write that succeeds only if there is no such object, or if the object is
//! still the one that was found free or expired. A killed holder cannot release the lock, so it
//! expires: when it was not renewed for [`Terms::stale`], by the store's clock, or when another process
//! on the same machine sees that the holder's process is gone. A holder that could not renew it for
//! that long must assume that it is lost, so it calls [`Lock::check`] before every write.

use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use super::{Bucket, Condition, ObjectMeta};
use crate::lock::{self, holder_in, run_in, unique};
use crate::{Lock, Locking, StoreError, TEMPORARY};

/// Maximum number of attempts to take a lock that changes meanwhile.
const ATTEMPTS: usize = 6;

/// How long a lease lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The time between two renewals.
    pub renew: Duration,
    /// The time without renewal after which another process may take it.
    pub stale: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        Self { renew: Duration::from_secs(10), stale: Duration::from_secs(60) }
    }
}

/// A lease that this process holds until the value is dropped, or another process takes it.
#[derive(Debug)]
pub struct Lease {
    shared: Arc<Shared>,
    /// The thread that renews it until the channel is closed.
    renewer: Option<(Sender<()>, JoinHandle<()>)>,
}

#[derive(Debug)]
struct Shared {
    bucket: Arc<Bucket>,
    key: String,
    mark: String,
    id: String,
    terms: Terms,
    state: Mutex<LeaseState>,
}

#[derive(Debug)]
struct LeaseState {
    etag: String,
    renewed: Instant,
    renewals: u64,
    lost: Option<String>,
}

impl Lease {
    /// Tries to take the lock, whose text begins with the line `mark`.
    ///
    /// # Errors
    /// The store refuses, does not answer, or does not support conditional writes.
    pub fn take(
        bucket: &Arc<Bucket>,
        key: &str,
        mark: &str,
        terms: Terms,
    ) -> Result<Locking, StoreError> {
        let id = unique();
        let (mut asked, mut is_repeated) = (Instant::now(), false);
        // The store's current state decides: the response to a write or to its retry may be lost.
        for _ in 0..ATTEMPTS {
            let found = bucket.get(key)?;
            let condition = match &found {
                None => Condition::Absent,
                Some((meta, text)) if is_of(text, &id) => {
                    let shared = Shared {
                        bucket: Arc::clone(bucket),
                        key: key.to_owned(),
                        mark: mark.to_owned(),
                        id,
                        terms,
                        state: Mutex::new(LeaseState {
                            etag: meta.etag.clone(),
                            renewed: asked,
                            renewals: 0,
                            lost: None,
                        }),
                    };
                    return Ok(Locking::Held(Box::new(Self::keep(shared))));
                }
                Some((meta, text)) => {
                    let text = String::from_utf8_lossy(text).into_owned();
                    if !is_over(bucket, meta, &text, terms, &id)? {
                        return Ok(Locking::Busy(holder_in(&text)));
                    }
                    Condition::Unchanged(&meta.etag)
                }
            };
            asked = Instant::now();
            let put = bucket.put(key, text(mark, &id, 0).as_bytes(), condition);
            match put {
                Err(error) if error.source.kind() == ErrorKind::TimedOut && !is_repeated => {
                    is_repeated = true;
                }
                put => drop(put?),
            }
        }
        let text = bucket.get(key)?.map(|(_, text)| text).unwrap_or_default();
        Ok(Locking::Busy(holder_in(&String::from_utf8_lossy(&text))))
    }

    fn keep(shared: Shared) -> Self {
        let shared = Arc::new(shared);
        let renewed = Arc::clone(&shared);
        let (ending, until) = channel();
        let renewer = thread::Builder::new().name("lease".to_owned());
        let renewer = renewer.spawn(move || renewed.keep_renewing(&until));
        // Without the thread the lease expires, and `check` reports it.
        let renewer = renewer.ok().map(|renewer| (ending, renewer));
        Self { shared, renewer }
    }
}

impl Lock for Lease {
    /// Fails if another run took the lock, or if it was not renewed in time.
    fn check(&self) -> Result<(), String> {
        let state = self.shared.state.lock();
        let silent = state.renewed.elapsed();
        match &state.lost {
            Some(holder) => Err(format!("another run has taken over the lock ({holder})")),
            None if silent >= self.shared.terms.stale => {
                Err(format!("the lock could not be renewed for {} s", silent.as_secs()))
            }
            None => Ok(()),
        }
    }
}

impl Drop for Lease {
    /// Frees the lock, if the store responds.
    fn drop(&mut self) {
        if let Some((ending, renewer)) = self.renewer.take() {
            drop(ending);
            // It ends by itself; a panic in it has already been reported.
            let _ = renewer.join();
        }
        let state = self.shared.state.lock();
        if state.lost.is_none() {
            let free = format!("{}\n{FREE}\n", self.shared.mark);
            let condition = Condition::Unchanged(&state.etag);
            let Shared { bucket, key, .. } = &*self.shared;
            // If this fails, the lock expires.
            let _ = bucket.put(key, free.as_bytes(), condition);
        }
    }
}

impl Shared {
    fn keep_renewing(&self, until: &Receiver<()>) {
        while until.recv_timeout(self.terms.renew) == Err(RecvTimeoutError::Timeout) {
            let state = self.state.lock();
            if state.lost.is_some() {
                return;
            }
            let (etag, renewals) = (state.etag.clone(), state.renewals + 1);
            drop(state);
            // A store that does not respond may do so at the next renewal.
            let _ = self.renew(&etag, renewals);
        }
    }

    fn renew(&self, etag: &str, renewals: u64) -> Result<(), StoreError> {
        let asked = Instant::now();
        let Self { bucket, key, .. } = self;
        let text = text(&self.mark, &self.id, renewals);
        let condition = Condition::Unchanged(etag);
        let put = bucket.put(key, text.as_bytes(), condition)?;
        let (etag, lost) = match put {
            Some(etag) => (etag, None),
            None => match bucket.get(key)? {
                Some((meta, text)) if is_of(&text, &self.id) => (meta.etag, None),
                Some((_, text)) => {
                    let text = String::from_utf8_lossy(&text);
                    (String::new(), Some(holder_in(&text)))
                }
                None => (String::new(), Some("the lock was removed".to_owned())),
            },
        };
        let mut state = self.state.lock();
        state.lost = lost;
        state.etag = etag;
        state.renewals = renewals;
        state.renewed = asked;
        Ok(())
    }
}

/// The second line of a free lock.
const FREE: &str = "free";

/// Returns the holder of a lock; `None` if it is free or, by this machine's clock, has expired. Writes nothing.
pub(super) fn holder_of(bucket: &Bucket, key: &str) -> Result<Option<String>, StoreError> {
    let Some((meta, text)) = bucket.get(key)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&text);
    // The store's clock cannot be read without a write.
    let age = SystemTime::now().duration_since(meta.modified).unwrap_or_default();
    let is_over = is_free(&text) || age >= Terms::default().stale;
    Ok((!is_over).then(|| holder_in(&text)))
}

/// Returns whether a lock that was found is free or has expired.
fn is_over(
    bucket: &Bucket,
    meta: &ObjectMeta,
    text: &str,
    terms: Terms,
    id: &str,
) -> Result<bool, StoreError> {
    if is_free(text) {
        return Ok(true);
    }
    // The store's clock is the modification time of an object that is written now.
    let folder = meta.key.rsplit_once('/').map_or("", |(folder, _)| folder);
    let probe = format!("{folder}/{TEMPORARY}/clock-{id}");
    let probe = probe.trim_start_matches('/');
    bucket.put(probe, b"", Condition::Always)?;
    let now = bucket.head(probe)?;
    bucket.delete(probe)?;
    let age = now.and_then(|now| now.modified.duration_since(meta.modified).ok());
    Ok(age.is_some_and(|age| age >= terms.stale))
}

/// Returns whether a lock with this text is known to be free: its holder has freed it, or was a process of this machine
/// that no longer exists.
fn is_free(text: &str) -> bool {
    text.lines().nth(1) == Some(FREE) || is_known_dead(text)
}

/// Returns the text of a lock that this process holds.
fn text(mark: &str, id: &str, renewals: u64) -> String {
    let begun = begun(std::process::id()).unwrap_or_default();
    let place = place().unwrap_or_default();
    let common = lock::text(mark, id);
    format!("{common}place {place}\nbegun {begun}\nrenewed {renewals} times\n")
}

fn is_of(text: &[u8], id: &str) -> bool {
    let text = String::from_utf8_lossy(text);
    run_in(&text) == Some(id)
}

/// Returns whether the holder was a process of this machine that no longer exists.
fn is_known_dead(text: &str) -> bool {
    let mut lines = text.lines().skip(1);
    let mut value = |name: &str| lines.find_map(|line| line.strip_prefix(name));
    let process = value("process ").and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    let (there, begun_then) = (value("place "), value("begun "));
    let (Some(process), Some(there), Some(begun_then)) = (process, there, begun_then) else {
        return false;
    };
    let is_here = place().is_some_and(|here| here == there);
    // If processes of other users are hidden, so is process 1.
    let sees_all = begun(1).is_some();
    let is_gone = || begun(process).as_deref() != Some(begun_then);
    is_here && sees_all && !begun_then.is_empty() && is_gone()
}

/// Returns the identity of this machine's current boot and process namespace: only processes of the
/// same place see each other. `None` if the system does not report it.
fn place() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// Returns when a process of this machine started, in ticks since boot; `None` if it does not exist
/// or is a zombie.
fn begun(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in parentheses and may contain anything; the state, which follows it, is the third field.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let begun = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| begun.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_of_this_machine_is_seen_to_live_or_not() {
        let mine = text("mark", "abc", 3);
        assert!(is_of(mine.as_bytes(), "abc") && !is_of(mine.as_bytes(), "ab"));
        assert!(holder_in(&mine).starts_with(&format!("process {} on ", std::process::id())));
        assert!(!is_known_dead(&mine), "{mine}");
        let Some(begun) = begun(std::process::id()) else {
            return;
        };
        let reused = mine.replace(&format!("begun {begun}"), "begun 1");
        assert!(is_known_dead(&reused), "its number is another's now");
        let place = place().unwrap();
        let elsewhere = reused.replace(&place, "another place");
        assert!(!is_known_dead(&elsewhere), "nobody sees into other hosts");
        assert!(!is_known_dead("mark\n"));
    }
}
