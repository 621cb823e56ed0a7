//! How large topics are in the documents of each value of a metadata column.
//!
//! The values of a column are counted first, which determines its kind: times, in order and as coarse as needed
//! (days, months, years, decades); a few numbers; or names, the most frequent ones individually and the others as
//! one. Columns of ids are left out: those with too many values, or whose most frequent ones have less than half
//! of the documents.

mod values;

use std::collections::HashMap;
use std::mem;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::bounds::{Bounds, MOST_DISTINCT, NAME_CHARS, clip};
use super::data::Trend;
use crate::failure::Failure;
use crate::tables::parts::{part_files, visit_pieces};
use crate::tables::projected::ProjectedDocument;
use crate::tables::read::document_values;
use corpus::memo::Memo;
use values::Bins;
pub(super) use values::{NO_VALUE, values};

/// The columns and the bins of their values.
pub(super) struct Columns {
    names: Vec<String>,
    bins: Vec<Result<Bins, &'static str>>,
}

/// A column that is not shown, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(crate) name: String,
    pub(crate) reason: &'static str,
}

/// Bytes of the cells that a thread counts before their values are counted.
const MOST_BYTES: usize = 2 << 20;
/// Approximate bytes of a cell besides its text.
const CELL_BYTES: usize = 64;

/// The precision of sums of tokens.
const TOKEN: f64 = (1_u32 << 20) as f64;

/// Sums over the documents of each value.
pub(super) struct Sums {
    columns: Vec<ColumnSums>,
    /// For each column, the bins of cells' values.
    memos: Vec<Memo<Vec<usize>>>,
}

#[derive(Clone, Default)]
struct ColumnSums {
    documents: Vec<u64>,
    tokens: Vec<i64>,
    without: u64,
    /// Expected tokens by value, then topic, in [`TOKEN`]ths: integers, which threads can add up in any order.
    topic_tokens: Vec<i64>,
}

impl Columns {
    /// Counts the values of these columns of `documents`.
    pub(crate) fn count(
        root: &Path,
        names: &[String],
        bounds: &Bounds,
        threads: usize,
        seen: impl FnMut(u64),
    ) -> Result<Self, Failure> {
        let all: Vec<Counts> = names.iter().map(|_| Counts::default()).collect();
        if !names.is_empty() {
            let parts = part_files(&root.join("documents"))?;
            let nothing = || vec![Cells::default(); names.len()];
            let read = |cells: &mut Vec<Cells>, part: &PathBuf| {
                document_values(part, names, |column, cell| {
                    cells[column].add(cell.unwrap_or(""), &all[column]);
                })
            };
            for cells in visit_pieces(threads, &parts, nothing, read, seen)? {
                all.iter().zip(cells).for_each(|(all, mut cells)| all.add(&mut cells));
            }
        }
        let bins = all.into_iter().map(|counts| Bins::of(counts.0.into_inner(), bounds));
        Ok(Self { names: names.to_vec(), bins: bins.collect() })
    }

    /// Returns the columns' names in `documents`.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns sums of zero.
    pub(crate) fn sums(&self, topics: usize) -> Sums {
        let zeros = |bins: &Result<Bins, &str>| {
            let values = bins.as_ref().map_or(0, |bins| bins.labels.len());
            ColumnSums {
                documents: vec![0; values],
                tokens: vec![0; values],
                without: 0,
                topic_tokens: vec![0; values * topics],
            }
        };
        Sums {
            columns: self.bins.iter().map(zeros).collect(),
            memos: vec![Memo::default(); self.bins.len()],
        }
    }

    /// Returns the columns as the page shows them, and those that are left out.
    pub(crate) fn trends(self, sums: Sums) -> (Vec<Trend>, Vec<LeftOut>) {
        let (mut trends, mut left_out) = (Vec::new(), Vec::new());
        let columns = self.names.into_iter().zip(self.bins).zip(sums.columns);
        for ((name, bins), sums) in columns {
            let name = clip(&name, NAME_CHARS);
            match bins {
                Ok(bins) => trends.push(trend(name, bins, sums)),
                Err(reason) => left_out.push(LeftOut { name, reason }),
            }
        }
        (trends, left_out)
    }
}

impl Sums {
    /// Adds a document.
    pub(crate) fn add(&mut self, columns: &Columns, document: &ProjectedDocument) {
        let tokens = document.tokens_in_vocabulary;
        let sums = self.columns.iter_mut().zip(&mut self.memos);
        let columns = sums.zip(&columns.bins).zip(&document.values);
        for (((sums, memo), bins), cell) in columns {
            let Ok(bins) = bins else { continue };
            let found = memo.get(cell.as_deref().unwrap_or(""), |cell| bins.of_cell(cell));
            sums.without += u64::from(found.is_empty());
            for &bin in found {
                sums.add(bin, tokens, &document.topics);
            }
        }
    }

    /// Adds sums over other documents.
    pub(crate) fn merge(&mut self, others: Self) {
        for (sums, other) in self.columns.iter_mut().zip(others.columns) {
            add(&mut sums.documents, other.documents);
            add(&mut sums.tokens, other.tokens);
            add(&mut sums.topic_tokens, other.topic_tokens);
            sums.without += other.without;
        }
    }
}

impl ColumnSums {
    fn add(&mut self, bin: usize, tokens: i64, topics: &[(i32, f32)]) {
        self.documents[bin] += 1;
        self.tokens[bin] += tokens;
        let topic_count = self.topic_tokens.len() / self.documents.len();
        let row = &mut self.topic_tokens[bin * topic_count..(bin + 1) * topic_count];
        for &(topic, weight) in topics {
            row[topic as usize] += (f64::from(weight) * tokens as f64 * TOKEN).round() as i64;
        }
    }
}

/// Documents by value, of a whole column.
#[derive(Default)]
struct Counts(Mutex<HashMap<String, u64>>);

/// Documents by cell, of some documents: most columns repeat their cells.
#[derive(Clone, Default)]
struct Cells {
    documents: HashMap<String, u64>,
    bytes: usize,
}

impl Cells {
    /// Counts a cell; now and then, all cells are added to `all`.
    fn add(&mut self, cell: &str, all: &Counts) {
        if let Some(documents) = self.documents.get_mut(cell) {
            *documents += 1;
            return;
        }
        self.documents.insert(cell.to_owned(), 1);
        self.bytes += cell.len() + CELL_BYTES;
        if self.bytes > MOST_BYTES {
            all.add(self);
        }
    }
}

impl Counts {
    /// Counts the values of these cells, which are left empty, unless the column has too many distinct values.
    fn add(&self, cells: &mut Cells) {
        let cells = mem::take(cells).documents.into_iter();
        if self.0.lock().len() > MOST_DISTINCT {
            return;
        }
        let counted: Vec<_> = cells.map(|(cell, documents)| (values(&cell), documents)).collect();
        let mut all = self.0.lock();
        for (values, documents) in counted {
            for value in values {
                if all.len() <= MOST_DISTINCT || all.contains_key(&value) {
                    *all.entry(value).or_default() += documents;
                }
            }
        }
    }
}

fn add<T: AddAssign>(sums: &mut [T], others: Vec<T>) {
    sums.iter_mut().zip(others).for_each(|(sum, n)| *sum += n);
}

fn trend(name: String, bins: Bins, sums: ColumnSums) -> Trend {
    let topic_count = sums.topic_tokens.len() / sums.documents.len().max(1);
    let share = |topic: usize, bin: usize| {
        let tokens = sums.tokens[bin].max(1) as f64;
        let own = sums.topic_tokens[bin * topic_count + topic] as f64 / TOKEN;
        (1e6 * own / tokens).round() as u32
    };
    let values = 0..bins.labels.len();
    let shares = (0..topic_count)
        .map(|topic| values.clone().map(|bin| share(topic, bin)).collect())
        .collect();
    Trend {
        name,
        kind: bins.kind,
        values: bins.labels,
        documents: sums.documents,
        tokens: sums.tokens,
        others: bins.others,
        without: sums.without,
        shares,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_counts_once_for_values_that_are_shown_as_one() {
        let columns = Columns {
            names: vec!["author".to_owned()],
            bins: vec![Bins::of(
                HashMap::from([("a", 9), ("b", 1), ("c", 1)].map(|(name, n)| (name.to_owned(), n))),
                &Bounds { values: 2, ..Bounds::of(1) },
            )],
        };
        let mut sums = columns.sums(1);
        let document = ProjectedDocument {
            tokens_in_vocabulary: 10,
            values: vec![Some(r#"["b", "c"]"#.to_owned())],
            topics: vec![(0, 1.0)],
            ..ProjectedDocument::default()
        };
        sums.add(&columns, &document);
        let (trends, _) = columns.trends(sums);
        assert_eq!(trends[0].values, ["a", "2 others"]);
        assert_eq!((&trends[0].documents, &trends[0].tokens), (&vec![0, 1], &vec![0, 10]));
    }
}
