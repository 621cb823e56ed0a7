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
labels 4c1d23959f68f1f1 b3090a7abf32219c b97abdff85d7c4ba 0ed7b03f8b4c7b13
library 408667e8fe2227a4 63ec233ceb7304f4 1ee702ccf74e1c18 2dff9ea346959ed2
newsgroups 2a44d8caffea10a1 08e8b03790917ba1 689d8fb10f928e94 2f3babadc2af3dc9
planted 4b2d399a7eda9e87 2228d9e0c3857c74 3fb93f6c2aedd820 065f9707bcb69a98
quickstart aa5b4fefefb2dfa1 efcad53565f8d760 3d1b3d592b450829 b8802ca852cb694d
0 739ff2b26d37f6df eec616c4d8270870 b9f5801002e51390 0aecafe05ca5939b
1 e6cb01970327f198 2697c4ee7c0a2cb7 53ac95f41c20a69c b71b07b2f74614da
2 739ff2b26d37f6df 19d16ba54defd599 55976bce77e3c4e6 5e7eb80c48c8add8
3 ff8edec347cb8604 2ee38730ced166c6 aebed44f7496bf88 6391295cdd3205a4
4 739ff2b26d37f6df 67946cf9072e8e7a ff58ed024f34a5b3 a5d3bbe0afe0b801
5 739ff2b26d37f6df eec616c4d8270870 ee5172d1f0e48a58 0aecafe05ca5939b
6 5079e85000c314aa 3c71e708ee6b67d3 94251e012c82dc36 b9721489cfdc61b2
7 f6759703f80a58c0 bb693781156c9fc1 9086344d2c85fe30 40ad187dfc9a5e12
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
    assert_eq!(job.corpus_hash()[..16], *"b4cca5949732a259");
}
