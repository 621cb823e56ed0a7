//! A run may end at any change that it makes to a file, and the next one ends with the same bytes.
//!
//! Debug builds number these changes (`crates/store/src/faulty.rs`). The process dies before each of them;
//! in the middle of a write of every file; and of each kind of change, one finds the disk full from then on, or is
//! refused once.

mod checkpoints;
mod commit;
mod ground;
mod protocol;

use std::collections::BTreeMap;

use ground::{EXIT_IO, Ground, calm, for_each};
use lda::math::random::{Stage, hash};

use crate::workdir::said;

/// A run is killed before one in this many operations, and before the last of each kind.
const EVERY: usize = 5;
/// How many runs are killed twice.
const PAIRS: usize = 24;
/// How many operations two runs may differ by: the digits of measured seconds determine how many
/// writes a checkpoint takes.
const SLACK: usize = 8;

/// Runs with a fault that kills, and checks the files that are left; returns whether the fault occurred.
fn die(ground: &Ground, fault: &str, trace: &str) -> bool {
    let ended = ground.run(&format!("{fault},"), trace);
    ground.check_final_names();
    if !ended.status.success() {
        assert_eq!(ended.status.code(), None, "{fault}: {}", said(&ended));
    }
    !ended.status.success()
}

/// Resumes the run and finishes it; `before` are the traces of the runs that were stopped.
fn take_up(ground: &Ground, fault: &str, before: &[&str]) {
    ground.finish("last");
    let mut trace: Vec<String> = before.iter().flat_map(|name| ground.trace(name)).collect();
    trace.extend(ground.trace("last"));
    assert_eq!(ground.digest(), calm().digest, "{fault}");
    protocol::check(&trace);
    assert!(!ground.path("out/_temporary").exists(), "{fault}");
    assert!(!ground.path("out/checkpoints").exists(), "{fault}");
}

/// Returns the numbers of some operations of an undisturbed run: the last of those that differ only in digits, such as
/// the round of a checkpoint or the length of a write.
fn last_of_each_kind(which: impl Fn(&str) -> bool) -> Vec<usize> {
    let operations = (1..).zip(&calm().trace).filter(|(_, line)| which(line));
    let kind = |line: &str| line.replace(|c: char| c.is_ascii_digit(), "");
    let last: BTreeMap<String, usize> =
        operations.map(|(number, line)| (kind(line), number)).collect();
    last.into_values().collect()
}

/// The last operation of each kind, and one in `EVERY` of the others.
#[test]
fn killed_before_operations_of_every_kind() {
    let count = calm().trace.len();
    let mut numbers = last_of_each_kind(|_| true);
    numbers.extend((1..=count).step_by(EVERY));
    numbers.sort_unstable();
    numbers.dedup();
    for_each(numbers.len(), |place| {
        let (ground, number) = (Ground::new(), numbers[place - 1]);
        let fault = format!("crash:{number}");
        let struck = die(&ground, &fault, "first");
        assert!(struck || number + SLACK > count, "{fault} of {count}");
        take_up(&ground, &fault, &["first"]);
    });
}

#[test]
fn killed_in_the_middle_of_a_write_of_every_file() {
    let writes = last_of_each_kind(|line| line.starts_with("write "));
    assert!(writes.len() > 20, "{}", writes.len());
    for_each(writes.len(), |place| {
        let ground = Ground::new();
        let fault = format!("torn:{}", writes[place - 1]);
        die(&ground, &fault, "first");
        take_up(&ground, &fault, &["first"]);
    });
}

#[test]
fn killed_again_when_taken_up() {
    let count = calm().trace.len() as u64;
    for_each(PAIRS, |pair| {
        let ground = Ground::new();
        let draw = |which| 1 + hash(1, Stage::Sample, which, pair as u64) % count;
        let (first, second) = (draw(0), 1 + draw(1) / 2);
        die(&ground, &format!("crash:{first}"), "first");
        die(&ground, &format!("crash:{second}"), "second");
        let both = format!("crash:{first}, crash:{second}");
        take_up(&ground, &both, &["first", "second"]);
    });
}

/// Whether a message names the file or folder of the refused operation. Operations that remove or
/// sync a tree name the tree.
fn names_place(message: &str, operation: &str) -> bool {
    let mut words = operation.split(' ');
    let kind = words.next().unwrap_or_default();
    let is_named = words.any(|path| message.contains(path));
    let is_of_a_tree = kind.starts_with("remove") || kind == "sync-folder";
    is_named || (is_of_a_tree && ["out", "planted"].iter().any(|tree| message.contains(tree)))
}

/// Of all operations of a kind, such as the creations of files, every other one is refused, and at those between them
/// the disk is full.
#[test]
fn an_operation_of_every_kind_fails() {
    let count = calm().trace.len();
    let numbers = last_of_each_kind(|_| true);
    assert!(numbers.len() > 100, "{}", numbers.len());
    for_each(numbers.len(), |place| {
        let (ground, number) = (Ground::new(), numbers[place - 1]);
        let faults = [("full", "no storage space"), ("refuse", "permission denied")];
        let (kind, cause) = faults[place % 2];
        let fault = format!("{kind}:{number}");
        let ended = ground.run(&format!("{fault},"), "first");
        ground.check_final_names();
        let trace = ground.trace("first");
        let failed = trace.iter().find_map(|line| line.strip_prefix("failed "));
        match failed {
            Some(operation) => {
                let text = said(&ended);
                let why = format!("{fault}, {operation}: {text}");
                assert_eq!(ended.status.code(), Some(EXIT_IO), "{why}");
                assert!(text.contains(cause), "{why}");
                assert!(names_place(&text, operation), "{why}");
            }
            None => assert!(ended.status.success() && number + SLACK > count, "{fault}"),
        }
        take_up(&ground, &fault, &["first"]);
    });
}

#[test]
fn an_undisturbed_run_keeps_to_the_protocol() {
    let ground = Ground::new();
    take_up(&ground, "undisturbed", &[]);
    let trace = ground.trace("last");
    let count = |kind: &str| trace.iter().filter(|line| line.starts_with(kind)).count();
    // The trace contains ingest, at least seven checkpoints, two shards and the tables.
    assert!(count("rename ") > 30 && count("sync-folder ") > 50, "{trace:#?}");
}

#[test]
fn faults_of_assignments_that_are_kept_on_disk() {
    let set = &["--set", "train.sample_mib=0"];
    let whole = Ground::with(set);
    whole.finish("trace");
    let trace = whole.trace("trace");
    let of_assignments =
        |line: &str| line.contains("out/_temporary/assignments-0 ") && line.starts_with("write ");
    let places: Vec<usize> = (1..)
        .zip(&trace)
        .filter(|(_, line)| of_assignments(line))
        .map(|(number, _)| number)
        .collect();
    assert!(places.len() > 500, "{}", places.len());
    for_each(16, |which| {
        let ground = Ground::with(set);
        let place = hash(2, Stage::Sample, 0, which as u64) as usize % places.len();
        let kind = ["crash", "torn", "full", "refuse"][which % 4];
        let fault = format!("{kind}:{}", places[place]);
        let ended = ground.run(&format!("{fault},"), "first");
        let is_killed = ["crash", "torn"].contains(&kind);
        let expected = (!is_killed).then_some(EXIT_IO);
        assert_eq!(ended.status.code(), expected, "{fault}: {}", said(&ended));
        ground.check_final_names();
        take_up(&ground, &fault, &["first"]);
    });
}
