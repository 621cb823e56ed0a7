//! Starts all processes of a run on this machine, and ends them together (`family`).
//!
//! The parent chooses free ports and passes them to the children, which exit with it. The ports are
//! below the range that the system uses for outgoing connections.

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::SystemTime;

use super::ClusterError;
use super::family::{END, Ending, Family, Member, TERM, TICK, Watch};
use super::guard::{self, Failure};
use super::interrupt::{self, Interrupts};
use super::names::VariableNames;
use super::secret::random_hex;
use crate::Exit;

/// The ports to choose from: below those that systems use for outgoing connections.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// Starts `processes` processes on this machine, waits for them, and returns how they ended.
///
/// `command` returns the command of the process with a number. Its environment gets the [addresses of
/// all](VariableNames::hosts) and the [name of the run](VariableNames::run); it should call [`follow_parent`]. Process
/// 0 keeps the standard output and error; the standard error of the others goes to `watch`, line by line. `interrupts` are
/// passed on to all.
///
/// # Errors
/// No free port is found, or a process cannot be started.
pub fn run(
    processes: usize,
    command: &dyn Fn(usize) -> Command,
    watch: &Watch,
    interrupts: &mut Interrupts,
) -> Result<Ending, ClusterError> {
    let ports = free_ports(processes)?;
    let hosts: Vec<String> = ports.iter().map(|p| format!("127.0.0.1:{p}")).collect();
    let token = token(&random_hex::<8>()?, 0);
    let member = |process: usize| {
        let mut command = command(process);
        command.envs(variables(&hosts, &token));
        Member { command, greeting: None, is_read: process > 0, is_remote: false }
    };
    Family::run((0..processes).map(member).collect(), watch, interrupts)
}

/// Runs one process of this program until it ends, and returns its output, of which standard error goes to `stderr`. It
/// should call [`follow_parent`]; a signal that this process [defers](super::interrupt::Deferral) is passed on to it.
///
/// # Errors
/// It cannot be started, or its output cannot be read.
pub fn output(mut command: Command, stderr: Stdio) -> io::Result<Output> {
    command.env(VariableNames::get().follow_parent, "1").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
    let mut child = command.spawn()?;
    let mut life_line = child.stdin.take();
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                if let Some(line) = life_line.as_mut().filter(|_| interrupt::is_wanted()) {
                    // A process that has ended does not read it.
                    let _ = writeln!(line, "{TERM}");
                    return;
                }
                thread::sleep(TICK);
            }
        });
        let output = child.wait_with_output();
        has_ended.store(true, Ordering::Relaxed);
        output
    })
}

/// Returns the variables of the processes of an attempt.
pub(super) fn variables(hosts: &[String], token: &str) -> [(&'static str, String); 3] {
    let names = VariableNames::get();
    [
        (names.hosts, hosts.join(",")),
        (names.run, token.to_owned()),
        (names.follow_parent, "1".to_owned()),
    ]
}

/// Returns the token of an attempt: the launch, and the number of the attempt, from 0.
pub(super) fn token(launch: &str, attempt: u32) -> String {
    format!("{launch}.{attempt}")
}

/// Returns the launch to which this process belongs: a unique name that all attempts of the launch share. `None`
/// unless [`run`] or `launch` has started this process.
pub fn launch_name() -> Option<String> {
    let token = std::env::var(VariableNames::get().run).ok().filter(|_| follows_parent())?;
    token.rsplit_once('.').map(|(launch, _)| launch.to_owned())
}

/// Returns whether another process has started this one with [`run`] or `launch`.
pub fn follows_parent() -> bool {
    std::env::var_os(VariableNames::get().follow_parent).is_some()
}

/// Ends this process when the parent that started it with [`run`] or `launch` is gone, and stops it as
/// SIGTERM does when the parent requests it; call it early in `main`. Does nothing in a process that
/// was started otherwise.
pub fn follow_parent() {
    if !follows_parent() {
        return;
    }
    let watch = || {
        let mut reason = "the process that started this one has exited";
        for line in io::stdin().lines().map_while(Result::ok) {
            match line.as_str() {
                TERM => stop(),
                END => {
                    reason =
                        "another process of the run has ended; see its own messages for the cause"
                }
                _ => {}
            }
        }
        guard::fail(Failure { exit: Exit::Unavailable, message: reason.to_owned() })
    };
    // Without the thread, the process only outlives its parent.
    let _ = std::thread::Builder::new().name("follow".to_owned()).spawn(watch);
}

/// Raises SIGTERM in this process.
fn stop() {
    // If this failed, the parent would end this process in time.
    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGTERM);
}

/// Finds free ports of this machine.
fn free_ports(count: usize) -> Result<Vec<u16>, ClusterError> {
    // Concurrent launchers should not try the same ports in the same order.
    let nanos = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.subsec_nanos());
    let start = std::process::id().wrapping_mul(7919).wrapping_add(nanos / 64);
    let candidates = PORTS.len();
    let mut listeners = Vec::with_capacity(count);
    let mut ports = Vec::with_capacity(count);
    for step in 0..candidates {
        if ports.len() == count {
            break;
        }
        let offset = (start as usize).wrapping_add(step) % candidates;
        let port = PORTS.start + u16::try_from(offset).expect("the range is one of ports");
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            listeners.push(listener);
            ports.push(port);
        }
    }
    if ports.len() < count {
        let none = io::Error::from(io::ErrorKind::AddrInUse);
        return Err(ClusterError::failed_to(format!("find {count} free ports"))(none));
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    fn run_script(script: &str, processes: usize) -> (u8, Duration) {
        let started = Instant::now();
        let command = |process: usize| {
            let mut command = Command::new("sh");
            command.args(["-c", script, "sh", &process.to_string()]);
            command
        };
        let watch: Watch = Arc::new(|_| {});
        let ending = run(processes, &command, &watch, &mut Interrupts::default()).unwrap();
        (ending.code, started.elapsed())
    }

    #[test]
    fn children_are_told_where_all_are() {
        let script = r#"[ "$MESH_FOLLOW_PARENT" = 1 ] &&
            [ "${#MESH_RUN}" = 18 ] &&
            echo "$MESH_HOSTS" | grep -Eq '^(127.0.0.1:[0-9]+,){2}127.0.0.1:[0-9]+$'"#;
        assert_eq!(run_script(script, 3).0, 0);
    }

    #[test]
    fn the_first_failure_ends_the_others_and_is_the_answer() {
        let (code, time) = run_script(r#"[ "$1" = 1 ] && exit 65; exec sleep 30"#, 3);
        assert_eq!(code, 65);
        assert!(time < Duration::from_secs(15), "{time:?}");
    }

    #[test]
    fn who_is_killed_while_it_stops_was_interrupted() {
        let command = |_| {
            let mut command = Command::new("sleep");
            command.arg("30");
            command
        };
        let members = (0..2).map(|process| Member {
            command: command(process),
            greeting: None,
            is_read: true,
            is_remote: false,
        });
        let watch: Watch = Arc::new(|_| {});
        let ending = Family::run(members.collect(), &watch, &mut Interrupts::of(2)).unwrap();
        assert_eq!((ending.code, ending.culprit), (Exit::Interrupted as u8, None));
    }

    #[test]
    fn a_lost_peer_is_not_the_cause() {
        let (code, _) = run_script(r#"[ "$1" = 0 ] && exit 69; sleep 0.3; kill -9 $$"#, 2);
        assert_eq!(code, 137);
    }

    #[test]
    fn who_waits_is_told_that_another_has_failed_and_nobody_is_started_twice() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let script = r#"[ "$1" = 0 ] && exit 75; cat >> "$LOG"; exit 69"#;
        let script = format!("LOG={}; {script}", log.display());
        assert_eq!(run_script(&script, 2).0, Exit::Temporary as u8);
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "END\n");
    }

    #[test]
    fn a_process_has_a_lifeline_and_its_output_is_read() {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo "$MESH_FOLLOW_PARENT"; echo bad >&2; exit 65"#]);
        let ended = output(command, Stdio::piped()).unwrap();
        assert_eq!((ended.status.code(), &ended.stdout[..]), (Some(65), &b"1\n"[..]));
        assert_eq!(ended.stderr, b"bad\n");
    }

    #[test]
    fn ports_are_free_and_different() {
        let ports = free_ports(20).unwrap();
        assert!(ports.iter().all(|port| PORTS.contains(port)));
        let mut sorted = ports.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 20);
    }
}
