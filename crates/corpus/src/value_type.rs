//! The types of metadata columns, found from all their values: shards keep the text of a value, and tables have numbers,
//! days and lists.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dates::whole_day;

/// Whole numbers up to this one are exact as floats.
const EXACT: i64 = 1 << 53;

/// The type of a column of metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    /// Whole numbers of 64 bits, without zeros before them.
    Integer,
    /// Whole numbers and decimals.
    Number,
    /// Days of the calendar.
    Date,
    /// JSON lists of texts, numbers and booleans.
    List,
    /// Everything else.
    #[default]
    Text,
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedValue<'v> {
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Days since 1970-01-01.
    Date(i32),
    /// The elements of a list.
    List(Vec<String>),
    /// A text.
    Text(&'v str),
}

/// The types that are looked for; a column has the first that all its values have.
const NARROW: [ValueType; 4] =
    [ValueType::Integer, ValueType::Number, ValueType::Date, ValueType::List];

impl ValueType {
    /// Returns what its values are called.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Integer => "whole numbers",
            Self::Number => "numbers",
            Self::Date => "days",
            Self::List => "lists",
            Self::Text => "texts",
        }
    }

    /// Returns a value of this type; `None` if the text is of another, or blank and the type is not text.
    ///
    /// ```
    /// use corpus::value_type::{TypedValue, ValueType};
    ///
    /// assert_eq!(ValueType::Integer.read("1998"), Some(TypedValue::Integer(1998)));
    /// assert_eq!(ValueType::Integer.read("01067"), None);
    /// ```
    pub fn read(self, text: &str) -> Option<TypedValue<'_>> {
        let trimmed = text.trim();
        match self {
            Self::Integer => integer(trimmed).map(TypedValue::Integer),
            Self::Number => number(trimmed).map(TypedValue::Number),
            Self::Date => whole_day(trimmed).map(TypedValue::Date),
            Self::List => list(trimmed).map(TypedValue::List),
            Self::Text => Some(TypedValue::Text(text)),
        }
    }
}

fn integer(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text)
}

fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let is_plain = match digits {
        [b'0', b'0'..=b'9', ..] => false,
        [first, ..] => first.is_ascii_digit(),
        [] => false,
    };
    let is_whole = digits.iter().all(u8::is_ascii_digit);
    let is_exact = !is_whole || integer(text).is_some_and(|whole| whole.abs() <= EXACT);
    text.parse().ok().filter(|number: &f64| is_plain && is_exact && number.is_finite())
}

fn list(text: &str) -> Option<Vec<String>> {
    if !text.starts_with('[') {
        return None;
    }
    let elements: Vec<Value> = serde_json::from_str(text).ok()?;
    let text_of = |element: Value| match element {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => Some(element.to_string()),
        _ => None,
    };
    elements.into_iter().map(text_of).collect()
}

/// Finds the types of columns.
#[derive(Clone, Debug)]
pub struct TypeFinder(Vec<[bool; 1 + NARROW.len()]>);

impl TypeFinder {
    /// Creates one for some columns, no value of which is known.
    pub fn new(columns: usize) -> Self {
        Self(vec![[false; 1 + NARROW.len()]; columns])
    }

    /// Adds the values of a document. Blank ones are of any type.
    pub fn add(&mut self, values: &[Option<String>]) {
        for (column, value) in self.0.iter_mut().zip(values) {
            let Some(text) = value.as_deref().filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            let [is_seen, is_other @ ..] = column;
            *is_seen = true;
            for (is_other, narrow) in is_other.iter_mut().zip(NARROW) {
                *is_other = *is_other || narrow.read(text).is_none();
            }
        }
    }

    /// Returns counts that workers add up, place by place.
    pub fn to_sums(&self) -> Vec<i64> {
        self.0.as_flattened().iter().map(|&flag| i64::from(flag)).collect()
    }

    /// Returns the types of the columns, given the sums over all documents.
    pub fn finish(sums: &[i64]) -> Vec<ValueType> {
        let type_of = |flags: &[i64]| {
            let first = NARROW.into_iter().zip(&flags[1..]).find(|(_, others)| **others == 0);
            first.filter(|_| flags[0] > 0).map_or(ValueType::Text, |(narrow, _)| narrow)
        };
        sums.chunks_exact(1 + NARROW.len()).map(type_of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_of(values: &[&str]) -> ValueType {
        let finders = values.iter().map(|value| {
            let mut finder = TypeFinder::new(1);
            finder.add(&[Some((*value).to_owned())]);
            finder.to_sums()
        });
        let sums = finders
            .fold(vec![0; 5], |sums, one| sums.iter().zip(one).map(|(a, b)| a + b).collect());
        TypeFinder::finish(&sums)[0]
    }

    #[test]
    fn a_column_has_the_narrowest_type_of_all_its_values() {
        use ValueType::{Date, Integer, List, Number, Text};
        for (values, expected) in [
            (&["1998", " 2001 ", "-7", "", "0"][..], Integer),
            (&["1998", "2.50", "1e3", "-0.5"], Number),
            (&["2004-07-01", "1 July 2004", "21.07.1998"], Date),
            (&["[]", "[\"a\", 2, true]"], List),
            (&["1998", "c. 1850"], Text),
            (&["01067", "10115"], Text),
            (&["+1"], Text),
            (&[".5"], Text),
            (&["nan", "inf"], Text),
            (&["2004-07", "2004-07-01"], Text),
            (&["2004-07-01T05:06:07"], Text),
            (&["7/21/1998"], Text),
            (&["[1, null]"], Text),
            (&["[[1]]"], Text),
            (&["[1998?]"], Text),
            (&["9223372036854775807"], Integer),
            (&["9223372036854775808"], Text),
            (&["9007199254740993", "0.5"], Text),
            (&["", " "], Text),
            (&[], Text),
        ] {
            assert_eq!(type_of(values), expected, "{values:?}");
        }
    }

    #[test]
    fn values_are_read_as_they_are_written() {
        assert_eq!(ValueType::Date.read("1970-01-02"), Some(TypedValue::Date(1)));
        assert_eq!(ValueType::Number.read("2.50"), Some(TypedValue::Number(2.5)));
        let elements = ["b", "a", "b", "1.0"].map(str::to_owned).to_vec();
        let list = ValueType::List.read("[\"b\", \"a\", \"b\", 1.0]");
        assert_eq!(list, Some(TypedValue::List(elements)));
        assert_eq!(ValueType::Text.read(" x "), Some(TypedValue::Text(" x ")));
        assert_eq!(ValueType::Number.read(""), None);
    }
}
