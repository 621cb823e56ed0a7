//! The profile of a process: all of it in a file, and the largest entries in a table.

use std::fs;

use crate::cli::pictures::table;
use crate::dataflow::process::Process;
use crate::dataflow::profile::{OperatorProfile, WorkerProfile};

/// Maximum number of operators in the table.
const MOST_OPERATORS: usize = 15;

/// Writes the profile of the process below its logs, and prints the largest entries on stderr if it is the
/// first process; does nothing if no profile was requested.
pub(super) fn report(process: &Process) {
    let Some(profile) = &process.profile else {
        return;
    };
    let workers = profile.workers();
    if workers.is_empty() {
        return;
    }
    let number = process.placement.process;
    let name = format!("profile-{number:05}.json");
    let path = process.output.logs().join(&name);
    let json = serde_json::json!({ "process": number, "workers": workers });
    let written = fs::write(&path, format!("{json:#}\n")).map_err(|error| error.to_string());
    let shared = written.and_then(|()| {
        let shared = process.output.share_log(&name);
        shared.map_err(|error| error.to_string())
    });
    if let Err(error) = shared {
        crate::cli::warn(&format!("cannot write the profile: {}: {error}", path.display()));
    }
    if number == 0 {
        crate::cli::say(&page(&workers));
    }
}

/// Returns the workers' time, and the operators that took most of it.
fn page(workers: &[WorkerProfile]) -> String {
    let mut times = table(">worker|>seconds|>operators|>parked|>meeting|>own code");
    for worker in workers {
        let share = |seconds: f64| format!("{:.1} %", 100.0 * seconds / worker.seconds.max(1e-9));
        times.add_row([
            worker.worker.to_string(),
            format!("{:.2}", worker.seconds),
            share(worker.operators_seconds),
            share(worker.parked_seconds),
            share(worker.meeting_seconds),
            share(worker.own_seconds),
        ]);
    }
    let columns = "dataflow|operator|>count|>activations|>seconds|>records in|>records out";
    let mut operators = table(columns);
    for line in all_workers(workers).iter().take(MOST_OPERATORS) {
        operators.add_row([
            line.dataflow.clone(),
            line.operator.clone(),
            line.count.to_string(),
            line.activations.to_string(),
            format!("{:.3}", line.seconds),
            line.records_received.to_string(),
            line.records_sent.to_string(),
        ]);
    }
    format!("{}\n\n{}\n", times.trim_fmt(), operators.trim_fmt())
}

/// Returns the operators of all workers, those with the most seconds first.
fn all_workers(workers: &[WorkerProfile]) -> Vec<OperatorProfile> {
    let mut all: Vec<OperatorProfile> = Vec::new();
    for operator in workers.iter().flat_map(|worker| &worker.operators) {
        let is_same = |one: &&mut OperatorProfile| {
            (&one.dataflow, &one.operator) == (&operator.dataflow, &operator.operator)
        };
        match all.iter_mut().find(is_same) {
            Some(line) => line.add(operator),
            None => all.push(operator.clone()),
        }
    }
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_all_workers_are_added_up() {
        let operator = |name: &str, seconds| OperatorProfile {
            dataflow: "rounds".to_owned(),
            operator: name.to_owned(),
            count: 1,
            activations: 10,
            seconds,
            ..Default::default()
        };
        let worker = |worker, operators| WorkerProfile {
            worker,
            seconds: 10.0,
            parked_seconds: 2.5,
            operators,
            ..Default::default()
        };
        let workers = [
            worker(0, vec![operator("merge", 1.0), operator("collect", 0.5)]),
            worker(1, vec![operator("collect", 2.0)]),
        ];
        let all = all_workers(&workers);
        let names: Vec<&str> = all.iter().map(|line| line.operator.as_str()).collect();
        assert_eq!(names, ["collect", "merge"]);
        assert_eq!((all[0].seconds, all[0].activations, all[0].count), (2.5, 20, 2));
        let page = page(&workers);
        assert!(page.contains("25.0 %") && page.contains("merge"), "{page}");
    }
}
