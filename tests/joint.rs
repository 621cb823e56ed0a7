//! Documents sampled together: the sampler against exact posteriors, what is kept up to date
//! against a recount, and whole runs on any number of workers against the plain form.

#![allow(
    clippy::unwrap_used,
    reason = "helpers outside of #[test] functions may fail a test too"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use topicmill::checkpoint;
use topicmill::corpus::ShardDocument;
use topicmill::corpus::collection::Collection;
use topicmill::corpus::sample::{Bags, SampleRule, Split};
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::estimate::Proportions;
use topicmill::infer::Bag;
use topicmill::infer::sampler::Sampler;
use topicmill::infer::settings::{Estimator, Method};
use topicmill::job::Job;
use topicmill::job::state::MODEL_FILE;
use topicmill::math::random::{Stage, Stream};
use topicmill::math::special::{exp, ln_gamma};
use topicmill::model::Priors;
use topicmill::model::factors::{FactorTable, Factors};
use topicmill::model::parameters::Parameters;
use topicmill::model::statistics::Assigned;
use topicmill::tables;
use topicmill::train::joint::{Passes, Setup, Together, sample_together, sampled_with};
use topicmill::train::publish::published;

/// A model that is these counts, by term and then topic.
fn counted(topics: usize, counts: &[Vec<i32>]) -> Parameters {
    let mut parameters = Parameters::new(topics, counts.len(), 0, 1);
    let mut totals = vec![0; topics];
    let mut entries = Vec::new();
    for (term, row) in counts.iter().enumerate() {
        for (topic, &count) in row.iter().enumerate().filter(|&(_, &n)| n > 0) {
            let (term, topic) = (term as u32, topic as u16);
            entries.push(Assigned { term, topic, count }.word());
            totals[usize::from(topic)] += i64::from(count);
        }
    }
    parameters.replace(&entries);
    parameters.replace_totals(&totals);
    parameters
}

fn priors(topics: usize, eta: f64) -> Priors {
    Priors {
        alpha: (0..topics).map(|k| 0.4 + 0.1 * (k % 3) as f64).collect(),
        eta,
        exp_psi: false,
    }
}

/// `bags` sampled together with `fixed` counts, from the model of these counts.
fn together(bags: &Bags, fixed: &Parameters, priors: &Priors, passes: Passes) -> Together {
    let setup = Setup {
        trained: fixed,
        published: priors,
        fixed: Some(fixed),
        priors,
        passes,
    };
    sample_together(bags, &setup).unwrap()
}

fn passes(burn_in: u64, kept: u64, rounds: u64, seed: u64) -> Passes {
    Passes {
        burn_in,
        kept,
        rounds,
        estimator: Estimator::Counts,
        seed,
    }
}

/// All topics of `tokens` tokens, the last token's fastest.
fn configurations(topics: usize, tokens: usize) -> Vec<Vec<usize>> {
    let digits = |mut rest: usize| {
        let mut all = vec![0; tokens];
        for place in all.iter_mut().rev() {
            *place = rest % topics;
            rest /= topics;
        }
        all
    };
    (0..topics.pow(tokens as u32)).map(digits).collect()
}

fn index_of(topics: usize, assignments: impl Iterator<Item = u16>) -> usize {
    assignments.fold(0, |index, k| index * topics + usize::from(k))
}

fn normalised(masses: Vec<f64>) -> Vec<f64> {
    let whole: f64 = masses.iter().sum();
    masses.into_iter().map(|mass| mass / whole).collect()
}

/// Π_k Γ(α_k + n_k) / Γ(α_k) of one document's topics.
fn document_mass(alpha: &[f64], own: &[usize]) -> f64 {
    let log = |k: usize| {
        let n = own.iter().filter(|&&z| z == k).count() as f64;
        ln_gamma(alpha[k] + n) - ln_gamma(alpha[k])
    };
    exp((0..alpha.len()).map(log).sum())
}

/// (χ² − degrees of freedom) / its standard deviation; cells expecting fewer than 8 are pooled.
fn chi_square_z(expected: &[f64], seen: &[u64]) -> f64 {
    let draws: u64 = seen.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0.0);
    let mut pooled = (0.0, 0.0);
    for (p, &n) in expected.iter().zip(seen) {
        let e = p * draws as f64;
        if e < 8.0 {
            pooled = (pooled.0 + e, pooled.1 + n as f64);
        } else {
            statistic += (n as f64 - e).powi(2) / e;
            cells += 1.0;
        }
    }
    if pooled.0 >= 8.0 {
        statistic += (pooled.1 - pooled.0).powi(2) / pooled.0;
        cells += 1.0;
    }
    let freedom: f64 = cells - 1.0;
    assert!(freedom >= 5.0, "a test that cannot fail");
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

/// One new document moves a model of many tokens by next to nothing: Gibbs2 is Gibbs3.
#[test]
fn one_document_against_a_large_model_has_the_posterior_of_a_document_alone() {
    let topics = 4;
    let row = |w: usize| (0..topics).map(move |k| 20_000 * (1 + (7 * k + 3 * w) as i32 % 5));
    let counts: Vec<Vec<i32>> = (0..4).map(|w| row(w).collect()).collect();
    let (fixed, priors) = (counted(topics, &counts), priors(topics, 0.1));
    let mut bags = Bags::default();
    bags.push(5, &[0, 1, 3], &[1, 1, 1]);
    let factors = Factors::prepare(&fixed, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let rows = [3, 1, 0].map(|w| table.all(table.find(w).unwrap()));
    let mass = |own: &Vec<usize>| {
        let words: f64 = own.iter().zip(&rows).map(|(&k, row)| row[k]).product();
        document_mass(&priors.alpha, own) * words
    };
    let expected = normalised(configurations(topics, 3).iter().map(mass).collect());
    let mut seen = vec![0; expected.len()];
    for seed in 0..30_000 {
        let sampled = together(&bags, &fixed, &priors, passes(4, 1, 1, seed));
        seen[index_of(topics, sampled.assignments[0].iter().copied())] += 1;
    }
    let z = chi_square_z(&expected, &seen);
    assert!(z.abs() < 4.0, "χ² is {z} deviations off");
}

/// Two documents of the same terms, each in a round of its own, against
/// p(z_1, z_2 | w) ∝ Π_d Π_k Γ(α_k + n_dk) Π_k Π_w Γ(η + ñ_kw + n_kw) / Γ(Vη + ñ_k + n_k).
/// Topics are large, for a token's own count stands in n_k.
#[test]
fn two_documents_have_their_joint_posterior() {
    let topics = 3;
    let counts = [vec![2, 0, 0], vec![0, 1, 0], vec![100_000; 3]];
    let (fixed, priors) = (counted(topics, &counts), priors(topics, 0.3));
    let mut bags = Bags::default();
    bags.push(0, &[0, 1], &[1, 1]);
    bags.push(1, &[0, 1], &[1, 1]);
    // Tokens stand in the order of assignments: terms 1, 0 and 1, 0.
    let words = [1, 0, 1, 0];
    let documents =
        |z: &[usize]| document_mass(&priors.alpha, &z[..2]) * document_mass(&priors.alpha, &z[2..]);
    let joint = |z: &Vec<usize>| {
        let mut log = 0.0;
        for k in 0..topics {
            let of = |w: usize| (0..4).filter(|&i| z[i] == k && words[i] == w).count() as f64;
            let mut whole = 3.0 * priors.eta;
            for (w, row) in counts.iter().enumerate() {
                let before = priors.eta + f64::from(row[k]);
                log += ln_gamma(before + of(w)) - ln_gamma(before);
                whole += f64::from(row[k]);
            }
            let n = z.iter().filter(|&&topic| topic == k).count() as f64;
            log -= ln_gamma(whole + n) - ln_gamma(whole);
        }
        documents(z) * exp(log)
    };
    let alone = |z: &Vec<usize>| {
        let factor = |i: usize| priors.eta + f64::from(counts[words[i]][z[i]]);
        documents(z) * (0..4).map(factor).product::<f64>()
    };
    let all = configurations(topics, 4);
    let mut seen = vec![0; all.len()];
    let apart = |seed: &u64| {
        let passes = passes(9, 1, 4, *seed);
        (0..passes.count()).all(|pass| {
            let rounds = passes.deal(pass, [0, 1].into_iter());
            rounds.iter().all(|round| round.len() < 2)
        })
    };
    for seed in (0..).filter(apart).take(15_000) {
        let sampled = together(&bags, &fixed, &priors, passes(9, 1, 4, seed));
        seen[index_of(topics, sampled.assignments.concat().into_iter())] += 1;
    }
    let z = chi_square_z(&normalised(all.iter().map(joint).collect()), &seen);
    assert!(z.abs() < 4.0, "χ² is {z} deviations off");
    let z = chi_square_z(&normalised(all.iter().map(alone).collect()), &seen);
    assert!(z > 20.0, "documents do not see each other: {z}");
}

/// Documents of two kinds of words, and a model that knows little of them.
fn small_corpus(documents: u64) -> (Bags, Parameters) {
    let terms = 30;
    let mut bags = Bags::default();
    for document in 0..documents {
        let mut stream = Stream::keyed(4, Stage::Synth, 3, document);
        let mut counts = BTreeMap::new();
        for _ in 0..12 {
            let kind = u64::from(stream.uniform() < 0.3) ^ (document % 2);
            *counts
                .entry(kind as u32 * 15 + stream.below(15) as u32)
                .or_insert(0) += 1;
        }
        let (own, counts): (Vec<u32>, Vec<u32>) = counts.into_iter().unzip();
        bags.push(document, &own, &counts);
    }
    let row = |w: usize| vec![i32::from(w < 15) * 3, i32::from(w >= 15) * 3, 1];
    let counts: Vec<Vec<i32>> = (0..terms).map(row).collect();
    (bags, counted(3, &counts))
}

/// Two hundred passes of adding and taking away: counts are what a recount gives, with and without
/// counts that stay.
#[test]
fn counts_do_not_drift() {
    let (bags, trained) = small_corpus(40);
    let priors = priors(3, 0.1);
    for fixed in [Some(&trained), None] {
        let setup = Setup {
            trained: &trained,
            published: &priors,
            fixed,
            priors: &priors,
            passes: passes(150, 50, 3, 8),
        };
        let sampled = sample_together(&bags, &setup).unwrap();
        let mut recount = vec![vec![0; 3]; 30];
        for (index, own) in sampled.assignments.iter().enumerate() {
            let (terms, counts) = bags.bag(index);
            let mut rest = own.iter();
            for (&term, &count) in terms.iter().zip(counts).rev() {
                for &topic in rest.by_ref().take(count as usize) {
                    recount[term as usize][usize::from(topic)] += 1;
                }
            }
            assert_eq!(rest.len(), 0);
            assert_eq!(own.len(), 12, "every token has one topic");
        }
        assert_eq!(sampled.counts, counted(3, &recount));
    }
}

/// Θ of all documents.
fn proportions(bags: &Bags, sampled: &Together, alpha: &[f64]) -> Vec<f32> {
    let mut all = Vec::new();
    for (index, sums) in sampled.sums.iter().enumerate() {
        let tokens = bags.bag(index).1.iter().sum::<u32>() as usize;
        let mut own = Vec::new();
        sums.proportions(tokens, alpha, &mut own);
        assert!((own.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{own:?}");
        all.extend(own);
    }
    all
}

/// Both estimators have the same mean, and after few passes the soft one is nearer to it.
#[test]
fn soft_and_plain_counts_agree_in_the_long_run() {
    let (bags, trained) = small_corpus(40);
    let priors = priors(3, 0.1);
    let theta = |estimator, kept| {
        let passes = Passes {
            estimator,
            ..passes(20, kept, 2, 6)
        };
        let sampled = together(&bags, &trained, &priors, passes);
        proportions(&bags, &sampled, &priors.alpha)
    };
    let (soft, plain) = (theta(Estimator::Soft, 3000), theta(Estimator::Counts, 3000));
    for (a, b) in soft.iter().zip(&plain) {
        assert!((a - b).abs() < 0.015, "{a} {b}");
    }
    let error = |estimator| {
        let few = theta(estimator, 2);
        let squares = few.iter().zip(&soft).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f32>()
    };
    let (soft, plain) = (error(Estimator::Soft), error(Estimator::Counts));
    assert!(soft < 0.8 * plain, "{soft} {plain}");
}

/// The soft estimate of a document that counts in the model, token by token: the mass of topic k is
/// (α_k + n_dk) e_kw without the token's own counts, in n_dk and in e_kw.
fn check_soft_counts(topics: usize, is_dense: bool) {
    let row =
        |w: usize| (0..topics).map(move |k| ((k * 5 + w * 3) % 7) as i32 / 2 + i32::from(is_dense));
    let mut counts: Vec<Vec<i32>> = (0..3).map(|w| row(w).collect()).collect();
    let priors = priors(topics, 0.05);
    let (terms, tokens) = ([0u32, 2], [4u32, 3]);
    let bag = Bag {
        terms: &terms,
        counts: &tokens,
    };
    // As assignments stand: three of term 2, then four of term 0.
    let remembered = [1u16, 1, 2, 2, 0, 1, 2];
    let words = [2, 2, 2, 0, 0, 0, 0];
    for (&w, &k) in words.iter().zip(&remembered) {
        counts[w][usize::from(k)] += 1;
    }
    let whole = counted(topics, &counts);
    let factors = Factors::prepare(&whole, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let mut expected = vec![0.0; topics];
    for (&w, &z) in words.iter().zip(&remembered) {
        let row = table.find(w as u32).unwrap();
        assert_eq!(table.dense(row).is_some(), is_dense);
        let e = table.all(row);
        let mass = |k: usize| {
            let own = f64::from(u8::from(usize::from(z) == k));
            let n = remembered.iter().filter(|&&z| usize::from(z) == k).count() as f64;
            let unit = f64::from(table.smoothing().unit[k]);
            (priors.alpha[k] + n - own) * (e[k] - own * unit)
        };
        let masses: Vec<f64> = (0..topics).map(mass).collect();
        for (sum, p) in expected.iter_mut().zip(normalised(masses)) {
            *sum += p;
        }
    }
    let (mut sampler, mut estimate) = (Sampler::default(), Proportions::default());
    sampler.resume(bag, table, &remembered);
    let sample = sampler.sample();
    estimate.start_counted(topics);
    estimate.begin_sample();
    sampler.for_each_term(|index, row, own| estimate.add_term(index, row, own, sample, table));
    estimate.end_sample(sample, table);
    let mut proportions = Vec::new();
    estimate.finish(sampler.token_count(), table, &mut proportions);
    let whole = 7.0 + priors.alpha_sum();
    for (k, &share) in proportions.iter().enumerate() {
        let soft = f64::from(share) * whole - priors.alpha[k];
        assert!(
            (soft - expected[k]).abs() < 1e-5,
            "{k}: {soft}, {expected:?}"
        );
    }
}

#[test]
fn soft_counts_leave_out_a_tokens_own_count() {
    check_soft_counts(5, false);
    check_soft_counts(20, true);
}

const JOB: &str = "[synth]\npath = \"planted\"\ntopics = 5\ndocuments = 1500\nterms = 300\n\
    mean_length = 25\n\
    [corpus]\nblock_mib = 0.1\n\
    [vocabulary]\nstop_words = \"none\"\n\
    [sample]\nfraction = 0.5\nheld_out = 0.1\n\
    [model]\ntopics = 6\nseed = 5\n\
    [train]\nminibatch = 128\npasses = 1\nrefine = 4\nrefine_rounds = 2\n\
    [project]\nburn_in = 2\nsweeps = 3\nthreshold = 0.0\ntopic_documents = 5\n\
    [output]\npath = \"out\"\n";

fn run(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_topicmill"));
    command
        .current_dir(folder)
        .args(["run", "job.toml", "--quiet"]);
    command.args(arguments);
    command
}

fn digest(folder: &Path, out: &str) -> String {
    let root = folder.join(out);
    let report = tables::verify(&root).unwrap();
    assert!(report.is_sound(), "{out}: {:?}", report.problems);
    tables::digest(&root).unwrap()
}

/// The documents that a method samples together, read off a result.
fn documents_of(root: &Path, job: &Job, method: Method) -> Bags {
    let collection = Collection::read(root).unwrap();
    let rule = SampleRule::new(&job.sample, job.model.seed, 0);
    let mut bags = Bags::default();
    for (number, shard) in collection.shards.iter().enumerate() {
        let path = root.join(Collection::shard_name(number));
        let mut reader = ShardReader::open(&path, Columns::Counts).unwrap();
        let mut document = ShardDocument::default();
        let mut next = shard.first_document;
        while reader.read_into(&mut document).unwrap() {
            let is_new = rule.split(next) != Split::Sample;
            if document.status.has_terms() && (is_new || method == Method::Retrain) {
                bags.push(next, &document.terms, &document.counts);
            }
            next += 1;
        }
    }
    assert!(collection.shards.len() > 2, "work for several processes");
    bags
}

/// What the plain form makes of a result's model and documents must be what its tables say.
fn check_against_plain(folder: &Path, out: &str, method: Method) {
    let root = folder.join(out);
    let job = Job::parse(JOB, &folder.join("job.toml"), &[]).unwrap();
    let bags = documents_of(&root, &job, method);
    let saved = checkpoint::read(&root.join(MODEL_FILE)).unwrap();
    let (trained, learnt) = (saved.parameters(0, 1), &saved.header.priors);
    let eta = saved.header.published_eta.unwrap();
    let infer = job.project.infer.as_ref().unwrap();
    let setup = Setup {
        trained: &trained,
        published: &published(learnt, eta),
        fixed: (method == Method::GibbsJoint).then_some(&trained),
        priors: &sampled_with(method, learnt, eta),
        passes: Passes::new(infer, job.train.refine_rounds, job.model.seed),
    };
    let sampled = sample_together(&bags, &setup).unwrap();
    let rows = tables::read::head(&root.join("document_topics"), usize::MAX).unwrap();
    assert_eq!(rows.columns[..3], ["doc_id", "topic", "weight"]);
    let mut written = BTreeMap::new();
    for row in &rows.rows {
        let key: (u64, usize) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        written.insert(key, row[2].parse::<f32>().unwrap());
    }
    let mut theta = Vec::new();
    for (index, sums) in sampled.sums.iter().enumerate() {
        let tokens = bags.bag(index).1.iter().sum::<u32>() as usize;
        sums.proportions(tokens, &learnt.alpha, &mut theta);
        for (topic, weight) in theta.iter().enumerate() {
            let found = written.get(&(bags.document(index), topic));
            assert_eq!(found, Some(weight), "document {index}, topic {topic}");
        }
    }
}

const PLACEMENTS: [&[&str]; 5] = [
    &["-w", "1"],
    &["-w", "2"],
    &["-w", "3"],
    &["-w", "4"],
    &["--processes", "2", "-w", "2"],
];

fn check_runs(name: &str, method: Method) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("job.toml"), JOB).unwrap();
    let method_set = format!("project.method={name}");
    let mut digests = Vec::new();
    for (number, placement) in PLACEMENTS.iter().enumerate() {
        let path = format!("output.path=out-{number}");
        let sets = ["--set", &method_set, "--set", &path];
        let output = run(folder.path(), &[&sets, *placement].concat());
        let output = { output }.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{placement:?}: {said}");
        digests.push(digest(folder.path(), &format!("out-{number}")));
    }
    assert!(digests.iter().all(|d| *d == digests[0]), "{digests:?}");
    check_against_plain(folder.path(), "out-0", method);
    check_against_plain(folder.path(), "out-4", method);
}

#[test]
fn new_documents_together_are_the_same_on_any_number_of_workers() {
    check_runs("gibbs-joint", Method::GibbsJoint);
}

#[test]
fn all_documents_together_are_the_same_on_any_number_of_workers() {
    check_runs("retrain", Method::Retrain);
}

/// Killed when the first parts stand, a run samples again and ends in the same bytes.
#[test]
fn a_run_that_was_killed_ends_in_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("job.toml"), JOB).unwrap();
    let arguments = |out: &'static str, workers: &'static str| {
        let sets = ["--set", "project.method=gibbs-joint", "--set", out];
        [&sets[..], &["-w", workers]].concat()
    };
    let finish = |arguments: &[&str]| {
        let status = run(folder.path(), arguments).status().unwrap();
        assert!(status.success());
    };
    finish(&arguments("output.path=undisturbed", "2"));
    let mut child = run(folder.path(), &arguments("output.path=killed", "1"));
    let mut child = child.stderr(Stdio::null()).spawn().unwrap();
    let parts = folder.path().join("killed/document_topics");
    let since = Instant::now();
    while std::fs::read_dir(&parts).map_or(0, Iterator::count) == 0 {
        assert!(since.elapsed() < Duration::from_secs(120), "no part");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    finish(&arguments("output.path=killed", "3"));
    let path = folder.path();
    assert_eq!(digest(path, "killed"), digest(path, "undisturbed"));
}
