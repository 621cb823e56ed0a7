//! A run that is killed (−9), or ended because a worker hangs, ends with the same bytes as an undisturbed
//! one when it is restarted.
//!
//! The moments of the kills follow from the contents of the output, plus a pause drawn from a seed: set
//! `TOPICMILL_KILL_SEED` to try others. Every start has another number of workers.

use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lda::math::random::{Stage, hash};
use topicmill::config::state::MODEL_FILE;
use topicmill::corpus::collection::COLLECTION_FILE;

use crate::workdir::{self, Workdir, digest, drafts, newest_checkpoint, program, said};

/// Longest pause between a moment and the kill.
const LONGEST_PAUSE_US: u64 = 30_000;
/// How long a moment may take to come.
const PATIENCE: Duration = Duration::from_secs(120);

/// The stage in which a run is killed: it has begun when `begins` holds for the output, and is over
/// when `ends` exists.
struct Moment {
    begins: fn(&Path) -> bool,
    ends: &'static str,
}

const MOMENTS: [Moment; 3] = [
    // Ingest: the first drafts.
    Moment { begins: |out| drafts(out) > 1, ends: COLLECTION_FILE },
    // Training: the first checkpoint.
    Moment { begins: |out| newest_checkpoint(out).is_some(), ends: MODEL_FILE },
    // Projection: some parts.
    Moment { begins: |out| entries(&out.join("document_topics")) > 2, ends: "_SUCCESS" },
];

/// Counts the names in a folder; 0 if it does not exist.
fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Runs to the end, which must succeed.
fn succeed(folder: &Path, arguments: &[&str]) {
    workdir::succeed(program(folder, arguments));
}

/// Prepares a folder with a job that generates its own corpus, once for all runs.
fn prepare() -> Workdir {
    let job = "[synth]\npath = \"planted\"\ntopics = 8\ndocuments = 8000\nterms = 3000\n\
               mean_length = 60\n\
               [corpus]\nblock_mib = 0.2\ngroup = \"topic\"\nmetadata = [\"topic\"]\n\
               [project]\ntrends = [\"topic\"]\n\
               [vocabulary]\nstop_words = \"none\"\n\
               [sample]\nfraction = 0.4\nheld_out = 0.05\n\
               [model]\ntopics = 12\n\
               [train]\nminibatch = 256\nonline_passes = 2\npasses = 14\npatience = 0\ncheckpoint_every = 5\n\
               [output]\npath = \"undisturbed\"\n";
    Workdir::new().with_job(job)
}

fn run(placement: &[&str], out: &str) -> Vec<String> {
    let start = ["run", "job.toml", "--quiet", "--set"].map(str::to_owned);
    let path = format!("output.path={out}");
    let placement = placement.iter().map(|&argument| argument.to_owned());
    start.into_iter().chain([path]).chain(placement).collect()
}

/// Starts a run.
fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = program(folder, arguments);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

/// Starts a run and kills it within the stage.
fn kill_within(moment: &Moment, folder: &Path, out: &str, arguments: &[&str], pause: Duration) {
    let out = folder.join(out);
    let started = Instant::now();
    let mut child = start(folder, arguments);
    while !(moment.begins)(&out) {
        if child.try_wait().expect("it is ours").is_some() {
            let output = child.wait_with_output().expect("it is ours");
            panic!("before {} was due: {}", moment.ends, said(&output));
        }
        assert!(started.elapsed() < PATIENCE, "no sign of {}", moment.ends);
        sleep(Duration::from_micros(200));
    }
    sleep(pause);
    child.kill().expect("it is ours");
    let output = child.wait_with_output().expect("it is ours");
    let late = out.join(moment.ends).exists();
    assert!(!late, "killed too late for {}: {}", moment.ends, said(&output));
    assert!(!output.status.success(), "it was killed: {}", said(&output));
}

/// Kills a run three times, once with each placement, ends it with the last, and compares; all with `settings`.
fn killed_thrice(placements: [&[&str]; 4], settings: &[&str], out: &str) {
    let folder = prepare();
    let folder = folder.root();
    let run = |placement: &[&str], out: &str| run(&[placement, settings].concat(), out);
    let seed =
        std::env::var("TOPICMILL_KILL_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    for (number, moment) in (0..).zip(&MOMENTS) {
        let arguments = run(placements[number as usize], out);
        let pause = hash(seed, Stage::Sample, number, 0) % LONGEST_PAUSE_US;
        let pause = Duration::from_micros(pause);
        kill_within(moment, folder, out, &strs(&arguments), pause);
        // Processes that the killed one has started notice the kill and end.
        sleep(Duration::from_millis(500));
    }
    succeed(folder, &strs(&run(placements[3], out)));
    if settings.is_empty() {
        assert_eq!(digest(&folder.join(out)), undisturbed());
    } else {
        succeed(folder, &strs(&run(&["-w", "1"], "undisturbed")));
        assert_eq!(digest(&folder.join(out)), digest(&folder.join("undisturbed")));
    }
}

/// Returns the digest of an undisturbed run, which runs once.
fn undisturbed() -> &'static str {
    static DIGEST: OnceLock<String> = OnceLock::new();
    DIGEST.get_or_init(|| {
        let folder = prepare();
        folder.succeed("run job.toml --quiet -w 1");
        folder.digest("undisturbed")
    })
}

/// Runs until a worker hangs before it touches a file with this name, and the run has ended; returns its
/// output, and the time between the two.
#[cfg(debug_assertions)]
fn hang_before(file: &str, folder: &Path, arguments: &[&str]) -> (Output, Duration) {
    let trace = folder.join("trace");
    let fault = format!("count:{},hang:{file}", trace.display());
    let mut command = program(folder, arguments);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.env("TOPICMILL_FAULT", fault).spawn().expect("it starts");
    let (mut hung, started) = (None, Instant::now());
    while child.try_wait().expect("it is ours").is_none() {
        let traced = fs::read_to_string(&trace).unwrap_or_default();
        if hung.is_none() && traced.contains("hung ") {
            hung = Some(Instant::now());
        }
        assert!(started.elapsed() < PATIENCE, "it does not end: {hung:?}");
        sleep(Duration::from_millis(20));
    }
    let took = hung.expect("a worker has hung").elapsed();
    (child.wait_with_output().expect("it is ours"), took)
}

fn strs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

#[test]
fn killed_in_every_stage_and_resumed_with_other_threads() {
    killed_thrice([&["-w", "2"], &["-w", "3"], &["-w", "1"], &["-w", "2"]], &[], "killed");
}

#[test]
fn killed_in_every_stage_and_resumed_in_processes() {
    let two: &[&str] = &["--processes", "2", "-w", "1"];
    killed_thrice([two, two, two, &["-w", "2"]], &[], "killed");
}

/// The state of drawn documents belongs to a process and is restored.
#[test]
fn killed_while_documents_are_drawn_and_resumed_in_processes() {
    let two: &[&str] = &["--processes", "2", "-w", "1"];
    let drawn = ["--set", "train.schedule=residual", "--set", "train.importance=true"];
    killed_thrice([two, two, two, two], &drawn, "killed");
}

#[cfg(debug_assertions)]
#[test]
fn a_worker_that_hangs_in_training_ends_the_run_and_the_next_one_resumes() {
    let folder = prepare();
    let folder = folder.root();
    let placement = ["--processes", "2", "-w", "2", "--stall-timeout", "5"];
    let arguments = run(&placement, "stalled");
    // The first worker of process 1, worker 2 of the run, writes the process's assignments.
    let (ended, took) = hang_before("-0001.bin", folder, &strs(&arguments));
    let text = said(&ended);
    assert_eq!(ended.status.code(), Some(69), "{text}");
    let line = "worker 2 of process 1 stalled in train: no progress for 5 s; rerun the \
                same command to resume";
    assert!(text.contains(&format!("[1] error: {line}")), "{text}");
    assert!(text.contains(&format!(") ended: {line}")), "{text}");
    assert!((4..15).contains(&took.as_secs()), "after {took:?}: {text}");
    assert!(!folder.join("stalled").join(MODEL_FILE).exists());
    succeed(folder, &strs(&arguments));
    assert_eq!(digest(&folder.join("stalled")), undisturbed());
}

#[test]
fn a_shard_that_is_damaged_or_gone_is_made_again_as_its_error_says() {
    let folder = prepare();
    let small = ["-w", "2", "--set", "synth.documents=2000"];
    let again = run(&[&small[..], &["--overwrite"]].concat(), "undisturbed");
    let run = run(&small, "undisturbed");
    folder.succeed(&run);
    let first = folder.digest("undisturbed");
    let out = |name: &str| folder.path("undisturbed").join(name);
    let shard = out("corpus/shards/shard-00000.parquet");
    let remove = |path| fs::remove_file(path).unwrap();
    for damage in ["gone", "replaced", "a flipped bit"] {
        let mut bytes = fs::read(&shard).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        match damage {
            "gone" => remove(shard.clone()),
            "replaced" => fs::write(&shard, "PAR1").unwrap(),
            _ => fs::write(&shard, &bytes).unwrap(),
        }
        let verified = folder.output("verify undisturbed");
        assert_eq!(verified.status.code(), Some(65), "{damage}");
        let found = String::from_utf8_lossy(&verified.stdout);
        assert!(found.contains("shards/shard-00000"), "{damage}: {found}");
        remove(out("_SUCCESS"));
        let output = folder.output(&run);
        assert_eq!(output.status.code(), Some(65), "{}", said(&output));
        let remedy = "`topicmill run --overwrite` makes the collection again";
        assert!(said(&output).contains(remedy), "{}", said(&output));
        folder.succeed(&again);
        assert_eq!(folder.digest("undisturbed"), first);
    }
}
