//! Checks what a run's output contains, and removes old results before the run begins.

use timely::worker::Worker;

use super::Run;
use crate::dataflow::finish;
use crate::dataflow::gather::barrier;
use crate::dataflow::ingest::{check_input, read_collection};
use crate::dataflow::process::other_settings;
use crate::failure::Failure;
use crate::observe::summary::Summary;
use crate::tables::output::{MANIFEST, REPORT, is_gone};
use crate::tables::{Manifest, TABLES};
use corpus::collection::COLLECTION_FILE;
use corpus::input::identify;
use mesh::spawn::launch_name;

/// The file that names the launch that removed old results.
const CLEARED: &str = "logs/overwritten";

impl Run<'_> {
    /// Summarises a complete output; fails if another job made it, or if its input has changed.
    pub(super) fn find_complete(
        &self,
        worker: &mut Worker,
        summary: &mut Summary,
    ) -> Result<(), Failure> {
        let output = &self.process.output;
        for file in [MANIFEST, COLLECTION_FILE] {
            if !output.is_published(file)? {
                return Err(is_gone(&output.path(file)));
            }
        }
        let manifest = Manifest::read(output.local_root(&[MANIFEST])?)?;
        let ours = finish::settings(&self.process.job);
        for (section, what) in [
            ("corpus", "corpus, tokens or vocabulary"),
            ("train", "sample, model or train"),
            ("project", "project"),
        ] {
            if manifest.settings.get(section) != ours.get(section) {
                let failure = other_settings(output.root(), what);
                return Err(match section {
                    "project" => {
                        failure.help("`topicmill project JOB --overwrite` keeps the model")
                    }
                    _ => failure,
                });
            }
        }
        if worker.index() == 0 && self.stages.ingests() {
            check_input(self.process, &manifest.input_fingerprint)?;
        }
        barrier(worker);
        let stages = ["ingest", "train", "project"];
        summary.already_complete = stages.map(str::to_owned).to_vec();
        summary.documents = manifest.documents_by_status.values().sum();
        summary.tokens = read_collection(self.process)?.tokens_in_vocabulary;
        summary.documents_by_status = manifest.documents_by_status;
        summary.report =
            if output.is_published(REPORT)? { Some(output.path(REPORT)) } else { None };
        Ok(())
    }

    /// Removes what the stages will write again; not in later attempts of a launch, which resume.
    pub(super) fn clear_once(&self) -> Result<(), Failure> {
        let output = &self.process.output;
        let launch = launch_name().unwrap_or_default();
        let cleared = output.local(CLEARED)?;
        if !launch.is_empty() && std::fs::read_to_string(cleared).is_ok_and(|text| text == launch) {
            return Ok(());
        }
        self.clear()?;
        output.write_atomic(CLEARED, launch.as_bytes())
    }

    /// Removes what the stages will write again, once it is certain that they can: only files that topicmill wrote.
    fn clear(&self) -> Result<(), Failure> {
        let (job, output) = (&self.process.job, &self.process.output);
        if self.stages.ingests() {
            if job.synth.is_none() {
                identify(&job.corpus)?;
            }
            return output.clear_all();
        }
        let collection = read_collection(self.process)?;
        if !self.stages.trains() {
            self.process.read_model(&collection)?;
        }
        output.check_tables()?;
        output.reopen()?;
        let stays = |name: &str| matches!(name, "training_log" | "model") && !self.stages.trains();
        let tables = TABLES.iter().map(|table| table.name);
        for name in tables.chain(["checkpoints", "model"]) {
            if !stays(name) {
                output.clear(name)?;
            }
        }
        Ok(())
    }
}
