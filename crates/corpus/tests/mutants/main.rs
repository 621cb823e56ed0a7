//! No file ends a run: damaged files of every binary and nested format are read to their end, or refused with an error
//! that names them, in bounded time and memory.
//!
//! A format is a file of this folder and a line of [`FORMATS`]: valid files, and a mutation that knows their structure,
//! so that a mutant is not refused by its first bytes. The n-th mutant of a format depends on its name and n alone.
//! After an abort or a hang, the mutant is still in `target/tmp/mutants/<format>`. A long run:
//!
//!     MUTANTS=1000000 MUTANTS_OF=parquet cargo test --release -p topicmill-corpus --test mutants -- --nocapture

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test, which reports what it has read"
)]

mod arrow;
mod bombs;
mod bytes;
mod csv;
mod html;
mod json;
mod lines;
mod mail;
mod parquet;
mod random;
mod reading;
mod streams;

use peak_alloc::PeakAlloc;
use random::Random;
use reading::{Outcome, read};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts the memory in use, and the most that was.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// A format of input files.
struct Format {
    name: &'static str,
    /// The name of a file, by which its format is known.
    file: &'static str,
    /// Valid files, small ones.
    seeds: fn() -> Vec<Vec<u8>>,
    /// Changes a valid file where its structure is.
    mutate: fn(&mut Random, &[u8]) -> Vec<u8>,
}

/// All formats, a line each.
const FORMATS: &[Format] = &[
    Format { name: "parquet", file: "x.parquet", seeds: parquet::seeds, mutate: parquet::mutate },
    Format { name: "arrow", file: "x.arrow", seeds: arrow::seeds, mutate: arrow::mutate },
    Format { name: "mail", file: "x.mbox", seeds: mail::seeds, mutate: mail::mutate },
    Format { name: "html", file: "x.html", seeds: html::seeds, mutate: html::mutate },
    Format { name: "jsonl", file: "x.jsonl", seeds: json::lines, mutate: json::mutate },
    Format { name: "json", file: "x.json", seeds: json::objects, mutate: json::mutate },
    Format { name: "csv", file: "x.csv", seeds: csv::tables, mutate: csv::mutate },
    Format { name: "tsv", file: "x.tsv", seeds: csv::tabs, mutate: csv::mutate },
    Format { name: "svmlight", file: "x.svm", seeds: csv::numbers, mutate: csv::mutate },
    Format { name: "vw", file: "x.vw", seeds: csv::words, mutate: csv::mutate },
    Format { name: "wet", file: "x.wet", seeds: csv::pages, mutate: csv::mutate },
    Format { name: "gzip", file: "x.jsonl.gz", seeds: streams::gzip, mutate: streams::mutate },
    Format { name: "zstd", file: "x.jsonl.zst", seeds: streams::zstd, mutate: streams::mutate },
    Format { name: "bzip2", file: "x.jsonl.bz2", seeds: streams::bzip2, mutate: streams::mutate },
];

/// Mutants of each format, unless the variable MUTANTS has another number.
const MUTANTS: u64 = 2_000;

/// The longest that one may take: ten seconds of a machine of its own, and tests share theirs.
const MOST_TIME: Duration = Duration::from_secs(30);

/// The most memory that reading one may take, in bytes.
const MOST_BYTES: usize = 192 << 20;

/// The mutant that is being read, and since when.
static CURRENT: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// Panics that were contained.
static CONTAINED: AtomicU64 = AtomicU64::new(0);

#[test]
fn every_mutant_is_read_or_refused_by_name_in_bounded_time_and_memory() {
    let count = std::env::var("MUTANTS").map_or(MUTANTS, |count| count.parse().expect("a number"));
    let wanted = std::env::var("MUTANTS_OF").ok();
    watch();
    for format in FORMATS {
        if wanted.as_ref().is_none_or(|wanted| wanted == format.name) {
            run(format, count);
        }
    }
}

/// Reads this many mutants of a format.
fn run(format: &Format, count: u64) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants").join(format.name);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format.file);
    let seeds = (format.seeds)();
    for seed in &seeds {
        let outcome = measured(format, &path, seed, "a valid file");
        assert!(outcome.documents > 0 && outcome.error.is_none(), "{}: {outcome:?}", format.name);
    }
    let (begun, before) = (Instant::now(), CONTAINED.load(Ordering::Relaxed));
    let (mut refused, mut documents, mut most) = (0, 0, 0);
    for number in 0..count {
        let mut random = Random::of(format.name, number);
        let seed = random.pick(&seeds);
        let mut mutant = match random.below(8) {
            0 => seed.clone(),
            _ => (format.mutate)(&mut random, seed),
        };
        if random.below(4) == 0 || mutant == *seed {
            bytes::damage(&mut random, &mut mutant);
        }
        let outcome = measured(format, &path, &mutant, &format!("mutant {number}"));
        refused += u64::from(outcome.error.is_some());
        documents += outcome.documents;
        most = most.max(outcome.memory);
    }
    println!(
        "{}: {count} mutants, {refused} refused, {documents} documents, {} contained panics, at most {} KiB, {:.0} s",
        format.name,
        CONTAINED.load(Ordering::Relaxed) - before,
        most >> 10,
        begun.elapsed().as_secs_f64(),
    );
}

/// Reads one file, and checks what must be true of each. One at a time: the memory is that of the process.
fn measured(format: &Format, path: &Path, bytes: &[u8], what: &str) -> Outcome {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    std::fs::write(path, bytes).unwrap();
    let what = format!("{} {what}", format.name);
    *CURRENT.lock().unwrap() = Some((what.clone(), Instant::now()));
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut outcome = read(path);
    outcome.memory = MEMORY.peak_usage().saturating_sub(before);
    *CURRENT.lock().unwrap() = None;
    assert!(outcome.memory < MOST_BYTES, "{what} took {} bytes", outcome.memory);
    if let Some(error) = &outcome.error {
        assert!(error.contains(format.file), "{what}: the error does not name the file: {error}");
    }
    outcome
}

/// Counts contained panics, and ends the process if a mutant takes too long.
fn watch() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if liveness::is_contained() {
            CONTAINED.fetch_add(1, Ordering::Relaxed);
        } else {
            let current = CURRENT.lock().ok().and_then(|current| current.clone());
            eprintln!("{}", current.map_or(String::new(), |(what, _)| what));
            report(panic);
        }
    }));
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(MOST_TIME / 10);
            let current = CURRENT.lock().ok().and_then(|current| current.clone());
            if let Some((what, since)) = current
                && since.elapsed() > MOST_TIME
            {
                eprintln!("{what} has taken more than {MOST_TIME:?}");
                std::process::abort();
            }
        }
    });
}
