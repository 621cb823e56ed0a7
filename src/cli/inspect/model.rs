//! A model file: its size, its priors, its topics by their weights.

use std::path::Path;

use serde::Serialize;

use crate::checkpoint::{self, Header};
use crate::cli::args::InspectArgs;
use crate::cli::pictures::{at_most, page_width};
use crate::cli::summary::{MOST_TERMS, topic_table};
use crate::cli::{Failure, figures, plan};
use crate::tables::topics::{TopicLine, TopicRow};
use corpus::vocabulary_file::{self, VOCABULARY_FILE};
use lda::evaluate::TermDistribution;
use lda::model::Priors;
use lda::model::parameters::Parameters;
use lda::model::published::publish;

/// A model: its header, and its topics if its terms are known.
#[derive(Serialize)]
struct ModelScreen<'a> {
    #[serde(flatten)]
    header: &'a Header,
    topics: Vec<TopicLine>,
}

/// Shows the model at `path`.
///
/// # Errors
/// It, or the vocabulary beside it, cannot be read; stdout cannot be written.
pub(super) fn show(args: &InspectArgs, path: &Path) -> Result<(), Failure> {
    let saved = checkpoint::read(path)?;
    let parameters = saved.parameters(0, 1);
    let most_terms = args.terms.unwrap_or(MOST_TERMS);
    let topics = match terms_beside(path, &saved.header)? {
        Some(terms) => topics(&parameters, &saved.header.published(), &terms, most_terms),
        None => Vec::new(),
    };
    if args.json {
        let header = &saved.header;
        return crate::cli::print_json(&ModelScreen { header, topics });
    }
    let mut text = plan::rows(&rows_of(&saved.header, &parameters));
    if topics.is_empty() {
        text.push_str("no vocabulary beside it: terms are shown by number\n");
    } else {
        let most = at_most(args.topics);
        text.push('\n');
        text.push_str(&topic_table(&topics, most, most_terms, page_width()));
    }
    crate::cli::print(&text)
}

/// Returns the terms by number, from the vocabulary of the model's output folder, if the model was trained
/// on it.
fn terms_beside(path: &Path, header: &Header) -> Result<Option<Vec<String>>, Failure> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let root = path.parent().and_then(Path::parent);
    let file = root.map(|root| root.join(VOCABULARY_FILE));
    let Some(file) = file.filter(|file| file.exists()) else {
        return Ok(None);
    };
    let vocabulary = vocabulary_file::read(&file)?;
    let is_same = vocabulary.kept() == header.vocabulary_size
        && vocabulary.fingerprint() == header.vocabulary_hash;
    let terms = vocabulary.kept_terms().iter().map(|t| t.term.clone());
    Ok(is_same.then(|| terms.collect()))
}

/// Returns every topic with its share of the weight and its heaviest terms.
fn topics(
    parameters: &Parameters,
    priors: &Priors,
    terms: &[String],
    most_terms: usize,
) -> Vec<TopicLine> {
    let all: f64 = parameters.totals().iter().sum();
    let share = |total: f64| if all > 0.0 { total / all } else { 0.0 };
    let topics = publish(&[parameters], priors).into_iter().enumerate();
    topics
        .map(|(topic, published)| {
            let top = TermDistribution::of(&published, terms.len()).top_terms(most_terms);
            let row = TopicRow {
                topic: topic as i32,
                share: share(published.total),
                top_terms: top.into_iter().map(|term| terms[term as usize].clone()).collect(),
                ..TopicRow::default()
            };
            TopicLine { row, ..TopicLine::default() }
        })
        .collect()
}

fn rows_of(header: &Header, parameters: &Parameters) -> Vec<(&'static str, String)> {
    let state = match header.published_eta {
        Some(_) => "finished",
        None => "in training",
    };
    let nonzero = parameters.nonzero_count();
    let cells = header.topic_count as f64 * header.vocabulary_size as f64;
    let alpha = match header.priors.alpha.as_slice() {
        [first, rest @ ..] if rest.iter().all(|a| a == first) => {
            format!("alpha {} each", figures::parameter(*first))
        }
        alpha => format!("alpha sum {}", figures::parameter(alpha.iter().sum())),
    };
    let geometry = if header.priors.exp_psi { ", exp-psi geometry" } else { "" };
    let published = header
        .published_eta
        .map_or_else(String::new, |eta| format!(", published with {}", figures::parameter(eta)));
    let eta = figures::parameter(header.priors.eta);
    let tree = header.priors.tree.as_ref().map(|tree| {
        let text = format!(
            "{} over {}, at most {}",
            figures::counted(tree.inner_count() as u64 - 1, "node"),
            figures::counted(tree.structured_count() as u64, "term"),
            figures::counted(tree.most_senses() as u64, "sense"),
        );
        ("tree", text)
    });
    let rows = [
        (
            "model",
            format!(
                "{} topics over {} terms, {state}, {} rounds",
                figures::grouped(header.topic_count as u64),
                figures::grouped(header.vocabulary_size as u64),
                figures::grouped(header.rounds),
            ),
        ),
        ("priors", format!("{alpha}, eta {eta}{published}{geometry}")),
        (
            "non-zeros",
            format!(
                "{} ({:.2} % of all, {:.1} per term)",
                figures::grouped(nonzero),
                100.0 * nonzero as f64 / cells.max(1.0),
                nonzero as f64 / (header.vocabulary_size as f64).max(1.0),
            ),
        ),
        ("model id", header.settings_hash.chars().take(16).collect()),
    ];
    rows.into_iter().chain(tree).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lda::model::parameters::Entry;

    #[test]
    fn topics_are_named_by_their_heaviest_terms() {
        let row = |term: u32| match term {
            0 => vec![Entry { topic: 0, value: 1.0 }, Entry { topic: 1, value: 15.0 }],
            1 => vec![Entry { topic: 0, value: 3.0 }],
            _ => vec![Entry { topic: 0, value: 1.0 }],
        };
        let parameters = Parameters::new(2, 3, 0, 1).restore(1.0, vec![5.0, 15.0], row);
        let terms = ["a", "b", "c"].map(str::to_owned);
        let priors = Priors { alpha: vec![1.0; 2], eta: 0.1, exp_psi: false, tree: None };
        let topics = topics(&parameters, &priors, &terms, 2);
        assert_eq!(topics[0].row.top_terms, ["b", "a"]);
        assert_eq!(topics[1].row.top_terms, ["a"]);
        assert_eq!((topics[0].row.share, topics[1].row.share), (0.25, 0.75));
    }
}
