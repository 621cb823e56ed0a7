//! New documents with the model of a finished result: the same terms, phrases and topics, on any number of workers,
//! and their drift.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::workdir::{Row, Workdir, succeed};

const JOB: &str = r#"
[corpus]
input = "old.jsonl"
group = "section"
block_mib = 0.02
[phrases]
detect = true
[vocabulary]
min_documents = 3
[model]
topics = 4
seed = 9
[train]
passes = 12
[output]
path = "old"
"#;

const NEW: &str = r#"
[corpus]
input = "new.jsonl"
group = "section"
block_mib = 0.02
[model]
from = "old"
[output]
path = "new"
"#;

/// Returns documents of four topics, with a phrase in one of them and, if `fresh`, words that no other has.
fn documents(count: u64, seed: u64, fresh: bool) -> String {
    let mut state = seed;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % bound
    };
    let mut lines = String::new();
    for number in 0..count {
        let topic = below(4);
        let mut words = Vec::new();
        for _ in 0..30 {
            words.push(match below(10) {
                0 if topic == 2 => "magnetic northpole".to_owned(),
                1 => "the".to_owned(),
                2 if fresh => format!("fresh{}", below(40)),
                _ => format!("word{}{}", ["a", "b", "c", "d"][topic as usize], below(25)),
            });
        }
        let text = words.join(" ");
        let section = ["north", "south"][below(2) as usize];
        lines += &format!(
            "{{\"id\": \"{seed}-{number}\", \"section\": \"{section}\", \"text\": \"{text}\"}}\n"
        );
    }
    lines
}

/// Returns a folder with a finished result, trained once, and a job for new documents.
fn finished() -> Workdir {
    static FINISHED: LazyLock<Workdir> = LazyLock::new(|| {
        let ground = Workdir::new().with_job(JOB);
        ground.write("old.jsonl", documents(400, 1, false));
        ground.write("new.jsonl", documents(150, 2, true));
        ground.write("new.toml", NEW);
        ground.succeed("run job.toml --quiet -w 2");
        ground
    });
    Workdir::copy_of(&FINISHED)
}

fn column<'r>(rows: &'r [Row], name: &str) -> Vec<&'r str> {
    rows.iter().map(|row| &row[name][..]).collect()
}

/// Returns the first row of `drift` for the run.
fn drift(ground: &Workdir, out: &str) -> Row {
    let rows = ground.table(&format!("{out}/drift"));
    let run = rows.into_iter().find(|row| row["scope"] == "run");
    run.expect("a row for the run")
}

#[test]
fn documents_of_the_model_have_the_topics_that_they_had() {
    let ground = finished();
    ground
        .succeed("run new.toml --quiet -w 2 --set corpus.input=old.jsonl --set output.path=again");
    for table in ["document_topics", "topic_terms", "vocabulary"] {
        let [before, after] = ["old", "again"].map(|out| ground.table(&format!("{out}/{table}")));
        assert_eq!(before, after, "{table}");
    }
    assert!(
        ground.table("again/topic_terms").iter().any(|row| row["term"] == "magnetic_northpole")
    );
    let documents = ground.table("again/documents");
    assert!(column(&documents, "split").iter().all(|split| *split == "projected"));
    assert!(ground.table("again/training_log").is_empty());
    assert_eq!(drift(&ground, "again")["known_term_share"], "1.0");
}

#[test]
fn new_documents_are_projected_by_any_number_of_workers() {
    let ground = finished();
    let screen = ground.succeed("run new.toml -w 1");
    assert!(screen.contains("ingest, project"), "{screen}");
    assert!(screen.contains("model       from = "), "{screen}");
    let alone = ground.digest("new");
    ground.succeed("run new.toml --quiet -w 3 --set output.path=new3");
    ground.succeed("run new.toml --quiet -w 1 --processes 2 --set output.path=new2");
    assert_eq!([&ground.digest("new3"), &ground.digest("new2")], [&alone; 2]);

    let [before, after] = ["old", "new"].map(|out| ground.table(&format!("{out}/vocabulary")));
    let terms = |rows: &[Row], wanted: &[&str]| -> Vec<String> {
        let rows = rows.iter().filter(|row| wanted.contains(&&row["status"][..]));
        rows.map(|row| row["term"].clone()).collect()
    };
    assert_eq!(terms(&before, &["kept"]), terms(&after, &["kept"]));
    let unknown = terms(&after, &["unknown"]);
    assert!(unknown.len() > 30 && unknown.iter().all(|term| term.contains("fresh")), "{unknown:?}");
    // Yao 2009, §6.2: the distinct terms that the model's collection has.
    let distinct: BTreeSet<String> = after
        .iter()
        .filter(|row| row["status"] != "stop" && row["count"] != "0")
        .map(|row| row["term"].clone())
        .collect();
    let known = distinct.len() - unknown.len();
    let drift = drift(&ground, "new");
    assert_eq!(
        (&drift["terms"], &drift["known_terms"]),
        (&distinct.len().to_string(), &known.to_string())
    );
    let advises = 10 * known < 7 * distinct.len();
    assert_eq!(drift["retrain"], advises.to_string());
    assert!(!drift["topic_shift_js"].is_empty() && !drift["loglik_shift"].is_empty(), "{drift:?}");
}

#[test]
fn the_result_is_complete_in_itself() {
    let ground = finished();
    ground.succeed("run new.toml --quiet -w 2");
    // A model passes from result to result, with its terms, its phrases and the sums of its documents.
    ground.succeed("run new.toml --quiet -w 2 --set model.from=new --set output.path=next");
    for table in ["document_topics", "topic_terms", "drift"] {
        let [before, after] = ["new", "next"].map(|out| ground.table(&format!("{out}/{table}")));
        assert_eq!(before, after, "{table}");
    }
    ground.succeed("run new/job.toml --quiet -w 3 --set output.path=copy");
    assert_eq!(ground.digest("copy"), ground.digest("new"));
    // Neither the documents nor their phrases need the result from which the model came.
    std::fs::rename(ground.path("old"), ground.path("elsewhere")).unwrap();
    ground.succeed("evaluate new --set evaluate.split=all --quiet");
    ground.succeed("run new --quiet");
    let mut stream = ground.command("project new --stdin");
    stream.stdin(std::fs::File::open(ground.path("old.jsonl")).unwrap());
    let answers = String::from_utf8(succeed(stream).stdout).unwrap();
    assert!(answers.lines().all(|line| line.contains("\"tokens_unknown\":0")), "{answers}");
    ground.denied(64, "run new.toml --quiet --set output.path=other");
}

#[test]
fn what_a_result_has_become_is_noticed() {
    let ground = finished();
    ground.succeed("run new.toml --quiet -w 2");
    ground.succeed("run job.toml --quiet -w 2 --overwrite --set model.seed=5");
    let message = ground.denied(64, "run new.toml --quiet");
    assert!(message.contains("--overwrite"), "{message}");
    ground.succeed("run new --quiet");
    // A model whose job has projected nothing has no documents to compare with.
    ground.succeed("run job.toml --quiet -w 2 --set output.path=bare --set project.method=none");
    ground.succeed("run new.toml --quiet -w 2 --set model.from=bare --set output.path=some");
    let drift = drift(&ground, "some");
    let known: f64 = drift["known_term_share"].parse().unwrap();
    assert!(known > 0.5 && drift["topic_shift_js"].is_empty(), "{drift:?}");
    // Keys may not contradict the result, also where a job says all itself.
    let old = ground.path("old");
    let whole = format!("from = {old:?}\ntopics = 6\n[vocabulary]\nfrom = {old:?}");
    ground.write("six.toml", NEW.replace("from = \"old\"", &whole));
    let message = ground.denied(64, "run six.toml --quiet --set output.path=six");
    assert!(message.contains("(4 there)"), "{message}");
}

#[test]
fn terms_are_kept_for_a_training_too() {
    let ground = finished();
    ground.write("few.jsonl", documents(12, 5, true));
    let sets = "--set vocabulary.from=old --set train.warm_start=old --set corpus.input=few.jsonl --set output.path=few";
    let job = JOB.replace("min_documents = 3", "");
    ground.write("few.toml", job);
    ground.succeed(&format!("run few.toml --quiet -w 2 {sets}"));
    let kept = |out: &str| {
        let rows = ground.table(&format!("{out}/vocabulary"));
        let kept = rows.into_iter().filter(|row| row["status"] == "kept");
        kept.map(|row| row["term"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(kept("few"), kept("old"));
    let message = ground.denied(
        64,
        "run job.toml --set vocabulary.from=old --set vocabulary.min_documents=3 --set output.path=other",
    );
    assert!(message.contains("min_documents") && message.contains("vocabulary.from"), "{message}");
}

#[test]
fn a_model_of_any_geometry_can_be_used() {
    let ground = finished();
    ground.succeed("run job.toml --quiet --set train.method=online-vb --set train.passes=2 --set output.path=vb");
    ground.succeed("run new.toml --quiet --set model.from=vb --set output.path=other");
    let digest = ground.digest("other");
    ground.succeed("run other/job.toml --quiet --set output.path=again");
    assert_eq!(ground.digest("again"), digest);
}

#[test]
fn a_model_that_cannot_be_used_is_refused() {
    let ground = finished();
    let denied = |sets: &str, says: &str| {
        let message =
            ground.denied(64, &format!("run new.toml --quiet --set output.path=other {sets}"));
        assert!(message.contains(says), "{sets}: {message}");
    };
    denied("--set model.from=nowhere", "nowhere");
    denied("--set model.topics=5", "(4 there)");
    denied("--set tokens.min_length=1", "as in the result of model.from");
    denied("--set train.passes=3", "as in the result of model.from (12 there)");
    denied("--set corpus.labels=section", "with model.from");
    denied("--set project.method=maxent", "needs no training documents");
    denied("--set output.path=old --overwrite", "a folder other than model.from");
    // A job with the settings of the result's own may spell them out.
    ground.succeed("run job.toml --quiet --set model.from=old --set corpus.input=new.jsonl --set output.path=same");
    ground.succeed("run new.toml --quiet");
    assert_eq!(ground.digest("same"), ground.digest("new"));
    let spelt = "--set vocabulary.max_share=0.5 --set model.label_prior=frequency --set phrases.min_count=5";
    let spelt = format!("{spelt} --set train.warm_start= --set output.path=spelt");
    ground.succeed(&format!("run new.toml --quiet {spelt}"));
    ground.write("empty.jsonl", "{\"text\": \"nothing alike\"}\n");
    let message = ground
        .denied(65, "run new.toml --quiet --set corpus.input=empty.jsonl --set output.path=empty");
    assert!(message.contains("another language"), "{message}");
    let labelled = JOB.replace("topics = 4\n", "").replace("[phrases]\ndetect = true\n", "");
    ground.write("labelled.toml", labelled.replace("group =", "labels ="));
    ground.succeed("run labelled.toml --quiet --set output.path=labelled");
    denied("--set model.from=labelled", "whose topics are labels");
}
