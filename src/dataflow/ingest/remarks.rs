//! Why documents have no text: the first few reasons.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use timely::worker::Worker;

use super::drafts::Draft;
use crate::dataflow::gather::gather_values;
use corpus::{Body, DocumentStatus};

/// The most reasons kept.
const MOST: usize = 20;

/// The rank of a document's reason, its draft, and its number there.
type Key = [u64; 3];

/// The rank of documents that are merely empty.
const EMPTY: u64 = 1;
/// The rank of documents that are filtered out.
const FILTERED: u64 = 2;

/// The first reasons in the order of the input; last those of documents that are merely empty, and of filtered ones.
#[derive(Default)]
pub(super) struct Remarks(Mutex<BTreeMap<Key, String>>);

impl Remarks {
    /// Keeps the reason why the next document of a draft has no text.
    pub(super) fn add(&self, draft: &Draft, body: &Body<'_>) {
        if let Body::Missing { status, reason } = body {
            let rank = match status {
                DocumentStatus::Empty => EMPTY,
                DocumentStatus::Filtered => FILTERED,
                _ => 0,
            };
            let key = [rank, draft.key, draft.documents];
            let mut kept = self.0.lock();
            if kept.len() == MOST {
                match kept.last_entry() {
                    Some(last) if *last.key() > key => drop(last.remove()),
                    _ => return,
                }
            }
            kept.insert(key, reason.clone());
        }
    }

    /// Keeps the first reasons of all processes. All workers must call this, after their last document.
    pub(super) fn gather(&self, worker: &mut Worker) {
        let mine: Vec<(Key, String)> =
            self.0.lock().iter().map(|(key, reason)| (*key, reason.clone())).collect();
        let all = gather_values(worker, mine);
        let mut kept = self.0.lock();
        kept.extend(all);
        while kept.len() > MOST {
            kept.pop_last();
        }
    }

    /// Returns the reasons, each with file, place and remedy, except those of filtered documents.
    pub(super) fn reasons(&self) -> Vec<String> {
        let kept = self.0.lock();
        let of_unread = kept.iter().filter(|([rank, ..], _)| *rank < FILTERED);
        of_unread.map(|(_, reason)| reason.clone()).collect()
    }

    /// Returns the first reason why a document was filtered out.
    pub(super) fn filtered(&self) -> Option<String> {
        let kept = self.0.lock();
        let mut filtered = kept.iter().filter(|([rank, ..], _)| *rank == FILTERED);
        filtered.next().map(|(_, reason)| reason.clone())
    }
}
