//! Lone carriage returns as line ends.

use super::*;

#[test]
fn a_carriage_return_alone_ends_a_row_of_csv() {
    let (header, rows) = ("id,text", "a,\"one\rtwo\"\n\nb,three\n,four");
    let (_folder, settings) = one_file("x.csv", format!("{header}\n{rows}").as_bytes());
    let expected = read_all(&settings).unwrap();
    assert_eq!(expected.len(), 3);
    let returns = rows.replace('\n', "\r");
    for content in [
        format!("{header}\r{rows}"),
        format!("{header}\n{returns}"),
        format!("{header}\r{returns}"),
        format!("{header}\r{returns}\r"),
    ] {
        for bytes in [content.clone().into_bytes(), gzip(content.as_bytes())] {
            let name = if bytes[0] == 0x1f { "x.csv.gz" } else { "x.csv" };
            let (_folder, mut settings) = one_file(name, &bytes);
            for block_bytes in (1..=content.len() as u64 + 1).chain([u64::MAX]) {
                settings.block_bytes = Some(block_bytes);
                let mut seen = read_all(&settings).unwrap();
                seen.iter_mut().for_each(|seen| seen.id = seen.id.replace(".gz", ""));
                assert_eq!(seen, expected, "{content:?} in blocks of {block_bytes}");
            }
        }
    }
}

#[test]
fn in_other_formats_they_are_reported() {
    let (_folder, settings) = one_file("x.tsv", b"id\ttext\ra\tone\r");
    let error = read_all(&settings).unwrap_err().to_string();
    assert!(
        error.contains("x.tsv: the header cannot be read") && error.contains("tr '\\r'"),
        "{error}"
    );
    let (_folder, mut settings) = one_file("x.tsv", b"a\tone\rtwo\n");
    (settings.header, settings.id) = (false, "1".into());
    settings.text = vec!["2".into()];
    assert_eq!(read_all(&settings).unwrap()[0].text, "one\rtwo");
    let (_folder, settings) = one_file("x.jsonl", b"{\"text\":\"a\"}\r{\"text\":\"b\"}\r");
    let seen = read_all(&settings).unwrap();
    assert_eq!(seen[0].status, Some(DocumentStatus::ParseError));
    assert!(seen[0].text.contains("carriage returns"), "{seen:?}");
}
