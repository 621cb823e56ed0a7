//! Round trips, limits and damage.

use std::fs;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use proptest::prelude::*;

use super::*;
use crate::{DocumentStatus, ShardDocument};

fn write(
    path: &Path,
    names: &[String],
    compression: ShardCompression,
    documents: &[ShardDocument],
) -> ShardInfo {
    let mut writer =
        ShardWriter::create(path, ShardColumns { metadata: names, has_texts: true }, compression)
            .unwrap();
    for document in documents {
        writer.push(document).unwrap();
    }
    writer.finish().unwrap()
}

fn read(path: &Path, columns: Columns) -> Vec<ShardDocument> {
    let mut reader = ShardReader::open(path, columns).unwrap();
    let mut document = ShardDocument::default();
    let mut documents = Vec::new();
    while reader.read_into(&mut document).unwrap() {
        documents.push(document.clone());
    }
    assert_eq!(documents.len() as u64, reader.documents());
    assert!(!reader.read_into(&mut document).unwrap());
    documents
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "\\PC{1,12}", Just("a\0b\n".to_owned())]
}

fn document() -> impl Strategy<Value = ShardDocument> {
    let entries = |most| prop::collection::vec((0..=i32::MAX as u32, 0..=i32::MAX as u32), 0..most);
    let metadata = prop::collection::vec(prop::option::of(text()), 2);
    let status = prop::sample::select(DocumentStatus::ALL.to_vec());
    let original = prop::option::of(0..=i64::MAX as u64);
    let head = (text(), prop::option::of(text()), metadata, status, original);
    let head = (head, prop::option::of(text()));
    let lists = (entries(12), entries(4), entries(4));
    (head, any::<[u32; 2]>(), lists).prop_map(|(head, [total, stop_words], lists)| {
        let ((source_id, group, metadata, status, duplicate_of), text) = head;
        let (terms, counts) = lists.0.into_iter().unzip();
        let (pruned, pruned_counts) = lists.1.into_iter().unzip();
        let (stopped, stopped_counts) = lists.2.into_iter().unzip();
        ShardDocument {
            source_id,
            group,
            metadata,
            status,
            tokens_total: total,
            tokens_stopped: stop_words,
            terms,
            counts,
            pruned,
            pruned_counts,
            stopped,
            stopped_counts,
            duplicate_of,
            text,
            signature: Vec::new(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_is_read(
        documents in prop::collection::vec(document(), 0..40),
        draft in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shard.parquet");
        // One name clashes with the shard's own, one holds a dot.
        let names = ["terms".to_owned(), "a.b".to_owned()];
        let compression = if draft { ShardCompression::None } else { ShardCompression::Zstd };
        let info = write(&path, &names, compression, &documents);

        prop_assert_eq!(info.documents, documents.len() as u64);
        prop_assert_eq!(info.by_status.iter().sum::<u64>(), info.documents);
        prop_assert_eq!(&read(&path, Columns::All), &documents);
        for place in 0..names.len() {
            let found = read(&path, Columns::CountsAnd(place));
            for (found, document) in found.iter().zip(&documents) {
                prop_assert_eq!(&found.terms, &document.terms);
                prop_assert_eq!(found.metadata.len(), names.len());
                prop_assert_eq!(&found.metadata[place], &document.metadata[place]);
            }
        }
        for (found, document) in read(&path, Columns::Metadata).iter().zip(&documents) {
            prop_assert_eq!((found.status, &found.metadata), (document.status, &document.metadata));
            prop_assert!(found.terms.is_empty());
        }
        let reader = ShardReader::open(&path, Columns::All).unwrap();
        prop_assert_eq!(reader.metadata_names, names);
        let counts: Vec<_> = documents
            .into_iter()
            .map(|d| ShardDocument {
                status: d.status,
                terms: d.terms,
                counts: d.counts,
                duplicate_of: d.duplicate_of,
                ..ShardDocument::default()
            })
            .collect();
        prop_assert_eq!(&read(&path, Columns::Counts), &counts);
        let statuses: Vec<_> = counts
            .into_iter()
            .map(|d| ShardDocument {
                status: d.status,
                duplicate_of: d.duplicate_of,
                ..ShardDocument::default()
            })
            .collect();
        prop_assert_eq!(read(&path, Columns::Status), statuses);
    }
}

#[test]
fn drafts_alone_have_signatures() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shard.parquet");
    let names = ["year".to_owned()];
    let document = |signature: &[u8]| ShardDocument {
        metadata: vec![None],
        signature: signature.to_vec(),
        ..ShardDocument::default()
    };
    let documents = [document(b"one"), document(b""), document(b"three")];
    write(&path, &names, ShardCompression::None, &documents);
    let read_back = read(&path, Columns::Signatures);
    assert!(read_back.iter().map(|it| &it.signature).eq(documents.iter().map(|it| &it.signature)));
    assert!(read(&path, Columns::All).iter().all(|it| it.signature.is_empty()));
    write(&path, &names, ShardCompression::Zstd, &documents);
    assert_eq!(read(&path, Columns::All), vec![document(b""); 3]);
}

fn long_document(number: usize, terms: u32) -> ShardDocument {
    ShardDocument {
        source_id: format!("d{number}"),
        status: DocumentStatus::Ok,
        tokens_total: terms,
        terms: (0..terms).map(|t| t + number as u32).collect(),
        counts: vec![1; terms as usize],
        ..ShardDocument::default()
    }
}

#[test]
fn many_documents_make_several_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shard.parquet");
    let documents: Vec<_> =
        (0..GROUP_ROWS + 3000).map(|n| long_document(n, (n % 3) as u32)).collect();
    let info = write(&path, &[], ShardCompression::Zstd, &documents);
    let expected: u64 = documents.iter().map(|d| d.terms.len() as u64).sum();
    assert_eq!(info.tokens, expected);
    assert_eq!(read(&path, Columns::All), documents);
}

#[test]
fn huge_documents_are_cut_into_small_batches() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shard.parquet");
    let documents: Vec<_> = (0..5).map(|n| long_document(n, 1 << 21)).collect();
    write(&path, &[], ShardCompression::None, &documents);
    assert_eq!(read(&path, Columns::Counts).len(), 5);

    let file = fs::File::open(&path).unwrap();
    let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).unwrap();
    let groups = footer.metadata().row_groups();
    assert_eq!(groups.iter().map(|g| g.num_rows()).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(batch_rows(&groups[0]), 1);
}

#[test]
fn what_cannot_be_stored_is_refused_and_the_rest_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shard.parquet");
    let mut writer =
        ShardWriter::create(&path, ShardColumns::default(), ShardCompression::None).unwrap();
    let good = long_document(1, 3);
    let mut term = good.clone();
    term.terms[2] = i32::MAX as u32 + 1;
    let mut count = good.clone();
    count.counts[0] = u32::MAX;
    let mut ragged = good.clone();
    ragged.counts.pop();
    let mut metadata = good.clone();
    metadata.metadata.push(None);
    let mut pruned = good.clone();
    pruned.pruned.push(i32::MAX as u32 + 1);
    pruned.pruned_counts.push(1);
    let mut stopped = good.clone();
    stopped.stopped_counts.push(1);
    for bad in [term, count, ragged, metadata, pruned, stopped] {
        let error = writer.push(&bad).unwrap_err();
        assert!(error.to_string().contains("cannot be stored"), "{error}");
    }
    writer.push(&good).unwrap();
    assert_eq!(writer.finish().unwrap().documents, 1);
    assert_eq!(read(&path, Columns::All), [good]);
}

#[test]
fn an_unfinished_or_foreign_file_is_no_shard() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shard.parquet");
    let mut writer =
        ShardWriter::create(&path, ShardColumns::default(), ShardCompression::None).unwrap();
    writer.push(&long_document(1, 3)).unwrap();
    drop(writer);
    for name in ["shard.parquet", "none"] {
        let opened = ShardReader::open(&folder.path().join(name), Columns::All);
        let error = opened.err().unwrap().to_string();
        assert!(error.contains("makes the collection again"), "{name}: {error}");
    }

    let file = fs::File::create(&path).unwrap();
    let schema = arrow_schema::Schema::empty();
    let writer = parquet::arrow::ArrowWriter::try_new(file, schema.into(), None).unwrap();
    writer.close().unwrap();
    let error = ShardReader::open(&path, Columns::All).err().unwrap();
    assert!(error.to_string().contains("is not a shard"), "{error}");
}
