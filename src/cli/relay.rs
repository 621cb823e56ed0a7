//! The output of processes that this one started: their lines, prefixed with the process's name, and how each
//! process ends.

use std::io::{self, Write};
use std::sync::Arc;

use super::{Exit, Failure};
use mesh::family::{Ending, Event, Watch};

/// Writes the events of the processes with these names to stderr, line by line.
pub(super) fn on_stderr(names: Vec<String>) -> Watch {
    Arc::new(move |event| {
        let line = match event {
            Event::Line { process, line } => {
                let name = names.get(*process).map_or("?", String::as_str);
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                [format!("[{name}] ").as_bytes(), line, b"\n"].concat()
            }
            Event::Stopping => b"stopping all processes; a second signal kills them\n".to_vec(),
            Event::Killing => b"killing the remaining processes\n".to_vec(),
            Event::Restart { ending, restart, most, wait } => {
                let who = ending.culprit.and_then(|process| names.get(process));
                let who = who.map_or("?", String::as_str);
                format!(
                    "process [{who}] {}; restarting all processes in {} s, restart {restart} of {most}\n",
                    end(ending.code),
                    wait.as_secs(),
                )
                .into_bytes()
            }
        };
        // Written whole, under one lock. If it cannot be written, there is nothing left to do.
        let _ = io::stderr().lock().write_all(&line);
    })
}

/// Returns how this process ends when those that it started have ended. Their own messages have given the
/// cause, unless a process could not write one; `name` names it.
pub(super) fn result(ending: &Ending, name: impl Fn(usize) -> String) -> Result<(), Failure> {
    let exit = match ending.code {
        0 => return Ok(()),
        code => Exit::of(code),
    };
    Err(match ending.culprit.filter(|_| ending.code > 128) {
        // A process that was told to stop has told the others.
        Some(_) if exit == Exit::Interrupted && !ending.interrupted => {
            Failure::message(exit, "a process was told to stop; rerun the same command to resume")
        }
        Some(process) if !ending.interrupted => {
            Failure::message(exit, format!("{} {}", name(process), end(ending.code)))
        }
        _ => Failure::message(exit, ""),
    })
}

/// Describes how a process ended.
fn end(code: u8) -> String {
    match Exit::of(code) {
        Exit::Unavailable => "lost a worker, its peers or its host".to_owned(),
        Exit::Interrupted => "was stopped (signal 15)".to_owned(),
        Exit::Killed => format!("was killed (signal {})", code - 128),
        _ => format!("ended with code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_could_not_speak_is_spoken_for() {
        let told = |code, interrupted| {
            let ending = Ending { code, culprit: Some(1), interrupted };
            let failure = result(&ending, |process| format!("process {process}"));
            failure.map_err(|failure| (failure.exit, failure.report()))
        };
        assert!(told(0, true).is_ok());
        let killed = "error: process 1 was killed (signal 9)\n".to_owned();
        assert_eq!(told(137, false).unwrap_err(), (Exit::Killed, killed));
        let (exit, text) = told(139, false).unwrap_err();
        assert_eq!(exit, Exit::Killed);
        assert!(text.contains("signal 11"), "{text}");
        assert_eq!(told(65, false).unwrap_err(), (Exit::Data, String::new()));
        let stopped = told(143, true).unwrap_err();
        assert_eq!(stopped, (Exit::Interrupted, String::new()));
    }
}
