//! A folder with a tiny job, and its use in tests.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use topicmill::checkpoint::{self, assignments};
use topicmill::corpus::{synth, vocabulary_file};

use crate::workdir::{Workdir, said};

/// A job with every stage, both phases of training, checkpoints in both, α learnt, counts averaged, two shards.
const JOB: &str = r#"
[synth]
path = "planted"
topics = 3
documents = 200
terms = 150
mean_length = 12
[corpus]
block_mib = 0.01
[vocabulary]
stop_words = "none"
min_documents = 1
[sample]
fraction = 0.8
held_out = 0.1
[model]
topics = 4
[train]
minibatch = 64
online_passes = 2
passes = 5
alpha_after = 1
alpha_every = 1
average_every = 1
patience = 0
checkpoint_every = 2
[output]
path = "out"
"#;

/// Topics of [`JOB`].
const TOPICS: usize = 4;

/// The exit code for I/O.
pub const EXIT_IO: i32 = 74;
/// The exit status of what the job asks for and cannot have.
pub const EXIT_USAGE: i32 = 64;

/// A folder with the job.
pub struct Ground(Workdir, &'static [&'static str]);

impl Deref for Ground {
    type Target = Workdir;

    fn deref(&self) -> &Workdir {
        &self.0
    }
}

impl Ground {
    /// Creates it in memory if possible, because a run waits for the disk some hundred times.
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// Creates it with these settings (`--set`, `KEY=VALUE`) for every run.
    pub fn with(settings: &'static [&'static str]) -> Self {
        Self(Workdir::in_memory().with_job(JOB), settings)
    }

    pub fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// Runs the job on one thread, with a fault (such as `crash:17,`, or an empty text for none), and
    /// writes all operations to `trace`.
    pub fn run(&self, fault: &str, trace: &str) -> Output {
        let trace = format!("{fault}count:{}", self.path(trace).display());
        let mut command = self.command(&["-w", "1", "--quiet"]);
        command.env("TOPICMILL_FAULT", trace);
        command.output().expect("it starts")
    }

    /// Returns the job's command with further arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let job = self.path("job.toml").display().to_string();
        self.0.command(&[&["run", &job], self.1, arguments].concat())
    }

    /// Runs to the end, which must succeed.
    pub fn finish(&self, trace: &str) {
        let ended = self.run("", trace);
        assert!(ended.status.success(), "{}", said(&ended));
    }

    /// Reads the lines of a trace; none if there were no operations.
    pub fn trace(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        // The corpus is named by its whole path.
        let folder = format!("{}/", self.0.root().display());
        text.lines().map(|line| line.replace(&folder, "")).collect()
    }

    /// Returns the digest of the result, which must be complete and sound.
    pub fn digest(&self) -> String {
        self.0.digest("out")
    }

    /// Checks that every file under a final name is complete, and that a result that claims to be
    /// complete is the right one.
    pub fn check_final_names(&self) {
        if self.path("planted").exists() {
            let answer = synth::read_answer(&self.path("planted")).expect("an answer");
            assert_eq!(answer.len(), 3);
            let documents = fs::read_to_string(self.path("planted/documents-00000.jsonl"));
            assert_eq!(documents.expect("documents").lines().count(), 200);
        }
        for entry in walkdir::WalkDir::new(self.out()) {
            let Ok(entry) = entry else {
                continue; // There is no output yet.
            };
            let unfinished = ["out/_temporary", "out/logs"].map(|folder| self.path(folder));
            let is_final = !unfinished.iter().any(|f| entry.path().starts_with(f));
            if entry.file_type().is_file() && is_final {
                check_file(entry.path());
            }
        }
        if self.path("out/_SUCCESS").exists() {
            assert_eq!(self.digest(), calm().digest);
        }
    }
}

/// Checks a file under a final name.
fn check_file(path: &Path) {
    let name = path.file_name().expect("a name").to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    match &*extension {
        "parquet" => {
            let file = fs::File::open(path).expect("readable");
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a footer");
            let rows = reader.metadata().file_metadata().num_rows();
            let batches = reader.build().expect("batches");
            let read: usize = batches.map(|batch| batch.expect("sound").num_rows()).sum();
            assert_eq!(read as i64, rows, "{}", path.display());
        }
        "model" => drop(checkpoint::read(path).expect("a whole model")),
        "bin" => {
            let round = assignments::round_of(&name).expect("named by its round");
            assignments::read(path, round, TOPICS, |_, _, _| Ok(())).expect("whole");
        }
        "json" | "jsonl" => {
            let text = fs::read_to_string(path).expect("readable");
            let values = serde_json::Deserializer::from_str(&text).into_iter();
            let values: Result<Vec<serde_json::Value>, _> = values.collect();
            let count = values.expect("whole").len();
            assert_eq!(count, if extension == "json" { 1 } else { 2 }, "{}", path.display());
        }
        "tsv" => drop(vocabulary_file::read(path).expect("a whole vocabulary")),
        "toml" | "sql" => assert!(fs::read_to_string(path).expect("readable").ends_with('\n')),
        "html" => {
            let page = fs::read_to_string(path).expect("readable");
            assert!(page.trim_end().ends_with("</html>"), "a whole page");
        }
        "" if name == "_lock" || name == "_SUCCESS" => {}
        _ => panic!("{} is not known", path.display()),
    }
}

/// The operations and the digest of an undisturbed run.
pub struct Calm {
    pub trace: Vec<String>,
    pub digest: String,
}

/// Returns the undisturbed run, which runs once.
pub fn calm() -> &'static Calm {
    static CALM: OnceLock<Calm> = OnceLock::new();
    CALM.get_or_init(|| {
        let ground = Ground::new();
        ground.finish("trace");
        Calm { trace: ground.trace("trace"), digest: ground.digest() }
    })
}

/// Calls `what` for the numbers 1 to `count`, on two threads.
pub fn for_each(count: usize, what: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(1);
    let numbers = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&number| number <= count);
    let work = || std::iter::from_fn(numbers).for_each(&what);
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        work();
        // A failure is reported by its message.
        other.join().expect("the other thread's half");
    });
}
