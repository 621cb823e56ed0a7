//! Roll-ups of whole runs: sums by volume, value and pair of topics agree with the tables of documents, for any
//! number of workers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use lda::math::random::{Stage, Stream};
use topicmill::tables::read::head;

use crate::workdir::{Workdir, said};

const JOB: &str = r#"
[corpus]
input = "documents.jsonl"
group = "volume"
metadata = ["year", "tags", "id"]
block_mib = 0.02
[vocabulary]
stop_words = "none"
min_documents = 2
[sample]
fraction = 0.5
[model]
topics = 6
[train]
minibatch = 128
passes = 6
[project]
trends = ["year", "tags"]
topic_documents = 4
[output]
path = "out"
"#;

const DOCUMENTS: u64 = 900;

/// Prepares documents with six subjects and forty volumes, some in none; with years, lists of tags, or neither.
fn ground() -> Workdir {
    let line = |document: u64| {
        let mut stream = Stream::keyed(5, Stage::Synth, 0, document);
        let year = 1990 + stream.below(5);
        let subject = (stream.below(3) + year) % 6;
        let words: Vec<String> = (0..10 + stream.below(60))
            .map(|_| match stream.below(6) {
                0 => format!("common{}", stream.below(30)),
                1 => format!("word{}x{}", stream.below(6), stream.below(20)),
                _ => format!("word{subject}x{}", stream.below(20)),
            })
            .collect();
        let text = if document % 50 == 7 { String::new() } else { words.join(" ") };
        let mut fields = vec![format!("\"id\": \"d{document}\", \"text\": \"{text}\"")];
        if !document.is_multiple_of(9) {
            fields.push(format!("\"year\": {year}"));
        }
        if !document.is_multiple_of(4) {
            let (one, other) = (stream.below(4), stream.below(4));
            fields.push(format!("\"tags\": [\"tag {one}\", \"tag {other}\"]"));
        }
        if !document.is_multiple_of(11) {
            fields.push(format!("\"volume\": \"volume {}\"", document * 7 % 40));
        }
        format!("{{{}}}\n", fields.join(", "))
    };
    let ground = Workdir::new().with_job(JOB);
    let lines: String = (0..DOCUMENTS).map(line).collect();
    ground.write("documents.jsonl", lines);
    ground
}

/// Such a folder with the result of two workers, which tests only read.
static FINISHED: LazyLock<Workdir> = LazyLock::new(|| {
    let ground = ground();
    ground.succeed("run job.toml --quiet -w 2");
    ground
});

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

/// A document with terms, and its listed topics.
struct Document {
    row: BTreeMap<String, String>,
    topics: BTreeMap<i32, f64>,
}

impl Document {
    fn tokens(&self) -> f64 {
        number(&self.row["tokens_in_vocabulary"])
    }

    /// Returns the values for which it counts in a column: its value, each tag, or none.
    fn values(&self, column: &str) -> BTreeSet<String> {
        let cell = &self.row[column];
        cell.trim_matches(['[', ']']).split(", ").map(str::to_owned).collect()
    }
}

fn documents(ground: &Workdir, out: &str) -> Vec<Document> {
    let mut topics: BTreeMap<String, BTreeMap<i32, f64>> = BTreeMap::new();
    for row in ground.table(&format!("{out}/document_topics")) {
        let of_document = topics.entry(row["doc_id"].clone()).or_default();
        of_document.insert(number(&row["topic"]), number(&row["weight"]));
    }
    let rows = ground.table(&format!("{out}/documents")).into_iter();
    let with_terms = rows.filter(|row| !row["top_topic"].is_empty());
    with_terms
        .map(|row| Document { topics: topics.remove(&row["doc_id"]).unwrap_or_default(), row })
        .collect()
}

/// Mass of each topic, tokens and documents, by the value of a column.
type Sums = BTreeMap<String, (BTreeMap<i32, f64>, f64, i64)>;

fn sums(documents: &[Document], column: &str) -> Sums {
    let mut sums = Sums::new();
    for document in documents {
        for value in document.values(column) {
            let (topics, tokens, count) = sums.entry(value).or_default();
            *tokens += document.tokens();
            *count += 1;
            for (&topic, weight) in &document.topics {
                *topics.entry(topic).or_default() += weight * document.tokens();
            }
        }
    }
    sums
}

#[test]
fn sums_are_those_of_the_documents() {
    let ground = &*FINISHED;
    ground.succeed("verify out");
    let documents = documents(ground, "out");
    let mut expected = sums(&documents, "group_id");
    expected.remove("");
    let rows = ground.table("out/group_topics");
    let cells: usize = expected.values().map(|sums| sums.0.len()).sum();
    assert_eq!((expected.len(), rows.len()), (40, cells));
    for row in rows {
        let (topics, tokens, count) = &expected[&row["group_id"]];
        let weight = topics[&number(&row["topic"])] / tokens;
        assert!((weight - number::<f64>(&row["weight"])).abs() < 1e-6, "{row:?}");
        assert_eq!(
            (number::<f64>(&row["tokens"]), number::<i64>(&row["documents"])),
            (*tokens, *count)
        );
    }
    let rows = ground.table("out/topic_trends");
    let mut found = 0;
    for column in ["year", "tags"] {
        let expected = sums(&documents, column);
        found += expected.values().map(|sums| sums.0.len()).sum::<usize>();
        for row in rows.iter().filter(|row| row["name"] == column) {
            let value = &row["value"];
            let (topics, tokens, count) = &expected[value];
            let share = topics[&number(&row["topic"])] / tokens;
            assert!((share - number::<f64>(&row["share"])).abs() < 1e-6, "{row:?}");
            assert_eq!(
                (number::<f64>(&row["tokens"]), number::<i64>(&row["documents"])),
                (*tokens, *count)
            );
            assert_eq!(row["value_count"], if value.is_empty() { "0" } else { "1" });
            let (low, high): (f64, f64) = (number(&row["low"]), number(&row["high"]));
            assert!(low <= share && share <= high && high - low < 0.3, "{row:?}");
        }
    }
    assert_eq!(rows.len(), found);
    assert_eq!(rows.iter().filter(|row| row["name"] == "tags" && row["topic"] == "0").count(), 5);
}

#[test]
fn what_holds_a_tenth_of_a_topic_is_listed() {
    let ground = &*FINISHED;
    let documents = documents(ground, "out");
    let of_all: f64 = documents.iter().map(Document::tokens).sum();
    let mut whole: BTreeMap<i32, f64> = BTreeMap::new();
    for (topics, ..) in sums(&documents, "doc_id").values() {
        topics.iter().for_each(|(&topic, mass)| *whole.entry(topic).or_default() += mass);
    }
    let rows = ground.table("out/topic_concentration");
    for (name, least) in [("source_id", 0), ("group_id", 0), ("year", 6), ("tags", 6)] {
        let mut expected = sums(&documents, name);
        expected.remove("");
        let is_much = |(topic, mass): (&i32, &f64)| *mass >= whole[topic] / 10.0;
        let cells =
            expected.values().map(|sums| sums.0.iter().filter(|&cell| is_much(cell)).count());
        let found: Vec<_> = rows.iter().filter(|row| row["name"] == name).collect();
        assert!(found.len() >= least && found.len() == cells.sum::<usize>(), "{name}: {found:?}");
        for row in found {
            let (topics, tokens, count) = &expected[&row["value"]];
            let topic = number(&row["topic"]);
            let share: f64 = number(&row["share"]);
            assert!((share - topics[&topic] / whole[&topic]).abs() < 1e-6, "{row:?}");
            let share: f64 = number(&row["collection_share"]);
            assert!((share - tokens / of_all).abs() < 1e-12, "{row:?}");
            assert_eq!(number::<i64>(&row["documents"]), *count);
        }
    }
}

#[test]
fn values_are_named_by_their_documents_however_many_dates_each_has() {
    let ground = Workdir::new().with_job(JOB);
    let day = |n| {
        let (month, day) = (1 + n / 28 % 12, 1 + n % 28);
        format!("{}-{month:02}-{day:02}", 1900 + n / 336)
    };
    let days: Vec<String> = (0..60 * 336).map(day).collect();
    let others: Vec<String> = (0..1000).map(|n| format!("#{n:03}")).collect();
    let lines = [days, others]
        .map(|tags| format!("{{\"text\": \"a b c d e f g h\", \"tags\": {tags:?}}}\n"));
    ground.write("documents.jsonl", lines.concat());
    let trends =
        "--set project.trends=[\"tags\"] --set vocabulary.max_share=1 --set tokens.min_length=1";
    ground.succeed(&format!("run job.toml --quiet -w 2 {trends}"));
    // All are in one document: the first are named, and no month.
    let rows = ground.table("out/topic_trends");
    let is_month = |row: &&BTreeMap<_, String>| row["value"].starts_with("19");
    assert_eq!(rows.iter().find(is_month), None);
    assert!(rows.iter().any(|row| row["value_count"] == "720"));
}

#[test]
fn correlations_are_those_of_the_proportions() {
    let ground = &*FINISHED;
    let documents = documents(ground, "out");
    let weight = |document: &Document, topic| document.topics.get(&topic).copied().unwrap_or(0.0);
    let mean = |of: &dyn Fn(&Document) -> f64| {
        documents.iter().map(of).sum::<f64>() / documents.len() as f64
    };
    let covariance = |a: i32, b: i32| {
        let product = mean(&|document| weight(document, a) * weight(document, b));
        product - mean(&|document| weight(document, a)) * mean(&|document| weight(document, b))
    };
    let rows = ground.table("out/topic_correlations");
    assert!(rows.len() > 10);
    for row in rows {
        let (a, b) = (number(&row["topic"]), number(&row["other"]));
        let expected = covariance(a, b) / (covariance(a, a) * covariance(b, b)).sqrt();
        let found: f64 = number(&row["correlation"]);
        assert!((expected - found).abs() < 1e-6, "{row:?}: {expected}");
        let both = |document: &&Document| weight(document, a) > 0.0 && weight(document, b) > 0.0;
        assert_eq!(documents.iter().filter(both).count(), number::<usize>(&row["documents"]));
    }
}

#[test]
fn the_documents_of_a_topic_are_those_with_most_of_it() {
    let ground = &*FINISHED;
    let documents = documents(ground, "out");
    for topic in 0..6 {
        let weight = |document: &Document| document.topics.get(&topic).copied();
        let mut expected: Vec<f64> = documents.iter().filter_map(weight).collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        let rows = ground.table("out/topic_documents").into_iter();
        let of_topic = rows.filter(|row| number::<i32>(&row["topic"]) == topic);
        let found: Vec<f64> = of_topic.map(|row| number(&row["weight"])).collect();
        assert_eq!(found, expected[..4], "topic {topic}");
    }
}

#[test]
fn workers_do_not_matter() {
    let digest = ground().digest_on(&["-w 1", "-w 4", "--processes 2 -w 2"], "run job.toml");
    assert_eq!(digest, FINISHED.digest("out"));
}

#[test]
fn trends_are_of_columns_that_there_are() {
    let ground = ground();
    let refused = |set: &str, code: i32, words: &str| {
        let output = ground.output(&format!("run job.toml --quiet {set}"));
        let text = said(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(words), "{text}");
    };
    refused("--set project.trends=[\"month\"]", 64, "columns of corpus.metadata: year, tags, id");
    refused("--set corpus.metadata=[]", 64, "corpus.metadata, which is empty");
    // A table left by an unfinished run with other settings is removed.
    ground.succeed("run job.toml --quiet");
    assert!(ground.path("out/topic_trends").exists());
    std::fs::remove_file(ground.path("out/_SUCCESS")).unwrap();
    ground.succeed("run job.toml --quiet --set project.trends=[]");
    ground.succeed("verify out");
    assert!(!ground.path("out/topic_trends").exists());
    assert!(ground.path("out/topic_correlations").exists());
}

#[test]
fn rollups_can_be_turned_off() {
    let ground = ground();
    let tables = ["group_topics", "topic_trends", "topic_correlations"];
    let are_there = |out: &str| {
        let folder = ground.path(out);
        tables.map(|table| folder.join(table).exists())
    };
    let off = "run job.toml --quiet --set project.rollups=false";
    let output = ground.output(off);
    assert_eq!(output.status.code(), Some(64));
    let text = said(&output);
    assert!(text.contains("project.trends") && text.contains("project.rollups = false"), "{text}");
    // Tables left by an unfinished run with other settings are removed.
    ground.succeed("run job.toml --quiet");
    assert_eq!(are_there("out"), [true; 3]);
    let read = |table| head(&ground.path("out").join(table), usize::MAX).unwrap().rows;
    let others = ["documents", "document_topics", "topics", "drift"];
    let before = others.map(read);
    std::fs::remove_file(ground.path("out/_SUCCESS")).unwrap();
    ground.succeed(&format!("{off} --set project.trends=[]"));
    assert_eq!(are_there("out"), [false; 3]);
    assert!(before == others.map(read));
    ground.succeed("verify out");
    assert!(!ground.succeed("plan job.toml --resolved").contains("rollups = false"));
}
