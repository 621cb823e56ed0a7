//! Results compared with each other, and associated words.

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

const NONE: &str = "--set=evaluate.metrics=[]";

/// P(w | sea) follows the topic of the sea, whose other six words come first.
#[test]
fn associates_rank_by_the_topics_of_their_cue() {
    let norms = "cue,associate,strength\nsea,ship,0.2\nsea,court,0.1\nsea,dragon,0.5\nCourt,law,0.7\n                 court,\"judge\",0.2\nunicorn,horn,1\nwhale,Whale,1\n";
    fs::write(LABELLED.path("norms.csv"), norms).unwrap();
    let flags = [NONE, "--norms", "norms.csv"];
    let summary = LABELLED.summary("norms", &flags);
    let value = |summary: &Value, metric, method| {
        let figure = figure(summary, metric, method);
        assert!(figure["method"].as_str().unwrap().ends_with("among 13 terms"));
        figure["value"].as_f64().unwrap()
    };
    // The first associate of `sea` is `dragon`, which is not a term; `Court` and `court` are two cues.
    assert_eq!(value(&summary, "association_pairs", "first"), 2.0);
    assert_eq!(value(&summary, "association_pairs", "all"), 4.0);
    assert_eq!(value(&summary, "association_pairs_skipped", "all"), 3.0);
    let first = value(&summary, "association_rank", "first associates");
    let all = value(&summary, "association_rank", "all associates");
    assert!(first <= 6.0 && all <= 6.0, "{summary}");
    // The same topics, read back from tables.
    let read = LABELLED.summary("norms-read", &[&flags[..], &["--model", "out"]].concat());
    assert_eq!(value(&read, "association_rank", "first associates"), first);
    assert_eq!(value(&read, "association_rank", "all associates"), all);
}

/// Two topics, `sea ship` and `law court`, with a word in both, and words that the model lacks.
#[test]
fn associates_rank_by_an_external_model_as_by_hand() {
    let model =
        "0\tsea\t0.5\n0\tship\t0.3\n0\twave\t0.2\n1\tlaw\t0.6\n1\tcourt\t0.3\n1\twave\t0.1\n";
    fs::write(LABELLED.path("weights.txt"), model).unwrap();
    // Given `sea`: ship 0.3, wave 0.2, law and court 0. Given `wave`, of which two thirds are topic 0:
    // sea 0.33, ship and law 0.2, court 0.1.
    let norms = "sea\twave\nsea\tlaw\nsea\twhale\nwave\tsea\nwave\tship\nwave\tcourt\n";
    fs::write(LABELLED.path("by-hand.tsv"), norms).unwrap();
    let flags = [NONE, "--norms", "by-hand.tsv", "--model", "weights.txt"];
    let summary = LABELLED.summary("norms-by-hand", &flags);
    let value = |metric, method| figure(&summary, metric, method)["value"].as_f64().unwrap();
    // Ranks 2 and 3.5; 1, 2.5 and 4.
    assert_eq!(value("association_rank", "first associates, among 4 terms"), 1.5);
    assert_eq!(value("association_rank", "all associates, among 4 terms"), 2.5);
    assert_eq!(value("association_pairs_skipped", "all"), 1.0);
}

#[test]
fn norms_that_cannot_be_used_are_told() {
    let cases = [
        ("cat\tdog\n", 65, "none of its 1 pairs has two words that are terms"),
        ("sea\tship\nsea\n", 65, "wrong.tsv, line 2: is not a cue"),
        ("", 65, "wrong.tsv: has no line with a cue"),
    ];
    for (norms, code, word) in cases {
        fs::write(LABELLED.path("wrong.tsv"), norms).unwrap();
        let flags = ["--output", "refused-norms", NONE, "--norms", "wrong.tsv"];
        let (found, told) = LABELLED.refused(&flags);
        assert!(told.contains(word), "{norms:?}: {told}");
        assert_eq!(found, code, "{told}");
    }
    let flags = ["--output", "refused-norms", "--norms", "absent.tsv"];
    let (code, told) = LABELLED.refused(&flags);
    assert!(told.contains("absent.tsv: there is no such file"), "{told}");
    assert_eq!(code, 64, "{told}");
}

#[test]
fn all_figures_are_the_same_on_any_number_of_workers() {
    let metrics = "--set=evaluate.metrics=[\"completion\",\"umass\",\"npmi\",\"c_v\"]";
    let norms = "sea\tship\nsea\tcourt\nlaw\tjudge\nlaw\tWHALE\nwave\tsail\n";
    fs::write(LABELLED.path("all-norms.tsv"), norms).unwrap();
    let compared = ["--compare", "out", "--norms", "all-norms.tsv"];
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
