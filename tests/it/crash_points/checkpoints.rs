//! If a checkpoint is damaged, the previous one is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use topicmill::checkpoint;
use topicmill::config::state::checkpoint_file;

use super::ground::{Ground, calm};
use crate::workdir::said;

/// Returns a run that was killed in Gibbs passes, when its last checkpoint was complete.
fn stopped() -> Ground {
    let ground = Ground::new();
    let is_end = |line: &String| line == "create out/_temporary/training_log-00000";
    let end = calm().trace.iter().position(is_end).expect("training ends");
    let ended = ground.run(&format!("crash:{},", end + 1), "first");
    assert!(!ended.status.success());
    for (file, rounds) in [(newest(&ground), 13), (previous(&ground), 10)] {
        let saved = checkpoint::read(&file).expect("a checkpoint");
        assert_eq!(saved.header.rounds, rounds);
    }
    ground
}

fn newest(ground: &Ground) -> PathBuf {
    ground.out().join(checkpoint_file(13))
}

fn previous(ground: &Ground) -> PathBuf {
    ground.out().join(checkpoint_file(10))
}

fn assignments(ground: &Ground) -> PathBuf {
    ground.path("out/checkpoints/assignments-00000013-0000.bin")
}

fn flip_a_byte(path: &Path) {
    let mut bytes = fs::read(path).expect("it stands");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).expect("written");
}

fn cut_short(path: &Path) {
    let bytes = fs::read(path).expect("it stands");
    fs::write(path, &bytes[..bytes.len() / 3]).expect("written");
}

fn remove(path: &Path) {
    fs::remove_file(path).expect("it stands");
}

fn resume(ground: &Ground, placement: &[&str]) -> Output {
    let mut command = ground.command(placement);
    command.output().expect("it starts")
}

/// Damages a file, resumes, and expects the same bytes and a warning that contains `named`.
fn survives(file: fn(&Ground) -> PathBuf, harm: fn(&Path), named: &str, placement: &[&str]) {
    let ground = stopped();
    harm(&file(&ground));
    let ended = resume(&ground, placement);
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let warns = |line: &str| line.starts_with("warning: ") && line.contains(named);
    assert!(text.lines().any(warns), "{named}: {text}");
    assert_eq!(ground.digest(), calm().digest);
}

const ONE: &[&str] = &["-w", "1"];
const TWO_THREADS: &[&str] = &["-w", "2"];
const TWO_PROCESSES: &[&str] = &["--processes", "2", "-w", "1"];

#[test]
fn a_flipped_byte_in_the_newest_checkpoint() {
    survives(newest, flip_a_byte, "train-00000013.model: ", ONE);
    survives(newest, flip_a_byte, "train-00000013.model: ", TWO_THREADS);
    survives(newest, flip_a_byte, "train-00000013.model: ", TWO_PROCESSES);
}

#[test]
fn a_newest_checkpoint_that_was_cut_short() {
    survives(newest, cut_short, "train-00000013.model: ", TWO_THREADS);
}

#[test]
fn damaged_or_missing_assignments() {
    let name = "assignments-00000013-0000.bin: ";
    survives(assignments, flip_a_byte, name, ONE);
    survives(assignments, cut_short, name, TWO_PROCESSES);
    survives(assignments, remove, "assignments of round 13 are missing", ONE);
}

#[test]
fn a_damaged_checkpoint_is_passed_over_by_a_run_that_is_killed_again() {
    let ground = stopped();
    flip_a_byte(&assignments(&ground));
    // The run that skips it dies at each of its first operations in turn.
    for number in 5..25 {
        let ended = ground.run(&format!("crash:{number},"), "again");
        assert_eq!(ended.status.code(), None, "{}", said(&ended));
    }
    ground.finish("last");
    assert_eq!(ground.digest(), calm().digest);
}

#[test]
fn without_a_sound_checkpoint_the_run_says_so_and_what_to_do() {
    let ground = stopped();
    flip_a_byte(&newest(&ground));
    cut_short(&previous(&ground));
    for placement in [ONE, TWO_PROCESSES] {
        let ended = resume(&ground, placement);
        let text = said(&ended);
        assert_eq!(ended.status.code(), Some(65), "{text}");
        for part in
            ["train-00000013.model: ", "train-00000010.model: ", "remove ", "from the beginning"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    fs::remove_dir_all(ground.path("out/checkpoints")).expect("as it was told");
    ground.finish("last");
    assert_eq!(ground.digest(), calm().digest);
}
