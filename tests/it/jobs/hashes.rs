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
labels ac556bb9dd3edea8 0ef8526408bf3dbb 31e657453afd9f4b 722d3ff090cacad1
library b8339d639368e42f c13aebce9a82bc68 582e06cf9b2f7945 ccf9ffa40aebcad8
newsgroups 947600d7421aed8b 2de407da9b0728e6 9d94ecda2240e202 b3167fe2e4ef5b98
planted 3759ee63e3a67aa6 27902c733ecbdb65 d695bc3b34d3333f 34fa3e28db465bca
quickstart 0f01b6f7ce0686c6 e65181b6350159f4 9a590f215b2b1a10 2a19a391fa92ce62
0 1f14a992302ceb83 78dbdb0b70c2fe36 d63a059e9a92ec5b 9195af590fe39d1f
1 a53922f9293a1470 50447e5e919f11fb c852decb0b36812b 6082fbc99c6a4ebb
2 1f14a992302ceb83 c670f26d8b3e70d4 5a6e8dbfb49fd5c7 5ea976b1315561c9
3 e361e258b5d5a0bb 69f18d46cd17c1d9 191062918cc8aa6d aed007230dd792a9
4 1f14a992302ceb83 925c8f8c797d666f 9499281824cf56a3 08f2e59a6665192d
5 1f14a992302ceb83 78dbdb0b70c2fe36 583a4a9ab84a9ad3 9195af590fe39d1f
6 4e55ec5ba05389ef 26cdaeaf82121709 66a855b833b7688d 9938cabf61c0afea
7 8aec3c38812f897f 02330045ea8ed9ec 41f2f06a2ef3ded0 904d6ec030f99811
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
    assert_eq!(job.corpus_hash()[..16], *"cfccf0e00f4c7673");
}
