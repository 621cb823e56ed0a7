//! Texts in encodings other than UTF-8.

use super::*;

/// Encodes these lines in windows-1252, except the second one, which is UTF-8.
fn mixed(lines: [&str; 2]) -> Vec<u8> {
    let mut bytes: Vec<u8> = lines[0].chars().map(|c| c as u8).collect();
    bytes.extend(lines[1].as_bytes());
    bytes
}

#[test]
fn records_that_are_not_utf_8_are_in_the_encoding_of_the_job() {
    for (name, lines) in [
        (
            "a.jsonl",
            [
                "{\"id\": \"\u{e9}\", \"text\": \"caf\u{e9}\"}\n",
                "{\"id\": \"\u{e8}\", \"text\": \"\u{e0} c\u{f4}t\u{e9}\"}\n",
            ],
        ),
        (
            "a.json",
            [
                "[{\"id\": \"\u{e9}\", \"text\": \"caf\u{e9}\"},\n",
                "{\"id\": \"\u{e8}\", \"text\": \"\u{e0} c\u{f4}t\u{e9}\"}]\n",
            ],
        ),
        ("a.csv", ["id,text\n\u{e9},\"caf\u{e9}\"\n", "\u{e8},\u{e0} c\u{f4}t\u{e9}\n"]),
        ("a.tsv", ["id\ttext\n\u{e9}\tcaf\u{e9}\n", "\u{e8}\t\u{e0} c\u{f4}t\u{e9}\n"]),
    ] {
        let (_folder, mut settings) = one_file(name, &mixed(lines));
        settings.encoding = TextEncoding::of("latin1").unwrap();
        let seen = read_all(&settings).unwrap();
        let found: Vec<_> =
            seen.iter().map(|seen| (&seen.id[..], &seen.text[..], seen.repaired)).collect();
        let expected = [("\u{e9}", "caf\u{e9}", false), ("\u{e8}", "\u{e0} c\u{f4}t\u{e9}", false)];
        assert_eq!(found, expected, "{name}");
        settings.encoding = TextEncoding::default();
        let repaired =
            read_all(&settings).unwrap().iter().map(|seen| seen.repaired).collect::<Vec<_>>();
        assert_eq!(repaired, [true, false], "{name}");
    }
}

#[test]
fn columns_and_terms_are_in_the_encoding_of_the_job() {
    let (_folder, mut settings) = one_file("a.csv", b"id,r\xe9sum\xe9\n1,caf\xe9\n");
    settings.encoding = TextEncoding::of("latin1").unwrap();
    settings.text = vec!["r\u{e9}sum\u{e9}".into()];
    assert_eq!(read_all(&settings).unwrap()[0].text, "caf\u{e9}");
    let (_folder, mut settings) = one_file("a.vw", b"'1 |text caf\xe9:2\n");
    settings.encoding = TextEncoding::of("latin1").unwrap();
    let seen = &read_all(&settings).unwrap()[0];
    assert!(seen.text.contains("caf\u{e9}") && !seen.repaired, "{seen:?}");
}

#[test]
fn a_text_may_begin_with_a_mark_of_utf_16() {
    let (_folder, settings) = one_file("a.txt", b"\xff\xfec\0a\0f\0\xe9\0");
    let seen = &read_all(&settings).unwrap()[0];
    assert_eq!((&seen.text[..], seen.repaired), ("caf\u{e9}", false));
}
