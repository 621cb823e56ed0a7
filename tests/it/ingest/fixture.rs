//! Collections for tests, and running ingest on them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mesh::{ClusterError, ClusterSettings, Placement};
use topicmill::config::Job;
use topicmill::corpus::ShardDocument;
use topicmill::corpus::collection::Collection;
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::dataflow::ingest::{self, ingest};
use topicmill::dataflow::process::Process;
use topicmill::tables::Output;

/// A folder for input and output, removed with the value.
pub struct Fixture {
    pub folder: tempfile::TempDir,
}

/// What an ingest returned.
#[derive(Debug)]
pub struct Ingested {
    pub collection: Collection,
    pub remarks: Vec<String>,
}

impl Fixture {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Writes a file of the input.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(&format!("in/{name}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Returns a job that reads everything under `in` and writes to `out`, with `overrides` as on the
    /// command line.
    pub fn job(&self, out: &str, overrides: &[&str]) -> Job {
        job(self.folder.path(), out, overrides)
    }

    /// Ingests with `threads` threads.
    pub fn ingest(&self, threads: usize, job: &Job) -> Result<Ingested, ClusterError> {
        let output = Output::lead(&job.output.path).unwrap();
        run(&Placement::single(threads), job, output)
    }
}

pub fn job(folder: &Path, out: &str, overrides: &[&str]) -> Job {
    let text = format!(
        "[corpus]\ninput = [\"in\"]\n[vocabulary]\nmin_documents = 1\nmax_share = 1.0\n\
         [model]\ntopics = 2\n[output]\npath = {:?}\n",
        folder.join(out)
    );
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Job::parse(&text, &folder.join("job.toml"), &overrides).unwrap()
}

/// Ingests on the workers of this process, which must all return the same.
pub fn run(placement: &Placement, job: &Job, output: Output) -> Result<Ingested, ClusterError> {
    let process = Arc::new(Process::new(job.clone(), output, placement.clone()));
    let logic = move |worker: &mut timely::worker::Worker| ingest(worker, &process);
    let mut all = mesh::execute(placement, &ClusterSettings::default(), logic)?;
    assert!(all.iter().all(|ingested| ingested.collection == all[0].collection));
    let ingest::Ingested { collection, remarks } = all.swap_remove(0);
    Ok(Ingested { collection, remarks: remarks.unwrap_or_default() })
}

/// Reads every file under the folder except the lock, by its path.
pub fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = walkdir::WalkDir::new(root).into_iter().map(Result::unwrap);
    entries
        .filter(|entry| entry.file_type().is_file() && entry.file_name() != "_lock")
        .map(|entry| {
            let name = entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Reads all documents of a collection, in order.
pub fn documents(job: &Job, collection: &Collection) -> Vec<ShardDocument> {
    let mut all = Vec::new();
    for number in 0..collection.shards.len() {
        let path = job.output.path.join(Collection::shard_name(number));
        let mut reader = ShardReader::open(&path, Columns::All).unwrap();
        assert_eq!(collection.shards[number].first_document, all.len() as u64);
        let mut document = ShardDocument::default();
        while reader.read_into(&mut document).unwrap() {
            all.push(document.clone());
        }
    }
    assert_eq!(all.len() as u64, collection.documents);
    all
}

/// Returns fixed texts of an invented language: numbered words, of which low numbers are frequent.
pub fn texts(count: usize) -> Vec<String> {
    let mut state = 42_u64;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut text = || {
        let words = (0..next() % 60).map(|_| {
            let (a, b) = (next() % 70, next() % 70);
            format!("w{}é", a * b / 10)
        });
        words.collect::<Vec<_>>().join(" ")
    };
    (0..count).map(|_| text()).collect()
}

/// Writes an input of every kind: lines, plain and compressed, tables, folders of texts, counts.
pub fn write_all_kinds(fixture: &Fixture) {
    let texts = texts(400);
    let line = |number: usize| format!("{{\"id\":\"d{number}\",\"text\":{:?}}}\n", texts[number]);
    fixture.write("a.jsonl", (0..150).map(line).collect::<String>());
    fixture.write("b.jsonl.gz", gzip((150..250).map(line).collect::<String>().as_bytes()));
    let row = |number: usize| format!("d{number},\"{}\n\"\n", texts[number]);
    fixture.write("c.csv", format!("id,text\n{}", (250..300).map(row).collect::<String>()));
    for (number, text) in texts.iter().enumerate().skip(300) {
        fixture.write(&format!("d/{number}.txt"), text);
    }
    fixture.write("e/vocab.k.txt", "Whale\nw7é\nw9é\n");
    fixture.write("e/docword.k.txt", "4\n3\n4\n1 1 2\n1 3 1\n3 2 5\n4 1 1\n");
    fixture.write("f/vocab.l.txt", "w9é\nWhale\n");
    fixture.write("f/docword.l.txt", "1\n2\n2\n1 1 3\n1 2 4\n");
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
