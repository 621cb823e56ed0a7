//! The classifier of MaxEnt inference in whole runs: the same bytes on any number of workers, reused
//! if it exists, trained again if it does not match; and how near it is to sampling.

use std::fs;
use std::ops::Deref;
use std::path::Path;

use lda::infer::Bag;
use lda::infer::gibbs::Gibbs;
use lda::infer::hybrid::Hybrid;
use lda::infer::settings::{Estimator, InferSettings};
use lda::math::random::{Stage, Stream};
use lda::model::factors::{FactorTable, Factors};
use lda::train::publish::published_priors;
use topicmill::checkpoint;
use topicmill::checkpoint::classifier::{self, CLASSIFIER_FILE};
use topicmill::config::state::MODEL_FILE;
use topicmill::corpus::ShardDocument;
use topicmill::corpus::collection::{COLLECTION_FILE, Collection};
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::tables;

use crate::workdir::Workdir;

/// A folder with a job that generates its own corpus.
struct Ground(Workdir);

impl Deref for Ground {
    type Target = Workdir;

    fn deref(&self) -> &Workdir {
        &self.0
    }
}

impl Ground {
    fn new() -> Self {
        let job = "[synth]\npath = \"planted\"\ntopics = 5\ndocuments = 1200\nterms = 400\n\
                   mean_length = 40\n\
                   [corpus]\nblock_mib = 0.03\n\
                   [vocabulary]\nstop_words = \"none\"\n\
                   [sample]\nfraction = 0.6\nheld_out = 0.1\n\
                   [model]\ntopics = 6\n\
                   [train]\nminibatch = 128\nonline_passes = 1\npasses = 13\n\
                   [project]\nmethod = \"maxent\"\n\
                   [maxent]\ndocuments = 300\niterations = 25\n\
                   [output]\npath = \"out\"\n";
        Self(Workdir::new().with_job(job))
    }

    fn classifier(&self, out: &str) -> Vec<u8> {
        fs::read(self.path(out).join(CLASSIFIER_FILE)).unwrap()
    }

    /// Returns a complete output to the state before its tables were written.
    fn reopen(&self, out: &str) {
        for name in ["_SUCCESS", "manifest.json"] {
            fs::remove_file(self.path(out).join(name)).unwrap();
        }
    }
}

#[test]
fn workers_and_processes_do_not_show_in_the_classifier() {
    let ground = Ground::new();
    ground.succeed("run job.toml --quiet -w 1 --set output.path=alone");
    let alone = ground.classifier("alone");
    let digest = tables::digest(&ground.path("alone")).unwrap();
    for (number, placement) in ["-w 2", "-w 3", "-w 4", "--processes 2 -w 1"].iter().enumerate() {
        let out = format!("out-{number}");
        let output = format!("--set output.path={out}");
        ground.succeed(&format!("run job.toml --quiet {placement} {output}"));
        assert!(ground.classifier(&out) == alone, "{placement}");
        assert_eq!(tables::digest(&ground.path(&out)).unwrap(), digest, "{placement}");
    }
    let (header, _) = classifier::read(&ground.path("alone").join(CLASSIFIER_FILE)).unwrap();
    assert_eq!((header.topic_count, header.documents), (6, 300));
    assert!(header.term_count > 100 && header.term_count <= header.vocabulary_size);
}

#[test]
fn a_classifier_that_stands_is_read_and_another_jobs_replaced_or_removed() {
    let ground = Ground::new();
    ground.succeed("ingest job.toml --quiet -w 1");
    ground.succeed("train job.toml --quiet -w 1");
    assert!(!ground.path("out").join(CLASSIFIER_FILE).exists());
    ground.succeed("run job.toml --quiet -w 2");
    let path = ground.path("out").join(CLASSIFIER_FILE);
    let first = ground.classifier("out");
    let written = fs::metadata(&path).unwrap().modified().unwrap();

    ground.reopen("out");
    ground.succeed("run job.toml --quiet -w 1");
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);

    ground.reopen("out");
    ground.succeed("run job.toml --quiet -w 1 --set maxent.iterations=3");
    assert_eq!(classifier::read(&path).unwrap().0.iterations, 3);

    let mut broken = first.clone();
    let middle = broken.len() / 2;
    broken[middle] ^= 1;
    fs::write(&path, &broken).unwrap();
    ground.reopen("out");
    let refused = ground.output("run job.toml --quiet -w 1");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(65), "{said}");
    assert!(said.contains(CLASSIFIER_FILE) && said.contains("remove"), "{said}");
    fs::remove_file(&path).unwrap();
    ground.succeed("run job.toml --quiet -w 1");
    assert!(ground.classifier("out") == first);

    ground.reopen("out");
    ground.succeed("run job.toml --quiet -w 1 --set project.method=gibbs");
    assert!(!path.exists());
    assert!(tables::verify(&ground.path("out")).unwrap().is_sound());
}

#[test]
fn memory_is_bounded_and_the_bound_does_not_show_in_the_result() {
    let ground = Ground::new();
    let refused = ground.output("run job.toml --quiet -w 1 --set maxent.memory_mib=0.01");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(65), "{said}");
    assert!(said.contains("maxent.memory_mib"), "{said}");
    assert!(!ground.path("out").join(CLASSIFIER_FILE).exists());
    ground.succeed("run job.toml --quiet -w 1 --set maxent.memory_mib=64.0");
    // Without the bound, the result is that of the same job, so there is nothing to do.
    ground.succeed("run job.toml --quiet -w 1");
}

/// Passes every document with terms to `visit`.
fn documents(root: &Path, mut visit: impl FnMut(u64, Bag<'_>)) {
    let collection = Collection::read(root).unwrap();
    for (number, shard) in collection.shards.iter().enumerate() {
        let path = root.join(Collection::shard_name(number));
        let mut reader = ShardReader::open(&path, Columns::All).unwrap();
        let mut document = ShardDocument::default();
        let mut next = shard.first_document;
        while reader.read_into(&mut document).unwrap() {
            let bag = Bag { terms: &document.terms, counts: &document.counts };
            if document.status.has_terms() {
                visit(next, bag);
            }
            next += 1;
        }
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// A small version of Figure 3 of Yao 2009: cosine with long sampling. The classifier is near;
/// sampling that starts from it is nearer.
#[test]
fn the_classifier_comes_near_to_sampling_and_the_hybrid_nearer() {
    let ground = Ground::new();
    ground.succeed("run job.toml --quiet -w 2");
    let root = ground.path("out");
    assert!(root.join(COLLECTION_FILE).exists());
    let saved = checkpoint::read(&root.join(MODEL_FILE)).unwrap();
    let (_, classifier) = classifier::read(&root.join(CLASSIFIER_FILE)).unwrap();
    let priors = published_priors(&saved.header.priors, saved.header.published_eta.unwrap());
    let factors = Factors::prepare(&saved.parameters(0, 1), &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let long = InferSettings::gibbs(50, 100, Estimator::Soft);
    let short = InferSettings::gibbs(2, 4, Estimator::Soft);
    let (mut gibbs, mut hybrid) = (Gibbs::default(), Hybrid::default());
    let (mut predicted, mut sums, mut count) = (Vec::new(), [0.0; 3], 0.0);
    documents(&root, |number, bag| {
        let mut stream = Stream::keyed(77, Stage::Project, 0, number);
        let reference = gibbs.infer(bag, table, &long, &mut stream).unwrap();
        let nothing = Bag { terms: &[], counts: &[] };
        classifier.predict(nothing, 1.0, &mut predicted);
        sums[0] += cosine(&predicted, reference);
        classifier.predict(bag, 1.0, &mut predicted);
        sums[1] += cosine(&predicted, reference);
        let mixed = hybrid.infer(bag, table, &classifier, &short, &mut stream);
        sums[2] += cosine(mixed.unwrap(), reference);
        count += 1.0;
    });
    let [bias, maxent, hybrid] = sums.map(|sum| sum / count);
    println!("bias {bias:.4}, maxent {maxent:.4}, hybrid {hybrid:.4} on {count} documents");
    assert!(count > 1000.0 && maxent > 0.9 && maxent > bias + 0.1);
    assert!(hybrid > maxent && hybrid > 0.97);
}
