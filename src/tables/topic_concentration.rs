//! What single documents, volumes and values hold of each topic: whether a topic is one of the collection, or that of a
//! document.

use std::sync::Arc;

use super::check::{Known, SHARES_WITHIN, VerifyReport};
use super::group_topics::{GroupSums, TOPIC_BUCKET};
use super::records::table;
use super::rollup::{ListedDocument, RollUp, RollUpContext, StartRollUp, check_rows};
use super::trend_columns::TrendColumn;
use crate::failure::Failure;
use corpus::memo::Memo;

/// What holds less than 1 / this of a topic's tokens has no row: there are at most this many rows of a topic and column,
/// unless documents have several values.
const LEAST_PART: i64 = 10;

/// The columns of documents and volumes.
pub(crate) const DOCUMENT: &str = "source_id";
pub(crate) const GROUP: &str = "group_id";

table! {
    /// The documents, volumes and values of columns that hold at least a tenth of a topic's tokens each. One row per
    /// topic and such a document, volume or value.
    "topic_concentration", sorted_by [topic, name, value], checked_by check;
    pub(crate) struct TopicConcentrationRow {
        topic: i32,            /// The topic, from 0.
        name: String,          /// The column of `documents`: `source_id`, `group_id` or one of those of `topic_trends`.
        value: String,         /// The document's own id, the volume, or the column's value; dates as in `topic_trends`.
        documents: i64,        /// Documents with tokens in the vocabulary that have the value.
        share: f64,            /// Their share of the topic's tokens: Σ_d θ_dk N_d over them, over that of all documents, with θ as listed in `document_topics`.
        collection_share: f64, /// Their share of all tokens in the vocabulary.
    }
}

/// Starts the roll-up.
pub(super) fn roll_up(context: &RollUpContext, start: &mut impl StartRollUp) {
    start.start(TopicConcentration::new(Arc::clone(&context.columns)));
}

/// The sums over each document that may have a row, each volume and each value.
struct TopicConcentration {
    columns: Arc<[TrendColumn]>,
    /// For each column, the keys of a document's values.
    memos: Vec<Memo<Vec<String>>>,
}

impl TopicConcentration {
    fn new(columns: Arc<[TrendColumn]>) -> Self {
        Self { memos: vec![Memo::default(); columns.len()], columns }
    }
}

/// Returns the key of a value's sums; documents also have their number, because their own ids may repeat.
fn key_of(name: &str, number: Option<u64>, value: &str) -> String {
    let number = number.map_or_else(String::new, |number| number.to_string());
    format!("{name}\0{number}\0{value}")
}

/// Whether a mass is at least a tenth of the whole.
fn is_much(mass: i64, whole: i64) -> bool {
    mass > 0 && mass >= whole / LEAST_PART
}

impl RollUp for TopicConcentration {
    type Key = str;
    type Sums = GroupSums;
    type Whole = GroupSums;
    type Line = TopicConcentrationRow;
    type Row = TopicConcentrationRow;

    fn buckets(&self, documents: u64) -> u64 {
        documents.div_ceil(TOPIC_BUCKET).max(1)
    }

    fn empty(&self) -> GroupSums {
        GroupSums::default()
    }

    fn whole(&self) -> GroupSums {
        GroupSums::default()
    }

    fn add(
        &mut self,
        document: &ListedDocument<'_>,
        whole: &mut GroupSums,
        each: &mut dyn FnMut(&str, &mut dyn FnMut(&mut GroupSums)),
    ) {
        let mut count = |sums: &mut GroupSums| sums.count(document);
        count(whole);
        // A document with a tenth of a topic has it of those that are counted so far, too: few others are sent.
        if document.masses().any(|(topic, mass)| is_much(mass, whole.topics[&topic])) {
            let key = key_of(DOCUMENT, Some(document.number), &document.read.source_id);
            each(&key, &mut count);
        }
        if let Some(group) = &document.read.group {
            each(&key_of(GROUP, None, group), &mut count);
        }
        for (column, memo) in self.columns.iter().zip(&mut self.memos) {
            let keys = |cell: &str| {
                let values = column.values_of(cell).into_iter();
                values.map(|value| key_of(&column.name, None, &value)).collect()
            };
            let cell = document.read.metadata[column.place].as_deref().unwrap_or("");
            memo.get(cell, keys).iter().for_each(|key| each(key, &mut count));
        }
    }

    /// Which documents were sent depends on the workers; which have a tenth does not, and of more they have less.
    fn is_kept(&self, key: &str, sums: &GroupSums, whole: &GroupSums) -> bool {
        let is_much = |(topic, &mass)| is_much(mass, whole.topics[topic]);
        key.split('\0').next() != Some(DOCUMENT) || sums.topics.iter().any(is_much)
    }

    fn lines(
        &self,
        key: String,
        sums: GroupSums,
        whole: &GroupSums,
        lines: &mut Vec<TopicConcentrationRow>,
    ) {
        let mut parts = key.splitn(3, '\0');
        let [name, _, value] = std::array::from_fn(|_| parts.next().unwrap_or_default());
        let share = |part: i64, whole: i64| part as f64 / whole as f64;
        for (topic, mass) in sums.topics {
            let all = whole.topics[&topic];
            if is_much(mass, all) {
                lines.push(TopicConcentrationRow {
                    topic: topic as i32,
                    name: name.to_owned(),
                    value: value.to_owned(),
                    documents: sums.documents,
                    share: share(mass, all),
                    collection_share: share(sums.tokens, whole.tokens),
                });
            }
        }
    }

    fn rows(
        &self,
        mut lines: Vec<TopicConcentrationRow>,
        _: &GroupSums,
    ) -> Vec<TopicConcentrationRow> {
        // Documents of the same id: the one that holds more is first.
        lines.sort_by(|a, b| place(a).cmp(&place(b)).then(b.share.total_cmp(&a.share)));
        lines
    }
}

/// Returns what rows are sorted by.
fn place(row: &TopicConcentrationRow) -> (i32, &str, &str) {
    (row.topic, &row.name, &row.value)
}

fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let least = 1.0 / LEAST_PART as f64 - SHARES_WITHIN;
    check_rows(known, report, |last: Option<&TopicConcentrationRow>, row| {
        // Only the ids of documents repeat.
        let follows = |last: &TopicConcentrationRow| match place(last).cmp(&place(row)) {
            std::cmp::Ordering::Equal => row.name == DOCUMENT && row.share <= last.share,
            order => order.is_lt(),
        };
        last.is_none_or(follows)
            && (0..known.topic_count() as i32).contains(&row.topic)
            && (1..=known.totals.documents).contains(&row.documents)
            && (least..=1.0).contains(&row.share)
            && (0.0..=1.0).contains(&row.collection_share)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::ShardDocument;
    use corpus::sample::Split;
    use std::collections::BTreeMap;

    /// A document: its tokens, a value, its weights and topics.
    type Weighted<'d> = (u32, &'d str, &'d [(f32, u16)]);

    /// Returns the rows for documents of one term each: its tokens, its volume, and its topics; `workers` share them.
    fn rows_of(documents: &[Weighted<'_>], workers: usize) -> Vec<String> {
        let mut sums: BTreeMap<String, GroupSums> = BTreeMap::new();
        let mut wholes = vec![GroupSums::default(); workers];
        let mut roll_up = TopicConcentration::new([TrendColumn::new("language", 0)].into());
        for (number, &(tokens, group, topics)) in (0..).zip(documents) {
            let read = ShardDocument {
                source_id: format!("d{number}"),
                group: Some(group.to_owned()),
                metadata: vec![Some(if number == 0 { "de" } else { "en" }.to_owned())],
                terms: vec![0],
                counts: vec![tokens],
                ..ShardDocument::default()
            };
            let split = Split::Projected;
            let listed =
                ListedDocument { number, read: &read, split, topics, loglik_per_token: 0.0 };
            let whole = &mut wholes[number as usize % workers];
            roll_up.add(&listed, whole, &mut |key, count| {
                count(sums.entry(key.to_owned()).or_default());
            });
        }
        let mut all = GroupSums::default();
        wholes.iter_mut().for_each(|whole| {
            use crate::tables::rollup::Sums;
            whole.take(&mut |part| all.add(part));
        });
        let mut lines = Vec::new();
        sums.into_iter().for_each(|(key, sums)| roll_up.lines(key, sums, &all, &mut lines));
        let show = |row: TopicConcentrationRow| {
            format!(
                "{} {}={} {:.2} of {:.2}",
                row.topic, row.name, row.value, row.share, row.collection_share
            )
        };
        roll_up.rows(lines, &all).into_iter().map(show).collect()
    }

    #[test]
    fn what_holds_a_tenth_of_a_topic_is_listed_however_documents_are_shared_out() {
        let mut documents: Vec<Weighted<'_>> =
            vec![(600, "a", &[(0.5, 0), (0.5, 1)])];
        documents.extend([(10, "b", &[(1.0, 0)][..]); 70]);
        let expected = [
            "0 group_id=a 0.30 of 0.46",
            "0 group_id=b 0.70 of 0.54",
            "0 language=de 0.30 of 0.46",
            "0 language=en 0.70 of 0.54",
            "0 source_id=d0 0.30 of 0.46",
            "1 group_id=a 1.00 of 0.46",
            "1 language=de 1.00 of 0.46",
            "1 source_id=d0 1.00 of 0.46",
        ];
        for workers in [1, 2, 5] {
            assert_eq!(rows_of(&documents, workers), expected);
        }
        // In any order: the document is not the first.
        documents.rotate_left(1);
        let last = rows_of(&documents, 3);
        assert!(last.contains(&"0 source_id=d70 0.30 of 0.46".to_owned()), "{last:?}");
        assert_eq!(last.iter().filter(|row| row.contains("source_id")).count(), 2);
    }
}
