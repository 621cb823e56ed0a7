//! Which number of topics to take, from models of several numbers, each trained with several seeds.
//!
//! A topic that is in the documents is found by every seed; a topic that training has to invent differs from seed to
//! seed. The number of topics of a model that another seed finds again grows with the number of topics that are trained
//! until all are found, and then stays; so does the likelihood of held-out documents, which then falls. The number from
//! which on one of them gains little is recommended.

use crate::evaluate::assignment::assign;

/// The Hellinger distance up to which matched topics of two seeds are the same topic.
///
/// Of 20 matched topics of two seeds in each band on two collections, 17 were the same by reading their terms at 0.4 to
/// 0.5, 13 at 0.5 to 0.6, and 7 at 0.6 to 0.7; the nearest other topic of the *same* model is beyond 0.5 for 99 % of the
/// topics.
const SAME_ACROSS_SEEDS: f64 = 0.5;

/// The share of the most topics found again that is most of them.
const MOST_OF_THEM: f64 = 0.7;

/// Returns for each row of a table of Hellinger distances, of the topics of two models, the column of its partner, and
/// their distance: the same topic, found again. Pairs are matched one to one so that the sum of the distances is least,
/// where all that are too far apart count the same; these have no partner.
///
/// # Panics
///
/// Panics if `distances` is not rows × columns long.
pub fn partners(distances: &[f64], rows: usize, columns: usize) -> Vec<Option<(usize, f64)>> {
    let costs: Vec<f64> = distances.iter().map(|it| it.min(SAME_ACROSS_SEEDS)).collect();
    let partner = |(row, column): (usize, Option<usize>)| {
        let found = column.map(|column| (column, distances[row * columns + column]));
        found.filter(|(_, distance)| *distance <= SAME_ACROSS_SEEDS)
    };
    assign(&costs, rows, columns).into_iter().enumerate().map(partner).collect()
}

/// The figures of one number of topics, as means over the models of its seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SizeFigures {
    /// The held-out log-likelihood per token less that of the best number, in nats: at most 0.
    pub difference: Option<f64>,
    /// The standard error of the difference.
    pub difference_error: Option<f64>,
    /// The number of topics that another seed finds again, in the mean over seeds; `None` with one seed.
    pub stable_topics: Option<f64>,
}

impl SizeFigures {
    /// Whether it has most of the topics that are found again, of which there are at most `most`.
    fn has_most(&self, most: f64) -> bool {
        self.stable_topics.is_some_and(|it| it >= MOST_OF_THEM * most)
    }

    /// Whether held-out documents are predicted as well as by the best number, as far as the error says.
    fn is_best(&self) -> bool {
        let best = |difference: f64| difference + self.difference_error.unwrap_or(0.0) >= 0.0;
        self.difference.is_some_and(best)
    }
}

/// Returns the places of the recommended numbers among all, ascending: that of the first, which is the recommended one,
/// and that of the last that is worth its topics. `None` if no topic is found again, or if there is one seed and no
/// held-out document.
///
/// The first one either has most of the topics that are found again, or predicts held-out documents as well as the best
/// number; the last one has most of them and predicts as well as any number that has. With one seed, both predict as well
/// as the best.
pub fn recommend(sizes: &[SizeFigures]) -> Option<[usize; 2]> {
    let most = sizes.iter().filter_map(|size| size.stable_topics).max_by(f64::total_cmp);
    if most.is_some_and(|most| most < 1.0) {
        return None;
    }
    let best = sizes.iter().position(SizeFigures::is_best);
    let Some(most) = most else {
        return best.map(|best| [best, best]);
    };
    let places: Vec<usize> =
        (0..sizes.len()).filter(|&place| sizes[place].has_most(most)).collect();
    let likelihood = |place: &&usize| sizes[**place].difference.unwrap_or(f64::NEG_INFINITY);
    let as_good = places.iter().find(|place| sizes[**place].is_best());
    let highest = || places.iter().max_by(|a, b| likelihood(a).total_cmp(&likelihood(b)));
    let last = *as_good.or_else(highest)?;
    Some([best.map_or(places[0], |best| best.min(places[0])), last])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(rows: &[(f64, f64, Option<f64>)]) -> Vec<SizeFigures> {
        let size = |&(difference, error, stable_topics): &(f64, f64, Option<f64>)| SizeFigures {
            difference: Some(difference),
            difference_error: Some(error),
            stable_topics,
        };
        rows.iter().map(size).collect()
    }

    #[test]
    fn the_first_number_from_which_on_something_gains_little() {
        // 60 planted topics; of 20, 40, 60, 80, 120.
        let planted = [
            (-0.7, 0.01, Some(0.0)),
            (-0.3, 0.01, Some(14.0)),
            (-0.05, 0.01, Some(58.0)),
            (0.0, 0.0, Some(58.0)),
            (-0.02, 0.01, Some(59.0)),
        ];
        assert_eq!(recommend(&sizes(&planted)), Some([2, 3]));
        // The number that predicts best has too few of them.
        let real = [(-0.1, 0.01, Some(11.0)), (-0.03, 0.01, Some(18.0)), (0.0, 0.0, Some(12.0))];
        assert_eq!(recommend(&sizes(&real)), Some([1, 1]));
        // 150 planted topics in few documents; of 90, 120, 150, 200, 300.
        let few = [
            (-0.015, 0.012, Some(67.0)),
            (-0.001, 0.010, Some(82.0)),
            (0.0, 0.0, Some(92.0)),
            (-0.008, 0.011, Some(110.0)),
            (-0.015, 0.011, Some(120.0)),
        ];
        assert_eq!(recommend(&sizes(&few)), Some([1, 2]));
    }

    #[test]
    fn topics_far_from_all_leave_the_others_their_partners() {
        // By the sum of all distances, the first row would take the second column.
        let distances = [0.4, 0.9, 0.45, 0.3];
        assert_eq!(partners(&distances, 2, 2), [Some((0, 0.4)), Some((1, 0.3))]);
        let distances = [0.4, 0.6, 0.45, 0.95];
        assert_eq!(partners(&distances, 2, 2), [Some((0, 0.4)), None]);
        assert_eq!(partners(&distances, 1, 4), [Some((0, 0.4))]);
    }

    #[test]
    fn without_other_seeds_held_out_documents_decide() {
        let one = [(-0.3, 0.01, None), (-0.005, 0.01, None), (0.0, 0.0, None)];
        assert_eq!(recommend(&sizes(&one)), Some([1, 1]));
        assert_eq!(recommend(&[SizeFigures::default()]), None);
        assert_eq!(recommend(&sizes(&[(0.0, 0.0, Some(0.0))])), None);
        assert_eq!(recommend(&[]), None);
    }
}
