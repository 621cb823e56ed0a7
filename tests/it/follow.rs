//! Files that are added to a finished result as they arrive.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use crate::workdir::{PATIENCE, Workdir, said, send, wait_for};

const JOB: &str = r#"
[corpus]
input = "first"
[vocabulary]
stop_words = "none"
[model]
topics = 3
[train]
passes = 4
[output]
path = "out"
"#;

/// Returns lines of JSON, with ids of their own.
fn lines(name: &str, documents: usize) -> String {
    let line = |number| {
        let words: Vec<_> =
            (0..12).map(|at| format!("word{}", (number * 7 + at * at) % 30)).collect();
        format!("{{\"id\": \"{name}{number}\", \"text\": \"{}\"}}\n", words.join(" "))
    };
    (0..documents).map(line).collect()
}

/// Makes a folder with a result of 80 documents, `out`, and an empty folder, `new`.
fn made() -> Workdir {
    let ground = Workdir::new().with_job(JOB);
    for folder in ["first", "new"] {
        std::fs::create_dir(ground.path(folder)).unwrap();
    }
    ground.write("first/a.jsonl", lines("a", 80));
    ground.succeed("run job.toml --quiet -w 2");
    ground
}

/// Returns a copy of such a folder.
fn finished() -> Workdir {
    static FINISHED: LazyLock<Workdir> = LazyLock::new(made);
    Workdir::copy_of(&FINISHED)
}

/// A process that follows, ended with the value.
struct Following(Child);

impl Following {
    fn start(ground: &Workdir, line: &str) -> Self {
        let mut command = ground.command(line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// Returns what it prints until its end.
    fn printed(&mut self) -> String {
        let mut printed = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
        printed
    }

    /// Waits for this many documents, then stops it, which is no failure; returns what it printed.
    fn stop_at(mut self, ground: &Workdir, documents: usize) -> String {
        wait_for("document", PATIENCE, || (count(ground) == documents).then_some(()));
        let list = ground.path(".out.files");
        wait_for("end of the generation", PATIENCE, || (!list.exists()).then_some(()));
        send("TERM", self.0.id());
        let printed = self.printed();
        assert_eq!(self.0.wait().unwrap().code(), Some(143), "{printed}");
        printed
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the number of documents of the result, as a reader finds it.
fn count(ground: &Workdir) -> usize {
    let json = std::fs::read_to_string(ground.path("out/corpus/collection.json")).unwrap();
    let collection: serde_json::Value = serde_json::from_str(&json).unwrap();
    collection["documents"].as_u64().unwrap() as usize
}

/// Returns the ids of the result's documents, sorted.
fn ids(ground: &Workdir) -> Vec<String> {
    let rows = ground.table("out/documents").into_iter();
    let mut ids: Vec<_> = rows.map(|mut row| row.remove("source_id").unwrap()).collect();
    ids.sort();
    ids
}

#[test]
fn files_are_added_as_they_arrive_and_each_once() {
    let ground = finished();
    let following = Following::start(&ground, "follow out new --every 1 -w 1");
    for (name, documents, all) in [("b", 5, 85), ("c", 7, 92)] {
        ground.write(&format!("{name}.jsonl"), lines(name, documents));
        std::fs::rename(
            ground.path(&format!("{name}.jsonl")),
            ground.path(&format!("new/{name}.jsonl")),
        )
        .unwrap();
        wait_for("document", PATIENCE, || (count(&ground) == all).then_some(()));
    }
    let printed = following.stop_at(&ground, 92);
    assert!(
        printed.contains("5 documents added from 1 file in") && printed.contains(": now 92"),
        "{printed}"
    );
    // The same command knows them, and adds what came meanwhile.
    ground.write("new/d.jsonl", lines("d", 3));
    let following = Following::start(&ground, "follow out new --every 1 -w 1 --json");
    let printed = following.stop_at(&ground, 95);
    assert!(
        printed.contains("{\"files\":1,\"added\":3,\"removed\":0,\"documents\":95,"),
        "{printed}"
    );
    let other = finished();
    for (name, documents) in [("b", 5), ("c", 7), ("d", 3)] {
        other.write(&format!("new/{name}.jsonl"), lines(name, documents));
    }
    other.succeed("add out new --quiet -w 2");
    for table in ["documents", "document_topics", "topics", "vocabulary"] {
        assert_eq!(
            ground.table(&format!("out/{table}")),
            other.table(&format!("out/{table}")),
            "{table}"
        );
    }
    ground.digest("out");
}

#[test]
fn a_file_is_added_when_it_no_longer_changes() {
    let ground = finished();
    ground.write("new/b.jsonl", lines("b", 2));
    let mut following = Following::start(&ground, "follow out new --every 2 -w 1");
    for documents in 3..12 {
        std::thread::sleep(Duration::from_millis(700));
        ground.write("new/b.jsonl", lines("b", documents));
        assert_eq!(count(&ground), 80);
    }
    assert!(following.0.try_wait().unwrap().is_none());
    following.stop_at(&ground, 91);
}

#[test]
fn once_adds_what_is_there_and_says_what_it_could_not() {
    let ground = finished();
    assert_eq!(ground.succeed("follow out new none/*.txt --once -w 1"), "");
    for (name, documents) in [("b", 4), ("c", 5)] {
        ground.write(&format!("new/{name}.jsonl"), lines(name, documents));
    }
    ground.write("new/again.jsonl", lines("a", 2));
    ground.write("new/bad.jsonl", b"\xfd7zXZ\0");
    ground.write("new/binary.dat", [0, 1, 2, 255]);
    let ended = ground.output("follow out new --once -w 2");
    let text = said(&ended);
    assert_eq!(ended.status.code(), Some(65), "{text}");
    assert!(text.contains("bad.jsonl: is xz") && text.contains("same ids as 2"), "{text}");
    assert!(text.contains("2 files could not be added"), "{text}");
    // A file that is no text is a document without text, as in a folder that is added.
    assert_eq!(count(&ground), 90);
    let text = ground.denied(65, "follow out new --once -w 1 --quiet");
    assert!(text.contains("2 files could not be added"), "{text}");
    assert_eq!(count(&ground), 90);
    std::fs::remove_file(ground.path("new/bad.jsonl")).unwrap();
    ground.succeed("follow out new --once -w 1 --on-duplicate replace");
    assert_eq!((count(&ground), ids(&ground).len()), (90, 90));
}

#[test]
fn what_a_killed_process_has_begun_is_continued() {
    let ground = finished();
    ground.write("new/b.jsonl", lines("b", 5));
    let trace = ground.path("trace");
    let whole = Workdir::copy_of(&ground);
    let mut command = whole.command("follow out new --once -w 1");
    command.env("TOPICMILL_FAULT", format!("count:{}", trace.display()));
    assert!(command.output().unwrap().status.success());
    let steps = std::fs::read_to_string(&trace).unwrap().lines().count();
    assert!(steps > 50);
    // The process that follows takes some of the steps.
    for step in (1..steps - 20).step_by(steps / 6) {
        let killed = Workdir::copy_of(&ground);
        let mut command = killed.command("follow out new --once -w 1");
        command.env("TOPICMILL_FAULT", format!("crash:{step}"));
        assert!(!command.output().unwrap().status.success(), "step {step}");
        killed.write("new/c.jsonl", lines("c", 4));
        killed.succeed("follow out new --once -w 1 --quiet");
        assert_eq!((count(&killed), ids(&killed).len()), (89, 89), "step {step}");
    }
}

#[test]
fn a_result_in_use_is_waited_for() {
    let ground = finished();
    ground.write("new/b.jsonl", lines("b", 5));
    let lock = topicmill::tables::output::Output::lead(ground.path("out").as_path()).unwrap();
    let busy = ground.denied(75, "follow out new --once -w 1");
    assert!(busy.contains("in use"), "{busy}");
    let following = Following::start(&ground, "follow out new --every 1 -w 1");
    std::thread::sleep(Duration::from_secs(4));
    drop(lock);
    let printed = following.stop_at(&ground, 85);
    assert_eq!(printed.matches("is in use").count(), 1, "{printed}");
}

#[test]
fn files_of_the_first_input_are_known() {
    let ground = made();
    assert_eq!(ground.succeed("follow out first new --once -w 1"), "");
    assert_eq!(count(&ground), 80);
    ground.write("first/b.jsonl", lines("b", 5));
    ground.succeed("follow out first --once -w 1 --quiet");
    assert_eq!((count(&ground), ids(&ground).len()), (85, 85));
    assert_eq!(ground.succeed("follow out first --once -w 1"), "");
}

impl Following {
    /// Starts a process that follows its standard input.
    fn stream(ground: &Workdir, flags: &str) -> (Self, ChildStdin) {
        let mut command = ground.command(&format!("follow out - -w 1 {flags}"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        (Self(child), input)
    }

    /// Waits for the end; returns the exit code and what was printed.
    fn end(mut self) -> (Option<i32>, String) {
        let printed = self.printed();
        (self.0.wait().unwrap().code(), printed)
    }
}

#[test]
fn lines_of_standard_input_are_added_until_its_end() {
    let ground = finished();
    let (following, mut input) = Following::stream(&ground, "--every 1");
    input.write_all(lines("b", 6).as_bytes()).unwrap();
    wait_for("document", PATIENCE, || (count(&ground) == 86).then_some(()));
    // The last line has no line break.
    input.write_all(lines("c", 3).trim_end().as_bytes()).unwrap();
    drop(input);
    let (code, printed) = following.end();
    assert_eq!((code, count(&ground)), (Some(0), 89), "{printed}");
    assert!(!ground.path(".out.spool").exists());
    let (following, mut input) = Following::stream(&ground, "--every 60");
    input.write_all(lines("c", 2).as_bytes()).unwrap();
    drop(input);
    let (code, printed) = following.end();
    assert_eq!((code, count(&ground)), (Some(65), 89), "{printed}");
    assert!(printed.contains("same ids as 2") && printed.contains("refused-1-00089.jsonl"));
    let kept = std::fs::read_to_string(ground.path(".out.spool/refused-1-00089.jsonl"));
    assert_eq!(kept.unwrap(), lines("c", 2));
    let refused = ground.denied(64, "follow out - new");
    assert!(refused.contains("together with files"), "{refused}");
}

#[test]
fn lines_that_were_read_outlive_the_process() {
    let ground = finished();
    let (mut following, mut input) = Following::stream(&ground, "--every 600");
    let growing = ground.path(".out.spool/growing");
    let all = lines("b", 6);
    for text in [&all[..100], &all[100..]] {
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }
    let is_there = || std::fs::metadata(&growing).is_ok_and(|it| it.len() == all.len() as u64);
    wait_for("line", PATIENCE, || is_there().then_some(()));
    following.0.kill().unwrap();
    drop(following);
    let (following, mut input) = Following::stream(&ground, "--every 600");
    input.write_all(lines("c", 2).as_bytes()).unwrap();
    drop(input);
    let (code, printed) = following.end();
    assert_eq!((code, count(&ground), ids(&ground).len()), (Some(0), 88, 88), "{printed}");
}
