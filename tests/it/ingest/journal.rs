//! A stopped ingest is resumed from its drafts: their blocks are not read again, and no byte shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Output;

use super::fixture::{files, gzip, texts};
use crate::workdir::{Workdir, said};

/// About 20 blocks, of which some documents cannot be read and one column is absent.
const JOB: &str = r#"
[corpus]
input = ["in"]
block_mib = 0.004
duplicates = "once"
metadata = ["year", "absent"]
[model]
topics = 2
[output]
path = "out"
[vocabulary]
min_documents = 3
stop_words = "none"
"#;

/// Phrases are found in drafts that keep the order of tokens.
const PHRASES: &str = "[phrases]\ndetect = true\nmin_count = 2\nthreshold = 0.0\n";

/// A worker begins a new folder of drafts every few blocks; most terms are not listed.
const MANY_FOLDERS: &str = "max_distinct = 100\n";

struct Site(Workdir);

impl Site {
    fn new(more: &str) -> Self {
        let site = Workdir::in_memory().with_job(&format!("{JOB}{more}"));
        fs::create_dir(site.path("in")).unwrap();
        let texts = texts(400);
        let lines = |numbers: std::ops::Range<usize>| -> String {
            let line = |n: usize| match n % 50 {
                7 => "{\"text\": broken\n".to_owned(),
                // The collection has the lines left out of texts, from drafts of any run.
                9 => format!("{{\"text\":{:?}}}\n", texts[n].clone() + &encoded(n)),
                // The last ones repeat others.
                _ => format!("{{\"year\":\"{n}\",\"text\":{:?}}}\n", texts[n % 370]),
            };
            numbers.map(line).collect()
        };
        site.write("in/a.jsonl", lines(0..200));
        site.write("in/b.jsonl.gz", gzip(lines(200..400).as_bytes()));
        Self(site)
    }

    /// Ingests into `out`, with a fault, and returns the output of the program and the steps it took.
    fn ingest(&self, out: &str, fault: &str, placement: &str) -> (Output, Vec<String>) {
        let trace = self.0.path("trace");
        let _ = fs::remove_file(&trace);
        let line = format!("ingest job.toml --quiet --set output.path={out} {placement}");
        let mut command = self.0.command(&line);
        command.env("TOPICMILL_FAULT", format!("{fault}count:{}", trace.display()));
        let output = command.output().unwrap();
        let steps = fs::read_to_string(&trace).unwrap();
        (output, steps.lines().map(str::to_owned).collect())
    }

    /// Returns the files of the corpus.
    fn corpus(&self, out: &str) -> BTreeMap<String, Vec<u8>> {
        files(&self.0.path(out).join("corpus"))
    }

    /// Returns the paths of all files in the folders of drafts whose names end like this.
    fn drafts(&self, end: &str) -> Vec<PathBuf> {
        let entries =
            walkdir::WalkDir::new(self.0.path("out/_temporary/drafts")).sort_by_file_name();
        let paths = entries.into_iter().flatten().map(walkdir::DirEntry::into_path);
        paths.filter(|path| path.to_string_lossy().ends_with(end)).collect()
    }
}

/// Returns lines of a file in base64.
fn encoded(number: usize) -> String {
    format!("\n{number:03}ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        .repeat(3)
}

/// Returns the worker and the block of a step that creates a draft.
fn created(step: &str) -> Option<(&str, &str)> {
    let path = step.strip_prefix("create ")?;
    let path = path.strip_suffix(".parquet").filter(|path| path.contains("/drafts/"))?;
    let (folder, block) = path.rsplit_once('/')?;
    Some((folder.rsplit_once('-')?.0, block))
}

/// Returns the blocks that were read.
fn read(steps: &[String]) -> BTreeSet<String> {
    steps.iter().filter_map(|step| Some(created(step)?.1.to_owned())).collect()
}

/// Returns the blocks that were certainly done: their workers began another.
fn done(steps: &[String]) -> BTreeSet<String> {
    let mut last = BTreeMap::new();
    let begun = steps.iter().filter_map(|step| created(step));
    begun.filter_map(|(worker, block)| last.insert(worker, block.to_owned())).collect()
}

/// Returns the fault that kills a run, whose steps were these, when it begins its n-th draft.
fn crash_at(steps: &[String], number: usize) -> String {
    let mut drafts = (1..).zip(steps).filter(|(_, step)| created(step).is_some());
    format!("crash:{},", drafts.nth(number - 1).expect("there are more").0)
}

fn warnings(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{}", said(output));
    let text = said(output);
    let is_of_input = |line: &&str| line.contains("document");
    text.lines().filter(is_of_input).map(str::to_owned).collect()
}

#[test]
fn blocks_that_were_done_are_not_read_again_by_any_number_of_workers() {
    for more in ["", PHRASES, MANY_FOLDERS] {
        let site = Site::new(more);
        let (calm, steps) = site.ingest("calm", "", "-w 1");
        let all = read(&steps);
        let collection = &site.corpus("calm")["collection.json"];
        assert!(
            String::from_utf8_lossy(collection).contains("\"documents\": 8,\n      \"lines\": 24,")
        );
        let warned = if more == MANY_FOLDERS { 3 } else { 2 };
        assert!(all.len() > 15 && warnings(&calm).len() == warned, "{}", said(&calm));
        let mut kept = BTreeSet::new();
        for (number, placement) in [(5, "-w 1"), (6, "-w 2"), (4, "-w 3")] {
            let (output, steps) = site.ingest("out", &crash_at(&steps, number), placement);
            assert!(!output.status.success());
            assert!(read(&steps).is_disjoint(&kept), "{placement}");
            kept.extend(done(&steps));
        }
        assert!(kept.len() > 6, "{kept:?}");
        let (output, steps) = site.ingest("out", "", "--processes 2 -w 2");
        let again = read(&steps);
        assert!(again.is_disjoint(&kept) && again.is_subset(&all));
        assert_eq!(site.corpus("out"), site.corpus("calm"));
        assert_eq!(warnings(&output), warnings(&calm));
        assert!(site.drafts("").len() <= 1, "{:?}", site.drafts(""));
    }
}

#[test]
fn a_damaged_draft_or_journal_is_read_again_and_drafts_of_another_job_are_removed() {
    let site = Site::new("");
    let (_, steps) = site.ingest("calm", "", "-w 1");
    let all = read(&steps);
    let crash = crash_at(&steps, 6);
    site.ingest("out", &crash, "-w 1");
    let drafts = site.drafts(".parquet");
    let mut bytes = fs::read(&drafts[1]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&drafts[1], bytes).unwrap();
    fs::remove_file(&drafts[2]).unwrap();
    let journal = &site.drafts("journal")[0];
    let bytes = fs::read(journal).unwrap();
    fs::write(journal, &bytes[..bytes.len() - 9]).unwrap();
    fs::write(site.0.path("out/_temporary/drafts/.nfs01"), "").unwrap();
    let (output, steps) = site.ingest("out", "", "-w 2");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(
        read(&steps).len(),
        all.len() - 2,
        "of five, one is damaged, one gone, one not in the journal"
    );
    assert_eq!(site.corpus("out"), site.corpus("calm"));

    fs::remove_dir_all(site.0.path("out")).unwrap();
    site.ingest("out", &crash, "-w 1");
    let (output, steps) = site.ingest("out", "", "-w 1 --set tokens.min_length=4");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(read(&steps), all);
    assert!(site.drafts("").len() <= 1, "{:?}", site.drafts(""));
}
