//! The relevance of terms to a topic (Sievert & Shirley 2014, "LDAvis", §3.1).

/// The two parts of a term's relevance to a topic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relevance {
    /// ln φ_kw.
    pub log_probability: f64,
    /// ln (φ_kw / p_w), where p_w is the term's share of all tokens.
    pub log_lift: f64,
}

impl Relevance {
    /// Returns the relevance λ ln φ_kw + (1 − λ) ln (φ_kw / p_w) (their Eq. 1).
    ///
    /// ```
    /// use lda::evaluate::relevance::Relevance;
    /// let term = Relevance { log_probability: -3.0, log_lift: 1.0 };
    /// assert_eq!([term.at(1.0), term.at(0.0), term.at(0.5)], [-3.0, 1.0, -1.0]);
    /// ```
    pub fn at(&self, lambda: f64) -> f64 {
        lambda * self.log_probability + (1.0 - lambda) * self.log_lift
    }
}

/// Returns the indices, ascending, of the terms that are among the `count` most relevant for at
/// least one of λ = 0, 1/steps, …, 1: all that a display with a slider of `steps` steps can show.
/// Ties go to the earlier term.
pub fn most_relevant(terms: &[Relevance], count: usize, steps: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..terms.len()).collect();
    if count >= terms.len() {
        return order;
    }
    let mut is_chosen = vec![false; terms.len()];
    for step in 0..=steps {
        let lambda = f64::from(step) / f64::from(steps);
        order.select_nth_unstable_by(count, |&a, &b| {
            let [of_a, of_b] = [a, b].map(|place| terms[place].at(lambda));
            of_b.total_cmp(&of_a).then(a.cmp(&b))
        });
        order[..count].iter().for_each(|&place| is_chosen[place] = true);
    }
    (0..terms.len()).filter(|&place| is_chosen[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_relevant_of_every_step_are_chosen_and_no_others() {
        let terms: Vec<Relevance> = (0..50)
            .map(|place| {
                let [x, y] = [37, 11].map(|factor| f64::from(place * factor % 50));
                Relevance { log_probability: -x, log_lift: y - 25.0 }
            })
            .collect();
        let mut expected = std::collections::BTreeSet::new();
        for step in 0..=4 {
            let mut order: Vec<usize> = (0..50).collect();
            let relevance = |place: usize| terms[place].at(f64::from(step) / 4.0);
            order.sort_by(|&a, &b| relevance(b).total_cmp(&relevance(a)));
            expected.extend(order[..6].iter().copied());
        }
        let chosen = most_relevant(&terms, 6, 4);
        assert_eq!(chosen, expected.into_iter().collect::<Vec<_>>());
        assert!((7..50).contains(&chosen.len()));
        assert_eq!(most_relevant(&terms, 50, 4).len(), 50);
        assert_eq!(most_relevant(&[], 6, 4), []);
    }
}
