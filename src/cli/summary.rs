//! The end of a run: the topics as a table, the figures, and commands for the next steps.

use std::ffi::OsStr;

use super::pictures::{curve, page_width, table};
use super::{Display, Failure, figures, plan};
use crate::config::Job;
use crate::observe::summary::{DriftSummary, IngestSummary, Summary, TrainSummary};
use crate::tables::topic_changes::TopicChangeRow;
use crate::tables::topics::{TopicLine, topic_lines};
use crate::tables::training_log::{CurvePoint, training_curve};
use crate::tables::warnings::{Warning, soundness};
use corpus::boilerplate::LeftOut;
use mesh::launch::quote;
use store::is_remote;

/// The score of fewer held-out documents says little: their standard error, too, is a guess.
const FEW_HELD_OUT: u64 = 30;
/// Shifts of fewer new documents are not shown.
const FEW_DOCUMENTS: i64 = 100;
/// Maximum number of topics that a warning names.
const MOST_NAMED: usize = 5;
/// Maximum number of topics that are named as changed, and of terms that each has gained, and lost.
const MOST_MOVED: usize = 3;
const MOST_MOVED_TERMS: usize = 4;
/// Maximum number of rows in the table of topics; the table on disk has them all.
const MOST_TOPICS: usize = 30;

/// Prints the end of a run of `job`, completed from the tables of its output if these are on this machine.
/// `overrides` are the keys that the command line set, as `section.key=value`.
///
/// # Errors
/// A table cannot be read; stdout cannot be written.
pub(super) fn print(
    mut summary: Summary,
    job: &Job,
    overrides: &[String],
    display: Display,
) -> Result<(), Failure> {
    let mut curve = Vec::new();
    if !is_remote(&summary.output) {
        curve = training_curve(&summary.output)?;
        if summary.topics.is_empty() {
            summary.topics = topic_lines(&summary.output)?;
        }
    }
    match display {
        Display::Quiet => Ok(()),
        Display::Json | Display::QuietJson => super::print(&json_summary(&summary)),
        Display::Plain | Display::Bar => {
            super::print(&text(&summary, job, overrides, &curve, page_width()))
        }
    }
}

/// Returns the page, `width` characters wide.
fn text(
    summary: &Summary,
    job: &Job,
    overrides: &[String],
    curve: &[CurvePoint],
    width: usize,
) -> String {
    let mut page = String::new();
    if !summary.topics.is_empty() {
        page += &topic_table(&summary.topics, MOST_TOPICS, MOST_TERMS, width);
        page.push('\n');
    }
    page += &plan::rows(&figures_of(summary, curve));
    if summary.project.is_some() || !summary.topics.is_empty() {
        page += &next_lines(summary, job, overrides);
    }
    page
}

/// Says what a rule has left out: "encoded files of 27 documents (21,842 lines)".
pub(super) fn lines_left_out(left_out: &LeftOut) -> String {
    let documents = figures::counted(left_out.documents, "document");
    let lines = figures::counted(left_out.lines, "line");
    format!("{} of {documents} ({lines})", left_out.rule)
}

/// Returns the last line of `--json`.
fn json_summary(summary: &Summary) -> String {
    // Non-finite figures become null; nothing else can go wrong with plain data.
    let mut line = serde_json::to_string(summary).unwrap_or_default();
    line.push('\n');
    line
}

fn figures_of(summary: &Summary, points: &[CurvePoint]) -> Vec<(&'static str, String)> {
    let mut rows = vec![("documents", documents(summary))];
    rows.extend(summary.duplicates.map(|count| ("repeated", repeated(count))));
    if let Some(ingest) = &summary.ingest {
        let phrases = ingest.phrases.map_or_else(String::new, |phrases| {
            format!(", {} phrases found", figures::grouped(phrases))
        });
        let read = format!(
            "{} in {}: {}/s, {} documents/s; {} tokens, {} terms kept{phrases}",
            figures::bytes(ingest.bytes),
            figures::seconds(ingest.seconds),
            figures::bytes(ingest.bytes_per_second.max(0.0) as u64),
            figures::rate(ingest.documents_per_second),
            figures::grouped(ingest.tokens_total),
            figures::grouped(ingest.terms),
        );
        rows.push(("ingest", read));
        if ingest.tokens_stopped > 0 {
            rows.push(("stop words", stopped(ingest)));
        }
        if !ingest.left_out.is_empty() {
            let left_out: Vec<String> = ingest.left_out.iter().map(lines_left_out).collect();
            rows.push(("left out", left_out.join("; ")));
        }
    }
    if let Some(train) = &summary.train {
        let thinned = match train.thinned_documents {
            0 => String::new(),
            thinned => format!(" ({} of them in part)", figures::grouped(thinned)),
        };
        let trained = format!(
            "{} documents{thinned}, {} rounds in {}: {} tokens/s; ended: {}",
            figures::grouped(train.sample_documents),
            figures::grouped(train.rounds),
            figures::seconds(train.seconds),
            figures::rate(train.tokens_per_second),
            train.ended,
        );
        rows.extend(train.tree.clone().map(|tree| ("tree", tree)));
        rows.push(("train", trained));
        let held_out = held_out(train);
        let likelihoods = points.iter().filter_map(|p| p.heldout_loglik_per_token);
        let curve = curve(&likelihoods.collect::<Vec<_>>());
        rows.extend((!curve.is_empty()).then_some(("training", curve)));
        rows.extend(held_out.map(|line| ("held-out", line)));
    }
    if let Some(project) = &summary.project {
        let projected = format!(
            "{}: {} documents/s, {} tokens/s",
            figures::seconds(project.seconds),
            figures::rate(project.documents_per_second),
            figures::rate(project.tokens_per_second),
        );
        rows.push(("project", projected));
    }
    rows.extend(summary.drift.as_ref().map(|drift| ("drift", moved_documents(drift))));
    let labels = labels(summary);
    // The topic of a label has all words of its documents, so it is not a planted topic.
    let planted = summary.planted_found.filter(|_| labels.is_none());
    rows.extend(labels.map(|line| ("labels", line)));
    if let Some(findings) = &summary.findings {
        let count = figures::grouped(summary.topics.len() as u64);
        let are_sound = findings.iter().all(|warning| warning.topics.is_empty());
        let sound =
            if are_sound { format!(", {}", soundness(&summary.topics)) } else { String::new() };
        rows.push(("topics", format!("{count}{sound}")));
        rows.extend(findings.iter().map(|warning| ("warning", finding(warning))));
    }
    rows.extend(moved_topics(&summary.topics).map(|line| ("changes", line)));
    if let Some((found, planted)) = planted {
        rows.push(("planted", format!("{found} of {planted} topics recovered")));
    }
    if !summary.already_complete.is_empty() {
        rows.push((
            "complete",
            format!("{} (from an earlier run)", summary.already_complete.join(", ")),
        ));
    }
    let peak = summary.peak_memory_bytes;
    rows.extend(peak.map(|bytes| ("memory", format!("{} peak", figures::bytes(bytes)))));
    rows.push(("output", summary.output.display().to_string()));
    rows
}

/// Describes documents that repeat others: "1,204 documents nearly repeat an earlier one, and so were not trained on".
pub(super) fn repeated(count: u64) -> String {
    let documents = figures::counted(count, "document");
    let repeat = if count == 1 { "repeats" } else { "repeat" };
    format!("{documents} nearly {repeat} an earlier one, and so were not trained on")
}

/// Describes the score of the held-out documents, as in "-6.455 ± 0.013 nats per token (document completion, …)".
fn held_out(train: &TrainSummary) -> Option<String> {
    let figure = figures::with_error(train.heldout_loglik_per_token?, train.heldout_standard_error);
    let few = match train.heldout_documents {
        0..FEW_HELD_OUT => "; too few documents to compare models by: raise sample.held_out",
        _ => "",
    };
    Some(format!("{figure} nats per token ({}){few}", train.heldout_method))
}

/// Describes stop words: "198 of the lists; they are 41.3 % of the tokens".
fn stopped(ingest: &IngestSummary) -> String {
    let share = 100.0 * ingest.tokens_stopped as f64 / ingest.tokens_total as f64;
    let of_lists = match ingest.stop_words {
        _ if ingest.by_language => "those of the language of each document".to_owned(),
        0 => "the most frequent terms".to_owned(),
        words => format!("{} of the lists", figures::grouped(words)),
    };
    let names = if ingest.drops_names { ", and names" } else { "" };
    format!("{of_lists}{names}; they are {share:.1} % of the tokens")
}

/// Describes labels: "159; F1 of predictions 0.413 micro-averaged, 0.291 macro-averaged, 0.412 mean over documents";
/// `None` without labels.
fn labels(summary: &Summary) -> Option<String> {
    let labels = summary.topics.iter().filter(|topic| topic.label.is_some()).count();
    let scores = summary.evaluation.iter().filter(|row| row.metric == "label_f1");
    let scores: Vec<String> =
        scores.map(|row| format!("{:.3} {}", row.value, row.method)).collect();
    let f1 = match &scores[..] {
        [] => String::new(),
        _ => format!("; F1 of predictions {}", scores.join(", ")),
    };
    (labels > 0).then(|| format!("{}{f1}", figures::grouped(labels as u64)))
}

/// Describes a warning: "6 topics are dead: almost no token belongs to them (1, 5, 8, 9, 20, …). Train fewer topics."
pub(super) fn finding(warning: &Warning) -> String {
    let mut named: Vec<String> =
        warning.topics.iter().take(MOST_NAMED).map(i32::to_string).collect();
    if warning.topics.len() > named.len() {
        named.push("…".to_owned());
    }
    let text = warning.text.trim_end_matches('.');
    let topics = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    format!("{text}{topics}. {}", warning.remedy)
}

/// Describes drift: "91.2 % of distinct terms and 84.0 % of tokens in 900 new documents known; …".
fn moved_documents(drift: &DriftSummary) -> String {
    let percent = |share: Option<f64>| match share {
        Some(share) => format!("{:.1} %", 100.0 * share),
        None => "none".to_owned(),
    };
    let run = &drift.run;
    let documents = if drift.are_held_out { "held-out document" } else { "new document" };
    let mut text = format!(
        "{} of distinct terms and {} of tokens in {} known",
        percent(run.known_term_share),
        percent(run.known_token_share),
        figures::counted(run.documents.unsigned_abs(), documents),
    );
    // Shifts of a few documents are chance, and those of held-out documents nothing else: the table `drift` has them.
    if !drift.are_held_out && run.documents >= FEW_DOCUMENTS {
        if let Some(shift) = run.topic_shift_js {
            text += &format!(
                "; shares of topics differ from those of the sample by {shift:.2} (0: not at all, 1: no topic in common)"
            );
        }
        if let Some(shift) = run.loglik_shift {
            let than = if shift < 0.0 { "less" } else { "more" };
            text += &format!("; a token is {:.2} nats {than} probable than there", shift.abs());
        }
    }
    if drift.too_many_groups {
        text += "; too many groups for one row each in table `drift`";
    }
    text
}

/// Describes the topics that have moved most since the result that training started from, with what they gained and
/// lost; `None` if it started from none.
fn moved_topics(topics: &[TopicLine]) -> Option<String> {
    let mut sorted: Vec<_> = topics.iter().filter_map(|topic| topic.change.as_ref()).collect();
    sorted.sort_by(|a, b| b.distance.total_cmp(&a.distance));
    let (named, others) = sorted.split_at(MOST_MOVED.min(sorted.len()));
    let of_topic = |change: &&TopicChangeRow| {
        let gained = change.gained.iter().take(MOST_MOVED_TERMS).map(|term| format!("+{term}"));
        let lost = change.lost.iter().take(MOST_MOVED_TERMS).map(|term| format!("-{term}"));
        let terms: Vec<String> = gained.chain(lost).collect();
        let terms =
            if terms.is_empty() { String::new() } else { format!(" ({})", terms.join(" ")) };
        format!("{} by {:.3}{terms}", change.topic, change.distance)
    };
    let mut parts: Vec<String> = named.iter().map(of_topic).collect();
    if let Some(next) = others.first() {
        let others = figures::counted(others.len() as u64, "other");
        parts.push(format!("{others} by {:.3} at most", next.distance));
    }
    (!parts.is_empty()).then(|| format!("Hellinger distance of topic {}", parts.join("; ")))
}

/// Describes documents: "11,314 with 1,234,567 tokens in the vocabulary: 14 empty, 11,300 ok".
fn documents(summary: &Summary) -> String {
    let statuses: Vec<String> = summary
        .documents_by_status
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(status, count)| format!("{} {status}", figures::grouped(*count)))
        .collect();
    let colon = if statuses.is_empty() { "" } else { ": " };
    format!(
        "{} with {} tokens in the vocabulary{colon}{}",
        figures::grouped(summary.documents),
        figures::grouped(summary.tokens),
        statuses.join(", "),
    )
}

/// Returns the next steps, a line for each command and its purpose.
fn next_lines(summary: &Summary, job: &Job, overrides: &[String]) -> String {
    let line = |(command, purpose): (String, &str)| format!("  {purpose:<34}{command}\n");
    let commands: String = commands(summary, job, overrides).into_iter().map(line).collect();
    format!("\nNext:\n{commands}")
}

fn commands(summary: &Summary, job: &Job, overrides: &[String]) -> Vec<(String, &'static str)> {
    let output = shell_word(&summary.output);
    let mut commands = Vec::new();
    if let Some(report) = &summary.report {
        commands.push((shell_word(report), "the report, for a browser"));
    }
    let alive = summary.topics.iter().filter(|topic| !topic.row.dead);
    if let Some(largest) = alive.max_by(|a, b| a.row.share.total_cmp(&b.row.share)) {
        let inspect = format!("topicmill inspect {output} --topic {}", largest.row.topic);
        commands.push((inspect, "a topic and its documents"));
    }
    if !job.is_of_its_output() {
        let sets = overrides.iter();
        let sets: String = sets.map(|set| format!(" --set {}", shell_word(set))).collect();
        let file = shell_word(&job.path);
        let edit = format!("topicmill run {file}{sets} --overwrite");
        commands.push((edit, "again, after changing the job"));
    }
    if !is_remote(&summary.output) {
        let query = "FROM topic_words LIMIT 20";
        let open = format!("(cd {output} && duckdb -init views.sql -c '{query}')");
        commands.push((open, "the tables, in SQL"));
    }
    commands
}

/// Quotes a text as a shell_word of a shell.
fn shell_word(text: impl AsRef<OsStr>) -> String {
    quote(text.as_ref()).to_string_lossy().into_owned()
}

/// Maximum number of terms of a topic, if they fit.
pub(super) const MOST_TERMS: usize = 20;
/// Columns before the terms: topic, share, coherence, and the space between them.
const BEFORE_TERMS: usize = 30;

/// Returns the `most` largest topics with up to `most_terms` terms each, `width` characters wide.
pub(super) fn topic_table(
    topics: &[TopicLine],
    most: usize,
    most_terms: usize,
    width: usize,
) -> String {
    let mut sorted: Vec<&TopicLine> = topics.iter().collect();
    sorted.sort_by(|a, b| b.row.share.total_cmp(&a.row.share).then(a.row.topic.cmp(&b.row.topic)));
    let of_sweep = sorted.iter().any(|topic| topic.stability.is_some());
    let stability = if of_sweep { ">stability|" } else { "" };
    let mut table = table(&format!(">topic|>share|>coherence|{stability}top terms"));
    for topic in sorted.iter().take(most) {
        let words = topic.words();
        let figure = |figure: Option<f64>, decimals: usize| {
            figure.map_or_else(String::new, |figure| format!("{figure:.decimals$}"))
        };
        let mut cells = vec![
            topic.row.topic.to_string(),
            format!("{:.1} %", 100.0 * topic.row.share),
            figure(topic.row.coherence_npmi, 3),
        ];
        cells.extend(of_sweep.then(|| figure(topic.stability, 2)));
        cells.push(words_within(
            &words,
            most_terms + usize::from(topic.heading().is_some()),
            width.saturating_sub(BEFORE_TERMS + 11 * usize::from(of_sweep)),
        ));
        table.add_row(cells);
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    if sorted.len() > most {
        let more = sorted.len() - most;
        text += &format!("… and {more} more, in the table `topics`\n");
    }
    text
}

/// Joins as many whole words as fit, at least one and at most `most`.
pub(super) fn words_within(words: &[String], most: usize, width: usize) -> String {
    let mut line = String::new();
    for word in words.iter().take(most) {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            break;
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    line
}

/// Returns the held-out likelihood during training as a curve, with its first and last value; `None` for
/// fewer than two evaluations.
pub(super) fn held_out_curve(points: &[CurvePoint]) -> Option<String> {
    let measured = points.iter().filter_map(|point| point.heldout_loglik_per_token);
    let values: Vec<f64> = measured.collect();
    let [first, .., last] = values[..] else {
        return None;
    };
    let rounds = points.last()?.round.unsigned_abs() + 1;
    Some(format!(
        "{}  {first:.2} to {last:.2} nats per token in {} rounds",
        curve(&values),
        figures::grouped(rounds.into()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::summary::ProjectSummary;
    use crate::tables::drift::DriftRow;
    use crate::tables::topics::TopicRow;
    use crate::tables::warnings;

    fn rendered(width: usize) -> String {
        let curve = [-9.0, -8.0, -7.84].map(|heldout_loglik_per_token| CurvePoint {
            round: 1,
            pass: 1,
            phase: "gibbs".to_owned(),
            documents_seen: 1,
            heldout_loglik_per_token: Some(heldout_loglik_per_token),
        });
        let job = "[corpus]\ninput = \"in\"\n[model]\ntopics = 40\n[output]\npath = \"out\"\n";
        let job = Job::parse(job, "job.toml".as_ref(), &[]).expect("valid");
        text(&summary(), &job, &[], &curve, width)
    }

    fn summary() -> Summary {
        let row = |topic: i32| TopicRow {
            topic,
            share: f64::from(topic + 1) / 820.0,
            coherence_npmi: (topic > 0).then_some(0.25),
            dead: topic % 4 == 1,
            duplicate_of: (topic == 12).then_some(7),
            top_terms: vec!["engine".into(), format!("term{topic}"), "a".repeat(90)],
            ..TopicRow::default()
        };
        let topic = |topic| TopicLine { row: row(topic), ..TopicLine::default() };
        let topics: Vec<_> = (0..40).map(topic).collect();
        Summary {
            documents: 11_314,
            tokens: 1_234_567,
            documents_by_status: [("ok".to_owned(), 11_300), ("empty".to_owned(), 14)].into(),
            ingest: Some(IngestSummary { seconds: 2.0, bytes: 3 << 20, ..Default::default() }),
            train: Some(TrainSummary {
                seconds: 61.0,
                rounds: 50,
                heldout_loglik_per_token: Some(-7.84),
                heldout_standard_error: Some(0.0213),
                heldout_documents: 226,
                heldout_method: "document completion".into(),
                ended: "10 passes done".into(),
                ..Default::default()
            }),
            project: Some(ProjectSummary {
                maxent_seconds: None,
                seconds: 1.5,
                ..Default::default()
            }),
            output: "out/it's $5".into(),
            findings: Some(warnings::of_topics(&topics)),
            topics,
            ..Default::default()
        }
    }

    #[test]
    fn the_page_shows_the_largest_topics_and_says_what_it_leaves_out() {
        let page = rendered(80);
        let topics: Vec<&str> = page.lines().filter(|line| line.contains("engine")).collect();
        assert_eq!(topics.len(), MOST_TOPICS);
        assert!(rendered(150).contains(&"a".repeat(90)));
        assert!(topics[0].contains("39") && topics[0].contains("4.9 %"), "{page}");
        assert!(page.contains("… and 10 more"), "{page}");
        assert!(topics.iter().all(|line| line.chars().count() <= 80), "{page}");
        assert!(page.contains("-7.840 ± 0.021 nats per token (document completion)\n"), "{page}");
        assert!(page.contains("14 empty, 11,300 ok"), "{page}");
        assert!(
            page.contains(
                "topics      40\n\
                 warning     10 topics are dead: almost no token belongs to them (1, 5, 9, 13, 17, …). \
                 Train fewer topics.\nwarning     1 topic repeats an earlier one (12). "
            ),
            "{page}"
        );
        assert!(
            page.contains("(cd 'out/it'\\''s $5' && duckdb -init views.sql -c 'FROM"),
            "{page}"
        );
        assert!(page.contains("training    ▁▇█\n"), "{page}");
        assert!(page.contains("topicmill inspect 'out/it'\\''s $5' --topic 39\n"), "{page}");
        assert!(!page.contains('\u{1b}'));
    }

    #[test]
    fn few_held_out_documents_are_said_to_be_too_few() {
        let train = TrainSummary {
            heldout_loglik_per_token: Some(-7.123_456),
            heldout_documents: 1,
            heldout_method: "document completion, 1 document".into(),
            ..TrainSummary::default()
        };
        let line = held_out(&train).expect("one is scored");
        assert!(
            line.starts_with(
                "about -7.1 nats per token (document completion, 1 document); too few"
            ),
            "{line}"
        );
        let several =
            TrainSummary { heldout_standard_error: Some(0.34), heldout_documents: 7, ..train };
        let line = held_out(&several).expect("seven are scored");
        assert!(line.starts_with("-7.12 ± 0.34 nats"), "{line}");
    }

    #[test]
    fn stop_words_are_counted_with_the_share_of_tokens_that_they_drop() {
        let ingest = IngestSummary {
            tokens_total: 1000,
            stop_words: 1298,
            tokens_stopped: 413,
            ..IngestSummary::default()
        };
        assert_eq!(stopped(&ingest), "1,298 of the lists; they are 41.3 % of the tokens");
        let own = IngestSummary { by_language: true, ..ingest.clone() };
        assert!(stopped(&own).starts_with("those of the language of each document;"));
        let named = IngestSummary { drops_names: true, ..ingest.clone() };
        assert!(stopped(&named).starts_with("1,298 of the lists, and names;"));
        let top = IngestSummary { stop_words: 0, ..ingest };
        assert!(stopped(&top).starts_with("the most frequent terms;"));
    }

    #[test]
    fn faultless_topics_are_said_to_be_so() {
        let topics = vec![TopicLine::default(); 1200];
        let findings = Some(warnings::of_topics(&topics));
        let rows = figures_of(&Summary { topics, findings, ..Summary::default() }, &[]);
        assert!(
            rows.contains(&("topics", "1,200, none dead, duplicate, junk or rubbish".to_owned()))
        );
    }

    fn drift() -> DriftSummary {
        let run = DriftRow {
            documents: 1234,
            known_term_share: Some(0.912),
            known_token_share: Some(0.5),
            topic_shift_js: Some(0.0812),
            loglik_shift: Some(-0.25),
            ..DriftRow::default()
        };
        DriftSummary { run, ..DriftSummary::default() }
    }

    #[test]
    fn little_drift_is_one_line() {
        assert_eq!(
            moved_documents(&drift()),
            "91.2 % of distinct terms and 50.0 % of tokens in 1,234 new documents known; shares of topics differ \
             from those of the sample by 0.08 (0: not at all, 1: no topic in common); a token is 0.25 nats less \
             probable than there"
        );
    }

    #[test]
    fn shifts_of_few_or_held_out_documents_are_not_shown() {
        let mut few = drift();
        few.run.documents = 7;
        let held_out = DriftSummary { are_held_out: true, ..drift() };
        for (drift, documents) in [(few, "7 new documents"), (held_out, "1,234 held-out documents")]
        {
            let line = moved_documents(&drift);
            assert!(line.ends_with(&format!("in {documents} known")), "{line}");
        }
    }

    #[test]
    fn much_drift_says_what_to_do() {
        let mut much = DriftSummary { too_many_groups: true, ..drift() };
        assert!(
            moved_documents(&much).ends_with("; too many groups for one row each in table `drift`")
        );
        let few_terms = warnings::of_drift(&much.run, [2000, 3]).expect("groups to train on");
        assert!(finding(&few_terms).starts_with("In 3 of 2,000 groups, "), "{few_terms:?}");
        much.run.retrain = true;
        let all = finding(&warnings::of_drift(&much.run, [2000, 3]).expect("advice"));
        assert!(
            all.contains("fewer than 70 %") && all.ends_with("documents in the sample."),
            "{all}"
        );
        much.run.retrain = false;
        assert_eq!(warnings::of_drift(&much.run, [2000, 0]), None);
    }

    #[test]
    fn the_json_line_has_the_names_that_programs_rely_on() {
        let line = json_summary(&summary());
        assert_eq!(line.matches('\n').count(), 1);
        let object: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(object["documents"], 11_314);
        assert_eq!(object["tokens"], 1_234_567);
        assert_eq!(object["train"]["rounds"], 50);
        assert_eq!(object["train"]["heldout_loglik_per_token"], -7.84);
        for (stage, keys) in [
            ("ingest", vec!["seconds"]),
            ("train", vec!["seconds"]),
            ("project", vec!["seconds", "documents_per_second", "tokens_per_second"]),
        ] {
            assert!(keys.iter().all(|key| object[stage][key].is_number()), "{line}");
        }
        assert_eq!(object["output"], "out/it's $5");
        let dead = &object["findings"][0];
        assert_eq!(dead["kind"], "dead");
        assert_eq!(dead["topics"], serde_json::json!([1, 5, 9, 13, 17, 21, 25, 29, 33, 37]));
        assert_eq!(object["findings"][1]["topics"], serde_json::json!([12]));
        assert_eq!(object["findings"].as_array().map(Vec::len), Some(2));
    }
}
