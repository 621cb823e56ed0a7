//! The content of `/metrics`: OpenMetrics text, generated for each scrape.
//!
//! docs/OPERATIONS.md lists the names. Values that are not known yet (a held-out figure, a
//! checkpoint) are absent, not 0.

use std::sync::atomic::AtomicU64;
use std::time::SystemTime;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::job::process_status::{ProcessStatus, since};
use crate::job::{Work, WorkStage};
use lda::train::RoundSeconds;
use mesh::PeerTraffic;

/// Names and values that distinguish a metric's series.
type Labels = Vec<(&'static str, String)>;
type FloatGauge = Gauge<f64, AtomicU64>;
type FloatCounter = Counter<f64, AtomicU64>;

/// The figures from which metrics are made.
pub(super) struct Figures {
    pub(super) status: ProcessStatus,
    pub(super) spent: RoundSeconds,
    pub(super) worked: [Work; WorkStage::ALL.len()],
    /// With every other process; none for a run of one.
    pub(super) traffic: Vec<PeerTraffic>,
}

/// The metrics as text.
pub(super) fn render(figures: &Figures) -> String {
    let mut registry = Registry::with_prefix("topicmill");
    process(&mut registry, &figures.status);
    traffic(&mut registry, &figures.traffic);
    phase(&mut registry, &figures.status);
    work(&mut registry, &figures.worked);
    training(&mut registry, &figures.status, &figures.spent);
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

/// Which process this is, and what it has used.
fn process(registry: &mut Registry, status: &ProcessStatus) {
    let build = Info::new(vec![("version", status.version.clone())]);
    registry.register("build", "The program", build);
    let run = vec![("job", status.job.clone()), ("run", status.run.clone())];
    registry.register(
        "run",
        "The job's id and the attempt's token",
        Info::new(run),
    );
    let counts = [
        ("process", "Number of this process, from 0", status.process),
        ("processes", "Processes of the run", status.processes),
        ("workers", "Worker threads of this process", status.threads),
    ];
    for (name, help, value) in counts {
        gauge(registry, name, help, value as f64);
    }
    let memory = [
        ("resident_memory", "Memory in use", status.memory_bytes),
        ("peak_memory", "Peak memory", status.peak_memory_bytes),
    ];
    for (name, help, bytes) in memory {
        let Some(bytes) = bytes else { continue };
        let gauge = FloatGauge::default();
        gauge.set(bytes as f64);
        registry.register_with_unit(name, help, Unit::Bytes, gauge);
    }
    let seconds = since(status.started_unix_ms, SystemTime::now()).as_secs_f64();
    gauge_seconds(
        registry,
        "uptime",
        "Seconds since the process started",
        seconds,
    );
}

/// Bytes over the links, by peer.
fn traffic(registry: &mut Registry, peers: &[PeerTraffic]) {
    if peers.is_empty() {
        return;
    }
    let sent = Family::<Labels, Counter>::default();
    let received = Family::<Labels, Counter>::default();
    for peer in peers {
        let labels = vec![("peer", peer.process.to_string())];
        sent.get_or_create(&labels).inc_by(peer.sent);
        received.get_or_create(&labels).inc_by(peer.received);
    }
    let help = "Over the wire, by the peer's number";
    registry.register_with_unit("sent", help, Unit::Bytes, sent);
    registry.register_with_unit("received", help, Unit::Bytes, received);
}

/// The current phase and its progress.
fn phase(registry: &mut Registry, status: &ProcessStatus) {
    if status.phase.is_empty() {
        return;
    }
    let phase = || vec![("phase", status.phase.clone())];
    let counted = || {
        vec![
            ("phase", status.phase.clone()),
            ("unit", status.unit.clone()),
        ]
    };
    let figures = [
        ("phase", "1 for the current phase", phase(), Some(1.0)),
        (
            "phase_done",
            "Units of the phase that are done",
            counted(),
            Some(status.done as f64),
        ),
        (
            "phase_size",
            "Units of the phase in total",
            counted(),
            status.total.map(|n| n as f64),
        ),
    ];
    for (name, help, labels, value) in figures {
        let Some(value) = value else { continue };
        let family = Family::<Labels, FloatGauge>::default();
        family.get_or_create(&labels).set(value);
        registry.register(name, help, family);
    }
}

/// Documents and tokens by stage.
fn work(registry: &mut Registry, worked: &[Work; WorkStage::ALL.len()]) {
    let documents = Family::<Labels, Counter>::default();
    let tokens = Family::<Labels, Counter>::default();
    for (stage, work) in WorkStage::ALL.into_iter().zip(worked) {
        let labels = vec![("stage", stage.name().to_owned())];
        documents.get_or_create(&labels).inc_by(work.documents);
        tokens.get_or_create(&labels).inc_by(work.tokens);
    }
    let help = "Processed by this process, by stage";
    registry.register("documents", help, documents);
    registry.register("tokens", help, tokens);
}

fn training(registry: &mut Registry, status: &ProcessStatus, spent: &RoundSeconds) {
    gauge(
        registry,
        "rounds",
        "Training rounds done",
        status.rounds as f64,
    );
    if let Some(latest) = status.heldout.last() {
        let help = "Latest held-out log-likelihood per token, in nats";
        gauge(
            registry,
            "heldout_loglik_per_token",
            help,
            latest.loglik_per_token,
        );
    }
    let seconds = Family::<Labels, FloatCounter>::default();
    for (part, value) in [
        ("preparing", spent.preparing),
        ("sampling", spent.sampling),
        ("aggregating", spent.aggregating),
        ("exchanging", spent.exchanging),
        ("updating", spent.updating),
    ] {
        let labels = vec![("part", part.to_owned())];
        seconds.get_or_create(&labels).inc_by(value);
    }
    let help = "Of the process's first worker, by part of a training round";
    registry.register_with_unit("round", help, Unit::Seconds, seconds);
    if let Some(checkpoint) = &status.checkpoint {
        let help = "Rounds in the newest checkpoint of this attempt";
        gauge(registry, "checkpoint_rounds", help, checkpoint.round as f64);
        let age = since(checkpoint.written_unix_ms, SystemTime::now()).as_secs_f64();
        gauge_seconds(
            registry,
            "checkpoint_age",
            "Age of the newest checkpoint",
            age,
        );
    }
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: f64) {
    let gauge = FloatGauge::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

fn gauge_seconds(registry: &mut Registry, name: &str, help: &str, seconds: f64) {
    let gauge = FloatGauge::default();
    gauge.set(seconds);
    registry.register_with_unit(name, help, Unit::Seconds, gauge);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::job::process_status::{CheckpointStatus, Evaluation};

    fn figures(status: ProcessStatus) -> Figures {
        Figures {
            status,
            spent: RoundSeconds {
                sampling: 1.5,
                ..Default::default()
            },
            worked: [
                Work::default(),
                Work {
                    documents: 5,
                    tokens: 70,
                },
                Work::default(),
            ],
            traffic: Vec::new(),
        }
    }

    #[test]
    fn what_is_known_is_told_with_units_and_an_end() {
        let mut figures = figures(ProcessStatus {
            version: "1.2.3".to_owned(),
            phase: "train".to_owned(),
            unit: "rounds".to_owned(),
            done: 7,
            heldout: vec![Evaluation {
                round: 5,
                loglik_per_token: -7.5,
            }],
            checkpoint: Some(CheckpointStatus {
                round: 5,
                ..Default::default()
            }),
            ..Default::default()
        });
        figures.traffic.push(PeerTraffic {
            process: 1,
            sent: 9,
            received: 8,
            payload_sent: 7,
            payload_received: 6,
            silence: Duration::ZERO,
        });
        let text = render(&figures);
        for line in [
            "topicmill_build_info{version=\"1.2.3\"} 1",
            "topicmill_phase{phase=\"train\"} 1.0",
            "topicmill_phase_done{phase=\"train\",unit=\"rounds\"} 7.0",
            "topicmill_documents_total{stage=\"train\"} 5",
            "topicmill_tokens_total{stage=\"train\"} 70",
            "topicmill_sent_bytes_total{peer=\"1\"} 9",
            "topicmill_received_bytes_total{peer=\"1\"} 8",
            "topicmill_heldout_loglik_per_token -7.5",
            "topicmill_round_seconds_total{part=\"sampling\"} 1.5",
            "topicmill_checkpoint_rounds 5.0",
            "# UNIT topicmill_round_seconds seconds",
        ] {
            assert!(text.lines().any(|one| one == line), "no {line} in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        assert!(!text.contains("phase_size"), "{text}");
    }

    #[test]
    fn what_is_not_known_is_absent() {
        let text = render(&figures(ProcessStatus::default()));
        for name in ["heldout", "checkpoint", "resident_memory", "phase"] {
            assert!(!text.contains(name), "{name} in\n{text}");
        }
    }
}
