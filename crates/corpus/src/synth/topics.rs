//! The generative model of generated corpora: latent Dirichlet allocation with planted topics.
//!
//! - Terms 0 … G−1, G = min(100, V/20), are *common*: they share a tenth of every topic by a power
//!   law of their number, as function words do.
//! - Topic k's *head* is H = max(20, ⌊4V/K⌋ + 1) terms (at most V) in an order drawn for it. They share the rest:
//!   Dirichlet(10 H z_r), where z_r ∝ 1/r is Zipf's law of the rank in that order, normalised. So a topic is
//!   Zipfian with irregularities, a term is in some four heads on average, and all heads together are some 4V
//!   numbers up to K = V/5.
//! - A document has Poisson(`mean_length`) words; their topics follow proportions θ_d ~
//!   Dirichlet(`alpha_sum`/K), with θ_d integrated out: Pólya's urn (Blackwell & MacQueen 1973).
//!
//! Every topic and every document has its own random stream.

use crate::synth_settings::SynthSettings;
use lda::math::draw::{categorical, dirichlet, poisson, prefix_sums};
use lda::math::random::{Stage, Stream};
use lda::math::special::pow;

/// Rounds of [`Stage::Synth`]: the purposes of streams.
const TOPIC_ROUND: u64 = 0;
const DOCUMENT_ROUND: u64 = 1;

/// The common terms' share of each topic.
const COMMON_SHARE: f64 = 0.1;
/// Maximum number of common terms.
const COMMON_TERMS: usize = 100;
/// Heads that a term is in, on average.
const HEADS_PER_TERM: usize = 4;
/// The shortest head.
const SHORTEST_HEAD: usize = 20;
/// How closely heads follow the power law: the mean of the Dirichlet's parameters.
const REGULARITY: f64 = 10.0;

/// One planted topic.
struct PlantedTopic {
    /// Its terms, heaviest first (on a tie, the smaller term first).
    terms: Vec<u32>,
    /// Their probabilities, which sum to 1.
    weights: Vec<f64>,
    /// The running sums of `weights`.
    cumulative: Vec<f64>,
}

/// The planted topics, and documents drawn from them.
pub(crate) struct PlantedTopics {
    topics: Vec<PlantedTopic>,
    seed: u64,
    mean_length: f64,
    alpha_sum: f64,
}

/// A document as drawn: the topic and the term of each word. Buffers are reused.
#[derive(Debug, Default)]
pub(crate) struct DrawnDocument {
    /// Each word's topic.
    pub topics: Vec<u32>,
    /// Each word's term; as long as `topics`.
    pub terms: Vec<u32>,
}

impl PlantedTopics {
    /// Plants the topics. `settings` must have no [`problem`](SynthSettings::problem).
    pub(crate) fn plant(settings: &SynthSettings) -> Self {
        let head = settings.vocabulary * HEADS_PER_TERM / settings.topics + 1;
        let head = head.max(SHORTEST_HEAD).min(settings.vocabulary);
        let zipf = zipf_law(head);
        let mut common = zipf_law(COMMON_TERMS.min(settings.vocabulary / 20));
        for weight in &mut common {
            *weight *= COMMON_SHARE;
        }
        let order: Vec<u32> = (0..settings.vocabulary as u32).collect();
        let mut shuffled = order.clone();
        let topics = (0..settings.topics as u64).map(|topic| {
            let mut stream = Stream::keyed(settings.seed, Stage::Synth, TOPIC_ROUND, topic);
            shuffled.copy_from_slice(&order);
            for rank in 0..head {
                let left = (shuffled.len() - rank) as u64;
                shuffled.swap(rank, rank + stream.below(left) as usize);
            }
            let mut weights: Vec<f64> = zipf.iter().map(|z| REGULARITY * head as f64 * z).collect();
            dirichlet(&mut stream, &mut weights);
            PlantedTopic::new(&shuffled[..head], &weights, &common)
        });
        Self {
            topics: topics.collect(),
            seed: settings.seed,
            mean_length: settings.mean_length,
            alpha_sum: settings.alpha_sum,
        }
    }

    /// Returns the number of topics.
    pub(crate) fn topic_count(&self) -> usize {
        self.topics.len()
    }

    /// Returns a topic's terms and their probabilities, heaviest first.
    pub(crate) fn topic(&self, topic: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let topic = &self.topics[topic];
        topic.terms.iter().copied().zip(topic.weights.iter().copied())
    }

    /// Draws the document with this number, which may have no words.
    pub(crate) fn draw(&self, number: u64, document: &mut DrawnDocument) {
        let mut stream = Stream::keyed(self.seed, Stage::Synth, DOCUMENT_ROUND, number);
        document.topics.clear();
        document.terms.clear();
        for word in 0..poisson(&mut stream, self.mean_length) {
            let topic = self.draw_topic(&mut stream, &document.topics, word);
            let planted = &self.topics[topic as usize];
            let place = categorical(&mut stream, &planted.cumulative);
            document.topics.push(topic);
            document.terms.push(planted.terms[place]);
        }
    }

    /// Draws from Pólya's urn: p(z_i = k | z_<i) = (α_k + n_dk) / (A + i), by drawing a new topic with probability A /
    /// (A + i) and otherwise that of one of the i words before.
    fn draw_topic(&self, stream: &mut Stream, before: &[u32], word: u64) -> u32 {
        let point = stream.uniform() * (self.alpha_sum + word as f64) - self.alpha_sum;
        if point < 0.0 || before.is_empty() {
            return stream.below(self.topics.len() as u64) as u32;
        }
        before[(point as usize).min(before.len() - 1)]
    }
}

impl PlantedTopic {
    /// Joins a head of these weights (which sum to 1), scaled to leave room, with the common terms.
    fn new(head: &[u32], weights: &[f64], common: &[f64]) -> Self {
        let room = if common.is_empty() { 1.0 } else { 1.0 - COMMON_SHARE };
        let mut entries: Vec<(u32, f64)> =
            head.iter().copied().zip(weights.iter().map(|w| w * room)).collect();
        entries.extend((0..).zip(common.iter().copied()));
        entries.sort_by_key(|e| e.0);
        entries.dedup_by(|common, head| {
            let same = common.0 == head.0;
            if same {
                head.1 += common.1;
            }
            same
        });
        entries.retain(|e| e.1 > 0.0);
        entries.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let (terms, weights): (Vec<u32>, Vec<f64>) = entries.into_iter().unzip();
        Self { cumulative: prefix_sums(&weights), terms, weights }
    }
}

/// Returns `count` numbers ∝ 1/r, r = 1 … count, that sum to 1.
fn zipf_law(count: usize) -> Vec<f64> {
    let mut weights: Vec<f64> = (1..=count).map(|r| pow(r as f64, -1.0)).collect();
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= sum;
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> SynthSettings {
        SynthSettings {
            topics: 8,
            documents: 0,
            vocabulary: 400,
            mean_length: 12.0,
            alpha_sum: 0.5,
            seed: 4,
        }
    }

    #[test]
    fn topics_are_distributions_over_their_heads_and_the_common_terms() {
        let planted = PlantedTopics::plant(&settings());
        assert_eq!(planted.topic_count(), 8);
        for k in 0..8 {
            let entries: Vec<(u32, f64)> = planted.topic(k).collect();
            let sum: f64 = entries.iter().map(|e| e.1).sum();
            assert!((sum - 1.0).abs() < 1e-12);
            assert!(entries.windows(2).all(|w| w[0].1 >= w[1].1), "heaviest first");
            assert!((201..=220).contains(&entries.len()));
            let common: f64 = entries.iter().filter(|e| e.0 < 20).map(|e| e.1).sum();
            assert!(common >= COMMON_SHARE - 1e-12);
            let mut terms: Vec<u32> = entries.iter().map(|e| e.0).collect();
            terms.sort_unstable();
            terms.dedup();
            assert_eq!(terms.len(), entries.len());
        }
    }

    #[test]
    fn head_weights_follow_the_power_law() {
        // The heaviest of 201 head terms has 0.9 / (Σ 1/r = 5.883) on average.
        let settings = SynthSettings { topics: 200, vocabulary: 10_000, ..settings() };
        let planted = PlantedTopics::plant(&settings);
        let first: f64 =
            (0..200).map(|k| planted.topic(k).find(|e| e.0 >= 100).map_or(0.0, |e| e.1)).sum();
        assert!((first / 200.0 - 0.9 / 5.883).abs() < 0.01, "{}", first / 200.0);
    }

    #[test]
    fn words_are_drawn_from_the_topics() {
        // With one topic, term frequencies are the topic itself: χ² over its terms.
        let settings = SynthSettings { topics: 1, vocabulary: 60, ..settings() };
        let planted = PlantedTopics::plant(&settings);
        let mut counts = vec![0_u32; 60];
        let mut document = DrawnDocument::default();
        for number in 0..10_000 {
            planted.draw(number, &mut document);
            for &term in &document.terms {
                counts[term as usize] += 1;
            }
        }
        let total = f64::from(counts.iter().sum::<u32>());
        assert!((total / 10_000.0 - 12.0).abs() < 0.18, "mean length");
        let chi: f64 = planted
            .topic(0)
            .map(|(term, weight)| {
                let expected = weight * total;
                (f64::from(counts[term as usize]) - expected).powi(2) / expected
            })
            .sum();
        assert!(chi < 120.0, "χ² = {chi} with at most 59 degrees of freedom");
    }

    #[test]
    fn topics_of_a_document_follow_the_dirichlet() {
        // Two words share their topic with probability (α + 1) / (A + 1), α = A/K = 1/16.
        let planted = PlantedTopics::plant(&settings());
        let mut document = DrawnDocument::default();
        let (mut same, mut pairs, mut topics) = (0.0, 0.0, [0.0; 8]);
        for number in 0..40_000 {
            planted.draw(number, &mut document);
            if let [.., before_last, last] = document.topics[..] {
                pairs += 1.0;
                same += f64::from(u8::from(before_last == last));
                topics[last as usize] += 1.0;
            }
        }
        let expected = (1.0 / 16.0 + 1.0) / 1.5;
        assert!((same / pairs - expected).abs() < 0.0115, "{}", same / pairs);
        for count in topics {
            assert!((count / pairs - 0.125_f64).abs() < 0.0083);
        }
    }

    #[test]
    fn a_single_word_vocabulary_works() {
        let settings = SynthSettings { topics: 2, vocabulary: 1, ..settings() };
        let planted = PlantedTopics::plant(&settings);
        assert_eq!(planted.topic(1).collect::<Vec<_>>(), [(0, 1.0)]);
    }
}
