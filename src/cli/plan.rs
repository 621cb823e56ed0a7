//! `topicmill plan JOB`: shows what a job would do, without running it.

use std::path::PathBuf;

use super::args::PlanArgs;
use super::forecast::Forecast;
use super::pictures::window;
use super::placement::Placement;
use super::{Failure, figures};
use crate::job::{Job, Worded};
use corpus::settings::{PhraseSettings, SampleSize, TokenRule, TokenSettings};
use corpus::stop_words;
use lda::infer::settings::{InferSettings, Method};
use lda::model::settings::{Alpha, Geometry, ModelSettings};
use lda::train::settings::{DocumentSchedule, LocalMethod, Memory, MinibatchSize};

/// Prints the plan, or with `--resolved` the complete job.
///
/// # Errors
/// The job or the flags are wrong; the input is missing; the job needs more than this machine's memory;
/// stdout cannot be written.
pub(super) fn run(args: &PlanArgs) -> Result<(), Failure> {
    // If nothing says which of several processes this is, the plan is for the first.
    let mut place = args.placement.clone();
    let placement = Placement::planned(&place).or_else(|error| {
        if place.process_count.is_none() || place.process.replace(0).is_some() {
            return Err(error);
        }
        Placement::planned(&place)
    })?;
    let job = Job::load(&args.job, &args.set)?;
    if args.resolved {
        return super::print_data(&job.resolved_toml());
    }
    let forecast = Forecast::of(&job, &placement)?;
    if args.json {
        super::print_json(&forecast.json(&job, &placement))?;
    } else {
        let mut lines = describe(&job, &placement);
        lines.extend(forecast.rows(&job));
        super::print(&rows(&lines))?;
    }
    forecast.refuse_what_cannot_fit(&job)
}

/// Returns a plan's rows, as names and values.
pub(super) fn describe(job: &Job, placement: &Placement) -> Vec<(&'static str, String)> {
    let mut rows = vec![("job", job.path.display().to_string())];
    if let Some(synth) = &job.synth {
        let made = format!(
            "{} documents with {} planted topics over {} terms, {} {}",
            figures::grouped(synth.settings.documents),
            synth.settings.topics,
            figures::grouped(synth.settings.vocabulary as u64),
            if synth.is_made() { "already made in" } else { "to be made in" },
            synth.path.display(),
        );
        rows.push(("corpus", made));
    }
    rows.push(("input", job.corpus.input.join(", ")));
    if !job.corpus.exclude.is_empty() {
        rows.push(("without", job.corpus.exclude.join(", ")));
    }
    rows.push(("from", job.corpus.base.display().to_string()));
    rows.push(("tokens", tokens(&job.tokens)));
    rows.extend(phrases(&job.phrases).map(|text| ("phrases", text)));
    rows.push(("vocabulary", vocabulary(job)));
    match &job.model_from {
        Some(folder) => {
            let topics = job.model.topics;
            let model = format!("the {topics} topics of {}; nothing is trained", folder.display());
            rows.push(("model", model));
        }
        None => {
            rows.push(("sample", sample(job)));
            rows.push(("model", model(&job.model)));
            rows.push(("train", train(job)));
        }
    }
    rows.push(("project", project(job)));
    rows.push(("runs on", runs_on(placement)));
    rows.push(("model id", job.train_hash()[..16].to_owned()));
    rows
}

/// Width of the column of names.
const NAMES: usize = 12;

/// Formats the rows as text, names in a column; values wrap where the window ends, if there is one.
pub(super) fn rows(rows: &[(&'static str, String)]) -> String {
    rows_within(rows, window().unwrap_or(usize::MAX))
}

fn rows_within(rows: &[(&'static str, String)], width: usize) -> String {
    let mut text = String::new();
    for (name, value) in rows {
        text.push_str(&format!("{name:<NAMES$}"));
        let mut column = NAMES;
        for (place, word) in value.split(' ').enumerate() {
            let length = word.chars().count();
            if place > 0 && column + 1 + length > width {
                text.push_str(&format!("\n{:NAMES$}", ""));
                column = NAMES;
            } else if place > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += length;
        }
        text.push('\n');
    }
    text
}

fn tokens(tokens: &TokenSettings) -> String {
    let rule = match tokens.rule {
        TokenRule::Words => "words of UAX #29",
        TokenRule::Dictionary => "Unicode words",
        TokenRule::Letters => "runs of letters",
        TokenRule::Whitespace => "words between white space",
    };
    let traits = [
        (tokens.lower_case, ", lower-cased"),
        (tokens.identifiers, ", identifiers split"),
        (tokens.numbers, ", numbers kept"),
        (tokens.addresses, ", addresses kept"),
        (tokens.elisions, ", elisions dropped"),
        (tokens.join_hyphens, ", hyphens at line ends removed"),
    ];
    let traits: String = traits.iter().filter(|(has, _)| *has).map(|(_, name)| *name).collect();
    format!("{rule} of {} to {} characters{traits}", tokens.min_length, tokens.max_length)
}

fn phrases(phrases: &PhraseSettings) -> Option<String> {
    let list = |what, path: &Option<PathBuf>| Some(format!("{what} {}", path.as_ref()?.display()));
    let found = phrases.detection.map(|found| {
        format!(
            "found, of up to {} words: in the texts {} times or more, NPMI above {}",
            found.max_words,
            figures::grouped(found.min_count),
            figures::parameter(found.threshold),
        )
    });
    let parts = [
        list("replacements of", &phrases.replacements),
        list("deletions of", &phrases.deletions),
        list("those of", &phrases.found),
        found,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn vocabulary(job: &Job) -> String {
    let vocabulary = &job.vocabulary;
    if let Some(folder) = &job.vocabulary_from {
        return format!("the terms of {}", folder.display());
    }
    let mut text = format!(
        "at most {} terms, each in at least {} documents and at most {} % of them",
        figures::grouped(vocabulary.max_terms as u64),
        figures::grouped(vocabulary.min_documents),
        figures::parameter(100.0 * vocabulary.max_share),
    );
    let lists = &vocabulary.stop_words;
    if !lists.is_empty() {
        text.push_str(&format!("; without the stop words of {}", stop_words::names(lists)));
    }
    if vocabulary.stop_top > 0 {
        text.push_str(&format!("; without the {} most frequent", vocabulary.stop_top));
    }
    text
}

fn sample(job: &Job) -> String {
    let size = match job.sample.size {
        SampleSize::Fraction(1.0) => "all documents".to_owned(),
        SampleSize::Fraction(fraction) => {
            format!("{} % of the documents", figures::parameter(100.0 * fraction))
        }
        SampleSize::Documents(most) => format!("up to {} documents", figures::grouped(most)),
    };
    format!("{size}, {} % of these held out", figures::parameter(100.0 * job.sample.held_out))
}

fn model(model: &ModelSettings) -> String {
    let alpha = match &model.alpha {
        None => "alpha learnt if assignments are remembered".to_owned(),
        Some(Alpha::Sum(sum)) => format!("alpha sum {}", figures::parameter(*sum)),
        Some(Alpha::Each(each)) => format!("alpha {} each", figures::parameter(*each)),
        Some(Alpha::Vector(_)) => "alpha as listed".to_owned(),
    };
    let eta = model.eta.map_or_else(|| "from the sample".to_owned(), figures::parameter);
    let geometry = match model.geometry {
        Geometry::Mean => "",
        Geometry::ExpPsi => ", exp-psi geometry",
    };
    let topics = match model.topics {
        0 => "a topic for each label".to_owned(),
        topics => format!("{topics} topics"),
    };
    format!("{topics}, seed {}, {alpha}, eta {eta}{geometry}", model.seed)
}

fn train(job: &Job) -> String {
    let train = &job.train;
    let early = match train.patience {
        0 => String::new(),
        patience => format!("; a phase ends after {patience} evaluations in a row without a gain"),
    };
    let auto =
        |n: Option<u64>| n.map_or_else(|| "derived from the sample".to_owned(), figures::grouped);
    let all = format!(
        "passes: {}, documents in a minibatch: {}",
        auto(train.passes.map(u64::from)),
        match train.minibatch {
            Some(MinibatchSize::Documents(documents)) => figures::grouped(documents as u64),
            Some(MinibatchSize::Norms) => "derived from their norms".to_owned(),
            None => auto(None),
        },
    );
    let sweeps = format!("{} + {} sweeps each", train.burn_in_sweeps, train.kept_sweeps);
    let phases = match (train.memory, train.online_passes) {
        _ if train.method == LocalMethod::Cvb0 => "all documents in each, γ remembered".to_owned(),
        (Memory::Off, _) => format!("all online, {sweeps}, no assignments remembered"),
        (_, 0) => match &job.warm_start {
            Some(folder) => format!("Gibbs sampling from the topics of {}", folder.display()),
            None => "Gibbs sampling from random topics".to_owned(),
        },
        (_, online) => format!("{online} online, {sweeps}, then Gibbs sampling"),
    };
    let schedule = match train.schedule {
        DocumentSchedule::Uniform => String::new(),
        schedule => format!("; documents: {}", schedule.word()),
    };
    format!("{all}; {phases}{schedule}{early}")
}

fn project(job: &Job) -> String {
    match &job.project.infer {
        None => "nothing (method = \"none\")".to_owned(),
        Some(infer) => format!(
            "every document, {}, topics with at least {} % of it",
            inference(infer),
            figures::parameter(100.0 * job.project.threshold),
        ),
    }
}

/// Names the method and its number of sweeps or iterations.
fn inference(infer: &InferSettings) -> String {
    let sweeps = || {
        let chains = match infer.chains {
            1 => String::new(),
            chains => format!(" of {chains} chains"),
        };
        format!("{} + {} sweeps{chains}", infer.burn_in_sweeps, infer.kept_sweeps)
    };
    let iterations = || figures::counted(infer.iterations.into(), "iteration");
    match infer.method {
        Method::Gibbs => format!("Gibbs sampling with {}", sweeps()),
        Method::GibbsJoint | Method::Retrain => {
            format!("together, by Gibbs sampling with {}", sweeps())
        }
        Method::Variational => format!("mean-field inference with at most {}", iterations()),
        Method::Cvb0 => format!("CVB0 with at most {}", iterations()),
        Method::MaxEnt => "a classifier".to_owned(),
        Method::NaiveBayes => "naive Bayes".to_owned(),
        Method::Hybrid => "a classifier, then sampling".to_owned(),
    }
}

fn runs_on(placement: &Placement) -> String {
    let threads = figures::counted(placement.threads() as u64, "thread");
    match placement {
        Placement::Threads(_) => format!("{threads} in this process"),
        Placement::Spawn { processes, .. } => {
            format!("{processes} processes on this machine, {threads} each")
        }
        Placement::Member { index, count, peers, by, .. } => {
            let by = by.map_or(String::new(), |by| format!(", numbered by {by}"));
            format!("{count} processes ({peers}), {threads} each; this is process {index}{by}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_broken_between_words_where_the_window_ends() {
        let lines = [("input", "one two three".to_owned()), ("output", "a".repeat(20))];
        let narrow = "input       one two\n            three\noutput      aaaaaaaaaaaaaaaaaaaa\n";
        assert_eq!(rows_within(&lines, 20), narrow);
        let wide = "input       one two three\noutput      aaaaaaaaaaaaaaaaaaaa\n";
        assert_eq!(rows_within(&lines, 80), wide);
    }
}
