//! Long tables: documents of rows, in and out of order, invalid rows, damage.

use super::columnar::{Table, files, read_in_every_cut};
use super::*;
use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, StringArray, StringViewArray,
};

/// Changes settings to read a long table with the columns `d`, `term` and `n`.
fn long(settings: &mut CorpusSettings) {
    settings.id = "d".into();
    settings.text = vec!["term".into()];
    settings.counts = Some("n".into());
    settings.group = Some("book".into());
    settings.metadata = vec!["year".into()];
}

/// Builds a long table of documents, each an id and its terms with their counts; the year is the row's number.
fn long_table(documents: &[(i64, &str)]) -> Table {
    let mut rows: Vec<(i64, Option<&str>, Option<f64>)> = Vec::new();
    for (id, terms) in documents {
        match *terms {
            "" => rows.push((*id, None, None)),
            terms => rows.extend(terms.split(' ').map(|term| {
                let (term, count) = term.split_once(':').unwrap();
                (*id, Some(term), Some(count.parse().unwrap()))
            })),
        }
    }
    let years: Int64Array = (0..rows.len() as i64).map(Some).collect();
    let books = rows.iter().map(|(id, ..)| Some(format!("book {}", id / 10)));
    vec![
        ("year", Arc::new(years)),
        ("n", Arc::new(rows.iter().map(|row| row.2).collect::<Float64Array>())),
        ("book", Arc::new(books.collect::<StringArray>())),
        ("term", Arc::new(rows.iter().map(|row| row.1).collect::<StringViewArray>())),
        ("d", Arc::new(rows.iter().map(|row| Some(row.0)).collect::<Int64Array>())),
    ]
}

#[test]
fn documents_of_long_tables_are_whole_wherever_groups_end() {
    let documents = [
        (-2, "a:1 b:2 a:3"),
        (7, ""),
        (9, "c:0 a:1 b:1 c:1 d:1 e:1 f:1 g:1"),
        (10, "a:2"),
        (100, "b:1 a:1"),
    ];
    for group_rows in 1..=15 {
        for (name, bytes) in files(long_table(&documents), group_rows) {
            let (_folder, mut settings) = one_file(name, &bytes);
            long(&mut settings);
            let seen = read_in_every_cut(&mut settings);
            let found: Vec<_> =
                seen.iter().map(|seen| (seen.id.parse().unwrap(), seen.text.as_str())).collect();
            assert_eq!(found, documents, "{name}, groups of {group_rows}");
            let years: Vec<_> = seen.iter().flat_map(|seen| seen.metadata.clone()).collect();
            assert_eq!(years, ["0", "3", "4", "12", "13"].map(|year| Some(year.to_owned())));
            assert_eq!(seen[4].group.as_deref(), Some("book 10"));
        }
    }
}

#[test]
fn rows_out_of_order_are_refused_in_every_cut() {
    let documents = [(1, "a:1 b:1"), (3, "a:1"), (2, "b:1"), (4, "a:1"), (3, "c:1")];
    for group_rows in [1, 2, 10] {
        for (name, bytes) in files(long_table(&documents), group_rows) {
            let (_folder, mut settings) = one_file(name, &bytes);
            long(&mut settings);
            for block_bytes in [1, 1 << 20] {
                settings.block_bytes = Some(block_bytes);
                let error = read_all(&settings).unwrap_err().to_string();
                let expected = "row 3: document `2` belongs above the row before it; sort the file by document (`d`)";
                assert!(error.contains(expected), "{name}: {error}");
            }
        }
    }
}

#[test]
fn documents_with_wrong_rows_are_parse_errors_and_the_others_stay() {
    let documents = [
        (1, "a:1 b:1"),
        (3, "a:1.5 b:1"),
        (4, "a:-1"),
        (6, "a:NaN"),
        (8, "a:1 bcdefghijkl:1"),
        (9, "c:1"),
    ];
    for (name, bytes) in files(long_table(&documents), 2) {
        let (_folder, mut settings) = one_file(name, &bytes);
        long(&mut settings);
        settings.max_document_bytes = 18;
        let seen = read_in_every_cut(&mut settings);
        let statuses: Vec<_> = seen.iter().map(|seen| (seen.id.as_str(), seen.status)).collect();
        let wrong = Some(DocumentStatus::ParseError);
        let expected = [
            ("1", None),
            ("3", wrong),
            ("4", wrong),
            ("6", wrong),
            ("8", Some(DocumentStatus::TooLarge)),
            ("9", None),
        ];
        assert_eq!(statuses, expected);
        let groups = seen.iter().map(|seen| seen.group.as_deref());
        assert!(groups.eq([Some("book 0"); 6]));
        assert!(
            seen[1].text.contains("@2: 1.5 for `a`, not a count; correct the row"),
            "{}",
            seen[1].text
        );
    }
}

#[test]
fn long_tables_of_other_columns_are_refused() {
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![1.0]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let missing: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>]));
    let table = |id: &ArrayRef, count: &ArrayRef| -> Table {
        vec![("id", Arc::clone(id)), ("text", Arc::clone(&text)), ("n", Arc::clone(count))]
    };
    for (table, expected) in [
        (table(&floats, &floats), "column `id` is of type Float32"),
        (table(&text, &flags), "column `n` is of type Boolean"),
        (table(&missing, &floats), "row 0: no document; give every row"),
        (table(&text, &floats)[1..].to_vec(), "no column `id`"),
        (table(&text, &floats)[..2].to_vec(), "no column `n`"),
    ] {
        for (name, bytes) in files(table, 1) {
            let (_folder, mut settings) = one_file(name, &bytes);
            settings.counts = Some("n".into());
            let error = read_all(&settings).unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}

#[test]
fn of_a_damaged_long_table_no_document_is_handed_over_in_part() {
    let documents = [(1, "a:1"), (2, "a:1 b:1 c:1 d:1"), (3, "a:1 b:1"), (4, "a:1")];
    for (name, bytes) in files(long_table(&documents), 2) {
        if name == "x.parquet" {
            continue;
        }
        for end in (bytes.len() / 4..bytes.len()).step_by(29) {
            let (_folder, mut settings) = one_file(name, &bytes[..end]);
            long(&mut settings);
            settings.on_damage = OnDamage::Keep;
            let seen = read_in_every_cut(&mut settings);
            for seen in seen.iter().filter(|seen| seen.status.is_none()) {
                let text = seen.text.as_str();
                assert!(
                    documents.contains(&(seen.id.parse().unwrap(), text)),
                    "{name} to {end}: {seen:?}"
                );
            }
        }
    }
}
