//! `topicmill compare A B`: how alike two results are, and which topics are the same.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::pictures::{self, page_width};
use super::summary::words_within;
use super::{Failure, figures, plan};
use crate::tables::compare::{Comparison, compare};
use crate::tables::output::{View, Wanted};
use crate::tables::topics::{TopicLine, topic_lines};
use lda::evaluate::comparison::Figure;
use lda::evaluate::matching::SAME_TOPIC_WITHIN;

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill compare out/fifty out/hundred
  topicmill compare out/seed-1 out/seed-2 --topics 0

Topics are matched one to one by the distance between their words; docs/EVALUATION.md defines the
figures.";

/// Flags of compare.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompareArgs {
    /// An output folder
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,
    /// Another output folder
    #[arg(value_name = "B")]
    pub(crate) second: PathBuf,
    /// Pairs of topics to show, the nearest first; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) topics: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Characters of a row besides the words: two topics, a distance, and the space between columns.
const BESIDE_WORDS: usize = 30;
/// Topics over fewer common terms cannot be told apart.
const FEW_TERMS: usize = 50;

/// Compares two results.
///
/// # Errors
/// A result is missing, cannot be read or has no projection; the models have no common term; stdout cannot
/// be written.
pub(super) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let paths = [&args.first, &args.second];
    for path in paths {
        super::check_finished(path)?;
    }
    let views = [View::open(paths[0], Wanted::All)?, View::open(paths[1], Wanted::All)?];
    let [a, b] = views.each_ref().map(View::path);
    let found = compare(a, b)?;
    let topics = [topic_lines(a)?, topic_lines(b)?];
    let pairs = pairs(&found, &topics);
    if args.json {
        return super::print_json(&json_of(&found, &pairs));
    }
    let mut text = plan::rows(&rows(args, &found, &topics));
    text.push('\n');
    text.push_str(&table(&pairs, args.topics, page_width()));
    super::print(&text)
}

/// A topic of one result, with its partner in the other if it has one.
struct Pair<'a> {
    topics: [Option<&'a TopicLine>; 2],
    /// Their Hellinger distance; 0 if both results have the same model.
    distance: Option<f64>,
}

/// Pairs the topics of the first result with their partners, nearest first; the topics of either result
/// without a partner come last.
fn pairs<'a>(found: &Comparison, [a, b]: &'a [Vec<TopicLine>; 2]) -> Vec<Pair<'a>> {
    let same = |topic: usize| Some((topic, 0.0));
    let partner = |topic: usize| match &found.topics {
        None => same(topic),
        Some(matched) => matched.partners.get(topic).copied().flatten(),
    };
    let pair = |(topic, line): (usize, &'a TopicLine)| {
        let partner = partner(topic);
        Pair {
            topics: [Some(line), partner.and_then(|(other, _)| b.get(other))],
            distance: partner.map(|(_, distance)| distance),
        }
    };
    let mut pairs: Vec<Pair<'a>> = a.iter().enumerate().map(pair).collect();
    let taken: BTreeSet<usize> = (0..a.len()).filter_map(|topic| Some(partner(topic)?.0)).collect();
    let alone = b.iter().enumerate().filter(|(topic, _)| !taken.contains(topic));
    pairs.extend(alone.map(|(_, line)| Pair { topics: [None, Some(line)], distance: None }));
    pairs.sort_by(|one, other| {
        let [one, other] = [one, other].map(|pair| pair.distance.unwrap_or(f64::INFINITY));
        one.total_cmp(&other)
    });
    pairs
}

fn rows(
    args: &CompareArgs,
    found: &Comparison,
    [a, b]: &[Vec<TopicLine>; 2],
) -> Vec<(&'static str, String)> {
    let result = |path: &std::path::Path, topics: &[TopicLine]| {
        format!("{}, {} topics", path.display(), figures::grouped(topics.len() as u64))
    };
    let topics = match &found.topics {
        None => "of one model: matched by number".to_owned(),
        Some(matched) => format!(
            "{} of {} pairs are the same (within a Hellinger distance of {SAME_TOPIC_WITHIN}), mean \
             distance {:.2}, over {} common terms{}",
            figures::grouped(matched.same as u64),
            figures::grouped(matched.partners.iter().flatten().count() as u64),
            matched.mean_distance,
            figures::grouped(matched.shared_terms as u64),
            if matched.shared_terms < FEW_TERMS { ": too few to tell" } else { "" },
        ),
    };
    let mut left_out = match found.unmatched {
        0 => String::new(),
        documents => format!("; {} of the first are not", figures::grouped(documents)),
    };
    if found.ambiguous > 0 {
        let documents = figures::counted(found.ambiguous, "document");
        left_out
            .push_str(&format!("; {documents} of the first with an id that occurs twice left out"));
    }
    let documents = match found.documents {
        0 => format!("none in both{left_out}: nothing to compare"),
        documents => format!(
            "{} in both{left_out}; cosine of their proportions {}, F1 of their main topics {}",
            figures::grouped(documents),
            with_error(&found.cosine),
            with_error(&found.f1),
        ),
    };
    vec![
        ("first", result(&args.first, a)),
        ("second", result(&args.second, b)),
        ("topics", topics),
        ("documents", documents),
    ]
}

/// Formats a figure, as in "0.912 ± 0.003".
fn with_error(figure: &Figure) -> String {
    let error = figure.standard_error.map_or_else(String::new, |error| format!(" ± {error:.3}"));
    format!("{:.3}{error}", figure.mean)
}

/// Returns a table of the first `most` pairs (0: all), `width` characters wide.
fn table(pairs: &[Pair<'_>], most: usize, width: usize) -> String {
    let mut table = pictures::table(">distance|>first|terms|>second|terms");
    let most = pictures::at_most(most);
    let words = width.saturating_sub(BESIDE_WORDS) / 2;
    for pair in pairs.iter().take(most) {
        let [a, b] = pair.topics.map(|topic| match topic {
            Some(line) => {
                [line.row.topic.to_string(), words_within(&line.words(), usize::MAX, words)]
            }
            None => ["-".to_owned(), String::new()],
        });
        let distance = pair.distance.map_or_else(String::new, |distance| format!("{distance:.2}"));
        let [topic, terms] = a;
        let [other, others] = b;
        table.add_row([distance, topic, terms, other, others]);
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    if pairs.len() > most {
        text += &format!("… and {} more: --topics 0\n", pairs.len() - most);
    }
    text
}

fn json_of(found: &Comparison, pairs: &[Pair<'_>]) -> Value {
    let pair = |pair: &Pair<'_>| {
        let [a, b] = pair.topics.map(|topic| topic.map(|line| line.row.topic));
        json!({ "first": a, "second": b, "distance": pair.distance })
    };
    // Without documents there is no mean.
    let mean = |figure: Figure| (found.documents > 0).then_some(figure);
    json!({
        "documents": found.documents,
        "unmatched": found.unmatched,
        "ambiguous": found.ambiguous,
        "cosine": mean(found.cosine),
        "kl_divergence": mean(found.kl_divergence),
        "f1": mean(found.f1),
        "same_model": found.topics.is_none(),
        "same_topics": found.topics.as_ref().map(|topics| topics.same),
        "mean_distance": found.topics.as_ref().map(|topics| topics.mean_distance),
        "topics": pairs.iter().map(pair).collect::<Vec<_>>(),
    })
}
