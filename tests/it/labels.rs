//! Labelled documents in whole runs: each label is a topic, labels are predicted for documents that
//! are not trained on, and nothing depends on the number of workers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::sync::LazyLock;

use lda::math::random::{Stage, Stream};

use serde_json::Value;

use crate::workdir::{Workdir, said, succeed};

const LABELS: [&str; 6] = ["art", "birds", "cars, fast", "dance", "earth", "food"];
const DOCUMENTS: u64 = 1200;

const JOB: &str = r#"
[corpus]
input = "documents.jsonl"
labels = "tags"
metadata = ["year"]
block_mib = 0.05
[vocabulary]
stop_words = "none"
min_documents = 2
[sample]
fraction = 0.6
held_out = 0.1
[train]
minibatch = 128
online_passes = 1
passes = 12
checkpoint_every = 5
[output]
path = "out"
"#;

/// Returns the same job, trained by CVB0.
fn cvb0() -> String {
    let sampled = "minibatch = 128\nonline_passes = 1";
    JOB.replace(sampled, "method = \"cvb0\"")
}

/// Returns the labels of a document: one or two, or none for every tenth.
fn labels(document: u64) -> Vec<usize> {
    let mut stream = Stream::keyed(3, Stage::Synth, 0, document);
    let first = stream.below(6) as usize;
    let mut labels = match document % 10 {
        0 => vec![],
        1..=5 => vec![first],
        _ => vec![first, (first + 1 + stream.below(5) as usize) % 6],
    };
    labels.sort_unstable();
    labels
}

/// Prepares a folder with documents whose words belong to their labels, plus some common words.
fn ground() -> Workdir {
    let ground = Workdir::new().with_job(JOB);
    let line = |document: u64| {
        let mut stream = Stream::keyed(4, Stage::Synth, 0, document);
        let labels = labels(document);
        let word = |_| match stream.below(5) {
            0 => format!("common{}", stream.below(30)),
            _ => {
                // Documents without labels have a subject too.
                let about = match &labels[..] {
                    [] => document as usize % 6,
                    labels => labels[stream.below(labels.len() as u64) as usize],
                };
                format!("word{about}x{}", stream.below(20))
            }
        };
        let text: Vec<String> = (0..40).map(word).collect();
        let tags: Vec<_> = labels.iter().map(|&label| LABELS[label]).collect();
        format!(
            "{{\"id\": \"d{document}\", \"year\": {document}, \"tags\": {tags:?}, \"text\": \"{}\"}}\n",
            text.join(" ")
        )
    };
    let lines: String = (0..DOCUMENTS).map(line).collect();
    ground.write("documents.jsonl", lines);
    ground
}

/// Returns such a folder with the finished result, trained once.
fn finished() -> Workdir {
    static FINISHED: LazyLock<Workdir> = LazyLock::new(|| {
        let ground = ground();
        ground.succeed("run job.toml --quiet -w 2");
        ground
    });
    Workdir::copy_of(&FINISHED)
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

#[test]
fn each_label_is_a_topic_of_its_own_words() {
    let ground = ground();
    let screen = ground.succeed("run job.toml -w 2");
    assert!(screen.contains(" art: word0x"), "{screen}");
    assert!(screen.contains("6; F1 of predictions "), "{screen}");
    assert!(ground.succeed("inspect out").contains(" art: word0x"));
    let page = ground.succeed("inspect out --topic 2");
    assert!(page.contains(&format!("\n{:<25} cars, fast\n", "label")), "{page}");
    let of_labels = ground.table("out/labels");
    let names: Vec<_> = of_labels.iter().map(|row| row["label"].as_str()).collect();
    assert_eq!(names, LABELS);
    let all = (0..DOCUMENTS).map(labels);
    let have = |label: usize| all.clone().filter(|labels| labels.contains(&label)).count();
    for (topic, row) in of_labels.iter().enumerate() {
        assert_eq!(number::<usize>(&row["documents"]), have(topic));
    }
    for row in ground.table("out/topics") {
        let own = format!("word{}x", row["topic"]);
        let words = row["top_terms"].trim_matches(['[', ']']).split(", ");
        assert!(words.take(10).all(|word| word.starts_with(&own)), "{row:?}");
    }
}

#[test]
fn labels_of_new_documents_are_predicted() {
    let ground = finished();
    let documents = ground.table("out/documents");
    let mut known = [(0u64, 0u64, 0u64); 6];
    let (mut f1, mut evaluated, mut rank_before) = (0.0, 0u64, (0, 0));
    let mut by_document: BTreeMap<u64, Vec<(usize, bool, Option<bool>)>> = BTreeMap::new();
    for row in ground.table("out/predictions") {
        let document: u64 = number(&row["doc_id"]);
        let rank: u32 = number(&row["rank"]);
        assert!((document, rank) > rank_before, "sorted: {row:?}");
        rank_before = (document, rank);
        let topic: usize = number(&row["topic"]);
        assert_eq!(row["label"], LABELS[topic]);
        let actual = (!row["actual"].is_empty()).then(|| row["actual"] == "true");
        assert_eq!(
            actual,
            (!labels(document).is_empty()).then(|| labels(document).contains(&topic))
        );
        let predicted = row["predicted"] == "true";
        by_document.entry(document).or_default().push((topic, predicted, actual));
    }
    for row in &documents {
        let document: u64 = number(&row["doc_id"]);
        let own = labels(document);
        assert!(!(own.is_empty() && row["split"] == "sample"), "{row:?}");
        let rows = &by_document[&document];
        let predicted: Vec<usize> = rows.iter().filter(|row| row.1).map(|row| row.0).collect();
        assert!(!predicted.is_empty());
        assert!(own.iter().all(|label| rows.iter().any(|row| row.0 == *label)));
        if own.is_empty() || row["split"] == "sample" {
            continue;
        }
        let hits = predicted.iter().filter(|label| own.contains(label)).count() as f64;
        f1 += 2.0 * hits / (own.len() + predicted.len()) as f64;
        evaluated += 1;
        for &label in &own {
            known[label].2 += 1;
        }
        for label in predicted {
            known[label].0 += u64::from(own.contains(&label));
            known[label].1 += 1;
        }
    }
    for (row, (hits, predicted, documents)) in ground.table("out/labels").iter().zip(known) {
        let found = ["hits", "predicted", "evaluated"].map(|name| number::<u64>(&row[name]));
        assert_eq!(found, [hits, predicted, documents]);
        let expected = 2.0 * hits as f64 / (predicted + documents) as f64;
        assert!((number::<f64>(&row["f1"]) - expected).abs() < 1e-9);
    }
    let figures = ground.table("out/evaluation");
    let figure = |metric: &str, method: &str| -> f64 {
        let found = figures.iter().find(|row| row["metric"] == metric && row["method"] == method);
        number(&found.unwrap()["value"])
    };
    let mean = f1 / evaluated as f64;
    assert!((figure("label_f1", "mean over documents") - mean).abs() < 1e-5);
    let sum = |part: fn(&(u64, u64, u64)) -> u64| known.iter().map(part).sum::<u64>() as f64;
    let micro = 2.0 * sum(|k| k.0) / (sum(|k| k.1) + sum(|k| k.2));
    assert!((figure("label_f1", "micro-averaged") - micro).abs() < 1e-9);
    assert!(micro > 0.85, "planted labels are found: {micro}");
    assert!(figure("label_ranking_loss", "mean over documents") < 0.02);
}

#[test]
fn workers_do_not_show_in_labels() {
    let ground = ground();
    let threshold = "[project]\nlabel_threshold = 0.3\n[train]";
    let jobs = [
        JOB.to_owned(),
        JOB.replace("online_passes = 1", "memory = \"off\""),
        JOB.replace("[train]", "[model]\nlabel_prior = \"uniform\"\n[train]"),
        JOB.replace("[train]", threshold),
        JOB.replace("[train]", "[project]\nlabel_topics = 0\n[train]"),
        cvb0(),
    ];
    for (number, job) in jobs.into_iter().enumerate() {
        ground.write("job.toml", job);
        let run = |placement: &str, more: &[&str]| {
            let out = format!("out{number}{}", placement.replace(' ', ""));
            let set = format!("output.path={out}");
            let first = ["run", "job.toml", "--quiet", "--set", &set];
            let placement: Vec<&str> = placement.split(' ').collect();
            ground.succeed(&[&first[..], &placement, more].concat());
            ground.digest(&out)
        };
        let alone = run("-w 1", &[]);
        assert_eq!(run("-w 3", &["--set", "train.sample_mib=0"]), alone);
        assert_eq!(run("--processes 2 -w 1", &[]), alone);
    }
}

/// Returns the answers of `project out --stdin`, which must succeed, to the collection's own lines.
fn stream(ground: &Workdir, more: &str) -> Vec<Value> {
    let mut command = ground.command(&format!("project out --stdin --quiet {more}"));
    command.stdin(File::open(ground.path("documents.jsonl")).expect("a file of ours"));
    let output = succeed(command);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let parse = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(parse).collect()
}

#[test]
fn inspect_shows_labels_and_finds_their_topics() {
    let ground = finished();
    let rows = ground.table("out/labels");
    let row = &rows[2];
    let overview = ground.succeed("inspect out/labels");
    let of_label = overview.lines().find(|line| line.contains("cars, fast  ")).expect("its row");
    for column in ["documents", "evaluated", "predicted", "hits", "f1"] {
        assert!(of_label.contains(&row[column]), "{overview}");
    }
    let page = ground.succeed(&["inspect", "out", "--label", "cars, fast"]);
    assert_eq!(page, ground.succeed("inspect out --topic 2"));
    assert!(page.contains(&format!("\n{:<25} {}\n", "predicted", row["predicted"])), "{page}");
    let json = ground.succeed("inspect out --topic 2 --json");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["label"]["label"], "cars, fast");
    assert_eq!(json["label"]["hits"].to_string(), row["hits"]);
    let output = ground.output(&["inspect", "out", "--label", "car, fast"]);
    let told = said(&output);
    assert!(
        told.contains("no label \"car, fast\"") && told.contains("did you mean \"cars, fast\"?"),
        "{told}"
    );
}

#[test]
fn the_report_names_topics_by_their_labels() {
    let ground = finished();
    let html = fs::read_to_string(ground.path("out/report.html")).expect("written");
    let (_, data) = html.split_once("id=\"data\">").expect("what the page is told");
    let data = data.split_once("</script>").expect("its end").0;
    let data: Value = serde_json::from_str(data).expect("JSON");
    let label = &data["topics"][2]["label"];
    assert_eq!(label["label"], "cars, fast");
    assert_eq!(label["hits"].to_string(), ground.table("out/labels")[2]["hits"]);
    let shown = data["documents"]["ids"].as_array().map(Vec::len);
    let predicted = data["documents"]["predicted"].as_array().expect("a list");
    assert_eq!(Some(predicted.len()), shown);
    assert!(predicted.iter().all(|labels| !labels.as_array().expect("a list").is_empty()));
}

/// Documents of the sample without a label are not trained on, and not evaluated as training documents.
#[test]
fn an_evaluation_on_the_sample_is_on_what_was_trained_on() {
    let ground = finished();
    let splits = ["sample", "projected"];
    let documents = ground.table("out/documents").into_iter();
    let mut sizes = [0; 2];
    for row in documents.filter(|row| !row["top_topic"].is_empty()) {
        if let Some(split) = splits.iter().position(|split| *split == row["split"]) {
            sizes[split] += 1;
        }
    }
    for (split, size) in splits.iter().zip(sizes) {
        let sets =
            format!("--set evaluate.split={split} --set evaluate.metrics=[\"left-to-right\"]");
        ground.succeed(&format!("evaluate job.toml -w 2 --quiet {sets} --output {split}"));
        assert_eq!(ground.table(&format!("{split}/document_scores")).len(), size);
    }
    // Both count words in the training documents.
    let figures = |out: &str| {
        let rows = ground.table(&format!("{out}/evaluation")).into_iter();
        let rows = rows.filter(|row| row["metric"] == "coherence_umass");
        rows.map(|row| row["value"].clone()).collect::<Vec<_>>()
    };
    ground.succeed(
        "evaluate job.toml -w 2 --quiet --set evaluate.metrics=[\"umass\"] --output umass",
    );
    assert!(!figures("out").is_empty());
    assert_eq!(figures("umass"), figures("out"));
}

#[test]
fn labels_outside_the_sample_are_counted() {
    let ground = ground();
    // One document of the collection, outside the sample, has the label.
    let mut lines = fs::read_to_string(ground.path("documents.jsonl")).expect("ours");
    let last = r#"{"id": "last", "year": 1, "tags": ["zebra"], "text": "word1x1 word1x2"}"#;
    lines.push_str(last);
    ground.write("documents.jsonl", lines);
    for seed in 1.. {
        let seed = format!("--set model.seed={seed}");
        let screen = ground.succeed(&format!("run job.toml -w 2 --overwrite {seed}"));
        let is_trained_on = ground.table("out/documents")[DOCUMENTS as usize]["split"] == "sample";
        let says = "1 label has no document in the sample: its topic has no terms (6). Raise sample.fraction";
        let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(screen.contains(says), !is_trained_on, "{screen}");
        let html = fs::read_to_string(ground.path("out/report.html")).expect("written");
        let warning = "1 label has no document in the sample: its topic has no terms.";
        assert_eq!(html.contains(warning), !is_trained_on);
        assert!(is_trained_on || !html.contains("1 topic is dead"));
        let overview = ground.succeed("inspect out");
        assert_eq!(overview.contains("1 label has no document in the sample"), !is_trained_on);
        if !is_trained_on {
            break;
        }
    }
}

/// A label without a token in training's last sample is not reported as a label without documents.
#[test]
fn labels_without_a_token_are_not_without_a_document() {
    let ground = ground();
    let mut lines = fs::read_to_string(ground.path("documents.jsonl")).expect("ours");
    lines.push_str(r#"{"id": "last", "tags": ["art", "birds", "ghost"], "text": "word1x1"}"#);
    ground.write("documents.jsonl", lines);
    for seed in 1.. {
        let set = format!("--set model.seed={seed} --set train.average_every=0");
        let screen = ground.succeed(&format!("run job.toml -w 2 --overwrite {set}"));
        let is_trained_on = ground.table("out/documents")[DOCUMENTS as usize]["split"] == "sample";
        let ghost = &ground.table("out/topics")[6];
        if !is_trained_on || ghost["top_terms"] != "[]" {
            continue;
        }
        assert!(!screen.contains("has no document"), "{screen}");
        assert!(!ground.succeed("inspect out").contains("has no document"));
        let html = fs::read_to_string(ground.path("out/report.html")).expect("written");
        assert!(!html.contains("has no document"));
        break;
    }
}

#[test]
fn a_stream_answers_the_labels_of_the_tables() {
    let ground = finished();
    let answers = stream(&ground, "-w 3");
    assert_eq!(stream(&ground, "-w 1"), answers);
    let mut predictions: BTreeMap<String, Vec<(String, f32)>> = BTreeMap::new();
    for row in ground.table("out/predictions") {
        let of_document = predictions.entry(row["doc_id"].clone()).or_default();
        if row["predicted"] == "true" {
            of_document.push((row["label"].clone(), number(&row["weight"])));
        }
    }
    let mut topics: BTreeMap<String, Vec<(u64, f32)>> = BTreeMap::new();
    for row in ground.table("out/document_topics") {
        let topic = (number(&row["topic"]), number(&row["weight"]));
        topics.entry(row["doc_id"].clone()).or_default().push(topic);
    }
    assert_eq!(answers.len() as u64, DOCUMENTS);
    for answer in &answers {
        let labels = answer["labels"].as_array().expect("a list");
        let label = |it: &Value| {
            let score = it["score"].as_f64().expect("a number") as f32;
            (it["label"].as_str().expect("a text").to_owned(), score)
        };
        let document = answer["doc_id"].to_string();
        let labels: Vec<_> = labels.iter().map(label).collect();
        assert_eq!(labels, predictions[&document], "{answer}");
        let topic = |it: &Value| {
            let weight = it["weight"].as_f64().expect("a number") as f32;
            (it["topic"].as_u64().expect("a number"), weight)
        };
        let listed = answer["topics"].as_array().expect("a list");
        let listed: Vec<_> = listed.iter().map(topic).collect();
        assert_eq!(listed, topics[&document], "{answer}");
    }
    let counts: BTreeSet<_> = predictions.values().map(Vec::len).collect();
    assert!(counts.len() > 1, "as many as the terms say: {counts:?}");
    for answer in stream(&ground, "--set project.label_count=3") {
        assert_eq!(answer["labels"].as_array().map(Vec::len), Some(3));
    }
    ground.write("none.jsonl", "{\"text\": \"unknown\"}\nno JSON\n");
    let mut command = ground.command("project out --stdin --quiet");
    command.stdin(File::open(ground.path("none.jsonl")).expect("a file of ours"));
    for line in String::from_utf8_lossy(&succeed(command).stdout).lines() {
        assert!(line.contains("\"topics\":[],\"labels\":[],"), "{line}");
    }
}

#[test]
fn what_is_learnt_of_labels_is_stored_for_the_model_and_the_settings() {
    let ground = finished();
    let (digest, file) = (ground.digest("out"), ground.path("out/model/labels"));
    let refused = |set: &str| {
        let output = ground.output(&format!("project out --stdin --set {set}"));
        let said = said(&output);
        assert_eq!(output.status.code(), Some(64), "{said}");
        assert!(said.contains("model/labels is missing, or belongs"), "{said}");
    };
    refused("project.label_topics=3");
    // If there is nothing to learn, there is no file; with the first settings it is learnt again.
    let again = "run job.toml --quiet -w 3 --overwrite";
    let none = "--set project.label_count=2 --set project.label_topics=0";
    ground.succeed(&format!("{again} {none}"));
    assert!(!file.exists());
    refused("project.label_count=auto");
    ground.succeed(again);
    assert_eq!(ground.digest("out"), digest);
    let bytes = fs::read(&file).expect("a file of the result");
    fs::write(&file, &bytes[..bytes.len() - 1]).expect("written");
    let output = ground.output("project out --stdin");
    assert!(said(&output).contains("out/model/labels: "), "{}", said(&output));
}

#[test]
fn stages_one_by_one_end_in_the_same_bytes() {
    let ground = finished();
    for command in ["ingest", "train", "run"] {
        ground.succeed(&format!("{command} job.toml --quiet -w 1 --set output.path=stages"));
    }
    assert_eq!(ground.digest("stages"), ground.digest("out"));
}

#[test]
fn what_cannot_be_is_refused_with_the_remedy() {
    let ground = ground();
    let refused = |set: &str, says: &str| {
        let output = ground.output(&["run", "job.toml", "--quiet", "--set", set]);
        assert!(
            !output.status.success() && said(&output).contains(says),
            "{set}: {}",
            said(&output)
        );
    };
    refused("model.topics=3", "with corpus.labels, each label is a topic");
    refused("project.method=retrain", "infers each document alone, with corpus.labels");
    refused("train.method=online-vb", "with corpus.labels");
    refused("train.alpha_every=2", "with corpus.labels");
    ground.write("job.toml", JOB.replace("[train]", "[project]\nmethod = \"gibbs\"\n[train]"));
    refused("project.label_topics=5", "must be 0, with project.method = \"gibbs\"");
    ground.write("job.toml", JOB);
    refused("corpus.labels=tgas", "check corpus.labels (is \"tgas\" the right key");
    refused("corpus.label_min_documents=2000", "lower corpus.label_min_documents");
    ground.write(
        "job.toml",
        JOB.replace("labels = \"tags\"", "").replace("[train]", "[model]\ntopics = 3\n[train]"),
    );
    refused("model.label_prior=uniform", "no effect with an empty corpus.labels");
}
