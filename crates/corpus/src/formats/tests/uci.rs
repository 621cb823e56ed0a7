//! Bags of words: documents without entries, broken numbers, truncated files.

use super::*;

/// Reads a bag of words over the terms the, of, and.
fn bag(content: &str, change: impl FnOnce(&mut CorpusSettings)) -> Result<Vec<Seen>, InputError> {
    let (_folder, mut settings) = sample("docword.x.txt", content.as_bytes());
    change(&mut settings);
    read_all(&settings)
}

fn texts(seen: &[Seen]) -> Vec<String> {
    let text = |seen: &Seen| seen.status.map_or(seen.text.clone(), |status| status.to_string());
    seen.iter().map(text).collect()
}

#[test]
fn documents_without_entries_stand_in_their_places() {
    let seen = bag("4\n3\n4\n2 3 1\n2 1 2\n2 3 4\n2 2 0\n", |_| {}).unwrap();
    assert_eq!(texts(&seen), ["empty", "and:1 the:2 and:4", "empty", "empty"]);
    assert_eq!(seen[3].id, "4");
    assert_eq!(bag("0\n3\n0\n", |_| {}).unwrap(), []);
}

#[test]
fn what_breaks_the_format_is_an_error_with_its_line() {
    let error = |content: &str, block_bytes: u64| {
        bag(content, |settings| settings.block_bytes = Some(block_bytes)).unwrap_err().to_string()
    };
    for block_bytes in [1, 7, 100] {
        let check = |content: &str, line: &str, what: &str| {
            let error = error(content, block_bytes);
            assert!(error.contains(line) && error.contains(what), "{block_bytes}: {error}");
        };
        check(
            "3\n3\n3\n1 1 1\n3 1 1\n2 1 1\n",
            "docword.x.txt, line ",
            "numbers must not decrease",
        );
        check("2\n3\n2\n1 1 1\n3 1 1\n", "line 5: ", "document 3");
        check("2\n3\n2\n1 1 1\n2 4 1\n", "line 5: ", "term 4 is not one of 1 to 3");
        check("2\n3\n2\n1 1 1\n2 x 1\n", "line 5: ", "`2 x 1`");
        check("2\n3\n3\n1 1 1\n2 1 1\n", "line 5: ", "has 2 entries, but its header says 3");
        check("2\n3\n1\n1 1 1\n2 1 1\n", "line 4: ", "has 2 entries");
        check("2\n3\n3\n1 1 1\n2 1 1\n\n\n", "line 5: ", "has 2 entries, but its header says 3");
        check("2\n3\n2\n1 1 1\n\n2 1 1\n", "line 5: ", "three whole numbers, not ``");
        check("2\n4\n1\n1 1 1\n", "line 2: ", "vocab.x.txt has 3");
        check("2\nmany\n", "line 2: ", "number of terms");
        for documents in ["5000000", "18446744073709551615"] {
            let content = format!("{documents}\n3\n1\n1 1 1\n");
            check(&content, "line 1: ", "for the number of entries (1)");
        }
    }
}

#[test]
fn blank_lines_may_follow_the_entries() {
    for block_bytes in [1, 7, 100] {
        let seen = bag("3\n3\n2\n1 1 1\n2 2 1\n\n \n\n\n\n\n\n\n", |settings| {
            settings.block_bytes = Some(block_bytes);
        });
        assert_eq!(texts(&seen.unwrap()), ["the:1", "of:1", "empty"]);
    }
}

#[test]
fn a_file_cut_short_accounts_for_every_document() {
    for block_bytes in [1, 12, 100] {
        let seen = bag("5\n3\n9\n1 1 1\n1 2 1\n3 1 1\n3 2", |settings| {
            settings.on_damage = OnDamage::Keep;
            settings.block_bytes = Some(block_bytes);
        });
        let lost = "truncated";
        assert_eq!(texts(&seen.unwrap()), ["the:1 of:1", "empty", lost, lost, lost]);
    }
}

#[test]
fn a_document_with_too_many_entries_is_too_large() {
    let entries = "2 1 1\n".repeat(50);
    let content = format!("3\n3\n52\n1 1 1\n{entries}3 2 1\n");
    for block_bytes in [1, 10, 70, 1000] {
        let seen = bag(&content, |settings| {
            settings.max_document_bytes = 100;
            settings.block_bytes = Some(block_bytes);
        });
        let seen = seen.unwrap();
        assert_eq!(texts(&seen), ["the:1", "too_large", "of:1"]);
        let reason = &seen[1].text;
        assert!(reason.starts_with("2: 0.0002852 MiB"), "{reason}");
    }
}
