//! Rules that the compiler does not check: which layer may use which, and which files may name
//! timely, arrow, the screen or the platform's mathematics (ARCHITECTURE.md, "Invariants").
//!
//! The tests read `src` and each crate's `src` line by line, up to the first `//`. The compiler
//! already ensures that a crate uses nothing above it.

mod circles;

use std::cell::Cell;
use std::fs;
use std::path::Path;

/// Folders of sources with their modules, each of which uses only those before it.
const LAYERS: [(&str, &[&str]); 7] = [
    ("crates/liveness/src", &[]),
    ("crates/store/src", &["faulty", "lock", "source", "disk", "s3"]),
    (
        "crates/lda/src",
        &[
            "listed",
            "math",
            "regression",
            "bags",
            "model",
            "estimate",
            "infer",
            "evaluate",
            "train",
            "constraints",
        ],
    ),
    ("crates/published/src", &["reference", "sparse_lda", "tree"]),
    (
        "crates/corpus/src",
        &[
            "error",
            "cells",
            "dates",
            "value_type",
            "encoding",
            "settings",
            "markup",
            "memo",
            "synth_settings",
            "compression",
            "word_file",
            "document",
            "language",
            "tokenizer",
            "formats",
            "input",
            "boilerplate",
            "sections",
            "passages",
            "block",
            "terms",
            "minhash",
            "labels",
            "names",
            "stop_words",
            "vocabulary",
            "vocabulary_file",
            "phrases",
            "columns",
            "draft",
            "bagger",
            "shard",
            "collection",
            "sample",
            "minibatches",
            "synth",
        ],
    ),
    (
        "crates/mesh/src",
        &[
            "names",
            "hosts",
            "environment",
            "secret",
            "tls",
            "proof",
            "frame",
            "hello",
            "guard",
            "channel",
            "link",
            "stall",
            "interrupt",
            "handshake",
            "setup",
            "connect",
            "family",
            "spawn",
            "launch",
        ],
    ),
    (
        "src",
        &[
            "failure",
            "wire",
            "assignments",
            "knowledge",
            "evaluate",
            "checkpoint",
            "tables",
            "observe",
            "config",
            "result",
            "grow",
            "plan",
            "export",
            "report",
            "sweep",
            "dataflow",
            "serve",
            "cli",
        ],
    ),
];

/// Names, each with the only files and folders that may use it.
const RESERVED: [(&str, &[&str]); 20] = [
    ("timely::", &["src/dataflow/", "crates/mesh/src/"]),
    ("differential_dataflow::", &["src/dataflow/", "crates/mesh/src/"]),
    ("arrow_array::", READ_PARQUET),
    ("arrow_buffer::", READ_PARQUET),
    ("arrow_schema::", READ_PARQUET),
    ("arrow_ipc::", &["crates/corpus/src/formats/columnar/", "crates/corpus/src/formats/tests/"]),
    ("parquet::", READ_PARQUET),
    ("print!", SCREEN),
    ("println!", SCREEN),
    ("eprint!", SCREEN),
    ("eprintln!", SCREEN),
    ("stdout()", SCREEN),
    ("stderr()", SCREEN),
    (
        "std::process::exit",
        &["src/cli/", "crates/mesh/src/guard.rs", "crates/mesh/src/interrupt.rs"],
    ),
    ("anyhow::", &["src/failure.rs"]),
    ("unsafe_code", &["src/dataflow/abomonated.rs"]),
    ("std::fs", OUTSIDE_LDA),
    ("std::io", OUTSIDE_LDA),
    ("std::net", OUTSIDE_LDA),
    ("std::thread", OUTSIDE_LDA),
];

/// The crates that other programs can use for their own purposes.
const OF_ANY_PROGRAM: [&str; 3] = ["crates/liveness/", "crates/mesh/", "crates/store/"];
/// Words of this program, its flags and its keys.
const WORDS_OF_THE_PROGRAM: &str = "topicmill tpcmill --hosts --process --threads --port --tls-ca --compress \
     --stall-timeout --peer-timeout --set corpus. train. model. cluster. topics";

/// The mathematics uses neither files, network nor threads, except for the threads of its classifier.
const OUTSIDE_LDA: &[&str] = &[
    "src/",
    "crates/corpus/",
    "crates/lda/src/regression/",
    "crates/liveness/",
    "crates/mesh/",
    "crates/store/",
];

const SCREEN: &[&str] = &["src/cli/", "src/main.rs", "src/observe/screen.rs"];

const READ_PARQUET: &[&str] = &[
    "crates/corpus/src/cells.rs",
    "crates/corpus/src/input.rs",
    "crates/corpus/src/formats/columnar/",
    "crates/corpus/src/formats/tests/",
    "crates/corpus/src/shard/",
    "src/tables/",
];

/// Functions whose last digit depends on the platform; `math::special` has the ones that are needed.
const PLATFORM_MATHEMATICS: &str = "acos acosh asin asinh atan atan2 atanh cbrt cos cosh exp exp2 \
     exp_m1 hypot ln ln_1p log log10 log2 powf sin sin_cos sinh tan tanh";

/// The code that changes files: a result's files go through `store`; logs and the statuses of
/// processes do not, because they must not fail with it.
const CHANGING_FILES: [&str; 3] =
    ["crates/store/src/", "src/observe/log.rs", "src/observe/status.rs"];
/// Calls that change files.
const CHANGES_FILES: &str = "fs::write File::create fs::rename fs::copy fs::remove_ remove_dir create_dir \
     OpenOptions File::options .set_len( fs::hard_link fs::set_permissions";

/// Passes every line of code to `rule`: the file's path below the package, the line's number, the line.
fn check(rule: impl Fn(&str, usize, &str) -> Option<String>) {
    let (mut violations, mut files) = (Vec::new(), 0);
    for path in sources() {
        files += 1;
        let text = fs::read_to_string(package().join(&path)).expect("sources are UTF-8");
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            let found = rule(&path, number, code);
            violations.extend(found.map(|what| format!("{path}:{number}: {what}")));
        }
    }
    assert!(files > 50, "these {files} files are not all");
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every source file of the program and its crates, by its path below the package.
fn sources() -> Vec<String> {
    let mut sources = Vec::new();
    let listed = LAYERS.map(|(folder, _)| folder).into_iter();
    for entry in listed.flat_map(|folder| walkdir::WalkDir::new(package().join(folder))) {
        let path = entry.expect("sources can be read").into_path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let inside = path.strip_prefix(package()).expect("it was found below");
            sources.push(inside.to_string_lossy().replace('\\', "/"));
        }
    }
    sources.sort_unstable();
    sources
}

/// Whether `name` occurs in `line` and is not the end of another name.
fn names(line: &str, name: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '.';
    let mut places = line.match_indices(name);
    places.any(|(at, _)| !line[..at].ends_with(continues))
}

#[test]
fn a_layer_uses_only_those_before_it() {
    check(|path, _, line| {
        let within = |(folder, _): &&(&str, _)| path.starts_with(*folder);
        let (folder, layers) = LAYERS.iter().find(within).expect("it was found there");
        let layer = path[folder.len() + 1..].split(['/', '.']).next()?;
        // Tests of a layer may go through those above it.
        let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
        if is_test || ["lib", "main"].contains(&layer) {
            return None;
        }
        let Some(place) = layers.iter().position(|name| *name == layer) else {
            return Some(format!("{layer} has no place among the layers"));
        };
        let several = line.split_once("crate::{").map(|(_, names)| names);
        if several.is_some_and(|several| layers.iter().any(|layer| names(several, layer))) {
            return Some("name the layer: `use crate::layer::…`, one a line".to_owned());
        }
        // Helpers that tests share may be in any layer.
        let used = |above: &&&str| {
            line.contains(&format!("crate::{above}::")) && !line.contains("::tests::")
        };
        let above = layers[place + 1..].iter().find(used)?;
        Some(format!("{layer} stands before {above}"))
    });
}

#[test]
fn every_crate_has_its_layers_listed() {
    for entry in fs::read_dir(package().join("crates")).expect("the crates are here") {
        let name = entry.expect("it can be read").file_name();
        let folder = format!("crates/{}/src", name.to_string_lossy());
        assert!(LAYERS.iter().any(|(listed, _)| *listed == folder), "{folder}");
    }
}

#[test]
fn engines_formats_and_the_screen_are_named_where_they_belong() {
    check(|path, _, line| {
        let beside = |place: &str| path.strip_suffix(".rs") == place.strip_suffix('/');
        let allowed = |places: &[&str]| {
            let mut places = places.iter();
            places.any(|place| path.starts_with(place) || beside(place))
        };
        let mut reserved = RESERVED.iter().filter(|(_, places)| !allowed(places));
        let (name, places) = reserved.find(|(name, _)| names(line, name))?;
        Some(format!("{name} may stand in {places:?} only"))
    });
}

#[test]
fn crates_of_any_program_have_no_word_of_this_one() {
    check(|path, _, line| {
        if !OF_ANY_PROGRAM.iter().any(|folder| path.starts_with(folder)) {
            return None;
        }
        let line = line.to_lowercase();
        let word = WORDS_OF_THE_PROGRAM.split_whitespace().find(|word| line.contains(word))?;
        Some(format!("{word}: take it from the program's `Names`"))
    });
}

#[test]
fn files_are_changed_in_the_store_only() {
    // Tests are at the end of a file, or in files of their own.
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
        Some(format!("{name}: see the crate store"))
    });
}

#[test]
fn a_module_is_a_file_beside_the_folder_of_its_parts() {
    check(|path, number, _| (number == 1 && path.ends_with("/mod.rs")).then(String::new));
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
        Some(format!("{name} differs between platforms: see math::special"))
    });
}
