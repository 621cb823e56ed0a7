//! `topicmill status OUT`: the progress of a run, read from its output folder on any host that sees
//! it.

use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::args::StatusArgs;
use super::pictures::table;
use super::{Failure, figures, machine, plan};
use crate::config::state::RunState;
use crate::observe::status::{
    CheckpointStatus, ExitStatus, PhaseProgress, ProcessStatus, SHARE_EVERY, STATUS_EVERY, since,
};
use crate::observe::whole::Shares;
use crate::tables::output::check_ours;
use lda::train::RoundReport;
use store::is_remote;

/// Number of held-out figures that are shown, the latest ones.
const TREND: usize = 6;

/// Prints the progress of the run.
///
/// # Errors
/// There is no such folder, or it is not a run's; it cannot be read; stdout cannot be written.
pub(super) fn run(args: &StatusArgs) -> Result<(), Failure> {
    super::existing_output(&args.output)?;
    if args.output.is_file() {
        let message = format!("{}: not a folder", args.output.display());
        return Err(
            Failure::usage(message).help("pass the folder that the job names as `output.path`")
        );
    }
    check_ours(&args.output)?;
    let here = machine::host();
    let silent_after = match is_remote(&args.output) {
        // Statuses in an object store are copies, made less often.
        true => 5 * SHARE_EVERY,
        false => 5 * STATUS_EVERY,
    };
    loop {
        let state = RunState::read(&args.output)?;
        let run = ShownRun { state, now: SystemTime::now(), here: &here, silent_after };
        if args.json {
            super::print_json(&json_of(&run))?
        } else {
            super::print(&page(args, &run))?
        }
        let Some(seconds) = args.watch.filter(|_| is_running(&run)) else {
            return Ok(());
        };
        thread::sleep(Duration::from_secs(seconds));
    }
}

fn page(args: &StatusArgs, run: &ShownRun<'_>) -> String {
    let mut rows = vec![("output", args.output.display().to_string())];
    rows.extend(rows_of(run));
    let mut page = plan::rows(&rows);
    if !run.state.processes.is_empty() {
        page.push_str(&run.table());
    }
    page
}

/// Whether the run continues: its lock is held or, where locks are not visible, its processes are alive.
fn is_running(run: &ShownRun<'_>) -> bool {
    run.state.holder.is_some() || (!run.state.complete && run.are_alive())
}

fn rows_of(run: &ShownRun<'_>) -> Vec<(&'static str, String)> {
    let mut rows = vec![("state", state_of(run))];
    rows.extend(refusal(run).map(|line| ("last run", line)));
    if is_running(run) {
        let overall = run.overall();
        rows.extend(overall.map(|overall| ("now", overall.line())));
    }
    rows.extend([("ingest", ingest(&run.state)), ("train", train(&run.state))]);
    if let Some(trend) = trend(&held_out(&run.state)) {
        rows.push(("held-out", trend));
    }
    if let (Some(checkpoint), None) = (run.checkpoint(), &run.state.model) {
        let age = figures::duration(run.age(&checkpoint));
        let (round, bytes) = (checkpoint.round, figures::bytes(checkpoint.bytes));
        let line = format!("after round {round}, {age} ago, {bytes}");
        rows.push(("checkpoint", line));
    }
    rows.push(("tables", tables(&run.state)));
    for (name, numbers) in [("silent", run.silent()), ("lost", run.lost())] {
        let noun = if numbers.len() == 1 { "process" } else { "processes" };
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        if !numbers.is_empty() {
            rows.push((name, format!("{noun} {}", numbers.join(", "))));
        }
    }
    if !run.state.unfinished.is_empty() {
        let bytes = run.state.unfinished.iter().map(|(_, bytes)| bytes).sum();
        let count = figures::counted(run.state.unfinished.len() as u64, "file");
        let files = format!("{count}, {}", figures::bytes(bytes));
        rows.push(("unfinished", files));
    }
    rows
}

fn state_of(run: &ShownRun<'_>) -> String {
    match (&run.state.holder, run.state.complete) {
        (Some(holder), _) => format!("running ({holder})"),
        (None, false) if is_running(run) => {
            "running, according to the processes' statuses".to_owned()
        }
        (None, true) => "complete".to_owned(),
        (None, false) if run.state.is_empty() => "not begun".to_owned(),
        (None, false) if run.state.model.is_some() => {
            "stopped after training; `topicmill run` continues with projection".to_owned()
        }
        (None, false) if run.refusal().is_some() => {
            "stopped; rerun the command that began it to resume".to_owned()
        }
        (None, false) => "stopped; rerun the same command to resume".to_owned(),
    }
}

/// Describes the end of the latest command, if it failed before it changed anything.
fn refusal(run: &ShownRun<'_>) -> Option<String> {
    if is_running(run) {
        return None;
    }
    let exit = run.refusal()?;
    let kept = if run.state.complete {
        "the result is as it was"
    } else {
        "what is here is that of an earlier run"
    };
    let (code, reason) = (exit.code, &exit.reason);
    Some(format!("refused with exit code {code}, and {kept}: {reason}"))
}

fn ingest(state: &RunState) -> String {
    match &state.collection {
        None if state.is_result() => "complete, but corpus/ has been removed".to_owned(),
        None => "not complete".to_owned(),
        Some(collection) => format!(
            "complete: {} in {}, {} kept, {} of their tokens",
            figures::counted(collection.documents, "document"),
            figures::counted(collection.shards.len() as u64, "shard"),
            figures::counted(collection.terms_kept, "term"),
            figures::grouped(collection.tokens_in_vocabulary),
        ),
    }
}

fn train(state: &RunState) -> String {
    match (&state.model, &state.checkpoint) {
        (Some(model), _) => format!(
            "complete: {} after {}",
            figures::counted(model.topic_count as u64, "topic"),
            figures::counted(model.rounds, "round"),
        ),
        (None, _) if state.is_result() => "complete, but model/ has been removed".to_owned(),
        (None, Some(checkpoint)) => {
            format!("not complete; checkpoint after round {}", figures::grouped(checkpoint.rounds))
        }
        (None, None) => "not complete; no checkpoint".to_owned(),
    }
}

fn tables(state: &RunState) -> String {
    if state.tables.is_empty() {
        return "none".to_owned();
    }
    let table = |table: &crate::tables::read::TableListing| {
        format!("{} ({})", table.name, figures::counted(table.rows, "row"))
    };
    state.tables.iter().map(table).collect::<Vec<_>>().join(", ")
}

/// Returns rounds with their held-out figures, oldest first: those of the header that has the training log (a
/// finished model's does not), and those that the first process has reported since.
fn held_out(state: &RunState) -> Vec<(u64, f64)> {
    let headers = [&state.checkpoint, &state.model];
    let header = headers.into_iter().flatten().find(|h| !h.log.is_empty());
    let log = header.map(|header| &header.log[..]).unwrap_or_default();
    let evaluated = |report: &RoundReport| Some((report.round + 1, report.heldout?));
    let mut all: Vec<(u64, f64)> = log.iter().filter_map(evaluated).collect();
    let last = all.last().map_or(0, |&(round, _)| round);
    let told = state.processes.first().map(|status| &status.training.heldout);
    let told = told.into_iter().flatten();
    let new = told.filter(|evaluation| evaluation.round > last);
    all.extend(new.map(|evaluation| (evaluation.round, evaluation.loglik_per_token)));
    all
}

/// Formats the latest figures: "-8.1203 (round 10), -7.9120 (round 20) nats per token".
fn trend(evaluated: &[(u64, f64)]) -> Option<String> {
    let shown = &evaluated[evaluated.len().saturating_sub(TREND)..];
    let figure = |(round, value): &(u64, f64)| format!("{value:.4} (round {round})");
    let figures: Vec<String> = shown.iter().map(figure).collect();
    (!figures.is_empty()).then(|| format!("{} nats per token", figures.join(", ")))
}

fn json_of(run: &ShownRun<'_>) -> serde_json::Value {
    let unfinished = |(name, bytes): &(String, u64)| json!({ "name": name, "bytes": bytes });
    let point = |(round, value)| json!({ "round": round, "loglik_per_token": value });
    let trend = held_out(&run.state).into_iter();
    let is_running = is_running(run);
    json!({
        "running": is_running,
        "holder": run.state.holder,
        "complete": run.state.complete,
        "ingest": run.state.collection.as_ref().map(|c| json!({
            "documents": c.documents,
            "shards": c.shards.len(),
            "terms": c.terms_kept,
            "tokens": c.tokens_in_vocabulary,
        })),
        "now": run.overall().filter(|_| is_running),
        "silent": run.silent(),
        "lost": run.lost(),
        "processes": run.json(),
        "checkpoint_written": run.checkpoint().map(|checkpoint| json!({
            "round": checkpoint.round,
            "bytes": checkpoint.bytes,
            "seconds": checkpoint.seconds,
            "age_seconds": run.age(&checkpoint).as_secs_f64(),
        })),
        "checkpoint": run.state.checkpoint.as_ref().map(|h| json!({ "rounds": h.rounds })),
        "model": run.state.model.as_ref().map(|h| json!({ "rounds": h.rounds, "topics": h.topic_count })),
        "heldout": trend.map(point).collect::<Vec<_>>(),
        "tables": run.state.tables,
        "unfinished": run.state.unfinished.iter().map(unfinished).collect::<Vec<_>>(),
    })
}

/// A run at one moment: the state of its folder, and the processes of its latest attempt.
struct ShownRun<'a> {
    state: RunState,
    now: SystemTime,
    /// The name of the host that this is asked on.
    here: &'a str,
    /// A process that has not written its status for this long is reported: it has missed five updates.
    silent_after: Duration,
}

impl ShownRun<'_> {
    /// Whether a process has written its status recently and has not ended.
    fn are_alive(&self) -> bool {
        self.state.processes.iter().any(|status| self.is_alive(status))
    }

    /// Returns the processes that have neither ended nor written their status recently.
    fn silent(&self) -> Vec<usize> {
        let silent = |status: &&ProcessStatus| status.exit.is_none() && !self.is_alive(status);
        self.state.processes.iter().filter(silent).map(|status| status.process).collect()
    }

    /// Returns the processes that others report as lost.
    fn lost(&self) -> Vec<usize> {
        let mut lost: Vec<usize> =
            self.state.processes.iter().flat_map(|s| s.peers_lost.clone()).collect();
        lost.sort_unstable();
        lost.dedup();
        lost
    }

    /// Returns how the first process that failed ended, if none has begun a phase.
    fn refusal(&self) -> Option<&ExitStatus> {
        let has_begun = |status: &ProcessStatus| !["", "join"].contains(&&status.now.phase[..]);
        let mut ends = self.state.processes.iter().filter_map(|status| status.exit.as_ref());
        let failed = ends.find(|exit| exit.code != 0);
        failed.filter(|_| !self.state.processes.iter().any(has_begun))
    }

    /// Whether a process has written its status recently. If the lock is free, none is alive, provided that this
    /// is the host of the process that would hold it: elsewhere a file system may not show locks.
    fn is_alive(&self, status: &ProcessStatus) -> bool {
        let leader = self.state.processes.iter().find(|status| status.process == 0);
        let is_over =
            self.state.holder.is_none() && leader.is_some_and(|leader| leader.host == self.here);
        status.exit.is_none() && !is_over && status.age(self.now) < self.silent_after
    }

    /// Returns the newest checkpoint that the processes have reported, with the bytes of all its parts.
    fn checkpoint(&self) -> Option<CheckpointStatus> {
        let told = self.state.processes.iter().filter_map(|one| one.training.checkpoint.as_ref());
        let newest = told.clone().max_by_key(|checkpoint| checkpoint.round)?;
        let parts = told.filter(|checkpoint| checkpoint.round == newest.round);
        Some(CheckpointStatus {
            bytes: parts.map(|checkpoint| checkpoint.bytes).sum(),
            ..newest.clone()
        })
    }

    /// Returns the time since a checkpoint was written.
    fn age(&self, checkpoint: &CheckpointStatus) -> Duration {
        since(checkpoint.written_unix_ms, self.now)
    }

    /// Returns the progress of the run in the first process's phase; its note has rows of their own.
    fn overall(&self) -> Option<PhaseProgress> {
        let first = self.state.processes.iter().find(|status| !status.now.phase.is_empty())?;
        let own = PhaseProgress { note: String::new(), ..first.now.clone() };
        Some(Shares::default().add(first.process, own, &self.state.processes, first.processes))
    }

    /// Returns a table with a line per process.
    fn table(&self) -> String {
        let mut table = table(">process|host|phase|>done|>now|>memory|last update");
        for status in &self.state.processes {
            table.add_row([
                status.process.to_string(),
                status.host.clone(),
                status.now.phase.clone(),
                match &status.exit {
                    // Its last phase may have ended early.
                    Some(exit) if exit.code == 0 => String::new(),
                    _ if status.now.phase.is_empty() => String::new(),
                    _ => figures::amount(status.now.done, status.now.total, &status.now.unit),
                },
                if self.is_alive(status) {
                    format!("{} {}/s", figures::rate(status.now.per_second), status.now.unit)
                } else {
                    String::new()
                },
                status.memory_bytes.map_or_else(String::new, figures::bytes),
                self.sign(status),
            ]);
        }
        format!("\n{}\n", table.trim_fmt())
    }

    /// Describes the last sign of a process.
    fn sign(&self, status: &ProcessStatus) -> String {
        let age = figures::duration(status.age(self.now));
        match &status.exit {
            Some(exit) if exit.code == 0 => "done".to_owned(),
            Some(exit) => format!("ended with {}: {}", exit.code, exit.reason),
            None if self.is_alive(status) => format!("{age} ago"),
            None if self.state.holder.is_some() || self.are_alive() => format!("silent for {age}"),
            None => format!("ended without a message, {age} ago"),
        }
    }

    /// Returns the statuses, with their age at this moment.
    fn json(&self) -> Vec<Value> {
        let one = |status: &ProcessStatus| {
            let mut object = serde_json::to_value(status).unwrap_or_default();
            object["age_seconds"] = json!(status.age(self.now).as_secs_f64());
            object
        };
        self.state.processes.iter().map(one).collect()
    }
}

#[cfg(test)]
mod processes_tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn status(process: usize, written: u64) -> ProcessStatus {
        ProcessStatus {
            process,
            now: PhaseProgress {
                phase: "project".to_owned(),
                unit: "documents".to_owned(),
                done: 30,
                total: Some(100),
                per_second: 10.0,
                left_seconds: Some(7.0 + process as f64),
                ..Default::default()
            },
            written_unix_ms: written,
            ..Default::default()
        }
    }

    fn at(all: &[ProcessStatus], second: u64) -> ShownRun<'static> {
        ShownRun {
            state: RunState { processes: all.to_vec(), ..RunState::default() },
            now: UNIX_EPOCH + Duration::from_secs(second),
            here: "elsewhere",
            silent_after: Duration::from_secs(10),
        }
    }

    #[test]
    fn shares_are_added_up_and_the_slowest_decides() {
        let all = [status(0, 100_000), status(1, 100_000)];
        let overall = at(&all, 101).overall().unwrap();
        let expected = "project: 60 of 200 documents (30 %), 20.0 documents/s, 8 s left";
        assert_eq!(overall.line(), expected);
        let mut rounds = all;
        rounds.iter_mut().for_each(|status| status.now.unit = "rounds".to_owned());
        let overall = at(&rounds, 101).overall().unwrap();
        assert_eq!((overall.done, overall.total), (30, Some(100)));
        assert_eq!(at(&[], 101).overall(), None);
    }

    #[test]
    fn the_silent_and_the_lost_are_told() {
        let mut all = [status(0, 100_000), status(1, 61_000)];
        let alive = at(&all, 101);
        assert_eq!((alive.silent(), alive.lost()), (vec![1], vec![]));
        assert!(alive.table().contains("silent for 40.0 s"), "{}", alive.table());
        all[0].peers_lost = vec![1];
        all[0].exit = Some(ExitStatus { code: 69, reason: "lost process 1".to_owned() });
        assert!(at(&all, 101).table().contains("30 of 100"));
        let ended = at(&all, 101);
        assert_eq!((ended.silent(), ended.lost()), (vec![1], vec![1]));
        let table = ended.table();
        assert!(table.contains("ended with 69: lost process 1"), "{table}");
        assert!(table.contains("ended without a message, 40.0 s ago"), "{table}");
        let killed = [status(0, 100_000)];
        let asked_there = ShownRun { here: "", ..at(&killed, 101) };
        assert_eq!(asked_there.silent(), [0], "the lock is free");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Header;
    use crate::observe::status::{
        HeldOutScore, PhaseProgress, ProcessStatus, TrainingProgress, unix_millis,
    };
    use lda::model::Priors;
    use lda::train::RoundSeconds;
    use lda::train::StopRule;
    use lda::train::schedule::Phase;

    fn state() -> RunState {
        let report = |round: u64| RoundReport {
            round,
            pass: 0,
            phase: Phase::Online,
            documents_seen: 0,
            tokens_seen: 0,
            step_size: 0.1,
            alpha_sum: 0.5,
            coherence: None,
            heldout: (round % 2 == 1).then_some(-9.0 + round as f64 / 100.0),
            nonzero_share: 1.0,
            seconds: 0.0,
            spent: RoundSeconds::default(),
            bytes_exchanged: 0,
        };
        let header = Header {
            settings_hash: String::new(),
            vocabulary_hash: String::new(),
            topic_count: 5,
            vocabulary_size: 3,
            priors: Priors { alpha: vec![0.1; 5], eta: 0.1, exp_psi: false, tree: None },
            published_eta: None,
            scale: 1.0,
            rounds: 20,
            next: None,
            averaged: 0,
            stop: StopRule::default(),
            log: (0..20).map(report).collect(),
        };
        RunState {
            holder: None,
            collection: None,
            checkpoint: Some(header),
            model: None,
            tables: Vec::new(),
            unfinished: vec![("a".into(), 1024), ("b".into(), 512)],
            complete: false,
            processes: Vec::new(),
        }
    }

    /// Returns its processes `seconds` from now, seen from another host than the run's.
    fn later(state: &RunState, seconds: u64) -> ShownRun<'static> {
        ShownRun {
            state: state.clone(),
            now: SystemTime::now() + Duration::from_secs(seconds),
            here: "elsewhere",
            silent_after: 5 * STATUS_EVERY,
        }
    }

    #[test]
    fn a_stopped_run_shows_its_checkpoint_and_trend() {
        let state = state();
        let text = plan::rows(&rows_of(&later(&state, 0)));
        assert!(text.contains("stopped; rerun the same command to resume"), "{text}");
        assert!(text.contains("checkpoint after round 20"), "{text}");
        assert!(text.contains("-8.8100 (round 20) nats per token"), "{text}");
        assert!(!text.contains("(round 8)") && text.contains("(round 10)"), "{text}");
        assert!(text.contains("2 files, 1.5 KiB"), "{text}");
        let json = json_of(&later(&state, 0));
        assert_eq!(json["heldout"][9]["round"], 20);
        assert_eq!((&json["running"], &json["ingest"]), (&json!(false), &json!(null)));
    }

    #[test]
    fn a_running_one_names_its_holder() {
        let holder = Some("process 12".to_owned());
        let running = RunState { holder, ..state() };
        assert_eq!(state_of(&later(&running, 0)), "running (process 12)");
        let complete = RunState { complete: true, ..state() };
        assert_eq!(state_of(&later(&complete, 0)), "complete");
    }

    #[test]
    fn signs_of_life_tell_of_a_run_whose_lock_is_not_seen() {
        let status = ProcessStatus {
            written_unix_ms: unix_millis(SystemTime::now()),
            now: PhaseProgress {
                phase: "train".to_owned(),
                unit: "rounds".to_owned(),
                ..Default::default()
            },
            training: TrainingProgress {
                heldout: vec![HeldOutScore { round: 25, loglik_per_token: -8.5 }],
                ..Default::default()
            },
            ..Default::default()
        };
        let processes = vec![status];
        let running = RunState { processes, ..state() };
        let text = plan::rows(&rows_of(&later(&running, 0)));
        assert!(text.contains("running, according to the processes' statuses"), "{text}");
        assert!(text.contains("train: under way"), "{text}");
        assert!(text.contains("-8.8100 (round 20), -8.5000 (round 25)"), "{text}");
        assert!(state_of(&later(&running, 60)).starts_with("stopped"));
        assert_eq!(json_of(&later(&running, 60))["silent"], json!([0]));
    }
}
