//! The values of a metadata column: their kind, and which of them are shown as one.

use std::collections::{BTreeSet, HashMap};

use crate::report::bounds::{Bounds, MOST_DISTINCT, NAME_CHARS, clip};
use corpus::dates::{Scale, day_of};
use corpus::labels::split;

/// The reason why a column without values is not shown.
pub(crate) const NO_VALUE: &str = "no document has a value";

/// The values of a column, as they are shown.
#[derive(Debug, PartialEq)]
pub(super) struct Bins {
    /// `time`, `number` or `name`.
    pub(crate) kind: &'static str,
    /// The labels, in order.
    pub(crate) labels: Vec<String>,
    /// Distinct values that the last label covers; 0 if it is a value itself.
    pub(crate) others: usize,
    /// Value → place in `labels`.
    places: HashMap<String, usize>,
    /// The place of values that have none of their own.
    rest: Option<usize>,
}

/// Returns the distinct values of a cell: the elements of a JSON list, or the cell itself; for a moment, its day.
pub(crate) fn values(cell: &str) -> Vec<String> {
    let values = split(cell.trim(), "").into_iter();
    let mut values: Vec<String> = values.map(|value| canonical(&value)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Returns a value as it is counted: for a moment its day, for a long text its beginning.
fn canonical(value: &str) -> String {
    match day_of(value) {
        long if long.len() > NAME_CHARS => clip(value, NAME_CHARS),
        day => day.into_owned(),
    }
}

impl Bins {
    /// Chooses the labels for a column with these values and documents.
    ///
    /// # Errors
    /// Returns why the column is not shown.
    pub(crate) fn of(counts: HashMap<String, u64>, bounds: &Bounds) -> Result<Self, &'static str> {
        if counts.len() > MOST_DISTINCT {
            return Err("it has too many different values");
        }
        if counts.is_empty() {
            return Err(NO_VALUE);
        }
        if counts.len() < 2 {
            return Err("it has fewer than two values");
        }
        let mut counted: Vec<(String, u64)> = counts.into_iter().collect();
        counted.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        match Self::times(&counted, bounds) {
            Some(times) => Ok(times),
            None => {
                Self::numbers(&counted, bounds).map_or_else(|| Self::names(counted, bounds), Ok)
            }
        }
    }

    /// Returns the places of the labels of a cell's values, without repetition.
    pub(super) fn of_cell(&self, cell: &str) -> Vec<usize> {
        let values = values(cell);
        let mut found: Vec<usize> = values.iter().filter_map(|value| self.bin(value)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the place of a value's label.
    fn bin(&self, value: &str) -> Option<usize> {
        self.places.get(value).copied().or(self.rest)
    }

    /// Returns the bins of times, coarse enough to be few.
    fn times(counted: &[(String, u64)], bounds: &Bounds) -> Option<Self> {
        let scale =
            Scale::of(counted.iter().map(|(value, n)| (&value[..], *n)), bounds.values, None)?;
        let label = |(value, _): &(String, u64)| Some((value.clone(), scale.label(value)?));
        let times: Vec<(String, String)> = counted.iter().filter_map(label).collect();
        let labels: BTreeSet<String> = times.iter().map(|time| time.1.clone()).collect();
        let labels: Vec<String> = labels.into_iter().collect();
        let place = |(value, label)| Some((value, labels.binary_search(&label).ok()?));
        Some(Self {
            kind: "time",
            others: 0,
            places: times.into_iter().filter_map(place).collect(),
            rest: None,
            labels,
        })
    }

    /// Returns the bins of a few numbers.
    fn numbers(counted: &[(String, u64)], bounds: &Bounds) -> Option<Self> {
        if counted.len() > bounds.values {
            return None;
        }
        let number = |value: &str| value.parse::<f64>().ok().filter(|n| n.is_finite());
        let mut numbers: Vec<(f64, &String)> = counted
            .iter()
            .map(|(value, _)| Some((number(value)?, value)))
            .collect::<Option<_>>()?;
        numbers.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
        let labels: Vec<String> = numbers.iter().map(|(_, value)| (*value).clone()).collect();
        Some(Self {
            kind: "number",
            others: 0,
            places: labels.iter().cloned().zip(0..).collect(),
            rest: None,
            labels,
        })
    }

    /// Returns the bins of the most frequent names; the others share one.
    fn names(counted: Vec<(String, u64)>, bounds: &Bounds) -> Result<Self, &'static str> {
        let distinct = counted.len();
        let own = match distinct <= bounds.values {
            true => distinct,
            false => bounds.values - 1,
        };
        let all: u64 = counted.iter().map(|value| value.1).sum();
        let shown: u64 = counted[..own].iter().map(|value| value.1).sum();
        if 2 * shown < all {
            return Err("its most frequent values have less than half of the documents");
        }
        let first = counted.into_iter().take(own).map(|value| value.0);
        let mut labels: Vec<String> = first.collect();
        let places: HashMap<String, usize> = labels.iter().cloned().zip(0..).collect();
        let others = distinct - own;
        if others > 0 {
            labels.push(format!("{others} others"));
        }
        Ok(Self { kind: "name", rest: (others > 0).then_some(own), labels, others, places })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(values: &[(&str, u64)], most: usize) -> Result<Bins, &'static str> {
        let counts = values.iter().map(|(value, n)| ((*value).to_owned(), *n));
        let bounds = Bounds { values: most, ..Bounds::of(20) };
        Bins::of(counts.collect(), &bounds)
    }

    #[test]
    fn times_are_in_order_and_as_coarse_as_needed() {
        let days = [("1999-12-31", 3), ("2000-01-01", 9), ("2000-01-02", 1), ("2001-05-05", 1)];
        for (most, expected) in [
            (4, "1999-12-31 2000-01-01 2000-01-02 2001-05-05"),
            (3, "1999-12 2000-01 2001-05"),
            (2, "1990s 2000s"),
        ] {
            let bins = bins(&days, most).unwrap();
            assert_eq!((bins.kind, bins.labels.join(" ")), ("time", expected.to_owned()));
            assert_eq!(bins.bin("1999-12-31"), Some(0));
            assert_eq!(bins.bin("unknown"), None);
        }
        let mixed = bins(&[("1990s", 5), ("2004", 95), ("unknown", 5)], 9).unwrap();
        assert_eq!(mixed.labels, ["1990s", "2000s"]);
        assert_eq!(bins(&[("1990", 9), ("unknown", 1)], 9).unwrap().kind, "name");
    }

    #[test]
    fn one_value_tells_the_order_of_slashed_dates() {
        let us = [("3/4/1998", 9), ("07/21/1999", 9)];
        assert_eq!(bins(&us, 9).unwrap().labels, ["1998-03-04", "1999-07-21"]);
        let uk = [("3/4/1998", 9), ("21/07/1999", 9)];
        assert_eq!(bins(&uk, 9).unwrap().labels, ["1998-04-03", "1999-07-21"]);
        let both = [("7/21/1998", 9), ("21/7/1998", 9)];
        assert_eq!(bins(&both, 9).unwrap().kind, "name");
    }

    #[test]
    fn a_few_numbers_are_in_their_order() {
        let numbers = bins(&[("10", 5), ("9", 1), ("-2.5", 3)], 9).unwrap();
        assert_eq!((numbers.kind, numbers.labels.join(" ")), ("number", "-2.5 9 10".to_owned()));
    }

    #[test]
    fn of_many_names_the_rare_ones_are_one() {
        let names = bins(&[("b", 5), ("a", 5), ("c", 9), ("d", 1)], 3).unwrap();
        assert_eq!(names.labels, ["c", "a", "2 others"]);
        assert_eq!(names.others, 2);
        assert_eq!([names.bin("a"), names.bin("d")], [Some(1), Some(2)]);
        let few = bins(&[("b", 5), ("a", 5)], 3).unwrap();
        assert_eq!((few.labels.len(), few.others, few.bin("x")), (2, 0, None));
    }

    #[test]
    fn columns_that_say_nothing_are_left_out() {
        assert!(bins(&[("only", 9)], 9).unwrap_err().contains("two"));
        let ids: Vec<String> = (0..100).map(|i| format!("id {i}")).collect();
        let ids: Vec<(&str, u64)> = ids.iter().map(|id| (id.as_str(), 1)).collect();
        assert!(bins(&ids, 12).unwrap_err().contains("half"));
    }

    #[test]
    fn cells_are_lists_days_or_texts() {
        let of = values;
        assert_eq!(of(r#"["b", "a"]"#), ["a", "b"]);
        assert_eq!(of("[1998, null, 1999, 1998]"), ["1998", "1999"]);
        let moments = r#"["2021-03-04T05:06:07Z", "2021-03-04T09:00:00Z"]"#;
        assert_eq!(of(moments), ["2021-03-04"]);
        assert_eq!(of("[not json"), ["[not json"]);
        assert_eq!(of("2021-03-04T05:06:07Z"), ["2021-03-04"]);
        assert_eq!(of("July 4, 2021"), ["2021-07-04"]);
        assert_eq!(of("7/4/2021 5:06"), ["7/4/2021"]);
        assert_eq!(of(" x "), ["x"]);
        assert_eq!(of(&"ä".repeat(90))[0].chars().count(), NAME_CHARS);
        assert!(["", "[]"].map(values).concat().is_empty());
    }
}
