//! `topicmill retrain RESULT`: the model of a finished result is trained again, on the documents that it has now.

use std::path::PathBuf;

use clap::Args;

use super::args::HereArgs;
use super::change::{change, complete};
use super::{Failure, figures};
use crate::config::Stages;
use crate::observe::summary::Summary;

pub(super) const EXAMPLES: &str = "\
Example:
  topicmill retrain out/news

Chooses the terms again, from all documents that were added and not removed, trains on a sample of
them, starting from the topics that there are, which keep their numbers, and infers the topics of all
documents. The table topic_changes says how each topic has moved. Readers find the result as it was
until everything is complete. A training that was killed is resumed by the same command.";

/// Flags of retrain.
#[derive(Clone, Debug, Args)]
pub(crate) struct RetrainArgs {
    /// The folder of a finished result
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    #[command(flatten)]
    here: HereArgs,
}

/// Trains the model of a result again.
///
/// # Errors
/// The flags are wrong; there is no finished result, or it is in use; its model cannot be trained from where it is; any
/// error that ends a run.
pub(super) fn run(args: &RetrainArgs) -> Result<(), Failure> {
    change(&args.result, &args.here, |growing, job, run, here| {
        let training = growing.retraining_job(&job)?;
        if !growing.has_changed()? {
            growing.clean(&job)?;
            if !args.here.quiet {
                let result = growing.result().display();
                super::say(&format!("{result}: no document has come or left since it was trained"));
            }
            return Ok(None);
        }
        growing.begin_retraining()?;
        let output = here.output(&job, growing.next())?;
        growing.renumber(&output, &job, here.placement.threads)?;
        let process = here.process(training, output, run);
        complete(growing, process, Stages::Retrain, here, said).map(Some)
    })
}

/// Says what has become of the topics.
fn said(summary: &Summary) -> String {
    let changes = summary.topics.iter().filter_map(|topic| topic.change.as_ref());
    let same = changes.filter(|change| change.nearest == change.topic).count();
    format!(
        "trained again; {} of {} are nearer to what they were than to another earlier topic",
        figures::grouped(same as u64),
        figures::counted(summary.topics.len() as u64, "topic"),
    )
}
