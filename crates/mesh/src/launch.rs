//! Starts all processes of a run, from one place, on the hosts of a host file, and restarts them when
//! one is lost.
//!
//! A process on this machine is started directly, others through ssh or its replacement. Shared
//! settings are passed in the environment: the addresses, the token of this attempt, and confidential
//! values. Those of remote processes are written to standard input, so that no process list on any
//! host shows them. That input stays open as the process's lifeline (`family`).
//!
//! There is no recovery inside a run: when a process is lost, all are ended and restarted, and the
//! run resumes from its newest checkpoint. Each restart counts towards [`Launch::max_restarts`] of the
//! whole launch, as in Kubernetes and YARN: a run that keeps losing processes ends eventually,
//! whatever its progress in between.

use std::ffi::{OsStr, OsString};
use std::net::{ToSocketAddrs, UdpSocket};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::ClusterError;
use super::family::{Ending, Event, Family, Member, Watch};
use super::hosts::host_of;
use super::interrupt::Interrupts;
use super::names::{SettingNames, VariableNames};
use super::secret::{Secret, random_hex};
use super::spawn::{token, variables};
use crate::Exit;

/// The longest wait before a restart.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How often signals are checked during that wait.
const TICK: Duration = Duration::from_millis(20);

/// The processes to start, and their hosts.
///
/// Process p of P runs `program command -n P -p p arguments`, where `-n` and `-p` are the
/// [names](crate::names::SettingNames) of its flags. Its environment has the [addresses](VariableNames::hosts), the
/// [name of the attempt](VariableNames::run) and the [secret](VariableNames::secret). It should call
/// [`follow_parent`](crate::spawn::follow_parent).
#[derive(Clone, Debug)]
pub struct Launch {
    /// `host:port` of each process, in order; at least one.
    pub addresses: Vec<String>,
    /// The program, on every host.
    pub program: PathBuf,
    /// The folder in which it runs, on every host.
    pub directory: PathBuf,
    /// Its first argument: a subcommand.
    pub command: &'static str,
    /// Its arguments after its place in the run.
    pub arguments: Vec<OsString>,
    /// The shell command that runs a command on another host: `COMMAND HOST 'REMOTE COMMAND'`.
    pub ssh: String,
    /// Whether processes on this machine are started by that command too.
    pub ssh_all: bool,
    /// The secret of the run, one line; if `None`, each launch makes a new one.
    pub secret: Option<Secret>,
    /// Variables for the processes on other hosts; those on this machine inherit its environment.
    /// Names must be valid in a shell, values have no line breaks.
    pub environment: Vec<(String, String)>,
    /// Maximum number of restarts of all processes after one is lost.
    pub max_restarts: u32,
}

impl Launch {
    /// Starts all processes, and restarts them when one is lost. Returns how they ended the last time,
    /// with code 143 if a signal ended them. `watch` receives the events.
    ///
    /// # Errors
    /// A process cannot be started; the secret is not one line; there is no randomness for one.
    pub fn run(&self, watch: &Watch, interrupts: &mut Interrupts) -> Result<Ending, ClusterError> {
        let secret = match &self.secret {
            Some(secret) => secret.line()?.to_owned(),
            None => Secret::random_text()?,
        };
        let name = random_hex::<8>()?;
        let mut restart = 0;
        loop {
            let token = token(&name, restart);
            let ending = Family::run(self.members(&secret, &token), watch, interrupts)?;
            if ending.interrupted && ending.code != 0 {
                return Ok(interrupted(ending));
            }
            if !is_worth_another_try(ending.code) || restart == self.max_restarts {
                return Ok(ending);
            }
            let wait = Duration::from_secs(1 << restart.min(10)).min(LONGEST_WAIT);
            restart += 1;
            watch(&Event::Restart { ending, restart, most: self.max_restarts, wait });
            let ends = Instant::now() + wait;
            while Instant::now() < ends {
                if interrupts.count() > 0 {
                    return Ok(interrupted(ending));
                }
                std::thread::sleep(TICK);
            }
        }
    }

    /// Returns the commands in shell syntax, in order, with a placeholder for the attempt's token.
    /// They contain neither the secret nor the values of [`environment`](Self::environment): these are
    /// the first lines on standard input or, for a process on this machine, in its environment.
    pub fn commands(&self) -> Vec<OsString> {
        let token = "ATTEMPT";
        let command = |process| {
            if self.is_remote(process) {
                let mut words = OsString::from(format!("{} {} ", self.ssh, self.host(process)));
                words.push(quote(&self.script(process, token)));
                words
            } else {
                let mut words = OsString::from("cd ");
                words.push(quote(self.directory.as_os_str()));
                words.push(" &&");
                self.push_variables(&mut words, token);
                words.push(" ");
                self.push_program(&mut words, process);
                words
            }
        };
        (0..self.addresses.len()).map(command).collect()
    }

    /// Returns the processes of one attempt.
    fn members(&self, secret: &str, token: &str) -> Vec<Member> {
        let member = |process| {
            if self.is_remote(process) {
                self.remote(process, secret, token)
            } else {
                self.local(process, secret, token)
            }
        };
        (0..self.addresses.len()).map(member).collect()
    }

    fn local(&self, process: usize, secret: &str, token: &str) -> Member {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.directory)
            .args(self.arguments_of(process))
            .envs(variables(&self.addresses, token))
            .env(VariableNames::get().secret, secret)
            .env_remove(VariableNames::get().secret_file);
        Member { command, greeting: None, is_read: true, is_remote: false }
    }

    /// Returns a process whose command is run by a shell, which splits the user's ssh command.
    fn remote(&self, process: usize, secret: &str, token: &str) -> Member {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("exec {} \"$@\"", self.ssh))
            .arg("ssh")
            .arg(self.host(process))
            .arg(self.script(process, token))
            .env_remove(VariableNames::get().secret)
            .env_remove(VariableNames::get().secret_file);
        Member { command, greeting: Some(self.lines(secret)), is_read: true, is_remote: true }
    }

    /// Returns the lines that a process on another host reads from standard input, in the order of its script.
    fn lines(&self, secret: &str) -> String {
        let values = self.environment.iter().map(|(_, value)| value.as_str());
        let lines: Vec<&str> = std::iter::once(secret).chain(values).collect();
        lines.join("\n")
    }

    /// Returns the command for a login shell of any kind: it reads its variables and becomes the process.
    fn script(&self, process: usize, token: &str) -> OsString {
        let directory = quote(self.directory.as_os_str());
        let mut script = OsString::from("cd ");
        script.push(&directory);
        script.push(" || exit 64");
        let names = self.environment.iter().map(|(name, _)| name.as_str());
        let names: Vec<&str> = std::iter::once(VariableNames::get().secret).chain(names).collect();
        for name in &names {
            script.push(format!("; IFS= read -r {name}"));
        }
        script.push(format!("; export {}", names.join(" ")));
        self.push_variables(&mut script, token);
        script.push("; exec ");
        self.push_program(&mut script, process);
        let mut whole = OsString::from("exec sh -c ");
        whole.push(quote(&script));
        whole
    }

    /// Appends ` NAME=value` for each variable.
    fn push_variables(&self, words: &mut OsString, token: &str) {
        for (name, value) in variables(&self.addresses, token) {
            words.push(format!(" {name}="));
            words.push(quote(value.as_ref()));
        }
    }

    /// Appends the program with its arguments.
    fn push_program(&self, words: &mut OsString, process: usize) {
        words.push(quote(self.program.as_os_str()));
        for argument in self.arguments_of(process) {
            words.push(" ");
            words.push(quote(&argument));
        }
    }

    fn arguments_of(&self, process: usize) -> Vec<OsString> {
        let (processes, process) = (self.addresses.len().to_string(), process.to_string());
        let names = SettingNames::get();
        let place = [self.command, names.processes, &processes, names.process, &process];
        let place = place.map(OsString::from);
        place.into_iter().chain(self.arguments.clone()).collect()
    }

    fn host(&self, process: usize) -> &str {
        host_of(&self.addresses[process])
    }

    fn is_remote(&self, process: usize) -> bool {
        self.ssh_all || !is_here(self.host(process))
    }
}

/// Returns the ending of a run that was told to stop.
fn interrupted(ending: Ending) -> Ending {
    Ending { code: Exit::Interrupted as u8, interrupted: true, ..ending }
}

/// Returns whether all of `addresses` belong to this machine.
pub fn are_here(addresses: &[String]) -> bool {
    addresses.iter().all(|address| is_here(host_of(address)))
}

/// Returns whether a name belongs to this machine: only its own addresses can be bound. A name that
/// cannot be resolved is left to ssh, which may know it.
fn is_here(host: &str) -> bool {
    let addresses = (host, 0).to_socket_addrs().into_iter().flatten();
    addresses.into_iter().any(|address| UdpSocket::bind(address).is_ok())
}

/// Returns whether a restart may help: a process was lost or killed, or had an I/O error or another
/// temporary failure. It does not help after a usage error, wrong data, a bug of ours or an interrupt.
fn is_worth_another_try(code: u8) -> bool {
    use Exit::{Io, Killed, Temporary, Unavailable};
    code != 0 && matches!(Exit::of(code), Unavailable | Io | Temporary | Killed)
}

/// Quotes `word` for a POSIX shell: in single quotes, unless it needs none.
pub fn quote(word: &OsStr) -> OsString {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:,=@%+".contains(byte);
    let bytes = word.as_bytes();
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        return word.to_owned();
    }
    let parts: Vec<&[u8]> = bytes.split(|&byte| byte == b'\'').collect();
    let escaped = parts.join(&br"'\''"[..]);
    OsString::from_vec([b"'", &escaped[..], b"'"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(addresses: &[&str]) -> Launch {
        Launch {
            addresses: addresses.iter().map(|a| (*a).to_owned()).collect(),
            program: "/opt/it's here/program".into(),
            directory: "/data/a b".into(),
            command: "run",
            arguments: ["--option=a.b=c", "job $x.toml"].map(OsString::from).into(),
            ssh: "ssh -o BatchMode=yes".to_owned(),
            ssh_all: false,
            secret: Secret::new(b"the secret of this test", "test").ok(),
            environment: vec![("KEY".to_owned(), " a 'key' ".to_owned())],
            max_restarts: 0,
        }
    }

    #[test]
    fn quoted_words_survive_a_shell() {
        let odd = OsString::from_vec(b"\xff'\n".to_vec());
        let words = ["plain", "", "two words", "it's", "$HOME `x` \\ \"", "{a,b}*?"];
        let words = words.map(OsString::from).into_iter().chain([odd]);
        for word in words {
            let mut script = OsString::from("printf %s ");
            script.push(quote(&word));
            let output = Command::new("sh").arg("-c").arg(&script).output().unwrap();
            assert_eq!(OsString::from_vec(output.stdout), word);
        }
    }

    #[test]
    fn own_addresses_are_here_and_others_are_not() {
        for host in ["127.0.0.1", "127.0.0.2", "localhost"] {
            assert!(is_here(host), "{host}");
        }
        // A documentation address (RFC 5737), and a name that does not exist (RFC 6761).
        for host in ["203.0.113.1", "nowhere.invalid"] {
            assert!(!is_here(host), "{host}");
        }
        assert!(are_here(&["localhost:1".to_owned()]));
    }

    #[test]
    fn commands_name_their_place_and_host_and_no_secret() {
        let launch = launch(&["127.0.0.1:7101", "203.0.113.1:7101"]);
        let commands = launch.commands();
        assert_eq!(
            commands[0],
            "cd '/data/a b' && MESH_HOSTS=127.0.0.1:7101,203.0.113.1:7101 \
             MESH_RUN=ATTEMPT MESH_FOLLOW_PARENT=1 '/opt/it'\\''s here/program' run \
             processes 2 process 0 --option=a.b=c 'job $x.toml'"
        );
        let remote = commands[1].to_str().unwrap();
        assert!(remote.starts_with("ssh -o BatchMode=yes 203.0.113.1 'exec sh -c "), "{remote}");
        assert!(!remote.contains("the secret of this test"));
        assert!(remote.contains(" KEY") && !remote.contains("key"));
    }

    #[test]
    fn losses_are_tried_again_and_mistakes_are_not() {
        for code in [69, 74, 75, 134, 137, 139] {
            assert!(is_worth_another_try(code), "{code}");
        }
        for code in [0, 1, 64, 65, 70, 127, 143] {
            assert!(!is_worth_another_try(code), "{code}");
        }
    }
}
