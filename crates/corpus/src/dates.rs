//! Dates in metadata, as people and programs write them.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::SystemTime;

use chrono::{DateTime, Datelike, NaiveDate, Utc};

/// Formats a time as `2026-01-31T12:34:56Z`.
pub fn utc(time: SystemTime) -> String {
    let time = DateTime::<Utc>::from(time);
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A year from 1000 to 2999, perhaps with month and day; or a decade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Date {
    /// The day; the first one of a month, a year or a decade.
    day: NaiveDate,
    /// The finest unit of the value.
    unit: DateUnit,
}

/// The precision of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DateUnit {
    /// `1998-07-21`.
    Day,
    /// `1998-07`.
    Month,
    /// `1998`.
    Year,
    /// `1990s`.
    Decade,
}

/// The share of a column's documents that must have a date.
const MOSTLY: f64 = 0.95;
/// Days, in chrono's notation; a time may follow.
const DAYS: [&str; 9] = [
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d %B %Y",
    "%d-%B-%Y",
    "%B %d, %Y",
    "%B %d %Y",
    "%a, %d %B %Y",
    "%A, %B %d, %Y",
];
/// Days with a time before the year, as C and Twitter write them.
const MOMENTS: [&str; 2] = ["%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %z %Y"];
/// Bytes of the longest date.
const MAX_BYTES: usize = 48;

impl Date {
    /// Reads a year (`1998`, `1998.0`, `c. 1998`, `[1998?]`), decade (`1990s`), month (`1998-07`) or day (`1998-07-21`,
    /// `1998/07/21`, `19980721`, `21.07.1998`, `21 July 1998`, `Jul 21, 1998`, RFC 2822), perhaps with a time; nothing
    /// else, and no [`slashed`](Self::slashed) date.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let has_year = text.as_bytes().windows(4).any(|four| four.iter().all(u8::is_ascii_digit));
        if text.len() > MAX_BYTES || !has_year {
            return None;
        }
        Self::of_year(text).or_else(|| Self::of_month(text)).or_else(|| Self::of_day(text))
    }

    /// Reads a day written as `3/4/1998`, perhaps with a time.
    fn slashed(text: &str, is_day_first: bool) -> Option<Self> {
        let format = if is_day_first { "%d/%m/%Y" } else { "%m/%d/%Y" };
        Self::day(text.trim(), format)
    }

    fn label(self, unit: DateUnit) -> String {
        match unit {
            DateUnit::Day => self.day.to_string(),
            DateUnit::Month => self.day.format("%Y-%m").to_string(),
            DateUnit::Year => self.day.year().to_string(),
            DateUnit::Decade => format!("{}0s", self.day.year() / 10),
        }
    }

    fn new(day: NaiveDate, unit: DateUnit) -> Option<Self> {
        (1000..=2999).contains(&day.year()).then_some(Self { day, unit })
    }

    fn of_year(text: &str) -> Option<Self> {
        let plain = text.trim_matches(['[', ']', '(', ')', '?', ' ']);
        let plain = ["circa ", "ca. ", "ca ", "c. ", "c.", "c", "©"]
            .iter()
            .find_map(|circa| plain.strip_prefix(circa))
            .unwrap_or(plain);
        let plain = plain.strip_suffix(".0").unwrap_or(plain);
        let (plain, unit) = match plain.strip_suffix("0s") {
            Some(_) => (&plain[..plain.len() - 1], DateUnit::Decade),
            None => (plain, DateUnit::Year),
        };
        Self::new(NaiveDate::from_ymd_opt(number(plain, 4)?, 1, 1)?, unit)
    }

    fn of_month(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-')?;
        let first = NaiveDate::from_ymd_opt(number(year, 4)?, number(month, 2)?, 1)?;
        Self::new(first, DateUnit::Month)
    }

    fn of_day(text: &str) -> Option<Self> {
        let of_day = |date| Self::new(date, DateUnit::Day);
        let moment = |format: &&str| NaiveDate::parse_from_str(text, format).ok().and_then(of_day);
        let compact = || Self::day(text, "%Y%m%d").filter(|_| text.len() == 8);
        let days = || DAYS.iter().find_map(|format| Self::day(text, format));
        days().or_else(compact).or_else(|| MOMENTS.iter().find_map(moment))
    }

    /// Reads a day, alone or with a time after it.
    fn day(text: &str, format: &str) -> Option<Self> {
        let (date, rest) = NaiveDate::parse_and_remainder(text, format).ok()?;
        let is_whole = rest.is_empty() || rest.starts_with([' ', 'T', ',']);
        Self::new(date, DateUnit::Day).filter(|_| is_whole)
    }
}

/// Returns whether a value is a date in one of the usual forms.
///
/// ```
/// use corpus::dates::is_date;
///
/// assert!(is_date("Tue, 21 Jul 1998 05:06:07 +0200") && is_date("[c. 1850?]") && is_date("7/21/1998"));
/// assert!(!is_date("Windows 2000"));
/// ```
pub fn is_date(value: &str) -> bool {
    Date::parse(value).is_some() || is_slashed(value)
}

fn is_slashed(value: &str) -> bool {
    let is_read = |is_day_first| Date::slashed(value, is_day_first).is_some();
    is_read(false) || is_read(true)
}

/// Returns a day that is written without a time, except a slashed one, in days since 1970-01-01.
pub(crate) fn whole_day(value: &str) -> Option<i32> {
    let day = DAYS.iter().find_map(|format| NaiveDate::parse_from_str(value, format).ok())?;
    let date = Date::new(day, DateUnit::Day)?;
    Some(date.day.to_epoch_days())
}

/// Returns the day of a date, as `1998-07-21`. A slashed date only loses its time, and other values are unchanged.
pub fn day_of(value: &str) -> Cow<'_, str> {
    if let Some(date) = Date::parse(value).filter(|date| date.unit == DateUnit::Day) {
        return Cow::Owned(date.label(DateUnit::Day));
    }
    match value.trim().split_once([' ', 'T', ',']) {
        Some((day, _)) if is_slashed(value) => Cow::Borrowed(day),
        _ => Cow::Borrowed(value),
    }
}

/// The grouping of a column's dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    unit: DateUnit,
    is_day_first: bool,
}

impl Scale {
    /// Groups by `unit`, or by the finest one that all dates of a column have and that makes at most `most` groups, or
    /// else the coarsest; returns `None` if less than 95 % of the documents have a date. `counted` has the values, each
    /// with its number of documents.
    pub fn of<'v>(
        counted: impl Iterator<Item = (&'v str, u64)> + Clone,
        most: usize,
        unit: Option<DateUnit>,
    ) -> Option<Self> {
        let is_slashed = |value, is_day_first| Date::slashed(value, is_day_first).is_some();
        let is_day_first = (counted.clone())
            .any(|(value, _)| !is_slashed(value, false) && is_slashed(value, true));
        let mut scale = Self { unit: DateUnit::Day, is_day_first };
        let (mut dates, mut dated, mut all) = (Vec::new(), 0, 0);
        for (value, documents) in counted {
            all += documents;
            if let Some(date) = scale.date(value) {
                dated += documents;
                dates.push(date);
            }
        }
        scale.unit = dates.iter().map(|date| date.unit).max()?;
        if (dated as f64) < MOSTLY * all as f64 {
            return None;
        }
        if let Some(unit) = unit {
            scale.unit = unit;
            return Some(scale);
        }
        let is_few = |unit: DateUnit| {
            let labels: BTreeSet<String> = dates.iter().map(|date| date.label(unit)).collect();
            labels.len() <= most
        };
        for unit in [DateUnit::Month, DateUnit::Year, DateUnit::Decade] {
            if unit > scale.unit && !is_few(scale.unit) {
                scale.unit = unit;
            }
        }
        Some(scale)
    }

    /// Returns the group of a value: `1998-07-21`, `1998-07`, `1998` or `1990s`; `None` if it is no date. A date that
    /// is less precise than the unit is its own group.
    pub fn label(self, value: &str) -> Option<String> {
        let date = self.date(value)?;
        Some(date.label(self.unit.max(date.unit)))
    }

    fn date(self, value: &str) -> Option<Date> {
        Date::parse(value).or_else(|| Date::slashed(value, self.is_day_first))
    }
}

/// Parses a number of this many digits.
fn number<N: std::str::FromStr>(text: &str, digits: usize) -> Option<N> {
    let is_plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| utc(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn a_slashed_date_loses_its_time() {
        for value in ["7/21/1998 5:06", "7/21/1998, 5 pm", "7/21/1998T05:06"] {
            assert_eq!(day_of(value), "7/21/1998");
        }
    }

    #[test]
    fn dates_are_read_in_the_usual_forms_and_nothing_else_is() {
        let day = |year, month, day| {
            let day = NaiveDate::from_ymd_opt(year, month, day).unwrap();
            Date { day, unit: DateUnit::Day }
        };
        for text in [
            "1998-07-21",
            "1998-07-21T05:06:07Z",
            "1998-07-21 05:06:07.123",
            "1998/07/21",
            "19980721",
            "21.07.1998",
            "21.7.1998",
            "21 July 1998",
            "21 jul 1998",
            "21-Jul-1998",
            "July 21, 1998",
            "Jul 21 1998",
            " Jul 21, 1998, 5 pm",
            "Tue, 21 Jul 1998 05:06:07 +0000",
            "Tuesday, July 21, 1998",
            "Tue Jul 21 05:06:07 1998",
            "Tue Jul 21 05:06:07 +0000 1998",
        ] {
            assert_eq!(Date::parse(text), Some(day(1998, 7, 21)), "{text}");
        }
        let month = Date { unit: DateUnit::Month, ..day(1998, 7, 1) };
        let year = Date { unit: DateUnit::Year, ..day(1998, 1, 1) };
        assert_eq!(Date::parse("1998-07"), Some(month));
        for text in ["1998", "1998.0", "c1998", "ca. 1998", "[1998?]", "©1998"] {
            assert_eq!(Date::parse(text), Some(year), "{text}");
        }
        let decade = Date { unit: DateUnit::Decade, ..day(1990, 1, 1) };
        assert_eq!(Date::parse("1990s"), Some(decade));
        for text in [
            "",
            "98",
            "0998",
            "3000",
            "1998-13",
            "1998-02-30",
            "1998-07-21x",
            "Windows 2000",
            "21/07/1998",
            "1998s",
            "199807211",
            "Mon, 21 Jul 1998",
            "1998-1999",
            "in July 1998",
            "12345678",
        ] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
        assert_eq!(Date::slashed("7/21/1998 5:06", false), Some(day(1998, 7, 21)));
        assert_eq!(Date::slashed("07/21/1998", true), None);
        assert_eq!(Date::slashed("21/07/1998", true), Some(day(1998, 7, 21)));
    }
}
