//! This process's place in a run according to the environment, used if no flag gives it.
//!
//! SLURM, Open MPI, the PMI of other MPIs, `RANK` and `WORLD_SIZE`, and Kubernetes' Indexed Jobs
//! number the processes they start; some also provide the addresses of the others. The place is a
//! pure function of the variables. An incomplete environment, such as a batch script outside
//! `srun`, means a single process.

mod slurm;

use std::collections::BTreeMap;

use super::exit::UsageError;
use super::hosts::{HOSTS_VARIABLE, Peers, parse_list};

/// The variable for the number of this process, from 0.
const PROCESS_VARIABLE: &str = "TOPICMILL_PROCESS";
/// The variable for the number of processes.
const PROCESSES_VARIABLE: &str = "TOPICMILL_PROCESSES";
/// The variable for the first port on each host.
const PORT_VARIABLE: &str = "TOPICMILL_PORT";
/// The variable for the headless service through which the pods of a Kubernetes Job find each other.
const SERVICE_VARIABLE: &str = "TOPICMILL_SERVICE";
/// The first port on each host, unless another is given.
const DEFAULT_PORT: u16 = 7101;

/// The largest number of processes in a variable: more than a run can have, few enough to list.
const MOST_PROCESSES: usize = 1 << 16;
/// Maximum number of bytes in a host name; the domain name system allows 253.
const MOST_NAME_BYTES: usize = 255;

/// The environment variables that are text.
type Variables = BTreeMap<String, String>;

/// The place found: one process of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
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
    /// The addresses of all processes; `None` if the caller did not request them.
    pub peers: Option<Peers>,
    /// A token that only the processes of this attempt share, if there is one.
    pub token: Option<String>,
}

/// What the caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The first port on each host, if a flag gives it.
    pub port: Option<u16>,
    /// Whether to find the addresses of the others.
    pub peers: bool,
}

impl Found {
    /// Creates a place that `by` has numbered, without the addresses of the others.
    fn new(by: &'static str, (process, processes): (usize, usize)) -> Self {
        Self { by, process, processes, local: 1, threads: None, peers: None, token: None }
    }
}

/// Returns the variables of this process.
pub fn variables() -> Variables {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Finds this process's place in a run from `variables`; `None` if it is alone.
///
/// Our own variables take precedence, then the launcher nearest to the process: an `mpirun` within
/// a SLURM job takes precedence over SLURM.
///
/// # Errors
/// A variable is invalid, ours are incomplete, or the addresses of the others are missing.
pub fn find(variables: &Variables, wanted: Wanted) -> Result<Option<Found>, UsageError> {
    let Some(mut found) = candidate(variables)?.filter(|found| found.processes > 1) else {
        return Ok(None);
    };
    if wanted.peers {
        found.peers = Some(peers(variables, &found, wanted.port)?);
    }
    Ok(Some(found))
}

/// Returns the addresses in [`HOSTS_VARIABLE`], if it is set.
///
/// # Errors
/// It is not a list of `host:port`.
pub fn listed(variables: &Variables) -> Result<Option<Peers>, UsageError> {
    let by = HOSTS_VARIABLE;
    Ok(addresses(variables)?.map(|addresses| Peers::Listed { by, addresses }))
}

fn addresses(variables: &Variables) -> Result<Option<Vec<String>>, UsageError> {
    let list = variables.get(HOSTS_VARIABLE);
    let list = list.filter(|list| !list.is_empty());
    list.map(|list| parse_list(list)).transpose()
}

/// Returns the place according to the first source that gives one.
fn candidate(variables: &Variables) -> Result<Option<Found>, UsageError> {
    let slurm = slurm::find(variables)?;
    let pmi = plain(variables, "PMI", ["PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"])?;
    // srun numbers its tasks for PMI too; mpiexec within a step numbers its own processes.
    let is_same = |task: &Found| {
        let other = pmi.as_ref();
        other.is_none_or(|o| (o.process, o.processes) == (task.process, task.processes))
    };
    let slurm = slurm.filter(is_same);
    let nearest = match own(variables)? {
        Some(own) => Some(own),
        None => open_mpi(variables)?.or(slurm).or(pmi),
    };
    let found = match nearest {
        Some(found) => Some(found),
        None => {
            let names = ["RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"];
            let torch = plain(variables, TORCH, names)?;
            torch.or(kubernetes(variables)?)
        }
    };
    match found {
        Some(found) => Ok(Some(found)),
        None => refuse_half(variables).map(|()| None),
    }
}

/// Returns the addresses of all processes: from our own variable, from the launcher, or on this
/// machine if all are here.
fn peers(variables: &Variables, found: &Found, port: Option<u16>) -> Result<Peers, UsageError> {
    if let Some(listed) = listed(variables)? {
        return Ok(listed);
    }
    let port = match port {
        Some(port) => port,
        None => base_port(variables)?,
    };
    let by = found.by;
    let on = |host: &dyn Fn(usize) -> String, step: usize| {
        let address = |process| at(&host(process), port, step * process);
        let addresses = (0..found.processes).map(address).collect::<Result<_, _>>();
        addresses.map(|addresses| Peers::Listed { by, addresses })
    };
    let master = variables.get("MASTER_ADDR").map(String::as_str);
    let here = by == TORCH && matches!(master, Some("127.0.0.1" | "localhost" | "::1"));
    match by {
        SLURM => slurm::peers(variables, found, port),
        KUBERNETES => {
            let (job, service) = job_and_service(variables)?;
            on(&|process| format!("{job}-{process}.{service}"), 0)
        }
        _ if here || found.local == found.processes => on(&|_| "127.0.0.1".to_owned(), 1),
        _ => {
            let more = match variables.contains_key("SLURM_JOB_ID") {
                true => "; or start it with srun, which sets it",
                false => "",
            };
            Err(UsageError(format!(
                "{by} says that this is process {} of {}, but not where the others are; pass --hosts FILE, or set \
                 {HOSTS_VARIABLE} to a comma-separated list of host:port{more}",
                found.process, found.processes
            )))
        }
    }
}

const SLURM: &str = "SLURM";
const KUBERNETES: &str = "Kubernetes";
const TORCH: &str = "RANK and WORLD_SIZE";

/// Finds a place in our own variables; a list of hosts also gives the number of processes.
fn own(variables: &Variables) -> Result<Option<Found>, UsageError> {
    let Some(process) = number(variables, PROCESS_VARIABLE)? else {
        return Ok(None);
    };
    let listed = addresses(variables)?.map(|addresses| addresses.len());
    let processes = count(variables, PROCESSES_VARIABLE)?.or(listed);
    let processes = processes.ok_or_else(|| half(PROCESS_VARIABLE, PROCESSES_VARIABLE))?;
    below(variables, PROCESS_VARIABLE, process, processes)?;
    Ok(Some(Found::new(PROCESS_VARIABLE, (process, processes))))
}

/// Finds a place in Open MPI's variables.
fn open_mpi(variables: &Variables) -> Result<Option<Found>, UsageError> {
    let names = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"];
    let found = plain(variables, "Open MPI", names)?;
    Ok(found.map(|found| Found { token: variables.get("PMIX_NAMESPACE").cloned(), ..found }))
}

/// Finds a place in variables of these names for the rank, the size, and the size on this host.
fn plain(
    variables: &Variables,
    by: &'static str,
    [rank, size, local]: [&'static str; 3],
) -> Result<Option<Found>, UsageError> {
    let Some(numbers) = pair(variables, rank, size)? else {
        return Ok(None);
    };
    Ok(Some(Found {
        local: number(variables, local)?.unwrap_or(1).max(1),
        ..Found::new(by, numbers)
    }))
}

/// Finds the place of a pod of an Indexed Job, if the number of processes is given.
fn kubernetes(variables: &Variables) -> Result<Option<Found>, UsageError> {
    let numbers = pair(variables, "JOB_COMPLETION_INDEX", PROCESSES_VARIABLE)?;
    Ok(numbers.map(|numbers| Found::new(KUBERNETES, numbers)))
}

/// Returns the names of the Job, which is the pod's name without its index, and of the service.
fn job_and_service(variables: &Variables) -> Result<(String, String), UsageError> {
    let get = |variable: &'static str| {
        let value = variables.get(variable).filter(|value| !value.is_empty());
        let value = value.ok_or_else(|| missing(KUBERNETES, variable))?;
        match value.len() <= MOST_NAME_BYTES {
            true => Ok(value),
            false => Err(wrong(variables, variable, "a host name of at most 255 bytes")),
        }
    };
    let index = get("JOB_COMPLETION_INDEX")?;
    let service = get(SERVICE_VARIABLE)?;
    let pod = get("HOSTNAME")?;
    let job = pod.strip_suffix(&format!("-{index}")).ok_or_else(|| {
        let expected = "the pod's name: the job's name, a hyphen and the index";
        wrong(variables, "HOSTNAME", expected)
    })?;
    Ok((job.to_owned(), service.clone()))
}

/// Refuses incomplete variables of our own: setting one means that the user wants several processes.
fn refuse_half(variables: &Variables) -> Result<(), UsageError> {
    let is_alone = number(variables, PROCESSES_VARIABLE)?.is_none_or(|processes| processes <= 1);
    let is_of_service =
        variables.contains_key(SERVICE_VARIABLE) && !variables.contains_key(PROCESSES_VARIABLE);
    let given = match (is_alone, listed(variables)?) {
        (false, _) => PROCESSES_VARIABLE,
        (true, Some(_)) => HOSTS_VARIABLE,
        (true, None) if is_of_service => {
            return Err(half(SERVICE_VARIABLE, PROCESSES_VARIABLE));
        }
        (true, None) => return Ok(()),
    };
    Err(half(given, PROCESS_VARIABLE))
}

/// Returns the number of this process and the number of processes, if both are given.
fn pair(
    variables: &Variables,
    index: &'static str,
    all: &'static str,
) -> Result<Option<(usize, usize)>, UsageError> {
    let (Some(process), Some(processes)) = (number(variables, index)?, count(variables, all)?)
    else {
        return Ok(None);
    };
    below(variables, index, process, processes)?;
    Ok(Some((process, processes)))
}

fn below(
    variables: &Variables,
    variable: &'static str,
    process: usize,
    processes: usize,
) -> Result<(), UsageError> {
    match process < processes {
        true => Ok(()),
        false => Err(wrong(variables, variable, "below the number of processes")),
    }
}

/// Returns the number of processes in a variable; `None` if it is not set or empty.
fn count(variables: &Variables, variable: &'static str) -> Result<Option<usize>, UsageError> {
    let processes = number(variables, variable)?;
    match processes.is_none_or(|processes| processes <= MOST_PROCESSES) {
        true => Ok(processes),
        false => Err(wrong(variables, variable, "at most 65536 processes")),
    }
}

/// Returns the whole number in a variable; `None` if it is not set or empty.
fn number(variables: &Variables, variable: &'static str) -> Result<Option<usize>, UsageError> {
    let value = variables.get(variable).filter(|value| !value.is_empty());
    let parse = |value: &String| value.trim().parse();
    value.map(parse).transpose().map_err(|_| wrong(variables, variable, "a whole number"))
}

/// Returns the first port from the variable, or the default.
fn base_port(variables: &Variables) -> Result<u16, UsageError> {
    let port = number(variables, PORT_VARIABLE)?.unwrap_or(DEFAULT_PORT.into());
    match u16::try_from(port) {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(wrong(variables, PORT_VARIABLE, "a port, from 1 to 65535")),
    }
}

/// Returns the address `step` ports above the first.
fn at(host: &str, port: u16, step: usize) -> Result<String, UsageError> {
    let step = u16::try_from(step).ok();
    match step.and_then(|step| port.checked_add(step)) {
        Some(port) => Ok(format!("{host}:{port}")),
        None => Err(UsageError(format!("the ports of {host} exceed 65535; pass a lower --port"))),
    }
}

/// Returns the error that a variable is not what it must be.
fn wrong(variables: &Variables, variable: &str, expected: &str) -> UsageError {
    let value = variables.get(variable).map_or("", String::as_str);
    UsageError(format!(
        "the variable {variable} is {value:?}, but must be {expected}; the flags -n, -p and --hosts override it"
    ))
}

/// Returns the error that a variable of the program that started this process is missing.
fn missing(by: &str, variable: &str) -> UsageError {
    UsageError(format!(
        "this process was started by {by}, but the variable {variable} is missing; set it, or pass --hosts FILE"
    ))
}

/// Returns the error that our own variables give only half of a place.
fn half(given: &str, missing: &str) -> UsageError {
    UsageError(format!("{given} is set, but {missing} is not; set both or neither"))
}

#[cfg(test)]
mod tests;
