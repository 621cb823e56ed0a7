//! The processes that this one started: watched together, ended together.
//!
//! A child's standard input is its lifeline: the child exits when it closes, and stops gracefully when
//! it reads `TERM`. No child therefore survives a parent that was killed, even on other hosts, as
//! long as the carrier of the lifeline (a pipe, ssh) closes too. When one child fails, the others get
//! a moment to notice by themselves, then their lifelines are closed, then they are killed.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::ClusterError;
use super::interrupt::Interrupts;
use crate::Exit;

/// The exit code of ssh when it lost the host, or a signal ended the process there: a loss like any other (69), but
/// it is the cause of the losses that other processes report.
const HOST_LOST: u8 = 255;
/// The message on a lifeline that stops its process as SIGTERM does.
pub(super) const TERM: &str = "TERM";
/// The last message on the lifeline of a process that must end because another has ended.
pub(super) const END: &str = "END";

/// How long the others may continue after one process has failed.
const GRACE: Duration = Duration::from_secs(2);
/// How long they may take to end after their lifelines are closed, and after they are killed.
const CLOSED: Duration = Duration::from_secs(5);
/// How long the last lines of a process may take to arrive.
const LAST_LINES: Duration = Duration::from_secs(1);
/// How often the children are checked.
pub(super) const TICK: Duration = Duration::from_millis(20);
/// The length of the longest line that is passed on in one piece, in bytes.
const LONGEST_LINE: u64 = 1 << 16;

/// A process to start.
#[derive(Debug)]
pub(super) struct Member {
    /// The command that starts it, without its streams.
    pub(super) command: Command,
    /// The first lines on its lifeline, if any.
    pub(super) greeting: Option<String>,
    /// Whether its standard error is read by line, for [`Event::Line`], instead of being ours.
    pub(super) is_read: bool,
    /// Whether it is a remote shell, which has its own exit codes.
    pub(super) is_remote: bool,
}

/// An event in the life of the children.
#[derive(Debug)]
pub enum Event<'a> {
    /// A process wrote a line to its standard error.
    Line {
        /// The number of the process.
        process: usize,
        /// The line, without its line break.
        line: &'a [u8],
    },
    /// All processes are told to stop, because this one was.
    Stopping,
    /// All processes are killed: a second signal came, or they took too long.
    Killing,
    /// All processes will be restarted.
    Restart {
        /// How they ended.
        ending: Ending,
        /// The number of this restart, from 1.
        restart: u32,
        /// The maximum number of restarts.
        most: u32,
        /// The wait before the restart.
        wait: Duration,
    },
}

/// Receives [`Event`]s, from several threads.
pub type Watch = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// How the processes of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// 0 if all succeeded, otherwise the code of the first that failed, where the loss of a peer (69)
    /// counts only if there is no better cause; 128 plus the signal's number after a signal.
    pub code: u8,
    /// The process with that code, if any failed.
    pub culprit: Option<usize>,
    /// Whether this process was told to stop.
    pub interrupted: bool,
}

/// The measures that end the children, in increasing severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Measure {
    /// They run.
    None,
    /// They get time to end by themselves.
    Wait,
    /// They are told to write a checkpoint and stop.
    Stop,
    /// Their lifelines are closed.
    Close,
    /// They are killed.
    Kill,
}

/// The children; none outlives this value.
pub(super) struct Family {
    children: Vec<Running>,
    watch: Watch,
    measure: Measure,
    /// When the next measure is due.
    due: Option<Instant>,
    /// How long the children may take to stop by themselves.
    stopping: Duration,
    /// Whether all children that have ended succeeded.
    all_succeeded: bool,
}

/// A child process.
struct Running {
    child: Child,
    life_line: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
    is_remote: bool,
    has_ended: bool,
}

impl Family {
    /// Starts the members, and waits for all of them.
    ///
    /// # Errors
    /// A process cannot be started, or its state cannot be read; those already started are killed.
    pub(super) fn run(
        members: Vec<Member>,
        watch: &Watch,
        interrupts: &mut Interrupts,
    ) -> Result<Ending, ClusterError> {
        let mut family = Family::start(members, watch)?;
        family.wait(interrupts).map_err(ClusterError::failed_to("wait for a process"))
    }

    /// Starts the members; only process 0 keeps the standard output.
    ///
    /// # Errors
    /// A process cannot be started; those already started are killed.
    fn start(members: Vec<Member>, watch: &Watch) -> Result<Family, ClusterError> {
        let mut family = Family {
            children: Vec::with_capacity(members.len()),
            watch: Arc::clone(watch),
            measure: Measure::None,
            due: None,
            stopping: Duration::ZERO,
            all_succeeded: true,
        };
        for (process, member) in members.into_iter().enumerate() {
            let action = format!("start process {process}, {}", in_words(&member.command));
            let started = Running::start(process, member, watch);
            family.children.push(started.map_err(ClusterError::failed_to(action))?);
        }
        Ok(family)
    }

    /// Waits for all children, and makes sure that they end if one fails or a signal arrives.
    ///
    /// # Errors
    /// The state of a child cannot be read.
    fn wait(&mut self, interrupts: &mut Interrupts) -> io::Result<Ending> {
        let mut failures = Vec::new();
        let mut interrupted = false;
        self.stopping = interrupts.patience;
        while self.children.iter().any(|child| !child.has_ended) {
            for _ in 0..interrupts.count() {
                self.take(if interrupted { Measure::Kill } else { Measure::Stop });
                interrupted = true;
            }
            if self.due.is_some_and(|due| Instant::now() >= due) {
                self.take(match self.measure {
                    Measure::Wait => Measure::Close,
                    _ => Measure::Kill,
                });
            }
            self.collect(&mut failures)?;
            if !failures.is_empty() {
                self.take(Measure::Wait);
            }
            std::thread::sleep(TICK);
        }
        for child in &mut self.children {
            child.hear_the_last();
        }
        let cause = failures.iter().find(|(_, code)| *code != Exit::Unavailable as u8);
        let cause = cause.or(failures.first());
        Ok(Ending {
            code: match cause {
                Some((_, HOST_LOST)) => Exit::Unavailable as u8,
                Some((_, code)) => *code,
                None if self.all_succeeded => 0,
                // They were ended before they stopped by themselves.
                None => Exit::Interrupted as u8,
            },
            culprit: cause.map(|&(process, _)| process),
            interrupted,
        })
    }

    /// Records which processes have ended, and the codes of those that failed by themselves.
    fn collect(&mut self, failures: &mut Vec<(usize, u8)>) -> io::Result<()> {
        for (process, running) in self.children.iter_mut().enumerate() {
            if running.has_ended {
                continue;
            }
            let Some(status) = running.child.try_wait()? else {
                continue;
            };
            running.has_ended = true;
            running.life_line = None;
            let code = exit_code(status, running.is_remote);
            self.all_succeeded &= code == 0;
            // Processes that had to be ended are not the cause.
            if code != 0 && self.measure < Measure::Close {
                failures.push((process, code));
            }
        }
        Ok(())
    }

    /// Takes a measure, if it is more severe than those already taken.
    fn take(&mut self, measure: Measure) {
        if measure <= self.measure {
            return;
        }
        self.measure = measure;
        let patience = match measure {
            Measure::None | Measure::Wait => GRACE,
            Measure::Stop => {
                (self.watch)(&Event::Stopping);
                for child in &mut self.children {
                    child.say(TERM);
                }
                self.stopping
            }
            Measure::Close => {
                for child in &mut self.children {
                    child.say(END);
                    child.life_line = None;
                }
                CLOSED
            }
            Measure::Kill => {
                (self.watch)(&Event::Killing);
                self.kill();
                CLOSED
            }
        };
        self.due = Some(Instant::now() + patience);
    }

    fn kill(&mut self) {
        for child in &mut self.children {
            child.life_line = None;
            // The child may have ended meanwhile.
            let _ = child.child.kill();
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.kill();
        for child in &mut self.children {
            let _ = child.child.wait();
        }
    }
}

impl Running {
    fn start(process: usize, member: Member, watch: &Watch) -> io::Result<Running> {
        let mut command = member.command;
        command.stdin(Stdio::piped());
        if process > 0 {
            command.stdout(Stdio::null());
        }
        if member.is_read {
            command.stderr(Stdio::piped());
        }
        // Control-C at a terminal reaches only the parent, which tells the children.
        command.process_group(0);
        let mut child = command.spawn()?;
        let stderr = child.stderr.take();
        let mut running = Running {
            life_line: child.stdin.take(),
            child,
            reader: None,
            is_remote: member.is_remote,
            has_ended: false,
        };
        if let Some(stderr) = stderr {
            running.reader = Some(read_lines(process, stderr, Arc::clone(watch))?);
        }
        if let Some(greeting) = member.greeting {
            running.say(&greeting);
        }
        Ok(running)
    }

    /// Writes a line to the lifeline. A process that has ended meanwhile does not read it.
    fn say(&mut self, line: &str) {
        if let Some(life_line) = &mut self.life_line {
            let _ = life_line.write_all(format!("{line}\n").as_bytes());
            let _ = life_line.flush();
        }
    }

    /// Waits a moment for the last lines of the process, not for the end of the stream: another
    /// process that inherited it may hold it open.
    fn hear_the_last(&mut self) {
        let limit = Instant::now() + LAST_LINES;
        let Some(reader) = self.reader.take() else {
            return;
        };
        while !reader.is_finished() && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Describes a command by its program and folder.
fn in_words(command: &Command) -> String {
    let program = command.get_program().display();
    match command.get_current_dir() {
        Some(folder) => format!("{program} in {}", folder.display()),
        None => program.to_string(),
    }
}

/// Passes on the lines that a process writes until it closes the stream.
fn read_lines(process: usize, stderr: ChildStderr, watch: Watch) -> io::Result<JoinHandle<()>> {
    let pass_on = move || {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut bounded = io::Read::take(&mut stderr, LONGEST_LINE);
            match bounded.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            watch(&Event::Line { process, line });
        }
    };
    std::thread::Builder::new().name(format!("lines-{process}")).spawn(pass_on)
}

/// Returns the exit code of a process, or 128 plus the signal's number if a signal ended it.
///
/// A remote shell returns 255 ([`HOST_LOST`]) if it lost the host, and 126 or 127 if it cannot run the program.
fn exit_code(status: ExitStatus, is_remote: bool) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    match code {
        Some(255) if !is_remote => Exit::Internal as u8,
        Some(126 | 127) if is_remote => Exit::Usage as u8,
        code => code.and_then(|code| u8::try_from(code).ok()).unwrap_or(Exit::Internal as u8),
    }
}
