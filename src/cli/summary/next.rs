//! The next steps with a result: commands to copy.

use std::ffi::OsStr;

use crate::job::Job;
use crate::observe::summary::Summary;
use mesh::launch::quote;
use store::is_remote;

/// Returns the next steps, a line for each command and its purpose.
pub(super) fn lines(summary: &Summary, job: &Job, overrides: &[String]) -> String {
    let line = |(command, purpose): (String, &str)| format!("  {purpose:<34}{command}\n");
    let commands: String = commands(summary, job, overrides).into_iter().map(line).collect();
    format!("\nNext:\n{commands}")
}

fn commands(summary: &Summary, job: &Job, overrides: &[String]) -> Vec<(String, &'static str)> {
    let output = word(&summary.output);
    let mut commands = Vec::new();
    if let Some(report) = &summary.report {
        commands.push((word(report), "the report, for a browser"));
    }
    let alive = summary.topics.iter().filter(|topic| !topic.row.dead);
    if let Some(largest) = alive.max_by(|a, b| a.row.share.total_cmp(&b.row.share)) {
        let inspect = format!("topicmill inspect {output} --topic {}", largest.row.topic);
        commands.push((inspect, "a topic and its documents"));
    }
    if !job.is_of_its_output() {
        let sets = overrides.iter();
        let sets: String = sets.map(|set| format!(" --set {}", word(set))).collect();
        let file = word(&job.path);
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

/// Quotes a text as a word of a shell.
fn word(text: impl AsRef<OsStr>) -> String {
    quote(text.as_ref()).to_string_lossy().into_owned()
}
