//! The house rules that a compiler does not know: which layer may use which, and who may name
//! timely, arrow, the screen or the platform's mathematics (ARCHITECTURE.md, "Invariants").
//!
//! Read off the text of `src`, line by line, up to the first `//`.

use std::cell::Cell;
use std::fs;
use std::path::Path;

/// Each layer uses only those before it.
const LAYERS: [&str; 17] = [
    "liveness",
    "math",
    "regression",
    "storage",
    "corpus",
    "model",
    "estimate",
    "infer",
    "evaluate",
    "train",
    "checkpoint",
    "tables",
    "job",
    "cluster",
    "dataflow",
    "stream",
    "cli",
];

/// What only the files and folders below it may name.
const RESERVED: [(&str, &[&str]); 16] = [
    ("timely::", &["dataflow/", "cluster/"]),
    ("differential_dataflow::", &["dataflow/", "cluster/"]),
    ("arrow_array::", READ_PARQUET),
    ("arrow_buffer::", READ_PARQUET),
    ("arrow_cast::", READ_PARQUET),
    ("arrow_schema::", READ_PARQUET),
    ("parquet::", READ_PARQUET),
    ("print!", &["cli/", "main.rs"]),
    ("println!", &["cli/", "main.rs"]),
    ("eprint!", &["cli/", "main.rs"]),
    ("eprintln!", &["cli/", "main.rs"]),
    ("stdout()", &["cli/", "main.rs"]),
    ("stderr()", &["cli/", "main.rs"]),
    ("process::exit", &["cli/", "main.rs", "cluster/guard.rs"]),
    ("anyhow::", &["cli/"]),
    ("unsafe_code", &["dataflow/abomonated.rs"]),
];

const READ_PARQUET: &[&str] = &[
    "corpus/input.rs",
    "corpus/reader/parquet.rs",
    "corpus/reader/tests/",
    "corpus/shard/",
    "tables/",
];

/// Functions whose last digit is the platform's; `math::special` has those that are needed.
const PLATFORM_MATHEMATICS: &str = "acos acosh asin asinh atan atan2 atanh cbrt cos cosh exp exp2 \
     exp_m1 hypot ln ln_1p log log10 log2 powf sin sin_cos sinh tan tanh";

/// Who changes files: what a run leaves goes through `storage`; logs and the state of a process are
/// no part of that, and must not fail with it.
const CHANGING_FILES: [&str; 3] = ["storage/", "cli/watching/", "job/process_status.rs"];
/// What changes files.
const CHANGES_FILES: &str = "fs::write File::create fs::rename fs::copy fs::remove_ remove_dir create_dir \
     OpenOptions File::options .set_len( fs::hard_link fs::set_permissions";

/// Longest file, in lines.
const MOST_LINES: usize = 400;

/// Hands every line of code to `rule`: the file's path below `src`, the line's number, the line.
fn check(rule: impl Fn(&str, usize, &str) -> Option<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut violations, mut files) = (Vec::new(), 0);
    for entry in walkdir::WalkDir::new(&root).sort_by_file_name() {
        let path = entry.expect("src can be read").into_path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        files += 1;
        let text = fs::read_to_string(&path).expect("sources are UTF-8");
        let inside = path.strip_prefix(&root).expect("it was found below");
        let inside = inside.to_string_lossy().replace('\\', "/");
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            let found = rule(&inside, number, code);
            violations.extend(found.map(|what| format!("src/{inside}:{number}: {what}")));
        }
    }
    assert!(files > 50, "these {files} files are not all");
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

/// Whether `name` stands in `line` and is not the end of another name.
fn names(line: &str, name: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '.';
    let mut places = line.match_indices(name);
    places.any(|(at, _)| !line[..at].ends_with(continues))
}

#[test]
fn a_layer_uses_only_those_before_it() {
    check(|path, _, line| {
        let layer = path.split(['/', '.']).next()?;
        if ["lib", "main"].contains(&layer) {
            return None;
        }
        let Some(place) = LAYERS.iter().position(|name| *name == layer) else {
            return Some(format!("{layer} has no place among the layers"));
        };
        if line.contains("crate::{") {
            return Some("name the layer: `use crate::layer::…`, one a line".to_owned());
        }
        let used = |above: &&&str| line.contains(&format!("crate::{above}::"));
        let above = LAYERS[place + 1..].iter().find(used)?;
        Some(format!("{layer} stands before {above}"))
    });
}

#[test]
fn engines_formats_and_the_screen_are_named_where_they_belong() {
    check(|path, _, line| {
        let allowed = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
        let mut reserved = RESERVED.iter().filter(|(_, places)| !allowed(places));
        let (name, places) = reserved.find(|(name, _)| names(line, name))?;
        Some(format!("{name} may stand in {places:?} only"))
    });
}

#[test]
fn files_are_changed_in_storage_only() {
    // Tests stand at the end of a file, or in files of their own.
    let in_tests = Cell::new(false);
    check(|path, number, line| {
        let begins = line.starts_with("#[cfg(test)]");
        in_tests.set(begins || (number > 1 && in_tests.get()));
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        if is_test || in_tests.get() || CHANGING_FILES.iter().any(|p| path.starts_with(p)) {
            return None;
        }
        let name = CHANGES_FILES.split_whitespace().find(|name| {
            let mut places = line.match_indices(*name);
            places.any(|(at, _)| !line[..at].ends_with(char::is_alphanumeric))
        })?;
        Some(format!("{name}: see storage"))
    });
}

#[test]
fn nobody_asks_the_platform_for_mathematics() {
    check(|_, _, line| {
        let called = |name: &&str| {
            let method = line.contains(&format!(".{name}("));
            let path = |float: &str| line.contains(&format!("{float}::{name}"));
            method || path("f64") || path("f32")
        };
        let name = PLATFORM_MATHEMATICS.split_whitespace().find(called)?;
        Some(format!(
            "{name} differs between platforms: see math::special"
        ))
    });
}

#[test]
fn no_file_is_too_long_to_read() {
    check(|_, number, _| (number == MOST_LINES + 1).then(|| format!("over {MOST_LINES} lines")));
}
