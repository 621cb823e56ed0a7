//! The maximal cliques of a graph (Bron & Kerbosch 1973, with the pivot of Tomita, Tanaka & Takahashi
//! 2006).

/// Maximum number of cliques; n vertices can have 3^(n/3) of them.
pub(crate) const MAX_CLIQUES: usize = 1000;

/// Returns the maximal cliques of the graph with these rows, one for each vertex. Each clique is
/// ascending, and they are sorted. `None` if there are more than [`MAX_CLIQUES`].
pub(super) fn maximal_cliques(adjacent: Vec<Vec<bool>>) -> Option<Vec<Vec<usize>>> {
    let all = (0..adjacent.len()).collect();
    let mut search = Cliques { adjacent, found: Vec::new() };
    search.extend(&mut Vec::new(), all, Vec::new());
    let mut found = search.found;
    found.iter_mut().for_each(|clique| clique.sort_unstable());
    found.sort_unstable();
    (found.len() <= MAX_CLIQUES).then_some(found)
}

/// A search for cliques.
struct Cliques {
    /// A row for each vertex.
    adjacent: Vec<Vec<bool>>,
    found: Vec<Vec<usize>>,
}

impl Cliques {
    /// Finds every maximal clique that has all of `clique`, some of `candidates` and none of `done`.
    fn extend(
        &mut self,
        clique: &mut Vec<usize>,
        mut candidates: Vec<usize>,
        mut done: Vec<usize>,
    ) {
        let near = |row: &[bool], all: &[usize]| -> Vec<usize> {
            all.iter().copied().filter(|&v| row[v]).collect()
        };
        let covered = |v: &&usize| near(&self.adjacent[**v], &candidates).len();
        let Some(&pivot) = candidates.iter().chain(&done).max_by_key(covered) else {
            self.found.push(clique.clone());
            return;
        };
        for vertex in candidates.clone() {
            if self.adjacent[pivot][vertex] || self.found.len() > MAX_CLIQUES {
                continue;
            }
            let row = &self.adjacent[vertex];
            let (inside, outside) = (near(row, &candidates), near(row, &done));
            clique.push(vertex);
            self.extend(clique, inside, outside);
            clique.pop();
            candidates.retain(|&v| v != vertex);
            done.push(vertex);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Stage, Stream};

    #[test]
    fn cliques_are_those_of_exhaustive_search() {
        let mut stream = Stream::keyed(4, Stage::Synth, 0, 0);
        for size in 1..9 {
            let mut adjacent = vec![vec![false; size]; size];
            for (a, b) in (0..size).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let is_edge = stream.uniform() < 0.6;
                adjacent[a][b] = is_edge;
                adjacent[b][a] = is_edge;
            }
            let members = |set: usize| (0..size).filter(move |v| set >> v & 1 == 1);
            let is_clique =
                |set: usize| members(set).all(|a| members(set).all(|b| a == b || adjacent[a][b]));
            let is_maximal =
                |set: usize| (0..size).all(|v| set >> v & 1 == 1 || !is_clique(set | 1 << v));
            let mut expected: Vec<Vec<usize>> = (1..1 << size)
                .filter(|&set| is_clique(set) && is_maximal(set))
                .map(|set| members(set).collect())
                .collect();
            expected.sort_unstable();
            assert_eq!(maximal_cliques(adjacent), Some(expected));
        }
    }
}
