//! Documents that are added to a finished result: as if they had been there, all of them or none.

use std::sync::LazyLock;

use crate::workdir::{Workdir, said};

const JOB: &str = r#"
[corpus]
input = "a-old.jsonl"
group = "section"
metadata = ["year"]
block_mib = 0.02
[phrases]
detect = true
[vocabulary]
min_documents = 3
[sample]
documents = 300
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

pub const PROJECTED: &str = r#"
[corpus]
input = "a-old.jsonl"
group = "section"
metadata = ["year"]
block_mib = 0.02
[model]
from = "old"
[project]
trends = ["year"]
[output]
path = "first"
"#;

/// Returns documents of four topics, some with words that no other file has.
pub fn documents(count: u64, seed: u64) -> String {
    let mut state = seed;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % bound
    };
    let mut lines = String::new();
    for number in 0..count {
        let topic = ["a", "b", "c", "d"][below(4) as usize];
        let word = |below: &mut dyn FnMut(u64) -> u64| match below(12) {
            0 => "magnetic northpole".to_owned(),
            1 => "the".to_owned(),
            2 => format!("fresh{seed}x{}", below(40)),
            _ => format!("word{topic}{}", below(25)),
        };
        let words: Vec<_> = (0..30).map(|_| word(&mut below)).collect();
        let (section, year) = (below(3), 1990 + below(4) + seed);
        lines += &format!(
            "{{\"id\": \"{seed}-{number}\", \"section\": \"{section}of{seed}\", \"year\": {year}, \"text\": \"{}\"}}\n",
            words.join(" ")
        );
    }
    lines
}

/// Returns a folder with a trained result, `old`; with `first`, the same documents projected onto its model; and with
/// documents to be added.
pub fn finished() -> Workdir {
    static FINISHED: LazyLock<Workdir> = LazyLock::new(|| {
        let ground = Workdir::new().with_job(JOB);
        for (name, count, seed) in [("a-old", 400, 1), ("b-new", 150, 2), ("c-more", 60, 3)] {
            ground.write(&format!("{name}.jsonl"), documents(count, seed));
        }
        ground.write("first.toml", PROJECTED);
        ground.succeed("run job.toml --quiet -w 2");
        ground.succeed("run first.toml --quiet -w 2");
        ground
    });
    Workdir::copy_of(&FINISHED)
}

/// Returns the names in the folder that begin with a dot: what additions leave.
pub fn left(ground: &Workdir) -> Vec<String> {
    let entries = std::fs::read_dir(ground.root()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn documents_that_are_added_are_as_if_they_had_been_there() {
    let ground = finished();
    let all = ground.path("all.toml");
    let inputs = r#"input = ["a-old.jsonl", "b-new.jsonl", "c-more.jsonl"]"#;
    let job = PROJECTED.replace(r#"input = "a-old.jsonl""#, inputs).replace("first", "all");
    std::fs::write(all, job).unwrap();
    ground.succeed("run all.toml --quiet -w 2");
    ground.succeed("add first b-new.jsonl --quiet -w 1");
    ground.succeed("add first c-more.jsonl --quiet -w 3");
    for table in std::fs::read_dir(ground.path("all")).unwrap() {
        let name = table.unwrap().file_name().to_string_lossy().into_owned();
        if ground.path(&format!("all/{name}/part-00000.parquet")).exists() {
            let [all, added] = ["all", "first"].map(|out| ground.table(&format!("{out}/{name}")));
            assert!(all == added, "{name}");
        }
    }
    let sound = ground.digest("first");
    assert!(left(&ground).is_empty());
    let said_again = ground.output("add first c-more.jsonl -w 1");
    assert!(said_again.status.success() && said(&said_again).contains("has this input already"));
    assert_eq!(ground.digest("first"), sound);
}

#[test]
fn documents_that_earlier_additions_counted_are_not_read_again() {
    let ground = finished();
    ground.succeed("add first b-new.jsonl --quiet -w 3");
    let sound = Workdir::copy_of(&ground);
    std::fs::remove_file(sound.path("first/corpus/projected/sums.json")).unwrap();
    // Reading this shard is an error.
    let shard = "first/corpus/shards/shard-00000.parquet";
    ground.write(shard, "");
    let counting_all = Workdir::copy_of(&ground);
    std::fs::remove_file(counting_all.path("first/corpus/projected/sums.json")).unwrap();
    let damaged = counting_all.denied(65, "add first c-more.jsonl -w 1");
    assert!(damaged.contains("shard-00000.parquet"), "{damaged}");
    ground.succeed("add first c-more.jsonl --quiet -w 2");
    sound.succeed("add first c-more.jsonl --quiet -w 1");
    std::fs::copy(sound.path(shard), ground.path(shard)).unwrap();
    assert_eq!(ground.digest("first"), sound.digest("first"));
    let stored = |ground: &Workdir| {
        let folder = ground.path("first/corpus/projected");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut sums: Vec<_> =
            names.filter(|path| path.extension().is_some_and(|it| it == "zst")).collect();
        sums.sort();
        sums.iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    assert!(stored(&ground) == stored(&sound) && stored(&ground).len() > 6);
}

#[test]
fn a_trained_result_keeps_its_model_and_its_sample() {
    let ground = finished();
    let read = |table: &str| ground.table(&format!("old/{table}"));
    let before = ["documents", "document_topics", "topic_terms", "training_log"].map(read);
    ground.succeed("add old b-new.jsonl --quiet -w 2");
    let after = ["documents", "document_topics", "topic_terms", "training_log"].map(read);
    for (before, after) in before.iter().zip(&after) {
        assert!(after.starts_with(before));
    }
    assert_eq!(after[0].len(), 550);
    assert!(after[0][400..].iter().all(|row| row["split"] == "projected"));
    assert_eq!((&before[2], &before[3]), (&after[2], &after[3]));
    let alone = ground.digest("old");
    ground.succeed("project job.toml --quiet -w 3 --overwrite");
    assert_eq!(ground.digest("old"), alone, "projected again as a whole");
    let again = said(&ground.output("run job.toml --quiet -w 2 --overwrite"));
    assert!(again.contains("150 documents") && again.contains("add b-new.jsonl"), "{again}");
    assert_eq!(ground.table("old/documents").len(), 400);
    ground.write("old/corpus/collection.json", "{");
    ground.succeed("run job.toml --quiet -w 2 --overwrite");
}

/// A file of a user's in a result.
#[cfg(debug_assertions)]
const MINE: &str = "first/mine/.of-a-user";

/// Kills a command that changes the result `out` at every `stride`th of its steps and, as the last ones exchange and
/// remove folders, at every `last_stride`th of the last 50: the result is as before or after, and the same command
/// completes the change.
#[cfg(debug_assertions)]
pub fn check_killed(ground: &Workdir, out: &str, line: &str, [stride, last_stride]: [usize; 2]) {
    let run = |ground: &Workdir, fault: &str| {
        let mut command = ground.command(line);
        if !fault.is_empty() {
            command.env("TOPICMILL_FAULT", fault);
        }
        command.output().unwrap()
    };
    let whole = Workdir::copy_of(ground);
    let trace = whole.path("trace");
    let ended = run(&whole, &format!("count:{}", trace.display()));
    assert!(ended.status.success(), "{}", said(&ended));
    let steps = std::fs::read_to_string(&trace).unwrap().lines().count();
    let [before, after] = [ground.digest(out), whole.digest(out)];
    assert!(steps > 100 && before != after);
    let last = (steps - 50..=steps).step_by(last_stride);
    for step in (1..steps - 50).step_by(stride).chain(last) {
        let killed = Workdir::copy_of(ground);
        assert!(!run(&killed, &format!("crash:{step}")).status.success(), "step {step}");
        assert!(killed.path(out).exists(), "step {step}: the result is gone");
        let found = killed.digest(out);
        assert!(found == before || found == after, "step {step}");
        let again = run(&killed, "");
        assert!(again.status.success(), "step {step}: {}", said(&again));
        assert_eq!(killed.digest(out), after, "step {step}");
        let mine = [ground, &killed].map(|ground| std::fs::read(ground.path(MINE)).ok());
        assert_eq!(mine[0], mine[1], "step {step}: a file of the user's");
        assert!(left(&killed).is_empty(), "step {step}: {:?}", left(&killed));
    }
}

#[cfg(debug_assertions)]
#[test]
fn an_addition_that_is_killed_adds_all_documents_or_none() {
    let ground = finished();
    std::fs::create_dir(ground.path("first/mine")).unwrap();
    ground.write(MINE, "kept");
    check_killed(&ground, "first", "add first c-more.jsonl --quiet -w 1", [19, 1]);
}

#[cfg(debug_assertions)]
#[test]
fn what_a_killed_addition_has_left_is_forgotten_by_one_of_other_documents() {
    let ground = finished();
    let mut command = ground.command("add first c-more.jsonl --quiet -w 1");
    command.env("TOPICMILL_FAULT", "crash:60");
    assert!(!command.output().unwrap().status.success());
    assert!(!left(&ground).is_empty());
    ground.succeed("add first b-new.jsonl --quiet -w 2");
    assert!(left(&ground).is_empty());
    assert_eq!(ground.table("first/documents").len(), 550);
}

#[cfg(unix)]
#[test]
fn a_result_that_is_named_by_a_link_grows_where_it_is() {
    let ground = finished();
    std::os::unix::fs::symlink("first", ground.path("link")).unwrap();
    ground.write("names.csv", "topic,name,hidden,merged_into\n1,Poles,,\n");
    ground.succeed("report link --names names.csv");
    let old = "{\"id\": \"old\", \"year\": \"c. 1850\", \"text\": \"magnetic northpole\"}\n";
    ground.write("c-more.jsonl", documents(59, 3) + old);
    let told = said(&ground.output("add link c-more.jsonl --quiet -w 1"));
    let expected = "null in 1 new document with another value, such as \"c. 1850\" of \"old\"";
    assert!(told.contains("has whole numbers") && told.contains(expected), "{told}");
    assert!(ground.path("link").is_symlink());
    assert_eq!(ground.table("first/topic_names").len(), 1, "topics keep their names");
    assert_eq!(ground.table("first/documents").len(), 460);
}

#[test]
fn results_that_cannot_grow_say_so() {
    let ground = finished();
    let known = ground.denied(65, "add first a-old.jsonl -w 1");
    assert!(known.contains("same ids as 400") && known.contains("--on-duplicate keep"), "{known}");
    ground.succeed("add first a-old.jsonl --quiet -w 1 --on-duplicate keep");
    assert_eq!(ground.table("first/documents").len(), 800);
    assert!(left(&ground).is_empty());
    std::fs::write(ground.path("first/topics/notes.txt"), "mine").unwrap();
    let foreign = ground.denied(65, "add first b-new.jsonl");
    assert!(foreign.contains("topics/notes.txt"), "{foreign}");
    std::fs::remove_file(ground.path("first/topics/notes.txt")).unwrap();
    let stdin = ground.denied(64, "add first -");
    assert!(stdin.contains("standard input"), "{stdin}");
    std::fs::create_dir(ground.path(".first.next")).unwrap();
    ground.write(".first.next/precious", "mine");
    let other = ground.denied(65, "add first b-new.jsonl");
    assert!(other.contains("\"precious\"") && other.contains("its name is needed"), "{other}");
    assert!(ground.path(".first.next/precious").exists());
    std::fs::remove_dir_all(ground.path(".first.next")).unwrap();
    let missing = ground.denied(64, "add nowhere b-new.jsonl");
    assert!(missing.contains("does not exist"), "{missing}");
    let none = ground.denied(65, "add first nothing.jsonl");
    assert!(none.contains("nothing.jsonl"), "{none}");
    let remote = ground.denied(64, "add s3://bucket/out b-new.jsonl");
    assert!(remote.contains("on this machine"), "{remote}");
    ground.succeed("run job.toml --quiet -w 2 --set output.path=bare --set project.method=none");
    let bare = ground.denied(64, "add bare b-new.jsonl");
    assert!(bare.contains("are not projected") && bare.contains("model.from"), "{bare}");
    std::fs::remove_dir_all(ground.path("bare/corpus")).unwrap();
    let gone = ground.denied(65, "add bare b-new.jsonl");
    assert!(gone.contains("collection.json is missing"), "{gone}");
    std::fs::remove_file(ground.path("old/_SUCCESS")).unwrap();
    let unfinished = ground.denied(65, "add old b-new.jsonl");
    assert!(unfinished.contains("has not ended"), "{unfinished}");
}
