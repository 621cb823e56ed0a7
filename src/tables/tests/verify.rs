//! Every kind of damage is found.

use std::sync::Arc;

use arrow_array::{Float32Array, Float64Array, Int32Array, Int64Array};
use arrow_select::concat::concat_batches;

use super::*;
use crate::tables::output::SUCCESS;

/// Returns the problems after a table's rows were replaced and the manifest was rewritten.
fn after(table: &str, change: impl Fn(RecordBatch) -> RecordBatch) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let output = write_output(folder.path());
    let rows = change(read_table(folder.path(), table));
    rewrite_table(folder.path(), table, &rows, 4, 3);
    output.reopen().unwrap();
    complete(&output);
    let report = verify::verify(folder.path()).unwrap();
    assert_eq!(report.problem_count as usize, report.problems.len());
    report.problems
}

fn replaced(rows: &RecordBatch, name: &str, column: arrow_array::ArrayRef) -> RecordBatch {
    let mut columns = rows.columns().to_vec();
    columns[rows.schema().index_of(name).unwrap()] = column;
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

fn without(rows: &RecordBatch, row: usize) -> RecordBatch {
    let rest = rows.slice(row + 1, rows.num_rows() - row - 1);
    concat_batches(&rows.schema(), &[rows.slice(0, row), rest]).unwrap()
}

fn doubled(rows: &RecordBatch, row: usize) -> RecordBatch {
    let rest = rows.slice(row, rows.num_rows() - row);
    concat_batches(&rows.schema(), &[rows.slice(0, row + 1), rest]).unwrap()
}

#[test]
fn a_sound_output_is_sound_however_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    write_output(folder.path());
    let report = verify::verify(folder.path()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!((report.files, report.rows["document_topics"]), (30, 16));
    for table in TABLES {
        assert_eq!(after(table.name, |rows| rows), Vec::<String>::new());
    }
}

#[test]
fn an_unfinished_output_is_no_result() {
    let folder = tempfile::tempdir().unwrap();
    write_output(folder.path());
    fs::remove_file(folder.path().join(SUCCESS)).unwrap();
    let error = verify::verify(folder.path()).unwrap_err();
    assert!(error.to_string().contains("is not complete"), "{error}");
}

#[test]
fn every_flipped_byte_is_found() {
    let folder = tempfile::tempdir().unwrap();
    write_output(folder.path());
    for file in ["topics/part-00000.parquet", "model/model.bin"] {
        let path = folder.path().join(file);
        let sound = fs::read(&path).unwrap();
        for position in (0..sound.len()).step_by(sound.len() / 3) {
            let mut bytes = sound.clone();
            bytes[position] ^= 4;
            fs::write(&path, bytes).unwrap();
            let report = verify::verify(folder.path()).unwrap();
            assert!(report.problems[0].contains(file), "{:?}", report.problems);
        }
        fs::write(&path, &sound[1..]).unwrap();
        assert!(!verify::verify(folder.path()).unwrap().is_sound());
        fs::remove_file(&path).unwrap();
        assert!(!verify::verify(folder.path()).unwrap().is_sound());
        fs::write(&path, &sound).unwrap();
    }
    assert!(verify::verify(folder.path()).unwrap().is_sound());
    fs::write(folder.path().join("topics/part-00001.parquet"), "").unwrap();
    assert!(!verify::verify(folder.path()).unwrap().is_sound());
}

#[test]
fn missing_and_doubled_rows_are_found() {
    for row in 0..DOCUMENTS - 1 {
        let problems = after("documents", |rows| without(&rows, row));
        // Gaps between numbers are those of documents that were removed.
        assert!(problems.iter().any(|p| p.starts_with("documents: by status")), "{problems:?}");
    }
    let problems = after("documents", |rows| doubled(&rows, 6));
    let again = "doc_id 6 where 7 or more is expected";
    assert!(problems.iter().any(|p| p.contains(again)), "{problems:?}");
    assert!(!after("documents", |rows| without(&rows, DOCUMENTS - 1)).is_empty());
    for table in [
        "document_topics",
        "topics",
        "topic_terms",
        "topic_term_diagnostics",
        "topic_documents",
        "topic_names",
        "topic_passages",
        "vocabulary",
        "drift",
        "group_topics",
        "topic_trends",
        "topic_correlations",
        "topic_concentration",
    ] {
        assert!(!after(table, |rows| doubled(&rows, 0)).is_empty(), "{table}");
    }
    for table in ["document_topics", "topics", "topic_terms", "vocabulary"] {
        assert!(!after(table, |rows| without(&rows, 1)).is_empty(), "{table}");
    }
}

#[test]
fn sums_that_do_not_add_up_are_found() {
    let off = |rows: &RecordBatch, name: &str, by: f32| {
        let column = rows.column_by_name(name).unwrap();
        let column: &Float32Array = column.as_any().downcast_ref().unwrap();
        let column: Float32Array = column.iter().map(|v| v.map(|v| v + by)).collect();
        replaced(rows, name, Arc::new(column))
    };
    assert_eq!(after("documents", |rows| off(&rows, "dropped_mass", 0.001)).len(), 8);
    assert_eq!(after("documents", |rows| off(&rows, "dropped_mass", 0.00001)).len(), 0);
    assert_eq!(after("topic_terms", |rows| off(&rows, "weight", 0.002)).len(), 3);
    assert!(!after("document_topics", |rows| off(&rows, "weight", 0.001)).is_empty());

    let integers = |rows: &RecordBatch, name: &str| {
        let column = rows.column_by_name(name).unwrap();
        let column: &Int64Array = column.as_any().downcast_ref().unwrap();
        let column: Int64Array = column.iter().map(|v| v.map(|v| v + 1)).collect();
        replaced(rows, name, Arc::new(column))
    };
    assert_eq!(after("documents", |rows| integers(&rows, "tokens_stopped")).len(), 10);
    assert_eq!(after("vocabulary", |rows| integers(&rows, "count")).len(), 1);
    assert_eq!(after("topics", |rows| integers(&rows, "rank1_documents")).len(), 3);
    let absent = after("topics", |rows| {
        replaced(&rows, "absent_weight", Arc::new(Float64Array::from(vec![0.2; 3])))
    });
    assert_eq!(absent.len(), 3, "{absent:?}");
}

#[test]
fn a_topic_repeats_only_an_earlier_one() {
    for (repeated, problems) in [(Some(0), 0), (Some(1), 1), (Some(2), 1), (Some(-1), 1)] {
        let column = Int32Array::from(vec![None, repeated, None]);
        let found =
            after("topics", |rows| replaced(&rows, "duplicate_of", Arc::new(column.clone())));
        assert_eq!(found.len(), problems, "{found:?}");
    }
}

#[test]
fn drift_and_diagnostics_must_add_up() {
    let doubles = |rows: &RecordBatch, name: &str, by: f64| {
        let column = rows.column_by_name(name).unwrap();
        let column: &Float64Array = column.as_any().downcast_ref().unwrap();
        let column: Float64Array = column.iter().map(|v| v.map(|v| v + by)).collect();
        replaced(rows, name, Arc::new(column))
    };
    let found = after("topic_term_diagnostics", |r| doubles(&r, "cumulative", 0.01));
    assert_eq!(found.len(), 6, "{found:?}");
    let found = after("topic_term_diagnostics", |r| doubles(&r, "exclusivity", 0.5));
    assert_eq!(found.len(), 6, "{found:?}");
    for name in ["known_term_share", "known_token_share"] {
        let found = after("drift", |r| doubles(&r, name, 0.001));
        assert_eq!(found.len(), 3, "{found:?}");
    }
    assert_eq!(after("drift", |r| doubles(&r, "topic_shift_js", 1.0)).len(), 3);
    let all = |value| Arc::new(Int64Array::from(vec![value; 3]));
    assert_eq!(after("drift", |r| replaced(&r, "known_tokens", all(7))).len(), 6);
    let found = after("drift", |rows| without(&rows, 2));
    assert!(found[0].contains("one row and the last"), "{found:?}");
}

#[test]
fn rollups_must_keep_their_bounds() {
    let doubles = |rows: &RecordBatch, name: &str, by: f64| {
        let column = rows.column_by_name(name).unwrap();
        let column: &Float64Array = column.as_any().downcast_ref().unwrap();
        let column: Float64Array = column.iter().map(|v| v.map(|v| v + by)).collect();
        replaced(rows, name, Arc::new(column))
    };
    for (table, name, by, problems) in [
        ("topic_trends", "share", 0.25, 3),
        ("topic_trends", "low", 0.6, 4),
        ("topic_trends", "high", 0.3, 4),
        ("topic_correlations", "correlation", -0.8, 2),
        ("topic_correlations", "npmi", 0.6, 2),
        ("topic_concentration", "share", 0.25, 1),
        ("topic_concentration", "share", -0.25, 1),
        ("topic_concentration", "collection_share", 1.0, 3),
    ] {
        let found = after(table, |rows| doubles(&rows, name, by));
        assert_eq!(found.len(), problems, "{table}.{name}: {found:?}");
    }
    let weights = Float32Array::from(vec![0.5, 0.4, 0.3]);
    let found = after("group_topics", |rows| replaced(&rows, "weight", Arc::new(weights.clone())));
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn statuses_must_be_those_of_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let output = write_output(folder.path());
    let mut manifest = Manifest::read(folder.path()).unwrap();
    manifest.documents_by_status.insert("empty".into(), 3);
    output.reopen().unwrap();
    output.complete(&manifest).unwrap();
    assert_eq!(verify::verify(folder.path()).unwrap().problem_count, 1);
}
