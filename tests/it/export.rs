//! `topicmill export`: every format of a finished result, read back by an independent reader.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::ValueEnum;
use flate2::read::GzDecoder;
use serde_json::Value;
use topicmill::corpus::ShardDocument;
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::evaluate::foreign::{self, ForeignModel};
use topicmill::export::Format;
use topicmill::tables::phi;

use crate::workdir::{Workdir, program, said, succeed};

const TOPICS: usize = 3;

/// A result with a document of each kind, and ids and terms that formats must escape.
static RESULT: LazyLock<Workdir> = LazyLock::new(|| {
    let place = Workdir::new();
    let themes = [
        "sea ship whale harbour wave sail",
        "court law judge appeal jury <plea>",
        "r&d lab atom cell gene probe",
    ];
    let document = |d: usize| {
        let words: Vec<&str> = themes[d % 3].split(' ').collect();
        let text = (0..20).map(|i| words[(d + i * i + i / 6) % 6]).collect::<Vec<_>>().join(" ");
        let text = if d % 50 == 8 { String::new() } else { text };
        serde_json::json!({ "id": format!("a file {d}\n"), "text": text, "year": 1990 + d % 3 })
    };
    let lines = (0..150).map(|d| document(d).to_string() + "\n");
    place.write("texts.jsonl", lines.collect::<String>());
    let job = "[corpus]\ninput = \"texts.jsonl\"\nblock_mib = 0.005\n[tokens]\nrule = \"whitespace\"\n\
               [vocabulary]\nstop_words = \"none\"\nmin_documents = 2\nmax_share = 1.0\n\
               [model]\ntopics = 3\n[train]\npasses = 20\n[output]\npath = \"out\"\n";
    place.write("job.toml", job);
    place.succeed("run job.toml -q -w 2");
    place
});

/// Returns the format's name on the command line.
fn name_of(format: Format) -> String {
    format.to_possible_value().unwrap().get_name().to_owned()
}

/// Exports the result as `format` to a file or folder of this name.
fn exported(format: Format, name: &str) -> PathBuf {
    let path = RESULT.path(name);
    RESULT.succeed(&["export", "out", "--format", &name_of(format), "--output", name]);
    path
}

/// Returns φ from the tables: for each topic, by term.
fn phi_of(model: &ForeignModel) -> Vec<BTreeMap<String, f64>> {
    let mut phi = vec![BTreeMap::new(); TOPICS];
    for (term, row) in model.terms.iter().zip(&model.rows) {
        for (topic, smoothing) in model.smoothing.iter().enumerate() {
            let own = row.iter().find(|entry| usize::from(entry.0) == topic);
            let weight = own.map_or(0.0, |entry| f64::from(entry.1)) + smoothing;
            phi[topic].insert(term.clone(), weight);
        }
    }
    phi
}

fn tables() -> ForeignModel {
    phi::read(&RESULT.path("out")).unwrap()
}

fn assert_near(found: &ForeignModel, slack: f64) {
    let (found, expected) = (phi_of(found), phi_of(&tables()));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.len(), expected.len());
        for (term, weight) in expected {
            assert!((found[term] - weight).abs() <= slack, "{term}: {} {weight}", found[term]);
        }
    }
}

/// Reads the collection's bags of words.
fn documents() -> Vec<ShardDocument> {
    let mut documents = Vec::new();
    let shards = RESULT.path("out/corpus/shards");
    let mut paths: Vec<_> = fs::read_dir(shards).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 1, "several shards");
    for path in paths {
        let mut reader = ShardReader::open(&path, Columns::All).unwrap();
        let mut document = ShardDocument::default();
        while reader.read_into(&mut document).unwrap() {
            documents.push(document.clone());
        }
    }
    documents
}

fn unzipped(path: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_state_has_every_token_and_the_models_topics() {
    let path = exported(Format::MalletState, "a.state.gz");
    let text = unzipped(&path);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("#doc source pos typeindex type topic"));
    let alpha = lines.next().unwrap().strip_prefix("#alpha : ").unwrap();
    assert_eq!(alpha.split(' ').count(), TOPICS);
    let beta: f64 = lines.next().unwrap().strip_prefix("#beta : ").unwrap().parse().unwrap();
    assert!(beta > 0.0);
    let mut bags: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); 150];
    let mut places = vec![0; 150];
    for line in lines {
        let fields: Vec<&str> = line.split(' ').collect();
        let [number, source, place, term, _, topic] = fields[..] else {
            panic!("{line}");
        };
        let number: usize = number.parse().unwrap();
        assert_eq!(source, format!("a_file_{number}_"));
        assert_eq!(place, places[number].to_string(), "{line}");
        places[number] += 1;
        assert!(topic.parse::<usize>().unwrap() < TOPICS);
        *bags[number].entry(term.parse().unwrap()).or_default() += 1;
    }
    for (document, bag) in documents().iter().zip(&bags) {
        let counts = document.terms.iter().copied().zip(document.counts.iter().copied());
        assert_eq!(*bag, counts.collect());
    }
    let state = foreign::read(&path).unwrap();
    assert_near(&state, 0.02);
    assert_eq!(state.alpha, tables().alpha);
    let again = exported(Format::MalletState, "again.state.gz");
    assert_eq!(fs::read(path).unwrap(), fs::read(again).unwrap());
}

#[test]
fn the_wide_table_is_the_models_phi() {
    exported(Format::Parquet, "wide/part-00000.parquet");
    let (model, rows) = (tables(), RESULT.table("wide"));
    assert_eq!(
        rows.iter().map(|row| &row["term"]).collect::<Vec<_>>(),
        model.terms.iter().collect::<Vec<_>>()
    );
    for (topic, phi) in phi_of(&model).iter().enumerate() {
        for row in &rows {
            let weight: f64 = row[&format!("topic_{topic}")].parse().unwrap();
            assert!((weight - phi[&row["term"]]).abs() <= 1e-6, "{topic}: {row:?}");
        }
    }
}

#[test]
fn pyldavis_gets_topics_in_order_and_terms_with_their_shares() {
    let json = fs::read_to_string(exported(Format::PyLdavis, "p.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
    };
    assert_eq!(numbers(&json["mdsDat"]["topics"]), [1.0, 2.0, 3.0]);
    let shares: f64 = numbers(&json["mdsDat"]["Freq"]).iter().sum();
    assert!((shares - 100.0).abs() < 1e-6);
    assert_eq!(json["R"], 18);
    let bars = json["tinfo"]["Category"].as_array().unwrap();
    for category in ["Default", "Topic1", "Topic2", "Topic3"] {
        assert!(bars.iter().any(|bar| bar == category), "{category}");
    }
    // The topics of a term have all of its tokens, except for rounding.
    let mut spread: BTreeMap<&str, f64> = BTreeMap::new();
    let terms = json["token.table"]["Term"].as_array().unwrap();
    for (term, share) in terms.iter().zip(numbers(&json["token.table"]["Freq"])) {
        *spread.entry(term.as_str().unwrap()).or_default() += share;
    }
    assert_eq!(spread.len(), 18);
    assert!(spread.values().all(|sum| (sum - 1.0).abs() < 0.02), "{spread:?}");
}

#[test]
fn what_cannot_be_exported_is_refused_with_a_remedy() {
    RESULT.write("taken.json", "mine");
    fs::create_dir(RESULT.path("folder")).unwrap();
    let export = "export out --format pyldavis --output";
    let cases = [
        (format!("{export} taken.json"), 64, "taken.json exists; name another file"),
        (format!("{export} out/p.json"), 64, "is in a result of topicmill; name a file outside"),
        ("export nowhere --format parquet".to_owned(), 64, "pass the folder that the job names"),
        ("export . --format parquet".to_owned(), 65, "not a result"),
        (format!("{export} folder"), 64, "folder is a folder: name a file"),
        ("export out --format csv".to_owned(), 64, "possible values: mallet-state"),
    ];
    for (arguments, code, words) in cases {
        let output = RESULT.output(&arguments);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {text}");
        assert!(text.contains(words), "{arguments}: {text}");
    }
    assert_eq!(fs::read_to_string(RESULT.path("taken.json")).unwrap(), "mine");
    RESULT.succeed(&format!("{export} taken.json --overwrite"));
    assert!(fs::read_to_string(RESULT.path("taken.json")).unwrap().starts_with('{'));
    let report = topicmill::tables::verify(&RESULT.path("out")).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}

#[test]
fn a_result_is_exported_from_within() {
    let out = RESULT.path("out");
    let export = |flags: &str| program(&out, &format!("export . --format {flags}"));
    succeed(export("parquet --output ../from-within"));
    assert!(RESULT.path("from-within").exists());
    // A foreign manifest does not make a result.
    fs::write(RESULT.path("manifest.json"), "{}").unwrap();
    succeed(export("parquet --output ../beside-another-manifest"));
    fs::remove_file(RESULT.path("manifest.json")).unwrap();
    let refused = export("parquet --output arrays").output().expect("it starts");
    let text = said(&refused);
    assert_eq!(refused.status.code(), Some(64), "{text}");
    assert!(text.contains("arrays is in a result of topicmill"), "{text}");
    let printed = succeed(export("parquet --overwrite")).stdout;
    let expected = out.canonicalize().unwrap().with_extension("phi.parquet");
    assert_eq!(String::from_utf8_lossy(&printed).trim(), expected.to_string_lossy());
    assert!(expected.exists());
}

#[test]
fn a_result_that_projects_nothing_has_a_model_to_export() {
    let place = Workdir::new();
    fs::copy(RESULT.path("texts.jsonl"), place.path("texts.jsonl")).unwrap();
    fs::copy(RESULT.path("job.toml"), place.path("job.toml")).unwrap();
    place.succeed("run job.toml -q --set project.method=none");
    for &format in Format::value_variants() {
        let path = place.succeed(&["export", "out", "--format", &name_of(format)]);
        assert_eq!(Path::new(path.trim()), format.beside("out".as_ref()));
    }
    fs::remove_dir_all(place.path("out/topics")).unwrap();
    let refused = place.denied(65, "export out --format pyldavis --overwrite");
    assert!(refused.contains("make the result again"), "{refused}");
}
