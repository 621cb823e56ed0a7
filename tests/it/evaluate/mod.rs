//! `topicmill evaluate`: the same figures on any number of workers, for a model and for its exports;
//! errors for models that cannot be scored.

mod coherence;
mod forms;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, Float32Array, Int32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use topicmill::evaluate::foreign::ForeignModel;
use topicmill::tables::{phi, read};

use crate::workdir::Workdir;

const JOB: &str = "\
[synth]
path = \"corpus\"
topics = 4
documents = 400
terms = 90
mean_length = 25

[corpus]
block_mib = 0.01

[vocabulary]
stop_words = \"none\"
min_documents = 3

[sample]
held_out = 0.2

[train]
online_passes = 1
passes = 12

[model]
topics = 4

[output]
path = \"out\"
";

const BOTH: &str = "--set=evaluate.metrics=[\"completion\",\"left-to-right\"]";

/// A folder with a finished run, in which each test writes under its own names.
static RUN: LazyLock<Place> = LazyLock::new(|| Place::of_run(JOB));

struct Place(Workdir);

impl Deref for Place {
    type Target = Workdir;

    fn deref(&self) -> &Workdir {
        &self.0
    }
}

impl Place {
    /// Creates a folder with a finished run of this job.
    fn of_run(job: &str) -> Self {
        let place = Self(Workdir::new().with_job(job));
        place.succeed("run job.toml -q -w 2");
        place
    }

    fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.output(&[&["evaluate", "job.toml"], arguments].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap(), told)
    }

    /// Runs an evaluation; returns the last line of `--json`.
    fn summary(&self, output: &str, arguments: &[&str]) -> Value {
        let first = ["evaluate", "job.toml", "--json", "--output", output];
        let lines = self.succeed(&[&first, arguments].concat());
        serde_json::from_str(lines.lines().last().unwrap()).unwrap()
    }

    fn digest(&self, output: &str) -> String {
        self.succeed(&["verify", output, "--digest"])
    }
}

/// Returns the value of each figure, by metric and the first word of its method.
fn figures(summary: &Value) -> BTreeMap<String, f64> {
    let figures = summary["figures"].as_array().unwrap().iter();
    figures
        .map(|figure| {
            let method = figure["method"].as_str().unwrap();
            let name = method.split(',').next().unwrap();
            let key = format!("{} {name}", figure["metric"].as_str().unwrap());
            (key, figure["value"].as_f64().unwrap())
        })
        .collect()
}

const COMPLETION: &str = "log_likelihood_per_token document_completion";
const LEFT_TO_RIGHT: &str = "log_likelihood_per_token left_to_right";

/// Reads every file below a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = walkdir::WalkDir::new(folder).into_iter().map(|e| e.unwrap());
    files
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn figures_are_the_same_on_any_number_of_workers_and_the_run_is_not_touched() {
    let before = contents(&RUN.path("out"));
    RUN.summary("w1", &["-w", "1", BOTH]);
    let expected = RUN.digest("w1");
    for threads in ["2", "3", "4"] {
        let output = format!("w{threads}");
        RUN.summary(&output, &["-w", threads, BOTH]);
        assert_eq!(RUN.digest(&output), expected, "{threads} threads");
    }
    RUN.succeed(&[
        "evaluate",
        "job.toml",
        "-q",
        "--output",
        "p2",
        "--processes",
        "2",
        "-w",
        "1",
        BOTH,
    ]);
    assert_eq!(RUN.digest("p2"), expected, "two processes");
    assert!(RUN.succeed(&["verify", "p2"]).contains("is sound"));
    assert!(contents(&RUN.path("out")) == before, "the run's output has changed");
}

#[test]
fn completion_of_the_own_model_is_the_figure_of_the_run() {
    let summary = RUN.summary("own", &[BOTH]);
    let rows = read::head(&RUN.path("out/evaluation"), 1).unwrap();
    let of_run: f64 = rows.rows[0][4].parse().unwrap();
    assert_eq!(summary["figures"][0]["method"], rows.rows[0][1]);
    let figures = figures(&summary);
    assert_eq!(figures[COMPLETION], of_run);
    assert_eq!(summary["split"], "held_out");
    // Document completion scores half of the tokens, left to right every token.
    let (half, all) =
        (figures["tokens_scored document_completion"], figures["tokens_scored left_to_right"]);
    assert!(half < all && 2.0 * half + figures["documents_scored left_to_right"] >= all);
    let rows = read::head(&RUN.path("own/document_scores"), 10_000).unwrap();
    let sum = |column: usize, method: &str| -> f64 {
        let of_method = rows.rows.iter().filter(|row| row[1] == method);
        of_method.map(|row| row[column].parse::<f64>().unwrap()).sum()
    };
    assert_eq!(sum(3, "left_to_right"), all);
    let per_token = sum(2, "left_to_right") / all;
    assert!((per_token - figures[LEFT_TO_RIGHT]).abs() < 1e-9);
    let error = &summary["figures"][0]["standard_error"];
    assert!(error.as_f64().unwrap() > 0.0);
}

#[test]
fn the_own_model_scores_alike_through_every_export() {
    let own = figures(&RUN.summary("as-it-is", &[BOTH]));
    let model = phi::read(&RUN.path("out")).unwrap();
    let alpha: Vec<String> = model.alpha.iter().flatten().map(f64::to_string).collect();
    // Some programs write .5 for 0.5.
    let alpha = alpha.join("\n").replace("\n0.", "\n.");
    fs::write(RUN.path("alpha.txt"), alpha).unwrap();
    write_long(&RUN.path("long.parquet"), &model.terms, &dense(&model));
    RUN.succeed(&["export", "out", "--format", "mallet-state", "--output", "state.gz"]);
    let exports: [(&str, &[&str], f64); 3] = [
        ("out", &[], 2e-3),
        ("long.parquet", &["--alpha", "alpha.txt"], 2e-3),
        // The topics of its tokens are drawn, and it has those of the documents held out.
        ("state.gz", &[], 5e-2),
    ];
    for (path, more, slack) in exports {
        let output = format!("of-{path}");
        let summary = RUN.summary(&output, &[&["--model", path, BOTH], more].concat());
        let theirs = figures(&summary);
        for name in [COMPLETION, LEFT_TO_RIGHT] {
            let off = (theirs[name] - own[name]).abs();
            assert!(off < slack, "{path}: {} for {}", theirs[name], own[name]);
        }
        let note = summary["notes"][1].as_str().unwrap();
        assert!(note.contains("lacks 0 of"), "{note}");
    }
}

fn dense(model: &ForeignModel) -> Vec<Vec<f32>> {
    let row = |&h: &f64| vec![h as f32; model.terms.len()];
    let mut phi: Vec<Vec<f32>> = model.smoothing.iter().map(row).collect();
    for (w, entries) in model.rows.iter().enumerate() {
        for &(topic, weight) in entries {
            phi[usize::from(topic)][w] += weight;
        }
    }
    phi
}

fn write_parquet(path: &Path, columns: Vec<(String, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn write_long(path: &Path, terms: &[String], phi: &[Vec<f32>]) {
    let topics = (0..phi.len() as i32).flat_map(|k| std::iter::repeat_n(k, terms.len()));
    let names = phi.iter().flat_map(|_| terms.iter().map(String::as_str));
    let columns: Vec<(String, ArrayRef)> = vec![
        ("topic".into(), Arc::new(topics.collect::<Int32Array>())),
        ("word".into(), Arc::new(StringArray::from_iter_values(names))),
        ("weight".into(), Arc::new(Float32Array::from(phi.concat()))),
    ];
    write_parquet(path, columns);
}

/// Writes a model with these weights of terms in topics.
fn write_weights(path: &Path, weights: &[(i32, &str, f32)]) {
    let columns: Vec<(String, ArrayRef)> = vec![
        ("topic".into(), Arc::new(weights.iter().map(|it| it.0).collect::<Int32Array>())),
        ("term".into(), Arc::new(StringArray::from_iter_values(weights.iter().map(|it| it.1)))),
        ("weight".into(), Arc::new(weights.iter().map(|it| it.2).collect::<Float32Array>())),
    ];
    write_parquet(path, columns);
}

#[test]
fn documents_are_chosen_by_their_hash_and_splits_add_up() {
    let scored = |split: &str, most: &str| {
        let output = format!("{split}-{most}");
        let split_ = format!("--set=evaluate.split={split}");
        let most_ = format!("--set=evaluate.documents={most}");
        let summary = RUN.summary(&output, &[&split_, &most_]);
        let rows = read::head(&RUN.path(&output).join("document_scores"), 10_000).unwrap();
        let ids: Vec<String> = rows.rows.into_iter().map(|row| row[0].clone()).collect();
        let count = figures(&summary)["documents_scored document_completion"];
        assert_eq!(count, ids.len() as f64);
        ids
    };
    let all = scored("all", "0");
    let (held_out, sample) = (scored("held_out", "0"), scored("sample", "0"));
    assert_eq!(held_out.len() + sample.len(), all.len());
    assert!(held_out.iter().all(|id| !sample.contains(id)));
    let (ten, twenty) = (scored("all", "10"), scored("all", "20"));
    assert_eq!((ten.len(), twenty.len()), (10, 20));
    assert!(ten.iter().all(|id| twenty.contains(id)));
    let (code, told) = RUN.refused(&["--output", "none", "--set=evaluate.split=projected"]);
    assert_eq!(code, 65);
    assert!(told.contains("no document to evaluate on"), "{told}");
}

#[test]
fn terms_that_a_model_lacks_are_unknown_and_documents_of_nothing_else_are_skipped() {
    let model = phi::read(&RUN.path("out")).unwrap();
    let known = [(0, &model.terms[20][..], 3.0), (1, &model.terms[21][..], 1.0)];
    write_weights(&RUN.path("two.parquet"), &known);
    let summary = RUN.summary("two", &["--model", "two.parquet", BOTH]);
    let figures = figures(&summary);
    let value = |name: &str| figures[&format!("{name} left_to_right")];
    assert!(value("documents_skipped") > 0.0 && value("documents_scored") > 0.0);
    let own = self::figures(&RUN.summary("all-known", &[BOTH]));
    let tokens = own["tokens_scored left_to_right"];
    assert_eq!(value("tokens_scored") + value("tokens_unknown"), tokens);
    let documents = own["documents_scored left_to_right"];
    assert_eq!(value("documents_skipped") + value("documents_scored"), documents);
    let note = summary["notes"][2].as_str().unwrap();
    assert!(note.contains("5 / K"), "{note}");
    // Flags of `evaluate` reach the processes that it starts.
    let flags = ["--model", "two.parquet", "--alpha", ".2", "-q", "-w", "1"];
    let evaluate = |output: &str, more: &[&str]| {
        let first = ["evaluate", "job.toml", "--output", output];
        RUN.succeed(&[&first, &flags[..], more].concat());
        RUN.digest(output)
    };
    assert_eq!(evaluate("two-0.2", &["--processes", "2"]), evaluate("two-here", &[]));
}

#[test]
fn what_cannot_be_evaluated_is_told() {
    let place = &RUN;
    write_weights(&place.path("other.parquet"), &[(0, "τράπεζα", 3.0), (1, "δρόμος", 1.0)]);
    write_weights(&place.path("nan.parquet"), &[(0, "a", 0.5), (0, "b", f32::NAN)]);
    fs::write(place.path("weights.txt"), "0\tsea\t0.5\n").unwrap();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["--alpha", "absent.txt"], 64, "a text file with one per topic"),
        (&["--alpha", "1e300"], 64, "from 1e-10 to 1e10"),
        (&["--model", "other.parquet"], 65, "a model of another vocabulary"),
        (&["--model", "absent.gz"], 64, "absent.gz"),
        (&["--model", "nan.parquet"], 65, "row 1 (from 0): the weight of \"b\" in topic 0 is NaN"),
        (&["--model", "weights.txt"], 65, "topicmill.convert"),
        (&["--set=evaluate.alpha=[0.1, 0.2]"], 65, "lists 2 values, but the model has 4"),
        (&["--set=evaluate.metrics=[\"npmy\"]"], 64, "evaluate.metrics"),
        (&["--set=evaluate.alpha=-1"], 64, "evaluate.alpha"),
    ];
    for (arguments, code, word) in cases {
        let (found, told) = place.refused(&[&["--output", "refused"], arguments].concat());
        assert!(told.contains(word), "{arguments:?}: {told}");
        assert_eq!(found, code, "{told}");
    }
    let (code, told) = place.refused(&["--output", "out", "--overwrite"]);
    assert_eq!(code, 64);
    assert!(told.contains("is the output of a run"), "{told}");
    place.summary("twice", &[]);
    place.summary("twice", &[]);
    let (code, told) = place.refused(&["--output", "twice", BOTH]);
    assert_eq!(code, 64);
    assert!(told.contains("--overwrite"), "{told}");
    place.summary("twice", &["--overwrite", BOTH]);
    let (code, _) = place.refused(&["--set=output.path=nowhere"]);
    assert_eq!(code, 64);
}
