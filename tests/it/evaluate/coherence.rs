//! Coherence: the run's own figures, on any texts, and C_V window by window.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use lda::math::special::ln;
use topicmill::tables::read;

use super::{Place, RUN, figures, write_weights};
use crate::workdir::Workdir;

const TOPICS: &str = "--set=evaluate.metrics=[\"umass\",\"npmi\"]";
const C_V: &str = "--set=evaluate.metrics=[\"c_v\"]";

/// Reads the scores of each topic from `topic_scores`, by metric.
fn scores(place: &Place, output: &str) -> BTreeMap<String, Vec<String>> {
    let rows = read::head(&place.path(output).join("topic_scores"), 1000).unwrap();
    let mut scores: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows.rows {
        let values = scores.entry(row[1].clone()).or_default();
        assert_eq!(row[0], values.len().to_string());
        values.push(row[3].clone());
    }
    scores
}

/// Returns a column of a table, as text.
fn column(place: &Place, table: &str, name: &str) -> Vec<String> {
    let rows = read::head(&place.path(table), 10_000).unwrap();
    let at = rows.columns.iter().position(|c| c == name).unwrap();
    rows.rows.into_iter().map(|row| row[at].clone()).collect()
}

/// Writes texts as JSON Lines.
fn write_texts<'a>(place: &Place, name: &str, texts: impl Iterator<Item = (&'a str, &'a str)>) {
    let line = |(id, text)| serde_json::json!({ "id": id, "text": text }).to_string() + "\n";
    fs::write(place.path(name), texts.map(line).collect::<String>()).unwrap();
}

/// Returns id and text of every document of the run.
fn texts() -> Vec<(String, String)> {
    let path = RUN.path("corpus/documents-00000.jsonl");
    let document = |line: &str| {
        let document: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| document[key].as_str().unwrap().to_owned();
        (text("id"), text("text"))
    };
    let lines = fs::read_to_string(path).unwrap();
    lines.lines().map(document).collect()
}

/// Returns the ten heaviest terms of each topic of the run, by rank.
fn top_terms() -> Vec<Vec<String>> {
    let topics = column(&RUN, "out/topic_terms", "topic");
    let terms = column(&RUN, "out/topic_terms", "term");
    let mut tops = vec![Vec::new(); 4];
    for (topic, term) in topics.iter().zip(terms) {
        tops[topic.parse::<usize>().unwrap()].push(term);
    }
    tops.iter_mut().for_each(|top| top.truncate(10));
    tops
}

#[test]
fn coherence_of_the_own_model_is_that_of_the_run() {
    let summary = RUN.summary("coherence-own", &[TOPICS]);
    let found = scores(&RUN, "coherence-own");
    for name in ["coherence_umass", "coherence_npmi"] {
        assert_eq!(found[name], column(&RUN, "out/topics", name), "{name}");
    }
    let rows = read::head(&RUN.path("out/evaluation"), 100).unwrap().rows;
    for figure in summary["figures"].as_array().unwrap() {
        let text = |key: &str| figure[key].as_str().unwrap().to_owned();
        let same = [text("metric"), text("method"), text("split"), text("unit")];
        let of_run = rows.iter().find(|row| row[..4] == same).unwrap();
        assert_eq!(of_run[4].parse::<f64>().unwrap(), figure["value"], "{same:?}");
    }
    // The same topics as an external model; then another number of terms, with other figures.
    RUN.summary("coherence-read", &[TOPICS, "--model", "out"]);
    assert_eq!(scores(&RUN, "coherence-read"), found);
    let five = RUN.summary("coherence-5", &[TOPICS, "--coherence-terms", "5"]);
    assert!(five["figures"][0]["method"].as_str().unwrap().contains("5 terms"));
    assert_ne!(scores(&RUN, "coherence-5"), found);
}

#[test]
fn coherence_is_the_same_on_any_number_of_workers() {
    let metrics = "--set=evaluate.metrics=[\"completion\",\"umass\",\"npmi\",\"c_v\"]";
    let digest = |output: &str, workers: &[&str], more: &[&str]| {
        let first = ["evaluate", "job.toml", "-q", metrics, "--output", output];
        RUN.succeed(&[&first, workers, more].concat());
        assert!(RUN.succeed(&["verify", output]).contains("is sound"));
        RUN.digest(output)
    };
    let reference: &[&str] = &["--reference", "corpus/documents-00000.jsonl"];
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

#[test]
fn the_sample_as_a_reference_corpus_gives_the_same() {
    let splits = column(&RUN, "out/documents", "split");
    let texts = texts();
    assert_eq!(texts.len(), splits.len());
    let trained = texts.iter().zip(&splits).filter(|(_, split)| *split == "sample");
    let trained: Vec<_> = trained.map(|((id, text), _)| (&id[..], &text[..])).collect();
    // In two files, named relative to the current directory and in the job.
    write_texts(&RUN, "trained-1.jsonl", trained[..100].iter().copied());
    write_texts(&RUN, "trained-2.jsonl", trained[100..].iter().copied());
    RUN.summary("coherence-sample", &[TOPICS]);
    let flags = ["--reference", "trained-1.jsonl", "--reference", "trained-2.jsonl"];
    let summary = RUN.summary("coherence-flags", &[&flags[..], &[TOPICS]].concat());
    assert_eq!(summary["figures"][0]["split"], "reference");
    assert_eq!(summary["figures"][0]["documents"], trained.len());
    assert_eq!(scores(&RUN, "coherence-flags"), scores(&RUN, "coherence-sample"));
    RUN.summary("coherence-key", &[TOPICS, "--set=evaluate.reference=[\"trained-?.jsonl\"]"]);
    assert_eq!(scores(&RUN, "coherence-key"), scores(&RUN, "coherence-sample"));
}

/// Computes C_V by its definition, window by window.
fn c_v(texts: &[Vec<String>], top: &[String]) -> f64 {
    let windows: Vec<BTreeSet<&String>> = texts
        .iter()
        .flat_map(|text| match text.len() {
            ..=110 => vec![text.iter().collect()],
            _ => text.windows(110).map(|w| w.iter().collect()).collect(),
        })
        .collect();
    let share = |has: &dyn Fn(&BTreeSet<&String>) -> bool| {
        windows.iter().filter(|window| has(window)).count() as f64 / windows.len() as f64
    };
    let npmi = |a: &String, b: &String| {
        let (p, q) = (share(&|w| w.contains(a)), share(&|w| w.contains(b)));
        let joint = share(&|w| w.contains(a) && w.contains(b)) + 1e-12;
        ln(joint / (p * q)) / -ln(joint)
    };
    let vectors: Vec<Vec<f64>> =
        top.iter().map(|a| top.iter().map(|b| npmi(a, b)).collect()).collect();
    let whole: Vec<f64> = (0..top.len()).map(|j| vectors.iter().map(|v| v[j]).sum()).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let cosine = |v: &Vec<f64>| dot(v, &whole) / (dot(v, v) * dot(&whole, &whole)).sqrt();
    vectors.iter().map(cosine).sum::<f64>() / top.len() as f64
}

#[test]
fn c_v_is_that_of_all_windows_one_by_one() {
    let tops = top_terms();
    let check = |output: &str, texts: &[Vec<String>]| {
        let found = &scores(&RUN, output)["coherence_c_v"];
        for (topic, found) in found.iter().enumerate() {
            let found: f64 = found.parse().unwrap();
            let expected = c_v(texts, &tops[topic]);
            assert!((found - expected).abs() < 1e-9, "{output}: {found}, {expected}");
        }
    };
    // The job's own input, read again; then long texts with unknown words.
    let own = texts();
    let words = |text: &String| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let summary = RUN.summary("c_v-own", &[C_V]);
    assert_eq!(summary["figures"][0]["split"], "all");
    assert_eq!(summary["figures"].as_array().unwrap().len(), 1);
    check("c_v-own", &own.iter().map(|(_, text)| words(text)).collect::<Vec<_>>());
    let long: Vec<String> = own
        .chunks(20)
        .map(|some| {
            let texts: Vec<&str> = some.iter().map(|(_, text)| &text[..]).collect();
            texts.join(" nobody ")
        })
        .collect();
    write_texts(&RUN, "long.jsonl", long.iter().map(|text| ("x", &text[..])));
    RUN.summary("c_v-long", &[C_V, "--reference", "long.jsonl"]);
    check("c_v-long", &long.iter().map(words).collect::<Vec<_>>());
    assert_ne!(scores(&RUN, "c_v-own"), scores(&RUN, "c_v-long"));
}

#[test]
fn terms_that_the_collection_lacks_are_passed_over_and_told() {
    let tops = top_terms();
    let weights = (0..2).flat_map(|topic: usize| {
        let known = tops[topic].iter().map(String::as_str).take(3).zip([4.0, 3.0, 2.0]);
        let all = known.chain([(["nobody0", "nobody1"][topic], 9.0)]);
        all.map(move |(term, weight)| (topic as i32, term, weight))
    });
    write_weights(&RUN.path("few.parquet"), &weights.collect::<Vec<_>>());
    let summary = RUN.summary("few", &[TOPICS, "--model", "few.parquet"]);
    let notes = summary["notes"].to_string();
    assert!(notes.contains("lacks 2 of the 8 heaviest"), "{notes}");
    let three = RUN.summary("three-terms", &[TOPICS, "--coherence-terms", "3"]);
    let value = |summary, topic: usize| scores(&RUN, summary)["coherence_umass"][topic].clone();
    assert_eq!(value("few", 0), value("three-terms", 0));
    assert!(figures(&three).contains_key("coherence_umass mean over topics"));
}

#[test]
fn counts_have_no_windows() {
    let place = Place(Workdir::new());
    let lines = "1 1 2\n1 2 1\n2 2 3\n2 3 1\n3 1 1\n3 3 2\n";
    fs::write(place.path("docword.tiny.txt"), format!("3\n3\n6\n{lines}")).unwrap();
    fs::write(place.path("vocab.tiny.txt"), "sea\nship\nlaw\n").unwrap();
    let job = "[corpus]\ninput = \"docword.tiny.txt\"\nformat = \"uci\"\n\
               [vocabulary]\nmin_documents = 1\nmax_share = 1.0\n\
               [model]\ntopics = 2\n[output]\npath = \"out\"\n";
    fs::write(place.path("job.toml"), job).unwrap();
    place.succeed(&["ingest", "job.toml", "-q", "-w", "1"]);
    let weights = [(0, "sea", 2.0), (0, "ship", 1.0), (1, "law", 1.0), (1, "sea", 1.0)];
    write_weights(&place.path("model.parquet"), &weights);
    let model = ["--model", "model.parquet", "-w", "1"];
    let (code, told) = place.refused(&[&model[..], &[C_V]].concat());
    assert_eq!(code, 65, "{told}");
    assert!(
        told.contains("docword.tiny.txt holds counts") && told.contains("--reference"),
        "{told}"
    );
    // UMass needs no order, and C_V can be counted on other texts.
    write_texts(&place, "texts.jsonl", [("a", "sea ship sea law"), ("b", "law")].into_iter());
    let reference = ["--reference", "texts.jsonl", "--overwrite"];
    let summary = place.summary("umass", &[&model[..], &[TOPICS]].concat());
    assert_eq!(summary["figures"][0]["split"], "sample");
    let summary = place.summary("c_v", &[&model[..], &reference, &[C_V]].concat());
    assert_eq!(summary["figures"][0]["documents"], 2);
}

#[test]
fn what_cannot_be_counted_is_told() {
    let cases: [(&[&str], i32, &str); 6] = [
        // These flags would have no effect.
        (&["--reference", "nowhere.jsonl"], 64, "evaluate.metrics"),
        (&["--coherence-terms", "7"], 64, "evaluate.metrics"),
        (&[TOPICS, "--coherence-terms", "1"], 64, "2 to 64"),
        (&[TOPICS, "--coherence-terms", "65"], 64, "2 to 64"),
        (&["--set=evaluate.metrics=[]"], 64, "evaluate.metrics"),
        (&[TOPICS, "--reference", "nowhere.jsonl"], 65, "nowhere.jsonl"),
    ];
    for (arguments, code, word) in cases {
        let (found, told) = RUN.refused(&[&["--output", "refused-counts"], arguments].concat());
        assert!(told.contains(word), "{arguments:?}: {told}");
        assert_eq!(found, code, "{told}");
    }
}
