//! Environments of schedulers, and what is read from each.

use super::*;

/// `A=1 B=2` as variables.
fn variables(text: &str) -> Variables {
    let pair = |word: &str| {
        let (name, value) = word.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    };
    text.split_whitespace().map(pair).collect()
}

/// Source, process, processes, most on a host, threads, addresses and token as text.
fn told(text: &str) -> String {
    let variables = variables(text);
    let place = find(&variables).and_then(|found| {
        let with_addresses = |found: ProcessPlace| {
            let addresses = found.addresses(&variables, None)?;
            Ok((found, addresses))
        };
        found.map(with_addresses).transpose()
    });
    match place {
        Ok(None) => "alone".to_owned(),
        Ok(Some((found, addresses))) => {
            let threads = found.threads.map_or("-".to_owned(), |n| n.to_string());
            format!(
                "{}: {} of {}, {} a host, {threads} threads, at {}, token {}",
                found.by,
                found.process,
                found.processes,
                found.local,
                addresses.join(" "),
                found.token.as_deref().unwrap_or("-"),
            )
        }
        Err(error) => format!("error: {error}"),
    }
}

/// The environment of the third of four tasks of a step on two nodes, as set by srun.
const STEP: &str = "SLURM_JOB_ID=17 SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_NTASKS=9 \
     SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NODELIST=node[1-2] SLURM_STEP_TASKS_PER_NODE=2(x2) \
     SLURMD_NODENAME=node2";

#[test]
fn a_task_of_a_slurm_step_finds_its_peers() {
    let peers = "node1:7101 node1:7102 node2:7101 node2:7102";
    assert_eq!(told(STEP), format!("SLURM: 2 of 4, 2 a host, - threads, at {peers}, token 17.0.0"));
    let more = format!("{STEP} SLURM_RESTART_COUNT=3 SLURM_CPUS_PER_TASK=8 MESH_PORT=9000");
    let peers = "node1:9000 node1:9001 node2:9000 node2:9001";
    assert_eq!(
        told(&more),
        format!("SLURM: 2 of 4, 2 a host, 8 threads, at {peers}, token 17.0.3")
    );
    let cyclic = STEP.replace("PROCID=2", "PROCID=1") + " SLURM_DISTRIBUTION=cyclic:block";
    let peers = "node1:7101 node2:7101 node1:7102 node2:7102";
    assert_eq!(
        told(&cyclic),
        format!("SLURM: 1 of 4, 2 a host, - threads, at {peers}, token 17.0.0")
    );
}

#[test]
fn a_slurm_job_without_a_step_is_one_process() {
    let batch = "SLURM_JOB_ID=17 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_NODELIST=node[1-2]";
    assert_eq!(told(batch), "alone");
    // The batch script and the interactive shell have special step numbers.
    for step in [4_294_967_291_u64, 4_294_967_290] {
        assert_eq!(told(&format!("{batch} SLURM_STEP_ID={step}")), "alone");
    }
    let one = STEP.replace("STEP_NUM_TASKS=4", "STEP_NUM_TASKS=1");
    assert_eq!(told(&one.replace("PROCID=2", "PROCID=0")), "alone");
}

#[test]
fn a_slurm_step_that_makes_no_sense_is_an_error() {
    let cases = [
        (
            STEP.replace("NODENAME=node2", "NODENAME=node1"),
            "node, node1; start it with srun --distribution=block",
        ),
        (STEP.replace("2(x2)", "2(x3)"), "one count per node of the step"),
        (STEP.replace("2(x2)", "3,2"), "one count per node of the step"),
        (STEP.replace("2(x2)", "two"), "TASKS_PER_NODE is \"two\""),
        (STEP.replace("node[1-2]", "node[1-"), "must be node names"),
        (STEP.replace("PROCID=2", "PROCID=4"), "below the number"),
        (STEP.replace("PROCID=2", "PROCID=x"), "a whole number"),
        (STEP.replace("SLURM_STEP_NODELIST=node[1-2]", ""), "SLURM_STEP_NODELIST is missing"),
        (format!("{STEP} MESH_PORT=65535"), "lower port"),
        (format!("{STEP} MESH_PORT=0"), "from 1 to 65535"),
    ];
    for (text, expected) in cases {
        let told = told(&text);
        assert!(told.starts_with("error: "), "{text}: {told}");
        assert!(told.contains(expected), "{text}: {told}");
    }
}

#[test]
fn mpi_numbers_the_processes_and_all_may_be_here() {
    let here = "127.0.0.1:7101 127.0.0.1:7102 127.0.0.1:7103";
    let mpi = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_SIZE=3 \
               PMIX_NAMESPACE=prterun-1";
    assert_eq!(
        told(mpi),
        format!("Open MPI: 1 of 3, 3 a host, - threads, at {here}, token prterun-1")
    );
    let pmi = "PMI_RANK=0 PMI_SIZE=3 MPI_LOCALNRANKS=3";
    assert_eq!(told(pmi), format!("PMI: 0 of 3, 3 a host, - threads, at {here}, token -"));
    let torch = "RANK=2 WORLD_SIZE=3 LOCAL_RANK=2 LOCAL_WORLD_SIZE=3";
    assert_eq!(
        told(torch),
        format!("RANK and WORLD_SIZE: 2 of 3, 3 a host, - threads, at {here}, token -")
    );
    let master = "RANK=2 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1";
    assert!(told(master).ends_with(&format!("at {here}, token -")));
}

#[test]
fn who_is_on_other_hosts_must_be_said() {
    let mpi = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_SIZE=2";
    let error = told(mpi);
    assert!(
        error.contains("Open MPI says that this is process 1 of 3")
            && error.contains("pass hosts, or set"),
        "{error}"
    );
    let error = told(&format!("{mpi} SLURM_JOB_ID=1"));
    assert!(error.ends_with("start it with srun, which sets it"), "{error}");
    let listed = told(&format!("{mpi} MESH_HOSTS=a:1,b:2,c:3"));
    assert!(listed.ends_with("at a:1 b:2 c:3, token -"), "{listed}");
    let few = told(&format!("{mpi} MESH_HOSTS=a:1,b:2"));
    assert!(few.contains("addresses is 2, that of processes 3"), "{few}");
    // If the addresses are given, the environment's addresses do not matter.
    let found = find(&variables(mpi)).unwrap().unwrap();
    assert_eq!((found.process, found.processes), (1, 3));
}

#[test]
fn a_pod_of_an_indexed_job_finds_the_others_by_name() {
    let pod = "JOB_COMPLETION_INDEX=1 HOSTNAME=library-2-1 MESH_PROCESSES=2 \
               MESH_SERVICE=peers KUBERNETES_SERVICE_HOST=10.0.0.1";
    assert_eq!(
        told(pod),
        "Kubernetes: 1 of 2, 1 a host, - threads, \
         at library-2-0.peers:7101 library-2-1.peers:7101, token -"
    );
    assert!(told(&pod.replace("MESH_SERVICE", "X")).contains("MESH_SERVICE is missing"));
    assert!(told(&pod.replace("library-2-1", "other")).contains("HOSTNAME is \"other\""));
    assert_eq!(told("JOB_COMPLETION_INDEX=1 HOSTNAME=a-1"), "alone");
}

#[test]
fn our_own_variables_go_first_and_must_be_whole() {
    let own = "MESH_PROCESS=0 MESH_HOSTS=a:1,b:2";
    let expected = "MESH_PROCESS: 0 of 2, 1 a host, - threads, at a:1 b:2, token -";
    assert_eq!(told(own), expected);
    assert_eq!(told(&format!("{own} {STEP}")), expected);
    let cases = [
        ("MESH_HOSTS=a:1,b:2", "MESH_HOSTS is set, but"),
        ("MESH_PROCESSES=2", "MESH_PROCESSES is set, but"),
        ("MESH_PROCESS=1", "MESH_PROCESS is set, but"),
        ("MESH_PROCESS=2 MESH_PROCESSES=2", "below"),
        ("MESH_PROCESS=1 MESH_PROCESSES=2", "MESH_PROCESS says"),
        ("MESH_PROCESS=0 MESH_HOSTS=a", "MESH_HOSTS:1"),
    ];
    for (text, expected) in cases {
        let told = told(text);
        assert!(told.starts_with("error: ") && told.contains(expected), "{text}: {told}");
    }
    assert_eq!(told("MESH_PROCESSES=1"), "alone");
}

#[test]
fn half_an_environment_is_one_process() {
    for text in [
        "",
        "PMI_RANK=1",
        "WORLD_SIZE=4",
        "RANK=1",
        "OMPI_COMM_WORLD_SIZE=2",
        "RANK=0 WORLD_SIZE=1",
        "SLURM_JOB_ID=1",
    ] {
        assert_eq!(told(text), "alone", "{text}");
    }
}

#[test]
fn the_nearest_starter_counts() {
    // mpirun of Open MPI within a step: the step's tasks are its daemons.
    let mpi = "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=4";
    assert!(told(&format!("{STEP} {mpi}")).starts_with("Open MPI: 3 of 4"));
    // srun numbers the tasks alike for PMI; mpiexec within a step does not.
    assert!(told(&format!("{STEP} PMI_RANK=2 PMI_SIZE=4")).starts_with("SLURM: 2 of 4"));
    let other = format!("{STEP} PMI_RANK=1 PMI_SIZE=3 MPI_LOCALNRANKS=3");
    assert!(told(&other).starts_with("PMI: 1 of 3"));
}
