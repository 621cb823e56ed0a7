//! Builds a tree from lists of terms that belong together, or do not (Hu, Boyd-Graber & Satinoff 2011,
//! "Interactive topic modeling"; cannot-links as in Andrzejewski, Zhu & Craven 2009, "Incorporating
//! domain knowledge into topic modeling via Dirichlet forest priors", Section 3).
//!
//! - **Must-link** is transitive: terms that are connected by lists become the leaves of one node. With a large β_1 on
//!   their edges, a topic in which one of them is probable makes all of them probable.
//! - **Cannot-link** holds between units, which are such nodes or single terms. Units that are
//!   connected by lists become one node. Below it is a node for each maximal set of units without a
//!   cannot-link among them, a maximal clique of the graph's complement; a unit in several cliques has
//!   a leaf, or its node, in each. A small β_2 on the edges to the cliques makes a topic choose one.
//!
//! An edge to a node has η for each term below: without data, they are together as probable as if
//! they were attached to the root. Andrzejewski et al. draw one clique for each topic, and so have a
//! forest of trees; a Dirichlet prior with β_2 → 0 is equivalent, in one tree.

use crate::model::tree::Node;

/// Edge priors by kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strengths {
    /// η, for the edge to an ordinary term. Nodes and units have it once for each of their terms.
    pub ordinary: f64,
    /// β_1, far above η, for each edge from a must-link node to a term.
    pub must: f64,
    /// β_2, far below η, for each edge from a cannot-link node to a clique.
    pub cannot: f64,
}

/// Errors in the lists, which are numbered from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConstraintError {
    /// A list has a term that is not in the vocabulary, or fewer than two different terms.
    #[error("{0}")]
    Unfit(String),
    /// Two terms must be both together and apart.
    #[error(
        "cannot-link list {list} keeps terms {first} and {second} apart; must-link lists connect them"
    )]
    Contradiction {
        /// The list.
        list: usize,
        /// One of the terms.
        first: u32,
        /// The other term.
        second: u32,
    },
    /// There are too many ways to satisfy cannot-links.
    #[error(
        "the cannot-links around term {term} leave more than {MAX_CLIQUES} cliques: \
         connect fewer terms by them"
    )]
    TooManyCliques {
        /// The smallest of the terms.
        term: u32,
    },
}

/// Returns the structures of a [`Tree`](crate::model::tree::Tree) that satisfies these lists: any two terms of a
/// must-link list belong together, no two of a cannot-link list do. The order of the lists does not
/// matter.
///
/// # Errors
/// The lists contradict each other, link nothing, name unknown terms, or leave too many cliques.
pub fn structures(
    vocabulary_size: usize,
    must: &[Vec<u32>],
    cannot: &[Vec<u32>],
    strengths: Strengths,
) -> Result<Vec<Node>, ConstraintError> {
    check("must-link", must, vocabulary_size)?;
    check("cannot-link", cannot, vocabulary_size)?;
    let mut linked = Groups::new(vocabulary_size);
    must.iter().for_each(|list| linked.join(list));
    let mut apart = linked.clone();
    let mut conflicts = Vec::new();
    for (list, terms) in cannot.iter().enumerate() {
        apart.join(terms);
        for pair in pairs(terms) {
            let [a, b] = pair.map(|term| linked.find(term));
            if a == b {
                return Err(ConstraintError::Contradiction {
                    list,
                    first: pair[0],
                    second: pair[1],
                });
            }
            conflicts.push([a, b]);
            conflicts.push([b, a]);
        }
    }
    conflicts.sort_unstable();
    let units = linked.members();
    let mut nodes = Vec::new();
    for component in apart.members() {
        let own = component.iter().map(|&term| linked.find(term));
        let mut own: Vec<u32> = own.collect();
        own.sort_unstable();
        own.dedup();
        let own: Vec<&[u32]> = own.iter().map(|&unit| &units[unit as usize][..]).collect();
        match own[..] {
            [] | [[_]] => {}
            [unit] => nodes.push(must_node(unit, strengths)),
            _ => nodes.push(cannot_node(&own, &conflicts, strengths)?),
        }
    }
    Ok(nodes)
}

fn check(kind: &str, lists: &[Vec<u32>], vocabulary_size: usize) -> Result<(), ConstraintError> {
    for (list, terms) in lists.iter().enumerate() {
        if let Some(&term) = terms.iter().find(|&&t| t as usize >= vocabulary_size) {
            return Err(ConstraintError::Unfit(format!(
                "{kind} list {list}: there is no term {term} in a vocabulary of {vocabulary_size}"
            )));
        }
        if terms.iter().all(|term| *term == terms[0]) {
            return Err(ConstraintError::Unfit(format!(
                "{kind} list {list} needs at least two different terms"
            )));
        }
    }
    Ok(())
}

/// Returns all pairs of different terms of a list.
fn pairs(terms: &[u32]) -> impl Iterator<Item = [u32; 2]> {
    let all = terms.iter().enumerate();
    let pairs = all.flat_map(|(i, &a)| terms[..i].iter().map(move |&b| [b, a]));
    pairs.filter(|[a, b]| a != b)
}

fn must_node(terms: &[u32], strengths: Strengths) -> Node {
    Node {
        name: format!("must-link {}", terms[0]),
        prior: strengths.ordinary * terms.len() as f64,
        leaf_prior: strengths.must,
        children: Vec::new(),
        terms: terms.to_vec(),
    }
}

fn cannot_node(
    units: &[&[u32]],
    conflicts: &[[u32; 2]],
    strengths: Strengths,
) -> Result<Node, ConstraintError> {
    // A unit is identified by its smallest term, which comes first.
    let goes_with = |a: &[u32], b: &[u32]| conflicts.binary_search(&[a[0], b[0]]).is_err();
    let row = |a: &&[u32]| units.iter().map(|b| a != b && goes_with(a, b)).collect();
    let adjacent = units.iter().map(row).collect();
    let term = units[0][0];
    let cliques = maximal_cliques(adjacent).ok_or(ConstraintError::TooManyCliques { term })?;
    let clique_node = |(number, clique): (usize, Vec<usize>)| {
        let members = || clique.iter().map(|&unit| units[unit]);
        let (several, single): (Vec<_>, Vec<_>) = members().partition(|unit| unit.len() > 1);
        Node {
            name: format!("clique {number}"),
            prior: strengths.cannot,
            leaf_prior: strengths.ordinary,
            children: several.iter().map(|unit| must_node(unit, strengths)).collect(),
            terms: single.concat(),
        }
    };
    let size: usize = units.iter().map(|unit| unit.len()).sum();
    Ok(Node {
        name: format!("cannot-link {term}"),
        prior: strengths.ordinary * size as f64,
        leaf_prior: strengths.ordinary,
        children: cliques.into_iter().enumerate().map(clique_node).collect(),
        terms: Vec::new(),
    })
}

/// Groups of terms, each identified by its smallest term (union–find with path halving).
#[derive(Clone)]
struct Groups {
    parents: Vec<u32>,
}

impl Groups {
    fn new(size: usize) -> Self {
        Self { parents: (0..size as u32).collect() }
    }

    fn find(&mut self, term: u32) -> u32 {
        let mut node = term as usize;
        while self.parents[node] as usize != node {
            let above = self.parents[node] as usize;
            self.parents[node] = self.parents[above];
            node = above;
        }
        node as u32
    }

    fn join(&mut self, terms: &[u32]) {
        for &term in terms {
            let (a, b) = (self.find(terms[0]), self.find(term));
            self.parents[a.max(b) as usize] = a.min(b);
        }
    }

    /// Returns, for the smallest term of each group, all its terms, ascending; empty for other terms.
    fn members(&mut self) -> Vec<Vec<u32>> {
        let size = self.parents.len();
        let mut members = vec![Vec::new(); size];
        for term in 0..size as u32 {
            let group = self.find(term);
            members[group as usize].push(term);
        }
        members
    }
}

#[cfg(test)]
mod tests;

// The maximal cliques of a graph (Bron & Kerbosch 1973, with the pivot of Tomita, Tanaka & Takahashi
// 2006).

/// Maximum number of cliques; n vertices can have 3^(n/3) of them.
pub(crate) const MAX_CLIQUES: usize = 1000;

/// Returns the maximal cliques of the graph with these rows, one for each vertex. Each clique is
/// ascending, and they are sorted. `None` if there are more than [`MAX_CLIQUES`].
fn maximal_cliques(adjacent: Vec<Vec<bool>>) -> Option<Vec<Vec<usize>>> {
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
mod cliques_tests {
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
