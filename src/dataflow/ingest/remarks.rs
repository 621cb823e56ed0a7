//! Why documents have no text: the first few reasons.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use timely::worker::Worker;

use super::drafts::Draft;
use crate::dataflow::gather::all_gather;
use corpus::{Body, DocumentStatus};

/// The most reasons kept.
const MOST: usize = 20;

/// Whether a document is merely empty, its draft, and its number there.
type Key = (bool, u64, u64);

/// The first reasons in the order of the input, those of documents that are merely empty last.
#[derive(Default)]
pub(super) struct Remarks(Mutex<BTreeMap<Key, String>>);

impl Remarks {
    /// Keeps the reason why the next document of a draft has no text, unless it was filtered out.
    pub(super) fn add(&self, draft: &Draft, body: &Body<'_>) {
        if let Body::Missing { status, reason } = body
            && *status != DocumentStatus::Filtered
        {
            let key = (*status == DocumentStatus::Empty, draft.key, draft.documents);
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
        let mine = serde_json::to_vec(&self.0.lock().iter().collect::<Vec<_>>());
        let all = all_gather(worker, &mine.expect("numbers and texts can be JSON"));
        let mut kept = self.0.lock();
        for some in all {
            let some: Vec<(Key, String)> =
                serde_json::from_slice(&some).expect("a worker wrote it");
            kept.extend(some);
        }
        while kept.len() > MOST {
            kept.pop_last();
        }
    }

    /// Returns the reasons, each with file, place and remedy.
    pub(super) fn reasons(&self) -> Vec<String> {
        self.0.lock().values().cloned().collect()
    }
}
