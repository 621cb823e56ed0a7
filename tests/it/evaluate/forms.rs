//! External tables as their tools write them, and damaged ones.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use topicmill::tables::phi;

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
fn a_table_has_a_row_for_each_topic_and_term() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.parquet");
    let long = |topics: ArrayRef, names: [&'static str; 2]| {
        let terms = texts(&["sea", "law", "sea", "law"]);
        let weights = numbers(&[2.0, 2.0, 0.25, 0.75]);
        vec![("topic", topics), (names[0], terms), (names[1], weights)]
    };
    for (topics, names) in [
        (whole(&[0, 0, 1, 1]), ["term", "weight"]),
        (numbers(&[0.0, 0.0, 1.0, 1.0]), ["Word", "count"]),
    ] {
        written(&path, long(topics, names));
        let model = phi::read(&path).unwrap_or_else(|error| panic!("{names:?}: {error}"));
        assert_eq!(model.terms, ["sea", "law"]);
        assert_eq!(dense(&model), [[0.5, 0.5], [0.25, 0.75]]);
    }
    let told = |columns| {
        written(&path, columns);
        phi::read(&path).unwrap_err().to_string()
    };
    let names = ["term", "weight"];
    let fraction = told(long(numbers(&[0.0, 0.0, 1.5, 1.0]), names));
    assert!(fraction.contains("row 2 (from 0): 1.5 is not a topic"), "{fraction}");
    let negative = told(long(whole(&[0, -1, 1, 1]), names));
    assert!(negative.contains("row 1 (from 0): -1 is not a topic"), "{negative}");
    let beyond = told(long(whole(&[0, 0, 1, 70_000]), names));
    assert!(beyond.contains("topic 70000: topics are numbered"), "{beyond}");
    let absent = told(long(whole(&[0, 0, 2, 2]), names));
    assert!(absent.contains("topic 1 has no weight at all"), "{absent}");
    let twice = told(long(whole(&[0, 0, 0, 1]), names));
    assert!(twice.contains("\"sea\" has two weights in topic 0"), "{twice}");
    let wide = told(vec![("term", texts(&["sea"])), ("topic_0", numbers(&[1.0]))]);
    assert!(wide.contains("lacks the columns topic, term and weight"), "{wide}");
    assert!(wide.contains("topicmill.convert"), "{wide}");
    for weight in [-0.5, f64::NAN, f64::INFINITY, 1e300] {
        let wrong = told(vec![
            ("topic", whole(&[0, 0])),
            ("term", texts(&["sea", "law"])),
            ("weight", numbers(&[1.0, weight])),
        ]);
        assert!(wrong.contains("row 1 (from 0): the weight of \"law\" in topic 0 is"), "{wrong}");
    }
}

#[test]
fn parquet_that_is_cut_short_or_damaged_is_no_failure_of_the_disk() {
    let place = &RUN;
    let terms: Vec<String> = (0..3000).map(|n| format!("term{}", n * n % 7919)).collect();
    let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    let weights: Vec<f64> = (0..3000).map(|n| f64::from(n).sqrt()).collect();
    let whole = place.path("whole.parquet");
    let topics = self::whole(&[0; 3000]);
    let columns = [("topic", topics), ("term", texts(&terms)), ("weight", numbers(&weights))];
    written(&whole, columns.into());
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
