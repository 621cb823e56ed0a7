//! What all processes of a run must agree on, and what a run removes only once they do.

use std::collections::BTreeSet;
use std::fs;
use std::process::Output;

use crate::workdir::{Workdir, free_hosts, said};

const JOB: &str = "\
[synth]
path = \"planted\"
topics = 4
documents = 3000
terms = 300
mean_length = 30

[corpus]
block_mib = 0.1

[vocabulary]
stop_words = \"none\"

[model]
topics = 4

[train]
minibatch = 128
passes = 3

[output]
path = \"out\"
";

/// Runs two processes of one run, each with its own flags.
fn pair(place: &Workdir, flags: [&str; 2]) -> [Output; 2] {
    place.write("hosts", free_hosts(2).join("\n"));
    let start = |process: usize| {
        let line =
            format!("run job.toml -w 1 -n 2 -p {process} --hosts hosts --quiet {}", flags[process]);
        let mut command = place.command(&line);
        command.stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped());
        command.spawn().expect("it starts")
    };
    [0, 1].map(start).map(|child| child.wait_with_output().expect("ours"))
}

#[test]
fn processes_that_do_not_share_the_output_are_refused() {
    let place = Workdir::new().with_job(JOB);
    // The lock that an earlier run left there belongs to another run.
    place.succeed("ingest job.toml --set output.path=b");
    let outputs = pair(&place, ["--set output.path=a", "--set output.path=b"]);
    let told: Vec<String> = outputs.iter().map(said).collect();
    // The first process to report it ends the other.
    let codes = outputs.map(|output| output.status.code());
    let codes: BTreeSet<_> = codes.into_iter().collect();
    assert!(codes.contains(&Some(65)), "{told:?}");
    assert!(!codes.contains(&Some(0)), "{told:?}");
    let words = "process 1 does not see the output of process 0, ";
    assert!(told[0].contains(words), "{told:?}");
    assert!(!place.path("a/corpus").exists());
}

#[test]
fn processes_that_would_not_write_checkpoints_together_are_refused() {
    let place = Workdir::new().with_job(JOB);
    let outputs = pair(&place, ["--set train.checkpoint_every=7", ""]);
    for output in outputs {
        let told = said(&output);
        assert_eq!(output.status.code(), Some(64), "{told}");
        assert!(told.contains("has different settings"), "{told}");
    }
}

#[test]
fn nothing_is_removed_before_the_run_is_sure_to_replace_it() {
    let place = Workdir::new().with_job(JOB);
    place.succeed("run job.toml -w 2 --quiet");
    let digest = place.digest("out");
    place.write("hosts", free_hosts(2).join("\n"));
    for (code, line) in [
        (64, "project job.toml --set model.topics=5"),
        (64, "train job.toml --set vocabulary.max_terms=99"),
        (69, "run job.toml -w 1 -n 2 -p 0 --hosts hosts --join-timeout 1"),
    ] {
        place.denied(code, &format!("{line} --overwrite"));
        assert_eq!(place.digest("out"), digest, "{line}");
    }
    let texts = JOB.split("[corpus]").nth(1).expect("the rest");
    place.write("typed.toml", format!("[corpus]\ninput = \"tpyo\"{texts}"));
    place.denied(65, "run typed.toml --overwrite");
    assert_eq!(place.digest("out"), digest);
    let names_estimator = || {
        let part = std::fs::read(place.path("out/documents/part-00000.parquet")).expect("written");
        part.windows(9).any(|bytes| bytes == b"estimator")
    };
    assert!(!names_estimator(), "cvb0 has none");
    place.succeed("project job.toml --overwrite --set project.method=gibbs");
    assert_ne!(place.digest("out"), digest);
    assert!(names_estimator());
    place.succeed("run job.toml --overwrite");
    assert_eq!(place.digest("out"), digest);
    std::fs::remove_file(place.path("out/corpus/collection.json")).expect("it is there");
    for stage in ["ingest", "project", "run"] {
        let told = place.denied(65, &format!("{stage} job.toml"));
        assert!(told.contains("collection.json is missing, though"), "{told}");
    }
    place.succeed("run job.toml --overwrite");
    assert_eq!(place.digest("out"), digest);
}

#[test]
fn later_stages_refuse_a_collection_of_another_job() {
    let place = Workdir::new().with_job(JOB);
    place.succeed("ingest job.toml");
    let told = place.denied(64, "train job.toml --set vocabulary.max_terms=99");
    let words = "out/corpus/collection.json was made with different settings of corpus, tokens";
    assert!(told.contains(words), "{told}");
    place.succeed("train job.toml");
}

#[test]
fn a_result_whose_input_has_changed_is_not_complete() {
    let texts = JOB.split("[corpus]").nth(1).expect("the rest");
    let place = Workdir::new().with_job(&format!("[corpus]\ninput = \"texts.jsonl\"{texts}"));
    let lines = |count: usize| -> String {
        let line = |n: usize| {
            format!("{{\"id\": \"{n}\", \"text\": \"one two two red blue {}\"}}\n", n % 3)
        };
        (0..count).map(line).collect()
    };
    place.write("texts.jsonl", lines(60));
    place.succeed("run job.toml --set vocabulary.max_share=1.0");
    let again = "run job.toml --set vocabulary.max_share=1.0";
    assert!(place.succeed(again).contains("(from an earlier run)"));
    place.write("texts.jsonl", lines(61));
    let told = place.denied(65, again);
    assert!(told.contains("whose input has changed"), "{told}");
    let file = "job.toml --set output.path=texts.jsonl/below";
    for command in ["run", "plan"] {
        let told = place.denied(64, &format!("{command} {file}"));
        assert!(told.contains("texts.jsonl: is a file"), "{told}");
    }
    let plan = place.succeed("plan job.toml --set vocabulary.max_share=1.0");
    assert!(plan.contains("whose input differs: a run needs --overwrite"), "{plan}");
    let sets = "--set corpus.metadata=[\"section\"] --set output.path=renamed";
    let output = place.output(&format!("ingest {} {sets}", &again[4..]));
    assert!(said(&output).contains("`section_input`"), "{}", said(&output));
    // If the input is gone, the result is still valid.
    fs::remove_file(place.path("texts.jsonl")).expect("ours");
    assert!(place.succeed(again).contains("(from an earlier run)"));
}

#[test]
fn tables_of_a_projection_with_other_settings_do_not_stay() {
    let place = Workdir::new().with_job(JOB);
    place.succeed("run job.toml --quiet");
    for name in ["_SUCCESS", "manifest.json"] {
        fs::remove_file(place.path("out").join(name)).expect("ours");
    }
    place.succeed("run job.toml --set project.method=none");
    for table in ["documents", "document_topics", "topic_documents", "drift"] {
        let parts = fs::read_dir(place.path("out").join(table));
        assert_eq!(parts.map_or(0, Iterator::count), 0, "{table}");
    }
    let without = place.digest("out");
    place.succeed("run job.toml --set project.method=none --set output.path=fresh");
    assert_eq!(place.digest("fresh"), without);
}
