//! `topicmill history RESULT`: the changes of a result, and how well the model fits the documents that came with each.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;

use super::pictures::{page_width, table};
use super::{Failure, figures};
use crate::tables::generations::GenerationRow;
use crate::tables::output::{View, Wanted};
use crate::tables::records::rows;
use corpus::dates::utc;

pub(super) const EXAMPLES: &str = "\
Example:
  topicmill history out/news

Lists the table `generations`: row 0 is the documents that the result was made with. `trained` says
that the model was trained then, `retrain` that it does not fit the documents that came since: `topicmill
retrain` trains it again.";

/// Flags of history.
#[derive(Clone, Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The folder of a finished result
    #[arg(value_name = "RESULT")]
    pub(crate) result: PathBuf,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Prints the changes, the first one first.
///
/// # Errors
/// There is no such result; it cannot be read; stdout cannot be written.
pub(super) fn run(args: &HistoryArgs) -> Result<(), Failure> {
    super::check_finished(&args.result)?;
    let view = View::open(&args.result.join("generations"), Wanted::All)?;
    let rows = rows::<GenerationRow>(view.path().parent().unwrap_or(view.path()))?;
    if args.json {
        return rows.iter().try_for_each(super::print_json);
    }
    if rows.is_empty() {
        let text = "no documents have come or left since the result was made\n";
        return super::print(text);
    }
    let share = |share: Option<f64>| {
        share.map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share))
    };
    let shift = |shift: Option<f64>| shift.map_or_else(String::new, |shift| format!("{shift:+.2}"));
    let mut table = table(">generation|when|>came|>left|>in vocabulary|>likelihood||input");
    for row in &rows {
        table.add_row([
            row.generation.to_string(),
            row.unix_seconds.map_or_else(String::new, when),
            figures::grouped(row.came as u64),
            figures::grouped(row.left as u64),
            share(row.coverage),
            shift(row.loglik_shift),
            match (row.trained, row.retrain) {
                (true, _) => "trained",
                (_, true) => "retrain",
                _ => "",
            }
            .to_owned(),
            row.input.join(", "),
        ]);
    }
    let width = page_width();
    let cut = |line: &str| line.chars().take(width).chain(['\n']).collect::<String>();
    super::print(&table.trim_fmt().lines().map(cut).collect::<String>())
}

fn when(unix_seconds: i64) -> String {
    utc(SystemTime::UNIX_EPOCH + Duration::from_secs(unix_seconds.max(0) as u64))
}
