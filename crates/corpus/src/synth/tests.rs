use super::*;

fn settings() -> SynthSettings {
    SynthSettings {
        topics: 5,
        documents: 9000,
        vocabulary: 300,
        mean_length: 6.0,
        alpha_sum: 0.5,
        seed: 1,
    }
}

/// Reads all documents' files of a corpus, in order.
fn text(folder: &Path, files: u64) -> String {
    (0..files)
        .map(|i| fs::read_to_string(folder.join(format!("documents-{i:05}.jsonl"))).unwrap())
        .collect()
}

#[test]
fn one_process_at_a_time_makes_a_corpus() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("made");
    let lock = unfinished_name(&folder).join(LOCK);
    let held = Disk.lock(&lock, LOCK_MARK).unwrap();
    let refused = synthesize(&settings(), &folder, &mut |_| ()).unwrap_err();
    assert!(matches!(refused, CorpusError::Busy(_)), "{refused}");
    // The leftovers of a killed process are replaced.
    drop(held);
    synthesize(&settings(), &folder, &mut |_| ()).unwrap();
    assert!(!unfinished_name(&folder).exists() && !folder.join(LOCK).exists());
    assert!(synthesize(&settings(), &folder, &mut |_| ()).unwrap().reused);
}

#[test]
fn documents_are_a_format() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("corpus");
    let made = synthesize(&settings(), &folder, &mut |_| ()).unwrap();
    let text = text(&folder, made.files);
    assert_eq!(
        text.lines().next().unwrap(),
        r#"{"id":"d00000000","topic":1,"text":"togo mumo nuso vilo funa vilo zazo"}"#
    );
    assert_eq!(
        words::digest(&[text]),
        "aeebe28e18968514e3b5025a0fd9c1fa40c9f7c1cb48fea9308c96bef3d9e80f"
    );
}

#[test]
fn every_document_has_a_line_and_the_summary_counts_them() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("new/corpus");
    let mut reports = Vec::new();
    let made = synthesize(&settings(), &folder, &mut |n| reports.push(n)).unwrap();
    assert_eq!(reports, [4096, 8192, 9000]);
    let text = text(&folder, made.files);
    let (mut tokens, mut empty) = (0, 0);
    for (number, line) in text.lines().enumerate() {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(json["id"], format!("d{number:08}"));
        let words = json["text"].as_str().unwrap().split_whitespace().count() as u64;
        assert_eq!(json["topic"].is_null(), words == 0);
        empty += u64::from(words == 0);
        tokens += words;
    }
    assert_eq!(made.documents, text.lines().count() as u64);
    assert_eq!((made.tokens, made.bytes), (tokens, text.len() as u64));
    // Of 9,000 Poisson(6) lengths, a share of e⁻⁶ are 0: some 22.
    assert!((5..50).contains(&empty), "{empty} empty documents");
}

#[test]
fn cutting_into_files_does_not_change_the_documents() {
    let root = tempfile::tempdir().unwrap();
    let (whole, cut) = (root.path().join("whole"), root.path().join("cut"));
    let one = synthesize(&settings(), &whole, &mut |_| ()).unwrap();
    let many = synthesize_in_files(&settings(), &cut, 50_000, &mut |_| ()).unwrap();
    assert_eq!((one.files, one.bytes), (1, many.bytes));
    assert!(many.files > 5);
    assert_eq!(text(&whole, 1), text(&cut, many.files));
    for entry in fs::read_dir(&cut).unwrap() {
        assert!(entry.unwrap().metadata().unwrap().len() <= 50_000);
    }
}

#[test]
fn a_longer_corpus_begins_like_a_shorter_one() {
    let root = tempfile::tempdir().unwrap();
    let (short, long) = (root.path().join("short"), root.path().join("long"));
    let fewer = SynthSettings { documents: 100, ..settings() };
    synthesize(&fewer, &short, &mut |_| ()).unwrap();
    synthesize(&settings(), &long, &mut |_| ()).unwrap();
    assert!(text(&long, 1).starts_with(&text(&short, 1)));
}

#[test]
fn a_finished_corpus_is_found_again_and_others_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("corpus");
    let made = synthesize(&settings(), &folder, &mut |_| ()).unwrap();
    let file = folder.join("documents-00000.jsonl");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    let again = synthesize(&settings(), &folder, &mut |_| ()).unwrap();
    assert_eq!(again, SynthSummary { reused: true, ..made });
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
    let other = SynthSettings { seed: 2, ..settings() };
    let error = synthesize(&other, &folder, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("different settings"), "{error}");
    fs::remove_dir_all(folder.join("answer")).unwrap();
    let error = synthesize(&settings(), &folder, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("no finished corpus"), "{error}");
    assert!(file.exists(), "the file is left alone");
}

#[test]
fn what_a_killed_run_left_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("corpus");
    let unfinished = root.path().join("corpus.unfinished");
    fs::create_dir_all(&unfinished).unwrap();
    fs::write(unfinished.join("documents-00000.jsonl"), "half a li").unwrap();
    fs::create_dir(&folder).unwrap();
    let made = synthesize(&settings(), &folder, &mut |_| ()).unwrap();
    assert!(!unfinished.exists());
    assert_eq!(text(&folder, 1).len() as u64, made.bytes);
}

#[test]
fn the_answer_reads_back_as_distributions_over_the_words_used() {
    let root = tempfile::tempdir().unwrap();
    let (words, settings) = (words::pronounceable(300), settings());
    let folder = root.path().join("corpus");
    synthesize(&settings, &folder, &mut |_| ()).unwrap();
    let topics = read_answer(&folder).unwrap();
    assert_eq!(topics.len(), 5);
    for topic in &topics {
        let sum: f64 = topic.iter().map(|e| f64::from(e.1)).sum();
        assert!((sum - 1.0).abs() < 1e-5);
        assert!(topic.iter().all(|e| words.contains(&e.0)));
    }
    let text = text(&folder, 1);
    let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let mut used = line["text"].as_str().unwrap().split(' ');
    assert!(used.all(|w| words.contains(&w.to_owned())), "{line}");
}

#[test]
fn a_damaged_answer_names_its_line() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("answer")).unwrap();
    let path = root.path().join("answer/topics.tsv");
    for damaged in ["0\ta\t0.5\n0\tb\n", "0\ta\t1\n2\tb\t1\n", "0\ta\t1\n0\tb\tx\n"] {
        fs::write(&path, format!("topic\tterm\tweight\n{damaged}")).unwrap();
        let error = read_answer(root.path()).unwrap_err().to_string();
        assert!(error.contains("topics.tsv:3: expected a row"), "{error}");
    }
}

#[test]
fn settings_out_of_range_are_refused_before_anything_is_written() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("corpus");
    let bad = SynthSettings { topics: 0, ..settings() };
    let error = synthesize(&bad, &folder, &mut |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "synth.topics must be 1 to 65535");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn no_documents_are_one_empty_file() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("corpus");
    let none = SynthSettings { documents: 0, ..settings() };
    let made = synthesize(&none, &folder, &mut |_| ()).unwrap();
    assert_eq!((made.files, made.bytes, text(&folder, 1).len()), (1, 0, 0));
}
