//! The next steps with a result: commands to copy.

use std::ffi::OsStr;
use std::path::Path;

use crate::job::Job;
use crate::observe::summary::Summary;
use mesh::launch::quote;

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
    commands.push((duckdb_line(summary), "the tables, in SQL"));
    commands
}

/// Quotes a text as a word of a shell.
fn word(text: impl AsRef<OsStr>) -> String {
    quote(text.as_ref()).to_string_lossy().into_owned()
}

/// Returns a command that opens the result: the documents in which a topic is strongest, or the topics if
/// nothing was projected.
fn duckdb_line(summary: &Summary) -> String {
    let table = |name: &str| sql_glob(&summary.output.join(name));
    let was_projected = summary.already_complete.iter().any(|stage| stage == "project");
    let query = if summary.project.is_some() || was_projected {
        format!(
            "select source_id, topic, weight from {} join {} using (doc_id) \
             where rank = 1 order by weight desc limit 20",
            table("document_topics"),
            table("documents"),
        )
    } else {
        format!("select topic, share, top_terms from {} order by share desc", table("topics"))
    };
    format!("duckdb -c \"{query}\"")
}

/// Returns a table's files, quoted for SQL within a shell's double quotes.
fn sql_glob(folder: &Path) -> String {
    let path = folder.join("*.parquet").to_string_lossy().replace('\'', "''");
    let mut quoted = String::from("'");
    for c in path.chars() {
        if matches!(c, '"' | '$' | '`' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('\'');
    quoted
}
