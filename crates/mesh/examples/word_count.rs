//! Counts words over two processes of this machine: the parent starts both with a new secret, passes on signals and
//! their standard error, and ends with their exit code. Kill a child, and all end.
//!
//!     cargo run -p topicmill-mesh --example word_count

#![allow(clippy::print_stderr, reason = "a program, not the library")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Command, ExitCode};
use std::rc::Rc;
use std::sync::Arc;

use mesh::environment::{listed, variables};
use mesh::family::{Event, Watch};
use mesh::interrupt::{self, DEFAULT_STOP_TIMEOUT, Interrupts};
use mesh::secret::Secret;
use mesh::{ClusterSettings, Failure, Names, Placement, execute, guard, spawn};
use timely::dataflow::ProbeHandle;
use timely::dataflow::operators::{Exchange, Inspect, Probe, ToStream};

const PROCESSES: usize = 2;
const TEXT: &str = "the cat and the dog and the bird";

/// Runs as the parent, or as the process whose number is the argument.
fn main() -> Result<ExitCode, Box<dyn Error>> {
    guard::install(|failure| eprintln!("word_count: {failure}"));
    interrupt::install(|notice| eprintln!("word_count: {notice}"))?;
    match std::env::args().nth(1) {
        None => start(),
        Some(process) => {
            spawn::follow_parent();
            count(process.parse()?)
        }
    }
}

/// Starts the processes, and waits for them.
fn start() -> Result<ExitCode, Box<dyn Error>> {
    let (program, secret) = (std::env::current_exe()?, Secret::random_text()?);
    let command = |process: usize| {
        let mut command = Command::new(&program);
        command.arg(process.to_string()).env(Names::get().variables.secret, &secret);
        command
    };
    let watch: Watch = Arc::new(|event| {
        if let Event::Line { process, line } = event {
            eprintln!("[{process}] {}", String::from_utf8_lossy(line));
        }
    });
    let mut interrupts = Interrupts::take_over(DEFAULT_STOP_TIMEOUT);
    let ending = spawn::run(PROCESSES, &command, &watch, &mut interrupts)?;
    Ok(ExitCode::from(ending.code))
}

/// Counts the words that belong to this process.
fn count(process: usize) -> Result<ExitCode, Box<dyn Error>> {
    let variables = variables();
    let addresses = listed(&variables)?.ok_or("start it without an argument")?;
    let placement = Placement { threads: 1, process, addresses };
    let settings = ClusterSettings {
        build: "word_count 1",
        run: variables.get(Names::get().variables.run).cloned().unwrap_or_default(),
        secret: Secret::find(None)?.map(|found| found.secret),
        ..ClusterSettings::default()
    };
    let counts = execute(&placement, &settings, |worker| {
        let counts = Rc::new(RefCell::new(BTreeMap::<String, u64>::new()));
        let (counting, probe) = (Rc::clone(&counts), ProbeHandle::new());
        let own = TEXT.split(' ').skip(worker.index()).step_by(PROCESSES);
        let own: Vec<String> = own.map(str::to_owned).collect();
        worker.dataflow::<u64, _, _>(|scope| {
            own.to_stream(scope)
                .container::<Vec<_>>()
                .exchange(|word: &String| word.bytes().map(u64::from).sum())
                .inspect(move |word| *counting.borrow_mut().entry(word.clone()).or_default() += 1)
                .probe_with(&probe);
        });
        worker.step_while(|| !probe.done());
        Ok::<_, Failure>(counts.take())
    })?;
    eprintln!("{counts:?}");
    Ok(ExitCode::SUCCESS)
}
