//! SLURM's variables: host lists in brackets, tasks per node, the order of the tasks.
//!
//! Only a step started by `srun` has tasks; a batch script or an interactive shell has a job but no
//! step, and is one process.

use super::{
    Launcher, MOST_NAME_BYTES, MOST_PROCESSES, PLAIN, PMI, ProcessPlace, Variables, missing,
    number, wrong,
};
use crate::UsageError;
use crate::names::SettingNames;

/// The first special step number: the batch script, the interactive shell and the like.
const FIRST_SPECIAL_STEP: u64 = 0xffff_fff0;
/// Limits the names in a list: more nodes than a cluster has.
const MOST_NODES: usize = 1 << 16;
/// Maximum number of digits in a node's number, including leading zeros.
const MOST_DIGITS: usize = 20;

/// The variables of a task of a step.
pub(super) const LAUNCHER: Launcher = Launcher {
    name: "SLURM",
    rank: "SLURM_PROCID",
    size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
    complete,
    addresses,
    ..PLAIN
};

/// Returns what the variables say of a task; `None` outside of a step, and in a process that another launcher has
/// started within the step: srun numbers its tasks for PMI too, but mpiexec numbers its own processes.
fn complete(variables: &Variables, task: ProcessPlace) -> Result<Option<ProcessPlace>, UsageError> {
    let step = number(variables, "SLURM_STEP_ID")?.unwrap_or(FIRST_SPECIAL_STEP as usize);
    let pmi = PMI.numbers(variables)?;
    let is_task = pmi.is_none_or(|numbers| numbers == (task.process, task.processes));
    if step as u64 >= FIRST_SPECIAL_STEP || !is_task {
        return Ok(None);
    }
    let no_list = || wrong(variables, "SLURM_STEP_TASKS_PER_NODE", "a list of tasks");
    let tasks = variables.get("SLURM_STEP_TASKS_PER_NODE");
    let tasks = tasks.map(|text| self::tasks(text).ok_or_else(no_list)).transpose()?;
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
fn addresses(
    variables: &Variables,
    task: &ProcessPlace,
    port: u16,
) -> Result<Option<Vec<String>>, UsageError> {
    let list = variables.get("SLURM_STEP_NODELIST");
    let list = list.ok_or_else(|| missing(LAUNCHER.name, "SLURM_STEP_NODELIST"))?;
    let nodes =
        expand(list).ok_or_else(|| wrong(variables, "SLURM_STEP_NODELIST", "node names"))?;
    let per_node = variables.get("SLURM_STEP_TASKS_PER_NODE");
    let per_node = match per_node.map(|text| tasks(text)) {
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
    let places = places(&per_node, is_cyclic(variables));
    let mine = places.get(task.process).map(|&(node, _)| &nodes[node]);
    if let Some(own) = variables.get("SLURMD_NODENAME").filter(|own| Some(*own) != mine) {
        let hosts = SettingNames::get().hosts;
        return Err(UsageError(format!(
            "SLURM placed this task on an unexpected node, {own}; start it with srun --distribution=block, or pass \
             {hosts}"
        )));
    }
    let address = |&(node, local): &(usize, usize)| super::at(&nodes[node], port, local);
    places.iter().map(address).collect::<Result<_, _>>().map(Some)
}

/// Returns whether tasks are distributed round-robin over the nodes, instead of node by node.
fn is_cyclic(variables: &Variables) -> bool {
    variables
        .get("SLURM_DISTRIBUTION")
        .is_some_and(|distribution| distribution.starts_with("cyclic"))
}

/// Returns the node of each task and its index on that node, in order of the tasks.
fn places(per_node: &[usize], cyclic: bool) -> Vec<(usize, usize)> {
    let most = per_node.iter().copied().max().unwrap_or(0);
    let nodes = per_node.iter().enumerate();
    match cyclic {
        false => {
            nodes.flat_map(|(node, &tasks)| (0..tasks).map(move |local| (node, local))).collect()
        }
        true => (0..most)
            .flat_map(|local| {
                let has = nodes.clone().filter(move |(_, tasks)| local < **tasks);
                has.map(move |(node, _)| (node, local))
            })
            .collect(),
    }
}

/// Parses `2(x3),1` as 2, 2, 2, 1; `None` if it does not have this form or is impossibly large.
fn tasks(text: &str) -> Option<Vec<usize>> {
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
fn expand(list: &str) -> Option<Vec<String>> {
    let mut nodes = Vec::new();
    let mut depth = 0;
    let separates = |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    };
    for name in list.split(separates) {
        expand_name("", name, &mut nodes)?;
    }
    Some(nodes)
}

/// Expands the first bracket of `rest` after `before`, and then the others. Each makes the name
/// longer, which bounds their number.
fn expand_name(before: &str, rest: &str, nodes: &mut Vec<String>) -> Option<()> {
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
            expand_name(&format!("{before}{start}{number:0width$}"), tail, nodes)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
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
            assert_eq!(expand(list), expected, "{list}");
        }
    }

    #[test]
    fn tasks_unfold() {
        assert_eq!(tasks("2(x3),1"), Some(vec![2, 2, 2, 1]));
        assert_eq!(tasks("4"), Some(vec![4]));
        for wrong in
            ["", "2(x", "2(x3", "x", "1,", "1(x99999999)", "2,2(x18446744073709551615)", "65537"]
        {
            assert_eq!(tasks(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn tasks_go_node_by_node_or_round_by_round() {
        let block = [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)];
        assert_eq!(places(&[2, 1, 2], false), block);
        let cyclic = [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1)];
        assert_eq!(places(&[2, 1, 2], true), cyclic);
    }
}
