//! How large topics are in the documents with each value of a metadata column: the rows of `topic_trends`, as the page
//! shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Column;
use super::bounds::{MOST_INTERVALS, NAME_CHARS, clip};
use super::data::Trend;
use crate::failure::Failure;
use crate::tables::records::records;
use crate::tables::topic_trends::TopicTrendRow;
use corpus::dates::{Scale, is_date};

/// The rows of a value, by topic; those of documents without a value, or with values that are not named, have none.
type OfValue = Vec<TopicTrendRow>;

/// Reads the trends of a result; none without the table. `all` are the columns of `documents`.
pub(super) fn trends(root: &Path, topics: usize, all: &[Column]) -> Result<Vec<Trend>, Failure> {
    let mut columns: BTreeMap<String, Vec<OfValue>> = BTreeMap::new();
    for row in records::<TopicTrendRow>(root)? {
        let row = row?;
        let column = columns.entry(row.name.clone()).or_default();
        match column
            .last_mut()
            .filter(|of| (&of[0].value, of[0].value_count) == (&row.value, row.value_count))
        {
            Some(of_value) => of_value.push(row),
            None => column.push(vec![row]),
        }
    }
    let named = |name: String| match all.iter().find(|column| column.name == name) {
        Some(column) => column.input.clone(),
        None => name,
    };
    let trends = columns.into_iter().map(|(name, column)| trend(&named(name), column, topics));
    let mut trends: Vec<Trend> = trends.collect();
    leave_out_intervals(&mut trends, MOST_INTERVALS);
    Ok(trends)
}

/// Leaves the intervals of at most this many shares, the largest.
fn leave_out_intervals(trends: &mut [Trend], most: usize) {
    let shares = trends.iter().flat_map(|trend| trend.shares.iter().flatten());
    let mut shares: Vec<u32> = shares.copied().collect();
    shares.sort_unstable_by(|a, b| b.cmp(a));
    let above = shares.get(most).copied().unwrap_or(0);
    for trend in trends {
        trend.interval_above = above;
        for (shares, intervals) in trend.shares.iter().zip(&mut trend.intervals) {
            let shares = shares.iter().filter(|&&share| share > 0);
            let kept = shares.zip(intervals.chunks(2)).filter(|&(&share, _)| share > above);
            *intervals = kept.flat_map(|(_, interval)| interval.to_vec()).collect();
        }
    }
}

fn trend(name: &str, column: Vec<OfValue>, topics: usize) -> Trend {
    let (mut named, rest): (Vec<OfValue>, Vec<OfValue>) =
        column.into_iter().partition(|it| it[0].value.is_some());
    let (mut others, nothing): (Vec<OfValue>, Vec<OfValue>) =
        rest.into_iter().partition(|it| it[0].value_count > 0);
    let documents = |it: &OfValue| it[0].documents.unsigned_abs();
    let text = |it: &OfValue| it[0].value.clone().unwrap_or_default();
    let number = |it: &OfValue| text(it).parse::<f64>().ok().filter(|number| number.is_finite());
    let texts: Vec<(String, u64)> = named.iter().map(|it| (text(it), documents(it))).collect();
    let counted = texts.iter().map(|(value, documents)| (&value[..], *documents));
    let mut without: u64 = nothing.iter().map(documents).sum();
    let kind = if Scale::of(counted, usize::MAX, None).is_some() {
        // The table has them in order.
        let (dated, undated) = named.into_iter().partition(|it| is_date(&text(it)));
        named = dated;
        without += undated.iter().map(documents).sum::<u64>();
        "time"
    } else if named.iter().all(|it| number(it).is_some()) {
        named
            .sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
        "number"
    } else {
        named.sort_by_key(|it| std::cmp::Reverse(it[0].documents));
        "name"
    };
    let unnamed: i64 = others.iter().map(|it| it[0].value_count).sum();
    let mut values: Vec<String> = named.iter().map(|it| clip(&text(it), NAME_CHARS)).collect();
    if kind == "name" && unnamed > 0 {
        values.push(format!("{unnamed} others"));
        named.append(&mut others);
    }
    let mut shares = vec![vec![0; named.len()]; topics];
    let mut intervals = vec![Vec::new(); topics];
    for (place, of_value) in named.iter().enumerate() {
        for row in of_value {
            let share = (1e5 * row.share).round() as u32;
            if share > 0 && (row.topic as usize) < topics {
                shares[row.topic as usize][place] = share;
                let hundredths = |far: f64| (1e2 * far.max(0.0) / row.share).round() as u32;
                let (low, high) = (row.low.unwrap_or(row.share), row.high.unwrap_or(row.share));
                intervals[row.topic as usize]
                    .extend([hundredths(row.share - low), hundredths(high - row.share)]);
            }
        }
    }
    Trend {
        name: clip(name, NAME_CHARS),
        kind,
        values,
        documents: named.iter().map(documents).collect(),
        tokens: named.iter().map(|it| it[0].tokens).collect(),
        others: unnamed as usize,
        without,
        shares,
        interval_above: 0,
        intervals,
    }
}

impl Trend {
    /// Returns the places of the values that a document has, by the shown text of its cell: a value, a list of values, or
    /// a text with a time in it. The page's `documentsOf` does the same.
    pub(super) fn places_of(&self, text: &str) -> Vec<usize> {
        let place = |name: &str| self.values.iter().position(|value| value == name);
        if self.kind == "time" {
            let begins = |value: &String| text.contains(value.strip_suffix("0s").unwrap_or(value));
            return (0..self.values.len()).filter(|&at| begins(&self.values[at])).collect();
        }
        let names: Vec<&str> = match place(text) {
            Some(_) => vec![text],
            None => text.split(", ").collect(),
        };
        let others = (self.kind == "name" && self.others > 0).then(|| self.values.len() - 1);
        let places: BTreeSet<usize> =
            names.into_iter().filter_map(|name| place(name).or(others)).collect();
        places.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(values: &[(Option<&str>, i64, u64)]) -> Trend {
        let column = values.iter().map(|&(value, value_count, documents)| {
            vec![TopicTrendRow {
                value: value.map(str::to_owned),
                value_count,
                documents: documents as i64,
                tokens: 10 * documents as i64,
                topic: 1,
                share: documents as f64 / 100.0,
                low: (documents > 1).then_some(documents as f64 / 200.0),
                high: (documents > 1).then_some(documents as f64 / 50.0),
                ..TopicTrendRow::default()
            }]
        });
        trend("column", column.collect(), 2)
    }

    #[test]
    fn times_are_in_order_without_what_is_no_date() {
        let mixed = shown(&[
            (Some("1990s"), 1, 5),
            (Some("2004"), 1, 95),
            (Some("unknown"), 1, 3),
            (None, 0, 2),
        ]);
        assert_eq!(
            (mixed.kind, &mixed.values[..]),
            ("time", &["1990s", "2004"].map(str::to_owned)[..])
        );
        assert_eq!((mixed.without, &mixed.documents[..]), (5, &[5, 95][..]));
        assert_eq!(mixed.shares, [vec![0, 0], vec![5_000, 95_000]]);
        assert_eq!(mixed.intervals, [vec![], vec![50, 100, 50, 100]]);
        let mut cut = [mixed, shown(&[(Some("a"), 1, 9)])];
        leave_out_intervals(&mut cut, 1);
        assert_eq!(cut[0].intervals[1], [50, 100]);
        assert_eq!((cut[1].interval_above, cut[1].intervals[1].len()), (9_000, 0));
        // The rarest dates have no place on an axis.
        let many = shown(&[(Some("1998"), 1, 9), (Some("1999"), 1, 8), (None, 7, 7)]);
        assert_eq!((many.values.len(), many.others), (2, 7));
        assert_eq!(shown(&[(Some("1990"), 1, 9), (Some("unknown"), 1, 1)]).kind, "name");
        assert_eq!(cut[0].places_of("1998-07-21, 2004-02-01"), [0, 1]);
    }

    #[test]
    fn numbers_are_in_their_order() {
        let numbers = shown(&[(Some("-2.5"), 1, 3), (Some("10"), 1, 5), (Some("9"), 1, 1)]);
        assert_eq!((numbers.kind, numbers.values.join(" ")), ("number", "-2.5 9 10".to_owned()));
        assert_eq!(numbers.intervals[1], [50, 100, 0, 0, 50, 100]);
    }

    #[test]
    fn names_are_ordered_by_their_documents_and_the_unnamed_are_one() {
        let names = shown(&[(Some("a"), 1, 5), (Some("c"), 1, 9), (None, 2, 6), (None, 0, 4)]);
        assert_eq!(names.values, ["c", "a", "2 others"]);
        assert_eq!((&names.documents[..], names.without, names.others), (&[9, 5, 6][..], 4, 2));
        assert_eq!(names.tokens, [90, 50, 60]);
        assert_eq!(
            ["c", "a, c", "b", "c, x"].map(|text| names.places_of(text)),
            [vec![0], vec![0, 1], vec![2], vec![0, 2]]
        );
    }
}
