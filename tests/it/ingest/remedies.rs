//! The remedy of an error works: it is applied to the situation that the error describes, and the answer is another.

use std::fs::{self, File};

use crate::workdir::{Workdir, said};

use super::fixture::{Fixture, gzip};

const SEA: &str = "the whale and the ship in the harbour with the sailors of the ocean storm";

/// Returns a table of texts below this header.
fn table(header: &str) -> String {
    let row = |i: usize| format!("{i},{SEA}\n");
    format!("{header}\n{}", (0..20).map(row).collect::<String>())
}

/// Returns objects with texts, and this after each.
fn objects(end: &str) -> String {
    let object = |i: usize| format!("{{\"id\": {i}, \"text\": \"{SEA}\"}}{end}");
    (0..20).map(object).collect()
}

/// A situation, the error that it causes, and what the error says to do.
struct Case {
    files: Vec<(&'static str, Vec<u8>)>,
    /// Flags of `new`; the input is the folder `in`, unless they name another.
    flags: &'static str,
    /// Parts of the error and its help.
    error: [&'static str; 2],
    remedy: Remedy,
}

enum Remedy {
    /// Write this file.
    Write(&'static str, Vec<u8>),
    /// Leave out the first lines of this file, as many as the help says.
    Tail(&'static str),
    /// Pass these flags.
    Flags(&'static str),
    /// Pass this file on standard input.
    Pipe(&'static str),
}

fn case(
    files: Vec<(&'static str, Vec<u8>)>,
    flags: &'static str,
    error: [&'static str; 2],
    remedy: Remedy,
) -> Case {
    Case { files, flags, error, remedy }
}

fn cases() -> Vec<Case> {
    use Remedy::{Flags, Pipe, Tail, Write};
    let csv = || table("id,text").into_bytes();
    let titled = |title: &str| format!("{title}{}", table("id,text")).into_bytes();
    let joined = || vec![("in/a.jsonl", objects("").into_bytes()), ("in/b.csv", csv())];
    let rows = table("id,text");
    let utf_16 = rows.encode_utf16().flat_map(u16::to_le_bytes);
    let utf_16: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf_16).collect();
    vec![
        case(
            joined(),
            "in",
            ["a.jsonl: no line is a JSON object", "jq -c ."],
            Write("in/a.jsonl", objects("\n").into_bytes()),
        ),
        case(
            joined(),
            "in/a.jsonl --set corpus.format=jsonl",
            ["no line is a JSON object", "jq -c ."],
            Write("in/a.jsonl", objects("\n").into_bytes()),
        ),
        case(
            vec![("in/a.csv", titled("# made in 2020\n"))],
            "in",
            ["the header is not line 1: from line 2 on, rows have 2 fields", "tail -n +2 in/a.csv"],
            Tail("in/a.csv"),
        ),
        case(
            vec![("in/a.csv", titled("A survey\nof 2020\n\n"))],
            "in",
            ["the header is not line 1: from line 3 on", "tail -n +3 in/a.csv"],
            Tail("in/a.csv"),
        ),
        case(
            vec![("in/a.csv", csv()), ("in/b.csv", table("id,body").into_bytes())],
            "in",
            ["only some files have: body, text", "pass only files with the same columns"],
            Flags("in/a.csv"),
        ),
        case(
            vec![("in/a.csv", csv()), ("in/b.csv", table("id,body").into_bytes())],
            "in",
            ["only some files have", "give these the same names"],
            Write("in/b.csv", csv()),
        ),
        case(
            vec![("in/a.csv", Vec::new())],
            "in",
            ["every file is empty", "write the documents to them again"],
            Write("in/a.csv", csv()),
        ),
        case(
            vec![("in/a.csv", b"id,text\n".to_vec())],
            "in",
            ["no row below the header", "pass more files"],
            Write("in/b.csv", csv()),
        ),
        case(
            vec![("in/a.json", b"[]\n".to_vec())],
            "in",
            ["no document", "pass more files"],
            Write("in/b.json", format!("[{}]", objects(",").trim_end_matches(',')).into_bytes()),
        ),
        case(
            vec![("in/a.csv", table("id,text\n0,\"open").into_bytes())],
            "in",
            ["only one document", "close the quote"],
            Write("in/a.csv", table("id,text\n0,\"open\"").into_bytes()),
        ),
        case(
            vec![("in/a.docx", b"PK\x03\x04\0\0".to_vec())],
            "in/a.docx",
            ["is zip, which is not supported", "pandoc -t plain"],
            Flags("in/b.csv"),
        ),
        case(
            vec![("in/a.csv", utf_16)],
            "in",
            ["is UTF-16, which is not supported", "iconv -f UTF-16 -t UTF-8"],
            Write("in/a.csv", csv()),
        ),
        case(
            vec![("in/a.csv", csv())],
            "in --text texd",
            ["no column `texd`", "did you mean `text`?"],
            Flags("in --text text"),
        ),
        case(
            vec![("in/a.csv", csv())],
            "on/*.csv",
            ["no file matches `on/*.csv`", "correct the pattern"],
            Flags("in/*.csv"),
        ),
        case(
            vec![("in/a.csv", csv())],
            "in --language englsh",
            ["'englsh'", "did you mean `english`?"],
            Flags("in --language english"),
        ),
        case(
            vec![("in/a.txt", format!("{SEA}\n").repeat(20).into_bytes())],
            "in/a.txt",
            ["only one document", "topicmill topics - < in/a.txt"],
            Pipe("in/a.txt"),
        ),
    ]
}

#[test]
fn what_an_error_advises_leads_to_another_answer() {
    for case in cases() {
        let place = Workdir::new();
        fs::create_dir(place.path("in")).expect("made");
        case.files.iter().for_each(|(name, content)| place.write(name, content));
        // What another file or input is.
        if matches!(case.remedy, Remedy::Flags("in/b.csv")) {
            place.write("in/b.csv", table("id,text"));
        }
        let line = |flags: &str| format!("new {flags} --output job.toml");
        let refused = place.output(&line(case.flags));
        let told = said(&refused);
        assert!(!refused.status.success(), "{}: {told}", case.flags);
        for part in case.error {
            assert!(told.contains(part), "{}: {part}: {told}", case.flags);
        }
        let mut flags = case.flags;
        match &case.remedy {
            Remedy::Write(name, content) => place.write(name, content),
            Remedy::Flags(others) => flags = others,
            Remedy::Tail(name) => {
                let (_, from) = told.split_once("tail -n +").expect("advised");
                let from: usize =
                    from.split(' ').next().and_then(|n| n.parse().ok()).expect("a line");
                let content = fs::read_to_string(place.path(name)).expect("readable");
                let rest = content.split_inclusive('\n').skip(from - 1);
                place.write(name, rest.collect::<String>());
            }
            Remedy::Pipe(name) => {
                let mut command = place.command(&line("-"));
                let output = command.stdin(File::open(place.path(name)).expect("there")).output();
                let output = output.expect("it starts");
                assert!(output.status.success(), "{}", said(&output));
                continue;
            }
        }
        let answer = place.output(&line(flags));
        assert!(answer.status.success(), "{}: {told}\n{}", case.flags, said(&answer));
    }
}

#[test]
fn what_an_error_of_ingest_advises_is_ingested() {
    let line = |text: &str| format!("{{\"text\": \"{text}\"}}\n");
    let torn = gzip(line(SEA).repeat(500).as_bytes());
    let open = format!("text\n{SEA}\n\"open\n");
    let unread = format!("{}{}", line(SEA), "{\"text\": \"torn\n".repeat(9));
    for (name, content, error, advised) in [
        (
            "a.jsonl.gz",
            &torn[..torn.len() / 2],
            "corpus.on_damage = \"keep\"",
            "corpus.on_damage=keep",
        ),
        ("a.csv", open.as_bytes(), "corpus.on_damage = \"keep\"", "corpus.on_damage=keep"),
        ("a.csv", b"txt\na whale\n", "did you mean `txt`?", "corpus.text=txt"),
        ("a.tex", b"a whale", "set corpus.format = \"text\"", "corpus.format=text"),
        ("a.csv", b"text\nThe\n", "shorten vocabulary.stop_words", "vocabulary.stop_words=none"),
        ("a.jsonl", b"{\"body\": \"a whale\"}\n", "check corpus.text", "corpus.text=body"),
    ] {
        let fixture = Fixture::new();
        fixture.write(name, content);
        let job =
            |more: &[&str]| fixture.job("out", &[&["vocabulary.stop_words=en"], more].concat());
        let refused = fixture.ingest(1, &job(&[])).unwrap_err().to_string();
        assert!(refused.contains(error), "{name}: {refused}");
        let read = fixture.ingest(1, &job(&[advised]));
        assert!(read.is_ok(), "{name}: {advised}: {read:?}");
    }
    // What could not be read comes before any advice about the vocabulary.
    let fixture = Fixture::new();
    fixture.write("a.jsonl", &unread);
    let job = fixture.job("out", &["vocabulary.min_documents=2"]);
    let refused = fixture.ingest(1, &job).unwrap_err().to_string();
    assert!(refused.starts_with("9 of 10 documents could not be read"), "{refused}");
    assert!(
        refused.contains(&format!("in/a.jsonl@{}: not a JSON object", line(SEA).len())),
        "{refused}"
    );
    assert!(!refused.contains("min_documents"), "{refused}");
}

#[test]
fn what_is_no_text_among_others_has_a_row() {
    let fixture = Fixture::new();
    fixture.write("a.txt", SEA);
    for (name, start) in [
        ("b.docx", &b"PK\x03\x04\x14\0"[..]),
        ("b.epub", b"PK\x03\x04"),
        ("b.pdf", b"%PDF-1.7\n1 0 obj\n"),
        ("b.png", b"\x89PNG\r\n\x1a\n\0\0"),
        ("b.7z", b"7z\xbc\xaf'\x1c\0\x04"),
        ("b.rtf", b"{\\rtf1 a whale}"),
        ("b.xz", b"\xfd7zXZ\0\0"),
        ("b.tar", &[&[b'a'; 100][..], &[0; 157], b"ustar\0"].concat()),
    ] {
        fixture.write(name, start);
    }
    let found = fixture.ingest(2, &fixture.job("out", &[])).unwrap();
    let statuses = &found.collection.documents_by_status;
    assert_eq!((statuses["ok"], statuses["parse_error"]), (1, 8));
    assert!(found.remarks[0].contains("b.7z: has NUL bytes"), "{:?}", found.remarks);
    assert!(
        found.remarks[1].contains("b.docx: is zip, not text; convert it"),
        "{:?}",
        found.remarks
    );
}
