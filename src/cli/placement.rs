//! Where a job runs: the flags, or the environment where they are absent, checked once into a value that is
//! always valid.

use super::args::PlacementArgs;
use super::machine::cores;
use super::{Failure, NAMES, warn};
use mesh::environment::{self, ProcessPlace, Variables};
use mesh::{hosts, spawn};

/// Where a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobPlacement {
    /// In this process, on this many threads.
    Threads(usize),
    /// In processes that this one starts on this machine.
    Spawn {
        /// How many, ≥ 2.
        processes: usize,
        /// Threads of each.
        threads: usize,
    },
    /// In several processes that were started one by one; this is one of them.
    Member {
        /// Its number, its threads, which must be the same in every process, and everyone's addresses.
        here: mesh::Placement,
        /// The program that started and numbered this process, if flags did not.
        by: Option<&'static str>,
        /// A token that only the processes of this attempt share: the variable `TOPICMILL_RUN`, or what a scheduler
        /// sets; empty without either.
        token: String,
    },
}

/// Remedy for `--processes` together with flags of a cluster's member.
const BOTH_WAYS: &str = "--processes N starts all processes on this machine; -n, -p and --hosts \
                         describe one process of several that you start yourself";
/// Remedy for a member of a cluster that is only half described.
const INCOMPLETE: &str = "pass -n COUNT, -p INDEX and --hosts FILE together, or provide them by the environment \
     (TOPICMILL_HOSTS and TOPICMILL_PROCESS, SLURM, Open MPI …)";

/// The most threads for each core of a run on this machine alone. In each round, every thread tells every other what it
/// has done, so that the time of a run grows with the square of the threads that share a core.
const THREADS_A_CORE: usize = 4;
/// More threads than any machine has cores.
const MOST_THREADS: usize = 4096;
/// More processes than any run has had; each pair of them has a connection.
const MOST_PROCESSES: usize = 1024;

impl JobPlacement {
    /// Checks the flags, and takes from the environment what they leave open. A run on this machine alone gets at most
    /// [`THREADS_A_CORE`] threads for each core, but one in each process.
    ///
    /// # Errors
    /// A number is out of range; flags exclude or need each other; the environment is inconsistent.
    pub(crate) fn check(args: &PlacementArgs) -> Result<Self, Failure> {
        Ok(Self::planned(args)?.limited(cores()))
    }

    /// Limits the threads of a run on this machine alone.
    fn limited(self, cores: usize) -> Self {
        let most = |processes: usize| (THREADS_A_CORE * cores / processes).max(1);
        match self {
            Self::Threads(threads) => Self::Threads(threads.min(most(1))),
            Self::Spawn { processes, threads } => {
                Self::Spawn { processes, threads: threads.min(most(processes)) }
            }
            member @ Self::Member { .. } => member,
        }
    }

    /// Checks the flags for a plan, perhaps for another machine; warns of more threads than this one has cores.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub(crate) fn planned(args: &PlacementArgs) -> Result<Self, Failure> {
        let cores = cores();
        let placement = Self::check_on(args, cores, &environment::variables())?;
        if let Some(warning) =
            placement.too_many_threads(cores).filter(|_| !spawn::follows_parent())
        {
            warn(&warning);
        }
        Ok(placement)
    }

    /// Says that this machine has fewer cores than threads, if it has.
    fn too_many_threads(&self, cores: usize) -> Option<String> {
        let here = |placement: &Self| match placement {
            Self::Spawn { processes, threads } => processes * threads,
            one => one.threads(),
        };
        let flag = if matches!(self, Self::Spawn { .. }) { "--processes" } else { "-w" };
        let (threads, most) = (here(self), here(&self.clone().limited(cores)));
        (threads > cores).then(|| {
            let starts = if most < threads {
                format!("; a run here starts {most}")
            } else {
                String::new()
            };
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
    pub(crate) fn here(threads: Option<usize>) -> Result<Self, Failure> {
        Self::check(&PlacementArgs { threads, processes: Some(1), ..PlacementArgs::default() })
    }

    /// Returns the number of threads in this process alone that do not wait for each other, as those of a stream.
    ///
    /// # Errors
    /// The number is out of range.
    pub(crate) fn independent_threads(threads: Option<usize>) -> Result<usize, Failure> {
        in_range("--threads", threads, 1, MOST_THREADS)?;
        Ok(threads.unwrap_or_else(cores))
    }

    /// Checks the flags for a machine with this many cores and an environment of these variables.
    fn check_on(
        args: &PlacementArgs,
        cores: usize,
        variables: &Variables,
    ) -> Result<Self, Failure> {
        in_range("--threads", args.threads, 1, MOST_THREADS)?;
        in_range("--processes", args.processes, 1, MOST_PROCESSES)?;
        in_range("--process-count", args.process_count, 1, MOST_PROCESSES)?;
        let threads = |processes: usize| args.threads.unwrap_or((cores / processes).max(1));
        let is_of_member = |flag: &&str| !matches!(*flag, "--processes" | "--port");
        let given = args.given().find(is_of_member);
        match (args.processes, given) {
            (Some(_), Some(flag)) => {
                return Err(Failure::usage(format!("--processes cannot be used with {flag}"))
                    .help(BOTH_WAYS));
            }
            (Some(1), None) => return Ok(Self::Threads(threads(1))),
            (Some(processes), None) => {
                return Ok(Self::Spawn { processes, threads: threads(processes) });
            }
            (None, _) => {}
        }
        let is_numbered = args.process_count.is_some() && args.process.is_some();
        let found = if is_numbered { None } else { environment::find(variables)? };
        if given.is_none() && found.is_none() {
            return Ok(Self::Threads(threads(1)));
        }
        Self::member(args, cores, variables, found, given.unwrap_or_default())
    }

    /// Places one process of several; each part of its place comes from its flag or else from the environment.
    fn member(
        args: &PlacementArgs,
        cores: usize,
        variables: &Variables,
        found: Option<ProcessPlace>,
        given: &'static str,
    ) -> Result<Self, Failure> {
        let missing = |flag| Failure::usage(format!("{given} also needs {flag}")).help(INCOMPLETE);
        let found = found.as_ref();
        let count = args.process_count.or(found.map(|found| found.processes));
        let count = count.ok_or_else(|| missing("--process-count"))?;
        let process = args.process.or(found.map(|found| found.process));
        let process = process.ok_or_else(|| missing("--process"))?;
        in_range("--process-count", Some(count), 1, MOST_PROCESSES)?;
        in_range("--process", Some(process), 0, count - 1)?;
        let threads = args.threads.or(found.and_then(|found| found.threads));
        // `--threads` has been checked.
        in_range("SLURM_CPUS_PER_TASK", threads, 1, MOST_THREADS)?;
        let threads = threads.unwrap_or((cores / found.map_or(1, |found| found.local)).max(1));
        if count == 1 {
            return Ok(Self::Threads(threads));
        }
        let (source, addresses) = match (&args.hosts, found) {
            (Some(file), _) => (file.to_string_lossy(), hosts::read(file)?),
            (None, Some(found)) => (found.by.into(), found.addresses(variables, args.port)?),
            (None, None) => {
                let listed = environment::listed(variables)?.ok_or_else(|| missing("--hosts"))?;
                (NAMES.variables.hosts.into(), listed)
            }
        };
        let addresses = hosts::counted(source, addresses, count)?;
        let token = variables.get(NAMES.variables.run).or(found.and_then(|it| it.token.as_ref()));
        Ok(Self::Member {
            here: mesh::Placement { threads, process, addresses },
            by: found.map(|found| found.by),
            token: token.cloned().unwrap_or_default(),
        })
    }

    /// Returns the number of processes.
    pub(crate) fn process_count(&self) -> usize {
        match self {
            Self::Threads(_) => 1,
            Self::Spawn { processes, .. } => *processes,
            Self::Member { here, .. } => here.processes(),
        }
    }

    /// Returns the threads of each process.
    pub(crate) fn threads(&self) -> usize {
        match self {
            Self::Threads(threads) | Self::Spawn { threads, .. } => *threads,
            Self::Member { here, .. } => here.threads,
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
