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

#[test]
fn three_times_too_many_topics_are_duplicates() {
    let (summary, topics) = run(&[]);
    assert_eq!(summary["planted_found"], serde_json::json!([4, 4]));
    let faults = &summary["topic_faults"];
    assert_eq!(faults["topics"], 12);
    assert!(faults["junk"]["count"].as_u64() <= Some(2), "{faults}");
    let duplicates = topics.iter().filter(|t| !t["duplicate_of"].is_null());
    let duplicates: Vec<&Value> = duplicates.map(|topic| &topic["topic"]).collect();
    assert!((5..=8).contains(&duplicates.len()), "{topics:?}");
    assert_eq!(faults["duplicates"]["count"], duplicates.len());
    let named: Vec<&Value> = faults["duplicates"]["first"].as_array().unwrap().iter().collect();
    assert_eq!(named, duplicates[..5]);
}

#[test]
fn topics_that_were_hardly_trained_are_junk() {
    let (summary, topics) = run(&["train.passes=1", "train.minibatch=1500", "model.topics=4"]);
    let faults = &summary["topic_faults"];
    assert_eq!(faults["junk"]["count"], 4, "{faults}");
    assert_eq!(faults["junk"]["first"], serde_json::json!([0, 1, 2, 3]));
    assert_eq!(faults["dead"]["count"], 0, "{faults}");
    assert!(topics.iter().all(|topic| topic["junk"] == true), "{topics:?}");
}
