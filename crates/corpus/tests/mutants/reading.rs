//! Reading a file as ingest does: discovery, blocks, documents.

use corpus::block::{BlockQueue, Share};
use corpus::encoding::TextEncoding;
use corpus::input::{InputError, discover};
use corpus::settings::{
    Boilerplate, CorpusSettings, HtrcSettings, Markup, OnDamage, Repetitions, SectionSize, Snippets,
};
use std::path::Path;
use std::sync::Arc;

/// How the reading of a file ended.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The documents that were read, whatever their status.
    pub documents: u64,
    /// The error by which the file was refused.
    pub error: Option<String>,
    /// The most memory that was in use, in bytes.
    pub memory: usize,
}

/// Reads the file twice: damaged files are refused, and kept, in which case no damage may be an error.
pub fn read(path: &Path) -> Outcome {
    let mut outcome = Outcome::default();
    for on_damage in [OnDamage::Fail, OnDamage::Keep] {
        let settings = settings(path, on_damage);
        let read = documents(&settings, &mut outcome.documents);
        if let Err(InputError::Damaged { reason, .. }) = &read {
            assert_eq!(on_damage, OnDamage::Fail, "damage is not kept: {reason}");
        }
        outcome.error = read.err().map(|error| error.to_string()).or(outcome.error);
    }
    outcome
}

fn documents(settings: &CorpusSettings, count: &mut u64) -> Result<(), InputError> {
    let queue = BlockQueue::new(Arc::new(discover(settings)?), settings, Share::ALL);
    while let Some(block) = queue.next_block()? {
        block.read(settings, &mut |_| *count += 1)?;
    }
    Ok(())
}

/// Returns settings that read the file: id `id`, text `text`, and everything detected that can be.
fn settings(path: &Path, on_damage: OnDamage) -> CorpusSettings {
    CorpusSettings {
        base: path.parent().expect("it is in a folder").to_owned(),
        input: vec![path.display().to_string()],
        are_found: false,
        exclude: Vec::new(),
        format: None,
        encoding: TextEncoding::default(),
        markup: Markup::Remove,
        header: true,
        id: "id".into(),
        text: vec!["text".into()],
        counts: None,
        group: None,
        languages: None,
        sections: None,
        boilerplate: Boilerplate::Auto,
        labels: None,
        metadata: Vec::new(),
        block_bytes: Some(1 << 16),
        max_document_bytes: 1 << 20,
        needs_order: false,
        on_damage,
        duplicates: Repetitions::Keep,
        duplicate_similarity: 1.0,
        snippets: Snippets::None,
        htrc: HtrcSettings {
            section: SectionSize::Pages(10),
            skip_first_pages: 0,
            skip_last_pages: 0,
            languages: Vec::new(),
            first_year: 0,
            last_year: 9999,
            unique_by: Vec::new(),
            parts_of_speech: Vec::new(),
        },
    }
}
