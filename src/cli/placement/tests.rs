//! Where flags and environments place a job.

use super::*;

fn args() -> PlacementArgs {
    PlacementArgs::default()
}

/// Checks `args` for eight cores and an empty environment.
fn on_eight(args: &PlacementArgs) -> Result<JobPlacement, String> {
    JobPlacement::check_on(args, 8, &Variables::new()).map_err(|failure| failure.to_string())
}

#[test]
fn cores_are_shared_among_the_processes_of_this_machine() {
    let check = on_eight;
    assert_eq!(check(&args()), Ok(JobPlacement::Threads(8)));
    let three = PlacementArgs { processes: Some(3), ..args() };
    assert_eq!(check(&three), Ok(JobPlacement::Spawn { processes: 3, threads: 2 }));
    let many = PlacementArgs { processes: Some(20), ..args() };
    assert_eq!(check(&many).map(|p| p.process_count() * p.threads()), Ok(20));
    let one = PlacementArgs { processes: Some(1), threads: Some(5), ..args() };
    assert_eq!(check(&one), Ok(JobPlacement::Threads(5)));
}

#[test]
fn a_member_is_described_in_full_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = folder.path().join("hosts.txt");
    std::fs::write(&hosts, "a:1\nb:1\nc:1\n").unwrap();
    let whole = PlacementArgs {
        threads: Some(2),
        process_count: Some(3),
        process: Some(2),
        hosts: Some(hosts),
        ..args()
    };
    let addresses = ["a:1", "b:1", "c:1"].map(str::to_owned).to_vec();
    let member = JobPlacement::Member {
        here: mesh::Placement { threads: 2, process: 2, addresses },
        by: None,
        token: String::new(),
    };
    assert_eq!(on_eight(&whole), Ok(member));
    let no_hosts = PlacementArgs { hosts: None, ..whole.clone() };
    assert_eq!(on_eight(&no_hosts), Err("--process-count also needs --hosts".to_owned()));
    let only_hosts = PlacementArgs { process_count: None, process: None, ..whole.clone() };
    assert_eq!(on_eight(&only_hosts), Err("--hosts also needs --process-count".to_owned()));
    let outside = PlacementArgs { process: Some(3), ..whole.clone() };
    assert_eq!(on_eight(&outside), Err("--process is 3, but must be from 0 to 2".to_owned()));
    let both = PlacementArgs { processes: Some(2), ..whole };
    assert_eq!(on_eight(&both), Err("--processes cannot be used with --process-count".to_owned()));
}

#[test]
fn nothing_runs_on_no_threads() {
    let none = PlacementArgs { threads: Some(0), ..args() };
    let refused = "--threads is 0, but must be from 1 to 4096".to_owned();
    assert_eq!(on_eight(&none), Err(refused));
}

/// The second of four processes, two per host, as SLURM starts them.
fn by_slurm(threads: Option<usize>) -> Variables {
    let step = [
        ("SLURM_JOB_ID", "17"),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_PROCID", "1"),
        ("SLURM_STEP_NUM_TASKS", "4"),
        ("SLURM_STEP_NODELIST", "node[1-2]"),
        ("SLURM_STEP_TASKS_PER_NODE", "2(x2)"),
    ];
    let step = step.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let threads = threads.map(|threads| ("SLURM_CPUS_PER_TASK".to_owned(), threads.to_string()));
    step.into_iter().chain(threads).collect()
}

#[test]
fn what_flags_leave_open_the_environment_says() {
    let check = |args: PlacementArgs, threads| {
        let placement = JobPlacement::check_on(&args, 8, &by_slurm(threads)).unwrap();
        let JobPlacement::Member { here, token, .. } = &placement else {
            panic!("{placement:?}");
        };
        assert_eq!(token, "17.0.0");
        (here.processes(), here.process, here.addresses[1].clone(), here.threads)
    };
    let plain = (4, 1, "node1:7102".to_owned(), 4);
    assert_eq!(check(args(), None), plain);
    assert_eq!(check(args(), Some(3)).3, 3);
    let folder = tempfile::tempdir().unwrap();
    let hosts = folder.path().join("hosts.txt");
    std::fs::write(&hosts, "a:1\nb:1\nc:1\nd:1\n").unwrap();
    let flags = PlacementArgs { threads: Some(7), process: Some(0), hosts: Some(hosts), ..args() };
    let expected = (4, 0, "b:1".to_owned(), 7);
    assert_eq!(check(flags.clone(), Some(3)), expected);
    assert_eq!(check(flags, Some(0)), expected);
    let refused = JobPlacement::check_on(&args(), 8, &by_slurm(Some(100_000))).unwrap_err();
    let text = "SLURM_CPUS_PER_TASK is 100000, but must be from 1 to 4096";
    assert_eq!(refused.to_string(), text);
    let few = PlacementArgs { process_count: Some(3), ..args() };
    let refused = JobPlacement::check_on(&few, 8, &by_slurm(None)).unwrap_err().to_string();
    assert!(refused.starts_with("SLURM: the number of addresses is 4"), "{refused}");
    let alone = PlacementArgs { process_count: Some(1), process: Some(0), ..args() };
    assert_eq!(on_eight(&alone), Ok(JobPlacement::Threads(8)));
}

#[test]
fn more_threads_than_cores_are_told() {
    let told = |placement: JobPlacement| placement.too_many_threads(8).unwrap_or_default();
    assert_eq!(told(JobPlacement::Threads(8)), "");
    let some = told(JobPlacement::Threads(9));
    assert!(some.starts_with("-w: 9 threads for 8 cores only wait"), "{some}");
    assert!(!some.contains("starts"), "{some}");
    let many = told(JobPlacement::Threads(64));
    assert!(many.contains("a run here starts 32"), "{many}");
    let spread = told(JobPlacement::Spawn { processes: 3, threads: 4 });
    assert!(spread.starts_with("--processes: 12 threads"), "{spread}");
    assert!(!spread.contains("starts"), "{spread}");
    let many = told(JobPlacement::Spawn { processes: 5, threads: 16 });
    assert!(many.contains("a run here starts 30"), "{many}");
}

#[test]
fn a_run_on_one_machine_starts_at_most_four_threads_for_each_core() {
    let threads = |threads| JobPlacement::here(Some(threads)).map(|placement| placement.threads());
    assert_eq!(threads(1).unwrap(), 1);
    assert_eq!(threads(4096).unwrap(), (4 * cores()).min(4096));
    for (processes, threads, limited) in [(2, 4, 4), (2, 5, 4), (3, 64, 2), (9, 3, 1)] {
        let spread = JobPlacement::Spawn { processes, threads }.limited(2);
        assert_eq!(spread, JobPlacement::Spawn { processes, threads: limited });
    }
}
