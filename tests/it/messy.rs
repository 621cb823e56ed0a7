//! A collection with every kind of error: no document is lost or duplicated, and each gets a status.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Output;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::workdir::Workdir;

/// Returns sixty words from some forty, different for every seed.
fn words(seed: usize) -> String {
    let word = |n: usize| format!("word{}", (n * n + seed * 7) % 41);
    (0..60).map(word).collect::<Vec<_>>().join(" ").replace(char::is_numeric, "x")
        + &format!(" alpha beta gamma delta{}", ["a", "b", "c"][seed % 3])
}

/// Writes the collection; returns the number of documents of each status, without the truncated
/// archive.
fn write_collection(folder: &Path) -> BTreeMap<&'static str, u64> {
    let texts = folder.join("texts");
    fs::create_dir_all(&texts).unwrap();
    fs::write(texts.join("empty.txt"), "").unwrap();
    fs::write(texts.join("broken.txt"), [words(1).as_bytes(), b" \xff\xfe ", b"alpha"].concat())
        .unwrap();
    fs::write(texts.join("large.txt"), words(2).repeat(30_000)).unwrap();
    fs::write(texts.join("too-large.txt"), words(3).repeat(60_000)).unwrap();
    let mut lines = Vec::new();
    for number in 0..3000 {
        let text = ["alpha", "beta", "gamma"][number % 3];
        writeln!(lines, "{{\"id\": \"{}\", \"text\": \"{text}\"}}", number % 1500).unwrap();
    }
    lines.extend_from_slice(b"not json\n[1, 2]\n\n{\"id\": \"null\", \"text\": null}\n");
    lines.extend_from_slice(b"{\"id\": \"bytes\", \"text\": \"\xff alpha\"}\r\n");
    lines.extend_from_slice(b"{\"id\": \"unknown\", \"text\": \"hapaxlegomenon\"}");
    fs::write(folder.join("lines.jsonl"), lines).unwrap();
    BTreeMap::from([
        ("ok", 3001),
        ("empty", 2),
        ("repaired", 2),
        ("parse_error", 2),
        ("no_vocabulary", 1),
        ("too_large", 1),
    ])
}

#[test]
fn a_quote_or_brace_that_is_never_closed_is_an_error_or_a_document() {
    for (name, open) in [
        ("open.csv", "id,text\n1,\"alpha beta\n2,gamma\n"),
        ("open.json", "[{\"text\": \"alpha\"},\n{\"text\": \"beta\",\n{\"text\": \"gamma\"}]"),
    ] {
        let folder = Workdir::new();
        write_collection(folder.root());
        fs::write(folder.root().join(name), open).unwrap();
        write_job(folder.root(), &format!(r#"["lines.jsonl", "{name}"]"#));
        let refused = folder.output(&["run", "job.toml", "-w", "2"]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(65), "{said}");
        assert!(said.contains(name) && said.contains("unclosed"), "{said}");
        let keep = [
            "run",
            "job.toml",
            "--json",
            "-w",
            "2",
            "--set",
            "corpus.on_damage=keep",
            "--set",
            "model.topics=2",
        ];
        assert_eq!(statuses(&folder.output(&keep))["truncated"], 1);
    }
}

/// Writes an archive of 400 documents, truncated in the middle.
fn write_cut_archive(folder: &Path) {
    let mut archive = GzEncoder::new(Vec::new(), Compression::default());
    for number in 0..400 {
        writeln!(archive, "{{\"id\": \"z{number}\", \"text\": \"{}\"}}", words(number)).unwrap();
    }
    let bytes = archive.finish().unwrap();
    fs::write(folder.join("cut.jsonl.gz"), &bytes[..bytes.len() * 2 / 3]).unwrap();
}

fn write_job(folder: &Path, input: &str) {
    let job = format!(
        "[corpus]\ninput = {input}\nmax_document_mib = 16.0\nblock_mib = 0.1\n\
         [vocabulary]\nmin_documents = 2\nmax_share = 1.0\n\
         [model]\ntopics = 4\n[train]\nonline_passes = 2\npasses = 6\nminibatch = 500\n[output]\npath = \"out\"\n"
    );
    fs::write(folder.join("job.toml"), job).unwrap();
}

/// Returns documents by status, from the run's summary.
fn statuses(run: &Output) -> BTreeMap<String, u64> {
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let printed = String::from_utf8_lossy(&run.stdout);
    let summary: serde_json::Value =
        serde_json::from_str(printed.lines().next_back().unwrap()).unwrap();
    let by_status = summary["documents_by_status"].as_object().unwrap();
    let counts = by_status.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap()));
    let counts: BTreeMap<_, _> = counts.filter(|(_, count)| *count > 0).collect();
    assert_eq!(counts.values().sum::<u64>(), summary["documents"].as_u64().unwrap());
    counts
}

#[test]
fn every_document_has_a_row_whatever_is_wrong_with_it() {
    let folder = Workdir::new();
    let expected = write_collection(folder.root());
    write_job(folder.root(), r#"["texts", "lines.jsonl"]"#);
    let run = folder.output(&["run", "job.toml", "--json", "-w", "2"]);
    let expected = expected.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    assert_eq!(statuses(&run), expected);
    let warnings = String::from_utf8_lossy(&run.stderr);
    let first = "5 documents have no text that can be read (2 empty, 2 parse_error, 1 too_large), for example \
                 lines.jsonl@92780: not a JSON object";
    assert!(warnings.contains(first), "{warnings}");
    let verified = folder.output(&["verify", "out"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn a_mistyped_key_and_labels_that_differ_by_case_are_warned_of_also_if_quiet() {
    let folder = Workdir::new();
    let record = |n: usize| {
        let desk = ["News", "news"][n % 2];
        format!(
            "{{\"key\": \"a@{n}\", \"section\": 1, \"desk\": \"{desk}\", \"body\": \"{}\"}}\n",
            words(n)
        )
    };
    // Broken lines are in several blocks, so that either process may read them.
    let lines = (0..700).map(record).chain(["broken\n".to_owned()]);
    let lines: String = lines.chain((700..3000).map(record)).collect();
    folder.write("lines.jsonl", lines + "{\"body\": null}\n{\"body\": 7, \"key\": [\n");
    folder.write(
        "job.toml",
        "[corpus]\ninput = \"lines.jsonl\"\ntext = \"body\"\nid = \"key\"\ngroup = \"sectoin\"\n\
         metadata = [\"desk\", \"dat\"]\nlabels = \"desk\"\nblock_mib = 0.02\n[train]\npasses = 2\n[output]\npath = \"out\"\n",
    );
    let plan = folder.succeed("plan job.toml --set corpus.text=boddy");
    let absent = "; the first ones have no `boddy`; did you mean `body`?";
    assert!(plan.contains(absent), "{plan}");
    let run = folder.output("run job.toml --quiet --json --processes 2 -w 1");
    let said = String::from_utf8_lossy(&run.stderr);
    let warnings: Vec<&str> = said.lines().map(|line| line.trim_start_matches("[0] ")).collect();
    assert_eq!(
        warnings[..3],
        [
            "warning: no document has `sectoin`",
            "warning: no document has `dat`",
            "warning: labels \"News\" and \"news\" differ only by case: each is a topic of its own",
        ],
        "{said}"
    );
    let unread = "3 documents have no text that can be read (1 empty, 2 parse_error), for example lines.jsonl@";
    let unread =
        format!("{unread}{}: not a JSON object", (0..700).map(|n| record(n).len()).sum::<usize>());
    assert!(warnings[3].contains(&unread), "{said}");
    let lines = String::from_utf8_lossy(&run.stdout);
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let summary: serde_json::Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(summary["warnings"].as_array().unwrap().len(), 4);
}

#[test]
fn a_cut_archive_is_an_error_or_a_document_but_never_silence() {
    let folder = Workdir::new();
    write_collection(folder.root());
    write_cut_archive(folder.root());
    write_job(folder.root(), r#"["lines.jsonl", "cut.jsonl.gz"]"#);
    let refused = folder.output(&["run", "job.toml", "-w", "2"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(65), "{said}");
    assert!(said.contains("cut.jsonl.gz") && said.contains("on_damage"), "{said}");
    let keep = ["run", "job.toml", "--json", "-w", "2", "--set", "corpus.on_damage=keep"];
    let kept = statuses(&folder.output(&keep));
    assert_eq!(kept["truncated"], 1);
    assert!((3100..3400).contains(&kept["ok"]), "{kept:?}");
    let verified = folder.output(&["verify", "out"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}
