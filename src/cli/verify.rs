//! `topicmill verify OUT`: checks a result against its manifest, or prints its digest.

use std::path::Path;

use serde_json::json;

use super::args::VerifyArgs;
use super::{Failure, figures};
use crate::tables::digest::{ColumnDigest, column_digests};
use crate::tables::output::{View, Wanted};
use crate::tables::{VerifyReport, digest, output, verify};

/// Checks a result, or prints its digest.
///
/// # Errors
/// The result is not complete or differs from its manifest; it cannot be read; stdout cannot be
/// written.
pub(super) fn run(args: &VerifyArgs) -> Result<(), Failure> {
    super::existing_output(&args.output)?;
    if !output::exists(&args.output.join(output::SUCCESS))? {
        super::check_written(&args.output)?;
    }
    if args.digest {
        return print_digest(args);
    }
    let view = View::open(&args.output, Wanted::All)?;
    let report = verify(view.path())?;
    if args.json {
        super::print_json(&json_of(&report))?;
    } else {
        super::print(&text_of(&report, &args.output))?;
    }
    if report.is_sound() {
        return Ok(());
    }
    let problems = figures::counted(report.problem_count, "problem");
    let failure = Failure::data(format!("{}: {problems} found", args.output.display()));
    Err(failure.help(remedy(&report)))
}

/// Returns what to do about the problems of a result. `--overwrite` refuses files that topicmill has not written.
fn remedy(report: &VerifyReport) -> &'static str {
    if report.strays == 0 {
        return "rerun the job with --overwrite; if it happens again, check the disk";
    }
    if report.strays == report.problem_count {
        return "move the files that are not in the manifest elsewhere: topicmill has not written them";
    }
    "move the files that are not in the manifest elsewhere, then rerun the job with --overwrite; if it happens again, \
     check the disk"
}

fn print_digest(args: &VerifyArgs) -> Result<(), Failure> {
    let view = View::open(&args.output, Wanted::All)?;
    if !view.path().join(output::SUCCESS).exists() {
        return Err(output::incomplete(&args.output));
    }
    if args.tables {
        let columns = column_digests(view.path())?;
        if args.json {
            return super::print_json(&json!({ "columns": columns }));
        }
        let line = |c: &ColumnDigest| format!("{}  {} {}\n", c.sha256, c.table, c.column);
        return super::print(&columns.iter().map(line).collect::<String>());
    }
    let digest = digest(view.path())?;
    if args.json {
        super::print_json(&json!({ "digest": digest }))
    } else {
        super::print(&format!("{digest}\n"))
    }
}

fn text_of(report: &VerifyReport, root: &Path) -> String {
    let mut text = String::new();
    let widest = report.rows.keys().map(String::len).max();
    let width = widest.unwrap_or(0);
    for (table, rows) in &report.rows {
        let noun = if *rows == 1 { "row" } else { "rows" };
        text += &format!("{table:<width$}{:>15} {noun}\n", figures::grouped(*rows));
    }
    for problem in &report.problems {
        text += &format!("wrong: {problem}\n");
    }
    let unshown = report.problem_count - report.problems.len() as u64;
    if unshown > 0 {
        text += &format!("… and {} more\n", figures::grouped(unshown));
    }
    if report.is_sound() {
        text += &format!(
            "{} is sound: {} files ({}) match the manifest, and the tables are consistent\n",
            root.display(),
            figures::grouped(report.files),
            figures::bytes(report.bytes),
        );
    }
    text
}

fn json_of(report: &VerifyReport) -> serde_json::Value {
    let mut object = json!(report);
    object["sound"] = report.is_sound().into();
    object
}
