//! The program's interface: its output on stdout and stderr, and its exit codes.

use std::fs;
use std::path::Path;

use serde_json::Value;
use topicmill::tables::Output as OutputFolder;
use topicmill::tables::topics::TopicRow;
use topicmill::tables::{FileMetadata, Manifest, Row, TableWriter};

use crate::workdir::Workdir;
#[cfg(feature = "tls")]
use crate::workdir::certify;

impl Workdir {
    /// Runs a command that must succeed, without a terminal; returns its output.
    fn printed(&self, line: &str) -> String {
        text(self.succeed(line).as_bytes())
    }

    /// Runs a command that must fail; returns its exit code and message.
    fn refused(&self, line: &str) -> (i32, String) {
        let output = self.output(line);
        let code = output.status.code().expect("an exit, not a signal");
        assert_ne!(code, 0, "{line}");
        (code, text(&output.stderr))
    }
}

fn text(bytes: &[u8]) -> String {
    assert!(!bytes.contains(&0x1b), "no control characters off a terminal");
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

const JOB: &str = "\
[synth]
path = \"corpus\"
topics = 3
documents = 200
terms = 50
mean_length = 20

[vocabulary]
stop_words = \"none\"

[model]
topics = 3

[output]
path = \"out\"
";

#[test]
fn an_unknown_key_is_told_in_these_words() {
    let place = Workdir::new();
    place.write("job.toml", JOB.replace("[model]", "[train]\nminibach = 5\n\n[model]"));
    let (code, said) = place.refused("plan job.toml");
    assert_eq!(code, 64);
    assert_eq!(
        said,
        "error: job.toml:12: unknown key `minibach` in [train]\nhelp: did you mean `minibatch`?\n"
    );
}

#[test]
fn synth_makes_a_corpus_and_finds_it_again() {
    let place = Workdir::new();
    let line = "synth --path corpus --topics 3 --documents 200 --terms 50 --mean-length 20";
    let first = place.printed(line);
    assert!(first.contains("200 documents with "), "{first}");
    assert!(first.contains("documents-*.jsonl (1 file, "), "{first}");
    assert!(first.contains("corpus/answer/topics.tsv"), "{first}");
    let lines = fs::read_to_string(place.path("corpus/documents-00000.jsonl")).expect("made");
    assert_eq!(lines.lines().count(), 200);

    let again = place.printed(&format!("{line} --json"));
    let made = json(again.lines().last().expect("a line"));
    assert_eq!((&made["documents"], &made["reused"]), (&200.into(), &true.into()));
    assert!(made["tokens"].as_u64() > Some(3000), "{made}");
    assert_eq!(place.printed(&format!("{line} --quiet")), "");

    let (code, said) = place.refused(&format!("{line} --seed 2"));
    assert_eq!(code, 65);
    assert!(said.contains("made with different settings"), "{said}");
    assert_eq!(place.refused("synth --path x --topics 0").0, 64);
}

#[test]
fn a_plan_tells_of_a_corpus_before_and_after_it_is_made() {
    let place = Workdir::new();
    place.write("job.toml", JOB);
    let before = place.printed("plan job.toml -w 1");
    assert!(before.contains("the run generates the corpus first"), "{before}");
    assert!(before.contains("out (empty)"), "{before}");
    place.printed("synth --path corpus --topics 3 --documents 200 --terms 50 --mean-length 20");
    let after = place.printed("plan job.toml -w 1");
    assert!(after.contains("1 jsonl, plain: "), "{after}");
    assert!(after.contains("about 200 with about "), "{after}");
    assert!(after.contains("4 minibatches per pass, "), "{after}");
    let names = fs::read_dir(place.root()).expect("readable").count();
    assert_eq!(names, 2, "a plan writes nothing");

    let plan = json(&place.printed("plan job.toml -w 1 --json"));
    assert_eq!(plan["input"]["documents"], 200);
    assert_eq!(plan["estimate"]["sample_documents"], 196);
    assert_eq!(plan["output"]["is"]["state"], "empty");
    assert!(plan["memory_peak_bytes"].as_u64() > Some(1 << 20), "{plan}");
    assert_eq!(plan["makes_corpus"], false);
}

#[test]
fn a_plan_refuses_what_is_not_there_and_what_cannot_fit() {
    let place = Workdir::new();
    place.write("job.toml", JOB);
    let (code, said) = place.refused("plan job.toml --set corpus.input=nothing/*.txt");
    assert_eq!(code, 65);
    assert!(said.contains("no file matches `nothing/*.txt`"), "{said}");
    assert!(said.contains("help: jobs/planted.toml needs no input"), "{said}");
    if cfg!(target_os = "linux") {
        let large = "plan job.toml -w 1 --set synth.documents=1000000000000 \
                     --set sample.fraction=1.0 --set vocabulary.max_distinct=4294967295";
        let (code, said) = place.refused(large);
        assert_eq!(code, 65, "{said}");
        assert!(said.contains("error: this may need "), "{said}");
    }
    place.write("hosts.txt", "one:7400\ntwo:7400\n");
    let plan = place.printed("plan job.toml -w 1 -n 2 --hosts hosts.txt");
    assert!(plan.contains("two:7400 (process 1)"), "{plan}");
    let (code, _) = place.refused("plan job.toml -n 3 -p 0 --hosts hosts.txt");
    assert_eq!(code, 64);
}

#[test]
fn every_shipped_job_plans() {
    let place = Workdir::new();
    let line = "{\"id\": \"a\", \"text\": \"a few words\"}\n";
    place.write("documents.jsonl", line.repeat(10));
    let input = place.path("documents.jsonl");
    for name in ["library", "newsgroups", "planted", "quickstart"] {
        let job = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("jobs/{name}.toml"));
        let line = format!(
            "plan {} -w 1 --json --set corpus.input={} --set corpus.exclude=[]",
            job.display(),
            input.display()
        );
        let plan = json(&place.printed(&line));
        assert_eq!(plan["input"]["files"], 1, "{name}");
    }
}

/// Writes an output folder with two topics, complete if `complete`.
fn output_with_topics(root: &Path, complete: bool) {
    let output = OutputFolder::lead(root).expect("an empty folder");
    let part = output.temporary_path("topics");
    let mut writer =
        TableWriter::create(&part, &TopicRow::SPEC, &FileMetadata::default()).expect("made");
    let terms = ["whale", "ship"].map(str::to_owned);
    for topic in 0..2 {
        let row = TopicRow {
            topic,
            alpha: 0.5,
            tokens: 10,
            share: [0.25, 0.75][topic as usize],
            top_terms: terms[topic as usize..].to_vec(),
            coherence_npmi: Some(0.125),
            dead: topic == 0,
            duplicate_of: (topic == 1).then_some(0),
            junk: topic == 1,
            ..TopicRow::default()
        };
        writer.push(&row).expect("written");
    }
    writer.finish().expect("written");
    output.publish(&part, "topics/part-00000.parquet").expect("published");
    if complete {
        let mut manifest = Manifest::new("job", 1, "fingerprint");
        manifest.describe(&output, &Default::default()).expect("described");
        output.complete(&manifest).expect("completed");
    }
}

#[test]
fn inspect_shows_topics_tables_and_parts() {
    let place = Workdir::new();
    output_with_topics(&place.path("out"), false);
    let root = place.printed("inspect out");
    assert!(root.contains("topics") && root.contains(" 2 rows"), "{root}");
    let lines: Vec<&str> = root.lines().filter(|line| line.contains(" %")).collect();
    assert!(lines[0].contains("75.0 %") && lines[0].contains("ship"), "{root}");
    assert!(lines[1].contains("0.125") && lines[1].contains("whale ship"), "{root}");
    for warning in
        ["1 topic is dead: ", "1 topic repeats an earlier one (1). ", "1 topic is junk: "]
    {
        assert!(root.contains(&format!("\nwarning     {warning}")), "{root}");
    }
    assert!(place.printed("inspect out --topics 1").contains("… and 1 more"));
    let object = json(&place.printed("inspect out --json"));
    assert_eq!(object["topics"][0]["top_terms"][1], "ship");
    assert_eq!(object["topics"][1]["junk"], true);
    assert_eq!(object["tables"][0]["rows"], 2);

    for path in ["out/topics", "out/topics/part-00000.parquet"] {
        let table = place.printed(&format!("inspect {path} --rows 1"));
        assert!(table.starts_with("2 rows in 1 part\n"), "{table}");
        assert!(table.contains("coherence_npmi       f64, nullable"), "{table}");
        assert!(table.contains("[whale, ship]") && !table.contains("[ship]"), "{table}");
        let object = json(&place.printed(&format!("inspect {path} --json")));
        assert_eq!(object["columns"][0]["name"], "topic");
        assert_eq!(object["head"][1][0], "1");
    }
    place.write("notes.txt", "nothing of ours");
    assert_eq!(place.refused("inspect notes.txt").0, 65);
    assert_eq!(place.refused("inspect nowhere").0, 64);
}

#[test]
fn inspect_shows_the_model_that_a_run_has_written() {
    let place = Workdir::new();
    place.write("job.toml", JOB);
    place.printed("run job.toml -w 1 --quiet");
    for path in ["out/model", "out/model/topics.model"] {
        let model = json(&place.printed(&format!("inspect {path} --json")));
        assert_eq!(model["topic_count"], 3, "{model}");
    }
}

#[test]
fn verify_and_status_tell_a_complete_result_from_an_unfinished_one() {
    let place = Workdir::new();
    let root = place.path("out");
    output_with_topics(&root, false);
    fs::create_dir_all(root.join("_temporary")).expect("made");
    fs::write(root.join("_temporary/half"), "xyz").expect("written");
    for line in ["verify out", "verify out --digest"] {
        let (code, said) = place.refused(line);
        assert_eq!(code, 65, "{said}");
        assert!(said.contains("rerun the job to resume"), "{said}");
    }
    let status = place.printed("status out");
    assert!(status.contains("stopped; rerun the same command to resume"), "{status}");
    assert!(status.contains("topics (2 rows)"), "{status}");
    assert!(status.contains("1 file, 3 B"), "{status}");
    let lock = OutputFolder::lead(&root).expect("free");
    let running = json(&place.printed("status out --json"));
    assert_eq!(running["running"], true);
    drop(lock);
    assert_eq!(place.refused("status nowhere").0, 64);
    place.write("thesis.tex", "x");
    let (code, said) = place.refused("status .");
    assert_eq!(code, 65, "{said}");
}

#[test]
fn a_digest_is_one_line_and_damage_is_found() {
    let place = Workdir::new();
    let (one, two) = (place.path("one"), place.path("two"));
    output_with_topics(&one, true);
    output_with_topics(&two, true);
    let digest = place.printed("verify one --digest");
    assert_eq!(digest.trim_end().len(), 64, "{digest}");
    assert_eq!(digest.lines().count(), 1);
    assert_eq!(digest, place.printed("verify two --digest"));
    let columns = place.printed("verify one --digest --tables");
    assert!(columns.contains("  topics topic i32\n"), "{columns}");
    let object = json(&place.printed("verify one --digest --json"));
    assert_eq!(object["digest"], digest.trim_end());

    let part = two.join("topics/part-00000.parquet");
    let mut bytes = fs::read(&part).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&part, bytes).expect("written");
    let output = place.output("verify two");
    assert_eq!(output.status.code(), Some(65));
    let report = text(&output.stdout);
    assert!(report.contains("wrong: topics/part-00000.parquet: its sha256 is"), "{report}");
    assert!(text(&output.stderr).contains("error: two: "));
}

#[test]
fn every_shell_gets_a_completion_script() {
    let place = Workdir::new();
    for (shell, mark) in [
        ("bash", "complete -F _topicmill"),
        ("zsh", "#compdef topicmill"),
        ("fish", "complete -c topicmill"),
    ] {
        let script = place.printed(&format!("completions {shell}"));
        assert!(script.contains(mark), "{shell}");
        assert!(script.contains("process-count"), "{shell}");
    }
    assert_eq!(place.refused("completions tcsh").0, 64);
}

#[test]
fn help_names_flags_examples_and_exit_codes() {
    let place = Workdir::new();
    let help = place.printed("--help");
    assert!(help.contains("Exit codes:") && help.contains("synth"), "{help}");
    for (command, flags) in [
        ("project", vec!["--stdin", "--strict", "--set", "--quiet"]),
        ("plan", vec!["--resolved", "--json", "--hosts"]),
        ("inspect", vec!["--rows", "--topics", "--json"]),
        ("verify", vec!["--digest", "--tables"]),
        ("status", vec!["--json"]),
        ("synth", vec!["--path", "--documents", "--quiet"]),
    ] {
        let help = place.printed(&format!("{command} --help"));
        assert!(help.contains("Example"), "{command}");
        for flag in flags {
            assert!(help.contains(flag), "{command} {flag}");
        }
    }
    let version = place.printed("--version");
    let expected = format!("topicmill {} (build ", env!("CARGO_PKG_VERSION"));
    assert!(version.starts_with(&expected), "{version}");
    assert!(version.contains("\ncommit: ") && version.contains("\nfeatures: "), "{version}");
    assert_eq!(place.refused("").0, 64);
}

#[cfg(feature = "tls")]
#[test]
fn certificates_are_made_once_and_encrypt_a_run() {
    let place = Workdir::new();
    place.write("hosts", "\u{feff}127.0.0.1:7101\n127.0.0.1:7102 # the same host\n[::1]:7103\n");
    certify(&place.path("hosts"), &place.path("tls")).expect("certificates");
    let mut names: Vec<_> = fs::read_dir(place.path("tls"))
        .expect("made")
        .map(|entry| entry.expect("readable").file_name())
        .collect();
    names.sort();
    let expected = ["--1.key", "--1.pem", "127.0.0.1.key", "127.0.0.1.pem", "ca.pem"];
    assert_eq!(names, expected);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let key = fs::metadata(place.path("tls/127.0.0.1.key")).expect("made");
        assert_eq!(key.permissions().mode() & 0o777, 0o600);
    }
    let said = certify(&place.path("hosts"), &place.path("tls")).unwrap_err();
    assert!(said.contains("exists"), "{said}");

    place.write("job.toml", JOB);
    let one = "run job.toml --quiet -w 1 --set output.path=one";
    place.printed(one);
    let two = "run job.toml --quiet --processes 2 -w 1 --set output.path=two --compress \
        --tls-ca tls/ca.pem --tls-cert tls/{host}.pem --tls-key tls/{host}.key";
    place.printed(two);
    let digest = |out: &str| place.printed(&format!("verify {out} --digest"));
    let last = |text: String| text.lines().last().map(str::to_owned);
    assert_eq!(last(digest("one")), last(digest("two")));
}

#[test]
fn a_feature_that_this_build_lacks_is_named_with_the_remedy() {
    let place = Workdir::new();
    place.write("job.toml", JOB);
    place.write("hosts", "127.0.0.1:7101\n127.0.0.1:7102\n");
    let mut lines = Vec::new();
    if cfg!(not(feature = "s3")) {
        lines.push(("inspect s3://bucket/run", "s3"));
        lines.push(("plan job.toml --set output.path=s3://bucket/run", "s3"));
        lines.push(("run job.toml --set output.path=s3://bucket/run", "s3"));
        let quiet = "run job.toml --quiet --set output.path=s3://bucket/run";
        lines.push((quiet, "s3"));
    }
    if cfg!(not(feature = "tls")) {
        let encrypted = "run job.toml -n 2 -p 0 --hosts hosts --tls-ca a --tls-cert b --tls-key c";
        lines.push((encrypted, "tls"));
    }
    for (line, feature) in lines {
        let (code, said) = place.refused(line);
        let remedy = format!("support: build with `--features {feature}`");
        assert!(said.contains(&remedy), "{line}: {said}");
        assert!(code == 64 || code == 74, "{line}: {code}");
    }
}

#[test]
fn flags_about_other_processes_are_checked_before_anything_is_done() {
    let place = Workdir::new();
    place.write("job.toml", JOB);
    place.write("hosts", "127.0.0.1:7101\n192.0.2.1:7102\n");
    let (code, said) = place.refused("run job.toml --tls-ca ca.pem");
    assert_eq!(code, 64);
    assert!(said.contains("--tls-cert"), "{said}");
    assert_eq!(place.refused("run job.toml --peer-timeout 0").0, 64);
    let member = "run job.toml --quiet -n 2 -p 0 --hosts hosts";
    let (code, said) = place.refused(member);
    assert_eq!(code, 64);
    assert!(said.contains("192.0.2.1:7102"), "{said}");
    assert!(said.contains("TOPICMILL_SECRET"), "{said}");
    let (code, said) = place.refused(&format!("{member} --set cluster.secret_file=absent"));
    assert_eq!(code, 64);
    assert!(said.contains("absent"), "{said}");
    place.write("secret", "short\n");
    let (code, said) = place.refused(&format!("{member} --set cluster.secret_file=secret"));
    assert_eq!(code, 64);
    assert!(said.contains("openssl rand -hex 32"), "{said}");
}
