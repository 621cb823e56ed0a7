//! This process's place in a run according to the environment, used if no flag gives it.
//!
//! SLURM, Open MPI, the PMI of other MPIs, `RANK` and `WORLD_SIZE`, and Kubernetes' Indexed Jobs
//! number the processes they start; some also provide the addresses of the others. The place is a
//! pure function of the variables. An incomplete environment, such as a batch script outside
//! `srun`, means a single process.

mod slurm;

use std::collections::BTreeMap;

use super::hosts::{counted, parse_list};
use super::names::{SettingNames, VariableNames};
use crate::UsageError;

/// The first port on each host, unless another is given.
const DEFAULT_PORT: u16 = 7101;

/// The largest number of processes in a variable: more than a run can have, few enough to list.
const MOST_PROCESSES: usize = 1 << 16;
/// Maximum number of bytes in a host name; the domain name system allows 253.
const MOST_NAME_BYTES: usize = 255;

/// The environment variables that are text.
pub type Variables = BTreeMap<String, String>;

/// The place found: one process of several.
#[derive(Clone, Debug)]
pub struct ProcessPlace {
    /// The source: a scheduler, or our own variables.
    pub by: &'static str,
    /// The number of this process, from 0, below `processes`.
    pub process: usize,
    /// The number of processes, ≥ 2.
    pub processes: usize,
    /// The largest number of processes on one host, 1 if unknown.
    pub local: usize,
    /// The number of threads given to each process, if known.
    pub threads: Option<usize>,
    /// A token that only the processes of this attempt share, if there is one.
    pub token: Option<String>,
    launcher: &'static Launcher,
}

/// Finds the addresses of all processes from a port on, if the variables have them.
type FindAddresses = fn(&Variables, &ProcessPlace, u16) -> Result<Option<Vec<String>>, UsageError>;

/// A program that numbers the processes it starts, and the variables in which it does.
#[derive(Debug)]
struct Launcher {
    name: &'static str,
    /// The variable with the number of the process.
    rank: &'static str,
    /// The variables with the number of processes; the first that is set counts.
    size: &'static [&'static str],
    /// The variable with the number of processes on this host, or "".
    local: &'static str,
    /// What else its variables say of a place; `None` if they are not of this process.
    complete: fn(&Variables, ProcessPlace) -> Result<Option<ProcessPlace>, UsageError>,
    /// The addresses of all processes from this port on, if its variables have them.
    addresses: FindAddresses,
}

/// A launcher that says no more than numbers.
const PLAIN: Launcher = Launcher {
    name: "",
    rank: "",
    size: &[],
    local: "",
    complete: |_, found| Ok(Some(found)),
    addresses: |_, _, _| Ok(None),
};

/// The launchers, the nearest to the process first: an `mpirun` within a SLURM job takes precedence over SLURM.
const LAUNCHERS: [Launcher; 5] = [
    Launcher {
        name: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        size: &["OMPI_COMM_WORLD_SIZE"],
        local: "OMPI_COMM_WORLD_LOCAL_SIZE",
        complete: |variables, found| {
            Ok(Some(ProcessPlace { token: variables.get("PMIX_NAMESPACE").cloned(), ..found }))
        },
        ..PLAIN
    },
    slurm::LAUNCHER,
    PMI,
    Launcher {
        name: "RANK and WORLD_SIZE",
        rank: "RANK",
        size: &["WORLD_SIZE"],
        local: "LOCAL_WORLD_SIZE",
        addresses: |variables, found, port| {
            let master = variables.get("MASTER_ADDR").map(String::as_str);
            let is_here = matches!(master, Some("127.0.0.1" | "localhost" | "::1"));
            is_here.then(|| here(found, port)).transpose()
        },
        ..PLAIN
    },
    Launcher {
        name: KUBERNETES,
        rank: "JOB_COMPLETION_INDEX",
        addresses: |variables, found, port| {
            let (job, service) = job_and_service(variables)?;
            let address = |process| at(&format!("{job}-{process}.{service}"), port, 0);
            (0..found.processes).map(address).collect::<Result<_, _>>().map(Some)
        },
        ..PLAIN
    },
];

/// The process manager of MPICH and others.
const PMI: Launcher = Launcher {
    name: "PMI",
    rank: "PMI_RANK",
    size: &["PMI_SIZE"],
    local: "MPI_LOCALNRANKS",
    ..PLAIN
};

const KUBERNETES: &str = "Kubernetes";

impl Launcher {
    /// Returns the number of this process and the number of processes, if both are given. If the launcher does not
    /// give the latter, it is that of our own variable.
    fn numbers(&self, variables: &Variables) -> Result<Option<(usize, usize)>, UsageError> {
        let mut sizes = self.size.iter().copied();
        let size = match sizes.find(|name| variables.contains_key(*name)) {
            Some(size) => size,
            None if self.size.is_empty() => VariableNames::get().processes,
            None => return Ok(None),
        };
        let (process, processes) = (number(variables, self.rank)?, count(variables, size)?);
        let (Some(process), Some(processes)) = (process, processes) else {
            return Ok(None);
        };
        below(variables, self.rank, process, processes)?;
        Ok(Some((process, processes)))
    }

    /// Finds the place of a process that it has started.
    fn find(&'static self, variables: &Variables) -> Result<Option<ProcessPlace>, UsageError> {
        let Some(numbers) = self.numbers(variables)? else {
            return Ok(None);
        };
        let mut found = ProcessPlace::new(self.name, numbers, self);
        found.local = number(variables, self.local)?.unwrap_or(1).max(1);
        (self.complete)(variables, found)
    }
}

impl ProcessPlace {
    /// Creates a place that `by` has numbered.
    fn new(
        by: &'static str,
        (process, processes): (usize, usize),
        launcher: &'static Launcher,
    ) -> Self {
        Self { by, process, processes, local: 1, threads: None, token: None, launcher }
    }

    /// Returns the addresses of all processes: from our own variable, from the launcher, or on this machine if all are
    /// here. `port` is the first on each host, if a flag gives it.
    ///
    /// # Errors
    /// The variables do not say where the others are, or they are invalid.
    pub fn addresses(
        &self,
        variables: &Variables,
        port: Option<u16>,
    ) -> Result<Vec<String>, UsageError> {
        let names = VariableNames::get();
        let (by, processes) = (self.by, self.processes);
        if let Some(listed) = listed(variables)? {
            return counted(names.hosts, listed, processes);
        }
        let port = port.map_or_else(|| base_port(variables), Ok)?;
        match (self.launcher.addresses)(variables, self, port)? {
            Some(addresses) => Ok(addresses),
            None if self.local == processes => here(self, port),
            None => {
                let (hosts, variable) = (SettingNames::get().hosts, names.hosts);
                let srun = "; or start it with srun, which sets it";
                let more = if variables.contains_key("SLURM_JOB_ID") { srun } else { "" };
                Err(UsageError(format!(
                    "{by} says that this is process {} of {processes}, but not where the others are; pass {hosts}, or \
                     set {variable} to a comma-separated list of host:port{more}",
                    self.process
                )))
            }
        }
    }
}

/// Returns the variables of this process.
pub fn variables() -> Variables {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Finds this process's place in a run from `variables`; `None` if it is alone. Our own variables take precedence over
/// those of a launcher.
///
/// # Errors
/// A variable is invalid, or ours are incomplete.
pub fn find(variables: &Variables) -> Result<Option<ProcessPlace>, UsageError> {
    let mut place = own(variables)?;
    for launcher in &LAUNCHERS {
        if place.is_none() {
            place = launcher.find(variables)?;
        }
    }
    if place.is_none() {
        refuse_half(variables)?;
    }
    Ok(place.filter(|found| found.processes > 1))
}

/// Returns the addresses in the variable for [the hosts](VariableNames::hosts), if it is set.
///
/// # Errors
/// It is not a list of `host:port`.
pub fn listed(variables: &Variables) -> Result<Option<Vec<String>>, UsageError> {
    let list = variables.get(VariableNames::get().hosts).filter(|list| !list.is_empty());
    list.map(|list| parse_list(list)).transpose()
}

/// Returns the addresses of processes that are all on this machine.
fn here(found: &ProcessPlace, port: u16) -> Result<Vec<String>, UsageError> {
    (0..found.processes).map(|process| at("127.0.0.1", port, process)).collect()
}

/// Finds a place in our own variables; a list of hosts also gives the number of processes.
fn own(variables: &Variables) -> Result<Option<ProcessPlace>, UsageError> {
    let names = VariableNames::get();
    let Some(process) = number(variables, names.process)? else {
        return Ok(None);
    };
    let listed = listed(variables)?.map(|addresses| addresses.len());
    let processes = count(variables, names.processes)?.or(listed);
    let processes = processes.ok_or_else(|| half(names.process, names.processes))?;
    below(variables, names.process, process, processes)?;
    Ok(Some(ProcessPlace::new(names.process, (process, processes), &PLAIN)))
}

/// Returns the names of the Job, which is the pod's name without its index, and of the service.
fn job_and_service(variables: &Variables) -> Result<(String, String), UsageError> {
    let get = |variable: &'static str| {
        let value = variables.get(variable).filter(|value| !value.is_empty());
        let value = value.ok_or_else(|| missing(KUBERNETES, variable))?;
        if value.len() <= MOST_NAME_BYTES {
            return Ok(value);
        }
        Err(wrong(variables, variable, "a host name of at most 255 bytes"))
    };
    let index = get("JOB_COMPLETION_INDEX")?;
    let service = get(VariableNames::get().service)?;
    let pod = get("HOSTNAME")?;
    let job = pod.strip_suffix(&format!("-{index}")).ok_or_else(|| {
        let expected = "the pod's name: the job's name, a hyphen and the index";
        wrong(variables, "HOSTNAME", expected)
    })?;
    Ok((job.to_owned(), service.clone()))
}

/// Refuses incomplete variables of our own: setting one means that the user wants several processes.
fn refuse_half(variables: &Variables) -> Result<(), UsageError> {
    let names = VariableNames::get();
    if number(variables, names.processes)?.is_some_and(|processes| processes > 1) {
        return Err(half(names.processes, names.process));
    }
    if listed(variables)?.is_some() {
        return Err(half(names.hosts, names.process));
    }
    let is_set = |name: &str| variables.contains_key(name);
    if is_set(names.service) && !is_set(names.processes) {
        return Err(half(names.service, names.processes));
    }
    Ok(())
}

fn below(
    variables: &Variables,
    variable: &'static str,
    process: usize,
    processes: usize,
) -> Result<(), UsageError> {
    if process < processes {
        return Ok(());
    }
    Err(wrong(variables, variable, "below the number of processes"))
}

/// Returns the number of processes in a variable; `None` if it is not set or empty.
fn count(variables: &Variables, variable: &'static str) -> Result<Option<usize>, UsageError> {
    let processes = number(variables, variable)?;
    if processes.is_none_or(|processes| processes <= MOST_PROCESSES) {
        return Ok(processes);
    }
    Err(wrong(variables, variable, "at most 65536 processes"))
}

/// Returns the whole number in a variable; `None` if it is not set or empty.
fn number(variables: &Variables, variable: &'static str) -> Result<Option<usize>, UsageError> {
    let value = variables.get(variable).filter(|value| !value.is_empty());
    let parse = |value: &String| value.trim().parse();
    value.map(parse).transpose().map_err(|_| wrong(variables, variable, "a whole number"))
}

/// Returns the first port from the variable, or the default.
fn base_port(variables: &Variables) -> Result<u16, UsageError> {
    let name = VariableNames::get().port;
    let port = number(variables, name)?.unwrap_or(DEFAULT_PORT.into());
    match u16::try_from(port) {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(wrong(variables, name, "a port, from 1 to 65535")),
    }
}

/// Returns the address `step` ports above the first.
fn at(host: &str, port: u16, step: usize) -> Result<String, UsageError> {
    let step = u16::try_from(step).ok();
    match step.and_then(|step| port.checked_add(step)) {
        Some(port) => Ok(format!("{host}:{port}")),
        None => {
            let name = SettingNames::get().port;
            Err(UsageError(format!("the ports of {host} exceed 65535; pass a lower {name}")))
        }
    }
}

/// Returns the error that a variable is not what it must be.
fn wrong(variables: &Variables, variable: &str, expected: &str) -> UsageError {
    let value = variables.get(variable).map_or("", String::as_str);
    let SettingNames { processes, process, hosts, .. } = SettingNames::get();
    UsageError(format!(
        "the variable {variable} is {value:?}, but must be {expected}; {processes}, {process} and {hosts} override it"
    ))
}

/// Returns the error that a variable of the program that started this process is missing.
fn missing(by: &str, variable: &str) -> UsageError {
    let hosts = SettingNames::get().hosts;
    UsageError(format!(
        "this process was started by {by}, but the variable {variable} is missing; set it, or pass {hosts}"
    ))
}

/// Returns the error that our own variables give only half of a place.
fn half(given: &str, missing: &str) -> UsageError {
    UsageError(format!("{given} is set, but {missing} is not; set both or neither"))
}

#[cfg(test)]
mod tests;
