//! Parquet: the types that are read as text, row groups as blocks, damage.

use super::*;
use ::parquet::arrow::ArrowWriter;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Int64Array, ListArray, RecordBatch, StringArray,
    StringViewArray, StructArray, types::Int32Type,
};
use arrow_schema::{DataType, Field};

/// The columns as a file, two rows a group.
fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
            .unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(2))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn strings(values: [Option<&str>; 5]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn five_rows() -> Vec<u8> {
    let years: Int64Array = [Some(1850), None, Some(-3), Some(0), Some(7)]
        .into_iter()
        .collect();
    let texts = StringViewArray::from(vec![
        Some("one"),
        None,
        Some("three"),
        Some(""),
        Some("five"),
    ]);
    parquet(vec![
        ("year", Arc::new(years)),
        ("text", Arc::new(texts)),
        (
            "id",
            strings([Some("a"), Some("b"), None, Some("d"), Some("e")]),
        ),
    ])
}

#[test]
fn every_cut_and_share_gives_the_same_rows() {
    let (_folder, mut settings) = one_file("x.parquet", &five_rows());
    settings.metadata = vec!["year".into()];
    let whole = read_all(&settings).unwrap();
    let ids: Vec<_> = whole.iter().map(|seen| seen.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "x.parquet@2", "d", "e"]);
    assert_eq!(whole[1].status, Some(DocumentStatus::Empty));
    assert_eq!(whole[2].text, "three");
    assert_eq!(whole[2].metadata, [Some("-3".to_owned())]);
    assert_eq!(whole[1].metadata, [None]);
    settings.block_bytes = Some(1);
    let blocks = read_share(&settings, Share::ALL).unwrap();
    assert_eq!(blocks.len(), 3);
    let halves = [0, 1].map(|process| {
        read_share(
            &settings,
            Share {
                process,
                processes: 2,
            },
        )
        .unwrap()
    });
    let mut united = halves.concat();
    united.sort_by_key(|(key, _)| *key);
    assert_eq!(united, blocks);
    assert_eq!(
        blocks
            .into_iter()
            .flat_map(|(_, seen)| seen)
            .collect::<Vec<_>>(),
        whole
    );
}

#[test]
fn bytes_dictionaries_and_lists_are_read_as_text() {
    let kinds: DictionaryArray<Int32Type> = vec![Some("x"), None, Some("x")].into_iter().collect();
    let numbers = [Some(vec![Some(1), None]), None, Some(vec![])];
    let mut lines =
        arrow_array::builder::ListBuilder::new(arrow_array::builder::StringBuilder::new());
    lines.append_value([Some("say \"a\""), None, Some("b")]);
    lines.append_null();
    lines.append_value([Some("c")]);
    let bytes = BinaryArray::from(vec![b"caf\xe9" as &[u8], b"plain", b""]);
    let content = parquet(vec![
        ("text", Arc::new(bytes)),
        ("lines", Arc::new(lines.finish())),
        ("kind", Arc::new(kinds)),
        (
            "numbers",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(numbers)),
        ),
    ]);
    let (_folder, mut settings) = one_file("x.parquet", &content);
    settings.text = vec!["lines".into(), "text".into()];
    settings.group = Some("kind".into());
    settings.metadata = vec!["numbers".into(), "lines".into()];
    let seen = read_all(&settings).unwrap();
    assert_eq!(
        (seen[0].text.as_str(), seen[0].repaired),
        ("say \"a\"\nb\ncaf\u{fffd}", true)
    );
    assert_eq!((seen[1].text.as_str(), seen[1].repaired), ("plain", false));
    assert_eq!(seen[0].group.as_deref(), Some("x"));
    let metadata = [
        Some("[1,null]".to_owned()),
        Some(r#"["say \"a\"",null,"b"]"#.to_owned()),
    ];
    assert_eq!(seen[0].metadata, metadata);
    assert_eq!(seen[1].metadata, [None, None]);
    assert_eq!(seen[2].metadata[0], Some("[]".to_owned()));
}

#[test]
fn a_missing_or_nested_column_is_an_error() {
    let (_folder, mut settings) = one_file("x.parquet", &five_rows());
    settings.group = Some("yaer".into());
    let error = read_all(&settings).unwrap_err().to_string();
    assert!(
        error.contains("did you mean `year`?; the columns are: year, text, id"),
        "{error}"
    );
    let field = Arc::new(Field::new("x", DataType::Utf8, true));
    let nested = StructArray::from(vec![(field, strings([None; 5]))]);
    let (_folder, settings) = one_file("x.parquet", &parquet(vec![("text", Arc::new(nested))]));
    assert!(matches!(
        read_all(&settings),
        Err(InputError::ColumnType { .. })
    ));
}

#[test]
fn damage_fails_or_keeps_the_other_blocks() {
    let whole = five_rows();
    let mut torn = whole.clone();
    // The first pages follow the magic: their headers are now invalid.
    torn[4..40].fill(0xff);
    for (bytes, kept) in [(&whole[..whole.len() / 2], 0), (&torn[..], 3)] {
        let (_folder, mut settings) = one_file("x.parquet", bytes);
        settings.block_bytes = Some(1);
        settings.metadata = vec!["year".into()];
        assert!(matches!(
            read_all(&settings),
            Err(InputError::Damaged { .. })
        ));
        settings.on_damage = OnDamage::Keep;
        let seen = read_all(&settings).unwrap();
        assert_eq!(
            (seen[0].id.as_str(), seen[0].status),
            ("x.parquet@0", Some(DocumentStatus::Truncated))
        );
        assert_eq!(seen.len(), 1 + kept);
    }
}

#[test]
fn a_row_over_the_limit_is_too_large() {
    let (_folder, mut settings) = one_file("x.parquet", &five_rows());
    settings.max_document_bytes = 4;
    let seen = read_all(&settings).unwrap();
    assert_eq!(
        (seen[2].id.as_str(), seen[2].status),
        ("x.parquet@2", Some(DocumentStatus::TooLarge))
    );
    assert_eq!(seen[4].text, "five");
}
