//! MALLET's lines.

use super::*;

#[test]
fn a_line_is_an_id_a_label_and_a_text() {
    let content = "d1 en The whale, swims\r\n\n  d2\t,de , Der Wal \nd3 en\nd4\n";
    let (_folder, mut settings) = one_file("x.txt", content.as_bytes());
    settings.format = Some("mallet".into());
    settings.metadata = vec!["label".into()];
    let whole = read_all(&settings).unwrap();
    let told = |seen: &Seen| {
        let text = seen.status.map_or(&*seen.text, |status| status.name());
        format!("{} {:?} {text}", seen.id, seen.metadata[0].as_deref())
    };
    let told: Vec<String> = whole.iter().map(told).collect();
    let expected = [
        "d1 Some(\"en\") The whale, swims",
        "d2 Some(\"de\") Der Wal",
        "d3 Some(\"en\") empty",
        "d4 None empty",
    ];
    assert_eq!(told, expected);
    for block_bytes in 1..=content.len() as u64 {
        settings.block_bytes = Some(block_bytes);
        assert_eq!(read_all(&settings).unwrap(), whole);
    }
    settings.metadata = vec!["lable".into()];
    let error = read_all(&settings).unwrap_err().to_string();
    assert!(error.contains("did you mean `label`?"), "{error}");
}
