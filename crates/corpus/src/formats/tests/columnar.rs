//! Parquet and Arrow IPC: the types that are read as text, row groups as blocks, damage.

use super::*;
use ::parquet::arrow::ArrowWriter;
use ::parquet::file::properties::WriterProperties;
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, Int64Array, ListArray,
    RecordBatch, StringArray, StringViewArray, StructArray, types::Int32Type,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};

/// Columns with their names.
pub(super) type Table = Vec<(&'static str, ArrayRef)>;

/// Writes the columns as a file of each kind, with this many rows per group.
pub(super) fn files(columns: Table, group_rows: usize) -> Vec<(&'static str, Vec<u8>)> {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let groups: Vec<RecordBatch> = (0..batch.num_rows())
        .step_by(group_rows)
        .map(|row| batch.slice(row, group_rows.min(batch.num_rows() - row)))
        .collect();
    let mut parquet = Vec::new();
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build();
    let mut writer = ArrowWriter::try_new(&mut parquet, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut stream = Vec::new();
    let mut writer = StreamWriter::try_new(&mut stream, &batch.schema()).unwrap();
    groups.iter().for_each(|group| writer.write(group).unwrap());
    writer.finish().unwrap();
    let arrow = |codec| {
        let mut bytes = Vec::new();
        let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
        let schema = batch.schema();
        let mut writer = FileWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
        groups.iter().for_each(|group| writer.write(group).unwrap());
        writer.finish().unwrap();
        drop(writer);
        bytes
    };
    let plain = arrow(None);
    vec![
        ("x.parquet", parquet),
        ("polars.arrow", without_length(&plain)),
        ("stream.arrow", stream),
        ("x.arrow", plain),
        ("lz4.feather", arrow(Some(CompressionType::LZ4_FRAME))),
        ("zstd.feather", arrow(Some(CompressionType::ZSTD))),
    ]
}

/// Removes the length of an Arrow file's schema, as polars does: eight bytes, which follow the schema as zeros.
fn without_length(file: &[u8]) -> Vec<u8> {
    let begins = file.windows(4).position(|word| word == [0xff; 4]).unwrap();
    let (mark, message) = file.split_at(begins);
    let length = u32::from_le_bytes(message[4..8].try_into().unwrap()) as usize;
    let (schema, rest) = message[8..].split_at(length);
    [mark, schema, &[0; 8], rest].concat()
}

fn strings(values: [Option<&str>; 5]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn five_rows() -> Table {
    let years: Int64Array = [Some(1850), None, Some(-3), Some(0), Some(7)].into_iter().collect();
    let texts =
        StringViewArray::from(vec![Some("one"), None, Some("three"), Some(""), Some("five")]);
    vec![
        ("year", Arc::new(years)),
        ("text", Arc::new(texts)),
        ("id", strings([Some("a"), Some("b"), None, Some("d"), Some("e")])),
    ]
}

/// Reads a file in every cut, and by both halves of a job: the documents are all the same.
pub(super) fn read_in_every_cut(settings: &mut CorpusSettings) -> Vec<Seen> {
    let whole = read_all(settings).unwrap();
    for block_bytes in [1, 20, 100, 1000] {
        settings.block_bytes = Some(block_bytes);
        let blocks = read_share(settings, Share::ALL).unwrap();
        let halves = [0, 1].map(|process| {
            let processes = 2;
            read_share(settings, Share { process, processes }).unwrap()
        });
        let mut united = halves.concat();
        united.sort_by_key(|(key, _)| *key);
        assert_eq!(united, blocks);
        let seen: Vec<Seen> = blocks.into_iter().flat_map(|(_, seen)| seen).collect();
        assert_eq!(seen, whole, "blocks of {block_bytes}");
    }
    whole
}

#[test]
fn every_cut_and_share_of_every_kind_gives_the_same_rows() {
    for (name, bytes) in files(five_rows(), 2) {
        let (_folder, mut settings) = one_file(name, &bytes);
        settings.metadata = vec!["year".into()];
        let whole = read_in_every_cut(&mut settings);
        let ids: Vec<_> = whole.iter().map(|seen| seen.id.as_str()).collect();
        assert_eq!(ids, ["a", "b", &format!("{name}@2"), "d", "e"]);
        assert_eq!(whole[1].status, Some(DocumentStatus::Empty));
        assert_eq!(whole[2].text, "three");
        assert_eq!(whole[2].metadata, [Some("-3".to_owned())]);
        assert_eq!(whole[1].metadata, [None]);
        settings.block_bytes = Some(1);
        assert_eq!(read_share(&settings, Share::ALL).unwrap().len(), 3);
        settings.max_document_bytes = 4;
        let seen = read_all(&settings).unwrap();
        assert_eq!(seen[2].status, Some(DocumentStatus::TooLarge));
        assert_eq!(seen[4].text, "five");
    }
}

#[test]
fn a_group_that_is_larger_than_a_block_is_in_several() {
    let rows = 10_000;
    let texts = (0..rows).map(|row| (row % 7 > 0).then(|| format!("text number {row}")));
    let mut tags = ListBuilder::new(StringBuilder::new());
    for row in 0..rows {
        let some = (0..row % 4).map(|tag| Some(format!("tag {row} {tag}")));
        tags.append_option((row % 5 > 0).then_some(some));
    }
    let columns: Table =
        vec![("text", Arc::new(StringArray::from_iter(texts))), ("tags", Arc::new(tags.finish()))];
    for (name, bytes) in files(columns, rows) {
        let (_folder, mut settings) = one_file(name, &bytes);
        settings.metadata = vec!["tags".into()];
        assert_eq!(read_in_every_cut(&mut settings).len(), rows);
        settings.block_bytes = Some(1);
        let blocks = read_share(&settings, Share::ALL).unwrap();
        let sizes: Vec<usize> = blocks.iter().map(|(_, seen)| seen.len()).collect();
        assert_eq!(sizes, [4096, 4096, 1808], "{name}");
    }
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
    let table: Table = vec![
        ("text", Arc::new(bytes)),
        ("lines", Arc::new(lines.finish())),
        ("kind", Arc::new(kinds)),
        ("numbers", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(numbers))),
    ];
    for (name, content) in files(table, 2) {
        let (_folder, mut settings) = one_file(name, &content);
        settings.text = vec!["lines".into(), "text".into()];
        settings.group = Some("kind".into());
        settings.metadata = vec!["numbers".into(), "lines".into()];
        let seen = read_in_every_cut(&mut settings);
        assert_eq!((seen[0].text.as_str(), seen[0].repaired), ("say \"a\"\nb\ncaf\u{fffd}", true));
        assert_eq!((seen[1].text.as_str(), seen[1].repaired), ("plain", false));
        assert_eq!(seen[0].group.as_deref(), Some("x"));
        let metadata = [Some("[1,null]".to_owned()), Some(r#"["say \"a\"",null,"b"]"#.to_owned())];
        assert_eq!(seen[0].metadata, metadata);
        assert_eq!(seen[1].metadata, [None, None]);
        assert_eq!(seen[2].metadata[0], Some("[]".to_owned()));
    }
}

#[test]
fn fields_within_structures_and_lists_of_them_are_columns() {
    let field = |name: &str, kind: DataType| Arc::new(Field::new(name, kind, true));
    let words = strings([Some("one"), Some("two"), Some("lost"), None, Some("five")]);
    let number: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5]));
    let parts = vec![field("words", DataType::Utf8), field("n", DataType::Int64)];
    let valid = NullBuffer::from(vec![true, true, false, true, true]);
    let body = StructArray::new(parts.into(), vec![words, number], Some(valid));
    let outer = field("body", body.data_type().clone());
    let post: ArrayRef = Arc::new(StructArray::from(vec![(outer, Arc::new(body.clone()) as _)]));
    let item = field("item", body.data_type().clone());
    let offsets = OffsetBuffer::new(vec![0, 2, 3, 3, 4, 5].into());
    let turns: ArrayRef = Arc::new(ListArray::new(item, offsets, Arc::new(body), None));
    for (name, content) in files(vec![("post", post), ("turns", turns)], 2) {
        let (_folder, mut settings) = one_file(name, &content);
        settings.text = vec!["post.body.words".into(), "turns.words".into()];
        settings.metadata = vec!["turns.n".into(), "post.body.n".into()];
        let seen = read_in_every_cut(&mut settings);
        let texts: Vec<_> = seen.iter().map(|seen| seen.text.as_str()).collect();
        let empty = |row| format!("{name}@{row}: no text under `post.body.words`, `turns.words`");
        assert_eq!(texts, ["one\none\ntwo", "two", &empty(2), &empty(3), "five\nfive"], "{name}");
        let numbers: Vec<_> = seen.iter().map(|seen| seen.metadata[0].clone().unwrap()).collect();
        assert_eq!(numbers, ["[1,2]", "[null]", "[]", "[4]", "[5]"]);
        assert_eq!([&seen[0].metadata[1], &seen[2].metadata[1]], [&Some("1".to_owned()), &None]);
    }
}

#[test]
fn a_missing_or_nested_column_is_an_error() {
    let field = Arc::new(Field::new("x", DataType::Utf8, true));
    let nested = StructArray::from(vec![(field, strings([None; 5]))]);
    let nested = files(vec![("text", Arc::new(nested))], 2);
    for ((name, bytes), (_, nested)) in files(five_rows(), 2).into_iter().zip(nested) {
        let (_folder, mut settings) = one_file(name, &bytes);
        settings.group = Some("yaer".into());
        let error = read_all(&settings).unwrap_err().to_string();
        assert!(error.contains("did you mean `year`?; the columns are: year, text, id"), "{error}");
        let (_folder, settings) = one_file(name, &nested);
        let error = read_all(&settings).unwrap_err().to_string();
        assert!(error.contains("choose a column of text, numbers"), "{error}");
    }
}

#[test]
fn damage_fails_or_keeps_the_other_blocks() {
    let files = files(five_rows(), 2);
    let (_folder, settings) = one_file("polars.arrow", &files[1].1[..400]);
    let error = read_all(&settings).unwrap_err().to_string();
    assert!(error.contains("ends before its footer"), "{error}");
    // Without its footer, nothing of that one can be read.
    for (name, whole) in files.into_iter().filter(|(name, _)| *name != "polars.arrow") {
        // The first pages follow Parquet's mark; the schema follows Arrow's.
        let (page, ends) = match name {
            "x.parquet" => (4..40, 0),
            _ => (16..60, 2),
        };
        let mut torn = whole.clone();
        torn[page].fill(0xff);
        let begins = whole.len() - 1;
        for (bytes, kept) in [(&torn[..], 3 - ends * 3 / 2), (&whole[..begins], 5 * ends / 2)] {
            let (_folder, mut settings) = one_file(name, bytes);
            settings.block_bytes = Some(1);
            settings.metadata = vec!["year".into()];
            let lost = read_all(&settings);
            assert!(matches!(lost, Err(InputError::Damaged { .. })), "{name}: {lost:?}");
            settings.on_damage = OnDamage::Keep;
            let seen = read_all(&settings).unwrap();
            assert_eq!(seen.len(), 1 + kept, "{name}: {seen:?}");
            let is_lost = |seen: &&Seen| seen.status == Some(DocumentStatus::Truncated);
            let lost: Vec<_> = seen.iter().filter(is_lost).collect();
            assert_eq!(lost.len(), 1, "{name}: {seen:?}");
        }
    }
}

#[test]
fn ids_of_a_fixed_number_of_bytes_stay_different() {
    let ids = [[0xff, 0x00], [0xfe, 0x00], *b"ab"];
    let ids = FixedSizeBinaryArray::try_from_iter(ids.into_iter()).unwrap();
    let texts = StringArray::from(vec!["one", "two", "three"]);
    let table: Table = vec![("id", Arc::new(ids)), ("text", Arc::new(texts))];
    for (name, bytes) in files(table, 2) {
        let (_folder, mut settings) = one_file(name, &bytes);
        let seen = read_in_every_cut(&mut settings);
        let ids: Vec<_> = seen.iter().map(|seen| seen.id.as_str()).collect();
        assert_eq!(ids, ["ff00", "fe00", "ab"], "{name}");
    }
}
