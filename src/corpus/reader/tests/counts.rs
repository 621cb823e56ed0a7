//! Formats of counts: what they hold, and what breaks them.

use super::*;

/// The documents of a file.
fn read(name: &str, content: &str, change: impl FnOnce(&mut CorpusSettings)) -> Vec<Seen> {
    let (_folder, mut settings) = one_file(name, content.as_bytes());
    change(&mut settings);
    read_all(&settings).unwrap()
}

#[test]
fn a_key_of_json_lines_holds_the_counts() {
    let content = concat!(
        r#"{"id": "a", "unigramCount": {"The": 2, "whale": 1.0, "": 1}, "text": "not read"}"#,
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
    assert_eq!(seen[0].text, ":1 The:2 whale:1");
    assert_eq!(seen[1].status, Some(DocumentStatus::Empty));
    let wrong = Some(DocumentStatus::ParseError);
    assert_eq!([seen[2].status, seen[3].status], [wrong, wrong]);
    let told = "`unigramCount` holds 0.5 for `x`, not a count; name a key";
    assert!(seen[2].text.contains(told), "{}", seen[2].text);
}
