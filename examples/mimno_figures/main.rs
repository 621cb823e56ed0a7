//! Figures 1, 2 and 4 of Mimno, Hoffman & Blei 2012, redone on any UCI bag of words; docs/EXPERIMENTS.md
//! says what they show.
//!
//!     cargo run --release --example mimno_figures -- FIGURE FOLDER [KEY=VALUE,…]…
//!
//! FIGURE is 1, 2 or 4; FOLDER holds docword*.txt and vocab*.txt, unpacked. Keys: topics, sweeps,
//! passes (lists), offset (t_0), seed. Writes CSV to standard output. One thread.

#![allow(clippy::print_stdout, reason = "a program, not the library")]

#[path = "../common/corpus.rs"]
mod corpus;
mod learner;
mod score;

use std::error::Error;
use std::path::Path;

use corpus::Corpus;
use lda::bags::Bags;
use lda::math::random::{Stage, hash_unit};
use lda::model::Priors;
use lda::train::TrainError;
use lda::train::minibatches;
use lda::train::schedule::{Position, Schedule};
use lda::train::settings::{Memory, TrainSettings};
use learner::{Learner, OnlineVb, Round, Sampled, Spent};
use score::Score;

/// Documents in a minibatch; as in the paper.
const MINIBATCH: usize = 100;
/// α of every topic; as in the paper.
const ALPHA: f64 = 0.1;
/// η of the exp Ψ geometry; as in the paper.
const ETA: f64 = 0.4;
/// κ; as in the paper.
const STEP_DECAY: f64 = 0.6;
/// λ̃ below this are dropped now and then; the program's default.
const PRUNE: f64 = 0.4;
/// Minibatches before time is taken in Figure 1: sampled models have become sparse by then.
const WARM_UP: u64 = 100;
/// Most minibatches that are timed, and most seconds.
const TIMED: u64 = 20;
const TIMED_SECONDS: f64 = 2.0;
/// Figure 4: the shares of the corpus.
const SHARES: [f64; 4] = [1.0, 0.5, 0.25, 0.125];
/// Figure 4: t_0 in minibatches of the whole corpus. The paper's run from 1 to 86.
const OFFSETS: [f64; 5] = [0.3, 1.0, 5.0, 20.0, 86.0];

/// What the lines of a figure are.
#[derive(Clone, Copy, PartialEq)]
enum Method {
    OnlineVb,
    SampledExpPsi,
    SampledMean,
}

const METHODS: [Method; 3] = [Method::OnlineVb, Method::SampledExpPsi, Method::SampledMean];

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::OnlineVb => "online_vb",
            Self::SampledExpPsi => "sampled_exp_psi",
            Self::SampledMean => "sampled_mean",
        }
    }

    /// The paper's priors; of the mean geometry the program's own η.
    fn priors(self, topics: usize, corpus: &Corpus) -> Priors {
        let cells = (topics * corpus.vocabulary_size) as f64;
        let rule = 0.05 * (corpus.train.token_count() as f64 / cells).sqrt();
        let exp_psi = self != Self::SampledMean;
        Priors {
            alpha: vec![ALPHA; topics],
            eta: if exp_psi { ETA } else { rule.clamp(0.005, 0.5) },
            exp_psi,
        }
    }

    /// A learner whose local step takes `sweeps` sweeps or iterations: of sampling a sequential
    /// first one, and half of the others, rounded down, thrown away.
    fn learner(self, priors: Priors, v: usize, sweeps: u32, seed: u64) -> Box<dyn Learner> {
        match self {
            Self::OnlineVb => Box::new(OnlineVb::new(priors, v, sweeps, seed)),
            _ => Box::new(Sampled::new(priors, v, settings(sweeps, 0.0), seed)),
        }
    }
}

fn settings(sweeps: u32, step_offset: f64) -> TrainSettings {
    let others = sweeps.max(2) - 1;
    TrainSettings {
        minibatch: Some(MINIBATCH),
        passes: Some(u32::MAX),
        memory: Memory::Off,
        burn_in_sweeps: others / 2,
        kept_sweeps: others - others / 2,
        step_offset,
        step_decay: STEP_DECAY,
        prune: PRUNE,
        ..TrainSettings::default()
    }
}

/// Hands minibatches to a learner, pass after pass.
struct Rounds<'a> {
    documents: &'a Bags,
    schedule: Schedule,
    position: Option<Position>,
    dealt: Vec<Vec<u32>>,
}

impl<'a> Rounds<'a> {
    fn new(documents: &'a Bags, step_offset: f64, seed: u64) -> Self {
        // A step is asked for the weight D / |B|: of one kept sweep.
        let settings = TrainSettings {
            kept_sweeps: 1,
            ..settings(2, step_offset)
        };
        let schedule = Schedule::new(&settings, documents.len() as u64, documents.token_count());
        let numbers = (0..documents.len()).map(|i| documents.document(i));
        let places: Vec<u64> = numbers.map(|d| minibatches::place(seed, d)).collect();
        Self {
            documents,
            position: schedule.start(),
            dealt: minibatches::deal(settings.schedule, schedule.minibatch_count, &places),
            schedule,
        }
    }

    fn per_pass(&self) -> u64 {
        self.schedule.minibatch_count
    }

    /// Takes `count` rounds, unless they take longer than `seconds`; returns how many, and the time.
    fn take(
        &mut self,
        learner: &mut dyn Learner,
        count: u64,
        seconds: f64,
    ) -> Result<(u64, Spent), TrainError> {
        let (mut taken, mut spent) = (0, Spent::default());
        while let Some(position) = self.position
            && taken < count
            && spent.total() < seconds
        {
            let minibatch = &self.dealt[position.taken as usize % self.dealt.len()];
            self.position = self.schedule.next(position, false);
            taken += 1;
            if minibatch.is_empty() {
                continue;
            }
            spent.add(learner.learn(Round {
                number: position.round,
                documents: self.documents,
                minibatch,
                step: self.schedule.step(position, minibatch.len() as u64),
            })?);
        }
        Ok((taken, spent))
    }
}

/// What the command line asks for.
struct Options {
    topics: Vec<f64>,
    sweeps: Vec<f64>,
    passes: Vec<f64>,
    offset: f64,
    seed: u64,
}

impl Options {
    fn parse(figure: &str, arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        let topics = match figure {
            "1" => vec![100.0, 200.0, 500.0, 1000.0, 2000.0],
            _ => vec![100.0],
        };
        let mut options = Self {
            topics,
            sweeps: vec![5.0],
            passes: vec![1.0, 5.0],
            offset: 10.0,
            seed: 1,
        };
        for argument in arguments {
            let (key, values) = argument.split_once('=').ok_or("KEY=VALUE,… is wanted")?;
            let values: Vec<f64> = values
                .split(',')
                .map(str::parse)
                .collect::<Result<_, _>>()?;
            match key {
                "topics" => options.topics = values,
                "sweeps" => options.sweeps = values,
                "passes" => options.passes = values,
                "offset" => options.offset = values[0],
                "seed" => options.seed = values[0] as u64,
                _ => return Err(format!("no such key: {key}").into()),
            }
        }
        options.passes.sort_by(f64::total_cmp);
        Ok(options)
    }
}

/// Seconds of a minibatch against K.
fn figure_1(corpus: &Corpus, options: &Options) -> Result<(), TrainError> {
    println!("method,topics,sweeps,minibatches,seconds,factors,local,global,nonzero_share");
    for (&sweeps, &topics) in pairs(&options.sweeps, &options.topics) {
        for method in METHODS {
            let priors = method.priors(topics as usize, corpus);
            let v = corpus.vocabulary_size;
            let mut learner = method.learner(priors, v, sweeps as u32, options.seed);
            let mut rounds = Rounds::new(&corpus.train, options.offset, options.seed);
            // What dense inference takes does not depend on what it has learnt.
            let warm_up = if method == Method::OnlineVb {
                1
            } else {
                WARM_UP
            };
            rounds.take(&mut *learner, warm_up, f64::INFINITY)?;
            let (count, spent) = rounds.take(&mut *learner, TIMED, TIMED_SECONDS)?;
            let each = |seconds: f64| seconds / count as f64;
            let nonzero = learner.parameters().nonzero_count() as f64;
            println!(
                "{},{topics},{sweeps},{count},{:.5},{:.5},{:.5},{:.5},{:.4}",
                method.name(),
                each(spent.total()),
                each(spent.factors),
                each(spent.local),
                each(spent.global),
                nonzero / (topics * v as f64)
            );
        }
    }
    Ok(())
}

/// Quality after a number of passes, against K and sweeps.
fn figure_2(corpus: &Corpus, options: &Options) -> Result<(), TrainError> {
    println!("method,topics,sweeps,passes,seconds,{}", score::COLUMNS);
    for (&sweeps, &topics) in pairs(&options.sweeps, &options.topics) {
        for method in METHODS {
            let priors = method.priors(topics as usize, corpus);
            let v = corpus.vocabulary_size;
            let mut learner = method.learner(priors.clone(), v, sweeps as u32, options.seed);
            let mut rounds = Rounds::new(&corpus.train, options.offset, options.seed);
            let (mut taken, mut seconds) = (0, 0.0);
            for &passes in &options.passes {
                let wanted = (passes * rounds.per_pass() as f64) as u64 - taken;
                let (count, spent) = rounds.take(&mut *learner, wanted, f64::INFINITY)?;
                taken += count;
                seconds += spent.total();
                let parameters = learner.parameters();
                let score = Score::new(&parameters, &priors, corpus, &corpus.train, options.seed)?;
                let (name, row) = (method.name(), score.row());
                println!("{name},{topics},{sweeps},{passes},{seconds:.2},{row}");
            }
        }
    }
    Ok(())
}

/// Quality against t_0 and the size of the corpus: after one pass over a share of it, and after as
/// many documents as the whole of it has.
fn figure_4(corpus: &Corpus, options: &Options) -> Result<(), TrainError> {
    println!("share,documents,offset,topics,passes,{}", score::COLUMNS);
    let whole = Rounds::new(&corpus.train, 0.0, options.seed).per_pass();
    let method = Method::SampledExpPsi;
    let (v, sweeps) = (corpus.vocabulary_size, options.sweeps[0] as u32);
    for (&topics, &share) in pairs(&options.topics, &SHARES) {
        let documents = share_of(&corpus.train, share, options.seed);
        let priors = method.priors(topics as usize, corpus);
        for offset in OFFSETS.map(|multiple| (multiple * whole as f64).round()) {
            let mut learner = method.learner(priors.clone(), v, sweeps, options.seed);
            let mut rounds = Rounds::new(&documents, offset, options.seed);
            let one = rounds.per_pass();
            let mut taken = 0;
            for wanted in [one, whole] {
                if wanted <= taken {
                    continue;
                }
                let (count, _) = rounds.take(&mut *learner, wanted - taken, f64::INFINITY)?;
                taken += count;
                let parameters = learner.parameters();
                let score = Score::new(&parameters, &priors, corpus, &corpus.train, options.seed)?;
                let (size, row) = (documents.len(), score.row());
                let passes = taken as f64 / one as f64;
                println!("{share},{size},{offset},{topics},{passes:.1},{row}");
            }
        }
    }
    Ok(())
}

/// Every first value with every second.
fn pairs<'a>(a: &'a [f64], b: &'a [f64]) -> impl Iterator<Item = (&'a f64, &'a f64)> {
    a.iter().flat_map(|x| b.iter().map(move |y| (x, y)))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [figure, folder, rest @ ..] = arguments.as_slice() else {
        return Err("mimno_figures FIGURE FOLDER [KEY=VALUE,…]…".into());
    };
    let options = Options::parse(figure, rest)?;
    let corpus = corpus::read(Path::new(folder), options.seed)?;
    match figure.as_str() {
        "1" => figure_1(&corpus, &options)?,
        "2" => figure_2(&corpus, &options)?,
        "4" => figure_4(&corpus, &options)?,
        _ => return Err("FIGURE is 1, 2 or 4".into()),
    }
    Ok(())
}

/// A share of some documents, at random; a smaller share is part of every larger one.
fn share_of(documents: &Bags, share: f64, seed: u64) -> Bags {
    let mut part = Bags::default();
    for index in 0..documents.len() {
        let document = documents.document(index);
        if hash_unit(seed, Stage::Sample, document, 0) < share {
            let (terms, counts) = documents.bag(index);
            part.push(document, terms, counts);
        }
    }
    part
}
