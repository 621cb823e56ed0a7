//! The tables that a job can write, column by column, as docs/FORMATS.md lists them.
//!
//! Each is a struct for a row. The description of a column follows it.

use super::schema::{Builder, Cell, Column, Row, TableSpec, tables};
use corpus::DocumentStatus;
use corpus::sample::Split;

/// Maximum number of topics of a model for which there is table `topic_correlations`.
pub(crate) const MOST_TOPICS: usize = 4096;
/// Approximate number of documents whose groups are summed together, for a part of `group_topics` and for `drift`.
pub(crate) const TOPIC_BUCKET: u64 = 1 << 18;
pub(crate) const DRIFT_BUCKET: u64 = 1 << 16;
/// Maximum number of groups that have a row each in `drift`.
pub(crate) const MOST_GROUPS: u64 = 1 << 18;
/// Maximum number of values of a column that are named in `topic_trends`.
pub(crate) const MOST_VALUES: usize = 1_000;
/// The least that this maximum can be, with any number of topics.
pub(crate) const LEAST_VALUES: usize = 12;
/// Maximum number of named values of all columns times topics.
pub(crate) const MOST_PAIRS: usize = 1 << 19;

tables! {
    /// The score of each document in an evaluation, by method.
    "document_scores", sorted_by [doc_id];
    pub(crate) struct DocumentScoreRow<'a> {
        doc_id: i64,         /// Number of the document, from 0, in the input's order.
        method: &'a str,     /// How it was scored (`document_completion`, `left_to_right`).
        log_likelihood: f64, /// Log-likelihood of its scored tokens, in nats.
        tokens: i64,         /// Tokens scored.
    }

    /// The topics of each document, the sparse θ. One row per document and topic whose proportion reaches
    /// the threshold; the rest is `documents.dropped_mass`.
    "document_topics", sorted_by [doc_id, rank];
    pub(crate) struct DocumentTopicRow {
        doc_id: i64, /// The document.
        topic: i32,  /// The topic, from 0.
        weight: f32, /// Its proportion in the document, 0 to 1.
        rank: i32,   /// 1 for the document's largest proportion, then without gaps.
    }

    /// One row per input document, always. The job's metadata columns follow the table's own, as nullable
    /// text under their own names. `tokens_total = tokens_in_vocabulary + tokens_stopped + tokens_unknown`;
    /// the columns from `top_topic` on are `None` where the document has no terms or nothing was projected.
    "documents", sorted_by [doc_id], looked_up_by [source_id];
    pub(crate) struct DocumentRow<'a> {
        doc_id: i64,                   /// Number of the document, from 0, in the input's order.
        source_id: &'a str,            /// The input's own id; `<file>@<place>` where it has none: the byte of its record, or in Parquet and Arrow its row, from 0.
        group_id: Option<&'a str>,     /// The volume this document is a section of.
        section: Option<i32>,          /// Position of the document within its volume, from 0; `None` without a volume.
        status: DocumentStatus,        /// The status of the document.
        split: Split,                  /// Its split: trained on, held out, or neither.
        tokens_total: i64,             /// Tokens the tokenizer found.
        tokens_in_vocabulary: i64,     /// Tokens in the vocabulary: what the topics explain.
        tokens_stopped: i64,           /// Tokens that are stop words.
        tokens_unknown: i64,           /// All other tokens: pruned terms, and terms never seen in ingest.
        top_topic: Option<i32>,        /// The topic with the largest proportion (the lowest number among equals).
        top_weight: Option<f32>,       /// Its proportion, 0 to 1.
        entropy: Option<f32>,          /// Entropy of the proportions, in nats.
        loglik_per_token: Option<f64>, /// Log-likelihood of its tokens in the vocabulary given its proportions, nats per token.
        dropped_mass: Option<f32>,     /// Proportions below the threshold or beyond the top N, summed; 1 − Σ weight.
    }

    /// How far the documents that were not trained on have moved from those that were, for each group and
    /// for the run as a whole. Figures that cannot be computed are `None`.
    "drift", sorted_by [scope, group_id], looked_up_by [group_id];
    pub(crate) struct DriftRow<'a> {
        scope: &'a str,                     /// `group`, or `run` for the last row, which covers all new documents.
        group_id: Option<&'a str>,          /// The group, `None` for the run.
        documents: i64,                     /// New documents with terms of the vocabulary: held out or projected only.
        tokens: i64,                        /// Their tokens, stop words left out.
        tokens_in_vocabulary: i64,          /// Of these, tokens of kept terms.
        known_tokens: i64,                  /// Of these, tokens of terms that the model knows.
        terms: i64,                         /// Distinct terms in new documents: for the run all but stop words and `frequent` ones, for a group only kept ones.
        known_terms: i64,                   /// Of these, terms that a training document contains.
        known_term_share: Option<f64>,      /// known_terms over terms, 0 to 1.
        known_token_share: Option<f64>,     /// known_tokens over tokens, 0 to 1.
        topic_shift_js: Option<f64>,        /// Jensen–Shannon distance (base 2) of the topics' shares from those in the training sample.
        topic_shift_hellinger: Option<f64>, /// Hellinger distance of the same.
        loglik_per_token: Option<f64>,      /// Log-likelihood per token in the vocabulary given the documents' own proportions, nats.
        loglik_shift: Option<f64>,          /// That minus the same of the training sample.
        retrain: bool,                      /// True when fewer than 70 % of the distinct terms are known: train again; for the run, only with the model of another result.
    }

    /// Every figure of quality with its method, its unit and its documents, so that only comparable figures
    /// are compared.
    "evaluation";
    pub(crate) struct EvaluationRow<'a> {
        metric: &'a str,             /// The metric (`heldout_loglik_per_token`, `coherence_npmi`, …).
        method: &'a str,             /// How (`document_completion`, …), with what the figure depends on.
        split: &'a str,              /// On which documents (`held_out`, `sample`, `all`).
        unit: &'a str,               /// In which unit (`nats/token`, …).
        value: f64,                  /// The figure.
        standard_error: Option<f64>, /// Its standard error, where one can be given.
    }

    /// The topics of each volume, summed over its sections. One row per volume and topic that is listed in a
    /// section.
    "group_topics", sorted_by [group_id, rank], looked_up_by [group_id];
    pub(crate) struct GroupTopicRow<'a> {
        group_id: &'a str, /// The volume.
        topic: i32,        /// The topic, from 0.
        weight: f32,       /// Σ_d θ_dk N_d / Σ_d N_d over its sections d, with θ as listed in `document_topics`.
        rank: i32,         /// 1 for the volume's largest weight, the lower topic first among equals.
        tokens: i64,       /// Σ_d N_d: tokens in the vocabulary.
        documents: i64,    /// Sections with such tokens.
    }

    /// The label of each topic, if documents have labels, and how well it is predicted. The columns from `evaluated`
    /// on count the documents that have labels and were not trained on; they are null if nothing was projected.
    "labels", sorted_by [topic];
    pub(crate) struct LabelRow<'a> {
        topic: i32,             /// The topic, from 0.
        label: &'a str,         /// Its label.
        documents: i64,         /// Documents with terms that have it.
        evaluated: Option<i64>, /// Of the counted documents, those that have it.
        predicted: Option<i64>, /// Those for which it is predicted.
        hits: Option<i64>,      /// Those for which it is predicted correctly.
        f1: Option<f64>,        /// 2 hits / (predicted + evaluated); null if both are 0.
    }

    /// The detected phrases, if the job detects any.
    "phrases", sorted_by [phrase, first];
    pub(crate) struct PhraseRow<'a> {
        phrase: &'a str, /// The term that replaces the two tokens.
        first: &'a str,  /// The first token, a word or a phrase of the pass before.
        second: &'a str, /// The token that follows it.
        pass: i32,       /// The pass that found it, from 1.
        count: i64,      /// How often the two follow each other in the text of that pass.
        score: f64,      /// Their normalised pointwise mutual information there.
    }

    /// The labels of each document, if documents have labels. One row per document and label that is predicted, or
    /// that it has.
    "predictions", sorted_by [doc_id, rank];
    pub(crate) struct PredictionRow<'a> {
        doc_id: i64,          /// The document.
        rank: i32,            /// 1 for the label with the largest weight in the document, of all labels.
        topic: i32,           /// The label's topic, from 0.
        label: &'a str,       /// The label.
        weight: f32,          /// The share of the document's tokens that it is expected to have, 0 to 1: its proportion without the prior's part.
        predicted: bool,      /// Whether it is predicted.
        actual: Option<bool>, /// Whether the document has it; null if the document has no label.
    }

    /// How topics have moved since the result that training started from. One row per topic.
    "topic_changes", sorted_by [topic];
    pub(crate) struct TopicChangeRow<'a> {
        topic: i32,           /// The topic, from 0; it has the same number in both results.
        distance: f64,        /// Hellinger distance between its terms' distributions before and now: 0 if nothing has changed, at most 1.
        share_before: f64,    /// Its share of the sample's tokens before.
        share: f64,           /// The same now.
        gained: &'a [String], /// Terms that are among its top terms now and were not, the most probable first.
        lost: &'a [String],   /// Terms that were among them and are not now, the most probable first.
    }

    /// Which topics occur together in documents. One row per pair of topics that a document lists.
    "topic_correlations", sorted_by [topic, other];
    pub(crate) struct TopicCorrelationRow {
        topic: i32,               /// A topic, from 0.
        other: i32,               /// A later one.
        correlation: Option<f64>, /// Pearson's correlation of their listed proportions over the documents with terms.
        npmi: Option<f64>,        /// Normalised pointwise mutual information of being listed.
        documents: i64,           /// Documents that list both.
    }

    /// The documents in which each topic's proportion is largest.
    "topic_documents", sorted_by [topic, rank], looked_up_by [source_id];
    pub(crate) struct TopicDocumentRow<'a> {
        topic: i32,         /// The topic, from 0.
        rank: i32,          /// 1 for the document with the largest proportion, then without gaps.
        doc_id: i64,        /// The document.
        source_id: &'a str, /// The input's own id.
        weight: f32,        /// The topic's proportion in it, 0 to 1.
    }

    /// How the topics of a tree-structured prior use its nodes. One row per topic and node within the tree's
    /// structures that has tokens in the topic.
    "topic_nodes", sorted_by [topic, node], looked_up_by [term];
    pub(crate) struct TopicNodeRow<'a> {
        topic: i32,            /// The topic, from 0.
        node: i32,             /// The node, from 1; the root, which has no row, is 0.
        parent: i32,           /// The node above it.
        path: &'a str,         /// The names of the inner nodes on the way to it, its own among them, joined by `/`.
        term: Option<&'a str>, /// Its term, if it is a leaf: a sense of that term.
        weight: f32,           /// The probability that a token of the topic passes it.
        count: f64,            /// Its expected tokens in the sample.
    }

    /// The score of each topic in an evaluation, by metric.
    "topic_scores", sorted_by [topic];
    pub(crate) struct TopicScoreRow<'a> {
        topic: i32,         /// The topic, from 0.
        metric: &'a str,    /// The metric (`coherence_umass`, `coherence_npmi`, `coherence_c_v`).
        split: &'a str,     /// On which documents (`sample`, `all`, `reference`).
        value: Option<f64>, /// The score; `None` for a topic of fewer than two terms.
    }

    /// Each topic's top terms with MALLET's figures for every word of a topic, which show the terms that do
    /// not belong. What is counted on the training sample exists for the first 20 ranks.
    "topic_term_diagnostics", sorted_by [topic, rank], looked_up_by [term];
    pub(crate) struct TopicTermDiagnosticsRow<'a> {
        topic: i32,                             /// The topic, from 0.
        rank: i32,                              /// 1 for the topic's most probable term.
        term_id: i32,                           /// The term's number, from 0.
        term: &'a str,                          /// The term.
        count: f64,                             /// Its expected tokens in the topic, without smoothing, scaled to the sample.
        weight: f32,                            /// Its probability in the topic, smoothing included.
        cumulative: f64,                        /// The probability of this term and those before it.
        documents: Option<i64>,                 /// Training documents that hold it.
        word_length: i32,                       /// Its length in characters.
        coherence: Option<f64>,                 /// The least of its parts in the topic's UMass coherence, or 0: how badly it goes with the terms before it, nats.
        uniform_distance: f64,                  /// Its part in the topic's distance from the uniform distribution, nats.
        corpus_distance: Option<f64>,           /// Its part in the topic's distance from the corpus, nats.
        token_document_difference: Option<f64>, /// Its part in the topic's `token_document_difference`, nats.
        exclusivity: f64,                       /// The share of its probability over all topics that is this topic's, 0 to 1.
    }

    /// The terms of each topic, the sparse φ. A term of the vocabulary without a row has the probability
    /// `topics.absent_weight`, so that φ can be rebuilt in full.
    "topic_terms", sorted_by [topic, rank], looked_up_by [term];
    pub(crate) struct TopicTermRow<'a> {
        topic: i32,    /// The topic, from 0.
        term_id: i32,  /// The term's number, from 0.
        term: &'a str, /// The term.
        weight: f32,   /// Its probability in the topic, smoothing included.
        count: f64,    /// Its expected tokens in the topic, without smoothing (λ̃_kw), scaled to the sample.
        rank: i32,     /// 1 for the topic's most probable term, then without gaps.
    }

    /// The share of each topic by the values of metadata columns. One row per value and topic that a document with
    /// the value lists.
    "topic_trends", sorted_by [name, value, value_count, topic];
    pub(crate) struct TopicTrendRow<'a> {
        name: &'a str,          /// The column of `documents`.
        value: Option<&'a str>, /// Its value; null for the documents of other values, and for those without one.
        value_count: i64,       /// How many values the row covers: 1 for a named value, the number of all others in their row, 0 for documents without a value.
        topic: i32,             /// The topic, from 0.
        share: f64,             /// Σ_d θ_dk N_d / Σ_d N_d over the documents d with the value, with θ as listed in `document_topics`.
        low: Option<f64>,       /// The 2.5 % quantile of the share over bootstrap replicates.
        high: Option<f64>,      /// The 97.5 % quantile.
        tokens: i64,            /// Σ_d N_d: tokens in the vocabulary.
        documents: i64,         /// Documents with the value and with such tokens.
    }

    /// One row per topic, with its size, its words and its quality. Figures that cannot be computed (a dead
    /// topic has no coherence, and without a projection no topic has documents) are `None`, never NaN.
    "topics", sorted_by [topic];
    pub struct TopicRow<'a> {
        topic: i32,                             /// The topic, from 0.
        alpha: f64,                             /// α_k, its parameter in the documents' Dirichlet prior.
        absent_weight: f64,                     /// Probability in the topic of each term that has no row in `topic_terms`.
        tokens: i64,                            /// Tokens of the collection assigned to the topic, rounded.
        share: f64,                             /// The topic's share of all assigned tokens, 0 to 1.
        top_terms: &'a [String],                /// The most probable terms, best first.
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

    /// One row per training round. The columns of time and traffic are the only ones of any table that may
    /// differ between runs; the digest leaves them out.
    "training_log", sorted_by [round];
    pub(crate) struct TrainingLogRow<'a> {
        round: i32,                            /// The round, from 0.
        pass: i32,                             /// The pass over the training sample it belongs to, from 0.
        phase: &'a str,                        /// The phase it belongs to: `online` or `gibbs`.
        documents_seen: i64,                   /// Documents trained on so far, counted at each visit.
        tokens_seen: i64,                      /// Tokens trained on so far, counted at each visit.
        step_size: f64,                        /// ρ_t, the step size of the round: in Gibbs rounds, their share of the documents.
        alpha_sum: f64,                        /// A = Σ_k α_k, the prior that documents were sampled with.
        seconds: f64,                          /// Training time so far, without loading, evaluation and checkpoints, in seconds.
        tokens_per_second: f64,                /// Tokens of this round per second of it.
        heldout_loglik_per_token: Option<f64>, /// Log-likelihood per held-out token by document completion, nats, in the rounds that measured it.
        nonzero_share: f64,                    /// Share of the K × V parameters that are above their prior.
        preparing_seconds: f64,                /// Seconds of worker 0 in this round: preparing factors,
        sampling_seconds: f64,                 /// sampling documents,
        aggregating_seconds: f64,              /// adding up its own statistics,
        exchanging_seconds: f64,               /// exchanging and merging them, waiting for other workers included,
        updating_seconds: f64,                 /// and changing the model.
        bytes_exchanged: i64,                  /// Bytes the processes exchanged in this round.
    }

    /// Every term that ingest counted, kept or not. The kept ones come first, by number.
    "vocabulary", sorted_by [term_id], looked_up_by [term];
    pub(crate) struct VocabularyRow<'a> {
        term_id: Option<i32>, /// The term's number, from 0; `None` for terms that were not kept.
        term: &'a str,        /// The term.
        count: i64,           /// Tokens in the collection.
        document_count: i64,  /// Documents that hold the term.
        status: &'a str,      /// `kept`, `stop`, `rare` or `frequent`: why the term was left out, if it was.
    }
}
