//! Files that a job names, made to take the machine: long, deep or with counts that promise more than there is. Each
//! gives an error that names it, or a result, in little memory and time.

use std::fs::File;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::workdir::{Workdir, said};

/// The time limit for each.
const SECONDS: u64 = 20;
/// The address space that each may take, in KiB: the program's own, and what a sound file of the largest size needs.
const MOST_MEMORY: u64 = 2_000_000;

/// A file, a job that names it, and the outcome.
struct Bomb {
    /// The file.
    name: &'static str,
    content: Content,
    /// What follows the program's name.
    arguments: &'static str,
    /// The exit code, and words of the message.
    code: i32,
    says: &'static str,
}

/// What is in the file.
enum Content {
    /// Zeros, this many MiB of them, none of which is on the disk.
    Zeros(u64),
    /// The same, compressed by zstd.
    Packed(u64),
    /// A text.
    Text(fn() -> String),
}

use Content::{Packed, Text, Zeros};

const LIST: &str = "ingest job.toml --set 'vocabulary.stop_words=[\"./bomb\"]'";

fn bombs() -> Vec<Bomb> {
    let bomb = |name, content, arguments, code, says| Bomb { name, content, arguments, code, says };
    let tree = "run job.toml --set tree.file=bomb";
    let too_long = "more than 256 MiB";
    vec![
        bomb("bomb", Text(String::new), "ingest job.toml -w 4096", 0, "only wait for each other"),
        bomb("bomb", Zeros(300), LIST, 64, too_long),
        bomb("bomb", Text(|| "a ".repeat(1 << 22)), LIST, 0, ""),
        bomb("bomb", Text(|| "a\n".repeat(1 << 22)), LIST, 0, ""),
        bomb("bomb", Zeros(300), "ingest job.toml --set phrases.deletions=bomb", 64, too_long),
        bomb("bomb", Zeros(300), "ingest job.toml --set phrases.replacements=bomb", 64, too_long),
        bomb("bomb", Zeros(300), "ingest job.toml --set phrases.found=bomb", 64, too_long),
        bomb(
            "bomb",
            Text(|| "a ".repeat(1 << 20)),
            "ingest job.toml --set phrases.deletions=bomb",
            64,
            "line 1",
        ),
        bomb("bomb", Packed(300), tree, 65, too_long),
        bomb(
            "bomb",
            Text(|| (0..3000).map(|depth| " ".repeat(depth) + "a\n").collect()),
            tree,
            65,
            "bomb",
        ),
        bomb("bomb", Text(|| "alpha beta ".repeat(1 << 18)), tree, 65, "bomb"),
        bomb("vocab.txt", Packed(300), "ingest bag.toml", 65, too_long),
        bomb("vocab.txt", Text(|| "a".repeat(1 << 17)), "ingest bag.toml", 65, "65536 bytes"),
        bomb(
            "vocab.txt",
            Text(|| "\n".repeat((1 << 24) + 1)),
            "ingest bag.toml",
            65,
            "16777217 lines",
        ),
        bomb("bomb", Zeros(300), "run job.toml -n 2 -p 0 --hosts bomb", 64, "more than 16 MiB"),
        bomb("bomb", Zeros(300), "plan bomb", 64, "more than 16 MiB"),
        bomb("bomb", Text(|| format!("a = {}", "[".repeat(1 << 20))), "plan bomb", 64, "bomb"),
        bomb("bomb", Text(|| format!("{} = 1", ["a"; 1 << 17].join("."))), "plan bomb", 64, "bomb"),
        bomb("bomb", Text(|| format!("[{}]", ["a"; 1 << 17].join("."))), "plan bomb", 64, "bomb"),
    ]
}

/// Runs the program in a limited address space.
fn limited(folder: &Workdir, arguments: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_topicmill");
    let script = format!("ulimit -v {MOST_MEMORY}; exec timeout {SECONDS} \"$0\" {arguments}");
    let mut command = Command::new("sh");
    command.current_dir(folder.root()).args(["-c", &script, program]);
    command.output().expect("a shell starts")
}

/// Writes a collection, and jobs on it.
fn ground() -> Workdir {
    let folder = Workdir::new();
    let line = |n: usize| {
        format!("{{\"id\": \"{n}\", \"text\": \"alpha beta gamma {}\"}}\n", ["delta", "eta"][n % 2])
    };
    folder.write("texts.jsonl", (0..40).map(line).collect::<String>());
    let job = |input: &str| {
        format!(
            "{input}\n[model]\ntopics = 2\n[vocabulary]\nmin_documents = 1\nmax_share = 1.0\nstop_words = []\n[train]\npasses = 1\n\
             [output]\npath = \"out\"\nreport = false\n"
        )
    };
    folder.write("job.toml", job("[corpus]\ninput = \"texts.jsonl\""));
    folder.write("bag.toml", job("[corpus]\ninput = \"docword.txt\""));
    folder.write("docword.txt", "2\n2\n2\n1 1 1\n2 2 1\n");
    folder
}

#[test]
fn no_file_that_a_job_names_takes_the_machine() {
    let folder = ground();
    for bomb in bombs() {
        let path = folder.path(bomb.name);
        match bomb.content {
            Zeros(mebibytes) => File::create(&path).unwrap().set_len(mebibytes << 20).unwrap(),
            Packed(mebibytes) => {
                let zeros = std::io::Read::take(std::io::repeat(0), mebibytes << 20);
                zstd::stream::copy_encode(zeros, File::create(&path).unwrap(), 1).unwrap();
            }
            Text(text) => std::fs::write(&path, text()).unwrap(),
        }
        let begun = Instant::now();
        let output = limited(&folder, bomb.arguments);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(bomb.code), "{}: {said}", bomb.arguments);
        assert!(said.contains(bomb.says), "{}: {said}", bomb.arguments);
        assert!(begun.elapsed() < Duration::from_secs(SECONDS));
        std::fs::remove_file(&path).unwrap();
        let _ = std::fs::remove_dir_all(folder.path("out"));
    }
}

#[test]
fn a_header_does_not_make_documents_that_the_file_has_no_bytes_for() {
    let folder = ground();
    folder.write("vocab.txt", "alpha\nbeta\n");
    let keep = "ingest bag.toml --set corpus.on_damage=\"keep\"";
    for (name, content) in [
        ("docword.txt", "1000000000000\n2\n2000000000\n1 1 1\n2 2 1\n".to_owned()),
        ("docword.txt", "1000000000000\n2\n2000000000\n1 1 1\n999999999999 2 1\n".to_owned()),
    ] {
        folder.write(name, content);
        let output = limited(&folder, keep);
        assert_eq!(output.status.code(), Some(65), "{}", said(&output));
        assert!(said(&output).contains("too many documents"), "{}", said(&output));
    }
    // Within reason, a file that is cut short accounts for each document.
    folder.write("docword.txt", "1000\n2\n2000\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n3 1 1\n");
    folder.succeed(keep);
    let log = std::fs::read_to_string(folder.path("out/logs/process-00000.jsonl")).unwrap();
    assert!(log.contains("\"phase\":\"vocabulary\""), "{log}");
    assert_eq!(folder.table("out/corpus/shards").len(), 1000);
}
