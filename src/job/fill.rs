//! The settings that the rest of the program reads, filled from the values of a job.
//!
//! `resolve` has checked the values, so that nothing can fail here. A setting has the name of its key, or is
//! written out.

use std::path::PathBuf;

use super::kind::MIB;
use super::resolve::Values;
use super::settings::{MaxEntSettings, ProjectSettings, TreeSettings};
use super::{ClusterSection, OutputSettings, SynthStage};
use crate::evaluate::settings::EvaluateSettings;
use corpus::settings::{
    CorpusSettings, DetectionSettings, HtrcSettings, LabelSettings, PhraseSettings, SampleSettings,
    SampleSize, SectionSize, TokenSettings, VocabularySettings,
};
use corpus::synth_settings::SynthSettings;
use lda::infer::settings::{InferSettings, Method};
use lda::model::settings::{Alpha, ModelSettings};
use lda::train::settings::TrainSettings;

/// Fills fields that have the names of the section's keys; other fields follow the `;`.
macro_rules! settings {
    ($values:ident, $type:ident, $section:literal: $($field:ident),* ; $($rest:tt)*) => {
        $type {
            $($field: $values.get(concat!($section, ".", stringify!($field))),)*
            $($rest)*
        }
    };
}

impl Values {
    /// Returns a size in bytes.
    fn bytes(&self, path: &'static str) -> u64 {
        (self.get::<f64>(path) * MIB) as u64
    }

    pub(super) fn corpus(&self) -> CorpusSettings {
        let block_mib: Option<f64> = self.get("corpus.block_mib");
        settings! { self, CorpusSettings, "corpus":
            base, input, exclude, format, encoding, markup, header, id, text, counts, group, metadata, on_damage;
            languages: self.languages(),
            labels: self.labels(),
            needs_order: self.phrases().need_order(),
            block_bytes: block_mib.map(|mib| (mib * MIB) as u64),
            max_document_bytes: self.bytes("corpus.max_document_mib"),
            htrc: self.htrc(),
        }
    }

    /// Returns the languages that are read, if languages are identified.
    pub(super) fn languages(&self) -> Option<Vec<String>> {
        let languages: Vec<String> = self.get("corpus.languages");
        let identifies = self.get("corpus.identify_language") || !languages.is_empty();
        identifies.then_some(languages)
    }

    fn labels(&self) -> Option<LabelSettings> {
        Some(LabelSettings {
            column: self.get::<Option<String>>("corpus.labels")?,
            separator: self.get("corpus.label_separator"),
            min_documents: self.get("corpus.label_min_documents"),
        })
    }

    fn htrc(&self) -> HtrcSettings {
        let section = match self.has("htrc.section_words") {
            true => SectionSize::Words(self.get("htrc.section_words")),
            false => match self.get("htrc.section_pages") {
                0 => SectionSize::Volume,
                pages => SectionSize::Pages(pages),
            },
        };
        settings! { self, HtrcSettings, "htrc":
            skip_first_pages, skip_last_pages, languages, first_year, last_year, unique_by, parts_of_speech;
            section
        }
    }

    pub(super) fn tokens(&self) -> TokenSettings {
        settings! { self, TokenSettings, "tokens":
            rule, lower_case, min_length, max_length, numbers, identifiers, addresses, elisions, join_hyphens;
        }
    }

    pub(super) fn phrases(&self) -> PhraseSettings {
        let detection = self.get::<bool>("phrases.detect").then(|| {
            settings! { self, DetectionSettings, "phrases": min_count, threshold, max_words; }
        });
        settings! { self, PhraseSettings, "phrases": replacements, deletions, found; detection }
    }

    pub(super) fn vocabulary(&self) -> VocabularySettings {
        settings! { self, VocabularySettings, "vocabulary":
            stop_words, stop_top, min_documents, max_share, max_terms;
        }
    }

    pub(super) fn sample(&self) -> SampleSettings {
        if self.names("model.from") {
            return SampleSettings { size: SampleSize::Fraction(0.0), held_out: 0.0 };
        }
        let size = match self.has("sample.fraction") {
            true => SampleSize::Fraction(self.get("sample.fraction")),
            false => SampleSize::Documents(self.get("sample.documents")),
        };
        settings! { self, SampleSettings, "sample": held_out; size }
    }

    pub(super) fn model(&self) -> ModelSettings {
        let alpha = match self.has("model.alpha") {
            true => self.get("model.alpha"),
            false => self.get::<Option<f64>>("model.alpha_sum").map(Alpha::Sum),
        };
        settings! { self, ModelSettings, "model":
            seed, eta, published_eta, geometry, label_prior;
            topics: match self.has("model.topics") {
                true => self.get("model.topics"),
                false => 0,
            },
            alpha
        }
    }

    /// Returns the settings of the job's tree.
    pub(super) fn tree(&self) -> Option<TreeSettings> {
        Some(TreeSettings {
            path: self.get::<Option<PathBuf>>("tree.file")?,
            kind: self.get("tree.format"),
            // Known once it is read.
            word_count: 0,
            is_hierarchy: false,
            must_link: self.get("tree.must_link"),
            cannot_link: self.get("tree.cannot_link"),
        })
    }

    pub(super) fn train(&self) -> TrainSettings {
        settings! { self, TrainSettings, "train":
            method, schedule, importance, residual_floor, residual_switch, minibatch, passes, memory, online_passes, step_offset, step_decay, prune, alpha_after,
            alpha_every, average_every, estimator, evaluate_every, patience, tolerance, checkpoint_every,
            checkpoint_minutes;
            warm_start: self.names("train.warm_start").then(|| self.get("train.unassign")),
            memory_bytes: self.bytes("train.memory_mib"),
            sample_bytes: self.bytes("train.sample_mib"),
            burn_in_sweeps: self.get("train.burn_in"),
            kept_sweeps: self.get("train.sweeps"),
        }
    }

    pub(super) fn project(&self) -> ProjectSettings {
        let infer = |method| {
            settings! { self, InferSettings, "project":
                chains, estimator, iterations, tolerance, temperature;
                method,
                burn_in_sweeps: self.get("project.burn_in"),
                kept_sweeps: self.get("project.sweeps"),
            }
        };
        let method: Option<Method> = self.get("project.method");
        settings! { self, ProjectSettings, "project":
            threshold, top, top_terms, trends, date_unit, rollups, label_topics, label_count, label_threshold;
            documents_per_topic: self.get("project.topic_documents"),
            infer: method.map(infer),
            maxent: settings! { self, MaxEntSettings, "maxent":
                documents, prior_variance, iterations;
                most_bytes: self.bytes("maxent.memory_mib"),
            },
        }
    }

    pub(super) fn evaluate(&self) -> EvaluateSettings {
        settings! { self, EvaluateSettings, "evaluate":
            metrics, split, documents, particles, resample, completion_sweeps, alpha,
            coherence_terms, reference;
        }
    }

    pub(super) fn output(&self) -> OutputSettings {
        settings! { self, OutputSettings, "output": path, scratch, report; }
    }

    pub(super) fn cluster(&self) -> ClusterSection {
        settings! { self, ClusterSection, "cluster": secret_file; }
    }

    pub(super) fn synth(&self) -> SynthStage {
        SynthStage {
            path: self.get("synth.path"),
            settings: settings! { self, SynthSettings, "synth":
                topics, documents, mean_length, alpha_sum, seed;
                vocabulary: self.get("synth.terms"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::job::Job;
    use crate::job::keys::{Key, SECTIONS};
    use crate::job::state::MODEL_FILE;
    use crate::tables::output::JOB_FILE;
    use corpus::vocabulary_file::VOCABULARY_FILE;

    /// Candidate values; for every key, one of them is valid and not the default.
    const CANDIDATES: [&str; 11] =
        ["true", "false", "2", "3", "0.7", "de", "m", "w", "[0.1, 0.2]", "[\"m\"]", "latin1"];

    #[test]
    fn every_key_is_read_into_a_setting() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("m"), "must: word, other\n").unwrap();
        for file in [MODEL_FILE, VOCABULARY_FILE, JOB_FILE] {
            let path = folder.path().join("w").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "[model]\ntopics = 2\n").unwrap();
        }
        let text = "[corpus]\ninput = \"x\"\nmetadata = [\"m\", \"n\"]\n[model]\ntopics = 2\n\
                    [output]\npath = \"o\"\n[synth]\npath = \"s\"\n";
        let labelled = text.replace("topics = 2\n", "");
        let job = |sets: &[String]| {
            let has_labels = sets.iter().any(|set| set.starts_with("corpus.labels="));
            let text = if has_labels { &labelled } else { text };
            Job::parse(text, &folder.path().join("job.toml"), sets)
        };
        // Some keys have an effect in only one of these jobs.
        let bases = [
            "train.memory=auto",
            "train.memory=off",
            "train.schedule=residual",
            "corpus.labels=m",
            "tree.file=m",
            "train.warm_start=w",
            "phrases.detect=true",
            "project.trends=[\"m\"]",
            "evaluate.metrics=[\"npmi\"]",
            "evaluate.metrics=[\"left-to-right\"]",
        ];
        let bases = bases.map(str::to_owned);
        let is_read = |key: &Key, value: &str| {
            bases.iter().any(|base| {
                let set = job(&[base.clone(), format!("{}={value}", key.path)]);
                let base = job(std::slice::from_ref(base)).unwrap();
                // The values differ, of course; the question is whether a setting does.
                let values = base.values.clone();
                set.is_ok_and(|set| Job { values, ..set } != base)
            })
        };
        for key in SECTIONS.iter().flat_map(|section| section.keys) {
            let mut candidates = key.words().iter().chain(&CANDIDATES);
            let is_read = candidates.any(|value| is_read(key, value));
            assert!(is_read, "{} changes no setting", key.path);
        }
    }
}
