//! `topicmill plan JOB`: shows what a job would do, without running it.

use super::args::PlanArgs;
use super::forecast::Forecast;
use super::pictures::window;
use super::placement::JobPlacement;
use super::{Failure, figures};
use crate::config::Job;

/// Prints the plan, or with `--resolved` the complete job.
///
/// # Errors
/// The job or the flags are wrong; the input is missing; the job needs more than this machine's memory;
/// stdout cannot be written.
pub(super) fn run(args: &PlanArgs) -> Result<(), Failure> {
    // If nothing says which of several processes this is, the plan is for the first.
    let mut place = args.placement.clone();
    let placement = JobPlacement::planned(&place).or_else(|error| {
        if place.process_count.is_none() || place.process.replace(0).is_some() {
            return Err(error);
        }
        JobPlacement::planned(&place)
    })?;
    let job = Job::load(&args.job, &args.set)?;
    if args.resolved {
        return super::print(&job.resolved_toml());
    }
    let forecast = Forecast::of(&job, &placement)?;
    if args.json {
        super::print_json(&forecast.json(&job))?;
    } else {
        let mut lines = describe(&job, &placement);
        lines.extend(forecast.rows());
        super::print(&rows(&lines))?;
    }
    forecast.refuse_what_cannot_fit()
}

/// Returns a plan's rows, as names and values: what is read, the keys that differ from their defaults, and where it
/// runs.
pub(super) fn describe(job: &Job, placement: &JobPlacement) -> Vec<(&'static str, String)> {
    let mut rows = vec![("job", job.path.display().to_string())];
    if let Some(synth) = &job.synth {
        let made = if synth.is_made() { "already made in" } else { "to be made in" };
        rows.push(("generated", format!("{made} {}", synth.path.display())));
    }
    rows.push(("input", job.corpus.input.join(", ")));
    rows.push(("from", job.corpus.base.display().to_string()));
    rows.extend(job.own_keys());
    rows.push(("runs on", runs_on(placement)));
    rows.push(("model id", job.train_hash()[..16].to_owned()));
    rows
}

/// Width of the column of names.
const NAMES: usize = 12;

/// Formats the rows as text, names in a column; values wrap where the window ends, if there is one.
pub(super) fn rows(rows: &[(&'static str, String)]) -> String {
    rows_within(rows, window().unwrap_or(usize::MAX))
}

fn rows_within(rows: &[(&'static str, String)], width: usize) -> String {
    let mut text = String::new();
    for (name, value) in rows {
        text.push_str(&format!("{name:<NAMES$}"));
        let mut column = NAMES;
        for (place, word) in value.split(' ').enumerate() {
            let length = word.chars().count();
            if place > 0 && column + 1 + length > width {
                text.push_str(&format!("\n{:NAMES$}", ""));
                column = NAMES;
            } else if place > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += length;
        }
        text.push('\n');
    }
    text
}

fn runs_on(placement: &JobPlacement) -> String {
    let threads = figures::counted(placement.threads() as u64, "thread");
    match placement {
        JobPlacement::Threads(_) => format!("{threads} in this process"),
        JobPlacement::Spawn { processes, .. } => {
            format!("{processes} processes on this machine, {threads} each")
        }
        JobPlacement::Member { here, by, .. } => {
            let by = by.map_or(String::new(), |by| format!(", numbered by {by}"));
            let (processes, process) = (here.processes(), here.process);
            format!("{processes} processes, {threads} each; this is process {process}{by}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_broken_between_words_where_the_window_ends() {
        let lines = [("input", "one two three".to_owned()), ("output", "a".repeat(20))];
        let narrow = "input       one two\n            three\noutput      aaaaaaaaaaaaaaaaaaaa\n";
        assert_eq!(rows_within(&lines, 20), narrow);
        let wide = "input       one two three\noutput      aaaaaaaaaaaaaaaaaaaa\n";
        assert_eq!(rows_within(&lines, 80), wide);
    }
}
