//! NAIVE: a token's conditional by enumeration of every topic and path (Hu & Boyd-Graber 2012,
//! Eq. 1), in O(K L S) for S paths of L edges. It defines the distribution of the other samplers.

use super::counts::Assignment;
use super::state::State;
use lda::math::draw::first_beyond;

/// Draws by enumeration, reusing its buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct Naive {
    masses: Vec<f64>,
}

impl Naive {
    /// Returns the unnormalised p(z = k, l = λ | rest) for each path and topic of a term whose token
    /// is not counted, path by path.
    pub(super) fn masses(&mut self, state: &State<'_>, term: u32) -> &[f64] {
        let State { tree, alpha, counts, document } = state;
        self.masses.clear();
        for leaf in tree.leaves_of(term) {
            self.masses.extend(alpha.iter().zip(0..).map(|(alpha, topic)| {
                let path = counts.path_probability(tree, Assignment { topic, leaf });
                (alpha + document.count(topic)) * path
            }));
        }
        &self.masses
    }

    /// Returns the topic and path at the share `uniform`, in [0, 1), of the total mass; the total
    /// mass as an error if it cannot be drawn from.
    pub(super) fn draw(
        &mut self,
        state: &State<'_>,
        term: u32,
        uniform: f64,
    ) -> Result<Assignment, f64> {
        let first = state.tree.leaves_of(term).start;
        let topics = state.alpha.len();
        let masses = self.masses(state, term);
        let total: f64 = masses.iter().sum();
        let masses = (0..).zip(masses.iter().copied());
        let place: usize = pick(masses, uniform * total, total)?;
        Ok(Assignment { topic: (place % topics) as u16, leaf: first + (place / topics) as u32 })
    }
}

/// Returns [`first_beyond`], or `total` as an error if it cannot be drawn from.
pub(super) fn pick<T>(
    masses: impl Iterator<Item = (T, f64)>,
    target: f64,
    total: f64,
) -> Result<T, f64> {
    let found = first_beyond(masses, target);
    found.filter(|_| total.is_finite()).ok_or(total)
}
