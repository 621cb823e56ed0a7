//! All processes of a run on this machine: started together, ended together.
//!
//! The parent chooses free ports, writes a host file, starts the children and waits. When one
//! fails the others get a moment to notice and are then killed. A child's standard input is a pipe
//! from its parent, and it ends when the pipe closes, so that nothing survives a parent that was
//! killed. Ports are taken below the range from which the system draws those of outgoing
//! connections.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use super::ClusterError;
use super::guard::{self, EXIT_INTERNAL, EXIT_UNAVAILABLE, Failure};

/// Exit code of a process that found its port taken: starting again may help (EX_TEMPFAIL).
pub const EXIT_TRY_AGAIN: u8 = 75;
/// Set for children that must end with their parent.
const FOLLOW: &str = "TOPICMILL_FOLLOW_PARENT";
/// How long the others may live on when one process has failed.
const GRACE: Duration = Duration::from_secs(2);
/// How often the children are looked at.
const TICK: Duration = Duration::from_millis(20);
/// How often the run is started, when ports turn out to be taken.
const ATTEMPTS: usize = 3;
/// Ports to choose from: below what systems use for outgoing connections.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// Starts `processes` processes on this machine, waits for them, and returns the exit code of the
/// run: 0 when all succeeded, else that of the process that failed first, where the loss of a peer
/// (69) counts only if nobody says anything better.
///
/// `command` makes the command of one process, without its place in the run: `-n N -p I --hosts
/// FILE` is appended here. The host file lives in `folder` while the run lasts. Process 0 keeps
/// the standard output, all keep the standard error.
///
/// # Errors
/// No free port is found, or the host file or a process cannot be made.
pub fn run(
    processes: usize,
    folder: &Path,
    command: &dyn Fn() -> Command,
) -> Result<u8, ClusterError> {
    let mut code = EXIT_TRY_AGAIN;
    for _ in 0..ATTEMPTS {
        let hosts = HostFile::write(folder, &free_ports(processes)?)?;
        let mut family = Family {
            children: Vec::new(),
        };
        for process in 0..processes {
            let place = [processes.to_string(), process.to_string()];
            let mut command = command();
            command
                .args(["-n", &place[0], "-p", &place[1], "--hosts"])
                .arg(&hosts.path)
                .env(FOLLOW, "1")
                .stdin(Stdio::piped());
            if process > 0 {
                command.stdout(Stdio::null());
            }
            let child = command
                .spawn()
                .map_err(failed(format!("start process {process}")))?;
            family.children.push(child);
        }
        code = family.wait().map_err(failed("wait for a process"))?;
        if code != EXIT_TRY_AGAIN {
            break;
        }
    }
    Ok(code)
}

/// Ends this process when the parent that started it with [`run`] is gone; call it early in `main`. Does
/// nothing in a process that was started otherwise.
pub fn follow_parent() {
    if std::env::var_os(FOLLOW).is_none() {
        return;
    }
    let watch = || {
        let mut input = std::io::stdin();
        let mut buffer = [0; 64];
        while !matches!(input.read(&mut buffer), Ok(0) | Err(_)) {}
        guard::fail(Failure {
            code: EXIT_UNAVAILABLE,
            message: "the process that started this one is gone".to_owned(),
        })
    };
    // Without the thread the process merely outlives its parent.
    let _ = std::thread::Builder::new()
        .name("follow".to_owned())
        .spawn(watch);
}

/// Names what was tried when the system said no.
fn failed(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> ClusterError {
    let action = action.into();
    move |source| ClusterError::Spawn { action, source }
}

/// Ports of this machine that nobody listens at now.
fn free_ports(count: usize) -> Result<Vec<u16>, ClusterError> {
    // Two launchers at the same time should not try the same ports in the same order.
    let nanos = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.subsec_nanos());
    let start = std::process::id()
        .wrapping_mul(7919)
        .wrapping_add(nanos / 64);
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
        let none = std::io::Error::from(std::io::ErrorKind::AddrInUse);
        return Err(failed(format!("find {count} free ports"))(none));
    }
    Ok(ports)
}

/// A host file that goes when the run is over.
struct HostFile {
    path: PathBuf,
}

impl HostFile {
    fn write(folder: &Path, ports: &[u16]) -> Result<HostFile, ClusterError> {
        let path = folder.join(format!("hosts-{}", std::process::id()));
        let write = || {
            std::fs::create_dir_all(folder)?;
            let mut file = std::fs::File::create(&path)?;
            for port in ports {
                writeln!(file, "127.0.0.1:{port}")?;
            }
            file.flush()
        };
        write().map_err(failed(format!("write {}", path.display())))?;
        Ok(HostFile { path })
    }
}

impl Drop for HostFile {
    fn drop(&mut self) {
        // A host file that stays behind harms nobody.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The children; none outlives this value.
struct Family {
    children: Vec<Child>,
}

impl Family {
    /// Waits for all children; the exit code of the run.
    fn wait(&mut self) -> std::io::Result<u8> {
        let mut failures = Vec::new();
        let mut ends: Option<Instant> = None;
        let mut running = vec![true; self.children.len()];
        while running.contains(&true) {
            let killed = ends.is_some_and(|ends| Instant::now() >= ends);
            if killed {
                self.kill();
            }
            for (child, running) in self.children.iter_mut().zip(&mut running) {
                let Some(status) = child.try_wait()?.filter(|_| *running) else {
                    continue;
                };
                *running = false;
                // Those that had to be killed are not the cause.
                let code = exit_code(status);
                failures.extend((code != 0 && !killed).then_some(code));
            }
            if !failures.is_empty() {
                ends.get_or_insert_with(|| Instant::now() + GRACE);
            }
            std::thread::sleep(TICK);
        }
        let cause = failures.iter().find(|&&code| code != EXIT_UNAVAILABLE);
        Ok(*cause.or(failures.first()).unwrap_or(&0))
    }

    fn kill(&mut self) {
        for child in &mut self.children {
            // It may have ended meanwhile.
            let _ = child.kill();
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.kill();
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}

/// The exit code of a process, 128 and the signal's number for one that a signal ended.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None::<i32>;
    let code = status.code().or(signal.map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(EXIT_INTERNAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_script(script: &str, processes: usize) -> (u8, Duration) {
        let folder = tempfile::tempdir().unwrap();
        let started = Instant::now();
        // The arguments are: sh -c SCRIPT sh -n N -p I --hosts FILE.
        let code = run(processes, folder.path(), &|| {
            let mut command = Command::new("sh");
            command.args(["-c", script, "sh"]);
            command
        })
        .unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        (code, started.elapsed())
    }

    #[test]
    fn children_get_their_place_and_a_host_file() {
        let script = r#"[ "$1 $2 $3 $5" = "-n 3 -p --hosts" ] && [ "$(wc -l < "$6")" = 3 ] &&
            [ "$TOPICMILL_FOLLOW_PARENT" = 1 ] && grep -q '^127.0.0.1:' "$6""#;
        assert_eq!(run_script(script, 3).0, 0);
    }

    #[test]
    fn the_first_failure_ends_the_others_and_is_the_answer() {
        let (code, time) = run_script(r#"[ "$4" = 1 ] && exit 65; exec sleep 30"#, 3);
        assert_eq!(code, 65);
        assert!(time < Duration::from_secs(15), "{time:?}");
    }

    #[test]
    fn a_lost_peer_is_not_the_cause() {
        let (code, _) = run_script(r#"[ "$4" = 0 ] && exit 69; sleep 0.3; kill -9 $$"#, 2);
        assert_eq!(code, 137);
    }

    #[test]
    fn taken_ports_are_tried_again_a_few_times() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let script = format!("echo x >> {}; exit 75", log.display());
        assert_eq!(run_script(&script, 1).0, EXIT_TRY_AGAIN);
        assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 3);
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
