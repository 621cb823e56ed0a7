//! Pinned hashes of jobs: with a different hash, an existing output could not be resumed.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use topicmill::job::Job;

use super::shipped;
use super::small::SMALL;

/// For the shipped jobs and each of [`MANY`], the first digits of the hashes of corpus, training,
/// projection and evaluation.
const PINNED: &str = "\
labels 453fddbcc61fa729 8da221b08df42182 44fef6c6d0fdd874 ce4b14a130347cbc
library 5e9a040797183a89 25016fa7807cda54 cbee8fc9f3eba03a cfc412cce69c48e0
newsgroups 2a44d8caffea10a1 08e8b03790917ba1 689d8fb10f928e94 87a1bfd778a278df
planted 44c910f287840e8c 89e02271207eafc2 773015be4a39f9d9 3ab4a0fb0036af47
quickstart d47099cfe0912f1f 6854d37354ce052d e2afcc6a80517386 30fc2f8c48b8510b
0 5b8422c65e011b93 6f4361d32ded13f9 c08ddd6468fc1569 1b94620eafd10df2
1 e6cb01970327f198 2697c4ee7c0a2cb7 53ac95f41c20a69c 140a28c9a4d91271
2 5b8422c65e011b93 6a58d142fa9aef1f 6ea0a5c987500d11 e05b59de1690327b
3 22389de3457f27cb 29dae4e01efbdbf6 4f3392e883808dc0 19b5b944655c673b
4 5b8422c65e011b93 e0ac48262368c080 48ed1675d5a67a3d a997ccc74675a233
5 5b8422c65e011b93 6f4361d32ded13f9 f2fe0b0a3007cf4d 1b94620eafd10df2
6 4bc331203eb9fec1 7c6ed8ee6423feb9 a9d805ddfb0c81ff 8be0ccb078fa752b
7 117136f5d2df6107 2f97ca3a1f187d17 75408decf488f99c 5654e9c8dc6e5312
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

/// Word lists are hashed by their contents, not their paths.
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
    assert_eq!(job.corpus_hash()[..16], *"2866bc1c0210a114");
}
