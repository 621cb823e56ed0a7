//! Where a job runs: the flags checked once into a value that cannot be wrong.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use thiserror::Error;

use super::args::PlacementArgs;

/// Worker threads of one process, ≥ 1.
pub type Threads = usize;

/// Where a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In this process, on so many threads.
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
        /// The file with every process's `host:port`, in order.
        hosts: PathBuf,
    },
}

/// Flags that do not fit together.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlacementError {
    /// A number is out of range.
    #[error("{flag} is {found}, but must be from {least} to {most}")]
    Range {
        /// The flag.
        flag: &'static str,
        /// What was given.
        found: usize,
        /// The smallest allowed.
        least: usize,
        /// The largest allowed.
        most: usize,
    },
    /// `--processes` together with flags of a cluster's member.
    #[error("--processes and {flag} exclude each other")]
    BothWays {
        /// The other flag.
        flag: &'static str,
    },
    /// A member of a cluster is only half described.
    #[error("{given} needs {missing} too")]
    Incomplete {
        /// A flag that was given.
        given: &'static str,
        /// One that was not.
        missing: &'static str,
    },
}

impl PlacementError {
    /// What to do about it, in one sentence.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Range { .. } => None,
            Self::BothWays { .. } => Some(
                "--processes N starts all processes on this machine; -n, -p and --hosts describe \
                 one process of several that you start yourself"
                    .into(),
            ),
            Self::Incomplete { .. } => Some(
                "one process of several is described by all of -n COUNT, -p INDEX and --hosts FILE"
                    .into(),
            ),
        }
    }
}

/// More threads than any machine has cores.
const MOST_THREADS: usize = 4096;
/// More processes than any run has had; each pair of them has a connection.
const MOST_PROCESSES: usize = 1024;

impl Placement {
    /// Checks the flags.
    ///
    /// # Errors
    /// Numbers out of range; flags that exclude or need each other.
    pub fn check(args: &PlacementArgs) -> Result<Self, PlacementError> {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::check_on(args, cores)
    }

    /// Checks the flags for a machine of so many cores.
    fn check_on(args: &PlacementArgs, cores: usize) -> Result<Self, PlacementError> {
        in_range("--threads", args.threads, 1, MOST_THREADS)?;
        in_range("--processes", args.processes, 1, MOST_PROCESSES)?;
        in_range("--process-count", args.process_count, 1, MOST_PROCESSES)?;
        let threads = |processes: usize| args.threads.unwrap_or((cores / processes).max(1));
        let member = [
            ("--process-count", args.process_count.is_some()),
            ("--process", args.process.is_some()),
            ("--hosts", args.hosts.is_some()),
        ];
        let given = member.iter().find(|(_, is)| *is).map(|(flag, _)| *flag);
        match (args.processes, given) {
            (Some(_), Some(flag)) => Err(PlacementError::BothWays { flag }),
            (Some(1) | None, None) => Ok(Self::Threads(threads(1))),
            (Some(processes), None) => Ok(Self::Spawn {
                processes,
                threads: threads(processes),
            }),
            (None, Some(given)) => {
                let missing = |flag| PlacementError::Incomplete {
                    given,
                    missing: flag,
                };
                let count = args.process_count.ok_or(missing("--process-count"))?;
                let index = args.process.ok_or(missing("--process"))?;
                in_range("--process", Some(index), 0, count - 1)?;
                if count == 1 {
                    return Ok(Self::Threads(threads(1)));
                }
                let hosts = args.hosts.clone().ok_or(missing("--hosts"))?;
                Ok(Self::Member {
                    index,
                    count,
                    threads: threads(1),
                    hosts,
                })
            }
        }
    }

    /// Processes in all.
    pub fn process_count(&self) -> usize {
        match self {
            Self::Threads(_) => 1,
            Self::Spawn { processes, .. } => *processes,
            Self::Member { count, .. } => *count,
        }
    }

    /// Threads of each process.
    pub fn threads(&self) -> Threads {
        match self {
            Self::Threads(threads) | Self::Spawn { threads, .. } | Self::Member { threads, .. } => {
                *threads
            }
        }
    }

    /// Workers in all: processes × threads.
    pub fn workers(&self) -> usize {
        self.process_count() * self.threads()
    }
}

fn in_range(
    flag: &'static str,
    number: Option<usize>,
    least: usize,
    most: usize,
) -> Result<(), PlacementError> {
    match number.filter(|n| !(least..=most).contains(n)) {
        Some(found) => Err(PlacementError::Range {
            flag,
            found,
            least,
            most,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> PlacementArgs {
        PlacementArgs::default()
    }

    #[test]
    fn cores_are_shared_among_the_processes_of_this_machine() {
        let check = |args: &PlacementArgs| Placement::check_on(args, 8);
        assert_eq!(check(&args()), Ok(Placement::Threads(8)));
        let three = PlacementArgs {
            processes: Some(3),
            ..args()
        };
        assert_eq!(
            check(&three),
            Ok(Placement::Spawn {
                processes: 3,
                threads: 2
            })
        );
        let many = PlacementArgs {
            processes: Some(20),
            ..args()
        };
        assert_eq!(check(&many).map(|p| p.workers()), Ok(20));
        let one = PlacementArgs {
            processes: Some(1),
            threads: Some(5),
            ..args()
        };
        assert_eq!(check(&one), Ok(Placement::Threads(5)));
    }

    #[test]
    fn a_member_is_described_in_full_or_not_at_all() {
        let whole = PlacementArgs {
            threads: Some(2),
            process_count: Some(3),
            process: Some(2),
            hosts: Some("hosts.txt".into()),
            ..args()
        };
        let member = Placement::Member {
            index: 2,
            count: 3,
            threads: 2,
            hosts: "hosts.txt".into(),
        };
        assert_eq!(Placement::check_on(&whole, 8), Ok(member));
        let no_hosts = PlacementArgs {
            hosts: None,
            ..whole.clone()
        };
        assert_eq!(
            Placement::check_on(&no_hosts, 8),
            Err(PlacementError::Incomplete {
                given: "--process-count",
                missing: "--hosts"
            })
        );
        let only_hosts = PlacementArgs {
            process_count: None,
            process: None,
            ..whole.clone()
        };
        assert_eq!(
            Placement::check_on(&only_hosts, 8),
            Err(PlacementError::Incomplete {
                given: "--hosts",
                missing: "--process-count"
            })
        );
        let outside = PlacementArgs {
            process: Some(3),
            ..whole.clone()
        };
        assert_eq!(
            Placement::check_on(&outside, 8),
            Err(PlacementError::Range {
                flag: "--process",
                found: 3,
                least: 0,
                most: 2
            })
        );
        let both = PlacementArgs {
            processes: Some(2),
            ..whole
        };
        assert_eq!(
            Placement::check_on(&both, 8),
            Err(PlacementError::BothWays {
                flag: "--process-count"
            })
        );
    }

    #[test]
    fn nothing_runs_on_no_threads() {
        let none = PlacementArgs {
            threads: Some(0),
            ..args()
        };
        let refused = PlacementError::Range {
            flag: "--threads",
            found: 0,
            least: 1,
            most: 4096,
        };
        assert_eq!(Placement::check_on(&none, 8), Err(refused));
    }
}
