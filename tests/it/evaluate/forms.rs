//! External tables as their tools write them, and damaged ones.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use topicmill::tables::matrix;

use super::{RUN, dense, write_parquet};

/// Returns a column of texts.
fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// Returns a column of numbers.
fn numbers(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

/// Returns a column of whole numbers.
fn whole(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn written(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let named = |(name, column): (&str, ArrayRef)| (name.to_owned(), column);
    write_parquet(path, columns.into_iter().map(named).collect());
}

#[test]
fn forms_of_parquet_are_told_by_the_types_of_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.parquet");
    let (a, b) = ([0.5, 0.25], [0.5, 0.75]);
    let check = |columns, terms: [&str; 2], what: &str| {
        written(&path, columns);
        let model = matrix::read(&path, None).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(model.terms, terms, "{what}");
        assert_eq!(dense(&model), [[0.5, 0.5], [0.25, 0.75]], "{what}");
    };
    // Each term has a column, and the terms are the column names of other tables.
    for terms in [["word", "token"], ["topic", "weight"], ["term", "topic"]] {
        let columns = vec![(terms[0], numbers(&a)), (terms[1], numbers(&b))];
        check(columns, terms, "a row a topic");
        let index = vec![
            ("__index_level_0__", whole(&[0, 1])),
            (terms[0], numbers(&a)),
            (terms[1], numbers(&b)),
        ];
        check(index, terms, "a row a topic, with its number");
    }
    let by_terms = |name| {
        let (first, second) = (numbers(&[0.5, 0.5]), numbers(&[0.25, 0.75]));
        vec![(name, texts(&["sea", "law"])), ("0", first), ("1", second)]
    };
    for name in ["term", "Word", "__index_level_0__", "lemma"] {
        check(by_terms(name), ["sea", "law"], name);
    }
    let long = |topics: ArrayRef| {
        let terms = texts(&["sea", "law", "sea", "law"]);
        let weights = numbers(&[0.5, 0.5, 0.25, 0.75]);
        vec![("topic", topics), ("term", terms), ("weight", weights)]
    };
    check(long(whole(&[0, 0, 1, 1])), ["sea", "law"], "long");
    check(long(numbers(&[0.0, 0.0, 1.0, 1.0])), ["sea", "law"], "long, of floats");
    let told = |columns| {
        written(&path, columns);
        matrix::read(&path, None).unwrap_err().to_string()
    };
    let fraction = told(long(numbers(&[0.0, 0.0, 1.5, 1.0])));
    assert!(fraction.contains("row 2 (from 0): 1.5 is not a topic"), "{fraction}");
    let negative = told(long(whole(&[0, -1, 1, 1])));
    assert!(negative.contains("row 1 (from 0): -1 is not a topic"), "{negative}");
    let nothing = told(vec![("term", texts(&["a"])), ("topic", texts(&["0"]))]);
    assert!(nothing.contains("no numeric column"), "{nothing}");
}

#[test]
fn parquet_that_is_cut_short_or_damaged_is_no_failure_of_the_disk() {
    let place = &RUN;
    let terms: Vec<String> = (0..3000).map(|n| format!("term{}", n * n % 7919)).collect();
    let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    let weights: Vec<f64> = (0..3000).map(|n| f64::from(n).sqrt()).collect();
    let whole = place.path("whole.parquet");
    written(&whole, vec![("term", texts(&terms)), ("0", numbers(&weights))]);
    let bytes = fs::read(&whole).unwrap();
    fs::write(place.path("cut.parquet"), &bytes[..bytes.len() / 2]).unwrap();
    let mut damaged = bytes.clone();
    // The header of the first page.
    damaged[4..40].fill(0xff);
    fs::write(place.path("damaged.parquet"), damaged).unwrap();
    for (name, word) in
        [("cut.parquet", "cut short or damaged"), ("damaged.parquet", "damaged Parquet")]
    {
        let (code, told) = place.refused(&["--output", "refused", "--model", name]);
        assert!(told.contains(word) && told.contains(name), "{told}");
        assert_eq!(code, 65, "{told}");
    }
}
