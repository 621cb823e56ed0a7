//! A lock in an object store: an object that names its holder, who must keep renewing it.
//!
//! It is taken by a write that succeeds only if there is no such object, or if the object is still
//! the one that was found expired. A killed holder cannot release it, so the lock expires: when it
//! was not renewed for [`Terms::stale`], by the store's own clock, or when another process on the
//! same machine sees that the holder's process is gone. A holder that could not renew it for that
//! long must assume that it is lost: it calls [`Lock::check`] before every write.

use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::{Bucket, Condition, ObjectMeta};
use crate::lock::{self, holder_in, run_in, unique};
use crate::{Lock, Locking, StoreError, TEMPORARY};

/// Attempts to take a lock that changes while it is looked at.
const ATTEMPTS: usize = 6;

/// How long a lease lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Time between two renewals.
    pub renew: Duration,
    /// Silence after which another may take it.
    pub stale: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            renew: Duration::from_secs(10),
            stale: Duration::from_secs(60),
        }
    }
}

/// A lease that this process holds until the value is dropped, or another takes it.
#[derive(Debug)]
pub struct Lease {
    shared: Arc<Shared>,
    renewer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    bucket: Arc<Bucket>,
    key: String,
    mark: String,
    id: String,
    terms: Terms,
    state: Mutex<State>,
    ending: Condvar,
}

#[derive(Debug)]
struct State {
    etag: String,
    renewed: Instant,
    renewals: u64,
    is_ending: bool,
    lost: Option<String>,
}

impl Lease {
    /// Takes the lock, whose text begins with the line `mark`.
    ///
    /// # Errors
    /// The store refuses, does not answer, or does not keep conditions on writes.
    pub fn take(
        bucket: &Arc<Bucket>,
        key: &str,
        mark: &str,
        terms: Terms,
    ) -> Result<Locking, StoreError> {
        let id = unique();
        let (mut asked, mut is_repeated) = (Instant::now(), false);
        // The store's present state decides: the answer to a write may be lost, or that of its repetition.
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
                        state: Mutex::new(State {
                            etag: meta.etag.clone(),
                            renewed: asked,
                            renewals: 0,
                            is_ending: false,
                            lost: None,
                        }),
                        ending: Condvar::new(),
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
        let renewer = thread::Builder::new()
            .name("lease".to_owned())
            .spawn(move || renewed.keep_renewing());
        // Without the thread the lease expires, and `check` reports it.
        let renewer = renewer.ok();
        Self { shared, renewer }
    }
}

impl Lock for Lease {
    /// Another run took it, or it could not be renewed in time.
    fn check(&self) -> Result<(), String> {
        let state = self.shared.state.lock();
        let silent = state.renewed.elapsed();
        match &state.lost {
            Some(holder) => Err(format!("another run has taken over the lock ({holder})")),
            None if silent >= self.shared.terms.stale => Err(format!(
                "the lock could not be renewed for {} s",
                silent.as_secs()
            )),
            None => Ok(()),
        }
    }
}

impl Drop for Lease {
    /// Frees the lock, if the store listens.
    fn drop(&mut self) {
        self.shared.state.lock().is_ending = true;
        self.shared.ending.notify_all();
        if let Some(renewer) = self.renewer.take() {
            // It ends by itself; a panic in it has been reported.
            let _ = renewer.join();
        }
        let state = self.shared.state.lock();
        if state.lost.is_none() {
            let free = format!("{}\n{FREE}\n", self.shared.mark);
            let condition = Condition::Unchanged(&state.etag);
            let Shared { bucket, key, .. } = &*self.shared;
            // Else it runs out.
            let _ = bucket.put(key, free.as_bytes(), condition);
        }
    }
}

impl Shared {
    fn keep_renewing(&self) {
        loop {
            let mut state = self.state.lock();
            let is_going_on = |state: &mut State| !state.is_ending;
            self.ending
                .wait_while_for(&mut state, is_going_on, self.terms.renew);
            if state.is_ending || state.lost.is_some() {
                return;
            }
            let (etag, renewals) = (state.etag.clone(), state.renewals + 1);
            drop(state);
            // A store that does not answer may do so at the next renewal.
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

/// The holder of a lock; `None` if it is free.
pub(super) fn holder_of(bucket: &Bucket, key: &str) -> Result<Option<String>, StoreError> {
    let Some((meta, text)) = bucket.get(key)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&text);
    let is_over = match is_over(bucket, &meta, &text, Terms::default(), &unique()) {
        // Who may only read cannot ask for the time: a lock that is not free is taken for held.
        Err(error) if error.source.kind() == ErrorKind::PermissionDenied => false,
        is_over => is_over?,
    };
    Ok((!is_over).then(|| holder_in(&text)))
}

/// Whether a lock that was found has expired.
fn is_over(
    bucket: &Bucket,
    meta: &ObjectMeta,
    text: &str,
    terms: Terms,
    id: &str,
) -> Result<bool, StoreError> {
    if text.lines().nth(1) == Some(FREE) || is_known_dead(text) {
        return Ok(true);
    }
    // The store's own clock: an object that was written just now tells it.
    let folder = meta.key.rsplit_once('/').map_or("", |(folder, _)| folder);
    let probe = format!("{folder}/{TEMPORARY}/clock-{id}");
    let probe = probe.trim_start_matches('/');
    bucket.put(probe, b"", Condition::Always)?;
    let now = bucket.head(probe)?;
    bucket.delete(probe)?;
    let age = now.and_then(|now| now.modified.duration_since(meta.modified).ok());
    Ok(age.is_some_and(|age| age >= terms.stale))
}

/// The text of a lock that this process holds.
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

/// Whether the holder was a process of this very machine, and is gone.
fn is_known_dead(text: &str) -> bool {
    let mut lines = text.lines().skip(1);
    let mut value = |name: &str| lines.find_map(|line| line.strip_prefix(name));
    let process = value("process ").and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    let (there, begun_then) = (value("place "), value("begun "));
    let (Some(process), Some(there), Some(begun_then)) = (process, there, begun_then) else {
        return false;
    };
    let is_here = place().is_some_and(|here| here == there);
    // Where processes of other users are hidden, so is the first.
    let sees_all = begun(1).is_some();
    let is_gone = || begun(process).as_deref() != Some(begun_then);
    is_here && sees_all && !begun_then.is_empty() && is_gone()
}

/// The identity of this machine since it was started: only processes of the same place
/// see each other. `None` where the system does not say.
fn place() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// When a process of this machine began, in ticks since the machine did; `None` if it is not there,
/// or only waits to be buried.
fn begun(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in parentheses and may contain anything; fields count from the state, the third.
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
        let mine = text("topicmill output", "abc", 3);
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
        assert!(!is_known_dead("topicmill output\n"));
    }
}
