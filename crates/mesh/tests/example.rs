//! The example runs as its documentation says.

use std::process::Command;

#[test]
fn two_processes_count_every_word() {
    // Cargo builds the examples beside the folder of the tests.
    let test = std::env::current_exe().unwrap();
    let example = test.parent().unwrap().with_file_name("examples").join("word_count");
    let output = Command::new(&example).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    for count in ["the\": 3", "and\": 2", "cat\": 1", "dog\": 1", "bird\": 1"] {
        assert_eq!(said.matches(count).count(), 1, "{count} in {said}");
    }
}
