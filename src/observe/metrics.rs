//! The metrics of a process, in Prometheus's text format, for node_exporter's textfile collector.
//!
//! docs/OPERATIONS.md lists the names. Every sample has the label `process`, so that one collector can read the files
//! of several processes. Values that are not known yet (a held-out figure, a checkpoint) are absent, not 0.

use std::fmt::{Debug, Display};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::status::{ProcessStatus, STATUS_EVERY, Work, WorkStage, replace, since};
use super::{Moment, StatusSink};
use mesh::PeerTraffic;

/// A sample of a metric: its labels and its value.
type MetricSample = (Vec<(&'static str, String)>, String);

/// The metrics of a process as a file in this folder.
pub(super) struct MetricsFile(pub(super) PathBuf);

impl StatusSink for MetricsFile {
    fn every(&self) -> Duration {
        STATUS_EVERY
    }

    fn take(&mut self, moment: Moment, status: &ProcessStatus) {
        if moment != Moment::End && status.has_joined {
            let file = self.0.join(format!("metrics-{:05}.prom", status.process));
            // If this fails, the next one may succeed.
            let _ = replace(&file, render(status, &mesh::traffic()).as_bytes());
        }
    }
}

/// A metric: its type, name and help, and its values, as far as they are known. A name ends in the unit, if there is
/// one, and counters in `_total`.
type MetricRow = (&'static str, &'static str, &'static str, Vec<MetricSample>);

/// Returns the metrics as text; `traffic` is that with every other process.
fn render(status: &ProcessStatus, traffic: &[PeerTraffic]) -> String {
    let mut text = String::new();
    for (kind, name, help, samples) in metrics(status, traffic) {
        if samples.is_empty() {
            continue;
        }
        text += &format!("# HELP topicmill_{name} {help}.\n# TYPE topicmill_{name} {kind}\n");
        for (labels, value) in samples {
            let quoted = labels.iter().map(|(label, value)| format!(",{label}={}", quoted(value)));
            let labels: String = quoted.collect();
            let process = status.process;
            text += &format!("topicmill_{name}{{process=\"{process}\"{labels}}} {value}\n");
        }
    }
    text
}

fn metrics(status: &ProcessStatus, traffic: &[PeerTraffic]) -> Vec<MetricRow> {
    let (now, training) = (&status.now, &status.training);
    let (spent, checkpoint) = (&training.spent, training.checkpoint.as_ref());
    let age = |unix_ms| since(unix_ms, SystemTime::now()).as_secs_f64();
    let by_peer = |bytes: fn(&PeerTraffic) -> u64| {
        by("peer", traffic.iter().map(|peer| (peer.process, bytes(peer))))
    };
    let by_stage = |count: fn(&Work) -> u64| {
        let stages = WorkStage::NAMED.iter().zip(&status.worked);
        by("stage", stages.map(|((_, name), work)| (name, count(work))))
    };
    let phase = [("phase", &*now.phase), ("unit", &now.unit)];
    let of_phase = |labels, value: Option<f64>| {
        let value = value.filter(|_| !now.phase.is_empty());
        value.map(|value| sample(labels, value)).into_iter().collect()
    };
    let parts = [
        ("preparing", spent.preparing),
        ("sampling", spent.sampling),
        ("aggregating", spent.aggregating),
        ("exchanging", spent.exchanging),
        ("updating", spent.updating),
    ];
    let build = vec![sample(&[("version", &status.version)], 1)];
    let run = vec![sample(&[("job", &status.job), ("run", &status.run)], 1)];
    let memory = one(status.memory_bytes.map(|n| n as f64));
    let peak = one(status.peak_memory_bytes.map(|n| n as f64));
    let heldout = one(training.heldout.last().map(|it| it.loglik_per_token));
    let stage = "Processed by this process, by stage";
    let wire = "Over the wire, by the peer's number";
    vec![
        ("gauge", "build_info", "The program", build),
        ("gauge", "run_info", "The job's id and the attempt's token", run),
        ("gauge", "processes", "Processes of the run", one(Some(status.processes as f64))),
        ("gauge", "workers", "Worker threads of this process", one(Some(status.threads as f64))),
        ("gauge", "resident_memory_bytes", "Memory in use", memory),
        ("gauge", "peak_memory_bytes", "Peak memory", peak),
        (
            "gauge",
            "uptime_seconds",
            "Seconds since the process started",
            one(Some(age(status.started_unix_ms))),
        ),
        ("counter", "sent_bytes_total", wire, by_peer(|peer| peer.sent)),
        ("counter", "received_bytes_total", wire, by_peer(|peer| peer.received)),
        ("gauge", "phase", "1 for the current phase", of_phase(&phase[..1], Some(1.0))),
        (
            "gauge",
            "phase_done",
            "Units of the phase that are done",
            of_phase(&phase, Some(now.done as f64)),
        ),
        (
            "gauge",
            "phase_size",
            "Units of the phase in total",
            of_phase(&phase, now.total.map(|n| n as f64)),
        ),
        ("counter", "documents_total", stage, by_stage(|work| work.documents)),
        ("counter", "tokens_total", stage, by_stage(|work| work.tokens)),
        ("gauge", "rounds", "Training rounds done", one(Some(training.rounds as f64))),
        (
            "gauge",
            "heldout_loglik_per_token",
            "Latest held-out log-likelihood per token, in nats",
            heldout,
        ),
        (
            "counter",
            "round_seconds_total",
            "Of the process's first worker, by part of a training round",
            by("part", parts),
        ),
        (
            "gauge",
            "checkpoint_rounds",
            "Rounds in the newest checkpoint of this attempt",
            one(checkpoint.map(|it| it.round as f64)),
        ),
        (
            "gauge",
            "checkpoint_age_seconds",
            "Age of the newest checkpoint",
            one(checkpoint.map(|it| age(it.written_unix_ms))),
        ),
    ]
}

/// Returns a value without labels, if it is known.
fn one(value: Option<f64>) -> Vec<MetricSample> {
    value.map(|value| sample(&[], value)).into_iter().collect()
}

/// Returns a value for each value of a label.
fn by<L: Display, V: Debug>(
    label: &'static str,
    values: impl IntoIterator<Item = (L, V)>,
) -> Vec<MetricSample> {
    let values = values.into_iter();
    values.map(|(of, value)| sample(&[(label, &of.to_string())], value)).collect()
}

fn sample(labels: &[(&'static str, &str)], value: impl Debug) -> MetricSample {
    let labels = labels.iter().map(|&(label, text)| (label, text.to_owned())).collect();
    (labels, format!("{value:?}"))
}

/// Returns a label's value in quotes.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', r"\\").replace('\n', r"\n");
    format!("\"{}\"", text.replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::status::{CheckpointStatus, HeldOutScore, PhaseProgress, TrainingProgress};
    use lda::train::RoundSeconds;

    #[test]
    fn what_is_known_is_told() {
        let status = ProcessStatus {
            process: 3,
            version: "1.2.3".to_owned(),
            job: "a \"b\"\n\\".to_owned(),
            now: PhaseProgress {
                phase: "train".to_owned(),
                unit: "rounds".to_owned(),
                done: 7,
                ..Default::default()
            },
            training: TrainingProgress {
                heldout: vec![HeldOutScore { round: 5, loglik_per_token: -7.5 }],
                checkpoint: Some(CheckpointStatus { round: 5, ..Default::default() }),
                spent: RoundSeconds { sampling: 1.5, ..Default::default() },
                ..Default::default()
            },
            worked: [Work::default(), Work { documents: 5, tokens: 70 }, Work::default()],
            ..Default::default()
        };
        let peer = PeerTraffic { process: 1, sent: 9, received: 8, payload_sent: 7 };
        let text = render(&status, &[peer]);
        for line in [
            "topicmill_build_info{process=\"3\",version=\"1.2.3\"} 1",
            r#"topicmill_run_info{process="3",job="a \"b\"\n\\",run=""} 1"#,
            "# HELP topicmill_phase 1 for the current phase.",
            "# TYPE topicmill_tokens_total counter",
            "topicmill_phase{process=\"3\",phase=\"train\"} 1.0",
            "topicmill_phase_done{process=\"3\",phase=\"train\",unit=\"rounds\"} 7.0",
            "topicmill_documents_total{process=\"3\",stage=\"train\"} 5",
            "topicmill_tokens_total{process=\"3\",stage=\"train\"} 70",
            "topicmill_sent_bytes_total{process=\"3\",peer=\"1\"} 9",
            "topicmill_received_bytes_total{process=\"3\",peer=\"1\"} 8",
            "topicmill_heldout_loglik_per_token{process=\"3\"} -7.5",
            "topicmill_round_seconds_total{process=\"3\",part=\"sampling\"} 1.5",
            "topicmill_checkpoint_rounds{process=\"3\"} 5.0",
        ] {
            assert!(text.lines().any(|one| one == line), "no {line} in\n{text}");
        }
        assert!(!text.contains("phase_size"), "{text}");
    }

    #[test]
    fn what_is_not_known_is_absent() {
        let text = render(&ProcessStatus::default(), &[]);
        for name in ["heldout", "checkpoint", "resident_memory", "phase"] {
            assert!(!text.contains(name), "{name} in\n{text}");
        }
    }
}
