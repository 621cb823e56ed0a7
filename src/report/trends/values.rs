//! The values of a metadata column: what they are, and which of them are shown as one.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use crate::report::bounds::{Bounds, MOST_DISTINCT, NAME_CHARS, clip};

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
    /// The place of a value without one of its own.
    rest: Option<usize>,
}

/// A column is of times if this share of its documents has one.
const MOSTLY: f64 = 0.95;

/// Hands over each value of a cell: the texts of a JSON list, or the cell itself; the day of a moment.
pub(super) fn each_value(cell: Option<&str>, mut visit: impl FnMut(&str)) {
    let Some(cell) = cell.map(str::trim).filter(|cell| !cell.is_empty()) else {
        return;
    };
    let list: Vec<String> = match cell.starts_with('[') {
        true => serde_json::from_str(cell).unwrap_or_default(),
        false => Vec::new(),
    };
    if cell == "[]" {
        return;
    }
    if list.is_empty() {
        visit(&canonical(cell));
    }
    list.iter().for_each(|value| visit(&canonical(value)));
}

/// A value as it is counted: of a moment the day, of a long text the beginning.
fn canonical(value: &str) -> Cow<'_, str> {
    let day = value.get(..10).filter(|day| Time::parse(day).is_some());
    match day {
        Some(day) => Cow::Borrowed(day),
        None if value.len() <= NAME_CHARS => Cow::Borrowed(value),
        None => Cow::Owned(clip(value, NAME_CHARS)),
    }
}

impl Bins {
    /// Chooses the labels for a column with these values and documents.
    ///
    /// # Errors
    /// Why it is not shown.
    pub(crate) fn of(counts: HashMap<String, u64>, bounds: &Bounds) -> Result<Self, &'static str> {
        if counts.len() > MOST_DISTINCT {
            return Err("it has too many different values");
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

    /// The place of a value's label.
    pub(crate) fn bin(&self, value: &str) -> Option<usize> {
        self.places.get(value).copied().or(self.rest)
    }

    /// Times, as coarse as it takes to have few.
    fn times(counted: &[(String, u64)], bounds: &Bounds) -> Option<Self> {
        let times: Vec<(&String, Time)> = counted
            .iter()
            .filter_map(|(value, _)| Some((value, Time::parse(value)?)))
            .collect();
        let documents = |counted: &mut dyn Iterator<Item = u64>| counted.sum::<u64>() as f64;
        let all = documents(&mut counted.iter().map(|value| value.1));
        let with_time = counted.iter().filter(|v| Time::parse(&v.0).is_some());
        if documents(&mut with_time.map(|value| value.1)) < MOSTLY * all {
            return None;
        }
        let coarsest = times.iter().map(|time| time.1.unit()).max()?;
        let labels = |unit: Unit| {
            let labels = times.iter().map(|(_, time)| time.label(unit));
            let sorted: BTreeSet<String> = labels.collect();
            sorted.into_iter().collect::<Vec<String>>()
        };
        let mut units = UNITS.into_iter().filter(|unit| *unit >= coarsest);
        let few = |unit: &Unit| labels(*unit).len() <= bounds.values;
        let unit = units.clone().find(few).or(units.next_back())?;
        let labels = labels(unit);
        let place = |time: &Time| labels.binary_search(&time.label(unit)).ok();
        let places = times
            .iter()
            .filter_map(|(value, time)| Some(((*value).clone(), place(time)?)));
        Some(Self {
            kind: "time",
            others: 0,
            places: places.collect(),
            rest: None,
            labels,
        })
    }

    /// A few numbers.
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

    /// The most frequent names, and the others as one.
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
        Ok(Self {
            kind: "name",
            rest: (others > 0).then_some(own),
            labels,
            others,
            places,
        })
    }
}

/// How coarse times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Day,
    Month,
    Year,
    Decade,
}

const UNITS: [Unit; 4] = [Unit::Day, Unit::Month, Unit::Year, Unit::Decade];

/// A year from 1000 to 2999, perhaps with month and day; or a decade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Time {
    year: u16,
    month: Option<u8>,
    day: Option<u8>,
    is_decade: bool,
}

impl Time {
    /// `1998`, `1998-07`, `1998-07-21`, `1990s`.
    fn parse(text: &str) -> Option<Self> {
        let digits = |text: &str, from: u16, to: u16| {
            let plain = text.bytes().all(|b| b.is_ascii_digit());
            let number = text.parse().ok().filter(|_| plain)?;
            (from..=to).contains(&number).then_some(number)
        };
        let year = digits(text.get(..4)?, 1000, 2999)?;
        let mut time = Self {
            year,
            month: None,
            day: None,
            is_decade: &text[4..] == "s",
        };
        let rest = &text.as_bytes()[4..];
        let part = |from: usize, most: u16| {
            let number = digits(text.get(from..from + 2)?, 1, most)?;
            (text.as_bytes()[from - 1] == b'-').then_some(number as u8)
        };
        match rest.len() {
            0 => {}
            1 if time.is_decade && year.is_multiple_of(10) => {}
            3 => time.month = Some(part(5, 12)?),
            6 => (time.month, time.day) = (Some(part(5, 12)?), Some(part(8, 31)?)),
            _ => return None,
        }
        Some(time)
    }

    /// The finest unit of the value.
    fn unit(self) -> Unit {
        match (self.is_decade, self.month, self.day) {
            (true, ..) => Unit::Decade,
            (_, None, _) => Unit::Year,
            (_, _, None) => Unit::Month,
            _ => Unit::Day,
        }
    }

    fn label(self, unit: Unit) -> String {
        let (year, month) = (self.year, self.month.unwrap_or(1));
        match unit {
            Unit::Day => format!("{year}-{month:02}-{:02}", self.day.unwrap_or(1)),
            Unit::Month => format!("{year}-{month:02}"),
            Unit::Year => year.to_string(),
            Unit::Decade => format!("{}0s", year / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(values: &[(&str, u64)], most: usize) -> Result<Bins, &'static str> {
        let counts = values.iter().map(|(value, n)| ((*value).to_owned(), *n));
        let bounds = Bounds {
            values: most,
            ..Bounds::of(20)
        };
        Bins::of(counts.collect(), &bounds)
    }

    #[test]
    fn times_are_in_order_and_as_coarse_as_needed() {
        let days = [
            ("1999-12-31", 3),
            ("2000-01-01", 9),
            ("2000-01-02", 1),
            ("2001-05-05", 1),
        ];
        for (most, expected) in [
            (4, "1999-12-31 2000-01-01 2000-01-02 2001-05-05"),
            (3, "1999-12 2000-01 2001-05"),
            (2, "1990s 2000s"),
        ] {
            let bins = bins(&days, most).unwrap();
            assert_eq!(
                (bins.kind, bins.labels.join(" ")),
                ("time", expected.to_owned())
            );
            assert_eq!(bins.bin("1999-12-31"), Some(0));
            assert_eq!(bins.bin("unknown"), None);
        }
        let mixed = bins(&[("1990s", 5), ("2004", 95), ("unknown", 5)], 9).unwrap();
        assert_eq!(mixed.labels, ["1990s", "2000s"]);
        assert_eq!(
            bins(&[("1990", 9), ("unknown", 1)], 9).unwrap().kind,
            "name"
        );
    }

    #[test]
    fn a_few_numbers_are_in_their_order() {
        let numbers = bins(&[("10", 5), ("9", 1), ("-2.5", 3)], 9).unwrap();
        assert_eq!(
            (numbers.kind, numbers.labels.join(" ")),
            ("number", "-2.5 9 10".to_owned())
        );
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
        let values = |cell: Option<&str>| {
            let mut values = Vec::new();
            each_value(cell, |value| values.push(value.to_owned()));
            values
        };
        assert_eq!(values(Some(r#"["a", "b"]"#)), ["a", "b"]);
        assert_eq!(values(Some("[not json")), ["[not json"]);
        assert_eq!(values(Some("2021-03-04T05:06:07Z")), ["2021-03-04"]);
        assert_eq!(values(Some(" x ")), ["x"]);
        assert_eq!(values(Some(&"ä".repeat(90)))[0].chars().count(), NAME_CHARS);
        assert!(
            [None, Some(""), Some("[]")]
                .iter()
                .all(|cell| values(*cell).is_empty())
        );
    }
}
