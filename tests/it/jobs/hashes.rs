//! The hashes of jobs, pinned: another one would not let an existing output resume.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use topicmill::job::Job;

use super::shipped;
use super::small::SMALL;

/// The shipped jobs, and each of [`MANY`]: the first digits of the hashes of corpus, training,
/// projection and evaluation.
const PINNED: &str = "\
labels 60c394f00c87f52f 779a74b34aa13212 5de63db2d902ca05 ef827ed617d42c7a
library ccd839bf9a886d5e 4e0534fed7b52527 05f2a96a6941652a 5fb3a696ca392be9
newsgroups aee417b0341c1fd9 b6bbfeaedc5d3396 e68dd515867be4f1 7ae417a01cc21146
planted 090bde590569848b 94c6fcc03ad75e17 27dec4469067bd61 cce2edc1a2dd708b
quickstart d1f40a6b22379076 18077b13a40d624d f4d347fe8ddcaba4 1242dbb67dc16697
0 aefdfa3c421c4ee4 54c397645ebce9fc 0e9d8d72db2e8a72 4773b32207fcb612
1 fd93d797945263be c4c95803ce1f9a95 b3f56b121017fba2 064ac8f76437fafc
2 aefdfa3c421c4ee4 33289f93da4f26c0 d010ccf8797549f2 ef905cb21f26eb67
3 6ac0aa0b3531ed89 026ad3e3158e7a88 01ef224e125b921b 7d929a5a664ae305
4 aefdfa3c421c4ee4 94d12c9ced1b5c87 9976e747d4a3a96f 86dc3fe4ef277e9f
5 aefdfa3c421c4ee4 54c397645ebce9fc c18ee5414502b684 4773b32207fcb612
6 6b3e4676efb7a062 23d19e55791dbf1b 7d054eada515c5ed f85d7da4393baaf7
7 ded40fcca2e33d60 7833e7ea7d576ced 1502dc087e2f6a7f 81d15d396e0ae27b
";

/// Overrides of [`SMALL`]: between them they set every key that a hash covers, in every form.
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
    &[
        "model.alpha_sum=3",
        "train.online_passes=0",
        "project.method=none",
    ],
    &[
        "project.budget=thorough",
        "project.method=hybrid",
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
        "project.budget=fast",
        "project.method=gibbs-joint",
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
        "evaluate.labels=shelf",
        "evaluate.folds=2",
        "evaluate.compare=out/other",
    ],
    &[
        "synth.path=made",
        "synth.topics=3",
        "synth.documents=50",
        "synth.terms=99",
        "synth.mean_length=7",
        "synth.alpha_sum=0.5",
        "synth.zipf=0",
        "synth.seed=4",
        "evaluate.metrics=[]",
        "evaluate.compare=out/other",
        "evaluate.alpha=2",
    ],
];

#[test]
fn outputs_of_earlier_versions_resume() {
    let mut found = String::new();
    let mut add = |name: &str, job: &Job| {
        let hashes = [
            job.corpus_hash(),
            job.train_hash(),
            job.project_hash(),
            job.evaluate_hash("model"),
        ];
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

/// Word lists count by their contents, wherever they are.
#[test]
fn word_lists_keep_their_hashes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("job.toml");
    let lists = "[vocabulary]\nstop_words = [\"en\", \"stop.txt\"]\n\
                 [synth]\npath = \"made\"\nwords = \"words\"\n";
    fs::write(&path, format!("{SMALL}{lists}")).expect("written");
    fs::write(folder.path().join("stop.txt"), "foo\n").expect("written");
    fs::write(folder.path().join("words"), "bar\n").expect("written");
    let job = Job::load(&path, &[]).expect("valid");
    assert_eq!(job.corpus_hash()[..16], *"21aa5258f75b35ee");
}
