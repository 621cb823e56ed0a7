//! Records of any bytes are the same wherever the input is cut.

use super::*;

proptest::proptest! {
    #[test]
    fn rows_of_any_quotes_and_breaks_are_cut_between_records(
        rows in "[a,\"\r\n]{0,40}",
        block_bytes in 1u64..50,
    ) {
        for line_end in ["\n", "\r", "\r\n"] {
            let content = format!("id,text{line_end}{rows}");
            let (_folder, mut settings) = one_file("x.csv", content.as_bytes());
            settings.on_damage = OnDamage::Keep;
            let whole = read_all(&settings).unwrap();
            settings.block_bytes = Some(block_bytes);
            proptest::prop_assert_eq!(read_all(&settings).unwrap(), whole);
        }
    }

    #[test]
    fn objects_among_any_bytes_are_cut_between_records(
        content in proptest::collection::vec(proptest::sample::select(b"a\\\n{}[],:\"\xff ".to_vec()), 0..40),
        block_bytes in 1u64..50,
    ) {
        for start in ["[{}", "{\"a\":[", ""] {
            let content = [start.as_bytes(), &content[..]].concat();
            let (_folder, mut settings) = one_file("x.json", &content);
            settings.format = Some("json".into());
            settings.on_damage = OnDamage::Keep;
            let whole = read_all(&settings).unwrap();
            settings.block_bytes = Some(block_bytes);
            proptest::prop_assert_eq!(read_all(&settings).unwrap(), whole);
        }
    }

    #[test]
    fn lines_of_any_bytes_are_cut_between_records(
        content in proptest::collection::vec(proptest::sample::select(b"a\r\n{}\"\xff ".to_vec()), 0..40),
        block_bytes in 1u64..50,
    ) {
        let (_folder, mut settings) = one_file("x.jsonl", &content);
        let whole = read_all(&settings).unwrap();
        settings.block_bytes = Some(block_bytes);
        proptest::prop_assert_eq!(read_all(&settings).unwrap(), whole);
    }
}
