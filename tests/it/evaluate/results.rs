//! Results compared with each other.

use std::fs;
use std::sync::LazyLock;

use serde_json::Value;

use super::{JOB, Place, RUN, figures};
use crate::workdir::Workdir;

/// A run over texts of two kinds, some without a label, one without a text.
static LABELLED: LazyLock<Place> = LazyLock::new(|| {
    let place = Place(Workdir::new());
    let sea = ["sea", "ship", "whale", "harbour", "wave", "sail", "anchor"];
    let law = ["court", "law", "judge", "appeal", "jury", "plea", "bench"];
    let document = |d: usize| {
        let words = if d.is_multiple_of(3) { sea } else { law };
        let text = |i: usize| words[(d * 5 + i * i) % 7];
        let text: Vec<&str> = (0..12).map(text).collect();
        let label = (d % 10 != 7).then_some(if d.is_multiple_of(3) { "sea" } else { "law" });
        let text = if d == 8 { String::new() } else { text.join(" ") };
        serde_json::json!({ "id": d, "text": text, "kind": label, "tags": ["a", "b"], "shelf": label })
    };
    let lines = (0..300).map(|d| document(d).to_string() + "\n");
    fs::write(place.path("texts.jsonl"), lines.collect::<String>()).unwrap();
    let job = "[corpus]\ninput = \"texts.jsonl\"\nmetadata = [\"kind\", \"tags\"]\ngroup = \"shelf\"\nblock_mib = 0.01\n\
               [vocabulary]\nstop_words = \"none\"\nmin_documents = 2\nmax_share = 1.0\n\
               [model]\ntopics = 2\n[train]\nonline_passes = 1\npasses = 20\n[output]\npath = \"out\"\n";
    fs::write(place.path("job.toml"), job).unwrap();
    place.succeed(&["run", "job.toml", "-q", "-w", "2"]);
    place
});

const ALL: &str = "--set=evaluate.split=all";

/// Returns the figure with this metric and a method that begins with `method`.
fn figure<'a>(summary: &'a Value, metric: &str, method: &str) -> &'a Value {
    let figures = summary["figures"].as_array().unwrap();
    let is_it = |figure: &&Value| {
        figure["metric"] == metric && figure["method"].as_str().unwrap().starts_with(method)
    };
    figures.iter().find(is_it).unwrap()
}

#[test]
fn a_result_is_like_itself() {
    let summary = RUN.summary("itself", &["--compare", "out", ALL]);
    let value = |metric| figure(&summary, metric, "comparison")["value"].as_f64().unwrap();
    assert!((value("cosine") - 1.0).abs() < 1e-9, "{summary}");
    assert!(value("kl_divergence").abs() < 1e-9 && value("f1") == 1.0);
    assert_eq!((value("documents_scored"), value("documents_skipped")), (400.0, 0.0));
    assert!(summary["notes"].to_string().contains("have the same model"));
    let held_out = RUN.summary("itself-held-out", &["--compare", "out"]);
    let scored = figure(&held_out, "documents_scored", "comparison");
    let expected = figures(&held_out)["documents_scored document_completion"];
    assert_eq!(scored["value"], expected);
}

#[test]
fn results_of_two_models_are_compared_over_matched_topics() {
    let other = Place::of_run(&JOB.replace("[model]\ntopics = 4", "[model]\ntopics = 5\nseed = 9"));
    let path = other.path("out").to_string_lossy().into_owned();
    let summary = RUN.summary("two-models", &["--compare", &path, ALL]);
    let value = |metric| figure(&summary, metric, "comparison")["value"].as_f64().unwrap();
    assert_eq!(value("topics_matched"), 4.0);
    assert!(value("topic_hellinger") > 0.0 && value("topic_hellinger") < 0.7);
    assert!(value("cosine") > 0.5 && value("cosine") < 1.0);
    assert!(value("kl_divergence") > 0.0 && value("f1") < 1.0);
    assert_eq!(value("documents_scored"), 400.0);
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--compare", "nowhere"], 64, "nowhere"),
        (&["--compare", "out", "--budget", "fast"], 64, "out: was projected with settings other"),
        (
            &["--compare", "out", "--set=project.threshold=0.3"],
            64,
            "out: was projected with settings other",
        ),
        (&["--compare", "out", "--model", "out"], 64, "--model"),
        (&["--set=evaluate.compare=out", "--model", "out"], 64, "evaluate.compare"),
        (
            &["--compare", "out", "--set=evaluate.metrics=[]", "--set=evaluate.split=projected"],
            65,
            "no document in common",
        ),
    ];
    for (arguments, code, word) in cases {
        let (found, told) = RUN.refused(&[&["--output", "refused-compare"], arguments].concat());
        assert!(told.contains(word), "{arguments:?}: {told}");
        assert_eq!(found, code, "{told}");
    }
}

#[test]
fn all_figures_are_the_same_on_any_number_of_workers() {
    let metrics = "--set=evaluate.metrics=[\"completion\",\"umass\",\"npmi\",\"c_v\"]";
    let compared = ["--compare", "out"];
    let flags = [&[metrics, ALL, "-q"][..], &compared].concat();
    let digest = |output: &str, workers: &[&str], more: &[&str]| {
        let first = ["evaluate", "job.toml", "--output", output];
        LABELLED.succeed(&[&first, &flags[..], workers, more].concat());
        assert!(LABELLED.succeed(&["verify", output]).contains("is sound"));
        LABELLED.digest(output)
    };
    let reference: &[&str] = &["--reference", "texts.jsonl"];
    for (name, more) in [("own", &[][..]), ("texts", reference)] {
        let expected = digest(&format!("{name}-1"), &["-w", "1"], more);
        for threads in ["2", "3"] {
            let output = format!("{name}-{threads}");
            assert_eq!(digest(&output, &["-w", threads], more), expected, "{output}");
        }
        let output = format!("{name}-processes");
        let found = digest(&output, &["--processes", "2", "-w", "1"], more);
        assert_eq!(found, expected, "{output}");
    }
}
