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
labels faa2dfacfaed69c2 0411babd0dd21fa2 5da8d19cf934604e d6b14f34e5b73167
library 6c307c8e6d22878a 4ce86bde42bdbfc2 fc75473de12ea628 932cae2443612ff4
newsgroups 7f28f3412da94989 8e8dc1b9318b80a1 b57b7e12ed64fdbf bedf68948f05bd81
planted 3e0501380b677007 07852548dad780b6 1cfddef4dbdbb97b e94e1ab47f59ad72
quickstart dd8858c4f033eb1c d57b767b31337c0d e82c961197533d2f 4300cbcf4731dbb3
0 5b10a24e98aef7b5 a17162d3a5a98047 a648b3542b9d68e9 0237e486fde6f4d9
1 e23be549887a4bf5 9f2b5ade527c1c3a 14653475860eb494 04a6c40ab7c3539e
2 5b10a24e98aef7b5 849bdec9e88a5a7c 4e7410e1285f09cd a4dc0114f3fa11c2
3 21cc2c50c5ba0ef9 5bceacab7fa35359 6a01b698d81bc75b 33e2676b2b0a6b4c
4 5b10a24e98aef7b5 0bfbec6501183587 8c1ec804d9f65a43 c4add4c5a1978fbf
5 5b10a24e98aef7b5 a17162d3a5a98047 4b8bc50ab6f4c6b9 0237e486fde6f4d9
6 915752057e9bf9fa 9ea7fe3b3794f923 868735c8fb3783c9 a2ef29f85adbf678
7 912044c7cc6dc2cf 79509093d110e6b3 0166081aaf1abb7b ea12b0eedcedaace
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
        "corpus.snippets=passage",
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
        "vocabulary.max_distinct=1000000",
    ],
    &[
        "sample.fraction=0.1",
        "sample.held_out=0",
        "sample.seed=7",
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
    assert_eq!(job.corpus_hash()[..16], *"4f705cbca45263fa");
}
