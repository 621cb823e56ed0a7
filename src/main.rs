//! The binary: parse, run, map errors to exit codes.

use std::process::ExitCode;

use topicmill::cli;

fn main() -> ExitCode {
    cli::guard();
    let invocation = match cli::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(exit) => return exit,
    };
    match cli::execute(invocation) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            cli::report(&failure);
            failure.exit.into()
        }
    }
}
