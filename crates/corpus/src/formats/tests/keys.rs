//! JSON Lines: which keys are kept, and what their values become.

use super::records::Header;
use super::*;

/// Reads the lines with id `id`, text `title` and `text`, group `g` and metadata `m` and `id`.
fn documents(bytes: &[u8]) -> Vec<Seen> {
    documents_of(&["title", "text"], bytes)
}

/// Likewise, with these keys of text.
fn documents_of(text: &[&str], bytes: &[u8]) -> Vec<Seen> {
    let mut settings = settings(Path::new(""));
    settings.text = text.iter().map(|&name| name.to_owned()).collect();
    settings.group = Some("g".into());
    settings.metadata = vec!["m".into(), "id".into()];
    let file = InputFile::stream("f", &json::JSON_LINES);
    let Cutting::Records(of, _) = file.format.cutting else {
        panic!("lines are records");
    };
    let (context, mut seen) = (Context::new(&file, &settings), Vec::new());
    of(bytes).read(&context, &Header::default(), (100, bytes), &mut |document| {
        seen.push(Seen::of(&document))
    });
    seen
}

#[test]
fn the_named_keys_are_kept_whatever_their_type() {
    let line =
        br#"{"x":[{"id":0}],"id":7,"title":"A\nb","text":["c","d"],"g":true,"m":{"k":[1.5,null]}}"#;
    let seen = &documents(line)[0];
    assert_eq!((seen.id.as_str(), seen.text.as_str()), ("7", "A\nb\nc\nd"));
    assert_eq!(seen.group.as_deref(), Some("true"));
    let metadata = [Some(r#"{"k":[1.5,null]}"#.to_owned()), Some("7".to_owned())];
    assert_eq!(seen.metadata, metadata);
    let seen = &documents(br#"{"id":-1.50,"text":12}"#)[0];
    assert_eq!((seen.id.as_str(), seen.text.as_str()), ("-1.5", "12"));
    assert_eq!(seen.metadata[0], None);
}

#[test]
fn an_object_and_values_within_it_may_both_be_kept() {
    let seen = &documents_of(
        &["m.text", "m"],
        br#"{"m":{"text":"one"},"id":1}
{"m":"two"}"#,
    );
    assert_eq!(seen[0].text, "f@100: `m` holds an object; name a key with text in corpus.text");
    assert_eq!(seen[1].text, "two");
    let seen = &documents_of(&["m.text"], br#"{"m":{"text":"one"},"id":1}"#)[0];
    assert_eq!(seen.text, "one");
    assert_eq!(seen.metadata[0].as_deref(), Some(r#"{"text":"one"}"#));
}

#[test]
fn numbers_and_surrogates_as_python_writes_them_are_read() {
    let lines = br#"{"id":"a","text":"one","x":NaN,"m":-Infinity}
{"id":"b","text":"cut \ud83d","x":[Infinity]}
{"id":"c","text":"whole \ud83d\ude00"}
{"id":"d","text":NaN}
{"id":"e","text":Nan}
"#;
    let seen = documents(&[lines, "\u{feff}{\"text\":\"six\"}".as_bytes()].concat());
    let texts: Vec<_> = seen[..3].iter().map(|seen| seen.text.as_str()).collect();
    assert_eq!(texts, ["one", "cut \u{fffd}", "whole \u{1f600}"]);
    let repaired: Vec<_> = seen.iter().map(|seen| seen.repaired).collect();
    assert_eq!(repaired, [false, true, false, false, false, false]);
    assert_eq!(seen[0].metadata[0], None);
    assert_eq!(seen[3].status, Some(DocumentStatus::Empty));
    assert_eq!(seen[4].status, Some(DocumentStatus::ParseError));
    assert_eq!(seen[5].text, "six");
}

#[test]
fn a_line_that_names_the_delimiter_is_above_the_header() {
    for content in ["sep=;\r\nid;text\r\n1;a, b\r\n", "SEP=\t\n\nid\ttext\n1\ta, b"] {
        let (_folder, mut settings) = one_file("x.csv", content.as_bytes());
        for block_bytes in 1..40 {
            settings.block_bytes = Some(block_bytes);
            let seen = read_all(&settings).unwrap();
            assert_eq!((seen[0].id.as_str(), seen[0].text.as_str()), ("1", "a, b"));
            assert_eq!(seen.len(), 1);
        }
    }
}

#[test]
fn any_number_of_blank_lines_is_above_a_header() {
    let content = format!("{}id,text\n1,a\n", "\r\n".repeat(1 << 20));
    let (_folder, settings) = one_file("x.csv", content.as_bytes());
    let begin = std::time::Instant::now();
    assert_eq!(read_all(&settings).unwrap()[0].text, "a");
    assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
}

#[test]
fn a_file_may_be_named_like_a_variable() {
    let (_folder, mut settings) = one_file("my$file.jsonl", b"{\"text\":\"a\"}");
    settings.input = vec!["my$file.jsonl".into()];
    assert_eq!(read_all(&settings).unwrap()[0].text, "a");
}

#[test]
fn a_dot_leads_into_an_object_unless_the_key_has_it() {
    let lines = br#"{"a":{"b":{"c":"deep"},"b.c":"dotted","n":5},"a.b":{"c":"other"}}
{"a":{"b":{"c":["x","y"]}},"m":{"a":0}}
{"a.b.c":"whole"}
{"a":"flat"}
"#;
    let texts = |name| {
        let seen = documents_of(&[name], lines);
        seen.into_iter().map(|seen| seen.text).collect::<Vec<_>>()
    };
    let empty = "f@224: no text under `a.b.c`";
    assert_eq!(texts("a.b.c"), ["other", "x\ny", "whole", empty]);
    assert_eq!(texts("a.n")[0], "5");
}

#[test]
fn a_dot_leads_into_the_objects_of_an_array() {
    let lines = br#"{"a":[{"b":"one"},{"c":1},{"b":["two","three"]},{"b":null},[{"b":"four"}]]}
{"a":[{"c":1}]}
{"a":[]}
"#;
    let seen = documents_of(&["a.b"], lines);
    let texts: Vec<_> = seen.iter().map(|seen| seen.text.as_str()).collect();
    let empty = |offset| format!("f@{offset}: no text under `a.b`");
    assert_eq!(texts, ["one\ntwo\nthree\nfour", &empty(176), &empty(192)]);
}

#[test]
fn lines_without_id_or_text_are_called_after_their_place() {
    let seen = documents(b"{\"text\":\"a\"}\r\n \r\n{\"id\":\"\",\"text\":null}");
    let ids: Vec<_> = seen.iter().map(|seen| seen.id.as_str()).collect();
    assert_eq!(ids, ["f@100", "f@117"]);
    assert_eq!(seen[1].status, Some(DocumentStatus::Empty));
}

#[test]
fn a_record_without_an_object_or_text_is_a_parse_error_with_its_place() {
    for line in [
        "nonsense",
        "[1]",
        "\"a\"",
        "{\"id\":1",
        "{} {}",
        "{\"text\":{}}",
        "{\"text\":[1]}",
        "{\"a\":01}",
    ] {
        let seen = &documents(line.as_bytes())[0];
        assert_eq!(seen.status, Some(DocumentStatus::ParseError), "{line}");
        assert!(seen.text.starts_with("f@100: "), "{}", seen.text);
    }
}

#[test]
fn a_document_that_is_left_out_keeps_its_id_group_and_metadata() {
    let lines = br#"{"id":"a","g":"v","m":1,"text":{}}
{"id":"b","g":"v","m":1,"c":{"x":99}}
{"id":"c","g":"v","m":1,"c":{"x":0.5}}
"#;
    let (_folder, mut settings) = one_file("x.jsonl", lines);
    settings.group = Some("g".into());
    settings.metadata = vec!["m".into()];
    settings.max_document_bytes = 100;
    let text = read_all(&settings).unwrap().remove(0);
    settings.counts = Some("c".into());
    let counts = read_all(&settings).unwrap().split_off(1);
    let [large, wrong] = [DocumentStatus::TooLarge, DocumentStatus::ParseError];
    for (seen, id, status) in
        [(&text, "a", wrong), (&counts[0], "b", large), (&counts[1], "c", wrong)]
    {
        assert_eq!((&seen.id[..], seen.status), (id, Some(status)));
        assert_eq!(seen.group.as_deref(), Some("v"), "{id}");
        assert_eq!(seen.metadata, [Some("1".to_owned())], "{id}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_and_reported() {
    let seen = documents(b"{\"id\":\"a\",\"text\":\"\xff!\"}\n{\"id\":\"b\",\"text\":\"c\"}\n");
    assert_eq!((seen[0].text.as_str(), seen[0].repaired), ("\u{fffd}!", true));
    assert_eq!((seen[1].text.as_str(), seen[1].repaired), ("c", false));
}

#[test]
fn markup_is_removed_from_texts_alone() {
    for (name, content) in [
        ("a.jsonl", "{\"id\": \"<1>\", \"text\": \"<p>AT&amp;T &lt;b&gt;</p>\"}\n"),
        ("a.csv", "id,text\n<1>,<p>AT&amp;T &lt;b&gt;</p>\n"),
    ] {
        let (_folder, mut settings) = one_file(name, content.as_bytes());
        let read = |settings: &CorpusSettings| {
            let seen = read_all(settings).unwrap().remove(0);
            (seen.id, seen.text)
        };
        let (id, text) = read(&settings);
        assert_eq!((&id[..], &text[..]), ("<1>", "<p>AT&amp;T &lt;b&gt;</p>"));
        settings.markup = Markup::Remove;
        let (id, text) = read(&settings);
        assert_eq!((&id[..], text.trim()), ("<1>", "AT&T <b>"));
    }
    let (_folder, mut settings) = one_file("a.html", b"<h1>One</h1>two");
    settings.markup = Markup::Remove;
    assert_eq!(read_all(&settings).unwrap()[0].text, "\nOne\ntwo");
}

#[test]
fn tables_without_a_header_have_numbered_columns() {
    for (name, content) in [
        ("a.csv", "\u{feff}\n7,\"one\ntwo\"\n8,three\n9,four\n"),
        ("a.tsv", "\n7\tone two\n8\tthree\n\n9\tfour"),
    ] {
        let (_folder, mut settings) = one_file(name, content.as_bytes());
        (settings.header, settings.id) = (false, "1".into());
        settings.text = vec!["2".into()];
        for block_bytes in [None, Some(1), Some(12)] {
            settings.block_bytes = block_bytes;
            let seen = read_all(&settings).unwrap();
            let ids: Vec<_> = seen.iter().map(|seen| &seen.id[..]).collect();
            assert_eq!(ids, ["7", "8", "9"], "{name} {block_bytes:?}");
            assert!(seen[0].text.starts_with("one") && seen[0].text.ends_with("two"));
        }
        settings.text = vec!["3".into()];
        let error = read_all(&settings).unwrap_err().to_string();
        assert!(error.contains("`3`"), "{error}");
    }
}
