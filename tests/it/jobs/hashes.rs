//! Pinned hashes of jobs: with a different hash, an existing output could not be resumed.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use topicmill::config::Job;

use super::shipped;
use super::small::SMALL;

/// For the shipped jobs and each of [`MANY`], the first digits of the hashes of corpus, training,
/// projection and evaluation.
const PINNED: &str = "\
labels ac95e659dc141099 15401404d347a78a 00f747ec499879d6 c21dbfd1e4513b31
library c49210fdc2ffd0b7 9b3530482cb2e329 dcfe0aea056482ac aba44295180803d8
newsgroups e494318c89653781 7e361d98c4aabd93 e70b56ce928ce839 2b49d03eb3df5de9
planted 5e7b65d1a4bb49e6 38ebbc982300dac1 7e2d4c20c2fa32a1 5ca89b03ef777b35
quickstart 8351f1681d5372bd 22249baba529ef83 136b1137f5ee131a 11d427519d14bd43
0 8169fb7a914ce039 83928f443fa3aa72 2d1bc845d51c0887 98358bafca38908e
1 01d49f8ebb768280 ce573a5bb88bcf7d 9e1d6f65857be4df 00d6352cbcab689d
2 8169fb7a914ce039 53921c39e4dd3e8c b7661ae92242f098 7e130467f16cb706
3 4fca235267771691 fb04f48fbb35cd1c 461d472ebade10a9 0f63dcb9cdb183fb
4 8169fb7a914ce039 b552508957eca76f a6efad5161afee73 c6b9a25894be8206
5 8169fb7a914ce039 83928f443fa3aa72 52bfed5f4cd0b45e 98358bafca38908e
6 256e387c3693cf4f 62ef12c08a83e5aa 27d38b02cbaf5c87 d02ba0cb37a1325c
7 53c394bad55ceac4 37184e7cff17ef5c bc71c087fef90031 5d77022930b8e1ab
";

/// Overrides of [`SMALL`] that together set every key that a hash covers, in every form.
const MANY: [&[&str]; 8] = [
    &[],
    &[
        "corpus.base=elsewhere",
        "corpus.input=[\"a/**\", \"b.csv\"]",
        "corpus.exclude=*.bak",
        "corpus.format=csv",
        "corpus.id=007",
        "corpus.text=[\"title\", \"body\"]",
        "corpus.group=volume",
        "corpus.metadata=[\"it's\", 'a \"b\"', \"tab\\t\"]",
        "corpus.boilerplate=keep",
        "corpus.section_words=1000",
        "corpus.duplicates=once",
        "corpus.duplicate_similarity=0.9",
        "corpus.block_mib=0.3",
        "corpus.max_document_mib=1.7",
        "corpus.on_damage=keep",
        "tokens.rule=letters",
        "tokens.lower_case=false",
        "tokens.min_length=50",
        "tokens.numbers=true",
        "tokens.identifiers=true",
        "vocabulary.stop_words=[\"de\", \"rust\"]",
        "vocabulary.stop_top=7",
        "vocabulary.min_documents=2",
        "vocabulary.max_share=1",
        "vocabulary.max_terms=1000",
    ],
    &[
        "sample.fraction=0.1",
        "sample.held_out=0",
        "model.topics=2",
        "model.seed=9223372036854775807",
        "model.alpha=[0.1, 2]",
        "model.eta=1",
        "model.published_eta=0.01",
        "train.minibatch=512",
        "train.passes=30",
        "train.memory=on",
        "train.memory_mib=0.1",
        "train.online_passes=2",
        "train.burn_in=0",
        "train.sweeps=2",
        "train.step_offset=1",
        "train.step_decay=1",
        "train.prune=0",
        "train.max_document_tokens=5000",
        "train.alpha_after=0",
        "train.alpha_every=4",
        "train.average_every=0",
        "train.sample_mib=1.5",
        "train.evaluate_every=3",
        "train.patience=0",
        "train.tolerance=0",
        "train.checkpoint_every=0",
        "train.checkpoint_minutes=0",
    ],
    &[
        "vocabulary.stop_words=none",
        "sample.documents=77",
        "model.alpha=0.25",
        "model.geometry=exp-psi",
        "train.memory=off",
    ],
    &["model.alpha_sum=3", "train.online_passes=0", "project.method=none"],
    &[
        "project.method=hybrid",
        "project.burn_in=10",
        "project.sweeps=90",
        "project.chains=3",
        "project.estimator=counts",
        "project.tolerance=0",
        "project.temperature=2",
        "project.threshold=0",
        "project.top=5",
        "project.topic_documents=0",
        "project.top_terms=9",
        "maxent.documents=100",
        "maxent.prior_variance=2",
        "maxent.iterations=5",
        "maxent.memory_mib=1",
    ],
    &[
        "corpus.group=shelf",
        "project.method=gibbs-joint",
        "project.burn_in=10",
        "project.iterations=2",
        "project.sweeps=7",
        "evaluate.metrics=[\"npmi\", \"left-to-right\"]",
        "evaluate.split=all",
        "evaluate.documents=10",
        "evaluate.particles=3",
        "evaluate.resample=true",
        "evaluate.completion_sweeps=4",
        "evaluate.alpha=[1, 0.5]",
        "evaluate.coherence_terms=64",
        "evaluate.reference=other.txt",
    ],
    &[
        "synth.path=made",
        "synth.topics=3",
        "synth.documents=50",
        "synth.terms=99",
        "synth.mean_length=7",
        "synth.alpha_sum=0.5",
        "synth.seed=4",
        "evaluate.metrics=[\"umass\"]",
        "evaluate.alpha=2",
    ],
];

#[test]
fn hashes_are_the_pinned_ones() {
    let mut found = String::new();
    let mut add = |name: &str, job: &Job| {
        let hashes =
            [job.corpus_hash(), job.train_hash(), job.project_hash(), job.evaluate_hash("model")];
        let short = hashes.map(|hash| hash[..16].to_owned()).join(" ");
        writeln!(found, "{name} {short}").expect("written");
    };
    for path in shipped() {
        let name = path.file_stem().expect("a name").to_string_lossy();
        add(&name, &Job::load(&path, &[]).expect("valid"));
    }
    for (number, sets) in MANY.iter().enumerate() {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let job = Job::parse(SMALL, Path::new("jobs/small.toml"), &sets);
        add(&number.to_string(), &job.expect("valid"));
    }
    assert_eq!(found, PINNED);
}

/// Word lists are hashed by their contents, not their paths.
#[test]
fn word_lists_keep_their_hashes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("job.toml");
    let lists = "[vocabulary]\nstop_words = [\"en\", \"stop.txt\"]\n";
    fs::write(&path, format!("{SMALL}{lists}")).expect("written");
    fs::write(folder.path().join("stop.txt"), "foo\n").expect("written");
    let job = Job::load(&path, &[]).expect("valid");
    assert_eq!(job.corpus_hash()[..16], *"274c6946efd5cc04");
}
