//! Files that break off, change or go wrong, and documents over the limit: all are accounted for.

use super::*;

#[test]
fn a_truncated_gzip_fails_or_keeps_what_was_read() {
    // Lines that hardly compress, so that half of the bytes contains half of the lines.
    let line = |number: u64| {
        format!(
            "{{\"id\":{number},\"text\":\"{:x}\"}}\n",
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        )
    };
    let lines: String = (0..20_000).map(line).collect();
    let packed = gzip(lines.as_bytes());
    let (_folder, mut settings) = one_file("x.jsonl.gz", &packed[..packed.len() / 2]);
    for block_bytes in [Some(10_000), None] {
        settings.block_bytes = block_bytes;
        settings.on_damage = OnDamage::Fail;
        let error = read_all(&settings).unwrap_err().to_string();
        assert!(
            error.contains("x.jsonl.gz: damaged after") && error.contains("on_damage"),
            "{error}"
        );
        settings.on_damage = OnDamage::Keep;
        let seen = read_all(&settings).unwrap();
        let (last, kept) = seen.split_last().unwrap();
        assert_eq!(last.status, Some(DocumentStatus::Truncated));
        assert!((5_000..15_000).contains(&kept.len()), "{}", kept.len());
        assert!(kept.iter().enumerate().all(|(number, seen)| seen.id == number.to_string()));
    }
}

#[test]
fn damaged_texts_headers_and_bags_are_accounted_for() {
    for (name, content) in samples() {
        let packed = gzip(content.as_bytes());
        for length in [5, 15, packed.len() - 1] {
            let (_folder, mut settings) = sample(&format!("{name}.gz"), &packed[..length]);
            let error = read_all(&settings).unwrap_err().to_string();
            let is_told =
                ["damaged after", "breaks off in its header"].map(|it| error.contains(it));
            assert_ne!(is_told, [false; 2], "{length}: {error}");
            settings.on_damage = OnDamage::Keep;
            // A bag of words without its header has no documents to account for.
            if let Ok(seen) = read_all(&settings) {
                assert_eq!(seen.last().unwrap().status, Some(DocumentStatus::Truncated), "{name}");
            } else {
                assert_eq!(name, "docword.x.txt");
            }
        }
    }
}

#[test]
fn a_bag_that_breaks_off_is_reported_at_the_missing_line() {
    let packed = gzip(b"3\n");
    let (_folder, settings) = sample("docword.x.txt.gz", &packed[..packed.len() - 8]);
    let error = read_all(&settings).unwrap_err().to_string();
    assert!(error.contains("line 2: the file breaks off"), "{error}");
}

#[test]
fn a_bag_that_breaks_off_after_its_header_accounts_for_every_document() {
    let packed = gzip(b"3\n3\n2\n");
    let (_folder, mut settings) = sample("docword.x.txt.gz", &packed[..packed.len() - 8]);
    let error = read_all(&settings).unwrap_err().to_string();
    assert!(error.contains("damaged after 6 bytes"), "{error}");
    settings.on_damage = OnDamage::Keep;
    let seen = read_all(&settings).unwrap();
    let status: Vec<_> = seen.iter().map(|seen| seen.status).collect();
    assert_eq!(status, [Some(DocumentStatus::Truncated); 3]);
}

/// Checks that everything from `open` on is lost, wherever the file is cut, and its place is named.
fn assert_rest_is_lost(name: &str, kept: &str, open: &str, what: &str) {
    let content = format!("{kept}{open}");
    for (name, bytes) in [
        (name.to_owned(), content.clone().into_bytes()),
        (format!("{name}.gz"), gzip(content.as_bytes())),
    ] {
        let (_folder, mut settings) = one_file(&name, &bytes);
        for (block_bytes, limit) in (1..=content.len() as u64 + 1)
            .chain([u64::MAX])
            .flat_map(|block_bytes| [(block_bytes, 1 << 20), (block_bytes, 30)])
        {
            settings.block_bytes = Some(block_bytes);
            settings.max_document_bytes = limit;
            settings.on_damage = OnDamage::Fail;
            let error = read_all(&settings).unwrap_err().to_string();
            let place = format!("{name}: damaged after {} bytes", kept.len());
            assert!(error.contains(&place) && error.contains(what), "{error}");
            settings.on_damage = OnDamage::Keep;
            let seen = read_all(&settings).unwrap();
            let ids: Vec<_> = seen.iter().map(|seen| seen.id.clone()).collect();
            let lost = format!("{name}@{}", kept.len());
            assert_eq!(ids, ["1".to_owned(), "2".to_owned(), lost]);
            assert_eq!(seen[2].status, Some(DocumentStatus::Truncated));
        }
    }
}

#[test]
fn a_quote_that_is_never_closed_does_not_swallow_rows_in_silence() {
    let kept = "id,text\n1,a\n2,\"b\nc\"\n";
    for open in ["3,\"c\n4,d\n5,some more words\n6,e\n", "3,\"", "3,\"c\"\"\n"] {
        assert_rest_is_lost("x.csv", kept, open, "unclosed");
    }
    let (_folder, settings) = one_file("x.csv", b"id,\"text\n1,a\n");
    let error = read_all(&settings).unwrap_err().to_string();
    assert!(error.contains("unclosed"), "{error}");
}

#[test]
fn a_brace_or_quote_that_is_never_closed_does_not_swallow_objects_in_silence() {
    let kept = "[{\"id\":1,\"text\":\"a\"},\n{\"id\":2,\"text\":\"b\"}";
    for open in [
        ",\n{\"id\":3,\"text\":\"c\",\n{\"id\":4,\"text\":\"d\"}\n]\n",
        ",\n{\"id\":3,\"text\":\"c},\n{\"id\":4}]\n",
        ",\n{",
    ] {
        assert_rest_is_lost("x.json", kept, open, "unclosed");
    }
}

#[test]
fn binary_files_and_archives_are_no_texts() {
    let (_folder, settings) = one_file("x.txt", b"\x89PNG\r\n\0\0\0\rIHDR");
    let seen = &read_all(&settings).unwrap()[0];
    assert_eq!(seen.status, Some(DocumentStatus::ParseError));
    assert!(seen.text.contains("NUL bytes"), "{}", seen.text);
    let (_folder, settings) = one_file("x.txt", b"\xff\xfet\0e\0x\0t\0");
    assert_eq!(read_all(&settings).unwrap()[0].text, "text");
    let archive = [&[b'x'; 257][..], b"ustar\x0000", &[0; 300]].concat();
    for (name, bytes) in
        [("x.txt", archive.clone()), ("x.TAR.gz", gzip(&archive)), ("x.tgz", gzip(&archive))]
    {
        let (_folder, settings) = one_file(name, &bytes);
        let error = read_all(&settings).unwrap_err().to_string();
        assert!(error.contains("is a tar archive"), "{error}");
    }
}

#[test]
fn a_huge_line_or_file_is_too_large_and_its_neighbours_are_read() {
    let long = "x".repeat(3 << 20);
    let content = format!(
        "{{\"id\":1,\"text\":\"a\"}}\n{{\"id\":2,\"text\":\"{long}\"}}\n{{\"id\":3,\"text\":\"c\"}}\n"
    );
    for (name, bytes) in
        [("x.jsonl", content.clone().into_bytes()), ("x.jsonl.gz", gzip(content.as_bytes()))]
    {
        let (_folder, mut settings) = one_file(name, &bytes);
        for block_bytes in [30_000, 1_000_000, 10 << 20] {
            settings.block_bytes = Some(block_bytes);
            let seen = read_all(&settings).unwrap();
            let ids: Vec<_> = seen.iter().map(|seen| seen.id.clone()).collect();
            assert_eq!(ids, ["1".to_owned(), format!("{name}@20"), "3".to_owned()]);
            assert_eq!(seen[1].status, Some(DocumentStatus::TooLarge));
        }
    }
    for (name, bytes) in
        [("x.txt", long.clone().into_bytes()), ("x.txt.zst", zstandard(long.as_bytes()))]
    {
        let (_folder, settings) = one_file(name, &bytes);
        assert_eq!(read_all(&settings).unwrap()[0].status, Some(DocumentStatus::TooLarge));
    }
}

#[test]
fn a_file_that_grows_or_goes_meanwhile_is_noticed() {
    for name in ["x.jsonl", "x.txt", "x.json.bz2"] {
        let (folder, mut settings) = one_file(name, JSONL.as_bytes());
        settings.on_damage = OnDamage::Keep;
        let input = Arc::new(discover(&settings).unwrap());
        let read = || {
            let queue = BlockQueue::new(Arc::clone(&input), &settings, Share::ALL);
            let block = queue.next_block()?.unwrap();
            block.read(&settings, &mut |_| {})
        };
        let path = folder.path().join(name);
        std::fs::write(&path, JSONL.repeat(2)).unwrap();
        let error = read().unwrap_err().to_string();
        assert!(error.contains("changed while it was being read"), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(read(), Err(InputError::Unreadable { .. })), "{name} goes");
    }
}

#[test]
fn after_an_error_every_call_fails() {
    let (_folder, mut settings) = one_file("x.csv", b"a,b\n1,2\n");
    settings.block_bytes = Some(1);
    let queue = BlockQueue::new(Arc::new(discover(&settings).unwrap()), &settings, Share::ALL);
    assert!(matches!(queue.next_block(), Err(InputError::MissingColumn(_))));
    assert!(matches!(queue.next_block(), Err(InputError::Stopped)));
}
