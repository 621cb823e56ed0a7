//! How large topics are in the documents with each value of a metadata column: the rows of `topic_trends`, as the page
//! shows them.

use std::collections::BTreeMap;
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
    Ok(columns.into_iter().map(|(name, column)| trend(&named(name), column, topics)).collect())
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
            let millionths = (1e6 * row.share).round() as u32;
            if millionths > 0 && (row.topic as usize) < topics {
                shares[row.topic as usize][place] = millionths;
                let thousandths = |far: f64| (1e3 * far.max(0.0) / row.share).round() as u32;
                let (low, high) = (row.low.unwrap_or(row.share), row.high.unwrap_or(row.share));
                intervals[row.topic as usize]
                    .extend([thousandths(row.share - low), thousandths(high - row.share)]);
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
        intervals: if topics * named.len() > MOST_INTERVALS { Vec::new() } else { intervals },
        shares,
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
        assert_eq!(mixed.shares, [vec![0, 0], vec![50_000, 950_000]]);
        assert_eq!(mixed.intervals, [vec![], vec![500, 1000, 500, 1000]]);
        // The rarest dates have no place on an axis.
        let many = shown(&[(Some("1998"), 1, 9), (Some("1999"), 1, 8), (None, 7, 7)]);
        assert_eq!((many.values.len(), many.others), (2, 7));
        assert_eq!(shown(&[(Some("1990"), 1, 9), (Some("unknown"), 1, 1)]).kind, "name");
    }

    #[test]
    fn numbers_are_in_their_order() {
        let numbers = shown(&[(Some("-2.5"), 1, 3), (Some("10"), 1, 5), (Some("9"), 1, 1)]);
        assert_eq!((numbers.kind, numbers.values.join(" ")), ("number", "-2.5 9 10".to_owned()));
        assert_eq!(numbers.intervals[1], [500, 1000, 0, 0, 500, 1000]);
    }

    #[test]
    fn names_are_ordered_by_their_documents_and_the_unnamed_are_one() {
        let names = shown(&[(Some("a"), 1, 5), (Some("c"), 1, 9), (None, 2, 6), (None, 0, 4)]);
        assert_eq!(names.values, ["c", "a", "2 others"]);
        assert_eq!((&names.documents[..], names.without, names.others), (&[9, 5, 6][..], 4, 2));
        assert_eq!(names.tokens, [90, 50, 60]);
    }
}
