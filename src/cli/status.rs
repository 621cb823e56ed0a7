//! `topicmill status OUT`: how far a run is, read from its output folder.

use serde_json::json;

use super::args::StatusArgs;
use super::{Exit, Failure, figures, plan};
use crate::checkpoint::Header;
use crate::job::state::RunState;
use crate::storage::object::is_remote;
use crate::tables::output::check_ours;

/// Held-out figures that are shown, the latest ones.
const TREND: usize = 6;

/// Prints how far the run is.
///
/// # Errors
/// There is no such folder, or it is not a run's; it cannot be read; stdout cannot be written.
pub(super) fn run(args: &StatusArgs) -> Result<(), Failure> {
    super::existing_output(&args.output)?;
    if !is_remote(&args.output) && !args.output.is_dir() {
        let message = format!("{}: not a folder", args.output.display());
        return Err(
            Failure::message(Exit::Usage, message).help("give what a job names as `output.path`")
        );
    }
    check_ours(&args.output)?;
    let state = RunState::read(&args.output)?;
    if args.json {
        return super::print_json(&json_of(&state));
    }
    let mut rows = vec![("output", args.output.display().to_string())];
    rows.extend(rows_of(&state));
    super::print(&plan::rows(&rows))
}

fn rows_of(state: &RunState) -> Vec<(&'static str, String)> {
    let mut rows = vec![("state", state_of(state)), ("ingest", ingest(state))];
    rows.push(("train", train(state)));
    if let Some(trend) = latest(state).and_then(trend) {
        rows.push(("held-out", trend));
    }
    rows.push(("tables", tables(state)));
    if !state.unfinished.is_empty() {
        let bytes = state.unfinished.iter().map(|(_, bytes)| bytes).sum();
        let count = figures::grouped(state.unfinished.len() as u64);
        let files = format!("{count} files, {}", figures::bytes(bytes));
        rows.push(("unfinished", files));
    }
    rows
}

fn state_of(state: &RunState) -> String {
    match (&state.holder, state.complete) {
        (Some(holder), _) => format!("running ({holder})"),
        (None, true) => "complete".to_owned(),
        (None, false) if state.is_empty() => "not begun".to_owned(),
        (None, false) => "stopped; the same command goes on".to_owned(),
    }
}

fn ingest(state: &RunState) -> String {
    match &state.collection {
        None => "not complete".to_owned(),
        Some(collection) => format!(
            "complete: {} documents in {} shards, {} terms kept, {} tokens of them",
            figures::grouped(collection.documents),
            figures::grouped(collection.shards.len() as u64),
            figures::grouped(collection.terms_kept),
            figures::grouped(collection.tokens_in_vocabulary),
        ),
    }
}

fn train(state: &RunState) -> String {
    match (&state.model, &state.checkpoint) {
        (Some(model), _) => format!(
            "complete: {} topics after {} rounds",
            model.topic_count,
            figures::grouped(model.rounds),
        ),
        (None, Some(checkpoint)) => format!(
            "not complete; checkpoint after round {}",
            figures::grouped(checkpoint.rounds)
        ),
        (None, None) => "not complete; no checkpoint".to_owned(),
    }
}

fn tables(state: &RunState) -> String {
    if state.tables.is_empty() {
        return "none".to_owned();
    }
    let table = |table: &crate::tables::read::TableListing| {
        format!("{} ({} rows)", table.name, figures::grouped(table.rows))
    };
    state
        .tables
        .iter()
        .map(table)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The header that knows the training log: a finished model's does not.
fn latest(state: &RunState) -> Option<&Header> {
    let headers = [&state.checkpoint, &state.model];
    headers.into_iter().flatten().find(|h| !h.log.is_empty())
}

/// "-8.1203 (round 10), -7.9120 (round 20) nats per token".
fn trend(header: &Header) -> Option<String> {
    let evaluated = held_out(header);
    let shown = &evaluated[evaluated.len().saturating_sub(TREND)..];
    let figure = |(round, value): &(u64, f64)| format!("{value:.4} (round {round})");
    let figures: Vec<String> = shown.iter().map(figure).collect();
    (!figures.is_empty()).then(|| format!("{} nats per token", figures.join(", ")))
}

/// Rounds, from 1, with their held-out figures.
fn held_out(header: &Header) -> Vec<(u64, f64)> {
    let evaluated = |report: &crate::train::RoundReport| Some((report.round + 1, report.heldout?));
    header.log.iter().filter_map(evaluated).collect()
}

fn json_of(state: &RunState) -> serde_json::Value {
    let unfinished = |(name, bytes): &(String, u64)| json!({ "name": name, "bytes": bytes });
    let point = |(round, value)| json!({ "round": round, "loglik_per_token": value });
    let trend = latest(state).map(held_out).unwrap_or_default().into_iter();
    let table = |t: &crate::tables::read::TableListing| json!({ "table": t.name, "parts": t.parts, "rows": t.rows, "bytes": t.bytes });
    json!({
        "running": state.holder.is_some(),
        "holder": state.holder,
        "complete": state.complete,
        "ingest": state.collection.as_ref().map(|c| json!({
            "documents": c.documents,
            "shards": c.shards.len(),
            "terms": c.terms_kept,
            "tokens": c.tokens_in_vocabulary,
        })),
        "checkpoint": state.checkpoint.as_ref().map(|h| json!({ "rounds": h.rounds })),
        "model": state.model.as_ref().map(|h| json!({ "rounds": h.rounds, "topics": h.topic_count })),
        "heldout": trend.map(point).collect::<Vec<_>>(),
        "tables": state.tables.iter().map(table).collect::<Vec<_>>(),
        "unfinished": state.unfinished.iter().map(unfinished).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Priors;
    use crate::train::schedule::{Phase, StopRule};
    use crate::train::{RoundReport, RoundSeconds};

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
            priors: Priors {
                alpha: vec![0.1; 5],
                eta: 0.1,
                exp_psi: false,
            },
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
        }
    }

    #[test]
    fn a_stopped_run_shows_its_checkpoint_and_trend() {
        let text = plan::rows(&rows_of(&state()));
        assert!(text.contains("stopped; the same command goes on"), "{text}");
        assert!(text.contains("checkpoint after round 20"), "{text}");
        assert!(text.contains("-8.8100 (round 20) nats per token"), "{text}");
        assert!(
            !text.contains("(round 8)") && text.contains("(round 10)"),
            "{text}"
        );
        assert!(text.contains("2 files, 1.5 KiB"), "{text}");
        let json = json_of(&state());
        assert_eq!(json["heldout"][9]["round"], 20);
        assert_eq!(
            (&json["running"], &json["ingest"]),
            (&json!(false), &json!(null))
        );
    }

    #[test]
    fn a_running_one_names_its_holder() {
        let holder = Some("process 12".to_owned());
        let running = RunState { holder, ..state() };
        assert_eq!(state_of(&running), "running (process 12)");
        let complete = RunState {
            complete: true,
            ..state()
        };
        assert_eq!(state_of(&complete), "complete");
    }
}
