//! Why documents have no text: the first few reasons.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use super::drafts::Draft;
use corpus::{Body, DocumentStatus};

/// The most reasons kept.
const MOST: usize = 20;

/// The first reasons in the order of the input, those of documents that are merely empty last.
#[derive(Default)]
pub(super) struct Remarks(Mutex<BTreeSet<(bool, u64, u64, String)>>);

impl Remarks {
    /// Keeps the reason why the next document of a draft has no text, unless it was filtered out.
    pub(super) fn add(&self, draft: &Draft, body: &Body<'_>) {
        if let Body::Missing { status, reason } = body
            && *status != DocumentStatus::Filtered
        {
            let is_empty = *status == DocumentStatus::Empty;
            let mut kept = self.0.lock();
            kept.insert((is_empty, draft.key, draft.documents, reason.clone()));
            if kept.len() > MOST {
                kept.pop_last();
            }
        }
    }

    /// Returns the reasons, each with file, place and remedy.
    pub(super) fn reasons(&self) -> Vec<String> {
        self.0
            .lock()
            .iter()
            .map(|(.., reason)| reason.clone())
            .collect()
    }
}
