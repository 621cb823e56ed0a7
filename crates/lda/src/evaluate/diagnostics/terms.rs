//! Figures of single top terms: those that MALLET's `TopicModelDiagnostics` reports for each word, and the topic's
//! figures derived from them.
//!
//! MALLET takes p(w|k) from the assignments of its last sweep; here it is the published φ_kw, including
//! smoothing. MALLET sums over the words that have tokens in the topic; we sum over all terms.

use crate::evaluate::TermDistribution;
use crate::evaluate::drift::jensen_shannon_part;
use crate::evaluate::junk::CorpusDistribution;
use crate::math::special::ln;

/// One top term's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct TermDiagnostics {
    /// The term.
    pub term: u32,
    /// φ_kw (MALLET's `prob`).
    pub weight: f32,
    /// Σ φ_kw over this term and those before it (`cumulative`).
    pub cumulative: f64,
    /// Its contribution to the topic's distance from the uniform distribution, φ_kw ln(φ_kw V), in
    /// nats (`uniform_dist`). It can be negative; the sum over the vocabulary cannot.
    pub uniform_distance: f64,
    /// Its contribution to the topic's distance from the corpus, φ_kw ln(φ_kw / p_w), in nats
    /// (`corpus_dist`); `None` for a term without tokens.
    pub corpus_distance: Option<f64>,
    /// φ_kw / Σ_k' φ_k'w (`exclusivity`): this topic's share of the term.
    pub exclusivity: f64,
}

/// Returns the figures of a topic's `most` heaviest listed terms, heaviest first.
///
/// `sums`: Σ_k φ_kw of each term, from [`column_sums`](super::column_sums); `corpus`: the
/// collection's distribution.
pub fn diagnose_terms(
    topic: &TermDistribution<'_>,
    sums: &[f64],
    corpus: &CorpusDistribution,
    most: usize,
) -> Vec<TermDiagnostics> {
    let uniform = ln(topic.vocabulary_size as f64);
    let mut cumulative = 0.0;
    let figures = |(term, weight): (u32, f32)| {
        let probability = f64::from(weight);
        cumulative += probability;
        let logarithm = ln(probability);
        let corpus_distance = probability * (logarithm + corpus.surprisal(term));
        TermDiagnostics {
            term,
            weight,
            cumulative,
            uniform_distance: probability * (logarithm + uniform),
            corpus_distance: corpus_distance.is_finite().then_some(corpus_distance),
            exclusivity: probability / sums[term as usize],
        }
    };
    let listed = topic.top_entries(most).into_iter();
    listed.filter(|entry| entry.1 > 0.0).map(figures).collect()
}

/// Returns each top term's contribution to the divergence between token shares and document shares,
/// in nats: the Jensen–Shannon divergence ½ Σ p ln(p / m) + ½ Σ q ln(q / m) with
/// p = φ_kw / Σ φ_kw and q = D(w) / Σ D(w) over the top terms, m = (p + q) / 2 (MALLET's
/// `token-doc-diff`). The topic's figure is their sum, from 0 to ln 2: large if a few documents
/// repeat a term many times.
///
/// For D(w), MALLET counts documents in which a token of w is assigned to the topic; we count all
/// documents that contain w. `None` if no top term is in any document.
///
/// # Panics
///
/// Panics if `weights` and `documents` differ in length.
pub fn token_document_difference(weights: &[f32], documents: &[u64]) -> Option<Vec<f64>> {
    assert_eq!(weights.len(), documents.len(), "documents of each term");
    let weight_sum: f64 = weights.iter().map(|&w| f64::from(w)).sum();
    let document_sum = documents.iter().sum::<u64>() as f64;
    if weight_sum <= 0.0 || document_sum <= 0.0 {
        return None;
    }
    let part = |(&weight, &documents): (&f32, &u64)| {
        let p = f64::from(weight) / weight_sum;
        jensen_shannon_part(p, documents as f64 / document_sum)
    };
    Some(weights.iter().zip(documents).map(part).collect())
}

/// Returns the mean length of terms in characters (MALLET's `word-length`, which counts UTF-16 units
/// and divides by the requested number of words, even if there are fewer); `None` for no terms.
///
/// ```
/// use lda::evaluate::diagnostics::terms::mean_length;
/// assert_eq!(mean_length(["für", "an"].into_iter()), Some(2.5));
/// ```
pub fn mean_length<'t>(terms: impl Iterator<Item = &'t str>) -> Option<f64> {
    let (mut characters, mut count) = (0, 0);
    for term in terms {
        characters += length(term);
        count += 1;
    }
    (count > 0).then(|| characters as f64 / f64::from(count))
}

/// Returns a term's length in characters.
pub fn length(term: &str) -> usize {
    term.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::diagnostics::{column_sums, diagnose, entropy};
    use crate::evaluate::junk::uniform_distance;

    /// Two topics over four terms: 1/2, 1/4, 1/8, 1/8 and 1/8, 1/8, 1/4, 1/2.
    const FIRST: [(u32, f32); 4] = [(0, 0.5), (1, 0.25), (2, 0.125), (3, 0.125)];
    const SECOND: [(u32, f32); 4] = [(0, 0.125), (1, 0.125), (2, 0.25), (3, 0.5)];
    /// Tokens of each term: shares of 5/16, 3/16, 3/16, 5/16, which is the mean of the topics.
    const TOKENS: [u64; 4] = [5, 3, 3, 5];

    fn topic(entries: &[(u32, f32)]) -> TermDistribution<'_> {
        TermDistribution { entries, absent_weight: 0.0, vocabulary_size: 4 }
    }

    #[test]
    fn each_figure_of_two_topics_worked_out_by_hand() {
        let topics = [topic(&FIRST), topic(&SECOND)];
        let (sums, corpus) = (column_sums(&topics), CorpusDistribution::new(&TOKENS));
        let found = diagnose_terms(&topics[0], &sums, &corpus, 3);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} is not {b}");
        let expected = [
            (0, 0.5, 0.5, 0.5 * ln(2.0), 0.5 * ln(1.6), 0.8),
            (1, 0.25, 0.75, 0.0, 0.25 * ln(4.0 / 3.0), 2.0 / 3.0),
            (2, 0.125, 0.875, -0.125 * ln(2.0), 0.125 * ln(2.0 / 3.0), 1.0 / 3.0),
        ];
        assert_eq!(found.len(), 3);
        for (figures, (term, weight, cumulative, uniform, corpus, exclusivity)) in
            found.iter().zip(expected)
        {
            assert_eq!((figures.term, figures.weight), (term, weight));
            near(figures.cumulative, cumulative);
            near(figures.uniform_distance, uniform);
            near(figures.corpus_distance.expect("it has tokens"), corpus);
            near(figures.exclusivity, exclusivity);
        }
    }

    #[test]
    fn the_parts_of_all_terms_make_the_topic_s_figure() {
        let topics = [topic(&FIRST), topic(&SECOND)];
        let (sums, corpus) = (column_sums(&topics), CorpusDistribution::new(&TOKENS));
        let parts = diagnose_terms(&topics[1], &sums, &corpus, 10);
        let sum = |part: fn(&TermDiagnostics) -> f64| parts.iter().map(part).sum::<f64>();
        let whole = &diagnose(&topics, &[10.0, 10.0], &TOKENS)[1];
        let distance = whole.corpus_distance.expect("every term has tokens");
        assert!((sum(|p| p.corpus_distance.unwrap_or(0.0)) - distance).abs() < 1e-12);
        let uniform = uniform_distance(&topics[1], entropy(&topics[1]));
        assert!((sum(|p| p.uniform_distance) - uniform).abs() < 1e-12);
        assert!((sum(|p| p.exclusivity) / 4.0 - whole.exclusivity).abs() < 1e-12);
    }

    #[test]
    fn tokens_and_documents_differ_as_the_divergence_says() {
        let parts = token_document_difference(&[0.3, 0.1], &[10, 30]).expect("documents");
        let (p, q) = ([0.75_f64, 0.25], [0.25, 0.75]);
        for ((part, p), q) in parts.iter().zip(p).zip(q) {
            let expected = 0.5 * p * ln(p / 0.5) + 0.5 * q * ln(q / 0.5);
            assert!((part - expected).abs() < 1e-7, "{part} is not {expected}");
        }
        let alike = token_document_difference(&[0.5, 0.25], &[8, 4]).expect("documents");
        assert_eq!(alike, [0.0, 0.0]);
        let apart = token_document_difference(&[0.5, 0.0], &[0, 4]).expect("documents");
        assert!((apart.iter().sum::<f64>() - ln(2.0)).abs() < 1e-15);
        assert_eq!(token_document_difference(&[0.5], &[0]), None);
        assert_eq!(token_document_difference(&[], &[]), None);
    }

    #[test]
    fn lengths_are_in_characters() {
        assert_eq!(mean_length(["œuvre", "a"].into_iter()), Some(3.0));
        assert_eq!(mean_length([].into_iter()), None);
    }
}
