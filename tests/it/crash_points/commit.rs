//! The commit protocol of docs/OPERATIONS.md: the properties that the crash points do not show.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use topicmill::tables::Output as OutputFolder;

use super::ground::{EXIT_IO, EXIT_USAGE, Ground, calm};
use crate::workdir::said;

const PLACEMENTS: [&[&str]; 2] = [&["-w", "1"], &["--processes", "2", "-w", "1"]];

fn run(ground: &Ground, placement: &[&str], more: &[&str]) -> Output {
    let mut command = ground.command(placement);
    command.args(more).output().expect("it starts")
}

/// Lists every path below the output except the logs, with its modification time.
fn listing(ground: &Ground) -> Vec<(PathBuf, Option<std::time::SystemTime>)> {
    let entries = walkdir::WalkDir::new(ground.out()).sort_by_file_name();
    let is_told = |entry: &walkdir::DirEntry| entry.file_name() != "logs";
    let entries = entries.into_iter().filter_entry(is_told);
    let entries = entries.map(|entry| entry.expect("readable"));
    let file = |entry: walkdir::DirEntry| {
        let metadata = entry.metadata().expect("readable");
        let is_lock = entry.file_name() == "_lock";
        let changed = metadata.modified().expect("known");
        let is_told = metadata.is_file() && !is_lock;
        (entry.into_path(), is_told.then_some(changed))
    };
    entries.map(file).collect()
}

#[test]
fn a_finished_run_says_so_and_changes_nothing() {
    let ground = Ground::new();
    ground.finish("trace");
    let before = listing(&ground);
    for placement in PLACEMENTS {
        let ended = run(&ground, placement, &[]);
        assert!(ended.status.success(), "{}", said(&ended));
        let shown = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(shown.contains("complete"), "{shown}");
        assert_eq!(listing(&ground), before);
    }
}

#[test]
fn another_job_does_not_write_over_this_one() {
    for fault in ["", "crash:100,"] {
        let ground = Ground::new();
        ground.run(fault, "trace");
        let before = listing(&ground);
        for set in ["tokens.min_length=4", "model.seed=2", "project.top=1"] {
            if !fault.is_empty() && set.starts_with("project") {
                continue; // Nothing is projected yet, so nothing differs.
            }
            for placement in PLACEMENTS {
                let ended = run(&ground, placement, &["--set", set]);
                let text = said(&ended);
                assert_eq!(ended.status.code(), Some(64), "{set}: {text}");
                assert!(text.contains("--overwrite"), "{text}");
            }
        }
        let files = |listing: Vec<(PathBuf, _)>| -> Vec<(PathBuf, _)> {
            let temporary = ground.path("out/_temporary");
            let lasting = |path: &Path| !path.starts_with(&temporary);
            listing.into_iter().filter(|(path, _)| lasting(path)).collect()
        };
        assert_eq!(files(listing(&ground)), files(before), "{fault}");
    }
}

#[test]
fn of_two_runs_one_is_refused() {
    let ground = Ground::new();
    let holder = OutputFolder::lead(&ground.out()).expect("free");
    for placement in PLACEMENTS {
        let ended = run(&ground, placement, &[]);
        let text = said(&ended);
        assert_eq!(ended.status.code(), Some(75), "{text}");
        let process = format!("process {}", std::process::id());
        assert!(text.contains(&process), "{text}");
    }
    drop(holder);
    ground.finish("trace");
    assert_eq!(ground.digest(), calm().digest);
}

#[test]
fn where_nothing_can_be_written_the_path_is_named() {
    let ground = Ground::new();
    fs::create_dir(ground.path("sealed")).expect("a folder");
    let sealed = ["-r", "-x"].map(|flag| (flag, ground.path("sealed")));
    let mut places = vec![("output.path=job.toml/out", EXIT_USAGE)];
    let is_read_only = mount(&["--bind"], &sealed[0].1, &sealed[0].1)
        .map(|mounted| (mount(&["-o", "remount,bind,ro"], &sealed[1].1, &sealed[1].1), mounted));
    match &is_read_only {
        Some(_) => places.push(("output.path=sealed/out", EXIT_IO)),
        None => eprintln!("skipped: a read-only folder, for nothing can be mounted here"),
    }
    for (place, code) in places {
        for placement in PLACEMENTS {
            let ended = run(&ground, placement, &["--set", place]);
            let text = said(&ended);
            assert_eq!(ended.status.code(), Some(code), "{place}: {text}");
            let folder = place.trim_start_matches("output.path=");
            let folder = folder.trim_end_matches("/out");
            assert!(text.contains(folder), "{place}: {text}");
        }
    }
}

#[test]
fn a_finished_result_that_can_only_be_read_is_complete() {
    let ground = Ground::new();
    ground.finish("trace");
    let out = ground.out();
    let mounted = mount(&["--bind"], &out, &out);
    let sealed = mounted.and_then(|mounted| {
        let sealed = mount(&["-o", "remount,bind,ro"], &out, &out)?;
        Some((sealed, mounted))
    });
    if sealed.is_none() {
        eprintln!("skipped: a read-only result, for nothing can be mounted here");
        return;
    }
    for placement in PLACEMENTS {
        let ended = run(&ground, placement, &[]);
        assert!(ended.status.success(), "{}", said(&ended));
    }
}

#[test]
fn a_full_disk_ends_the_run_and_room_ends_it_well() {
    for (kib, placement) in [40, 72, 104].into_iter().flat_map(|kib| PLACEMENTS.map(|p| (kib, p))) {
        let ground = Ground::new();
        fs::create_dir(ground.out()).expect("a folder");
        let size = format!("size={kib}k");
        let Some(mounted) = mount(&["-t", "tmpfs", "-o", &size], Path::new("none"), &ground.out())
        else {
            eprintln!("skipped: a small disk, for nothing can be mounted here");
            return;
        };
        let ended = run(&ground, placement, &[]);
        let text = said(&ended);
        assert_eq!(ended.status.code(), Some(EXIT_IO), "{kib} KiB: {text}");
        assert!(text.contains("No space left"), "{text}");
        ground.check_final_names();
        let room = mount(&["-o", "remount,size=64m"], Path::new("none"), &ground.out());
        assert!(room.is_some());
        ground.finish("trace");
        assert_eq!(ground.digest(), calm().digest, "{kib} KiB");
        drop(room);
        drop(mounted);
    }
}

/// A mounted folder, unmounted when it is dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).output();
        drop(unmounted);
    }
}

/// Mounts `what`, if the user is permitted.
fn mount(options: &[&str], what: &Path, place: &Path) -> Option<Mounted> {
    let mut command = Command::new("mount");
    let mounted = command.args(options).arg(what).arg(place).output();
    let is_mounted = mounted.is_ok_and(|output| output.status.success());
    is_mounted.then(|| Mounted(place.to_owned()))
}
