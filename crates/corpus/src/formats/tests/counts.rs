//! Formats of counts: their content and their errors.

use super::*;

fn read(name: &str, content: &str, change: impl FnOnce(&mut CorpusSettings)) -> Vec<Seen> {
    let (_folder, mut settings) = one_file(name, content.as_bytes());
    change(&mut settings);
    read_all(&settings).unwrap()
}

#[test]
fn a_key_of_json_lines_holds_the_counts() {
    let content = concat!(
        r#"{"id": "a", "unigramCount": {"The": 2, "whale": 1.0, "": 1, "whale": 3}, "text": "not read"}"#,
        "\n",
        r#"{"id": "b", "unigramCount": null}"#,
        "\n",
        r#"{"id": "c", "unigramCount": {"x": 0.5}}"#,
        "\n",
        r#"{"id": "d", "unigramCount": ["x"]}"#,
        "\n",
    );
    let seen = read("x.jsonl", content, |settings| {
        settings.counts = Some("unigramCount".into());
    });
    assert_eq!(seen[0].text, "The:2 whale:1 :1 whale:3");
    assert_eq!(seen[1].status, Some(DocumentStatus::Empty));
    let wrong = Some(DocumentStatus::ParseError);
    for (seen, told) in [
        (&seen[2], "holds 0.5 for `x`, not a count; name a key"),
        (&seen[3], "is not an object; name a key"),
    ] {
        assert_eq!(seen.status, wrong);
        let told = format!("`unigramCount` {told}");
        assert!(seen.text.contains(&told), "{}", seen.text);
    }
}

#[test]
fn counts_beyond_any_text_are_errors_or_too_large() {
    let content = "{\"id\":1,\"c\":{\"a\":1000}}\n{\"id\":2,\"c\":{\"a\":1000,\"b\":1001}}\n{\"id\":3,\"c\":{\"a\":1e300}}";
    let seen = read("x.jsonl", content, |settings| {
        settings.counts = Some("c".into());
        settings.max_document_bytes = 4_000;
    });
    let statuses: Vec<_> = seen.iter().map(|seen| seen.status).collect();
    let [large, wrong] = [DocumentStatus::TooLarge, DocumentStatus::ParseError];
    assert_eq!(statuses, [None, Some(large), Some(wrong)]);
    assert_eq!(seen[1].id, "2");
    let told = told("x.svm", "1 1:99999999999 # a\n1 1:2000000 # b\n1 1:3 # c", "");
    assert!(told[0].starts_with("parse_error") && told[1].starts_with("too_large"));
}

/// Returns the ids and counts, or the problems, of a file with a vocabulary beside it, which are the same in blocks of
/// any size.
fn told(name: &str, content: &str, vocabulary: &str) -> Vec<String> {
    let (folder, mut settings) = one_file(name, content.as_bytes());
    if !vocabulary.is_empty() {
        std::fs::write(folder.path().join("x.vocab"), vocabulary).unwrap();
    }
    if name != "x.ldac" {
        settings.metadata = vec!["label".into()];
    }
    let whole = read_all(&settings).unwrap();
    for block_bytes in 1..=content.len() as u64 {
        settings.block_bytes = Some(block_bytes);
        assert_eq!(read_all(&settings).unwrap(), whole);
    }
    let label = |seen: &Seen| seen.metadata.first().cloned().flatten();
    let told = |seen: &Seen| match (seen.status, label(seen)) {
        (None, None) => format!("{}: {}", seen.id, seen.text),
        (None, Some(label)) => format!("{} ({label}): {}", seen.id, seen.text),
        (Some(status), None) => format!("{status} {}", seen.text),
        (Some(status), Some(label)) => format!("{status} ({label}) {}", seen.text),
    };
    whole.iter().map(told).collect()
}

#[test]
fn svmlight_numbers_are_terms_or_stand_for_them() {
    let content = "# by hand\n+1 qid:3 1:2 3:1.0 # d 1\n\n0\n2:5 1:1\n-1 1:0.5\n1 x:1\n";
    let place = |what: &str| format!("x.svm@{what}");
    let own = told("x.svm", content, "");
    assert_eq!(own[0], "d 1 (+1): 1:2 3:1");
    assert_eq!(own[1], place("36 (0): "));
    assert_eq!(own[2], place("38: 2:5 1:1"));
    assert!(own[3].starts_with("parse_error (-1) x.svm@46: `1:0.5`"), "{}", own[3]);
    assert!(own[4].starts_with("parse_error (1) x.svm@55: `x:1`"), "{}", own[4]);
    let named = told("x.svm", content, "whale\nof\nsea\n");
    assert_eq!(named[0], "d 1 (+1): whale:2 sea:1");
    let wrong = told("x.svm", "1 4:1\n1 0:1", "whale\nof\nsea\n");
    for (told, number) in wrong.iter().zip([4, 0]) {
        let expected = format!("term {number} is not one of 1 to 3");
        assert!(told.contains(&expected), "{told}");
    }
}

#[test]
fn lda_c_numbers_stand_for_terms_from_0() {
    let told = told("x.ldac", "2 0:2 2:1\n0\n3 0:1\n1 3:1\n", "whale\nof\nsea\n");
    assert_eq!(told[..2], ["x.ldac@0: whale:2 sea:1", "x.ldac@10: "]);
    assert!(told[2].contains("begins with `3`, but the number of its terms is 1"), "{}", told[2]);
    assert!(told[3].contains("term 3 is not one of 0 to 2"), "{}", told[3]);
}

#[test]
fn vowpal_wabbit_names_its_terms() {
    let content =
        "1 'd1|text whale:2 sea |more:0.5 a:b:3\nd2| x\n| y:1\n2 1.5 | z\nno bar\n1 | x:0.5\n";
    let told = told("x.vw", content, "");
    assert_eq!(told[0], "d1 (1): whale:2 sea:1 a:b:3");
    assert_eq!(told[1..4], ["d2: x:1", "x.vw@45: y:1", "x.vw@51 (2): z:1"]);
    assert!(told[4].contains("no `|`"), "{}", told[4]);
    assert!(told[5].contains("`0.5` is not a count"), "{}", told[5]);
}

#[test]
fn matrix_market_is_a_bag_of_words_with_another_header() {
    let read = |content: &str| {
        let (folder, mut settings) = one_file("x.mtx", content.as_bytes());
        std::fs::write(folder.path().join("x.vocab.txt"), "the\nof\nand\n").unwrap();
        let whole = read_all(&settings).map_err(|error| error.to_string());
        for block_bytes in [1, 20, 50] {
            settings.block_bytes = Some(block_bytes);
            let seen = read_all(&settings).map_err(|error| error.to_string());
            assert!(whole.is_err() || seen == whole);
        }
        whole
    };
    let banner = "%%MatrixMarket matrix coordinate real general\n";
    let seen = read(&format!("{banner}% a\n%\n3 3 3\n1 1 2\n1 3 1.0\n3 2 9\n")).unwrap();
    let texts: Vec<_> = seen.iter().map(|seen| (&*seen.id, &*seen.text)).collect();
    assert_eq!((texts[0], texts[2]), (("1", "the:2 and:1"), ("3", "of:9")));
    assert_eq!(seen[1].status, Some(DocumentStatus::Empty));
    let comment = "x".repeat(5000);
    let seen = read(&format!("{banner}% {comment}\n1 3 1\n1 1 2\n")).unwrap();
    assert_eq!(seen[0].text, "the:2");
    for (content, what) in [
        ("3 3 3\n1 1 2\n", "line 1: expected `%%MatrixMarket"),
        (&banner.replace("general", "symmetric"), "line 1: "),
        (&format!("{banner}3 3\n"), "line 2: expected the numbers of documents"),
        (&format!("{banner}3 4 0\n"), "line 2: the file has 4 terms"),
        (&format!("{banner}3 3 2\n1 1 1\n"), "but its header says 2"),
        (&format!("{banner}3 3 2\n2 1 1\n1 1 1\n"), "sort the entries by document"),
        (&format!("{banner}3 3 1\n2 1 0.5\n"), "line 3: expected"),
    ] {
        let error = read(content).unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}
