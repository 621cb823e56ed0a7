//! `topicmill status OUT`: the progress of a run, read from its output folder on any host that sees
//! it.

mod processes;

use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::json;

use self::processes::Processes;

use super::args::StatusArgs;
use super::{Failure, figures, machine, plan};
use crate::job::state::RunState;
use crate::observe::status::{SHARE_EVERY, STATUS_EVERY};
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
        let processes = Processes {
            all: &state.processes,
            now: SystemTime::now(),
            is_locked: state.holder.is_some(),
            here: &here,
            silent_after,
        };
        if args.json {
            super::print_json(&json_of(&state, &processes))?
        } else {
            super::print(&page(args, &state, &processes))?
        }
        let Some(seconds) = args.watch.filter(|_| is_running(&state, &processes)) else {
            return Ok(());
        };
        thread::sleep(Duration::from_secs(seconds));
    }
}

fn page(args: &StatusArgs, state: &RunState, processes: &Processes<'_>) -> String {
    let mut rows = vec![("output", args.output.display().to_string())];
    rows.extend(rows_of(state, processes));
    let mut page = plan::rows(&rows);
    if !state.processes.is_empty() {
        page.push_str(&processes.table());
    }
    page
}

/// Whether the run continues: its lock is held or, where locks are not visible, its processes are alive.
fn is_running(state: &RunState, processes: &Processes<'_>) -> bool {
    state.holder.is_some() || (!state.complete && processes.are_alive())
}

fn rows_of(state: &RunState, processes: &Processes<'_>) -> Vec<(&'static str, String)> {
    let mut rows = vec![("state", state_of(state, processes))];
    rows.extend(refusal(state, processes).map(|line| ("last run", line)));
    if is_running(state, processes) {
        let overall = processes.overall();
        rows.extend(overall.map(|overall| ("now", overall.line())));
    }
    rows.extend([("ingest", ingest(state)), ("train", train(state))]);
    if let Some(trend) = trend(&held_out(state)) {
        rows.push(("held-out", trend));
    }
    if let (Some(checkpoint), None) = (processes.checkpoint(), &state.model) {
        let age = figures::duration(processes.age(&checkpoint));
        let (round, bytes) = (checkpoint.round, figures::bytes(checkpoint.bytes));
        let line = format!("after round {round}, {age} ago, {bytes}");
        rows.push(("checkpoint", line));
    }
    rows.push(("tables", tables(state)));
    for (name, numbers) in [("silent", processes.silent()), ("lost", processes.lost())] {
        let noun = if numbers.len() == 1 { "process" } else { "processes" };
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        if !numbers.is_empty() {
            rows.push((name, format!("{noun} {}", numbers.join(", "))));
        }
    }
    if !state.unfinished.is_empty() {
        let bytes = state.unfinished.iter().map(|(_, bytes)| bytes).sum();
        let count = figures::counted(state.unfinished.len() as u64, "file");
        let files = format!("{count}, {}", figures::bytes(bytes));
        rows.push(("unfinished", files));
    }
    rows
}

fn state_of(state: &RunState, processes: &Processes<'_>) -> String {
    match (&state.holder, state.complete) {
        (Some(holder), _) => format!("running ({holder})"),
        (None, false) if is_running(state, processes) => {
            "running, according to the processes' statuses".to_owned()
        }
        (None, true) => "complete".to_owned(),
        (None, false) if state.is_empty() => "not begun".to_owned(),
        (None, false) if state.model.is_some() => {
            "stopped after training; `topicmill run` continues with projection".to_owned()
        }
        (None, false) if processes.refusal().is_some() => {
            "stopped; rerun the command that began it to resume".to_owned()
        }
        (None, false) => "stopped; rerun the same command to resume".to_owned(),
    }
}

/// Describes the end of the latest command, if it failed before it changed anything.
fn refusal(state: &RunState, processes: &Processes<'_>) -> Option<String> {
    if is_running(state, processes) {
        return None;
    }
    let exit = processes.refusal()?;
    let kept = if state.complete {
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

fn json_of(state: &RunState, processes: &Processes<'_>) -> serde_json::Value {
    let unfinished = |(name, bytes): &(String, u64)| json!({ "name": name, "bytes": bytes });
    let point = |(round, value)| json!({ "round": round, "loglik_per_token": value });
    let trend = held_out(state).into_iter();
    let is_running = is_running(state, processes);
    json!({
        "running": is_running,
        "holder": state.holder,
        "complete": state.complete,
        "ingest": state.collection.as_ref().map(|c| json!({
            "documents": c.documents,
            "shards": c.shards.len(),
            "terms": c.terms_kept,
            "tokens": c.tokens_in_vocabulary,
        })),
        "now": processes.overall().filter(|_| is_running),
        "silent": processes.silent(),
        "lost": processes.lost(),
        "processes": processes.json(),
        "checkpoint_written": processes.checkpoint().map(|checkpoint| json!({
            "round": checkpoint.round,
            "bytes": checkpoint.bytes,
            "seconds": checkpoint.seconds,
            "age_seconds": processes.age(&checkpoint).as_secs_f64(),
        })),
        "checkpoint": state.checkpoint.as_ref().map(|h| json!({ "rounds": h.rounds })),
        "model": state.model.as_ref().map(|h| json!({ "rounds": h.rounds, "topics": h.topic_count })),
        "heldout": trend.map(point).collect::<Vec<_>>(),
        "tables": state.tables,
        "unfinished": state.unfinished.iter().map(unfinished).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Header;
    use crate::observe::status::{
        Evaluation, PhaseProgress, ProcessStatus, TrainingProgress, unix_millis,
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
    fn later(state: &RunState, seconds: u64) -> Processes<'_> {
        Processes {
            all: &state.processes,
            now: SystemTime::now() + Duration::from_secs(seconds),
            is_locked: state.holder.is_some(),
            here: "elsewhere",
            silent_after: 5 * STATUS_EVERY,
        }
    }

    #[test]
    fn a_stopped_run_shows_its_checkpoint_and_trend() {
        let state = state();
        let text = plan::rows(&rows_of(&state, &later(&state, 0)));
        assert!(text.contains("stopped; rerun the same command to resume"), "{text}");
        assert!(text.contains("checkpoint after round 20"), "{text}");
        assert!(text.contains("-8.8100 (round 20) nats per token"), "{text}");
        assert!(!text.contains("(round 8)") && text.contains("(round 10)"), "{text}");
        assert!(text.contains("2 files, 1.5 KiB"), "{text}");
        let json = json_of(&state, &later(&state, 0));
        assert_eq!(json["heldout"][9]["round"], 20);
        assert_eq!((&json["running"], &json["ingest"]), (&json!(false), &json!(null)));
    }

    #[test]
    fn a_running_one_names_its_holder() {
        let holder = Some("process 12".to_owned());
        let running = RunState { holder, ..state() };
        assert_eq!(state_of(&running, &later(&running, 0)), "running (process 12)");
        let complete = RunState { complete: true, ..state() };
        assert_eq!(state_of(&complete, &later(&complete, 0)), "complete");
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
                heldout: vec![Evaluation { round: 25, loglik_per_token: -8.5 }],
                ..Default::default()
            },
            ..Default::default()
        };
        let processes = vec![status];
        let running = RunState { processes, ..state() };
        let text = plan::rows(&rows_of(&running, &later(&running, 0)));
        assert!(text.contains("running, according to the processes' statuses"), "{text}");
        assert!(text.contains("train: under way"), "{text}");
        assert!(text.contains("-8.8100 (round 20), -8.5000 (round 25)"), "{text}");
        assert!(state_of(&running, &later(&running, 60)).starts_with("stopped"));
        assert_eq!(json_of(&running, &later(&running, 60))["silent"], json!([0]));
    }
}
