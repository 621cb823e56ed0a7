//! The estimates of `topicmill plan`: the job's input, size, memory, disk and hosts, and the state
//! of its output folder. Nothing is written.

use serde_json::json;

use super::placement::JobPlacement;
use super::{Failure, figures, machine};
use crate::config::state::{OutputState, RunState, output_state};
use crate::config::{Job, SynthStage};
use crate::plan::estimate::{Estimate, LABELS, estimate, fitting_sample};
use crate::plan::preview::count_tokens;
use crate::plan::survey::{Survey, survey, survey_of_synth};
use corpus::input::InputError;
use lda::train::settings::Memory;
use lda::train::step::Remembered;
use mesh::hosts::host_of;

/// Everything in a plan that the job file does not state.
#[derive(Debug)]
pub(super) struct Forecast {
    /// The job, with as many topics as labels are expected if each is a topic.
    job: Job,
    survey: Survey,
    /// The number of labels, if each is a topic and it is known; and as text.
    labels: Option<(Option<u64>, String)>,
    /// Whether the run will generate the corpus first.
    makes_corpus: bool,
    estimate: Estimate,
    output: OutputState,
    /// `host:port` of each process, if they are on several hosts.
    addresses: Vec<String>,
    processes: usize,
    threads: usize,
    /// Processes that share this machine's memory, as far as is known.
    processes_here: usize,
    memory_here: Option<u64>,
    /// Bytes that are free at the output path.
    disk_free: Option<u64>,
}

impl Forecast {
    /// Surveys the input and the output of `job`, and estimates what it takes.
    ///
    /// # Errors
    /// The input, the output folder or the host file cannot be read.
    pub(super) fn of(job: &Job, placement: &JobPlacement) -> Result<Self, Failure> {
        let unmade = unmade_corpus(job);
        let survey = match unmade {
            Some(stage) => survey_of_synth(stage, &job.corpus),
            None => {
                let mut survey = survey(&job.corpus).map_err(without_input)?;
                // If the first records cannot be read, ingest will report it.
                let _ = count_tokens(job, &mut survey);
                survey
            }
        };
        let (processes, threads) = (placement.process_count(), placement.threads());
        let (addresses, processes_here) = match placement {
            JobPlacement::Threads(_) => (Vec::new(), 1),
            JobPlacement::Spawn { processes, .. } => (Vec::new(), *processes),
            JobPlacement::Member { here, .. } => {
                (here.addresses.clone(), sharing_host(&here.addresses, here.process))
            }
        };
        let output = output_state(job)?;
        let mut sized = job.clone();
        let labels = (job.model.topics == 0).then(|| labels(job, &survey, &output));
        if let Some((Some(count), _)) = labels {
            sized.model.topics = count as usize;
        }
        let mut estimate = estimate(&sized, &survey, processes, threads);
        estimate.seconds = estimate.seconds.left(&output);
        Ok(Self {
            job: sized,
            survey,
            labels,
            makes_corpus: unmade.is_some(),
            estimate,
            output,
            addresses,
            processes,
            threads,
            processes_here,
            memory_here: machine::memory_bytes(),
            disk_free: machine::free_bytes(&job.output.path),
        })
    }

    /// Returns the rows of a plan, as names and values.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("files", self.files()), ("documents", self.documents())];
        rows.extend(self.labels.iter().map(|(_, labels)| ("labels", labels.clone())));
        rows.extend([
            ("training", self.training()),
            ("time", self.time()),
            ("memory", self.memory()),
            ("disk", self.disk()),
        ]);
        let hosts = self.addresses.iter().enumerate();
        rows.extend(hosts.map(|(index, host)| ("host", format!("{host} (process {index})"))));
        let path = self.job.output.path.display();
        rows.push(("output", format!("{path} ({})", self.output)));
        rows
    }

    /// Returns the plan of `job` as JSON.
    pub(super) fn json(&self, job: &Job) -> serde_json::Value {
        json!({
            "job": job.path,
            "model_id": job.train_hash(),
            "makes_corpus": self.makes_corpus,
            "input": self.survey,
            "labels": self.labels.as_ref().and_then(|(count, _)| *count),
            "estimate": self.estimate,
            "memory_peak_bytes": self.estimate.memory.peak(),
            "machine_memory_bytes": self.memory_here,
            "disk_bytes": self.estimate.disk.total(),
            "disk_free_bytes": self.disk_free,
            "processes": self.processes,
            "threads": self.threads,
            "hosts": self.addresses,
            "output": { "path": job.output.path, "is": self.output },
        })
    }

    /// Refuses a job that needs more memory than this machine has.
    ///
    /// # Errors
    /// The job needs more; the remedy is a smaller sample, where that helps.
    pub(super) fn refuse_what_cannot_fit(&self) -> Result<(), Failure> {
        let share = self.memory_here.map_or(u64::MAX, |memory| memory / self.processes_here as u64);
        let memory = &self.estimate.memory;
        if memory.peak() <= share {
            return Ok(());
        }
        let fitting = fitting_sample(&self.job, &self.survey, self.processes, self.threads, share);
        let remedy = match fitting {
            Some(documents) => format!("use a smaller sample: --set sample.documents={documents}"),
            None if memory.bytes("blocks") > share => {
                "use fewer threads (-w), or a smaller corpus.block_mib".to_owned()
            }
            None => {
                "use fewer threads (-w), fewer topics, or a smaller vocabulary.max_terms".to_owned()
            }
        };
        let [needed, share] = [memory.peak(), share].map(figures::bytes);
        let message = format!(
            "this may need {needed} of memory in each process, but this machine has {share} for each"
        );
        Err(Failure::data(message).help(remedy))
    }

    fn files(&self) -> String {
        let content = figures::bytes(self.survey.content_bytes);
        if self.makes_corpus {
            return format!("none yet: the run generates the corpus first, about {content}");
        }
        let kinds = self.survey.kinds.iter().map(|(name, kind)| {
            let (files, bytes) = (figures::grouped(kind.files), figures::bytes(kind.bytes));
            format!("{files} {name}: {bytes}")
        });
        format!("{}; about {content} of content", kinds.collect::<Vec<_>>().join("; "))
    }

    fn documents(&self) -> String {
        let documents = if self.survey.documents_exact {
            figures::grouped(self.survey.documents)
        } else {
            format!("about {}", figures::about(self.survey.documents))
        };
        format!(
            "{documents} with about {} tokens, in about {} of {}{}",
            figures::about(self.survey.tokens),
            figures::counted(self.survey.blocks, "block"),
            figures::bytes(self.survey.block_bytes),
            self.survey.lacking,
        )
    }

    /// Describes the documents, the rounds and what is remembered.
    fn training(&self) -> String {
        let (train, estimate) = (&self.job.train, &self.estimate);
        if self.job.model_from.is_some() {
            return "none".to_owned();
        }
        let [passes, online] = estimate.passes;
        let nothing = |why| format!("nothing is remembered, since {why}");
        let remembered = match estimate.remembered {
            Some(bytes) => {
                let what = match train.method.remembers {
                    Remembered::Gamma => "γ is",
                    Remembered::Topics => "assignments are",
                };
                format!("{what} remembered, {}", figures::bytes(bytes))
            }
            None if train.memory == Memory::Off => nothing("train.memory is \"off\""),
            None if passes <= u64::from(train.online_passes) => nothing("all passes are online"),
            None => nothing("assignments exceed train.memory_mib"),
        };
        format!(
            "about {} documents, {} of them held out; {} per pass, up to about {} rounds \
             in {passes} passes, {online} of them online; {remembered}; {}",
            figures::grouped(estimate.sample_documents),
            figures::grouped(estimate.held_out_documents),
            figures::counted(estimate.minibatches, "minibatch"),
            figures::grouped(estimate.rounds),
            if estimate.streams {
                "the sample is streamed from disk, since it exceeds train.sample_mib"
            } else {
                "the sample is kept in memory"
            },
        )
    }

    fn time(&self) -> String {
        if self.output == OutputState::Complete {
            return "none: the result is complete".to_owned();
        }
        let seconds = self.estimate.seconds;
        let [total, ingest, train, project] =
            [seconds.total(), seconds.ingest, seconds.train, seconds.project]
                .map(figures::about_seconds);
        if seconds.train == 0.0 {
            return format!("about {total} (ingest {ingest}, project {project})");
        }
        format!(
            "about {total} (ingest {ingest}, train {train} or less, project {project}); held-out quality may end \
             training sooner"
        )
    }

    fn disk(&self) -> String {
        let disk = self.estimate.disk;
        let [total, drafts, shards, tables, model] =
            [disk.total(), disk.drafts, disk.shards, disk.tables, disk.model].map(figures::bytes);
        let is_scarce = |free: &u64| self.output != OutputState::Complete && *free < disk.total();
        let free = self.disk_free.filter(is_scarce).map_or_else(String::new, |free| {
            format!("; only {} free at output.path", figures::bytes(free))
        });
        format!(
            "about {total} (drafts {drafts}; later on shards {shards}, tables {tables}, model and checkpoints \
             {model}){free}"
        )
    }

    fn memory(&self) -> String {
        let memory = &self.estimate.memory;
        let parts = memory.0.iter().filter(|part| part.bytes > 0);
        let parts = parts.map(|part| format!("{} {}", part.name, figures::bytes(part.bytes)));
        let parts = parts.collect::<Vec<_>>().join(", ");
        let here = self.memory_here.map_or_else(String::new, |bytes| {
            format!("; this machine has {}", figures::bytes(bytes))
        });
        let each = if self.processes > 1 { " in each process" } else { "" };
        format!("about {} ({parts}){each}{here}", figures::bytes(memory.peak()))
    }
}

/// Counts the labels of the collection that a run has read, or else estimates them from the first records; also as text.
fn labels(job: &Job, survey: &Survey, output: &OutputState) -> (Option<u64>, String) {
    let is_own = matches!(output, OutputState::Resumable { .. } | OutputState::Complete);
    let read = RunState::read(&job.output.path).ok().filter(|_| is_own);
    let exactly = |count| (Some(count), figures::grouped(count));
    if let Some(collection) = read.and_then(|state| state.collection) {
        return exactly(collection.labels.len() as u64);
    }
    match survey.labels {
        Some(found) if found.records >= survey.documents => exactly(found.seen),
        Some(found) => {
            let [seen, records] = [found.seen, found.records].map(figures::grouped);
            let expected = figures::about(found.expected);
            let text = format!("about {expected}: {seen} in the first {records} documents");
            (Some(found.expected), text)
        }
        None => {
            let assumed = figures::grouped(LABELS);
            (None, format!("unknown until they are read; estimates are for {assumed}"))
        }
    }
}

/// Returns the corpus that the job reads and has not generated yet.
fn unmade_corpus(job: &Job) -> Option<&SynthStage> {
    job.synth
        .as_ref()
        .filter(|synth| job.corpus.input == [synth.input()])
        .filter(|synth| !synth.is_made())
}

/// Adds a remedy if a job's input does not exist.
fn without_input(error: InputError) -> Failure {
    if error.is_absence() {
        Failure::from(error).help("jobs/planted.toml needs no input: it generates its own corpus")
    } else {
        error.into()
    }
}

/// Counts the processes on the host of process `index`.
fn sharing_host(addresses: &[String], index: usize) -> usize {
    let host = |address: &String| host_of(address).to_lowercase();
    let mine = addresses.get(index).map(host);
    let here = addresses.iter().map(host).filter(|host| Some(host) == mine.as_ref());
    here.count().max(1)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cli::Exit;

    fn job() -> Job {
        let text = "[synth]\npath = \"no/such/corpus\"\ndocuments = 1000000\n\
                    [sample]\nfraction = 1\n[model]\ntopics = 100\n\
                    [output]\npath = \"no/such/output\"\n";
        Job::parse(text, Path::new("job.toml"), &[]).expect("valid")
    }

    fn forecast(memory_here: u64) -> Forecast {
        let forecast = Forecast::of(&job(), &JobPlacement::Threads(2)).expect("nothing is read");
        Forecast { memory_here: Some(memory_here), ..forecast }
    }

    #[test]
    fn what_cannot_fit_is_refused_with_a_sample_that_does() {
        let peak = forecast(u64::MAX).estimate.memory.peak();
        assert!(forecast(peak).refuse_what_cannot_fit().is_ok());
        let tight = forecast(peak * 3 / 4);
        let failure = tight.refuse_what_cannot_fit().expect_err("too large");
        assert_eq!(failure.exit, Exit::Data);
        let help = failure.help.expect("a remedy");
        assert!(help.contains("--set sample.documents=500000"), "{help}");
        let tiny = forecast(1 << 20).refuse_what_cannot_fit();
        let help = tiny.expect_err("too large").help.expect("a remedy");
        assert!(help.contains("fewer threads"), "{help}");
    }

    #[test]
    fn blocks_that_cannot_fit_are_refused() {
        let mut tight = forecast(1 << 30);
        tight.survey.block_bytes = tight.survey.content_bytes;
        tight.estimate = estimate(&job(), &tight.survey, 1, 2);
        let failure = tight.refuse_what_cannot_fit();
        let help = failure.expect_err("too large").help.expect("a remedy");
        assert!(help.contains("smaller corpus.block_mib"), "{help}");
    }

    #[test]
    fn assignments_are_a_part_of_the_peak_of_memory() {
        let forecast = forecast(u64::MAX);
        let bytes = forecast.estimate.memory.bytes("assignments");
        let part = format!(", assignments {}", figures::bytes(bytes));
        assert!(bytes > 0 && forecast.memory().contains(&part));
    }

    #[test]
    fn too_little_space_is_said_beside_the_estimate_of_disk() {
        let with = |disk_free| {
            let forecast = Forecast { disk_free, ..forecast(u64::MAX) };
            forecast.disk()
        };
        assert!(with(Some(1 << 20)).ends_with("; only 1.0 MiB free at output.path"));
        assert_eq!(with(Some(u64::MAX)), with(None));
    }

    #[test]
    fn a_complete_result_takes_no_time() {
        let complete = Forecast { output: OutputState::Complete, ..forecast(u64::MAX) };
        assert_eq!(complete.time(), "none: the result is complete");
    }

    #[test]
    fn processes_of_one_host_share_its_memory() {
        let addresses = ["a:1", "b:1", "A:2"].map(str::to_owned);
        assert_eq!(sharing_host(&addresses, 0), 2);
        assert_eq!(sharing_host(&addresses, 1), 1);
    }

    #[test]
    fn a_corpus_to_be_made_is_said_to_be() {
        let rows = forecast(u64::MAX).rows();
        assert!(rows[0].1.contains("the run generates the corpus first"), "{rows:?}");
        assert!(rows[1].1.starts_with("1,000,000 with"), "{rows:?}");
        assert_eq!(rows.last().expect("rows").1, "no/such/output (empty)");
    }
}
