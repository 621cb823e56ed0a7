//! A small sound output, and how its files look from outside.

/// Writes a table of one part.
macro_rules! part {
    ($output:expr, $table:literal, $rows:expr) => {{
        let (relative, info) = $output.write_table(&metadata(), $rows).unwrap();
        assert_eq!(relative, concat!($table, "/part-00000.parquet"));
        assert_eq!($crate::tables::parts::scan(&$output.path(&relative)).unwrap(), info);
    }};
}

mod compare;
mod digest;
mod figures;
mod output;
mod verify;

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::document_topics::DocumentTopicRow;
use super::documents::DocumentRow;
use super::labels::LabelRow;
use super::parts::{Batches, footer, part_files};
use super::phrases::PhraseRow;
use super::predictions::PredictionRow;
use super::topic_documents::TopicDocumentRow;
use super::topic_names::TopicNameRow;
use super::topic_passages::TopicPassageRow;
use super::topic_terms::TopicTermRow;
use super::topics::TopicRow;
use super::vocabulary::VocabularyRow;
use super::*;
use corpus::value_type::ValueType;

const DOCUMENTS: usize = 10;

fn metadata() -> FileMetadata {
    FileMetadata {
        job_id: "job-1".into(),
        settings_hash: "abcd".into(),
        seed: 7,
        threshold: Some(0.01),
        topic_count: Some(3),
        ..FileMetadata::default()
    }
}

/// Writes a complete output: ten documents, two of them empty, three topics, four kept terms.
fn write_output(root: &Path) -> Output {
    let output = Output::lead(root).unwrap();
    write_documents(&output);
    write_topics(&output);
    figures::write_figures(&output);
    figures::write_sweep(&output);
    output.write_atomic("model/model.bin", b"phi").unwrap();
    complete(&output);
    output
}

fn complete(output: &Output) {
    let mut manifest = Manifest::new("job-1", 7, "input");
    manifest.documents_by_status = [("empty".to_owned(), 2), ("ok".to_owned(), 8)].into();
    let written = Default::default();
    manifest.describe(output, &written).unwrap();
    output.complete(&manifest).unwrap();
}

fn write_documents(output: &Output) {
    let temporary = output.temporary_path("documents");
    let names = ["year".to_owned(), "status".to_owned()];
    let names = documents::metadata_columns(&names).into_iter();
    let names: Vec<_> = names.zip([ValueType::Integer, ValueType::Text]).collect();
    let spec = &DocumentRow::SPEC;
    let mut writer = TableWriter::with_columns(&temporary, spec, &names, &metadata()).unwrap();
    for id in 0..DOCUMENTS {
        let ok = id % 4 != 3;
        let row = DocumentRow {
            doc_id: id as i64,
            source_id: format!("document {id}"),
            group_id: ok.then(|| "volume".to_owned()),
            section: ok.then_some(id as i32),
            status: if ok { "ok" } else { "empty" }.to_owned(),
            split: "projected".to_owned(),
            tokens_total: if ok { 8 } else { 0 },
            tokens_in_vocabulary: if ok { 5 } else { 0 },
            tokens_stopped: if ok { 2 } else { 0 },
            tokens_unknown: if ok { 1 } else { 0 },
            top_topic: ok.then_some(id as i32 % 3),
            top_weight: ok.then_some(0.7),
            entropy: ok.then_some(0.8),
            loglik_per_token: ok.then_some(-7.5),
            duplicate_of: None,
            dropped_mass: ok.then_some(0.1),
        };
        let year = (id > 4).then(|| format!("19{id:02}"));
        writer.push_with(&row, &[year, None]).unwrap();
    }
    writer.finish().unwrap();
    output.publish(&temporary, "documents/part-00000.parquet").unwrap();

    let rows = (0..DOCUMENTS).filter(|id| id % 4 != 3).flat_map(|id| {
        [(0, 0.7, 1), (1, 0.2, 2)].map(|(shift, weight, rank)| DocumentTopicRow {
            doc_id: id as i64,
            topic: (id as i32 + shift) % 3,
            weight,
            rank,
        })
    });
    part!(output, "document_topics", rows);
}

fn write_topics(output: &Output) {
    let terms = ["whale", "ship", "sea", "naïve"].map(str::to_owned);
    let rows = (0..3).map(|topic| TopicRow {
        topic,
        alpha: 0.1,
        absent_weight: 0.1,
        tokens: 13,
        share: 1.0 / 3.0,
        top_terms: terms[..topic as usize + 1].to_vec(),
        coherence_umass: (topic > 0).then_some(-1.5),
        coherence_npmi: (topic > 0).then_some(0.2),
        entropy: Some(1.0),
        exclusivity: Some(0.5),
        effective_terms: Some(3.0),
        document_entropy: None,
        rank1_documents: Some([3, 2, 3][topic as usize]),
        dead: topic == 0,
        duplicate_of: (topic == 2).then_some(1),
        junk: topic == 1,
        corpus_distance: Some(0.8),
        uniform_distance: Some(0.4),
        word_length: (topic > 0).then_some(4.5),
        token_document_difference: Some(0.01),
        rank1_share: Some(0.25),
        allocation_ratio: None,
        allocation_count: Some(0.125),
    });
    part!(output, "topics", rows);
    write_labels(output);
    figures::write_diagnostics(output, &terms);
    let rows = (0..3).flat_map(|topic| {
        let terms = &terms;
        [(0.5, 1), (0.3, 2)].map(move |(weight, rank)| TopicTermRow {
            topic,
            term_id: rank,
            term: terms[rank as usize].clone(),
            weight,
            count: 2.5,
            rank,
        })
    });
    part!(output, "topic_terms", rows);
    let rows = (0..3).map(|topic| TopicDocumentRow {
        topic,
        rank: 1,
        doc_id: 5,
        source_id: "document 5".to_owned(),
        weight: 0.7,
    });
    part!(output, "topic_documents", rows.clone());
    let rows = rows.map(|TopicDocumentRow { topic, rank, doc_id, .. }| TopicPassageRow {
        topic,
        rank,
        doc_id,
        passage: "A gold bank.".to_owned(),
        words: vec!["gold".to_owned()],
    });
    part!(output, "topic_passages", rows);
    let names =
        TopicNameRow { topic: 1, name: Some("Money".to_owned()), ..TopicNameRow::default() };
    part!(output, "topic_names", [names]);
    let kept = terms.iter().enumerate().map(|(id, term)| VocabularyRow {
        term_id: Some(id as i32),
        term: term.clone(),
        count: 10,
        document_count: 8,
        status: "kept".to_owned(),
    });
    let stop = VocabularyRow {
        term_id: None,
        term: "the".to_owned(),
        count: 16,
        document_count: 8,
        status: "stop".to_owned(),
    };
    part!(output, "vocabulary", kept.chain([stop]));
}

fn write_labels(output: &Output) {
    let labels = ["art", "birds", "cars, fast"];
    let rows = labels.iter().zip(0..).map(|(label, topic)| LabelRow {
        topic,
        label: (*label).to_owned(),
        documents: 4,
        evaluated: (topic > 0).then_some(2),
        predicted: Some(3),
        hits: Some(1),
        f1: (topic > 0).then_some(0.4),
    });
    part!(output, "labels", rows);
    let rows = [("new_york", "new", 1), ("new_york_city", "new_york", 2)];
    let rows = rows.map(|(phrase, first, pass)| PhraseRow {
        phrase: phrase.to_owned(),
        first: first.to_owned(),
        second: "york".to_owned(),
        pass,
        count: 7,
        score: 0.75,
    });
    part!(output, "phrases", rows);
    let rows = (1..=2).map(|rank| PredictionRow {
        doc_id: 5,
        rank,
        topic: rank,
        label: labels[rank as usize].to_owned(),
        weight: 0.5,
        predicted: rank == 1,
        actual: (rank == 1).then_some(true),
    });
    part!(output, "predictions", rows);
}

/// Returns all rows of a table in one batch.
fn read_table(root: &Path, table: &str) -> RecordBatch {
    let mut batches = Batches::new(part_files(&root.join(table)).unwrap(), None);
    let mut all = Vec::new();
    while let Some(batch) = batches.next().unwrap() {
        all.push(batch);
    }
    concat_batches(&all[0].schema(), &all).unwrap()
}

/// Replaces a table's rows, uncompressed, split into parts and row groups of these sizes.
fn rewrite_table(root: &Path, table: &str, rows: &RecordBatch, per_part: usize, per_group: usize) {
    let folder = root.join(table);
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let parts = rows.num_rows().div_ceil(per_part).max(1);
    for part in 0..parts {
        let file = fs::File::create(folder.join(part_name(part as u64))).unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(per_group))
            .set_compression(Compression::UNCOMPRESSED)
            .build();
        let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
        let from = part * per_part;
        let slice = rows.slice(from, per_part.min(rows.num_rows() - from));
        writer.write(&slice).unwrap();
        writer.close().unwrap();
    }
}

#[test]
fn parts_declare_what_readers_profit_from() {
    let folder = tempfile::tempdir().unwrap();
    write_output(folder.path());
    let (_, footer) = footer(&folder.path().join("documents/part-00000.parquet")).unwrap();
    let group = footer.metadata().row_group(0);
    assert_eq!(group.sorting_columns().unwrap()[0].column_idx, 0);
    assert!(group.column(1).bloom_filter_offset().is_some());
    assert!(group.column(0).column_index_offset().is_some());
    assert!(group.column(0).statistics().is_some());
    assert!(matches!(group.column(0).compression(), Compression::ZSTD(_)));
}

#[test]
fn a_table_can_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    write_output(folder.path());
    let table = folder.path().join("documents");
    let schema = read::table_schema(&table).unwrap();
    assert_eq!((schema.rows, schema.parts), (10, 1));
    let pair = |key: &str| schema.metadata.iter().find(|(k, _)| k == key).unwrap().1.clone();
    assert_eq!(pair("seed"), "7");
    assert_eq!(pair("threshold"), "0.01");
    assert!(schema.metadata.iter().all(|(key, _)| key != "model_hash"));
    let names: Vec<_> = schema.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names[16..], ["year", "status_input"]);

    let rows = read::head(&table, 6).unwrap();
    assert_eq!((rows.columns.len(), rows.rows.len()), (18, 6));
    assert_eq!(rows.rows[5][1], "document 5");
    assert_eq!(rows.rows[5][16], "1905");
    assert_eq!(rows.rows[3][11], "");
    let topics = read::head(&folder.path().join("topics"), 10).unwrap();
    assert_eq!(topics.rows[1][5], "[whale, ship]");
    assert!(read::head(&folder.path().join("model"), 1).is_err());

    let lines = topics::topic_lines(folder.path()).unwrap();
    assert_eq!(lines.len(), 3);
    let of_third = lines[2].label.as_ref().expect("a label");
    assert_eq!((of_third.label.as_str(), of_third.f1), ("cars, fast", Some(0.4)));
    assert_eq!(
        (of_third.hits, of_third.predicted, of_third.evaluated),
        (Some(1), Some(3), Some(2))
    );
    let lines: Vec<TopicRow> = lines.into_iter().map(|line| line.row).collect();
    assert_eq!(lines[1].top_terms, ["whale", "ship"]);
    assert_eq!((lines[0].coherence_npmi, lines[2].coherence_npmi), (None, Some(0.2)));
    assert!(lines[0].dead && !lines[1].dead);
    assert!(!lines[0].junk && lines[1].junk);
    assert_eq!((lines[1].duplicate_of, lines[2].duplicate_of), (None, Some(1)));
    let of_topic = read::rows_of_topic(&folder.path().join("topic_terms"), 1, 9).unwrap().unwrap();
    assert!(of_topic.rows.len() == 2 && of_topic.rows.iter().all(|row| row[0] == "1"));
    assert_eq!(read::rows_of_topic(&folder.path().join("absent"), 1, 9).unwrap(), None);
    let listing = read::listing(folder.path()).unwrap();
    let names: Vec<_> = listing.iter().map(|t| t.name).collect();
    assert_eq!(names, TABLES.map(|spec| spec.name));
    assert_eq!((listing[2].parts, listing[2].rows), (1, 10));
    let file = fs::metadata(table.join("part-00000.parquet")).unwrap();
    assert_eq!(listing[2].bytes, file.len());
    // A part that is removed after it was listed.
    std::os::unix::fs::symlink("nowhere", table.join("part-00001.parquet")).unwrap();
    assert_eq!(read::listing(folder.path()).unwrap(), listing);
}

#[test]
fn rows_that_do_not_fit_the_metadata_columns_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part");
    let mut writer = TableWriter::create(&path, &TopicDocumentRow::SPEC, &metadata()).unwrap();
    let row =
        TopicDocumentRow { topic: 0, rank: 1, doc_id: 0, source_id: String::new(), weight: 0.5 };
    let error = writer.push_with(&row, &[None]).unwrap_err();
    assert!(error.to_string().contains("metadata values for"), "{error}");
    writer.push(&row).unwrap();
    assert_eq!(writer.finish().unwrap().rows, 1);
}

#[test]
fn metadata_columns_never_clash() {
    let names = ["a", "A", "doc_id", "doc_id_input", "a"].map(str::to_owned);
    assert_eq!(
        documents::metadata_columns(&names),
        ["a", "A_input", "doc_id_input", "doc_id_input_input", "a_input_input"]
    );
}

/// docs/FORMATS.md has, under each table's heading, one line per column in order.
#[test]
fn every_column_is_documented() {
    let text = include_str!("../../docs/FORMATS.md");
    for table in TABLES {
        let heading = format!("### `{}`\n", table.name);
        let (_, section) = text.split_once(&heading).expect(&heading);
        let section = section.split("\n### ").next().unwrap();
        let lines = section.lines().filter(|line| line.starts_with("| `"));
        let documented: Vec<_> = lines
            .map(|line| {
                let cells: Vec<_> = line.split('|').map(str::trim).collect();
                (cells[1].trim_matches('`').to_owned(), cells[2].to_owned(), cells[3] == "yes")
            })
            .collect();
        let declared: Vec<_> = table
            .columns
            .iter()
            .map(|c| (c.name.to_owned(), c.kind.name().to_owned(), c.nullable))
            .collect();
        assert_eq!(documented, declared, "{}", table.name);
    }
}
