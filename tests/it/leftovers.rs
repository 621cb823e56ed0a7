//! Results in which something is missing, or lies that topicmill has not written; and commands that are refused.

use std::fs;

use serde_json::Value;
use topicmill::tables::Output;

use crate::workdir::{Workdir, said};

/// Prepares a folder with the result `out` of `topics`.
fn finished() -> Workdir {
    let place = Workdir::in_memory();
    let words = ["whale", "ship", "harbour", "planet", "comet", "orbit"];
    let line = |i: usize| {
        let text: Vec<&str> = (0..9).map(|k| words[3 * (i % 2) + (k * i + k) % 3]).collect();
        format!("{{\"id\": \"d{i}\", \"text\": \"{}\"}}\n", text.join(" "))
    };
    place.write("in.jsonl", (0..60).map(line).collect::<String>());
    place.succeed(&format!("{TOPICS} --quiet"));
    place
}

const TOPICS: &str = "topics in.jsonl --topics 2 --set vocabulary.max_share=0.6 --output out -w 1";

#[test]
fn what_file_managers_leave_in_a_table_changes_nothing() {
    let place = finished();
    let digest = place.digest("out");
    for name in [".DS_Store", ".nfs0001", ".gitkeep", "._part-00000.parquet"] {
        place.write(&format!("out/documents/{name}"), "x");
    }
    place.write("out/model/.DS_Store", "x");
    place.succeed("verify out");
    assert_eq!(place.digest("out"), digest);
    place.succeed("inspect out");
    place.succeed(&format!("{TOPICS} --quiet --overwrite --set model.seed=2"));
    place.succeed("verify out");
    assert!(place.path("out/documents/.nfs0001").exists());
    assert_eq!(place.table("out/documents").len(), 60);
}

#[test]
fn the_remedy_for_a_stray_file_helps() {
    for name in ["Thumbs.db", "desktop.ini", "notes.parquet"] {
        let place = finished();
        let digest = place.digest("out");
        place.write(&format!("out/topics/{name}"), "x");
        let found = place.denied(65, "verify out");
        assert!(found.contains("move the files that are not in the manifest"), "{found}");
        // A refusal leaves the result as it was.
        let refused = place.denied(65, &format!("{TOPICS} --quiet --overwrite --set model.seed=2"));
        assert!(
            refused.contains(name) && refused.contains("move that file elsewhere"),
            "{refused}"
        );
        let job = fs::read_to_string(place.path("out.toml")).expect("written");
        assert!(!job.contains("seed = 2"), "{job}");
        fs::remove_file(place.path(&format!("out/topics/{name}"))).expect("removed");
        place.succeed("verify out");
        assert_eq!(place.digest("out"), digest);
    }
}

#[test]
fn a_damaged_part_is_still_made_again() {
    let place = finished();
    let part = place.path("out/topics/part-00000.parquet");
    fs::write(&part, "x").expect("ours");
    let found = place.denied(65, "verify out");
    assert!(found.contains("rerun the job with --overwrite"), "{found}");
    place.succeed(&format!("{TOPICS} --quiet --overwrite"));
    place.succeed("verify out");
}

#[test]
fn a_refused_command_changes_no_file_beside_the_result() {
    let place = finished();
    let job = fs::read_to_string(place.path("out.toml")).expect("written");
    let other = Output::lead(&place.path("out")).expect("the lock");
    for line in [
        "topics in.jsonl --topics 3 --output out --overwrite",
        "constrain first --merge whale,ship --output out --overwrite",
    ] {
        if line.starts_with("constrain") {
            place.succeed("run out.toml --quiet --set output.path=first");
        }
        let refused = place.denied(75, line);
        assert!(refused.contains("in use by another run"), "{refused}");
        assert_eq!(fs::read_to_string(place.path("out.toml")).expect("ours"), job);
        assert!(!place.path("out.txt").exists());
    }
    drop(other);
    fs::create_dir(place.path("mine")).expect("made");
    place.write("mine/thesis.tex", "x");
    let refused = place.denied(65, "topics in.jsonl --output mine --overwrite");
    assert!(refused.contains("thesis.tex") && !place.path("mine.toml").exists(), "{refused}");
}

#[test]
fn a_result_without_its_corpus_says_so_and_serves_what_needs_none() {
    let place = finished();
    place.succeed("run out.toml --quiet --set output.path=other --set model.seed=2");
    fs::remove_dir_all(place.path("out/corpus")).expect("removed");
    for line in [
        "compare out other",
        "inspect out",
        "inspect out --topic 1",
        "export out --format parquet",
        "export out --format pyldavis",
    ] {
        place.succeed(line);
    }
    for line in [
        "export out --format mallet-state",
        "report out --to page.html",
        "constrain out --merge whale,ship",
        "evaluate out",
        "run out.toml",
    ] {
        let told = place.denied(65, line);
        assert!(told.contains("out/corpus/"), "{line}: {told}");
        let missing = "is missing, though the result is complete";
        assert!(told.contains(missing) && told.contains("copy it back"), "{line}: {told}");
    }
    let status = place.succeed("status out");
    assert!(status.contains("corpus/ has been removed"), "{status}");
    let evaluation = "evaluate other --quiet --set evaluate.split=all";
    place.succeed(evaluation);
    let told = place.denied(65, "report other-evaluation --to page.html");
    assert!(told.contains("not a result"), "{told}");
    place.succeed("run out.toml --quiet --overwrite");
    assert_eq!(place.digest("out").len(), 64);
}

#[test]
fn status_after_a_refused_run_is_that_of_the_result() {
    let place = finished();
    let refused = place.denied(64, "run out.toml --quiet --set model.topics=3");
    assert!(refused.contains("different settings"), "{refused}");
    let status = place.succeed("status out");
    assert!(status.contains("state       complete\n"), "{status}");
    let line = "last run    refused with exit code 64, and the result is as it was: out was made with different";
    let status = status.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status.contains(&line), "{status}");
    assert!(!status.contains("under way"), "{status}");
    let json: Value = serde_json::from_str(&place.succeed("status out --json")).expect("JSON");
    assert_eq!(json["complete"], true);
    place.succeed("run out.toml --quiet");
    let status = place.succeed("status out");
    assert!(!status.contains("refused"), "{status}");
    // An unfinished result is resumed by its own job, not by the refused one.
    fs::remove_file(place.path("out/_SUCCESS")).expect("removed");
    fs::remove_dir_all(place.path("out/topics")).expect("removed");
    let output = place.output("run out.toml --quiet --set model.topics=3");
    assert!(!output.status.success(), "{}", said(&output));
    let status = place.succeed("status out");
    assert!(!status.contains("state complete"), "{status}");
}

#[test]
fn a_part_that_was_removed_is_named_and_the_remedy_helps() {
    let place = finished();
    for (table, line) in [
        ("document_topics", "compare out out"),
        ("topics", "inspect out --topic 0"),
        ("documents", "compare out out"),
        ("topics", "verify out --digest"),
    ] {
        let part = place.path(&format!("out/{table}/part-00000.parquet"));
        let content = fs::read(&part).expect("written");
        fs::remove_file(&part).expect("removed");
        let refused = place.denied(65, line);
        let name = format!("out/{table}/part-00000.parquet: is missing");
        assert!(refused.contains(&name), "{line}: {refused}");
        assert!(refused.contains("rerun the job with --overwrite"), "{line}: {refused}");
        fs::write(&part, content).expect("ours");
    }
    fs::remove_dir_all(place.path("out/model")).expect("removed");
    for (code, line) in [
        (65, "project out --stdin"),
        (65, "verify out --digest"),
        (65, "run out.toml --quiet"),
        (64, "topics in.jsonl --output new -w 1 --set model.from=out"),
    ] {
        let refused = place.denied(code, line);
        let has_remedy = ["rerun", "--overwrite"].iter().any(|word| refused.contains(word));
        assert!(has_remedy, "{line}: {refused}");
    }
    let streamed = place.denied(64, "project out in.jsonl");
    assert!(streamed.contains("topicmill project out --stdin < in.jsonl"), "{streamed}");
    place.succeed("run out.toml --overwrite --quiet -w 1");
    place.succeed("verify out");
}

#[test]
fn a_word_list_or_a_job_that_is_not_utf_8_is_refused_before_anything_is_read() {
    let place = finished();
    fs::write(place.path("list.txt"), b"the\n\xff\xfe").expect("ours");
    let line = format!("{TOPICS} --overwrite --set vocabulary.stop_words=[\"./list.txt\"]");
    let refused = place.denied(64, &line);
    assert!(refused.contains("list.txt, line 2: not UTF-8"), "{refused}");
    assert!(!refused.contains("ingest"), "{refused}");
    fs::write(place.path("job.toml"), b"\xff\xfe[\0").expect("ours");
    let refused = place.denied(64, "run job.toml");
    assert!(refused.contains("job.toml: is not UTF-8"), "{refused}");
}

#[test]
fn an_error_quotes_no_control_characters_and_no_endless_line() {
    let place = Workdir::new();
    place.write("a.csv", format!("\u{1b}]0;title\u{7}\u{1b}[2J,txt\n{}", "x,y\n".repeat(9)));
    let refused = said(&place.output("topics a.csv --text text"));
    assert!(refused.contains("\\u{1b}]0;title\\u{7}") && !refused.contains('\u{1b}'), "{refused}");
    place.write("b.csv", format!("{},txt\n{}", "n".repeat(100_000), "x,y\n".repeat(9)));
    let refused = said(&place.output("topics b.csv --text text"));
    assert!(refused.len() < 10_000, "{}", refused.len());
}
