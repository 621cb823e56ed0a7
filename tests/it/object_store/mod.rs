//! Input and output in an object store: two processes that share nothing but the store end in the
//! same bytes as one thread on a disk, whatever is killed, refused or away for a while.
//!
//! The store is a real server, `s3s-fs`, on a free port of loopback. `scripts/test` installs it and
//! names it in `TOPICMILL_S3_SERVER`; where that is not set and it does not stand at
//! `target/tools/bin/s3s-fs`, these tests say so and check nothing.

mod client;
mod proxy;
mod server;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use proxy::{Loss, Proxy};
use server::{BUCKET, Server};

use crate::workdir::{Workdir, free_port, newest_checkpoint, said, succeed};

/// How long something may take to come.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many runs are killed before something that they ask of the store.
#[cfg(debug_assertions)]
const STORE_CRASHES: usize = 5;

/// Its own corpus is made by `synth`; the runs read it where `corpus.input` says.
const JOB: &str = "\
[corpus]
input = \"corpus/documents-*.jsonl\"
block_mib = 0.25
[vocabulary]
stop_words = \"none\"
[sample]
fraction = 0.5
held_out = 0.05
[model]
topics = 8
[train]
minibatch = 256
online_passes = 2
passes = 12
patience = 0
checkpoint_every = 4
[output]
path = \"out\"
";

/// A folder with a job and its corpus, a result of one thread on this disk, and a store that holds
/// the corpus too.
struct Place {
    folder: Workdir,
    server: Server,
    digest: String,
}

/// `None` where there is no server to test with.
fn prepare() -> Option<Place> {
    let folder = Workdir::new().with_job(JOB);
    let server = Server::start(&folder.root().join("store"))?;
    let made =
        "synth --path corpus --topics 6 --documents 8000 --terms 1500 --mean-length 50 --quiet";
    succeed(server.topicmill(folder.root(), &words(made)));
    succeed(server.topicmill(folder.root(), &words("run job.toml --quiet -w 1")));
    let digest = folder.digest("out");
    for entry in fs::read_dir(folder.root().join("corpus")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            server.put(&path, &format!("corpus/{name}"));
        }
    }
    Some(Place {
        folder,
        server,
        digest,
    })
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// Arguments of a run that reads from the store and writes to `run` in it.
fn stored(run: &str) -> Vec<String> {
    let line = format!(
        "run job.toml --quiet --set corpus.base=s3://{BUCKET} --set output.path=s3://{BUCKET}/{run}"
    );
    words(&line)
}

impl Place {
    fn path(&self) -> &Path {
        self.folder.root()
    }

    fn command(&self, arguments: &[String]) -> Command {
        self.server.topicmill(self.path(), arguments)
    }

    /// A process of two that do as `arguments` say, in a working directory and with a scratch folder of its own.
    fn member(&self, arguments: &[String], index: usize, hosts: &Path) -> Command {
        let home = self.path().join(format!("host{index}"));
        fs::create_dir_all(home.join("scratch")).unwrap();
        fs::copy(self.path().join("job.toml"), home.join("job.toml")).unwrap();
        let mut arguments = arguments.to_vec();
        let scratch = format!("output.scratch={}", home.join("scratch").display());
        arguments.extend(["--set".to_owned(), scratch]);
        arguments.extend(words(&format!("-n 2 -p {index} -w 1 --hosts")));
        arguments.push(hosts.display().to_string());
        let mut command = self.server.topicmill(&home, &arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Starts both processes of a run.
    fn start_two(&self, run: &str) -> [Child; 2] {
        self.start_two_that(&stored(run))
    }

    fn start_two_that(&self, arguments: &[String]) -> [Child; 2] {
        let ports = [free_port(), free_port()];
        let hosts = self.path().join(format!("hosts-{}", ports[0]));
        let text: String = ports.iter().map(|p| format!("127.0.0.1:{p}\n")).collect();
        fs::write(&hosts, text).unwrap();
        [0, 1].map(|index| self.member(arguments, index, &hosts).spawn().unwrap())
    }

    /// Runs both processes to a good end.
    fn run_two(&self, run: &str) {
        end_well(self.start_two(run));
    }

    /// The digest of a complete result in the store, which must be sound.
    fn digest(&self, run: &str) -> String {
        let root = format!("s3://{BUCKET}/{run}");
        succeed(self.command(&["verify".to_owned(), root.clone()]));
        let output = succeed(self.command(&["verify".to_owned(), root, "--digest".to_owned()]));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Waits until an object is there while `child` runs.
    fn wait_for(&self, object: &str, child: &mut Child) {
        wait_until(object, child, || self.server.has(object));
    }

    fn wait_for_checkpoint(&self, out: &str, child: &mut Child) {
        let out = self.server.file(out);
        wait_until("a checkpoint", child, || newest_checkpoint(&out).is_some());
    }
}

fn wait_until(what: &str, child: &mut Child, is_there: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_there() {
        assert!(child.try_wait().unwrap().is_none(), "ended before {what}");
        assert!(started.elapsed() < PATIENCE, "no sign of {what}");
        sleep(Duration::from_millis(1));
    }
}

/// Waits for both of two processes, which must succeed.
fn end_well(children: [Child; 2]) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
}

/// Kills one of two processes, and sees the other end.
fn kill_one(mut children: [Child; 2], victim: usize) {
    children[victim].kill().unwrap();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(!output.status.success(), "{}", said(&output));
    }
}

#[test]
fn two_processes_share_nothing_but_the_store() {
    let Some(place) = prepare() else { return };
    place.run_two("together");
    assert_eq!(place.digest("together"), place.digest);
    for index in 0..2 {
        let scratch = place.path().join(format!("host{index}/scratch"));
        let left = fs::read_dir(scratch).unwrap().count();
        assert_eq!(left, 0, "process {index} leaves nothing behind");
    }
    // Once more: there is nothing to do. With other settings: refused.
    let again = stored("together");
    succeed(place.command(&again));
    let other = [again, words("--set project.top=2")].concat();
    let refused = place.command(&other).output().unwrap();
    assert_eq!(refused.status.code(), Some(64), "{}", said(&refused));
    // What looks at results looks there too.
    for line in ["status", "inspect"] {
        let arguments = words(&format!("{line} s3://{BUCKET}/together"));
        let output = succeed(place.command(&arguments));
        assert!(String::from_utf8_lossy(&output.stdout).contains("document_topics"));
    }
    let table = words(&format!("inspect s3://{BUCKET}/together/topics --json"));
    let table = String::from_utf8(succeed(place.command(&table)).stdout).unwrap();
    assert!(table.contains("top_terms"), "{table}");
}

#[test]
fn two_processes_evaluate_again_into_a_complete_evaluation() {
    let Some(place) = prepare() else { return };
    succeed(place.command(&stored("judged")));
    let mut evaluate = stored("judged");
    evaluate[0] = "evaluate".to_owned();
    for _ in 0..2 {
        end_well(place.start_two_that(&evaluate));
    }
    assert!(place.server.has("judged-evaluation/_SUCCESS"));
}

#[test]
fn one_of_two_is_killed_in_training_and_in_projection() {
    let Some(place) = prepare() else { return };
    let mut children = place.start_two("killed");
    place.wait_for_checkpoint("killed", &mut children[0]);
    kill_one(children, 0);
    assert!(!place.server.has("killed/model/topics.model"), "too late");
    let mut children = place.start_two("killed");
    place.wait_for("killed/checkpoints/projected", &mut children[0]);
    kill_one(children, 1);
    assert!(!place.server.has("killed/_SUCCESS"), "killed too late");
    // On one process now: it finds what the two have left.
    succeed(place.command(&stored("killed")));
    assert_eq!(place.digest("killed"), place.digest);
    assert!(
        !place.server.has("killed/checkpoints"),
        "they go at the end"
    );
}

#[test]
fn a_second_run_is_refused_while_the_first_lasts() {
    let Some(place) = prepare() else { return };
    let mut first = place.command(&stored("held")).spawn().unwrap();
    place.wait_for("held/_lock", &mut first);
    let second = place.command(&stored("held")).output().unwrap();
    assert_eq!(second.status.code(), Some(75), "{}", said(&second));
    let told = said(&second);
    assert!(told.contains(&format!("process {}", first.id())), "{told}");
    assert!(first.wait().unwrap().success());
    assert_eq!(place.digest("held"), place.digest);
}

#[test]
fn what_is_wrong_with_the_store_is_told() {
    let Some(place) = prepare() else { return };
    let told = |set: &[&str], arguments: &[String]| {
        let mut command = place.command(arguments);
        command.env("TOPICMILL_STORE_PATIENCE", "3");
        if let [name, value] = set {
            command.env(name, value);
        }
        let started = Instant::now();
        let output = command.output().unwrap();
        assert!(started.elapsed() < Duration::from_secs(60));
        (output.status.code().unwrap(), said(&output))
    };
    let (code, message) = told(&["AWS_SECRET_ACCESS_KEY", "wrong"], &stored("x"));
    assert_eq!(code, 74, "{message}");
    assert!(message.contains("AWS_SECRET_ACCESS_KEY"), "{message}");
    let missing = words("run job.toml --quiet --set output.path=s3://no-such-bucket/x");
    let (code, message) = told(&[], &missing);
    assert_eq!(code, 74, "{message}");
    assert!(message.contains("the bucket `no-such-bucket`"), "{message}");
    let (code, message) = told(&["AWS_ENDPOINT_URL", "http://127.0.0.1:9"], &stored("x"));
    assert_eq!(code, 74, "{message}");
    assert!(message.contains("AWS_ENDPOINT_URL"), "{message}");
    let pattern = words(
        "run job.toml --quiet --set corpus.input=s3://topicmill/none/*.csv --set output.path=x",
    );
    let (code, message) = told(&[], &pattern);
    assert_eq!(code, 65, "{message}");
    assert!(message.contains("no file matches"), "{message}");
}

#[test]
fn a_server_that_is_away_for_a_while_is_waited_for() {
    let Some(mut place) = prepare() else { return };
    let mut run = place.command(&stored("patient")).spawn().unwrap();
    place.wait_for("patient/corpus/collection.json", &mut run);
    place.server.stop();
    sleep(Duration::from_secs(5));
    place.server.restart();
    place.wait_for("patient/checkpoints/projected", &mut run);
    place.server.freeze();
    sleep(Duration::from_secs(5));
    place.server.thaw();
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(place.digest("patient"), place.digest);
}

#[test]
fn what_breaks_off_is_asked_again() {
    let Some(place) = prepare() else { return };
    let losses = [
        Loss::Request("PUT /topicmill/broken/_lock"),
        Loss::Answer("PUT /topicmill/broken/_lock"),
        Loss::Answer("PUT /topicmill/broken/corpus/collection.json"),
        Loss::Request("?delete"),
    ];
    // One loss of the lock each: a run is given up when it is not heard of twice.
    for (run, losses) in [("broken", &losses[1..]), ("broken", &losses[..1])] {
        let proxy = Proxy::start(place.server.port(), losses);
        let mut command = place.command(&stored(run));
        command.args(["--overwrite"]);
        command.env("AWS_ENDPOINT_URL", proxy.endpoint());
        succeed(command);
        assert_eq!(proxy.left(), []);
        assert_eq!(place.digest(run), place.digest);
    }
}

#[test]
fn a_server_that_does_not_come_back_ends_the_run() {
    let Some(mut place) = prepare() else { return };
    let mut command = place.command(&stored("forsaken"));
    command.env("TOPICMILL_STORE_PATIENCE", "4");
    let mut run = command.stderr(Stdio::piped()).spawn().unwrap();
    place.wait_for_checkpoint("forsaken", &mut run);
    place.server.stop();
    let gone = Instant::now();
    let output = run.wait_with_output().unwrap();
    assert!(
        gone.elapsed() < Duration::from_secs(45),
        "{}",
        said(&output)
    );
    let told = said(&output);
    assert_eq!(output.status.code(), Some(74), "{told}");
    assert!(told.contains(&format!("s3://{BUCKET}/forsaken/")), "{told}");
    place.server.restart();
    succeed(place.command(&stored("forsaken")));
    assert_eq!(place.digest("forsaken"), place.digest);
}

#[test]
fn a_result_within_its_input_is_no_document() {
    let Some(place) = prepare() else { return };
    let within = [stored("corpus/out"), words("--set corpus.input=corpus")].concat();
    succeed(place.command(&within));
    let first = place.digest("corpus/out");
    succeed(place.command(&[within, words("--overwrite")].concat()));
    assert_eq!(place.digest("corpus/out"), first);
}

#[test]
fn only_what_topicmill_wrote_is_removed() {
    let Some(place) = prepare() else { return };
    succeed(place.command(&stored("again")));
    let overwrite = [stored("again"), words("--overwrite --set model.seed=7")].concat();
    succeed(place.command(&overwrite));
    assert_ne!(place.digest("again"), place.digest);
    place
        .server
        .put(&place.path().join("job.toml"), "again/thesis.tex");
    let overwrite = [stored("again"), words("--overwrite")].concat();
    succeed(place.command(&overwrite));
    assert_eq!(place.digest("again"), place.digest);
    assert!(place.server.has("again/thesis.tex"));
    place
        .server
        .put(&place.path().join("job.toml"), "mine/thesis.tex");
    let refused = place.command(&stored("mine")).output().unwrap();
    assert_eq!(refused.status.code(), Some(65), "{}", said(&refused));
    assert!(said(&refused).contains("thesis.tex"));
}

#[cfg(debug_assertions)]
#[test]
fn killed_before_what_it_asks_of_the_store() {
    let Some(place) = prepare() else { return };
    let run = |name: &str, fault: &str| {
        let trace = place.path().join(format!("trace-{name}"));
        let fault = format!("{fault}count:{}", trace.display());
        let mut command = place.command(&[stored(name), words("-w 1")].concat());
        let output = command.env("TOPICMILL_FAULT", fault).output().unwrap();
        (output, fs::read_to_string(trace).unwrap())
    };
    let (ended, trace) = run("calm", "");
    assert!(ended.status.success(), "{}", said(&ended));
    let asked: Vec<usize> = (1..)
        .zip(trace.lines())
        .filter(|(_, line)| line.contains("s3://"))
        .map(|(number, _)| number)
        .collect();
    assert!(asked.len() > 2 * STORE_CRASHES, "{trace}");
    for which in 0..STORE_CRASHES {
        let number = asked[which * asked.len() / STORE_CRASHES];
        let name = format!("crash{which}");
        let (ended, _) = run(&name, &format!("crash:{number},"));
        assert_eq!(ended.status.code(), None, "{}", said(&ended));
        assert!(!place.server.has(&format!("{name}/_SUCCESS")));
        succeed(place.command(&stored(&name)));
        assert_eq!(place.digest(&name), place.digest);
    }
}
