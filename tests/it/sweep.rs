//! `topicmill sweep` and `topicmill take`: several models on one collection, and a result of one of them.

use std::fs;
use std::process::Stdio;
use std::sync::LazyLock;

use topicmill::config::state::MODEL_FILE;

use crate::workdir::{Workdir, wait_during};

const JOB: &str = r#"
[synth]
path = "planted"
documents = 600
topics = 4
terms = 300
mean_length = 30
[corpus]
metadata = ["topic"]
[vocabulary]
stop_words = "none"
[sample]
documents = 400
held_out = 0.2
[model]
topics = 9
[train]
passes = 8
[project]
trends = ["topic"]
[output]
path = "out"
"#;

/// Returns a folder with the job, and its sweep in `sweep`.
fn swept() -> Workdir {
    static SWEPT: LazyLock<Workdir> = LazyLock::new(|| {
        let ground = Workdir::new().with_job(JOB);
        ground.succeed("sweep job.toml --topics 3,5 --seeds 2 -o sweep -w 1 --quiet");
        ground
    });
    Workdir::copy_of(&SWEPT)
}

#[test]
fn the_same_bytes_on_any_threads_in_parallel_and_when_it_grows() {
    let ground = swept();
    let all = ground.digest("sweep");
    ground.succeed("sweep job.toml --topics 5,3,5 --seeds 2 -o others -w 3 --parallel 3 --quiet");
    assert_eq!(ground.digest("others"), all);
    ground.succeed("sweep job.toml --topics 5 --seeds 2 -o grown -w 2 --quiet");
    assert_ne!(ground.digest("grown"), all);
    let trained = || fs::metadata(ground.path("grown/models/5-2").join(MODEL_FILE)).unwrap();
    let before = trained().modified().unwrap();
    ground.succeed("sweep job.toml --topics 3,5 --seeds 2 -o grown -w 2 --quiet");
    assert_eq!(ground.digest("grown"), all);
    assert_eq!(trained().modified().unwrap(), before);
    let flags = "--seeds 1 -o flags --set train.passes=4 --quiet";
    ground.succeed(&format!("sweep planted --topics 4,6 {flags}"));
    ground.succeed(&format!("sweep planted --topics 3,4,6 {flags}"));
    assert_eq!(ground.table("flags/sweep_sizes").len(), 3);
}

#[test]
fn a_sweep_that_was_killed_is_resumed() {
    let ground = swept();
    let line = "sweep job.toml --topics 3,5 --seeds 2 -o killed -w 2 --quiet";
    let mut command = ground.command(line);
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    wait_during(&mut child, "a model", || ground.path("killed/models/3-2/_SUCCESS").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!ground.path("killed/_SUCCESS").exists());
    // The process that trained ends with its parent; until then, it holds the folder of its model.
    let finish = || ground.output(line).status.success().then_some(());
    crate::workdir::wait_for("a finished sweep", crate::workdir::PATIENCE, finish);
    assert_eq!(ground.digest("killed"), ground.digest("sweep"));
}

#[test]
fn every_model_has_its_rows() {
    let ground = swept();
    let models = ground.table("sweep/sweep");
    let names = |row: &crate::workdir::Row| [row["topics"].clone(), row["seed"].clone()];
    let expected = [["3", "1"], ["3", "2"], ["5", "1"], ["5", "2"]];
    assert_eq!(models.iter().map(names).collect::<Vec<_>>(), expected);
    assert!(models.iter().all(|row| row["log_likelihood_per_token"].starts_with('-')));
    assert_eq!(ground.table("sweep/sweep_topics").len(), 16);
    // Each topic with each other model.
    assert_eq!(ground.table("sweep/sweep_matches").len(), 48);
    let scored = |name: &str| {
        let scores = ground.table(&format!("sweep/models/{name}-evaluation/document_scores"));
        scores.iter().map(|row| [row["doc_id"].clone(), row["tokens"].clone()]).collect::<Vec<_>>()
    };
    assert_eq!(scored("3-1"), scored("5-2"));
    let sizes = ground.table("sweep/sweep_sizes");
    assert_eq!(sizes.iter().filter(|row| row["difference"] == "0.0").count(), 1, "{sizes:?}");
    assert_eq!(sizes.iter().filter(|row| row["recommended"] == "true").count(), 1, "{sizes:?}");
}

#[test]
fn a_model_that_is_taken_is_that_of_its_own_job() {
    let ground = swept();
    ground.succeed("take sweep 5/2 --output taken -w 2 --quiet");
    let keys = "--set model.topics=5 --set model.seed=2 --set sample.seed=1";
    ground.succeed(&format!("run job.toml {keys} --set output.path=own -w 1 --quiet"));
    ground.digest("taken");
    for table in ["documents", "document_topics", "topics", "topic_terms", "topic_trends"] {
        let bytes =
            |out| fs::read(ground.path(&format!("{out}/{table}/part-00000.parquet"))).unwrap();
        assert_eq!(bytes("taken"), bytes("own"), "{table}");
    }
    assert_eq!(ground.table("taken/topic_stability").len(), 5);
    assert!(ground.succeed("inspect taken").contains("stability"));
    fs::remove_dir_all(ground.path("sweep")).unwrap();
    ground.succeed("run taken.toml --quiet");
    let refused = ground.denied(65, "take taken 5");
    assert!(refused.contains("not a finished sweep"), "{refused}");
}

#[test]
fn settings_are_combined_and_compared() {
    let ground = swept();
    let flags = "-w 2 --quiet --topics 5 --seeds 2 --set train.passes=6";
    let varied = "--set train.method=sampled,scvb0 --set model.alpha_sum=[2,0.5]";
    ground.succeed(&format!("sweep job.toml {flags} {varied} -o settings"));
    let sizes = ground.table("settings/sweep_sizes");
    let settings: Vec<&str> = sizes.iter().map(|row| row["settings"].as_str()).collect();
    let expected = [
        "model.alpha_sum=0.5,train.method=sampled",
        "model.alpha_sum=0.5,train.method=scvb0",
        "model.alpha_sum=2.0,train.method=sampled",
        "model.alpha_sum=2.0,train.method=scvb0",
    ];
    assert_eq!(settings, expected);
    assert_eq!(sizes.iter().filter(|row| row["recommended"] == "true").count(), 1);
    // Each topic with the model of the other seed.
    assert_eq!(ground.table("settings/sweep_matches").len(), 40);
    // Fewer of the values need no training, and are a sweep of their own.
    let line = format!("sweep job.toml {flags} --set train.method=scvb0,sampled -o fewer");
    ground.succeed(&format!("{line} --set model.alpha_sum=2"));
    let table = |out: &str| ground.table(&format!("{out}/sweep"));
    let likelihood = |row: &crate::workdir::Row| row["log_likelihood_per_token"].clone();
    let of_two: Vec<String> = table("settings")[4..].iter().map(likelihood).collect();
    assert_eq!(table("fewer").iter().map(likelihood).collect::<Vec<_>>(), of_two);
    let model = "5/2/train.method=scvb0,model.alpha_sum=.5";
    ground.succeed(&format!("take settings {model} --output taken -w 2 --quiet"));
    assert!(fs::read_to_string(ground.path("taken/job.toml")).unwrap().contains("scvb0"));
    let refused = |sets: &str, words: &str| {
        let message = ground.denied(64, &format!("sweep job.toml {flags} {sets} -o new"));
        assert!(message.contains(words), "{sets}: {message}");
    };
    refused("--set model.topics=3,4", "--topics");
    refused("--set train.step_decay=0.7,0.70", "given twice");
    refused("--set train.warm_start=a,b", "make a sweep of each");
    refused("--set vocabulary.min_documents=2,3", "whole number");
    assert!(!ground.path("new").exists());
    for line in [
        "run settings/job.toml",
        "report settings",
        "run job.toml --overwrite --set output.path=settings",
        "take sweep 5 -o settings --overwrite",
        "topics planted -o settings --overwrite",
    ] {
        let message = ground.denied(64, line);
        assert!(message.contains("topicmill take"), "{line}: {message}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let ground = swept();
    let refused = |code: i32, line: &str, words: &str| {
        let message = ground.denied(code, line);
        assert!(message.contains(words), "{line}: {message}");
    };
    refused(64, "sweep job.toml --topics 5 --seeds 1 -o new", "compares nothing");
    refused(64, "sweep job.toml --topics 5,301 -o new", "terms of the collection");
    refused(64, "sweep job.toml --set sample.held_out=0 -o new", "sample.held_out");
    refused(64, "sweep job.toml --text body -o new", "--set");
    refused(64, "sweep job.toml -o sweep --set vocabulary.min_documents=9", "another collection");
    refused(64, "sweep job.toml -o sweep --topics 3,5 --set train.passes=9", "settings");
    refused(64, "sweep job.toml -o sweep --topics 3,5,301", "terms of the collection");
    refused(64, "take sweep 3 -o sweep/models/5-1 --overwrite", "in the folder of the sweep");
    refused(64, "take sweep 4", "3/1");
    refused(64, "take nowhere 4", "does not exist");
    // Nothing has changed.
    ground.digest("sweep");
    assert!(ground.path("sweep/_SUCCESS").exists());
    ground.write("planted/documents-00001.jsonl", "{\"id\": \"new\", \"text\": \"w1 w2\"}\n");
    refused(64, "sweep job.toml -o sweep --topics 3,5 --seeds 2", "before it changed");
}
