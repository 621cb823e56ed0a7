//! The assignment problem: a one-to-one matching of rows and columns with the least total cost.
//!
//! The Hungarian method in its O(n³) form by shortest augmenting paths with potentials (Jonker &
//! Volgenant, Computing 1987, without their initial heuristics). Ties go to the smaller column, so
//! the result depends only on the costs.

/// Assigns each row a column so that the total cost is least and no column is used twice. With
/// more rows than columns, some rows get `None`.
///
/// `costs`: rows × columns, row by row; finite numbers.
///
/// # Panics
///
/// Panics if `costs` is not rows × columns long, or contains a number that is not finite.
pub fn assign(costs: &[f64], rows: usize, columns: usize) -> Vec<Option<usize>> {
    assert_eq!(costs.len(), rows * columns, "a cost for each pair");
    assert!(costs.iter().all(|c| c.is_finite()), "costs are finite");
    if rows <= columns {
        let cost = |row: usize, column: usize| costs[row * columns + column];
        return assign_rows(&cost, rows, columns).into_iter().map(Some).collect();
    }
    let cost = |column: usize, row: usize| costs[row * columns + column];
    let mut result = vec![None; rows];
    for (column, row) in assign_rows(&cost, columns, rows).into_iter().enumerate() {
        result[row] = Some(column);
    }
    result
}

/// Marks a column without a row.
const FREE: usize = usize::MAX;

/// An assignment that grows row by row, and the potentials that keep it optimal: for each pair,
/// cost − row potential − column potential ≥ 0, with equality for assigned pairs.
struct Assignment {
    /// Column → its row or [`FREE`]. The extra last column is the root of a search.
    row_of: Vec<usize>,
    row_potential: Vec<f64>,
    column_potential: Vec<f64>,
}

/// Returns the column of each row; requires rows ≤ columns.
fn assign_rows(cost: &dyn Fn(usize, usize) -> f64, rows: usize, columns: usize) -> Vec<usize> {
    let mut assignment = Assignment {
        row_of: vec![FREE; columns + 1],
        row_potential: vec![0.0; rows],
        column_potential: vec![0.0; columns + 1],
    };
    for row in 0..rows {
        assignment.add_row(cost, row);
    }
    let mut column_of = vec![FREE; rows];
    for (column, &row) in assignment.row_of[..columns].iter().enumerate() {
        if row != FREE {
            column_of[row] = column;
        }
    }
    column_of
}

impl Assignment {
    /// Assigns one more row along the shortest augmenting path from it to a free column
    /// (Dijkstra's search over reduced costs).
    fn add_row(&mut self, cost: &dyn Fn(usize, usize) -> f64, row: usize) {
        let columns = self.row_of.len() - 1;
        let mut shortest = vec![f64::INFINITY; columns];
        let mut came_from = vec![columns; columns];
        let mut done = vec![false; columns + 1];
        let mut column = columns;
        self.row_of[column] = row;
        while self.row_of[column] != FREE {
            done[column] = true;
            let reached = self.row_of[column];
            let (mut nearest, mut least) = (columns, f64::INFINITY);
            for next in (0..columns).filter(|&c| !done[c]) {
                let reduced =
                    cost(reached, next) - self.row_potential[reached] - self.column_potential[next];
                if reduced < shortest[next] {
                    shortest[next] = reduced;
                    came_from[next] = column;
                }
                if shortest[next] < least {
                    least = shortest[next];
                    nearest = next;
                }
            }
            self.shift_potentials(&done, &mut shortest, least);
            column = nearest;
        }
        while column != columns {
            let before = came_from[column];
            self.row_of[column] = self.row_of[before];
            column = before;
        }
        self.row_of[columns] = FREE;
    }

    /// Changes the potentials so that the nearest column's reduced cost is 0.
    fn shift_potentials(&mut self, done: &[bool], shortest: &mut [f64], least: f64) {
        for (column, &done) in done.iter().enumerate() {
            if done {
                self.row_potential[self.row_of[column]] += least;
                self.column_potential[column] -= least;
            } else if column < shortest.len() {
                shortest[column] -= least;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Stage, Stream};

    /// The least total cost over all assignments of distinct columns to rows, rows ≤ columns.
    fn brute_force(costs: &[f64], rows: usize, columns: usize, used: u32, row: usize) -> f64 {
        if row == rows {
            return 0.0;
        }
        (0..columns)
            .filter(|c| used & (1 << c) == 0)
            .map(|c| {
                costs[row * columns + c] + brute_force(costs, rows, columns, used | 1 << c, row + 1)
            })
            .fold(f64::INFINITY, f64::min)
    }

    fn transposed(costs: &[f64], rows: usize, columns: usize) -> Vec<f64> {
        let cells = (0..columns).flat_map(|c| (0..rows).map(move |r| r * columns + c));
        cells.map(|i| costs[i]).collect()
    }

    #[test]
    fn assignment_is_as_cheap_as_brute_force() {
        for (case, (rows, columns)) in (1..=7)
            .flat_map(|r| (1..=7).map(move |c| (r, c)))
            .flat_map(|shape| [shape; 12])
            .enumerate()
        {
            let mut stream = Stream::keyed(1, Stage::Synth, 0, case as u64);
            // Every third case has many ties; some costs are negative.
            let costs: Vec<f64> = (0..rows * columns)
                .map(|_| match case % 3 {
                    0 => stream.below(3) as f64,
                    _ => stream.uniform() * 2.0 - 0.5,
                })
                .collect();
            let assigned = assign(&costs, rows, columns);
            let mut used: Vec<usize> = assigned.iter().flatten().copied().collect();
            used.sort_unstable();
            used.dedup();
            assert_eq!(used.len(), rows.min(columns), "one to one, nobody left out");
            let pairs = assigned.iter().enumerate();
            let total: f64 = pairs.filter_map(|(r, c)| c.map(|c| costs[r * columns + c])).sum();
            let least = if rows <= columns {
                brute_force(&costs, rows, columns, 0, 0)
            } else {
                brute_force(&transposed(&costs, rows, columns), columns, rows, 0, 0)
            };
            assert!((total - least).abs() < 1e-9, "{rows} × {columns}: {total}, not {least}");
        }
    }

    #[test]
    fn assignment_undoes_a_large_permutation() {
        let n = 150;
        let mut stream = Stream::keyed(2, Stage::Synth, 0, 0);
        let mut shuffled: Vec<usize> = (0..n).collect();
        stream.shuffle(&mut shuffled);
        let mut costs: Vec<f64> = (0..n * n).map(|_| 1.0 + stream.uniform()).collect();
        for (row, &column) in shuffled.iter().enumerate() {
            costs[row * n + column] = 0.5;
        }
        let expected: Vec<Option<usize>> = shuffled.into_iter().map(Some).collect();
        assert_eq!(assign(&costs, n, n), expected);
        assert_eq!(assign(&[], 0, 0), []);
        assert_eq!(assign(&[], 2, 0), [None, None]);
    }
}
