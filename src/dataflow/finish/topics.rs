//! `topics` and `topic_term_diagnostics`: each topic's figures, and those of its top terms.

use std::collections::HashMap;

use super::{Finisher, Written};
use crate::dataflow::coherence::TopTerm;
use crate::failure::Failure;
use crate::tables::read::{LabelLine, TopicLine};
use crate::tables::topic_term_diagnostics::TopicTermDiagnosticsRow;
use crate::tables::topics::TopicRow;
use lda::evaluate::diagnostics::terms::{
    TermDiagnostics, diagnose_terms, length, mean_length, token_document_difference,
};
use lda::evaluate::diagnostics::{TOP_TERMS, TopicDiagnostics, column_sums, diagnose};
use lda::evaluate::junk::CorpusDistribution;
use lda::model::Priors;

impl Finisher<'_> {
    /// Returns each topic's tokens: in the whole collection or, without projection, in the sample.
    fn tokens(&self) -> Vec<f64> {
        match self.tally {
            Some(tally) => tally.tokens(),
            None => self.topics.iter().map(|topic| topic.total).collect(),
        }
    }

    /// Writes both tables; returns the topics' lines for the screen.
    pub(super) fn write_topics(
        &self,
        priors: &Priors,
        written: &mut Written,
    ) -> Result<Vec<TopicLine>, Failure> {
        let tokens = self.tokens();
        let kept = self.vocabulary.kept_terms().iter();
        let term_tokens: Vec<u64> = kept.map(|term| term.tokens).collect();
        let diagnostics = diagnose(&self.distributions, &tokens, &term_tokens);
        let (sums, corpus) =
            (column_sums(&self.distributions), CorpusDistribution::new(&term_tokens));
        let most = self.process.job.project.top_terms;
        let tops: Vec<Vec<TermDiagnostics>> = (self.distributions.iter())
            .map(|topic| diagnose_terms(topic, &sums, &corpus, most))
            .collect();
        let words = |top: &Vec<TermDiagnostics>| -> Vec<String> {
            top.iter().map(|t| self.term(t.term).to_owned()).collect()
        };
        let words: Vec<Vec<String>> = tops.iter().map(words).collect();
        let (mut topics, mut terms, mut summaries) = (Vec::new(), Vec::new(), Vec::new());
        for (topic, (diagnosed, top_terms)) in diagnostics.iter().zip(&words).enumerate() {
            let difference = self.add_terms(topic, &tops[topic], &mut terms);
            let mut row =
                self.topic_row(topic, priors.alpha[topic], tokens[topic], (diagnosed, top_terms));
            row.token_document_difference = difference;
            let label = self.finished.collection.labels.get(topic);
            summaries.push(TopicLine {
                topic: row.topic,
                share: row.share,
                coherence_npmi: row.coherence_npmi,
                dead: row.dead,
                duplicate_of: row.duplicate_of,
                junk: row.junk,
                top_terms: top_terms.clone(),
                label: label
                    .map(|label| LabelLine { label: label.label.clone(), ..LabelLine::default() }),
                ..TopicLine::default()
            });
            topics.push(row);
        }
        self.write(topics, written)?;
        self.write(terms, written)?;
        Ok(summaries)
    }

    fn topic_row<'t>(
        &self,
        topic: usize,
        alpha: f64,
        tokens: f64,
        (diagnosed, top_terms): (&TopicDiagnostics, &'t [String]),
    ) -> TopicRow<'t> {
        let coherence = self.record.coherence.get(topic).copied();
        let (umass, npmi) = coherence.unwrap_or_default();
        let finite = |value: f64| value.is_finite().then_some(value);
        let allocation = self.tally.map(|tally| tally.allocation(topic));
        let words = top_terms.iter().take(TOP_TERMS).map(String::as_str);
        TopicRow {
            topic: topic as i32,
            alpha,
            absent_weight: self.topics[topic].absent_weight,
            tokens: tokens.round_ties_even() as i64,
            share: diagnosed.share,
            top_terms,
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
            word_length: mean_length(words),
            token_document_difference: None,
            rank1_share: allocation.and_then(|documents| documents.first_share()),
            allocation_ratio: allocation.and_then(|documents| documents.ratio()),
            allocation_count: allocation.and_then(|documents| documents.count_share()),
        }
    }

    /// Adds the rows of a topic's top terms; returns its difference between tokens and documents.
    fn add_terms<'s>(
        &'s self,
        topic: usize,
        top: &[TermDiagnostics],
        rows: &mut Vec<TopicTermDiagnosticsRow<'s>>,
    ) -> Option<f64> {
        let recorded = self.record.top_terms.get(topic).into_iter().flatten();
        let recorded: HashMap<u32, &TopTerm> = recorded.map(|term| (term.term, term)).collect();
        // Those of the requested terms that training has counted.
        let counted = top.iter().filter_map(|t| Some((t, recorded.get(&t.term)?)));
        let (weights, documents): (Vec<f32>, Vec<u64>) =
            counted.map(|(t, r)| (t.weight, r.documents)).unzip();
        let differences = token_document_difference(&weights, &documents);
        let published = &self.topics[topic];
        let mut parts = differences.iter().flatten().copied();
        for (place, figures) in top.iter().enumerate() {
            let found = recorded.get(&figures.term);
            let listed = published.weights.binary_search_by_key(&figures.term, |entry| entry.0);
            let term = self.term(figures.term);
            rows.push(TopicTermDiagnosticsRow {
                topic: topic as i32,
                rank: place as i32 + 1,
                term_id: figures.term as i32,
                term,
                count: listed.map_or(0.0, |index| published.counts[index]),
                weight: figures.weight,
                cumulative: figures.cumulative,
                documents: found.map(|term| term.documents as i64),
                word_length: length(term) as i32,
                coherence: found.map(|term| term.coherence),
                uniform_distance: figures.uniform_distance,
                corpus_distance: figures.corpus_distance,
                token_document_difference: found.and_then(|_| parts.next()),
                exclusivity: figures.exclusivity,
            });
        }
        differences.map(|parts| parts.iter().sum())
    }
}
