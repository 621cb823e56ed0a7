//! The JSON that pyLDAvis draws: `PreparedData.to_json` of pyLDAvis 3, without its page.
//!
//! Topics keep their order: the number on the page is ours plus 1, because LDAvis counts from 1. By default, LDAvis
//! sorts topics by size. Coordinates are those of `lda::evaluate::map`.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Sink;
use super::relevance::Relevance;
use crate::failure::Failure;
use crate::result::OpenedResult;
use crate::tables::Row;
use crate::tables::output::View;
use crate::tables::records::rows;
use crate::tables::topics::TopicRow;
use lda::evaluate::map::topic_map;

/// Terms that a bar chart shows.
const BARS: usize = 30;

pub(super) fn write(result: &OpenedResult, sink: &Sink) -> Result<(), Failure> {
    let phi = result.phi()?;
    let view = View::of_parts(result.root(), &[TopicRow::SPEC.name])?;
    let topics = rows::<TopicRow>(view.path())?.into_iter();
    let (terms, tokens): (_, Vec<f64>) =
        (&phi.terms, topics.map(|row| row.tokens as f64).collect());
    let places = topic_map(&phi.distributions(), &tokens).places;
    let relevance = Relevance::new(&phi, &tokens);
    let bars = BARS.min(terms.len());
    let mut prepared = Prepared {
        topics: circles(&places, &relevance),
        tinfo: Bars::default(),
        tokens: Tokens::default(),
        bars,
        lambda_step: 0.01,
        options: PlotOptions { xlab: "PC1", ylab: "PC2" },
        order: (1..=tokens.len()).collect(),
    };
    let shown = prepared.tinfo.fill(&relevance, terms, bars);
    prepared.tokens.fill(&relevance, terms, &shown);
    sink.file(|out| Ok(serde_json::to_writer(out, &prepared).map_err(std::io::Error::from)?))
}

/// Returns a circle per topic; those without tokens are at the origin.
fn circles(places: &[Option<[f64; 2]>], relevance: &Relevance<'_>) -> Circles {
    let mut topics = Circles::default();
    for (topic, place) in places.iter().enumerate() {
        let [x, y] = place.unwrap_or_default();
        topics.x.push(x);
        topics.y.push(y);
        topics.topics.push(topic + 1);
        topics.cluster.push(1);
        topics.share.push(100.0 * relevance.share(topic));
    }
    topics
}

/// The fields of pyLDAvis's `PreparedData`.
#[derive(Debug, Serialize)]
struct Prepared<'a> {
    #[serde(rename = "mdsDat")]
    topics: Circles,
    tinfo: Bars<'a>,
    #[serde(rename = "token.table")]
    tokens: Tokens<'a>,
    #[serde(rename = "R")]
    bars: usize,
    #[serde(rename = "lambda.step")]
    lambda_step: f64,
    #[serde(rename = "plot.opts")]
    options: PlotOptions,
    #[serde(rename = "topic.order")]
    order: Vec<usize>,
}

/// Circles: a topic's place and its share in per cent.
#[derive(Debug, Default, Serialize)]
struct Circles {
    x: Vec<f64>,
    y: Vec<f64>,
    topics: Vec<usize>,
    cluster: Vec<u8>,
    #[serde(rename = "Freq")]
    share: Vec<f64>,
}

/// Bars: the terms of each topic, and of `Default` for no selected topic.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Bars<'a> {
    term: Vec<&'a str>,
    freq: Vec<f64>,
    total: Vec<f64>,
    category: Vec<String>,
    #[serde(rename = "logprob")]
    log_probability: Vec<f64>,
    #[serde(rename = "loglift")]
    log_lift: Vec<f64>,
}

impl<'a> Bars<'a> {
    /// Adds the most salient terms, then each topic's, `bars` for each λ; returns all of them, ascending.
    fn fill(
        &mut self,
        relevance: &Relevance<'_>,
        terms: &'a [String],
        bars: usize,
    ) -> BTreeSet<u32> {
        let mut shown = BTreeSet::new();
        for (place, term) in relevance.salient(bars).into_iter().enumerate() {
            let total = relevance.totals[term as usize].floor();
            // Ranks instead of figures keep the terms in this order.
            let rank = (bars - place) as f64;
            self.push(&terms[term as usize], "Default".to_owned(), [total, total, rank, rank]);
            shown.insert(term);
        }
        for topic in 0..relevance.tokens.len() {
            for (term, weight, figures) in relevance.terms(topic, bars) {
                let figures = [
                    weight * relevance.tokens[topic],
                    relevance.totals[term as usize],
                    rounded(figures.log_probability),
                    rounded(figures.log_lift),
                ];
                self.push(&terms[term as usize], format!("Topic{}", topic + 1), figures);
                shown.insert(term);
            }
        }
        shown
    }

    fn push(&mut self, term: &'a str, category: String, figures: [f64; 4]) {
        let [freq, total, log_probability, log_lift] = figures;
        self.term.push(term);
        self.freq.push(freq);
        self.total.push(total);
        self.category.push(category);
        self.log_probability.push(log_probability);
        self.log_lift.push(log_lift);
    }
}

impl<'a> Tokens<'a> {
    /// Adds the terms in `shown`, sorted by text, with the topics that have at least half a token of them.
    fn fill(&mut self, relevance: &Relevance<'_>, terms: &'a [String], shown: &BTreeSet<u32>) {
        let mut shown: Vec<u32> = shown.iter().copied().collect();
        shown.sort_by_key(|&term| &terms[term as usize]);
        let spread = relevance.spread(&shown);
        for (&term, topics) in shown.iter().zip(spread) {
            for (topic, tokens) in topics {
                self.topic.push(topic + 1);
                self.freq.push(tokens.round() / relevance.totals[term as usize]);
                self.term.push(&terms[term as usize]);
            }
        }
    }
}

/// Rounds to four decimals, as pyLDAvis does.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// The areas of circles when a term is selected: the topics' shares of its tokens.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Tokens<'a> {
    topic: Vec<usize>,
    freq: Vec<f64>,
    term: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
struct PlotOptions {
    xlab: &'static str,
    ylab: &'static str,
}
