//! The sample output's tables of figures.

use super::*;
use crate::tables::document_scores::DocumentScoreRow;
use crate::tables::drift::DriftRow;
use crate::tables::evaluation::EvaluationRow;
use crate::tables::generations::GenerationRow;
use crate::tables::group_topics::GroupTopicRow;
use crate::tables::sweep::SweepRow;
use crate::tables::sweep_matches::SweepMatchRow;
use crate::tables::sweep_sizes::SweepSizeRow;
use crate::tables::sweep_topics::SweepTopicRow;
use crate::tables::topic_changes::TopicChangeRow;
use crate::tables::topic_concentration::TopicConcentrationRow;
use crate::tables::topic_correlations::TopicCorrelationRow;
use crate::tables::topic_nodes::TopicNodeRow;
use crate::tables::topic_scores::TopicScoreRow;
use crate::tables::topic_stability::TopicStabilityRow;
use crate::tables::topic_term_diagnostics::TopicTermDiagnosticsRow;
use crate::tables::topic_trends::TopicTrendRow;
use crate::tables::training_log::TrainingLogRow;

pub(super) fn write_diagnostics(output: &Output, terms: &[String]) {
    let rows = (0..3).flat_map(|topic| {
        let rows = [(0.5, 1, 0.5), (0.3, 2, 0.8)];
        rows.map(move |(weight, rank, cumulative)| TopicTermDiagnosticsRow {
            topic,
            rank,
            term_id: rank,
            term: terms[rank as usize].clone(),
            count: 2.5,
            weight,
            cumulative,
            documents: (rank == 1).then_some(6),
            word_length: 4,
            coherence: (rank == 1).then_some(0.0),
            uniform_distance: -0.1,
            corpus_distance: Some(0.3),
            token_document_difference: (rank == 1).then_some(0.0),
            exclusivity: 0.75,
        })
    });
    part!(output, "topic_term_diagnostics", rows);
    let line = |group_id: Option<&'static str>, terms: i64| DriftRow {
        scope: if group_id.is_some() { "group" } else { "run" }.to_owned(),
        group_id: group_id.map(str::to_owned),
        documents: 2,
        tokens: 8,
        tokens_in_vocabulary: 6,
        known_tokens: 6,
        terms,
        known_terms: 2,
        known_term_share: (terms > 0).then_some(2.0 / terms as f64),
        known_token_share: Some(0.75),
        topic_shift_js: Some(0.1),
        topic_shift_hellinger: None,
        loglik_per_token: Some(-7.0),
        loglik_shift: Some(-0.5),
        retrain: terms == 4,
    };
    let rows = [line(Some("a"), 2), line(Some("b"), 4), line(None, 4)];
    part!(output, "drift", rows);
    let row = |generation: i32, known_terms: i64| GenerationRow {
        generation,
        unix_seconds: (generation > 0).then_some(1_764_400_000),
        input: vec!["more.jsonl".to_owned(); generation as usize],
        came: 2,
        documents: 2,
        tokens: 8,
        tokens_in_vocabulary: 6,
        terms: 10,
        known_terms,
        known_term_share: Some(known_terms as f64 / 10.0),
        loglik_per_token: Some(-7.0),
        coverage_shift: (known_terms < 7).then_some(-0.6),
        coverage_z: Some(-5.0),
        retrain: known_terms < 7,
        ..GenerationRow::default()
    };
    part!(output, "generations", [row(0, 10), row(1, 6)]);
}

pub(super) fn write_figures(output: &Output) {
    write_trees(output);
    let rows = (1..4).map(|round| TrainingLogRow {
        round,
        pass: 1,
        phase: "online".to_owned(),
        documents_seen: 3,
        tokens_seen: 15,
        step_size: 0.5,
        alpha_sum: 5.0,
        seconds: 0.25,
        tokens_per_second: 60.0,
        heldout_loglik_per_token: (round == 3).then_some(-7.9),
        coherence_npmi: None,
        nonzero_share: 0.5,
        preparing_seconds: 0.01,
        sampling_seconds: 0.2,
        aggregating_seconds: 0.01,
        exchanging_seconds: 0.02,
        updating_seconds: 0.01,
        bytes_exchanged: 100,
    });
    part!(output, "training_log", rows);
    let rows = [None, Some(0.01)].map(|standard_error| EvaluationRow {
        metric: "heldout_loglik_per_token".to_owned(),
        method: "document_completion".to_owned(),
        split: "held_out".to_owned(),
        unit: "nats/token".to_owned(),
        value: -7.9,
        standard_error,
    });
    part!(output, "evaluation", rows);
    let rows = [(0, "document_completion"), (0, "left_to_right"), (4, "left_to_right")];
    let rows = rows.map(|(doc_id, method)| DocumentScoreRow {
        doc_id,
        method: method.to_owned(),
        log_likelihood: -7.5 * (1 + doc_id) as f64,
        tokens: 1 + doc_id,
    });
    part!(output, "document_scores", rows);
    let rows = [Some(-3.5), Some(-2.25), None].into_iter().enumerate();
    let rows = rows.map(|(topic, value)| TopicScoreRow {
        topic: topic as i32,
        metric: "coherence_umass".to_owned(),
        split: "sample".to_owned(),
        value,
    });
    part!(output, "topic_scores", rows);
    write_rollups(output);
}

fn write_trees(output: &Output) {
    let rows = (1..=2).map(|node| TopicNodeRow {
        topic: 1,
        node,
        parent: node - 1,
        path: "money".to_owned(),
        term: (node == 2).then(|| "bank".to_owned()),
        weight: 0.5,
        count: 3.0,
    });
    part!(output, "topic_nodes", rows);
    let terms = ["bank".to_owned()];
    let rows = (0..2).map(|topic| TopicChangeRow {
        topic,
        distance: 0.25,
        nearest: topic,
        nearest_distance: 0.25,
        share_before: 0.5,
        share: 0.5,
        gained: terms[..1 - topic as usize].to_vec(),
        lost: terms[..topic as usize].to_vec(),
    });
    part!(output, "topic_changes", rows);
}

fn write_rollups(output: &Output) {
    let rows = [(0, 0.4), (2, 0.3), (1, 0.2)].into_iter().zip(1..);
    let rows = rows.map(|((topic, weight), rank)| GroupTopicRow {
        group_id: "volume".to_owned(),
        topic,
        weight,
        rank,
        tokens: 40,
        documents: 8,
    });
    part!(output, "group_topics", rows);
    let values = [(Some("1905"), 1, 1), (None, 0, 2), (None, 4, 3)];
    let rows = values.into_iter().flat_map(|(value, value_count, documents)| {
        [(0, 0.5), (2, 0.25)].map(|(topic, share)| TopicTrendRow {
            name: "year".to_owned(),
            value: value.map(str::to_owned),
            value_count,
            topic,
            share,
            low: (documents > 1).then_some(0.2),
            high: (documents > 1).then_some(0.75),
            tokens: 5 * documents,
            documents,
        })
    });
    part!(output, "topic_trends", rows);
    let rows = [(0, 1), (0, 2), (1, 2)].map(|(topic, other)| TopicCorrelationRow {
        topic,
        other,
        correlation: (topic == 0).then_some(-0.25),
        npmi: (other == 2).then_some(0.5),
        documents: 3,
    });
    part!(output, "topic_correlations", rows);
    let rows = [
        (0, "group_id", "volume", 1.0),
        (2, "source_id", "again", 0.5),
        (2, "source_id", "again", 0.25),
    ];
    let rows = rows.map(|(topic, name, value, share)| TopicConcentrationRow {
        topic,
        name: name.to_owned(),
        value: value.to_owned(),
        documents: 1,
        share,
        collection_share: 0.125,
    });
    part!(output, "topic_concentration", rows);
}

pub(super) fn write_sweep(output: &Output) {
    let rows = (1..=2).map(|seed| SweepRow { topics: 3, seed, ..SweepRow::default() });
    part!(output, "sweep", rows);
    part!(
        output,
        "sweep_sizes",
        [SweepSizeRow { topics: 3, models: 2, ..SweepSizeRow::default() }]
    );
    let rows = (0..3).map(|topic| SweepTopicRow {
        topics: 3,
        seed: 1,
        topic,
        top_terms: vec!["gold".to_owned()],
        ..SweepTopicRow::default()
    });
    part!(output, "sweep_topics", rows);
    let rows = (0..3).map(|topic| SweepMatchRow {
        topics: 3,
        seed: 1,
        topic,
        other_topics: 3,
        other_seed: 2,
        partner: (topic > 0).then_some(topic),
        ..SweepMatchRow::default()
    });
    part!(output, "sweep_matches", rows);
    let rows = (0..3).map(|topic| TopicStabilityRow { topic, stability: 0.5, models: 2 });
    part!(output, "topic_stability", rows);
}
