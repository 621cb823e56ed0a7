//! Where a job runs: the flags, or the environment where they are absent, checked once into a value that is
//! always valid.

use super::Failure;
use super::args::PlacementArgs;
use super::machine::cores;
use super::warn;
use mesh::environment::{self, ProcessPlace, Wanted};
use mesh::hosts::Peers;
use mesh::spawn;

/// Worker threads of one process, ≥ 1.
pub(crate) type Threads = usize;

/// Where a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// In this process, on this many threads.
    Threads(Threads),
    /// In processes that this one starts on this machine.
    Spawn {
        /// How many, ≥ 2.
        processes: usize,
        /// Threads of each.
        threads: Threads,
    },
    /// In several processes that were started one by one; this is one of them.
    Member {
        /// Which one, from 0, below `count`.
        index: usize,
        /// How many there are, ≥ 2.
        count: usize,
        /// Threads of each; every process must be given the same number.
        threads: Threads,
        /// Every process's `host:port`, in order.
        peers: Peers,
        /// The program that started and numbered this process, if flags did not.
        by: Option<&'static str>,
        /// A token that only the processes of this attempt share, if the launcher provided one.
        token: Option<String>,
    },
}

/// Remedy for `--processes` together with flags of a cluster's member.
const BOTH_WAYS: &str = "--processes N starts all processes on this machine; -n, -p and --hosts \
                         describe one process of several that you start yourself";
/// Remedy for a member of a cluster that is only half described.
const INCOMPLETE: &str = "pass -n COUNT, -p INDEX and --hosts FILE together, or provide them by the environment \
     (TOPICMILL_HOSTS and TOPICMILL_PROCESS, SLURM, Open MPI …)";

/// The most threads for each core of a process that is alone. In each round, every thread tells every other what it has
/// done, so that the time of a run grows with the square of the threads that share a core.
const THREADS_A_CORE: usize = 4;
/// More threads than any machine has cores.
const MOST_THREADS: usize = 4096;
/// More processes than any run has had; each pair of them has a connection.
const MOST_PROCESSES: usize = 1024;

/// What the environment sets and the flags do not.
#[derive(Debug, Default)]
struct Surroundings {
    /// This process's place, if its number or the number of processes is needed.
    found: Option<ProcessPlace>,
    /// The addresses of all processes, if only those are needed.
    listed: Option<Peers>,
}

impl Surroundings {
    /// Looks in the environment for what `args` lacks.
    fn look(args: &PlacementArgs) -> Result<Self, Failure> {
        let mut surroundings = Self::default();
        let variables = environment::variables();
        if args.process_count.is_some() && args.process.is_some() {
            if args.hosts.is_none() {
                surroundings.listed = environment::listed(&variables)?;
            }
        } else if args.processes.is_none() {
            let wanted = Wanted { port: args.port, peers: args.hosts.is_none() };
            surroundings.found = environment::find(&variables, wanted)?;
        }
        Ok(surroundings)
    }
}

/// Returns the flags of a process that is alone.
fn alone(threads: Option<Threads>) -> PlacementArgs {
    PlacementArgs { threads, processes: Some(1), ..PlacementArgs::default() }
}

impl Placement {
    /// Checks the flags, and takes from the environment what they leave open. A process that is alone gets at most
    /// [`THREADS_A_CORE`] threads for each of its cores.
    ///
    /// # Errors
    /// A number is out of range; flags exclude or need each other; the environment is inconsistent.
    pub(crate) fn check(args: &PlacementArgs) -> Result<Self, Failure> {
        Ok(match Self::planned(args)? {
            Self::Threads(threads) => Self::Threads(threads.min(THREADS_A_CORE * cores())),
            other => other,
        })
    }

    /// Checks the flags for a plan, perhaps for another machine; warns of more threads than this one has cores.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub(crate) fn planned(args: &PlacementArgs) -> Result<Self, Failure> {
        let cores = cores();
        let placement = Self::check_on(args, cores, Surroundings::look(args)?)?;
        if let Some(warning) =
            placement.too_many_threads(cores).filter(|_| !spawn::follows_parent())
        {
            warn(&warning);
        }
        Ok(placement)
    }

    /// Says that this machine has fewer cores than threads, if it has.
    fn too_many_threads(&self, cores: usize) -> Option<String> {
        let (flag, threads, starts) = match *self {
            Self::Threads(threads) if threads > THREADS_A_CORE * cores => {
                let most = THREADS_A_CORE * cores;
                ("-w", threads, format!("; a run here starts {most}"))
            }
            Self::Threads(threads) | Self::Member { threads, .. } => ("-w", threads, String::new()),
            Self::Spawn { processes, threads } => {
                ("--processes", processes * threads, String::new())
            }
        };
        (threads > cores).then(|| {
            format!(
                "{flag}: {threads} threads for {cores} cores only wait for each other{starts}; the result is the same \
                 with fewer"
            )
        })
    }

    /// Places a job in this process alone, whatever the environment says.
    ///
    /// # Errors
    /// The number is out of range.
    pub(crate) fn here(threads: Option<Threads>) -> Result<Self, Failure> {
        Self::check(&alone(threads))
    }

    /// Returns the number of threads in this process alone that do not wait for each other, as those of a stream.
    ///
    /// # Errors
    /// The number is out of range.
    pub(crate) fn independent_threads(threads: Option<Threads>) -> Result<Threads, Failure> {
        let args = alone(threads);
        let placement = Self::check_on(&args, cores(), Surroundings::look(&args)?)?;
        Ok(placement.threads())
    }

    /// Checks the flags for a machine with this many cores.
    fn check_on(
        args: &PlacementArgs,
        cores: usize,
        surroundings: Surroundings,
    ) -> Result<Self, Failure> {
        in_range("--threads", args.threads, 1, MOST_THREADS)?;
        in_range("--processes", args.processes, 1, MOST_PROCESSES)?;
        in_range("--process-count", args.process_count, 1, MOST_PROCESSES)?;
        let threads = |processes: usize| args.threads.unwrap_or((cores / processes).max(1));
        let is_of_member = |flag: &&str| !matches!(*flag, "--processes" | "--port");
        let given = args.given().find(is_of_member);
        match (args.processes, given) {
            (Some(_), Some(flag)) => {
                Err(Failure::usage(format!("--processes cannot be used with {flag}"))
                    .help(BOTH_WAYS))
            }
            (Some(1), None) => Ok(Self::Threads(threads(1))),
            (Some(processes), None) => Ok(Self::Spawn { processes, threads: threads(processes) }),
            (None, None) if surroundings.found.is_none() => Ok(Self::Threads(threads(1))),
            (None, given) => Self::member(args, cores, surroundings, given.unwrap_or_default()),
        }
    }

    /// Places one process of several; each part of its place comes from its flag or else from the environment.
    fn member(
        args: &PlacementArgs,
        cores: usize,
        surroundings: Surroundings,
        given: &'static str,
    ) -> Result<Self, Failure> {
        let missing = |flag| Failure::usage(format!("{given} also needs {flag}")).help(INCOMPLETE);
        let found = surroundings.found;
        let of = |part: fn(&ProcessPlace) -> usize| found.as_ref().map(part);
        let count = args.process_count.or(of(|found| found.processes));
        let count = count.ok_or(missing("--process-count"))?;
        let index = args.process.or(of(|found| found.process));
        let index = index.ok_or(missing("--process"))?;
        in_range("--process-count", Some(count), 1, MOST_PROCESSES)?;
        in_range("--process", Some(index), 0, count - 1)?;
        let here = found.as_ref().map_or(1, |found| found.local);
        let told = found.as_ref().and_then(|found| found.threads);
        let threads = args.threads.or(told);
        // `--threads` has been checked.
        in_range("SLURM_CPUS_PER_TASK", threads, 1, MOST_THREADS)?;
        let threads = threads.unwrap_or((cores / here).max(1));
        if count == 1 {
            return Ok(Self::Threads(threads));
        }
        let (by, token) = (
            found.as_ref().map(|found| found.by),
            found.as_ref().and_then(|found| found.token.clone()),
        );
        let file = args.hosts.clone().map(Peers::File);
        let peers = file.or(surroundings.listed).or(found.and_then(|found| found.peers));
        Ok(Self::Member {
            index,
            count,
            threads,
            peers: peers.ok_or(missing("--hosts"))?,
            by,
            token,
        })
    }

    /// Returns a token that only the processes of this attempt share: the variable `TOPICMILL_RUN`, or what a
    /// scheduler sets; empty without either.
    pub(crate) fn token(&self) -> String {
        let own = std::env::var(super::NAMES.variables.run).ok();
        let found = match self {
            Self::Member { token, .. } => token.clone(),
            Self::Threads(_) | Self::Spawn { .. } => None,
        };
        own.or(found).unwrap_or_default()
    }

    /// Returns the number of processes.
    pub(crate) fn process_count(&self) -> usize {
        match self {
            Self::Threads(_) => 1,
            Self::Spawn { processes, .. } => *processes,
            Self::Member { count, .. } => *count,
        }
    }

    /// Returns the threads of each process.
    pub(crate) fn threads(&self) -> Threads {
        match self {
            Self::Threads(threads) | Self::Spawn { threads, .. } | Self::Member { threads, .. } => {
                *threads
            }
        }
    }
}

fn in_range(
    flag: &'static str,
    number: Option<usize>,
    least: usize,
    most: usize,
) -> Result<(), Failure> {
    match number.filter(|n| !(least..=most).contains(n)) {
        Some(found) => {
            Err(Failure::usage(format!("{flag} is {found}, but must be from {least} to {most}")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
