//! Topics that are not worth reading are reported at the end of a run, and in `topics`.

use serde_json::Value;

use crate::workdir::Workdir;

/// Four planted topics.
const JOB: &str = r#"
[synth]
path = "corpus"
topics = 4
documents = 1500
terms = 1000
mean_length = 60
[vocabulary]
stop_words = "none"
[model]
topics = 12
alpha_sum = 1.0
eta = 0.3
[train]
minibatch = 256
passes = 20
memory = "off"
[output]
path = "out"
"#;

/// Runs the job; returns the last line of `--json`, and the topics from `inspect`.
fn run(set: &[&str]) -> (Value, Vec<Value>) {
    let folder = Workdir::new().with_job(JOB);
    let printed = |args: &[&str]| {
        let text = folder.succeed(args);
        serde_json::from_str::<Value>(text.lines().next_back().unwrap()).unwrap()
    };
    let sets = set.iter().flat_map(|set| ["--set", set]);
    let args: Vec<&str> =
        ["run", "job.toml", "--json", "-w", "2"].into_iter().chain(sets).collect();
    let summary = printed(&args);
    let topics = printed(&["inspect", "out", "--json"])["topics"].take();
    (summary, topics.as_array().unwrap().clone())
}

/// Returns the topics that the summary warns of by this word.
fn faulty(summary: &Value, kind: &str) -> Vec<Value> {
    let findings = summary["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["kind"] == kind);
    found.map_or_else(Vec::new, |found| found["topics"].as_array().unwrap().clone())
}

#[test]
fn three_times_too_many_topics_are_duplicates() {
    let (summary, topics) = run(&[]);
    assert_eq!(summary["planted_found"], serde_json::json!([4, 4]));
    assert_eq!(topics.len(), 12);
    assert!(faulty(&summary, "junk").len() <= 2, "{summary}");
    let duplicates = topics.iter().filter(|t| !t["duplicate_of"].is_null());
    let duplicates: Vec<&Value> = duplicates.map(|topic| &topic["topic"]).collect();
    assert!((5..=8).contains(&duplicates.len()), "{topics:?}");
    let named = faulty(&summary, "duplicate");
    assert_eq!(named.iter().collect::<Vec<_>>(), duplicates);
}

#[test]
fn topics_that_were_hardly_trained_are_junk() {
    let (summary, topics) = run(&["train.passes=1", "train.minibatch=1500", "model.topics=4"]);
    assert_eq!(faulty(&summary, "junk"), [0, 1, 2, 3].map(Value::from), "{summary}");
    assert!(faulty(&summary, "dead").is_empty(), "{summary}");
    assert!(topics.iter().all(|topic| topic["junk"] == true), "{topics:?}");
}
