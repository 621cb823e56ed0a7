//! Which number of topics to take, from models of several numbers, each trained with several seeds.
//!
//! A topic that is in the documents is found by every seed; a topic that training has to invent differs from seed to
//! seed. The number of topics of a model that another seed finds again grows with the number of topics that are trained
//! until all are found, and then stays: it says how many there are.

use crate::evaluate::assignment::assign;

/// The Hellinger distance up to which matched topics of two seeds are the same topic.
///
/// Of 20 matched topics of two seeds in each band on two collections, 17 were the same by reading their terms at 0.4 to
/// 0.5, 13 at 0.5 to 0.6, and 7 at 0.6 to 0.7; the nearest other topic of the *same* model is beyond 0.5 for 99 % of the
/// topics.
const SAME_ACROSS_SEEDS: f64 = 0.5;

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
    /// The number of topics.
    pub topics: u32,
    /// The held-out log-likelihood per token less that of the best number, in nats: at most 0.
    pub difference: Option<f64>,
    /// The standard error of the difference.
    pub difference_error: Option<f64>,
    /// The number of topics that another seed finds again, in the mean over seeds; `None` with one seed.
    pub stable_topics: Option<f64>,
}

impl SizeFigures {
    /// Whether held-out documents are predicted as well as by the best number, as far as the error says.
    pub fn is_best(&self) -> bool {
        let best = |difference: f64| difference + self.difference_error.unwrap_or(0.0) >= 0.0;
        self.difference.is_some_and(best)
    }
}

/// Returns the places of the recommended numbers among all, which ascend: that of the first, which is the recommended one,
/// and that of the last. `None` if no topic is found again, or if there is one seed and no held-out document.
///
/// The first one is nearest, by ratio, to the most topics that are found again. The last one finds as many again as the
/// first, and does not exceed the first number that predicts held-out documents as well as the best. With one seed, both
/// are this number.
pub fn recommend(sizes: &[SizeFigures]) -> Option<[usize; 2]> {
    let best = sizes.iter().position(SizeFigures::is_best);
    let most = sizes.iter().filter_map(|size| size.stable_topics).max_by(f64::total_cmp);
    let Some(most) = most else {
        return best.map(|best| [best, best]);
    };
    let ratio = |place: &usize| {
        let topics = f64::from(sizes[*place].topics);
        (topics / most).max(most / topics)
    };
    let nearest = (0..sizes.len()).min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let first = nearest.filter(|_| most >= 1.0)?;
    let keeps = |place: &usize| sizes[*place].stable_topics >= sizes[first].stable_topics;
    let last = (first..=best.unwrap_or(first)).rev().find(keeps);
    Some([first, last.unwrap_or(first)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(rows: &[(u32, f64, f64, Option<f64>)]) -> Vec<SizeFigures> {
        let size = |&(topics, difference, error, stable_topics): &(_, f64, f64, Option<f64>)| {
            SizeFigures {
                topics,
                difference: Some(difference),
                difference_error: Some(error),
                stable_topics,
            }
        };
        rows.iter().map(size).collect()
    }

    #[test]
    fn the_number_that_is_nearest_to_the_topics_found_again() {
        // 60 planted topics.
        let planted = [
            (40, -0.023, 0.012, Some(31.0)),
            (60, 0.0, 0.0, Some(48.0)),
            (90, -0.011, 0.010, Some(52.0)),
            (300, -0.058, 0.013, Some(61.0)),
        ];
        assert_eq!(recommend(&sizes(&planted)), Some([1, 1]));
        // 150 planted topics: larger numbers predict better, and find as many again.
        let few = [
            (120, -0.016, 0.007, Some(100.0)),
            (150, -0.010, 0.007, Some(116.0)),
            (200, -0.002, 0.005, Some(130.0)),
            (300, 0.0, 0.0, Some(146.0)),
        ];
        assert_eq!(recommend(&sizes(&few)), Some([1, 2]));
        // The number that predicts best finds fewer.
        let real = [
            (20, -0.1, 0.01, Some(14.0)),
            (50, -0.05, 0.01, Some(23.0)),
            (100, -0.03, 0.01, Some(17.0)),
            (200, 0.0, 0.0, Some(11.0)),
        ];
        assert_eq!(recommend(&sizes(&real)), Some([0, 2]));
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
        let one = [(10, -0.3, 0.01, None), (20, -0.005, 0.01, None), (40, 0.0, 0.0, None)];
        assert_eq!(recommend(&sizes(&one)), Some([1, 1]));
        assert_eq!(recommend(&[SizeFigures::default()]), None);
        assert_eq!(recommend(&sizes(&[(9, 0.0, 0.0, Some(0.0))])), None);
        assert_eq!(recommend(&[]), None);
    }
}
