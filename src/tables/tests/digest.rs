//! The digest covers every cell, and nothing of the layout.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, ListArray,
    StringArray, new_null_array,
};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;

use super::*;
use crate::tables::digest::{column_digests, is_timing};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn layout_does_not_matter(per_part in 1_usize..12, per_group in 1_usize..12) {
        let folder = tempfile::tempdir().unwrap();
        write_output(folder.path());
        let before = digest::digest(folder.path()).unwrap();
        for table in TABLES {
            let rows = read_table(folder.path(), table.name);
            rewrite_table(folder.path(), table.name, &rows, per_part, per_group);
        }
        prop_assert_eq!(digest::digest(folder.path()).unwrap(), before);
    }
}

/// Returns the column with the value of its last row replaced.
fn changed(column: &ArrayRef) -> ArrayRef {
    let last = column.len() - 1;
    macro_rules! change {
        ($array:ty, $change:expr) => {{
            let values = column.as_any().downcast_ref::<$array>().unwrap();
            let mut values: Vec<_> = values.iter().collect();
            values[last] = values[last].map($change).or_else(|| Some(Default::default()));
            Arc::new(<$array>::from(values))
        }};
    }
    match column.data_type() {
        DataType::Int32 => change!(Int32Array, |v| v + 1),
        DataType::Int64 => change!(Int64Array, |v| v + 1),
        DataType::Float32 => change!(Float32Array, |v: f32| f32::from_bits(v.to_bits() + 1)),
        DataType::Float64 => change!(Float64Array, |v: f64| f64::from_bits(v.to_bits() + 1)),
        DataType::Boolean => change!(BooleanArray, |v: bool| !v),
        DataType::Utf8 => change!(StringArray, |_| "other"),
        _ => {
            let lists = column.as_any().downcast_ref::<ListArray>().unwrap();
            let (field, ends, values, nulls) = lists.clone().into_parts();
            let values = changed(&values);
            Arc::new(ListArray::new(field, ends, values, nulls))
        }
    }
}

fn with_column(rows: &RecordBatch, index: usize, column: ArrayRef) -> RecordBatch {
    let mut columns = rows.columns().to_vec();
    columns[index] = column;
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

#[test]
fn every_cell_matters_but_times() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write_output(root);
    let before = digest::digest(root).unwrap();
    for table in TABLES {
        let rows = read_table(root, table.name);
        let (schema, last) = (rows.schema(), rows.num_rows() - 1);
        for (index, field) in schema.fields().iter().enumerate() {
            let altered = with_column(&rows, index, changed(rows.column(index)));
            rewrite_table(root, table.name, &altered, 100, 100);
            let same = digest::digest(root).unwrap() == before;
            assert_eq!(same, is_timing(field.name()), "{} {}", table.name, field.name());
        }
        for fewer in [rows.slice(0, last), rows.slice(1, last)] {
            rewrite_table(root, table.name, &fewer, 100, 100);
            assert_ne!(digest::digest(root).unwrap(), before, "{}", table.name);
        }
        rewrite_table(root, table.name, &rows, 100, 100);
    }
    assert_eq!(digest::digest(root).unwrap(), before);
    // A model that is not the manifest's has no digest.
    let model = root.join("model/model.bin");
    fs::write(&model, b"Phi").unwrap();
    let error = digest::digest(root).unwrap_err().to_string();
    assert!(error.contains("is not the file that manifest.json lists"), "{error}");
    fs::remove_file(&model).unwrap();
    let error = digest::digest(root).unwrap_err().to_string();
    assert!(error.contains("is missing"), "{error}");
}

#[test]
fn null_is_not_empty_and_text_does_not_run_together() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let digest_of = |texts: Vec<Option<&str>>| {
        fs::create_dir_all(root.join("evaluation")).unwrap();
        let schema = Schema::new(vec![Field::new("metric", DataType::Utf8, true)]);
        let rows = RecordBatch::try_new(schema.into(), vec![Arc::new(StringArray::from(texts))]);
        rewrite_table(root, "evaluation", &rows.unwrap(), 100, 100);
        digest::digest(root).unwrap()
    };
    let digests = [
        digest_of(vec![Some("ab"), Some("c")]),
        digest_of(vec![Some("a"), Some("bc")]),
        digest_of(vec![Some("abc")]),
        digest_of(vec![Some("abc"), None]),
        digest_of(vec![Some("abc"), Some("")]),
    ];
    for (index, digest) in digests.iter().enumerate() {
        assert!(!digests[..index].contains(digest));
    }
}

#[test]
fn a_difference_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write_output(root);
    let before = column_digests(root).unwrap();
    let rows = read_table(root, "topics");
    let nulls = new_null_array(&DataType::Float64, rows.num_rows());
    let index = rows.schema().index_of("entropy").unwrap();
    rewrite_table(root, "topics", &with_column(&rows, index, nulls), 100, 100);
    let after = column_digests(root).unwrap();
    let differing: Vec<_> = before
        .iter()
        .zip(&after)
        .filter(|(a, b)| a != b)
        .map(|(a, _)| (a.table.as_str(), a.column.as_str()))
        .collect();
    assert_eq!(differing, [("topics", "entropy f64?")]);
}
