//! Correcting a finished model, and starting from one: topics keep their numbers and show the
//! requested changes, and nothing depends on the number of workers.

use std::sync::LazyLock;

use crate::tree::{ground, number, topic_of};
use crate::workdir::{Row, Workdir, program, said, succeed};

/// Returns the folder of the tree tests, with a result without a tree, trained once.
fn finished() -> Workdir {
    static FINISHED: LazyLock<Workdir> = LazyLock::new(|| {
        let ground = ground();
        let job = std::fs::read_to_string(ground.path("job.toml")).unwrap();
        let (before, tree) = job.split_once("[tree]").unwrap();
        let (_, after) = tree.split_once("[train]").unwrap();
        ground.write("job.toml", format!("{before}[train]{after}"));
        ground.succeed("run job.toml --quiet -w 2");
        ground
    });
    Workdir::copy_of(&FINISHED)
}

fn weight(terms: &[Row], topic: &str, term: &str) -> f64 {
    let own = terms.iter().find(|row| row["topic"] == topic && row["term"] == term);
    own.map_or(0.0, |row| number(row, "weight"))
}

const FIRST: &str = "must: north, south\nsplit: bank: money3, money4 | river1, river2\n";

/// Runs `constrain` with the constraints of `FIRST`; returns its output.
fn correct(ground: &Workdir) -> String {
    ground.succeed(
        &[
            "constrain",
            "out",
            "--merge",
            "north, south",
            "--split",
            "bank: money3, money4 | river1, river2",
            "--strength",
            "1000000",
        ][..],
    )
}

#[test]
fn a_finished_model_is_corrected() {
    let ground = finished();
    let before = ground.table("out/topic_terms");
    let travel = topic_of(&before, "travel61");
    let screen = correct(&ground);
    assert!(screen.contains("changes "), "{screen}");
    assert!(screen.contains("Hellinger distance of topic"), "{screen}");
    assert!(!screen.contains("MiB/s"), "the input is not read again: {screen}");
    let lines = std::fs::read_to_string(ground.path("out-constrained.txt")).unwrap();
    let heading = "# After a change: topicmill run out-constrained.toml --overwrite\n";
    assert_eq!(lines, format!("{heading}{FIRST}"));
    let after = ground.table("out-constrained/topic_terms");
    for term in ["money5", "river5", "travel61"] {
        assert_eq!(topic_of(&before, term), topic_of(&after, term), "{term}");
    }
    let [north, south] = ["north", "south"].map(|term| weight(&after, &travel, term));
    assert!((north / south - 1.0).abs() < 0.1, "{north}, {south}");
    let nodes = ground.table("out-constrained/topic_nodes");
    for about in ["money5", "river5"] {
        let topic = topic_of(&after, about);
        let banks = nodes.iter().filter(|row| row["term"] == "bank" && row["topic"] == topic);
        let counts: Vec<f64> = banks.map(|row| number(row, "count")).collect();
        let most = counts.iter().copied().fold(0.0, f64::max);
        assert!(most > 0.9 * counts.iter().sum::<f64>(), "{about}: {counts:?}");
    }
    let changes = ground.table("out-constrained/topic_changes");
    assert_eq!(changes.len(), 3);
    for row in &changes {
        assert!((0.0..0.5).contains(&number(row, "distance")), "{row:?}");
        let shares = [number(row, "share_before"), number(row, "share")];
        assert!((shares[0] - shares[1]).abs() < 0.05, "{row:?}");
    }
    ground.succeed("verify out-constrained");
    let shown = ground.succeed("inspect out-constrained --topic 1");
    assert!(shown.contains(&format!("\n{:<25} 0.", "distance")), "{shown}");
    let page = std::fs::read_to_string(ground.path("out-constrained/report.html")).unwrap();
    assert_eq!(page.matches("\"gained\":[").count(), 3);
}

#[test]
fn a_result_is_corrected_and_evaluated_from_within() {
    let ground = finished();
    let out = ground.path("out");
    succeed(program(&out, &["constrain", ".", "--merge", "north, south"]));
    assert!(ground.path("out-constrained/_SUCCESS").exists());
    assert!(ground.path("out-constrained.toml").exists());
    succeed(program(&out, "evaluate . -w 1"));
    assert!(ground.path("out-evaluation/evaluation").exists());
}

#[test]
fn a_corrected_model_is_corrected_again() {
    let ground = finished();
    correct(&ground);
    ground.succeed(&["constrain", "out-constrained", "--separate", "money1,money2", "--quiet"][..]);
    let lines = std::fs::read_to_string(ground.path("out-constrained-2.txt")).unwrap();
    assert!(lines.ends_with(&format!("\n{FIRST}cannot: money1, money2\n")), "{lines}");
    let again = ground.table("out-constrained-2/topic_terms");
    assert_ne!(topic_of(&again, "money1"), topic_of(&again, "money2"));
    // The files that it wrote can be edited and run.
    ground.write("out-constrained-2.txt", FIRST);
    ground.succeed("run out-constrained-2.toml --quiet --set output.path=back");
    let nodes = |out: &str| ground.table(&format!("{out}/topic_nodes")).len();
    assert!(nodes("back") < nodes("out-constrained-2"));
}

#[test]
fn workers_do_not_show_after_a_correction() {
    let ground = finished();
    for unassign in ["nothing", "terms", "documents", "all"] {
        let constrain = |out: &str, threads: &str| {
            let flags = ["constrain", "out", "--merge", "north, south", "--unassign", unassign];
            let apart: &[&str] = match unassign {
                "nothing" => &[],
                _ => &["--separate", "money1, money2"],
            };
            let place = ["-o", out, "-w", threads, "--quiet"];
            ground.succeed(&[&flags[..], apart, &place[..]].concat()[..]);
            ground.digest(out)
        };
        let alone = constrain(&format!("{unassign}1"), "1");
        assert_eq!(constrain(&format!("{unassign}3"), "3"), alone);
        let out = format!("{unassign}-processes");
        let sets = format!("--set output.path={out} --set train.sample_mib=0");
        ground.succeed(&format!("run {unassign}1.toml --quiet --processes 2 -w 1 {sets}"));
        assert_eq!(ground.digest(&out), alone, "{unassign}");
        let terms = ground.table(&format!("{out}/topic_terms"));
        let is_one = topic_of(&terms, "money1") == topic_of(&terms, "money2");
        assert_eq!(is_one, unassign == "nothing", "{unassign}");
    }
}

#[test]
fn a_warm_start_without_a_change_trains_all_documents_further() {
    let ground = finished();
    let run = |out: &str, more: &str| {
        ground.succeed(&format!(
            "run job.toml --set train.warm_start=out --set train.passes=4 --set output.path={out} {more}"
        ))
    };
    let screen = run("further", "-w 1");
    assert!(screen.contains("warm_start = "), "{screen}");
    run("further3", "-w 3 --set model.seed=1");
    assert_eq!(ground.digest("further"), ground.digest("further3"));
    let [before, after] = ["out", "further"].map(|out| ground.table(&format!("{out}/topic_terms")));
    for term in ["money5", "river5", "travel61", "travel95"] {
        assert_eq!(topic_of(&before, term), topic_of(&after, term), "{term}");
    }
    // With another vocabulary, terms are matched by name.
    run("smaller", "-w 2 --set vocabulary.min_documents=40");
    let smaller = ground.table("smaller/topic_terms");
    assert_eq!(topic_of(&before, "money5"), topic_of(&smaller, "money5"));
}

#[test]
fn words_that_a_vocabulary_has_no_longer_are_lost() {
    let ground = finished();
    ground.write("stop.txt", "travel61\ntravel62\nmoney5\n");
    let sets = "--set vocabulary.stop_words=stop.txt --set vocabulary.from= --set train.passes=4 --set output.path=without";
    ground.succeed(&format!("run job.toml --quiet --set train.warm_start=out {sets}"));
    let [before, after] = ["out", "without"].map(|out| ground.table(&format!("{out}/topic_terms")));
    let absent = |out: &str| {
        let topics = ground.table(&format!("{out}/topics")).into_iter();
        topics.map(|row| number(&row, "absent_weight")).collect::<Vec<f64>>()
    };
    let absent = ["out", "without"].map(absent);
    let terms = ground.table("out/vocabulary").into_iter();
    let terms = terms.filter(|row| row["status"] == "kept").map(|row| row["term"].clone());
    let terms: Vec<String> = terms.collect();
    let stopped = ["travel61", "travel62", "money5"];
    for (topic, row) in ground.table("without/topic_changes").iter().enumerate() {
        let of = |rows: &[Row]| -> Vec<Row> {
            let own = rows.iter().filter(|row| row["topic"] == topic.to_string());
            own.cloned().collect()
        };
        let top = |rows: &[Row]| -> Vec<String> {
            let top = of(rows).into_iter().take(20);
            top.map(|row| row["term"].clone()).collect()
        };
        let (old, new) = (top(&before), top(&after));
        let lost: Vec<&str> =
            (old.iter().filter(|term| !new.contains(term))).map(String::as_str).collect();
        assert_eq!(row["lost"], format!("[{}]", lost.join(", ")));
        let root = |rows: &[Row], absent: f64, term: &str| {
            let listed = rows.iter().find(|row| row["term"] == term);
            listed.map_or(absent, |row| number(row, "weight")).sqrt()
        };
        let [old, new] = [&before, &after].map(|rows| of(rows));
        let common = terms.iter().filter(|term| !stopped.contains(&term.as_str()));
        let overlap = common
            .map(|term| root(&old, absent[0][topic], term) * root(&new, absent[1][topic], term));
        let distance = (1.0 - overlap.sum::<f64>()).sqrt();
        assert!((number(row, "distance") - distance).abs() < 1e-4, "{row:?}, {distance}");
    }
}

#[test]
fn a_warm_start_with_the_same_tree_trains_all_documents_further() {
    let ground = ground();
    ground.succeed("run job.toml --quiet -w 2");
    // Without these words, less of it fits the vocabulary.
    ground.write("stop.txt", "money2\nriver1\n");
    for stop_words in ["none", "stop.txt"] {
        let more = "--set train.warm_start=out --set train.passes=4 --set output.path=further";
        ground.succeed(&format!(
            "run job.toml --quiet -w 2 --overwrite {more} --set vocabulary.stop_words={stop_words}"
        ));
        let log = ground.table("further/training_log");
        let seen = number(log.last().expect("rounds"), "documents_seen");
        let documents = ground.table("further/documents").into_iter();
        let sample = documents.filter(|row| row["split"] == "sample").count();
        assert_eq!(seen, 4.0 * sample as f64);
    }
}

#[test]
fn a_result_does_not_need_the_one_that_it_started_from() {
    let ground = finished();
    let started = "--set train.warm_start=out --set train.passes=4";
    ground.succeed(&format!("run job.toml --quiet {started} --set output.path=further"));
    ground.succeed("run job.toml --quiet --overwrite --set model.topics=4");
    ground.succeed("run further --quiet");
    let hide = |name: &str| {
        let other = ground.path(&format!("{name}-elsewhere"));
        std::fs::rename(ground.path(name), other).expect("renamed");
    };
    hide("out");
    let plan = ground.succeed("plan further --set train.passes=5");
    assert!(plan.contains("--overwrite"), "{plan}");
    hide("documents.jsonl");
    for command in ["evaluate further --quiet", "run further --quiet"] {
        ground.succeed(command);
    }
    ground.succeed(&["constrain", "further", "--merge", "north, south", "--quiet"][..]);
}

#[test]
fn a_collection_takes_the_place_of_its_input_only_if_all_of_that_is_gone() {
    let ground = finished();
    let job = std::fs::read_to_string(ground.path("job.toml")).unwrap();
    let both = job.replace("\"documents.jsonl\"", "[\"documents.jsonl\", \"more.jsonl\"]");
    assert_ne!(job, both);
    ground.write("job.toml", both);
    ground.write("more.jsonl", "{\"id\": \"e\", \"text\": \"money1 money2\"}\n");
    ground.succeed("run job.toml --quiet --overwrite -w 2");
    let further = "run job.toml --quiet --processes 2 -w 1 --set train.warm_start=out \
                   --set train.passes=4 --set output.path=further";
    let without = |file: &str| {
        std::fs::remove_file(ground.path(file)).expect("removed");
        ground.output(further)
    };
    let partly = without("more.jsonl");
    assert!(!partly.status.success() && !ground.path("further/topics").exists());
    assert!(said(&partly).contains("no file matches `more.jsonl`"));
    let gone = said(&without("documents.jsonl"));
    for what in ["no file matches", "copied from train.warm_start"] {
        assert_eq!(gone.matches(what).count(), 1, "{gone}");
    }
    assert_eq!(ground.digest("further").len(), 64);
}

#[test]
fn words_that_are_apart_already_stay_where_they_are() {
    let ground = finished();
    let pairs = ["money1, river1", "river2, travel61", "travel62, money2", "travel63, river3"];
    let mut command = vec!["constrain", "out", "--quiet"];
    for pair in pairs {
        command.extend(["--separate", pair]);
    }
    ground.succeed(&command[..]);
    let [before, after] =
        ["out", "out-constrained"].map(|out| ground.table(&format!("{out}/topic_terms")));
    for word in pairs.iter().flat_map(|pair| pair.split(", ")) {
        assert_eq!(topic_of(&before, word), topic_of(&after, word), "{word}");
    }
}

#[test]
fn what_cannot_be_corrected_is_refused() {
    let ground = finished();
    let denied = |flags: &[&str], code: i32, says: &str| {
        let output = ground.output(&[&["constrain"][..], flags].concat()[..]);
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {}", said(&output));
        assert!(said(&output).contains(says), "{flags:?}: {}", said(&output));
    };
    denied(&["out"], 64, "--merge");
    denied(&["absent", "--merge", "a, b"], 64, "absent");
    denied(&["out", "--merge", "north"], 64, "--merge 'north'");
    denied(&["out", "--split", "bank: money3"], 64, "--split 'bank: money3'");
    let sooth = ["out", "--merge", "money1, money2", "--merge", "north, south, sooth"];
    denied(&sooth, 64, "leave them out: must: north, south, sooth\n");
    denied(&["out", "--merge", "nord, sud"], 65, "nothing is left");
    let both = ["out", "--merge", "north, south", "--separate", "south, north"];
    denied(&both, 65, "keeps `");
    let kept = ["out", "--separate", "north, south", "--unassign", "nothing"];
    denied(&kept, 64, "--unassign terms");
    assert!(!ground.path("out-constrained").exists(), "nothing was begun");
    ground.write("tree.json", "{\"children\": [{\"terms\": [\"north\", \"south\"]}]}");
    ground.succeed("run job.toml --quiet --set tree.file=tree.json --set output.path=outline");
    denied(&["outline", "--merge", "money1, money2"], 64, "is not a list of linked words");
}

#[test]
fn a_model_of_another_geometry_can_be_corrected() {
    let ground = finished();
    ground.succeed("run job.toml --quiet --set train.method=online-vb --set train.passes=2 --set output.path=vb");
    ground.succeed(&["constrain", "vb", "--merge", "north, south", "--quiet"][..]);
    ground.succeed("verify vb-constrained");
}

#[test]
fn what_cannot_be_started_from_is_refused() {
    let ground = finished();
    let run = |sets: &str, code: i32, says: &str| {
        let output = ground.output(&format!(
            "run job.toml --quiet --set output.path=other --set train.warm_start=out {sets}"
        ));
        assert_eq!(output.status.code(), Some(code), "{sets}: {}", said(&output));
        assert!(said(&output).contains(says), "{sets}: {}", said(&output));
    };
    run("--set train.online_passes=3", 64, "with train.warm_start");
    run("--set train.memory=off", 64, "with train.warm_start");
    run("--set train.method=cvb0", 64, "with train.warm_start");
    run("--set train.estimator=soft", 64, "with train.warm_start");
    run("--set model.topics=4", 64, "must be 3, as in train.warm_start");
    ground.write("links.txt", "must: north, south\n");
    let other = "--set tree.file=links.txt --set model.seed=9";
    run(other, 65, "must have the same documents");
    run("--set train.warm_start=nowhere", 64, "nowhere");
    std::os::unix::fs::symlink("out", ground.path("link")).expect("a link");
    for same in
        ["output.path=out", "output.path=link", "output.path=out --set train.warm_start=out/"]
    {
        let sets = format!("--set {same} --overwrite");
        run(&sets, 64, "a folder other than train.warm_start");
    }
    assert!(ground.path("out/_SUCCESS").exists(), "the result is still there");
    let output =
        ground.output("run job.toml --set train.unassign=documents --set output.path=other");
    assert!(said(&output).contains("train.warm_start"), "{}", said(&output));
}
