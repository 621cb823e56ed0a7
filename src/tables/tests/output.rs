//! The commit protocol: complete or absent, one run at a time, nothing foreign touched.

use super::*;
use crate::failure::Exit;
use crate::tables::output::{LOCK, MANIFEST, SUCCESS, TEMPORARY};

#[test]
fn an_unfinished_part_has_no_final_name() {
    let folder = tempfile::tempdir().unwrap();
    let output = Output::lead(folder.path()).unwrap();
    let temporary = output.temporary_path("topics");
    let writer = TableWriter::create(&temporary, &TopicRow::SPEC, &metadata()).unwrap();
    drop(writer);
    assert!(temporary.exists());
    assert!(!output.is_published("topics").unwrap());

    let writer = TableWriter::create(&temporary, &TopicRow::SPEC, &metadata()).unwrap();
    let info = writer.finish().unwrap();
    assert!(!output.is_published("topics").unwrap());
    output.publish(&temporary, "topics/part-00000.parquet").unwrap();
    assert!(output.is_published("topics/part-00000.parquet").unwrap());
    assert!(!temporary.exists());
    let part = output.path("topics/part-00000.parquet");
    assert_eq!(crate::tables::parts::scan(&part).unwrap(), info);
    assert_eq!(info.rows, 0);
}

#[test]
fn what_was_left_unfinished_goes_when_the_next_run_begins() {
    let folder = tempfile::tempdir().unwrap();
    let output = Output::lead(folder.path()).unwrap();
    fs::write(output.temporary_path("half"), "x").unwrap();
    drop(output);
    let output = Output::lead(folder.path()).unwrap();
    assert!(!output.temporary_path("half").exists());
}

#[test]
fn a_second_run_is_refused_until_the_first_ends() {
    let folder = tempfile::tempdir().unwrap();
    let first = Output::lead(folder.path()).unwrap();
    assert!(first.lock.is_some());
    fs::write(first.temporary_path("half"), "x").unwrap();
    let error = Output::lead(folder.path()).err().unwrap();
    assert_eq!(error.exit, Exit::Temporary);
    let holder = crate::tables::output::holder(folder.path()).unwrap();
    let mine = format!("process {} on ", std::process::id());
    assert!(holder.is_some_and(|holder| holder.starts_with(&mine)));
    let process = format!("process {}", std::process::id());
    assert!(error.to_string().contains(&process), "{error}");
    assert!(first.temporary_path("half").exists());
    let follower = Output::follow(folder.path()).unwrap();
    follower.join().unwrap();
    assert!(follower.lock.is_none());
    drop(first);
    assert_eq!(crate::tables::output::holder(folder.path()).unwrap(), None);
    Output::lead(folder.path()).unwrap();
}

#[test]
fn success_comes_last_and_goes_first() {
    let folder = tempfile::tempdir().unwrap();
    let output = write_output(folder.path());
    assert!(output.is_complete().unwrap());
    assert!(!output.is_published(TEMPORARY).unwrap());
    output.clear("topics").unwrap();
    assert!(!output.is_complete().unwrap());
    assert!(!output.is_published(MANIFEST).unwrap());
    assert!(!output.is_published("topics").unwrap());
    assert!(output.is_published("documents").unwrap());
    output.write_atomic("job.toml", b"x").unwrap();
    assert_eq!(fs::read(output.path("job.toml")).unwrap(), b"x");
}

#[test]
fn overwriting_removes_what_is_ours() {
    let folder = tempfile::tempdir().unwrap();
    let output = write_output(folder.path());
    fs::write(folder.path().join(".gitignore"), "*").unwrap();
    output.clear_all().unwrap();
    let mut left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".gitignore", LOCK, TEMPORARY]);
}

#[test]
fn nothing_foreign_is_written_beside_or_removed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("thesis");
    fs::create_dir(&root).unwrap();
    // Having our names does not make a folder ours.
    for foreign in ["chapter.tex", "model"] {
        let path = root.join(foreign);
        fs::write(&path, "precious").unwrap();
        let error = Output::lead(&root).err().unwrap();
        assert!(error.to_string().contains("has not written"), "{error}");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
        fs::remove_file(path).unwrap();
    }

    let output = write_output(&root);
    for name in ["", ".", "..", "../thesis", "model/../../x", "/tmp", "data", LOCK] {
        let error = output.clear(name).unwrap_err();
        assert!(error.to_string().contains("has not written"), "{name}");
    }
    assert!(output.is_complete().unwrap());
    let notes = output.path("topics/notes.parquet");
    fs::write(&notes, "precious").unwrap();
    let error = output.clear_all().unwrap_err();
    assert!(error.to_string().contains("has not written"), "{error}");
    assert!(notes.exists() && output.is_published("topics/part-00000.parquet").unwrap());
}

#[test]
fn a_copied_result_without_its_lock_is_still_ours() {
    let folder = tempfile::tempdir().unwrap();
    drop(write_output(folder.path()));
    fs::remove_file(folder.path().join(LOCK)).unwrap();
    let output = Output::lead(folder.path()).unwrap();
    assert!(output.is_published(SUCCESS).unwrap());
}

#[test]
fn parts_are_in_order_of_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = [100_000, 9, 10_000, 99_999, 0];
    for number in numbers {
        let name = part_name(number);
        assert!(crate::tables::output::is_part_name(&name));
        fs::write(folder.path().join(name), "").unwrap();
    }
    let sorted: Vec<_> =
        [0, 9, 10_000, 99_999, 100_000].map(|number| folder.path().join(part_name(number))).into();
    assert_eq!(part_files(folder.path()).unwrap(), sorted);
    assert!(!crate::tables::output::is_part_name("part-1.parquet"));
}
