//! A minimal job, and the parser's results for it.

use std::path::Path;

pub use topicmill::config::Job;
pub use topicmill::failure::Failure;

/// The job.
pub const SMALL: &str = "\
[corpus]
input = \"texts\"

[model]
topics = 10

[output]
path = \"out/small\"
";

/// Parses a job.
pub fn parse(text: &str) -> Result<Job, Failure> {
    Job::parse(text, Path::new("jobs/small.toml"), &[])
}

/// Parses [`SMALL`] with keys set.
pub fn with(overrides: &[&str]) -> Result<Job, Failure> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Job::parse(SMALL, Path::new("jobs/small.toml"), &overrides)
}

/// Returns the error and its remedy as a user sees them.
pub fn told(result: Result<Job, Failure>) -> String {
    let error = result.expect_err("this job is wrong");
    format!("{error} | {}", error.help.as_deref().unwrap_or_default())
}
