//! The topics.

use std::path::Path;

use serde::Serialize;

use super::check::{DocumentTotals, VerifyReport};
use super::labels::LabelRow;
use super::records::{records, rows, table};
use super::tally::Tally;
use super::terms::is_rubbish;
use super::topic_concentration::TopicConcentrationRow;
use super::topic_names::TopicNameRow;
use super::topic_changes::TopicChangeRow;
use super::topic_stability::TopicStabilityRow;
use super::topic_term_diagnostics::{CountedTerm, TopicTermDiagnosticsRow};
use crate::failure::Failure;
use corpus::vocabulary::Vocabulary;
use lda::evaluate::TermDistribution;
use lda::evaluate::diagnostics::terms::{TermDiagnostics, diagnose_terms, mean_length};
use lda::evaluate::diagnostics::{TOP_TERMS, column_sums, diagnose};
use lda::evaluate::junk::CorpusDistribution;
use lda::model::published::PublishedTopic;

/// How far a topic's term probabilities may be from 1, as sums of f32.
pub(super) const MASS_TOLERANCE: f64 = 1e-3;

table! {
    /// One row per topic, with its size, its words and its quality. Figures that cannot be computed (a dead
    /// topic has no coherence, and without a projection no topic has documents) are `None`, never NaN.
    "topics", sorted_by [topic];
    pub struct TopicRow {
        topic: i32,                             /// The topic, from 0.
        alpha: f64,                             /// α_k, its parameter in the documents' Dirichlet prior.
        absent_weight: f64,                     /// Probability in the topic of each term that has no row in `topic_terms`.
        tokens: i64,                            /// Tokens of the collection assigned to the topic, rounded.
        share: f64,                             /// The topic's share of all assigned tokens, 0 to 1.
        top_terms: Vec<String>,                /// The most probable terms, best first.
        coherence_umass: Option<f64>,           /// UMass coherence of the top terms (Mimno 2011), nats; nearer to 0 is better.
        coherence_npmi: Option<f64>,            /// Normalised pointwise mutual information of the top terms, −1 to 1.
        entropy: Option<f64>,                   /// Entropy of the term distribution, nats.
        exclusivity: Option<f64>,               /// How much of the top terms' probability is this topic's alone, 0 to 1.
        effective_terms: Option<f64>,           /// Effective number of terms, 1 / Σ_w φ_kw².
        document_entropy: Option<f64>,          /// Entropy of the topic's spread over documents, nats.
        rank1_documents: Option<i64>,           /// Documents whose largest proportion is this topic's.
        dead: bool,                             /// True when (almost) no token is left in the topic.
        duplicate_of: Option<i32>,              /// The first earlier topic that it repeats, if there is one.
        junk: bool,                             /// True when it has tokens, but is nearly the corpus's or the uniform distribution.
        corpus_distance: Option<f64>,           /// Kullback–Leibler divergence of its term distribution from the collection's, nats.
        uniform_distance: Option<f64>,          /// Kullback–Leibler divergence of its term distribution from the uniform one, nats.
        word_length: Option<f64>,               /// Mean length of its top terms, characters.
        token_document_difference: Option<f64>, /// Jensen–Shannon divergence between its top terms' shares of tokens and of documents, nats.
        rank1_share: Option<f64>,               /// Of the documents that hold the topic, the share in which it is the largest.
        allocation_ratio: Option<f64>,          /// Documents of which it has at least half, over those of which it has at least 2 %.
        allocation_count: Option<f64>,          /// Of the documents that hold the topic, the share of which it has at least 30 %.
    }
}

impl TopicRow {
    /// Whether it is neither dead nor junk, and repeats no other.
    pub(crate) fn is_live(&self) -> bool {
        !self.dead && !self.junk && self.duplicate_of.is_none()
    }
}

/// What the tables `topics` and `topic_term_diagnostics` are computed from.
pub(crate) struct FinishedTopics<'a> {
    pub(crate) published: &'a [PublishedTopic],
    pub(crate) alpha: &'a [f64],
    pub(crate) vocabulary: &'a Vocabulary,
    /// UMass and NPMI coherence of each topic on the training documents.
    pub(crate) coherence: &'a [(Option<f64>, Option<f64>)],
    /// Each topic's heaviest terms on the training documents.
    pub(crate) counted: &'a [Vec<CountedTerm>],
    /// The sums over the documents, if they were projected.
    pub(crate) tally: Option<&'a Tally>,
    /// Number of top terms of a topic.
    pub(crate) top_terms: usize,
}

impl FinishedTopics<'_> {
    /// Returns the rows of both tables.
    pub(crate) fn rows(&self) -> (Vec<TopicRow>, Vec<TopicTermDiagnosticsRow>) {
        let (published, vocabulary) = (self.published, self.vocabulary);
        let distribution = |topic| TermDistribution::of(topic, vocabulary.kept());
        let distributions: Vec<_> = published.iter().map(distribution).collect();
        // In the whole collection or, without projection, in the sample.
        let tokens = match self.tally {
            Some(tally) => tally.tokens(),
            None => published.iter().map(|topic| topic.total).collect(),
        };
        let term_tokens: Vec<u64> =
            vocabulary.kept_terms().iter().map(|term| term.tokens).collect();
        let diagnostics = diagnose(&distributions, &tokens, &term_tokens);
        let (sums, corpus) = (column_sums(&distributions), CorpusDistribution::new(&term_tokens));
        let finite = |value: f64| value.is_finite().then_some(value);
        let (mut topics, mut terms) = (Vec::new(), Vec::new());
        for (topic, diagnosed) in diagnostics.iter().enumerate() {
            let top: Vec<TermDiagnostics> =
                diagnose_terms(&distributions[topic], &sums, &corpus, self.top_terms);
            let counted = self.counted.get(topic).map_or(&[][..], Vec::as_slice);
            let (rows, difference) = TopicTermDiagnosticsRow::of_topic(
                (topic, &published[topic]),
                &top,
                counted,
                vocabulary,
            );
            let top_terms: Vec<String> = rows.iter().map(|row| row.term.clone()).collect();
            terms.extend(rows);
            let (umass, npmi) = self.coherence.get(topic).copied().unwrap_or_default();
            let allocation = self.tally.map(|tally| tally.allocation(topic));
            topics.push(TopicRow {
                topic: topic as i32,
                alpha: self.alpha[topic],
                absent_weight: published[topic].absent_weight,
                tokens: tokens[topic].round_ties_even() as i64,
                share: diagnosed.share,
                coherence_umass: umass,
                coherence_npmi: npmi,
                entropy: finite(diagnosed.entropy),
                exclusivity: finite(diagnosed.exclusivity),
                effective_terms: finite(diagnosed.effective_terms),
                document_entropy: self.tally.and_then(|tally| tally.document_entropy(topic)),
                rank1_documents: allocation.map(|documents| documents.first),
                dead: diagnosed.dead,
                duplicate_of: diagnosed.duplicate_of.map(|earlier| earlier as i32),
                junk: diagnosed.junk,
                corpus_distance: diagnosed.corpus_distance,
                uniform_distance: finite(diagnosed.uniform_distance),
                word_length: mean_length(top_terms.iter().take(TOP_TERMS).map(String::as_str)),
                token_document_difference: difference,
                rank1_share: allocation.and_then(|documents| documents.first_share()),
                allocation_ratio: allocation.and_then(|documents| documents.ratio()),
                allocation_count: allocation.and_then(|documents| documents.count_share()),
                top_terms,
            });
        }
        (topics, terms)
    }
}

/// A topic for display: its row, and those of other tables about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TopicLine {
    /// Its row of `topics`.
    #[serde(flatten)]
    pub row: TopicRow,
    /// Its label, if documents have labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<LabelRow>,
    /// How it has moved, after a warm start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change: Option<TopicChangeRow>,
    /// What holds much of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) concentration: Vec<TopicConcentrationRow>,
    /// The share of the other models of its sweep that have it, if it is from a sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stability: Option<f64>,
    /// What a person has said about it.
    #[serde(flatten)]
    pub(crate) named: Option<TopicNameRow>,
}

impl TopicLine {
    /// Joins the rows of `topics`, and those of `labels`, `topic_changes` and `topic_concentration`, if there are any.
    pub(crate) fn join(
        topics: Vec<TopicRow>,
        labels: Vec<LabelRow>,
        changes: Vec<TopicChangeRow>,
        concentration: Vec<TopicConcentrationRow>,
    ) -> Vec<Self> {
        let mut others = (labels.into_iter(), changes.into_iter());
        let line = |row| Self {
            row,
            label: others.0.next(),
            change: others.1.next(),
            ..Self::default()
        };
        let mut lines: Vec<Self> = topics.into_iter().map(line).collect();
        for row in concentration {
            if let Some(line) = lines.get_mut(row.topic as usize) {
                line.concentration.push(row);
            }
        }
        lines
    }

    /// Returns the share of its top terms that look like no words, 0 to 1.
    pub(crate) fn rubbish_share(&self) -> f64 {
        let terms = &self.row.top_terms;
        let rubbish = terms.iter().filter(|term| is_rubbish(term)).count();
        rubbish as f64 / terms.len().max(1) as f64
    }

    /// Returns its name or label, if it has one, and its most probable terms.
    pub(crate) fn words(&self) -> Vec<String> {
        let heading = self.heading().map(|heading| format!("{heading}:"));
        heading.into_iter().chain(self.row.top_terms.iter().cloned()).collect()
    }

    /// Returns its name, or else its label, and whether it is hidden or merged; `None` if there is nothing to say.
    pub(crate) fn heading(&self) -> Option<String> {
        let named = self.named.as_ref();
        let label = self.label.as_ref().map(|line| line.label.clone());
        let name = named.and_then(|row| row.name.clone()).or(label);
        let hidden = named.is_some_and(|row| row.hidden).then(|| "(hidden)".to_owned());
        let merged = named.and_then(|row| row.merged_into).map(|into| format!("(in {into})"));
        let said: Vec<String> = [name, hidden, merged].into_iter().flatten().collect();
        Some(said.join(" ")).filter(|heading| !heading.is_empty())
    }

    /// Whether it belongs to a label without a document in the sample; if nothing was projected, whether it has no
    /// terms.
    pub(crate) fn is_untrained(&self) -> bool {
        self.label.as_ref().is_some_and(|label| match label.evaluated {
            Some(others) => others == label.documents,
            None => self.row.top_terms.is_empty(),
        })
    }
}

/// Reads the topics of an output folder, in order; none without the table.
///
/// # Errors
/// A table cannot be read, or lacks a column.
pub fn topic_lines(root: &Path) -> Result<Vec<TopicLine>, Failure> {
    let mut lines = TopicLine::join(rows(root)?, rows(root)?, rows(root)?, rows(root)?);
    for row in rows::<TopicNameRow>(root)? {
        if let Some(line) = lines.get_mut(row.topic as usize) {
            line.named = Some(row);
        }
    }
    for row in rows::<TopicStabilityRow>(root)? {
        if let Some(line) = lines.get_mut(row.topic as usize) {
            line.stability = Some(row.stability);
        }
    }
    Ok(lines)
}

/// Checks the table; returns each topic's `absent_weight`.
pub(super) fn check(
    root: &Path,
    totals: &DocumentTotals,
    report: &mut VerifyReport,
) -> Result<Vec<f64>, Failure> {
    let (mut absent, mut shares) = (Vec::new(), 0.0);
    for row in records::<TopicRow>(root)? {
        let row = row?;
        let (topic, expected) = (row.topic, absent.len());
        report.expect(i32::try_from(expected) == Ok(topic), || {
            format!("topics: topic {topic} where {expected} is expected")
        });
        if let Some(other) = row.duplicate_of {
            report.expect((0..topic).contains(&other), || {
                format!("topic {topic}: it cannot be a duplicate of topic {other}")
            });
        }
        absent.push(row.absent_weight);
        shares += row.share;
        let documents = totals.by_top_topic.get(&topic).copied().unwrap_or(0);
        if let Some(said) = row.rank1_documents {
            report.expect(said == documents, || {
                format!("topic {topic}: rank1_documents is {said}, but documents has {documents}")
            });
        }
    }
    let sound = (shares - 1.0).abs() <= MASS_TOLERANCE || shares == 0.0;
    report.expect(sound, || format!("topics: the shares sum to {shares}, not 1"));
    let topic_count = absent.len() as i32;
    let unknown = totals.by_top_topic.keys().find(|&&t| t < 0 || t >= topic_count);
    report.expect(unknown.is_none(), || format!("documents: topic {unknown:?} does not exist"));
    Ok(absent)
}
