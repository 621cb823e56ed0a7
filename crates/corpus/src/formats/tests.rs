//! Checks of every format: no document is lost or duplicated, wherever the input is cut.

mod columnar;
mod counts;
mod cuts;
mod damage;
mod encodings;
mod htrc;
mod keys;
mod languages;
mod long;
mod mail;
mod mallet;
mod partitions;
mod returns;
mod uci;

use super::*;
use crate::block::{BlockQueue, Share, estimate};
use crate::compression::tests::{bzip, gzip, zstandard};
use crate::encoding::TextEncoding;
use crate::input::discover;
use crate::settings::{Boilerplate, HtrcSettings, Markup, Repetitions, SectionSize, Snippets};
use crate::{Body, DocumentStatus};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// Returns settings that read everything below `base`: id `id`, text `text`.
pub(crate) fn settings(base: &Path) -> CorpusSettings {
    CorpusSettings {
        base: base.to_owned(),
        input: vec![".".into()],
        are_found: false,
        exclude: Vec::new(),
        format: None,
        encoding: TextEncoding::default(),
        markup: Markup::Keep,
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
        block_bytes: None,
        max_document_bytes: 1 << 20,
        needs_order: false,
        on_damage: OnDamage::Fail,
        duplicates: Repetitions::Keep,
        duplicate_similarity: 1.0,
        snippets: Snippets::None,
        htrc: HtrcSettings {
            section: SectionSize::Pages(10),
            skip_first_pages: 0,
            skip_last_pages: 0,
            languages: Vec::new(),
            first_year: *HtrcSettings::ANY_YEAR.start(),
            last_year: *HtrcSettings::ANY_YEAR.end(),
            unique_by: Vec::new(),
            parts_of_speech: Vec::new(),
        },
    }
}

/// A document as it was emitted: its text, its counts as text, or its problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) repaired: bool,
    pub(crate) status: Option<DocumentStatus>,
    pub(crate) group: Option<String>,
    pub(crate) metadata: Vec<Option<String>>,
}

impl Seen {
    pub(crate) fn of(document: &RawDocument<'_>) -> Self {
        let owned = |value: &Option<Cow<'_, str>>| value.as_ref().map(ToString::to_string);
        let (text, repaired, status) = match &document.body {
            Body::Text { text, repaired } => (text.to_string(), *repaired, None),
            Body::Missing { status, reason } => (reason.clone(), false, Some(*status)),
            Body::Counts { counts, repaired, .. } => {
                let counts = counts.iter().map(|(term, count)| format!("{term}:{count}"));
                (counts.collect::<Vec<_>>().join(" "), *repaired, None)
            }
        };
        Self {
            id: document.source_id.to_string(),
            text,
            repaired,
            status,
            group: owned(&document.group),
            metadata: document.metadata.iter().map(owned).collect(),
        }
    }
}

/// The documents of a block, with its key.
type Keyed = ((u32, u32), Vec<Seen>);

/// Reads the documents of each block of a process's share, by key.
pub(crate) fn read_share(
    settings: &CorpusSettings,
    share: Share,
) -> Result<Vec<Keyed>, InputError> {
    let queue = BlockQueue::new(Arc::new(discover(settings)?), settings, share);
    let mut blocks = Vec::new();
    while let Some(block) = queue.next_block()? {
        let mut seen = Vec::new();
        block.read(settings, &mut |document| seen.push(Seen::of(&document)))?;
        blocks.push((block.key(), seen));
    }
    blocks.sort_by_key(|(key, _)| *key);
    assert!(blocks.windows(2).all(|pair| pair[0].0 < pair[1].0), "a key twice");
    Ok(blocks)
}

/// Reads all documents, in their order.
pub(crate) fn read_all(settings: &CorpusSettings) -> Result<Vec<Seen>, InputError> {
    let blocks = read_share(settings, Share::ALL)?;
    Ok(blocks.into_iter().flat_map(|(_, seen)| seen).collect())
}

/// Creates a folder with one file, and settings that read it.
pub(crate) fn one_file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, CorpusSettings) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    let settings = settings(folder.path());
    (folder, settings)
}

const JSONL: &str = "\u{feff}{\"id\":\"a\",\"text\":\"one\"}\r\n\n{\"id\":\"b\",\"text\":\"two\"}\nnot json\n{\"text\":\"four\"}";
const CSV: &str = "\u{feff}id,text\r\n\u{feff}a,one\r\n\r\nb,\"two\n\"\"x\"\"\r\n\"\r\nc\r\n,four";
const TSV: &str = "\u{feff}\nid\ttext\r\na\tone\r\n\r\nb\t\"two\n\t\nc\td\te\n\tfour";
const JSON: &str = "\u{feff}[\n {\"id\": \"a\", \"text\": \"one } \\\" {\\\\\"},\n{\"id\":\"b\",\r\n\"x\":{\"y\":[{}]},\"text\":\"two\"} , 7, \
    {\"text\":\"three\"}\n]\n{\"text\":\"four\"}";
const UCI: &str = "7\n3\n5\n2 1 2\n2 3 1\n3 2 9\n6 1 1\n6 2 4\n";

/// Returns plain samples of six formats, as (name, content).
fn samples() -> Vec<(&'static str, &'static str)> {
    vec![
        ("x.jsonl", JSONL),
        ("x.csv", CSV),
        ("x.tsv", TSV),
        ("x.json", JSON),
        ("docword.x.txt", UCI),
        ("x.md", "a text\n"),
    ]
}

/// Writes the sample to a folder of its own, with a vocabulary beside it.
fn sample(name: &str, bytes: &[u8]) -> (tempfile::TempDir, CorpusSettings) {
    let (folder, mut settings) = one_file(name, bytes);
    // Its name is that of a volume.
    settings.format = (name == "x.json.bz2").then(|| "json".into());
    if name.starts_with("docword") {
        std::fs::write(folder.path().join("vocab.x.txt"), "the\nof\nand\n").unwrap();
    }
    (folder, settings)
}

#[test]
fn every_cut_of_every_format_and_compression_gives_the_same_documents() {
    let expected_counts = [4, 4, 5, 5, 7, 1];
    for ((name, content), expected_count) in samples().into_iter().zip(expected_counts) {
        let (_folder, settings) = sample(name, content.as_bytes());
        let whole = read_all(&settings).unwrap();
        assert_eq!(whole.len(), expected_count, "{name}: {whole:?}");
        let bytes = content.as_bytes();
        let halves = bytes.split_at(bytes.len() / 2);
        let packed = [
            ("", bytes.to_vec()),
            (".gz", [gzip(halves.0), gzip(halves.1)].concat()),
            (".zst", [zstandard(halves.0), zstandard(halves.1)].concat()),
            (".bz2", [bzip(halves.0), bzip(halves.1)].concat()),
        ];
        for (ending, packed) in packed {
            let (_folder, mut settings) = sample(&format!("{name}{ending}"), &packed);
            for block_bytes in (1..=bytes.len() as u64 + 1).chain([u64::MAX]) {
                settings.block_bytes = Some(block_bytes);
                let mut seen = read_all(&settings).unwrap();
                for document in &mut seen {
                    document.id = document.id.replace(ending, "");
                    document.text = document.text.replace(ending, "");
                }
                assert_eq!(seen, whole, "{name}{ending} in blocks of {block_bytes}");
            }
        }
    }
}

#[test]
fn documents_are_what_the_samples_say() {
    let texts = |name: &str, content: &str| -> Vec<(String, String)> {
        let (_folder, settings) = sample(name, content.as_bytes());
        let seen = read_all(&settings).unwrap();
        let text = |seen: &Seen| seen.status.map_or(seen.text.clone(), |status| status.to_string());
        seen.iter().map(|seen| (seen.id.clone(), text(seen))).collect()
    };
    let pair = |id: &str, text: &str| (id.to_owned(), text.to_owned());
    let jsonl = texts("x.jsonl", JSONL);
    let error = pair("x.jsonl@53", "parse_error");
    assert_eq!(jsonl, [pair("a", "one"), pair("b", "two"), error, pair("x.jsonl@62", "four")]);
    let csv = texts("x.csv", CSV);
    let error = pair("x.csv@41", "parse_error");
    assert_eq!(
        csv,
        [pair("\u{feff}a", "one"), pair("b", "two\n\"x\"\r\n"), error, pair("x.csv@44", "four")]
    );
    let json = texts("x.json", JSON);
    let at = |what: &str| format!("x.json@{}", JSON.find(what).unwrap());
    assert_eq!(
        json,
        [
            pair("a", "one } \" {\\"),
            pair("b", "two"),
            pair(&at("7,"), "parse_error"),
            pair(&at("{\"text\":\"three"), "three"),
            pair(&at("{\"text\":\"four"), "four"),
        ]
    );
    let uci = texts("docword.x.txt", UCI);
    assert_eq!(uci[1], pair("2", "the:2 and:1"));
    assert_eq!(uci[6], pair("7", "empty"));
    assert_eq!(texts("x.md", "a text\n"), [pair("x.md", "a text\n")]);
}

/// Creates a folder with every sample, plain and as gzip.
fn mixed_folder() -> (tempfile::TempDir, CorpusSettings) {
    let folder = tempfile::tempdir().unwrap();
    let write =
        |name: String, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    for number in 0..10 {
        for (name, content) in samples() {
            write(format!("{number}.{name}"), content.as_bytes());
            write(format!("{number}.{name}.gz"), &gzip(content.as_bytes()));
        }
    }
    write("empty.txt".into(), b"");
    write("vocab.x.txt".into(), b"the\nof\nand\n");
    let settings = settings(folder.path());
    (folder, settings)
}

#[test]
fn the_shares_of_all_processes_cover_each_block_once() {
    let (_folder, mut settings) = mixed_folder();
    for block_bytes in [7, 40, 1000] {
        settings.block_bytes = Some(block_bytes);
        let whole = read_share(&settings, Share::ALL).unwrap();
        // With at least 40 streamed files, two and three processes take whole files; twenty take blocks.
        for processes in [1, 2, 3, 20] {
            let mut united = Vec::new();
            for process in 0..processes {
                let share = Share { process, processes };
                let blocks = read_share(&settings, share).unwrap();
                assert!(processes > 3 || !blocks.is_empty(), "{share:?} has nothing to do");
                united.extend(blocks);
            }
            united.sort_by_key(|(key, _)| *key);
            assert_eq!(united, whole, "{processes} processes, blocks of {block_bytes}");
        }
    }
}

#[test]
fn threads_that_share_a_queue_get_each_block_once() {
    let (_folder, mut settings) = mixed_folder();
    settings.block_bytes = Some(20);
    let whole = read_share(&settings, Share::ALL).unwrap();
    let queue = BlockQueue::new(Arc::new(discover(&settings).unwrap()), &settings, Share::ALL);
    let pull = || {
        let mut keys = Vec::new();
        while let Some(block) = queue.next_block().unwrap() {
            keys.push(block.key());
        }
        keys
    };
    let mut keys: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(pull)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    keys.sort_unstable();
    assert!(keys.iter().eq(whole.iter().map(|(key, _)| key)));
}

#[test]
fn texts_may_be_empty_or_not_utf8_and_ids_may_repeat() {
    let (_folder, settings) = one_file("x.txt", b"");
    assert_eq!(read_all(&settings).unwrap()[0].status, Some(DocumentStatus::Empty));
    let (_folder, settings) = one_file("x.txt", b"\xef\xbb\xbfcaf\xe9");
    let seen = &read_all(&settings).unwrap()[0];
    assert_eq!((seen.text.as_str(), seen.repaired), ("caf\u{fffd}", true));
    let line = "{\"id\":\"same\",\"text\":\"a\"}\n";
    let (_folder, settings) = one_file("x.jsonl", line.repeat(3).as_bytes());
    assert_eq!(read_all(&settings).unwrap().len(), 3);
}

#[test]
fn short_files_of_records_share_a_block() {
    let (folder, mut settings) = one_file("00.csv", CSV.as_bytes());
    for number in 1..60 {
        let (name, content) = [("csv", CSV), ("json", JSON), ("jsonl", JSONL)][number % 3];
        let packed = match number % 2 {
            0 => content.as_bytes().to_vec(),
            _ => gzip(content.as_bytes()),
        };
        std::fs::write(folder.path().join(format!("{number:02}.{name}")), packed).unwrap();
    }
    let blocks = |settings: &CorpusSettings| read_share(settings, Share::ALL).unwrap();
    settings.block_bytes = Some(1);
    let apart = blocks(&settings);
    settings.block_bytes = None;
    let together = blocks(&settings);
    assert!(apart.len() >= 60 && together.len() == 1, "{} {}", apart.len(), together.len());
    let seen = |blocks: Vec<Keyed>| blocks.into_iter().flat_map(|(_, seen)| seen);
    assert!(seen(apart).eq(seen(together)));
}

#[test]
fn the_estimate_is_exact_for_plain_files() {
    let (folder, mut settings) = one_file("x.jsonl", "{\"text\":\"a\"}\n".repeat(100).as_bytes());
    std::fs::write(folder.path().join("y.txt"), "x".repeat(50)).unwrap();
    settings.block_bytes = Some(100);
    let input = discover(&settings).unwrap();
    let estimate = estimate(&input, &settings);
    assert_eq!((estimate.content_bytes, estimate.block_bytes), (1350, 100));
    assert_eq!(estimate.blocks as usize, read_share(&settings, Share::ALL).unwrap().len());
}

#[test]
fn names_mean_the_same_in_upper_case() {
    for (name, format) in [
        ("DATA.CSV.GZ", "csv"),
        ("VOLUME.JSON.BZ2", "htrc"),
        ("x.Jsonl.Zst", "jsonl"),
        ("NOTES.TXT.GZIP", "text"),
    ] {
        assert_eq!(guess(name).name, format, "{name}");
    }
}

#[test]
fn each_format_has_a_word_of_its_own() {
    let mut words = words().to_vec();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), LIST.len());
    assert!(words.iter().all(|word| !word.is_empty() && *word != "auto"));
}
