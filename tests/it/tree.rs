//! Jobs whose prior over terms is a tree: topics follow the file, and nothing depends on the number of
//! workers.

use lda::math::random::{Stage, Stream};

use crate::workdir::{Row, Workdir, said};

const JOB: &str = r#"
[corpus]
input = "documents.jsonl"
block_mib = 0.02
[vocabulary]
stop_words = "none"
min_documents = 2
[sample]
fraction = 0.8
held_out = 0.1
[model]
topics = 3
alpha = 0.1
[tree]
file = "known.txt"
must_link = 100000
[train]
minibatch = 64
passes = 20
checkpoint_every = 5
[project]
threshold = 0.0
[output]
path = "out"
"#;

const KNOWN: &str = "# as the vocabulary has them, and not\nmust: North, south\n\
                     cannot: money1, money2\nsplit: bank: money3, money4 | river1, river2\n\
                     must: nowhere, here\n";

/// Prepares a folder with documents about money and rivers, which both mention banks, and about travels
/// to the north or to the south, never to both.
pub fn ground() -> Workdir {
    let ground = Workdir::new().with_job(JOB);
    let line = |document: u64| {
        let mut stream = Stream::keyed(5, Stage::Synth, 0, document);
        let word = |_| {
            let other = stream.below(30);
            match (document % 4, stream.below(6)) {
                (0 | 1, 0) => "bank".to_owned(),
                (2, 0..=2) => "north".to_owned(),
                (3, 0..=2) => "south".to_owned(),
                (0, _) => format!("money{other}"),
                (1, _) => format!("river{other}"),
                _ => format!("travel{}", 30 * (document % 4) + other),
            }
        };
        let text: Vec<String> = (0..30).map(word).collect();
        format!("{{\"id\": \"d{document}\", \"text\": \"{}\"}}\n", text.join(" "))
    };
    let lines: String = (0..800).map(line).collect();
    ground.write("documents.jsonl", lines);
    ground.write("known.txt", KNOWN);
    ground
}

pub fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

/// Returns the topic with the most tokens of a term.
pub fn topic_of(terms: &[Row], term: &str) -> String {
    let own = terms.iter().filter(|row| row["term"] == term);
    let most = own.max_by(|a, b| number(a, "count").total_cmp(&number(b, "count")));
    most.unwrap()["topic"].clone()
}

#[test]
fn topics_obey_what_is_known_of_words() {
    let ground = ground();
    let screen = ground.succeed("run job.toml -w 2");
    assert!(screen.contains("2 of 11 words are not in the vocabulary"), "{screen}");
    let terms = ground.table("out/topic_terms");
    let topic = |term| topic_of(&terms, term);
    for k in 0..3 {
        let weight = |term| {
            let own = |row: &&Row| row["topic"] == k.to_string() && row["term"] == term;
            terms.iter().find(own).map(|row| number(row, "weight"))
        };
        let [north, south] = ["north", "south"].map(|term| weight(term).unwrap());
        assert!((north / south - 1.0).abs() < 0.05, "topic {k}: {north}, {south}");
    }
    assert_ne!(topic("money1"), topic("money2"));
    for k in 0..3 {
        let own = terms.iter().filter(|row| row["topic"] == k.to_string());
        let listed: f64 = own.clone().map(|row| number(row, "weight")).sum();
        let absent = &ground.table("out/topics")[k];
        let vocabulary = ground.table("out/vocabulary");
        let kept = vocabulary.iter().filter(|row| row["status"] == "kept").count();
        let rest = number(absent, "absent_weight") * (kept - own.count()) as f64;
        assert!((listed + rest - 1.0).abs() < 1e-5, "{listed} + {rest}");
    }
    let nodes = ground.table("out/topic_nodes");
    let banks: Vec<&Row> = nodes.iter().filter(|row| row["term"] == "bank").collect();
    for about in ["money", "river"] {
        let topic = topic_of(&terms, &format!("{about}5"));
        let of_topic = || banks.iter().filter(|row| row["topic"] == topic);
        let tokens = |row: &Row| number(row, "count");
        let all: f64 = of_topic().map(|row| tokens(row)).sum();
        let right = of_topic().filter(|row| {
            let sibling = |other: &&Row| {
                other["parent"] == row["parent"]
                    && other["term"] == format!("{about}{}", if about == "money" { 3 } else { 1 })
            };
            nodes.iter().any(|other| sibling(&other))
        });
        let right: f64 = right.map(|row| tokens(row)).sum();
        assert!(right > 0.9 * all, "{about}: {right} of {all} banks");
    }
    for row in &nodes {
        // Every token that passes an inner node also passes one of its children.
        let is_child =
            |other: &&Row| other["topic"] == row["topic"] && other["parent"] == row["node"];
        let below = nodes.iter().filter(is_child);
        if row["term"].is_empty() {
            let [count, weight] =
                ["count", "weight"].map(|c| below.clone().map(|r| number(r, c)).sum::<f64>());
            assert!((count - number(row, "count")).abs() < 1e-3, "{row:?}");
            assert!(weight <= number(row, "weight") + 1e-6, "{row:?}");
        }
    }
    let shown = ground.succeed("inspect out/model/topics.model");
    assert!(shown.contains("6 nodes over 9 terms, at most 2 senses"), "{shown}");
}

#[test]
fn workers_do_not_show_under_a_tree() {
    let ground = ground();
    let variants = ["train.online_passes=2", "train.memory=off", "train.online_passes=0"];
    for (variant, set) in variants.into_iter().enumerate() {
        let run = |placement: &str, more: &str| {
            let out = format!("out{variant}{}{}", placement.replace(' ', ""), more.len());
            ground.succeed(&format!(
                "run job.toml --quiet {placement} --set {set} --set output.path={out} {more}"
            ));
            ground.digest(&out)
        };
        let alone = run("-w 1", "");
        assert_eq!(run("-w 3", "--set train.sample_mib=0"), alone);
        assert_eq!(run("--processes 2 -w 1", ""), alone);
    }
}

#[test]
fn what_a_tree_cannot_be_trained_with_is_refused() {
    let ground = ground();
    let refused = |set: &str, says: &str, code: i32| {
        let output = ground.output(&["run", "job.toml", "--quiet", "--set", set]);
        assert_eq!(output.status.code(), Some(code), "{set}: {}", said(&output));
        assert!(said(&output).contains(says), "{set}: {}", said(&output));
    };
    refused("train.method=cvb0", "with tree.file", 64);
    refused("train.schedule=residual", "with tree.file", 64);
    refused("train.estimator=soft", "with tree.file", 64);
    refused("model.geometry=exp-psi", "with tree.file", 64);
    refused("project.method=retrain", "with tree.file", 64);
    refused("tree.file=absent.txt", "absent.txt", 64);
    ground.write("wrong.txt", "must: north\n");
    refused("tree.file=wrong.txt", "wrong.txt, line 1", 65);
    ground.write("foreign.txt", "must: nord, sud\n");
    refused("tree.file=foreign.txt", "nothing is left for the vocabulary", 65);
    // A different file under the same name makes another job.
    ground.succeed("run job.toml --quiet");
    ground.write("known.txt", "must: north, south\n");
    let output = ground.output("run job.toml --quiet");
    assert!(said(&output).contains("different settings"), "{}", said(&output));
}

#[test]
fn a_stream_infers_as_the_run_did() {
    let ground = ground();
    ground.succeed("run job.toml --quiet -w 2");
    let documents = std::fs::read(ground.path("documents.jsonl")).unwrap();
    let mut stream = ground.command("project job.toml --stdin");
    stream.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = stream.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, &documents));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let known = ground.table("out/documents");
    assert_eq!(answers.lines().count(), known.len());
    for (line, row) in answers.lines().zip(&known) {
        assert!(line.contains(&format!("\"topic\":{},", row["top_topic"])), "{line} {row:?}");
    }
}
