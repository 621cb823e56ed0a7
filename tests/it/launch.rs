//! `topicmill launch`: processes on "hosts" of this machine, started directly and through a shell in
//! place of ssh, when one is lost, when they are stopped, and when their launcher dies.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use topicmill::corpus::collection::COLLECTION_FILE;

use crate::workdir::{
    PATIENCE, Workdir, free_hosts, newest_checkpoint, send, wait_during, wait_for,
};

/// The time limit for an immediate end.
const SOON: Duration = Duration::from_secs(10);

/// A folder with a job that generates its own corpus, a host file, and a replacement of ssh.
struct Site(Workdir);

impl Deref for Site {
    type Target = Workdir;

    fn deref(&self) -> &Workdir {
        &self.0
    }
}

impl Site {
    fn new() -> Site {
        let job = "[synth]\npath = \"planted\"\ntopics = 6\ndocuments = 12000\nterms = 2000\n\
                   mean_length = 50\n\
                   [corpus]\nblock_mib = 0.5\n\
                   [vocabulary]\nstop_words = \"none\"\n\
                   [sample]\nfraction = 0.5\n\
                   [model]\ntopics = 8\n\
                   [train]\nminibatch = 256\nonline_passes = 2\npasses = 22\npatience = 0\n\
                   checkpoint_every = 5\n\
                   [output]\npath = \"out\"\n";
        let site = Site(Workdir::new().with_job(job));
        site.write("hosts", free_hosts(2).join("\n"));
        // ssh HOST COMMAND: notes the host, and runs the command as a login shell does.
        let ssh = "#!/bin/sh\necho \"$1\" >> \"$SSH_LOG\"\nshift\nexec sh -c \"$*\"\n";
        site.write("fake ssh", ssh);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(site.path("fake ssh"), executable).expect("ours");
        site
    }

    fn topicmill(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.env("SSH_LOG", self.path("ssh.log")).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Returns the command `topicmill launch` on the hosts.
    fn launch(&self, arguments: &[&str]) -> Command {
        let mut command = self.topicmill(&["launch", "--hosts", "hosts", "job.toml"]);
        command.args(arguments);
        command
    }

    fn ssh(&self) -> [String; 3] {
        let ssh = format!("'{}'", self.path("fake ssh").display());
        ["--ssh-all".to_owned(), "--ssh".to_owned(), ssh]
    }

    /// Returns the running processes whose working directory is the folder, except the launcher.
    fn processes(&self, launcher: u32) -> Vec<u32> {
        let own = self.root().canonicalize().expect("it is there");
        let is_ours = |pid: &u32| {
            let folder = fs::read_link(format!("/proc/{pid}/cwd"));
            *pid != launcher && folder.is_ok_and(|folder| folder == own) && !is_zombie(*pid)
        };
        let entries = fs::read_dir("/proc").expect("Linux").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(is_ours).collect()
    }

    /// Returns the process with this number, not one of the shells around it.
    fn process(&self, number: usize) -> Option<u32> {
        let place = format!("-p\0{number}\0");
        let has_place = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let program = fs::read_link(format!("/proc/{pid}/exe"));
            String::from_utf8_lossy(&line).contains(&place)
                && program.is_ok_and(|path| path.ends_with("topicmill"))
        };
        self.processes(0).into_iter().find(has_place)
    }

    /// Waits until the run has written a checkpoint.
    fn await_training(&self, launcher: &mut Child) {
        let out = self.path("out");
        wait_during(launcher, "a checkpoint", || newest_checkpoint(&out).is_some());
    }

    fn await_nobody(&self, launcher: u32) {
        wait_for("end of all processes", SOON, || {
            self.processes(launcher).is_empty().then_some(())
        });
    }

    /// Returns the digest of the result in `out`, which must be complete and sound.
    fn digest(&self) -> String {
        self.0.digest("out")
    }

    /// Returns the digest of a run in a single process.
    fn undisturbed(&self) -> String {
        let output = self.topicmill(&["run", "job.toml", "-w", "1", "--quiet"]);
        succeed(output);
        let digest = self.digest();
        fs::remove_dir_all(self.path("out")).expect("ours");
        digest
    }
}

fn is_zombie(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

fn start(mut command: Command) -> Child {
    command.stderr(Stdio::piped()).spawn().expect("it starts")
}

fn succeed(mut command: Command) -> String {
    let output = command.output().expect("it starts");
    let said = said(&output);
    assert!(output.status.success(), "{}\n{said}", output.status);
    said
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_launched_run_is_the_same_as_any_other_and_prefixes_its_lines() {
    let site = Site::new();
    let expected = site.undisturbed();
    let said = succeed(site.launch(&[]));
    assert_eq!(site.digest(), expected);
    assert!(!said.is_empty());
    for line in said.lines() {
        assert!(line.starts_with("[0 127.0.0.1] "), "{line}");
    }
}

#[test]
fn what_process_0_prints_is_what_the_launcher_prints() {
    let site = Site::new();
    let mut command = site.launch(&["--json", "--set", "train.passes=2"]);
    let output = command.stdout(Stdio::piped()).output().expect("it starts");
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).expect("JSON");
    let last = text.lines().last().expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(summary["documents"], 12_000);
}

#[test]
fn a_lost_process_is_made_good_by_starting_all_again() {
    for through_ssh in [false, true] {
        let site = Site::new();
        let expected = site.undisturbed();
        let mut command = site.launch(&["-w", "1"]);
        if through_ssh {
            command.args(site.ssh());
        }
        let mut launcher = start(command);
        site.await_training(&mut launcher);
        let lost = site.process(1).expect("it trains");
        send("KILL", lost);
        let output = launcher.wait_with_output().expect("ours");
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        let restarts = said.lines().filter(|line| line.contains("; restarting all"));
        let restarts: Vec<&str> = restarts.collect();
        assert_eq!(restarts.len(), 1, "{said}");
        assert!(restarts[0].starts_with("process [1 127.0.0.1] was killed"), "{said}");
        assert!(restarts[0].ends_with("in 1 s, restart 1 of 3"), "{said}");
        assert_eq!(site.digest(), expected);
    }
}

#[test]
fn what_is_to_be_replaced_is_removed_once_in_a_launch() {
    let site = Site::new();
    let expected = site.undisturbed();
    let other = ["run", "job.toml", "--quiet", "--set", "model.topics=5"];
    succeed(site.topicmill(&other));
    let launcher = start(site.launch(&["-w", "1", "--overwrite"]));
    let collection = site.path("out").join(COLLECTION_FILE);
    wait_for("training", PATIENCE, || {
        let is_other = site.path("out/manifest.json").exists();
        newest_checkpoint(&site.path("out")).filter(|_| !is_other)
    });
    let ingested = || fs::metadata(&collection).and_then(|file| file.modified());
    let before = ingested().expect("it is ingested");
    send("KILL", site.process(1).expect("it trains"));
    let said = said(&launcher.wait_with_output().expect("ours"));
    assert!(said.contains("restart 1 of 3"), "{said}");
    assert_eq!(ingested().expect("it stays"), before);
    assert_eq!(site.digest(), expected);
}

#[test]
fn hosts_elsewhere_are_reached_through_ssh() {
    let site = Site::new();
    // An address reserved for documentation represents another machine; process 1 never joins.
    site.write("hosts", "127.0.0.1:29801\n203.0.113.7:29802\n");
    let ssh = site.ssh();
    let arguments = ["--ssh", &ssh[2], "--max-restarts", "0", "--dry-run"];
    let mut command = site.launch(&arguments);
    let output = command.stdout(Stdio::piped()).output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("cd ") && lines[0].contains("-n 2 -p 0"));
    assert!(lines[1].starts_with(&format!("{} 203.0.113.7 ", ssh[2])), "{text}");
    assert!(!site.path("ssh.log").exists() && !site.path("out").exists());
}

#[test]
fn named_variables_reach_other_hosts() {
    let site = Site::new();
    let tell = "#!/bin/sh\nprintf %s \"$A_KEY\" > \"told-$5\"\nexit 64\n";
    site.write("tell", tell);
    let program = site.path("tell");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    let ssh = format!("env -u A_KEY {}", site.ssh()[2]);
    let program = program.to_str().expect("text");
    let arguments = ["--ssh-all", "--ssh", &ssh, "--program", program, "--env"];
    let launch = |names: &str, value: &str| {
        let mut command = site.launch(&arguments);
        command.arg(names).env("A_KEY", value).env("OTHER", "x");
        command.output().expect("it starts")
    };
    let value = " it's $HOME \\n ";
    assert_eq!(launch("OTHER,A_KEY", value).status.code(), Some(64));
    let told = |process| fs::read_to_string(site.path(&format!("told-{process}")));
    // The other process may be ended before it writes the variable.
    let told: Vec<String> = (0..2).filter_map(|process| told(process).ok()).collect();
    assert!(!told.is_empty() && told.iter().all(|told| told == value), "{told:?}");
    for (names, value, reason) in [
        ("A_KEY=x", "", "not the name of a variable"),
        ("NOT_A_KEY", "", "not set"),
        ("A_KEY", "one\ntwo", "more than one line"),
    ] {
        let output = launch(names, value);
        assert_eq!(output.status.code(), Some(64));
        assert!(said(&output).contains(reason), "{}", said(&output));
    }
}

#[test]
fn a_host_that_cannot_be_reached_ends_the_launch_after_its_restarts() {
    let site = Site::new();
    let ssh = ["--ssh-all", "--ssh", "sh -c 'echo \"$0\" is down >&2; exit 255'"];
    let mut command = site.launch(&ssh);
    let output = command.args(["--max-restarts", "1"]).output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(69));
    let said = said(&output);
    assert_eq!(said.matches("[1 127.0.0.1] 127.0.0.1 is down\n").count(), 2, "{said}");
    assert!(
        said.contains("lost a worker, its peers or its host; restarting all processes"),
        "{said}"
    );
}

#[test]
fn restarts_are_counted_and_the_code_is_that_of_the_cause() {
    let site = Site::new();
    let always = "#!/bin/sh\necho start >> starts\nkill -9 $$\n";
    site.write("always killed", always);
    let program = site.path("always killed");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    let program = program.to_str().expect("text");
    let mut command = site.launch(&["--max-restarts", "1", "--program", program]);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(137), "{}", said(&output));
    let starts = fs::read_to_string(site.path("starts")).expect("it was started");
    assert_eq!(starts.lines().count(), 4, "two processes, twice");
}

#[test]
fn what_would_fail_again_is_not_tried_again() {
    let site = Site::new();
    for (set, code) in [(&["model.topics=0"][..], 64), (&["corpus.input=nothing.jsonl"], 65)] {
        let started = Instant::now();
        let mut command = site.launch(&["--set"]);
        let output = command.args(set).output().expect("it starts");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(!said.contains("restarting all processes"), "{said}");
        assert!(started.elapsed() < PATIENCE);
    }
    for arguments in [&["-n", "2"][..], &["--processes", "2"], &["--hosts", "absent"]] {
        let output = site.launch(arguments).output().expect("it starts");
        let code = output.status.code();
        assert!(matches!(code, Some(64 | 74)), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn nobody_is_left_when_the_launcher_is_killed() {
    for through_ssh in [false, true] {
        let site = Site::new();
        let mut command = site.launch(&["-w", "1"]);
        if through_ssh {
            command.args(site.ssh());
        }
        let mut launcher = start(command);
        site.await_training(&mut launcher);
        assert!(site.processes(launcher.id()).len() >= 2);
        launcher.kill().expect("ours");
        launcher.wait().expect("ours");
        site.await_nobody(0);
    }
}

#[test]
fn sigterm_stops_all_and_the_launcher_says_so() {
    for (name, through_ssh) in [("TERM", false), ("INT", true)] {
        let site = Site::new();
        let mut command = site.launch(&["-w", "1"]);
        if through_ssh {
            command.args(site.ssh());
        }
        let mut launcher = start(command);
        site.await_training(&mut launcher);
        send(name, launcher.id());
        let output = launcher.wait_with_output().expect("ours");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(143), "{said}");
        assert!(said.contains("stopping all processes"), "{said}");
        assert!(!said.contains("restarting all processes"), "{said}");
        site.await_nobody(0);
        assert!(!site.path("out/_SUCCESS").exists());
    }
}

#[test]
fn the_secret_is_in_no_argument_and_in_every_environment() {
    let site = Site::new();
    let secret = "a secret of one test, long enough";
    site.write("secret", format!("{secret}\n"));
    let mut command = site.launch(&["-w", "1"]);
    command.args(site.ssh()).env("TOPICMILL_SECRET_FILE", site.path("secret"));
    let mut launcher = start(command);
    site.await_training(&mut launcher);
    let mut seen = 0;
    for pid in site.processes(0) {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(!line.contains(secret), "{line}");
        seen += 1;
    }
    assert!(seen >= 3, "launcher and two processes, not {seen}");
    for number in 0..2 {
        let pid = site.process(number).expect("it runs");
        let variables = fs::read(format!("/proc/{pid}/environ")).expect("ours");
        let variables = String::from_utf8_lossy(&variables).into_owned();
        let has = |text: &str| variables.split('\0').any(|variable| variable == text);
        assert!(has(&format!("TOPICMILL_SECRET={secret}")), "{variables}");
        assert!(has("TOPICMILL_FOLLOW_PARENT=1"), "{variables}");
        assert!(variables.contains("TOPICMILL_RUN="), "{variables}");
    }
    let hosts = fs::read_to_string(site.path("ssh.log")).expect("ssh was used");
    assert_eq!(hosts, "127.0.0.1\n127.0.0.1\n");
    send("TERM", launcher.id());
    launcher.wait().expect("ours");
    site.await_nobody(0);
}

#[test]
fn a_scheduler_s_environment_is_enough() {
    let site = Site::new();
    let expected = site.undisturbed();
    let hosts = fs::read_to_string(site.path("hosts")).expect("ours");
    let hosts = hosts.trim().replace('\n', ",");
    let start = |process: usize| {
        let mut command = site.topicmill(&["run", "job.toml", "-w", "1", "--quiet"]);
        command
            .env("OMPI_COMM_WORLD_RANK", process.to_string())
            .env("OMPI_COMM_WORLD_SIZE", "2")
            .env("TOPICMILL_HOSTS", &hosts);
        start(command)
    };
    for child in [start(0), start(1)] {
        let output = child.wait_with_output().expect("ours");
        assert!(output.status.success(), "{}", said(&output));
    }
    assert_eq!(site.digest(), expected);
    let plan = |variables: &[(&str, &str)]| {
        let mut command = site.topicmill(&["plan", "job.toml"]);
        let output = command.envs(variables.iter().copied()).stdout(Stdio::piped()).output();
        let output = output.expect("it starts");
        (output.status.code(), output)
    };
    let mpi = [("PMI_RANK", "1"), ("PMI_SIZE", "4"), ("MPI_LOCALNRANKS", "4")];
    let (code, output) = plan(&mpi);
    assert_eq!(code, Some(0), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("4 processes, ") && text.contains("numbered by PMI"), "{text}");
    let (code, output) = plan(&mpi[..2]);
    assert_eq!(code, Some(64));
    assert!(said(&output).contains("pass --hosts FILE, or set TOPICMILL_HOSTS"));
}

#[test]
fn the_folder_and_the_program_may_be_named() {
    let site = Site::new();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let mut command = site.launch(&["--set", "train.passes=2", "--directory"]);
    let folder: &Path = site.root();
    command.arg(folder).args(site.ssh());
    // Host file and job are relative to different folders.
    fs::copy(site.path("hosts"), elsewhere.path().join("hosts")).expect("ours");
    command.current_dir(elsewhere.path());
    succeed(command);
    assert!(site.path("out/_SUCCESS").exists());
    let mut command = site.launch(&["--directory", "/nowhere/at/all"]);
    let output = command.args(site.ssh()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(64), "{}", said(&output));
    for (flag, path) in [("--directory", "/nowhere/at/all"), ("--program", "/nowhere/x")] {
        let output = site.launch(&[flag, path]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(64), "{}", said(&output));
        assert!(said(&output).contains(path), "{}", said(&output));
    }
}
