//! This process's place in a run according to the environment, used if no flag gives it.
//!
//! SLURM, Open MPI, the PMI of other MPIs, `RANK` and `WORLD_SIZE`, and Kubernetes' Indexed Jobs
//! number the processes they start; some also provide the addresses of the others. The place is a
//! pure function of the variables. An incomplete environment, such as a batch script outside
//! `srun`, means a single process.

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
    SLURM,
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

// SLURM's variables: host lists in brackets, tasks per node, the order of the tasks.
//
// Only a step started by `srun` has tasks; a batch script or an interactive shell has a job but no
// step, and is one process.

/// The first special step number: the batch script, the interactive shell and the like.
const FIRST_SPECIAL_STEP: u64 = 0xffff_fff0;
/// Limits the names in a list: more nodes than a cluster has.
const MOST_NODES: usize = 1 << 16;
/// Maximum number of digits in a node's number, including leading zeros.
const MOST_DIGITS: usize = 20;

/// The variables of a task of a step.
const SLURM: Launcher = Launcher {
    name: "SLURM",
    rank: "SLURM_PROCID",
    size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
    complete: slurm_task,
    addresses: slurm_addresses,
    ..PLAIN
};

/// Returns what the variables say of a task; `None` outside of a step, and in a process that another launcher has
/// started within the step: srun numbers its tasks for PMI too, but mpiexec numbers its own processes.
fn slurm_task(
    variables: &Variables,
    task: ProcessPlace,
) -> Result<Option<ProcessPlace>, UsageError> {
    let step = number(variables, "SLURM_STEP_ID")?.unwrap_or(FIRST_SPECIAL_STEP as usize);
    let pmi = PMI.numbers(variables)?;
    let is_task = pmi.is_none_or(|numbers| numbers == (task.process, task.processes));
    if step as u64 >= FIRST_SPECIAL_STEP || !is_task {
        return Ok(None);
    }
    let no_list = || wrong(variables, "SLURM_STEP_TASKS_PER_NODE", "a list of tasks");
    let tasks = variables.get("SLURM_STEP_TASKS_PER_NODE");
    let tasks = tasks.map(|text| task_counts(text).ok_or_else(no_list)).transpose()?;
    let restarts = variables.get("SLURM_RESTART_COUNT").map_or("0", String::as_str);
    let job = variables.get("SLURM_JOB_ID");
    Ok(Some(ProcessPlace {
        local: tasks.iter().flatten().copied().max().unwrap_or(1).max(1),
        threads: number(variables, "SLURM_CPUS_PER_TASK")?,
        token: job.map(|job| format!("{job}.{step}.{restarts}")),
        ..task
    }))
}

/// Returns the addresses of the step's tasks: a task's port is `port` plus its index on its node.
fn slurm_addresses(
    variables: &Variables,
    task: &ProcessPlace,
    port: u16,
) -> Result<Option<Vec<String>>, UsageError> {
    let list = variables.get("SLURM_STEP_NODELIST");
    let list = list.ok_or_else(|| missing(SLURM.name, "SLURM_STEP_NODELIST"))?;
    let nodes =
        node_names(list).ok_or_else(|| wrong(variables, "SLURM_STEP_NODELIST", "node names"))?;
    let per_node = variables.get("SLURM_STEP_TASKS_PER_NODE");
    let per_node = match per_node.map(|text| task_counts(text)) {
        Some(tasks) => tasks.unwrap_or_default(),
        None => vec![1; nodes.len()],
    };
    if per_node.len() != nodes.len() || per_node.iter().sum::<usize>() != task.processes {
        return Err(wrong(
            variables,
            "SLURM_STEP_TASKS_PER_NODE",
            "one count per node of the step, adding up to its tasks",
        ));
    }
    let distribution = variables.get("SLURM_DISTRIBUTION");
    let is_cyclic = distribution.is_some_and(|it| it.starts_with("cyclic"));
    let places = task_places(&per_node, is_cyclic);
    let mine = places.get(task.process).map(|&(node, _)| &nodes[node]);
    if let Some(own) = variables.get("SLURMD_NODENAME").filter(|own| Some(*own) != mine) {
        let hosts = SettingNames::get().hosts;
        return Err(UsageError(format!(
            "SLURM placed this task on an unexpected node, {own}; start it with srun --distribution=block, or pass \
             {hosts}"
        )));
    }
    let address = |&(node, local): &(usize, usize)| at(&nodes[node], port, local);
    places.iter().map(address).collect::<Result<_, _>>().map(Some)
}

/// Returns the node of each task and its index on that node, in order of the tasks: node by node, or round-robin.
fn task_places(per_node: &[usize], is_cyclic: bool) -> Vec<(usize, usize)> {
    let nodes = per_node.iter().enumerate();
    let mut places: Vec<_> =
        nodes.flat_map(|(node, &tasks)| (0..tasks).map(move |local| (node, local))).collect();
    if is_cyclic {
        places.sort_by_key(|&(_, local)| local);
    }
    places
}

/// Parses `2(x3),1` as 2, 2, 2, 1; `None` if it does not have this form or is impossibly large.
fn task_counts(text: &str) -> Option<Vec<usize>> {
    let mut tasks = Vec::new();
    for part in text.split(',') {
        let (each, times) = match part.split_once("(x") {
            Some((each, times)) => (each, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1_usize),
        };
        let each = each.parse::<usize>().ok()?;
        if times > MOST_NODES - tasks.len() || each > MOST_PROCESSES {
            return None;
        }
        tasks.extend(std::iter::repeat_n(each, times));
    }
    Some(tasks)
}

/// Expands `node[01-03,7],gpu2` to node01, node02, node03, node7, gpu2; `None` if it does not have
/// this form or is too long.
fn node_names(list: &str) -> Option<Vec<String>> {
    let mut nodes = Vec::new();
    let mut depth = 0;
    let separates = |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    };
    for name in list.split(separates) {
        push_node_names("", name, &mut nodes)?;
    }
    Some(nodes)
}

/// Expands the first bracket of `rest` after `before`, and then the others. Each makes the name
/// longer, which bounds their number.
fn push_node_names(before: &str, rest: &str, nodes: &mut Vec<String>) -> Option<()> {
    let Some((start, tail)) = rest.split_once('[') else {
        let name = format!("{before}{rest}");
        let has_length = (1..=MOST_NAME_BYTES).contains(&name.len());
        let is_name = has_length && !name.contains([']', ' ']);
        nodes.push(name);
        return (is_name && nodes.len() <= MOST_NODES).then_some(());
    };
    let (ranges, tail) = tail.split_once(']')?;
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let width = low.len();
        if width > MOST_DIGITS || before.len() + start.len() + width > MOST_NAME_BYTES {
            return None;
        }
        let (low, high) = (low.parse::<u64>().ok()?, high.parse::<u64>().ok()?);
        if low > high || high - low > MOST_NODES as u64 {
            return None;
        }
        for number in low..=high {
            push_node_names(&format!("{before}{start}{number:0width$}"), tail, nodes)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod slurm_tests {
    use super::*;

    #[test]
    fn node_lists_unfold() {
        let cases = [
            ("node1", Some("node1")),
            ("node[01-03,7],gpu2", Some("node01 node02 node03 node7 gpu2")),
            ("a[8-10]", Some("a8 a9 a10")),
            ("r[1-2]n[1-2]-ib", Some("r1n1-ib r1n2-ib r2n1-ib r2n2-ib")),
            ("a,b-c,d[5]", Some("a b-c d5")),
            ("", None),
            ("a[1-2", None),
            ("a[2-1]", None),
            ("a[x-y]", None),
            ("a]", None),
            ("a,,b", None),
            ("a[0-99999999]", None),
            ("a[0-9999]b[0-9999]", None),
            ("a[000000000000000000001-2]", None),
            (&"a".repeat(256), None),
            (&"[1]".repeat(20_000), None),
        ];
        for (list, expected) in cases {
            let expected = expected.map(|text: &str| text.split(' ').map(str::to_owned).collect());
            assert_eq!(node_names(list), expected, "{list}");
        }
    }

    #[test]
    fn tasks_unfold() {
        assert_eq!(task_counts("2(x3),1"), Some(vec![2, 2, 2, 1]));
        assert_eq!(task_counts("4"), Some(vec![4]));
        for wrong in
            ["", "2(x", "2(x3", "x", "1,", "1(x99999999)", "2,2(x18446744073709551615)", "65537"]
        {
            assert_eq!(task_counts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn tasks_go_node_by_node_or_round_by_round() {
        let block = [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)];
        assert_eq!(task_places(&[2, 1, 2], false), block);
        let cyclic = [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1)];
        assert_eq!(task_places(&[2, 1, 2], true), cyclic);
    }
}
