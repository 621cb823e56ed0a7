//! A result that is trained again: on the documents that it has now, with their terms, from the topics that it had.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use topicmill::corpus::collection::Collection;
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::corpus::vocabulary_file::VOCABULARY_FILE;
use topicmill::corpus::{DocumentStatus, ShardDocument};

use crate::add::{self, documents, left};
use crate::workdir::{Workdir, said};

const JOB: &str = r#"
[corpus]
input = "a-old.jsonl"
group = "section"
metadata = ["year"]
block_mib = 0.02
[vocabulary]
stop_words = "stop.txt"
stop_top = 1
min_documents = 5
max_share = 0.3
max_terms = 150
[sample]
documents = 400
[model]
topics = 4
seed = 9
[train]
passes = 6
[project]
trends = ["year"]
[output]
path = "old"
"#;

/// Returns a folder with a result, `old`, to which documents came twice, and which some left. `left.jsonl` has those
/// that are there.
fn changed() -> Workdir {
    static CHANGED: LazyLock<Workdir> = LazyLock::new(|| {
        let ground = Workdir::new().with_job(JOB);
        ground.write("stop.txt", "magnetic\n");
        let line = |id: &str, text: &str| {
            format!("{{\"id\": \"{id}\", \"section\": \"s\", \"year\": 1, \"text\": \"{text}\"}}\n")
        };
        let many = |name: &str, text: &str, count: u32| -> String {
            (0..count).map(|number| line(&format!("{name}{number}"), text)).collect()
        };
        let old = documents(400, 1)
            + &many("empty", "", 1)
            + &many("later", "zebra zebra", 3)
            + &many("fading", "yak", 5)
            + &many("fading-too", "yak worda1", 1);
        let new = documents(150, 2) + &many("zebra", "zebra worda1", 40);
        let more = documents(60, 3);
        for (name, lines) in [("a-old", &old), ("b-new", &new), ("c-more", &more)] {
            ground.write(&format!("{name}.jsonl"), lines);
        }
        ground.succeed("run job.toml --quiet -w 2");
        ground.succeed("add old b-new.jsonl --quiet -w 2");
        ground.succeed("add old c-more.jsonl --quiet -w 2");
        let gone = |line: &&str| {
            let gone = ["\"1-7\"", "\"2-8\"", "\"3-9\"", "\"fading0\"", "\"fading1\""];
            gone.iter().any(|id| line.contains(id))
        };
        let all = old + &new + &more;
        let stay: String =
            all.lines().filter(|line| !gone(line)).map(|line| format!("{line}\n")).collect();
        ground.write("left.jsonl", stay);
        ground.write("gone", "1-7\n2-8\n3-9\nfading0\nfading1\n");
        ground.succeed("remove old --ids gone --quiet -w 2");
        let left = JOB.replace("a-old", "left").replace("\"old\"", "\"left\"");
        ground.write("left.toml", left);
        ground
    });
    Workdir::copy_of(&CHANGED)
}

/// Returns the documents in the shards of a result, by id, without those that were removed.
fn shard_rows(ground: &Workdir, out: &str) -> BTreeMap<String, ShardDocument> {
    let mut rows = BTreeMap::new();
    let mut document = ShardDocument::default();
    for number in 0..Collection::read(&ground.path(out)).unwrap().shards.len() {
        let path = ground.path(out).join(Collection::shard_name(number));
        let mut reader = ShardReader::open(&path, Columns::All).unwrap();
        while reader.read_into(&mut document).unwrap() {
            if document.status != DocumentStatus::Removed {
                rows.insert(document.source_id.clone(), document.clone());
            }
        }
    }
    rows
}

#[test]
fn the_collection_is_that_of_a_run_over_the_documents_that_are_there() {
    let ground = changed();
    ground.succeed("ingest left.toml --quiet -w 2");
    let before = shard_rows(&ground, "old");
    let numbers = |row: &crate::workdir::Row| (row["source_id"].clone(), row["doc_id"].clone());
    let ids = || ground.table("old/documents").iter().map(numbers).collect::<BTreeMap<_, _>>();
    let before_ids = ids();
    ground.succeed("retrain old --quiet -w 2");
    let text = |out: &str| std::fs::read_to_string(ground.path(out).join(VOCABULARY_FILE)).unwrap();
    let statuses = text("left");
    for status in ["kept", "stop", "rare", "frequent", "capped"] {
        assert!(statuses.contains(&format!("\t{status}\t")), "{statuses}");
    }
    assert_eq!(text("old"), text("left"));
    let [ours, theirs] = ["old", "left"].map(|out| shard_rows(&ground, out));
    assert!(ours == theirs);
    let status = |rows: &BTreeMap<String, ShardDocument>, id: &str| rows[id].status;
    use DocumentStatus::{NoVocabulary, Ok};
    assert_eq!(["later0", "fading2"].map(|id| status(&before, id)), [NoVocabulary, Ok]);
    assert_eq!(["later0", "fading2"].map(|id| status(&ours, id)), [Ok, NoVocabulary]);
    let figures = |out: &str| {
        let it = Collection::read(&ground.path(out)).unwrap();
        let documents = [it.documents, it.documents_with_terms];
        let tokens = [it.tokens_total, it.tokens_in_vocabulary, it.tokens_stopped];
        (documents, tokens, it.terms_total, it.vocabulary_fingerprint, it.documents_by_status)
    };
    assert_eq!(figures("old"), figures("left"));
    assert_eq!(ids(), before_ids);
}

#[test]
fn words_that_were_unknown_become_terms_of_topics() {
    let ground = changed();
    let statuses = || -> BTreeMap<String, String> {
        let rows = ground.table("old/vocabulary").into_iter();
        rows.map(|row| (row["term"].clone(), row["status"].clone())).collect()
    };
    let before = statuses();
    let splits = || {
        let rows = ground.table("old/documents");
        let sampled = rows.iter().filter(|row| row["split"] != "projected");
        sampled.map(|row| row["source_id"].split('-').next().unwrap().to_owned()).collect()
    };
    assert!(!BTreeSet::is_superset(&splits(), &BTreeSet::from(["2".to_owned()])));
    ground.succeed("retrain old --quiet -w 2");
    let after = statuses();
    let terms = ground.table("old/topic_terms");
    let learnt = terms.iter().map(|row| &row["term"]).filter(|&term| before[term] == "unknown");
    let learnt: BTreeSet<_> = learnt.collect();
    assert!(learnt.len() > 5 && learnt.iter().all(|term| after[*term] == "kept"), "{learnt:?}");
    assert!(!after.values().any(|status| status == "unknown"));
    assert!(splits().is_superset(&["1", "2", "3"].map(str::to_owned).into()));
    let changes = ground.table("old/topic_changes");
    assert_eq!(changes.len(), 4);
    let generations = ground.table("old/generations");
    let trained: Vec<&str> = generations.iter().map(|row| &*row["trained"]).collect();
    assert_eq!(trained, ["true", "false", "false", "false", "true"]);
    let listed = ground.succeed("history old");
    assert_eq!(listed.matches("trained").count(), 2, "{listed}");
}

#[test]
fn a_result_that_was_trained_again_is_that_of_its_job() {
    let ground = changed();
    let other = Workdir::copy_of(&ground);
    let job = || {
        let text = std::fs::read_to_string(ground.path("old/job.toml")).unwrap();
        // This folder is a copy.
        text.lines().filter(|line| !line.starts_with("path = ")).collect::<String>()
    };
    let kept = job();
    ground.succeed("retrain old --quiet -w 1");
    let said_of = said(&other.output("retrain old -w 3"));
    assert!(
        said_of.contains("trained again; ") && said_of.contains("of 4 topics are nearer"),
        "{said_of}"
    );
    let digest = ground.digest("old");
    assert_eq!(other.digest("old"), digest);
    assert!(left(&ground).is_empty());
    ground.succeed("verify old");
    assert_eq!(job(), kept);
    let complete = ground.succeed("run job.toml -w 2 --quiet --json");
    assert!(complete.contains(r#""already_complete":["ingest","train","project"]"#), "{complete}");
    let again = said(&ground.output("retrain old -w 2"));
    assert!(again.contains("no document has come or left"), "{again}");
    ground.succeed("project job.toml --quiet -w 2 --overwrite");
    assert_eq!(ground.digest("old"), digest, "projected again as a whole");
    let [model, changes] = ["topic_terms", "topic_changes"]
        .map(|table| (table, ground.table(&format!("old/{table}"))));
    ground.write("d.jsonl", documents(40, 4));
    ground.succeed("add old d.jsonl --quiet -w 2");
    for (table, rows) in [model, changes] {
        assert!(ground.table(&format!("old/{table}")) == rows, "{table}");
    }
    let added = ground.table("old/documents");
    assert_eq!(added.len(), 400 + 10 + 190 + 60 - 5 + 40);
    assert!(added[added.len() - 40..].iter().all(|row| row["split"] == "projected"));
    ground.succeed("retrain old --quiet -w 2");
    ground.succeed("verify old");
}

#[cfg(debug_assertions)]
#[test]
fn a_training_that_is_killed_leaves_the_result_before_or_after_it() {
    let ground = changed();
    add::check_killed(&ground, "old", "retrain old --quiet -w 1", [37, 4]);
}

#[test]
fn planted_topics_keep_their_numbers() {
    let ground = Workdir::new();
    ground.succeed("synth --path planted --documents 2000 --topics 6 --terms 300 --quiet");
    let text = std::fs::read_to_string(ground.path("planted/documents-00000.jsonl")).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    ground.write("a.jsonl", lines[..1200].concat());
    ground.write("b.jsonl", lines[1200..].concat());
    ground.write(
        "planted.toml",
        "[corpus]\ninput = \"a.jsonl\"\n[model]\ntopics = 6\n[train]\npasses = 30\n[output]\npath = \"out\"\n",
    );
    ground.succeed("run planted.toml --quiet -w 2");
    ground.succeed("add out b.jsonl --quiet -w 2");
    ground.succeed("retrain out --quiet -w 2");
    for row in ground.table("out/topic_changes") {
        let distance: f64 = row["distance"].parse().unwrap();
        assert!(distance > 0.0 && distance < 0.3, "{row:?}");
        assert_eq!(row["nearest"], row["topic"]);
        assert_eq!(row["nearest_distance"], row["distance"]);
    }
}

#[test]
fn results_that_cannot_be_trained_again_say_so() {
    let ground = add::finished();
    ground.succeed("add first c-more.jsonl --quiet -w 2");
    let before = ground.digest("first");
    let other = ground.denied(64, "retrain first");
    assert!(other.contains("model.from") && other.contains("train.warm_start"), "{other}");
    assert_eq!(ground.digest("first"), before);
    assert!(left(&ground).is_empty());
    let unchanged = said(&ground.output("retrain old -w 1"));
    assert!(unchanged.contains("no document has come or left"), "{unchanged}");
    ground.succeed("run job.toml --quiet -w 2 --set output.path=cvb --set train.method=cvb0");
    ground.succeed("add cvb c-more.jsonl --quiet -w 2");
    let method = ground.denied(64, "retrain cvb");
    assert!(method.contains("cannot start from a model") && method.contains("cvb0"), "{method}");
    let remote = ground.denied(64, "retrain s3://bucket/out");
    assert!(remote.contains("on this machine"), "{remote}");
    let missing = ground.denied(64, "retrain nowhere");
    assert!(missing.contains("does not exist"), "{missing}");
}
