//! `topicmill new INPUT…`: a commented job file for an input.

use super::args::NewArgs;
use super::beside::write_beside;
use super::starter::Starter;
use super::{Failure, plan};

/// Writes a job for the input.
///
/// # Errors
/// The flags are wrong; the input cannot be read or modelled; the file exists or cannot be written.
pub(super) fn run(args: &NewArgs) -> Result<(), Failure> {
    let path = &args.output;
    if path.extension().is_none_or(|ending| ending != "toml") {
        let message = format!("--output {}: a job file ends with .toml", path.display());
        let named = path.with_extension("toml");
        return Err(Failure::usage(message).help(format!("--output {}", named.display())));
    }
    let output = path.with_extension("");
    let starter = Starter::new(&args.starter, args.number.topics, path, &output, args.overwrite)?;
    write_beside(path, starter.text.as_bytes(), args.overwrite)?;
    super::say(&plan::rows(&starter.rows));
    let path = path.display();
    super::say(&format!(
        "\nNext:\n  topicmill plan {path}    what it would do\n  topicmill run {path}     the topics"
    ));
    Ok(())
}
