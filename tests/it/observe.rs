//! Watching a run: logs, status and metrics are correct, and do not change the result.

use std::fs;
use std::ops::Deref;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::workdir::{
    PATIENCE, Workdir, free_hosts, newest_checkpoint, said, send, succeed, wait_for,
};

const JOB: &str = r#"
[synth]
path = "planted"
topics = 8
documents = 4000
terms = 1000
mean_length = 60
[corpus]
block_mib = 0.25
[vocabulary]
stop_words = "none"
[sample]
held_out = 0.05
[model]
topics = 12
[train]
minibatch = 256
online_passes = 2
passes = 6
patience = 0
checkpoint_every = 5
[output]
path = "out"
"#;

/// Settings for a run that does not end during the test.
const LONG: [&str; 4] = ["--set", "train.passes=2000", "--set", "train.online_passes=2000"];

/// A folder with a job.
struct Place(Workdir);

impl Deref for Place {
    type Target = Workdir;

    fn deref(&self) -> &Workdir {
        &self.0
    }
}

impl Place {
    fn new() -> Self {
        Self(Workdir::new().with_job(JOB))
    }

    /// Returns the command `topicmill run job.toml` with further arguments.
    fn job(&self, arguments: &[&str]) -> Command {
        self.command(&[&["run", "job.toml"], arguments].concat())
    }

    /// Starts a run without reading its output.
    fn start(&self, arguments: &[&str]) -> Started {
        let mut command = self.job(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Started(command.spawn().unwrap())
    }

    fn status(&self) -> Value {
        let output = succeed(self.command(&["status", "out", "--json"]));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Reads the lines of a process's log, each of which must be complete.
    fn log(&self, process: usize) -> Vec<Value> {
        let path = self.path(&format!("out/logs/process-{process:05}.jsonl"));
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in &lines {
            let time = line["timestamp"].as_str().unwrap();
            assert!(time.len() == 27 && time.ends_with('Z'), "{line}");
            assert!(line["level"].is_string() && line["message"].is_string());
            let target = line["target"].as_str().unwrap();
            let module = target.split("::").next().unwrap();
            assert!(["topicmill", "mesh"].contains(&module), "{line}");
        }
        lines
    }
}

/// A run that is killed when it is dropped.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the status of a process once it trains.
fn training(place: &Place, process: usize) -> Value {
    let path = place.path(&format!("out/logs/status-{process:05}.json"));
    wait_for("training", PATIENCE, || {
        let status: Value = serde_json::from_slice(&fs::read(&path).ok()?).unwrap();
        (status["phase"] == "train").then_some(status)
    })
}

fn signal(name: &str, status: &Value) {
    let pid = status["pid"].as_u64().unwrap();
    send(name, pid.try_into().unwrap());
}

fn messages<'a>(log: &'a [Value], message: &str) -> Vec<&'a Value> {
    log.iter().filter(|line| line["message"] == message).collect()
}

#[test]
fn a_log_tells_of_every_start_and_of_the_end() {
    let place = Place::new();
    let mut first = place.job(&["-w", "2", "--quiet"]);
    let mut child = Started(first.env("TOPICMILL_RUN", "first").spawn().unwrap());
    wait_for("checkpoint", PATIENCE, || newest_checkpoint(&place.path("out")).map(drop));
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    let stopped = place.status();
    assert_eq!((&stopped["running"], &stopped["complete"]), (&false.into(), &false.into()));
    assert_eq!(stopped["silent"], serde_json::json!([0]));
    assert!(messages(&place.log(0), "process ends").is_empty());

    let mut second = place.job(&["-w", "1", "--json"]);
    second.env("TOPICMILL_RUN", "second");
    let output = succeed(second);
    let log = place.log(0);
    let starts = messages(&log, "process starts");
    let runs: Vec<&Value> = starts.iter().map(|line| &line["run"]).collect();
    assert_eq!(runs, ["first", "second"]);
    for (key, value) in [("process", 0), ("processes", 1), ("threads", 1)] {
        assert_eq!(starts[1][key], value, "{key}");
    }
    for key in ["version", "job", "host"] {
        assert!(!starts[1][key].as_str().unwrap().is_empty(), "{key}");
    }
    for line in messages(&log, "phase ends") {
        assert!(line["seconds"].is_number() && line["done"].is_number(), "{line}");
    }
    let checkpoint = messages(&log, "checkpoint written")[0];
    assert!(checkpoint["rounds"].as_u64() > Some(0), "{checkpoint}");
    assert!(checkpoint["bytes"].as_u64() > Some(1000), "{checkpoint}");
    assert!(!messages(&log, "held-out evaluated").is_empty());
    let end = log.last().unwrap();
    assert_eq!((&end["message"], &end["code"]), (&"process ends".into(), &0.into()));
    let last = String::from_utf8(output.stdout).unwrap();
    let summary: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    if cfg!(target_os = "linux") {
        assert!(end["peak_memory_bytes"].as_u64() > Some(1 << 20), "{end}");
        assert!(summary["peak_memory_bytes"].as_u64() > Some(1 << 20), "{summary}");
    }
    let finished = place.status();
    assert_eq!((&finished["complete"], &finished["running"]), (&true.into(), &false.into()));
    assert_eq!(finished["processes"][0]["exit"]["code"], 0);
}

#[test]
fn a_failure_is_the_last_word_of_the_log() {
    let place = Place::new();
    succeed(place.command(&["run", "job.toml", "--quiet", "-w", "1"]));
    let output = place.job(&["--quiet", "--set", "model.topics=5"]).output().unwrap();
    let code = output.status.code().unwrap();
    let log = place.log(0);
    let end = log.last().unwrap();
    assert_eq!((&end["message"], &end["level"]), (&"process ends".into(), &"ERROR".into()));
    assert_eq!(end["code"], code);
    let reason = end["reason"].as_str().unwrap();
    assert!(reason.contains("different settings"), "{reason}");
    assert_eq!(place.status()["processes"][0]["exit"]["code"], code);
}

#[test]
fn metrics_and_status_tell_of_a_run_and_of_a_lost_process() {
    let place = Place::new();
    let mut run = place.start(&[&["--processes", "2", "-w", "1"][..], &LONG].concat());
    let [_, other] = [0, 1].map(|process| {
        let status = training(&place, process);
        let path = place.path(&format!("out/logs/metrics-{process:05}.prom"));
        wait_for("metrics of training", PATIENCE, || {
            let text = fs::read_to_string(&path).unwrap();
            text.contains("phase=\"train\"").then(|| check_metrics(&text, process))
        });
        status
    });
    let status = wait_for("pace", PATIENCE, || {
        let status = place.status();
        status["now"]["left_seconds"].is_number().then_some(status)
    });
    assert_eq!((&status["running"], &status["lost"]), (&true.into(), &serde_json::json!([])));
    assert_eq!(status["now"]["phase"], "train");
    assert!(status["now"]["total"].as_u64() > Some(1000), "{status}");
    assert_eq!(status["processes"].as_array().unwrap().len(), 2);
    let said = succeed(place.command(&["status", "out"])).stdout;
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("train: ") && said.contains(" left"), "{said}");

    signal("KILL", &other);
    assert!(!run.0.wait().unwrap().success());
    let status = place.status();
    assert_eq!((&status["running"], &status["lost"]), (&false.into(), &serde_json::json!([1])));
    assert_eq!(status["processes"][0]["exit"]["code"], 69);
    let log = place.log(0);
    assert_eq!(messages(&log, "peers connected")[0]["processes"], 2);
    assert_eq!(messages(&log, "peer lost")[0]["process"], 1);
    assert_eq!(log.last().unwrap()["code"], 69);
}

/// Checks the grammar of the text format as far as it is used, and the metrics that training must have.
fn check_metrics(text: &str, process: usize) {
    let mut family = "";
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.split(' ');
            assert!(matches!(words.next(), Some("HELP" | "TYPE")), "{line}");
            family = words.next().unwrap();
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let labels = series.strip_prefix(family).unwrap_or_else(|| panic!("{line}: {family}"));
        assert!(labels.starts_with(&format!("{{process=\"{process}\"")), "{line}");
        assert!(labels.ends_with("\"}"), "{line}");
        assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
    }
    let value = |name: &str, labels: &str| -> f64 {
        let series = format!("topicmill_{name}{{process=\"{process}\"{labels}}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&series));
        line.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().unwrap()
    };
    assert_eq!(value("processes", ""), 2.0);
    assert_eq!(value("phase", ",phase=\"train\""), 1.0);
    assert!(value("documents_total", ",stage=\"ingest\"") > 0.0);
    let peer = format!(",peer=\"{}\"", 1 - process);
    for way in ["sent", "received"] {
        assert!(value(&format!("{way}_bytes_total"), &peer) > 0.0, "{way}");
    }
    assert!(value("uptime_seconds", "") > 0.0);
}

#[test]
fn a_log_that_cannot_be_written_does_not_end_the_run() {
    let place = Place::new();
    let stages = ["ingest", "train"].map(|stage| place.command(&[stage, "job.toml", "--quiet"]));
    let [ingest, train] = stages;
    succeed(ingest);
    fs::remove_dir_all(place.path("out/logs")).unwrap();
    fs::write(place.path("out/logs"), "not a folder").unwrap();
    let output = succeed(train);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("logging stopped").count(), 1, "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Returns processor time in hundredths of a second.
#[cfg(target_os = "linux")]
fn processor_time(status: &Value) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", status["pid"])).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    let ticks = |field: usize| fields.clone().nth(field).unwrap().parse::<u64>().unwrap();
    ticks(11) + ticks(12)
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_waits_for_another_uses_no_processor() {
    let place = Place::new();
    let run = place.start(&[&["--processes", "2", "-w", "2", "--quiet"][..], &LONG].concat());
    let [waiting, stopped] = [0, 1].map(|process| training(&place, process));
    signal("STOP", &stopped);
    // Work in progress ends first.
    sleep(Duration::from_millis(500));
    let before = processor_time(&waiting);
    sleep(Duration::from_secs(3));
    let used = processor_time(&waiting) - before;
    signal("CONT", &stopped);
    drop(run);
    assert!(used <= 15, "{used} hundredths of a second in 3 s: more than 5 %");
}

#[test]
fn a_process_that_meets_nobody_writes_nothing_into_a_result() {
    let place = Place::new();
    succeed(place.command(&["run", "job.toml", "--quiet", "-w", "1"]));
    let logs = || fs::read_dir(place.path("out/logs")).unwrap().count();
    let before = logs();
    let mut alone = place.job(&["-n", "2", "-p", "1", "--join-timeout", "1"]);
    let output = alone.env("TOPICMILL_HOSTS", free_hosts(2).join(",")).output();
    assert_eq!(output.unwrap().status.code(), Some(69));
    assert_eq!(logs(), before);
}

#[test]
fn a_run_that_is_refused_is_tried_once_and_leaves_no_trace() {
    let place = Place::new();
    let _running = place.start(&[&["-w", "1"][..], &LONG].concat());
    training(&place, 0);
    let output = place.job(&["--processes", "2", "-w", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(75));
    let told = said(&output);
    assert_eq!(told.matches("is in use by another run").count(), 1, "{told}");
    assert!(told.contains("[1] error: another process of the run has ended"), "{told}");
    assert_eq!(place.status()["processes"].as_array().unwrap().len(), 1);
}
