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
labels faa2dfacfaed69c2 03b51fd5fc288c3e f93f879104b25f1e 23f5a3d2165183d0
library 6c307c8e6d22878a f163abcf904dc903 cc69750f224fd2fb 992aef7fb0d99368
newsgroups 7f28f3412da94989 f5517165c20bbf4e 155b1814d79e1f04 c0364a8e8f198f0a
planted 3e0501380b677007 a5a8346dae23a505 49f3f3517777785c 0fa98c973b253bd3
quickstart dd8858c4f033eb1c daa8a1762f7f735a 336309a6031d0fe6 44cc75afe2b79590
0 5b10a24e98aef7b5 a7a5ddfbd0d50dc2 45689e1d03cad810 7320c3fb16583627
1 e23be549887a4bf5 d1582d32859cefb9 e4a79041e832f462 3ee6188130cf88f9
2 5b10a24e98aef7b5 1b85d3131ec998ec 550fcfc476d0351b 3ae82904ceb175ce
3 21cc2c50c5ba0ef9 ff3bcb47ee0fd06b f17e20442298f656 604ec7782408c921
4 5b10a24e98aef7b5 6b1caa871cf5bc2d 8847fda429911dd1 36af83f2d6eb24fa
5 5b10a24e98aef7b5 a7a5ddfbd0d50dc2 2103214eed983679 7320c3fb16583627
6 915752057e9bf9fa 85d3f82d4d4bb2fb a8798c5de06c40ab f9569b37e7560d22
7 912044c7cc6dc2cf b2a324c946976068 b3668de1d8310bdf f6beb95c83ebec5a
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
