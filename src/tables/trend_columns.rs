//! The metadata columns whose trends are requested, and which of their values are named.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::wire::name_hash;
use corpus::dates::{DateUnit, Scale, day_of};
use corpus::labels::split;

/// Maximum number of values of a column that are named.
const MOST_VALUES: usize = 1_000;
/// The least that this maximum can be, with any number of topics.
const LEAST_VALUES: usize = 12;
/// Maximum number of named values of all columns times topics.
const MOST_PAIRS: usize = 1 << 19;
/// The most distinct values of a column, and bytes of them: a column with more is an error.
pub(crate) const MOST_DISTINCT: usize = 100_000;
pub(crate) const MOST_VALUE_BYTES: usize = 16 << 20;

/// A column whose trends are requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrendColumn {
    /// Its name in `documents`.
    pub(crate) name: String,
    /// Its place among the metadata columns.
    pub(crate) place: usize,
    /// The values that are named, ascending.
    pub(crate) values: Vec<String>,
    /// The number of other values.
    pub(crate) others: usize,
    /// How values are grouped, if they are dates.
    scale: Option<Scale>,
    /// Whether a document has several values.
    has_lists: bool,
}

impl TrendColumn {
    /// Creates a column whose values are not counted yet.
    pub(crate) fn new(name: &str, place: usize) -> Self {
        Self { name: name.to_owned(), place, ..Self::default() }
    }

    /// Returns the distinct values of a cell, grouped: the elements of a JSON list, or the cell itself, without spaces
    /// around it.
    pub(crate) fn values_of(&self, cell: &str) -> BTreeSet<String> {
        let values = split(cell, "").into_iter();
        let grouped = values.map(|value| grouped_as(day_of(&value).into_owned(), self.scale));
        grouped.collect()
    }

    /// Returns the places of a cell's values: after the named ones, first no value, then the others.
    pub(super) fn places_of(&self, cell: &str) -> Vec<usize> {
        let named = self.values.len();
        let place = |value| self.values.binary_search(&value).unwrap_or(named + 1);
        let found: BTreeSet<usize> = self.values_of(cell).into_iter().map(place).collect();
        if found.is_empty() { vec![named] } else { found.into_iter().collect() }
    }

    /// Returns the key of a value's sums, by its place, alike whatever the other values are.
    pub(super) fn key_of(&self, place: usize) -> u64 {
        let kind = (place + 1).saturating_sub(self.values.len());
        let value = self.values.get(place).map_or("", |value| value);
        name_hash(&format!("{}\0{kind}{value}", self.name))
    }

    /// Whether the sums of an earlier choice's values, and of its other values, are those that this one begins with.
    pub(crate) fn has_cells_of(&self, earlier: &Self) -> bool {
        let named_all = self.others == 0 && earlier.others == 0;
        let of = |column: &Self| (column.name.clone(), column.scale);
        of(self) == of(earlier) && (named_all || self.values == earlier.values)
    }

    /// Whether a document may have been counted more than once in a group that is not named.
    pub(crate) fn may_repeat(&self) -> bool {
        self.has_lists && self.scale.is_some() && self.others > 0
    }

    pub(crate) fn choose(&mut self, counts: ValueCounts, most: usize, unit: Option<DateUnit>) {
        let values = || (counts.documents.iter()).map(|(value, &n)| (&value[..], n));
        self.has_lists = counts.has_lists;
        self.scale = self.scale.or_else(|| Scale::of(values(), most, unit));
        let mut grouped: BTreeMap<String, u64> = BTreeMap::new();
        for (value, documents) in counts.documents {
            *grouped.entry(grouped_as(value, self.scale)).or_default() += documents;
        }
        let mut counted: Vec<(String, u64)> = grouped.into_iter().collect();
        // The sort is stable: of equally frequent values, the first are named.
        counted.sort_by_key(|value| std::cmp::Reverse(value.1));
        self.others = counted.len().saturating_sub(most);
        counted.truncate(most);
        self.values = counted.into_iter().map(|value| value.0).collect();
        self.values.sort_unstable();
    }
}

/// Documents by the values of a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueCounts {
    pub(crate) documents: BTreeMap<String, u64>,
    /// Bytes of the values.
    bytes: usize,
    /// Whether a document has several values.
    pub(crate) has_lists: bool,
}

impl ValueCounts {
    pub(crate) fn add(&mut self, value: &str, documents: u64) {
        if let Some(count) = self.documents.get_mut(value) {
            *count += documents;
        } else if !self.are_too_many() {
            self.bytes += value.len();
            self.documents.insert(value.to_owned(), documents);
        }
    }

    /// Adds the counts of other documents, and whether they have several values.
    pub(crate) fn merge(&mut self, (has_lists, counted): (bool, Vec<(&str, u64)>)) {
        self.has_lists |= has_lists;
        counted.into_iter().for_each(|(value, documents)| self.add(value, documents));
    }

    pub(crate) fn are_too_many(&self) -> bool {
        self.documents.len() > MOST_DISTINCT || self.bytes > MOST_VALUE_BYTES
    }
}

/// Returns the value under which a day, or another value, is counted.
fn grouped_as(value: String, scale: Option<Scale>) -> String {
    scale.and_then(|scale| scale.label(&value)).unwrap_or(value)
}

/// Returns the maximum number of values that this number of columns name together, if they are `found` to have as many;
/// and for each column two more, for no value and for the others.
pub(super) fn most_cells(topics: usize, columns: usize, found: Option<usize>) -> usize {
    let most = (MOST_PAIRS / topics.max(1)).clamp(columns * LEAST_VALUES, columns * MOST_VALUES);
    found.map_or(most, |found| most.min(found)) + 2 * columns
}

/// Returns how many values each column may name, given how many it has: those with few name them all, and leave the rest to the others.
pub(crate) fn shares_of_named(sizes: &[usize], topics: usize) -> Vec<usize> {
    let mut left = MOST_PAIRS / topics.max(1);
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&column| sizes[column]);
    let mut most = vec![0; sizes.len()];
    for (done, &column) in order.iter().enumerate() {
        let share = left / (sizes.len() - done);
        most[column] = share.clamp(LEAST_VALUES, MOST_VALUES);
        left = left.saturating_sub(most[column].min(sizes[column]));
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: usize) -> ValueCounts {
        let mut counts = ValueCounts::default();
        (0..values).for_each(|value| counts.add(&format!("{value:06}"), 1));
        counts
    }

    fn column(counts: ValueCounts, most: usize) -> TrendColumn {
        let mut column = TrendColumn::default();
        column.choose(counts, most, None);
        column
    }

    #[test]
    fn the_most_frequent_values_are_named() {
        let mut found = counts(4);
        found.add("000002", 5);
        found.add("000003", 2);
        let named = column(found, 3);
        assert_eq!(named.values, ["000000", "000002", "000003"]);
        assert_eq!(named.others, 1);
        let named = column(counts(3), 3);
        assert_eq!((named.values.len(), named.others), (3, 0));
    }

    #[test]
    fn dates_are_grouped_until_they_are_few() {
        let mut found = ValueCounts::default();
        (1..=28).for_each(|day| found.add(&format!("1998-07-{day:02}"), 1));
        found.add("1998-08-01", 2);
        let named = column(found.clone(), 12);
        assert_eq!(named.values, ["1998-07", "1998-08"]);
        assert_eq!((named.others, column(found, 29).values.len()), (0, 29));
    }

    #[test]
    fn dates_are_grouped_by_the_unit_that_the_job_names() {
        let mut found = counts(0);
        for value in ["1998-07-01", "1998-07-02", "1999", "1999-02"] {
            found.add(value, 2);
        }
        let named = |unit, most| {
            let mut column = TrendColumn::default();
            column.choose(found.clone(), most, Some(unit));
            (column.values.join(" "), column.others)
        };
        // Those that are less precise keep their form; the number of values changes nothing.
        assert_eq!(named(DateUnit::Month, 9), ("1998-07 1999 1999-02".into(), 0));
        assert_eq!(named(DateUnit::Month, 1), ("1998-07".into(), 2));
        assert_eq!(named(DateUnit::Year, 9), ("1998 1999".into(), 0));
    }

    #[test]
    fn only_lists_of_dates_that_are_not_all_named_are_counted_again() {
        let mut found = ValueCounts::default();
        for day in ["1998-07-01", "1998-07-02", "2011-08-01"] {
            found.add(day, 1);
        }
        assert!(!column(found.clone(), 1).may_repeat());
        found.has_lists = true;
        assert!(column(found.clone(), 1).may_repeat());
        assert!(!column(found, 2).may_repeat());
    }

    #[test]
    fn sums_by_value_are_taken_over_while_no_other_values_are_named() {
        let [few, more, most] = [3, 4, 5].map(|values| column(counts(values), 4));
        assert!(more.has_cells_of(&few) && !most.has_cells_of(&few) && most.has_cells_of(&more));
        let mut other = counts(5);
        other.add("000004", 7);
        assert!(!column(other, 4).has_cells_of(&most));
        assert_eq!(few.key_of(2), most.key_of(2));
        assert!(few.key_of(3) == TrendColumn { values: vec!["x".into()], ..few.clone() }.key_of(1));
    }

    #[test]
    fn columns_with_few_values_leave_room_to_the_others() {
        assert_eq!(shares_of_named(&[5, 2000], 100), [1000, 1000]);
        assert_eq!(shares_of_named(&[300, 40], 2000), [222, 131]);
        assert_eq!(shares_of_named(&[300, 40, 90], 65_535), [12, 12, 12]);
    }

    #[test]
    fn too_many_values_are_too_many() {
        assert!(!counts(MOST_DISTINCT).are_too_many());
        let mut found = counts(MOST_DISTINCT + 1);
        assert!(found.are_too_many());
        found.add("one more", 1);
        assert_eq!(found.documents.len(), MOST_DISTINCT + 1);
        let mut found = ValueCounts::default();
        (0..=16).for_each(|n| found.add(&format!("{n}{}", " long".repeat(1 << 18)), 1));
        assert!(found.are_too_many());
    }
}
