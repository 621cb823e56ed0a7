//! A column of the first records, and what it probably contains.

use std::collections::BTreeSet;

use corpus::dates::is_date;

/// Names of text columns, the likeliest first.
const TEXTS: [&str; 15] = [
    "text",
    "body",
    "content",
    "contents",
    "fulltext",
    "full_text",
    "abstract",
    "article",
    "document",
    "description",
    "message",
    "review",
    "comment",
    "summary",
    "tweet",
];
/// Names of titles; a title belongs to the text, and without a text it is the text.
const TITLES: [&str; 3] = ["title", "headline", "subject"];
/// Names of ids, the likeliest first.
const IDS: [&str; 18] = [
    "id",
    "_id",
    "doc_id",
    "docid",
    "document_id",
    "docno",
    "uid",
    "uuid",
    "guid",
    "key",
    "identifier",
    "doi",
    "pmid",
    "nr",
    "no",
    "number",
    "url",
    "name",
];
/// Mean words per value above which values are more than names.
const PROSE_WORDS: f64 = 4.0;
/// Maximum mean characters per value of metadata.
const SHORT: f64 = 40.0;

/// Mean characters of words, at most.
const WORD: f64 = 12.0;
/// Another name of a column that tells what a document is, whether values repeat or not.
const VOLUME: &str = "volume";
/// Maximum number of metadata columns.
const MOST_METADATA: usize = 8;

/// Whether a column of this name usually contains text.
pub(crate) fn is_text_name(name: &str) -> bool {
    let texts = TEXTS.iter().chain(&TITLES);
    texts.copied().any(|text| text.eq_ignore_ascii_case(name))
}

/// Whether a column of this name usually contains an id.
pub(super) fn is_id_name(name: &str) -> bool {
    IDS.iter().any(|id| id.eq_ignore_ascii_case(name))
}

/// A column or key, over the records that were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PreviewColumn {
    pub(crate) name: String,
    /// Records that were read.
    pub(crate) records: usize,
    /// Those with a value.
    pub(crate) values: usize,
    /// Distinct values.
    pub(crate) distinct: usize,
    /// Characters of all values.
    pub(crate) characters: usize,
    /// Words of all values, separated by white space.
    pub(crate) words: usize,
    /// Values that are numbers.
    pub(crate) numbers: usize,
    /// Values that are dates.
    pub(crate) dates: usize,
}

impl PreviewColumn {
    /// Creates the column from these values, one for each record that has one.
    pub(super) fn of(name: String, records: usize, values: &[&str]) -> Self {
        let distinct: BTreeSet<&&str> = values.iter().collect();
        let is_number = |value: &&&str| value.trim().parse::<f64>().is_ok();
        Self {
            name,
            records,
            values: values.len(),
            distinct: distinct.len(),
            characters: values.iter().map(|value| value.chars().count()).sum(),
            words: values.iter().map(|value| value.split_whitespace().count()).sum(),
            numbers: values.iter().filter(is_number).count(),
            dates: values.iter().filter(|value| is_date(value)).count(),
        }
    }

    /// Returns whether values are single words; a long one is a text in a script without spaces.
    pub(super) fn is_word(&self) -> bool {
        self.values > 0 && self.mean_words() < 1.1 && self.mean_characters() <= WORD
    }

    /// Returns whether it has the name of an id, apart from names that other columns have too.
    pub(crate) fn is_id_name(&self) -> bool {
        let is_common = ["url", "name", "number", "no", "nr", "key"];
        is_id_name(&self.name) && !is_common.contains(&self.name.to_lowercase().as_str())
    }

    /// Returns the mean number of words of a value.
    pub(crate) fn mean_words(&self) -> f64 {
        self.words as f64 / self.values.max(1) as f64
    }

    fn mean_characters(&self) -> f64 {
        self.characters as f64 / self.values.max(1) as f64
    }

    /// Whether its values are sentences rather than names.
    pub(crate) fn is_prose(&self) -> bool {
        self.is_text() && self.mean_words() > PROSE_WORDS
    }

    /// Whether it has values, most of which are neither numbers nor dates.
    fn is_text(&self) -> bool {
        self.values > 0 && 2 * self.numbers.max(self.dates) < self.values
    }

    /// Whether it has dates in most records, and hardly anything else.
    pub(crate) fn is_date(&self) -> bool {
        20 * self.dates >= 19 * self.values && 2 * self.values > self.records
    }
}

/// The form of a number, a date or an id: what tells it from a name.
#[derive(PartialEq)]
pub(super) enum ValueForm {
    Number,
    Date,
    /// The letters before the number, as in `doc17`.
    Id(String),
}

/// Returns the form of a value; `None` if it may be a column's name.
pub(super) fn form_of(value: &str) -> Option<ValueForm> {
    let value = value.trim();
    if value.parse::<f64>().is_ok() {
        return Some(ValueForm::Number);
    }
    if is_date(value) {
        return Some(ValueForm::Date);
    }
    let letters = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_id = letters.len() < value.len() && !value.contains(char::is_whitespace);
    is_id.then(|| ValueForm::Id(letters.to_owned()))
}

/// Returns the text column: one with a usual name, or the longest with that name as the key within objects, if it
/// has more than a word per value; else the longest of all. A column of single words is not text.
pub(super) fn text_of(columns: &[PreviewColumn]) -> Option<String> {
    let texts = || columns.iter().filter(|column| column.is_text());
    let named = |name: &str, of: fn(&str) -> &str| {
        let is_named = |column: &&PreviewColumn| of(&column.name).eq_ignore_ascii_case(name);
        longest(texts().filter(|column| is_named(column) && column.mean_words() > 1.5))
    };
    let usual =
        TEXTS.iter().find_map(|name| named(name, |whole| whole).or_else(|| named(name, last_key)));
    let is_long = |column: &&PreviewColumn| {
        is_text_name(&column.name) || column.mean_words() > 1.5 || column.mean_characters() > SHORT
    };
    let found = usual.or_else(|| longest(texts().filter(is_long)));
    found.map(|column| column.name.clone())
}

/// Returns the title column of the texts, by its name; a column in which many titles repeat does not count.
pub(super) fn title_of(columns: &[PreviewColumn], text: &str) -> Option<String> {
    let is_title = |column: &&PreviewColumn| {
        let differ = 5 * column.distinct > 4 * column.values;
        column.is_text() && differ && column.mean_words() > 1.5 && column.name != text
    };
    let named = |name: &&str| {
        let is_named = |column: &&PreviewColumn| column.name.eq_ignore_ascii_case(name);
        columns.iter().filter(is_named).find(is_title)
    };
    TITLES.iter().find_map(named).map(|column| column.name.clone())
}

/// Returns the column with the longest values; the first of equally long ones.
fn longest<'c>(columns: impl Iterator<Item = &'c PreviewColumn>) -> Option<&'c PreviewColumn> {
    columns.reduce(
        |best, column| {
            if column.mean_characters() > best.mean_characters() { column } else { best }
        },
    )
}

/// Returns the last key of a nested value's name.
pub(super) fn last_key(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Returns the id column: one with a usual name, or whose name ends in "id", if no two records share an id; else one
/// with a usual name and few values that records share or lack.
pub(super) fn id_of(columns: &[PreviewColumn]) -> Option<String> {
    let is_key = |column: &&PreviewColumn| column.distinct == column.records && column.records > 0;
    let nearly = |column: &&PreviewColumn| {
        let is_frequent = 2 * column.values >= column.records && column.records > 0;
        is_frequent && 10 * column.distinct >= 9 * column.values
    };
    let named = |name: &&str, is_key: fn(&&PreviewColumn) -> bool| {
        let mut keys = columns.iter().filter(is_key);
        // MongoDB exports ids as objects.
        let plain = |column: &PreviewColumn| column.name.trim_end_matches(".$oid").to_owned();
        keys.find(|column| plain(column).eq_ignore_ascii_case(name))
    };
    let is_id = |column: &&PreviewColumn| {
        ["_id", "_uid", "Id", "ID"].iter().any(|end| column.name.ends_with(end))
    };
    let found = IDS.iter().find_map(|name| named(name, is_key));
    let found = found.or_else(|| columns.iter().filter(is_key).find(is_id));
    let found = found.or_else(|| IDS.iter().find_map(|name| named(name, nearly)));
    found.map(|column| column.name.clone())
}

/// Returns the columns of dates, titles and volumes, and short ones with repeated values, if most records have them;
/// without those in `taken`. The first records may all have the same value.
pub(super) fn metadata_of(columns: &[PreviewColumn], taken: &[&Option<String>]) -> Vec<String> {
    let is_taken = |name: &String| taken.iter().any(|taken| taken.as_ref() == Some(name));
    let is_short = |column: &&PreviewColumn| {
        let repeats = column.values > 1 && 5 * column.distinct <= 4 * column.values;
        repeats && 2 * column.values > column.records && column.mean_characters() <= SHORT
    };
    let is_named = |column: &&PreviewColumn| {
        let mut names = TITLES.iter().chain([&VOLUME]);
        2 * column.values > column.records && names.any(|it| it.eq_ignore_ascii_case(&column.name))
    };
    let free = || columns.iter().filter(|column| !is_taken(&column.name));
    let dates = free().filter(|column| column.is_date());
    let named = free().filter(|column| !column.is_date()).filter(is_named);
    let others = free().filter(|column| !column.is_date() && !is_named(column)).filter(is_short);
    (dates.chain(named).chain(others))
        .take(MOST_METADATA)
        .map(|column| column.name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(values: &[(&str, &[&str])]) -> Vec<PreviewColumn> {
        let of =
            |(name, values): &(&str, &[&str])| PreviewColumn::of((*name).to_owned(), 4, values);
        values.iter().map(of).collect()
    }

    #[test]
    fn a_usual_name_goes_before_a_longer_column() {
        let long = "one two three four five six";
        let columns =
            columns(&[("notes", &[long; 4]), ("Body", &["a b c"; 4]), ("text", &["x"; 4])]);
        assert_eq!(text_of(&columns).as_deref(), Some("Body"));
        assert_eq!(text_of(&columns[..1]).as_deref(), Some("notes"));
        assert_eq!(text_of(&columns[2..]).as_deref(), Some("text"));
        let nested = |name: &str| PreviewColumn { name: name.to_owned(), ..columns[1].clone() };
        let long = PreviewColumn { name: "post.Text".to_owned(), ..columns[0].clone() };
        let within = [nested("title"), nested("user.text"), long, nested("body")];
        assert_eq!(text_of(&within).as_deref(), Some("post.Text"));
        let titled = [nested("title"), columns[0].clone()];
        assert_eq!(text_of(&titled).as_deref(), Some("notes"));
        assert_eq!(text_of(&titled[..1]).as_deref(), Some("title"));
        let mut key = columns[2].clone();
        key.name = "key".to_owned();
        assert_eq!(text_of(&[key]), None);
    }

    #[test]
    fn a_title_of_one_text_belongs_to_it() {
        let titles: &[&str] = &["one day", "another day", "the night", "the morning after"];
        let columns = columns(&[
            ("Title", titles),
            ("headline", &["the same book"; 4]),
            ("text", &["a b c"; 4]),
        ]);
        assert_eq!(title_of(&columns, "text").as_deref(), Some("Title"));
        assert_eq!(title_of(&columns, "Title"), None);
    }

    #[test]
    fn ids_of_mongodb_are_ids() {
        let columns = columns(&[("_id.$oid", &["5f0", "5f1", "5f2", "5f3"])]);
        assert_eq!(id_of(&columns).as_deref(), Some("_id.$oid"));
    }

    #[test]
    fn numbers_are_no_text() {
        let columns = columns(&[("year", &["1999", "2000", "2001", "2002"]), ("empty", &[])]);
        assert_eq!(text_of(&columns), None);
    }

    #[test]
    fn an_id_differs_from_record_to_record() {
        let columns = columns(&[("id", &["1", "1", "2", "3"]), ("URL", &["a", "b", "c", "d"])]);
        assert_eq!(id_of(&columns).as_deref(), Some("URL"));
        assert_eq!(id_of(&columns[..1]), None);
        let nearly = PreviewColumn { records: 100, values: 99, distinct: 97, ..columns[0].clone() };
        assert_eq!(id_of(std::slice::from_ref(&nearly)).as_deref(), Some("id"));
        assert_eq!(id_of(&[nearly, columns[1].clone()]).as_deref(), Some("URL"));
        let paper = PreviewColumn { name: "paper_id".to_owned(), ..columns[1].clone() };
        assert_eq!(id_of(&[columns[0].clone(), paper]).as_deref(), Some("paper_id"));
    }

    #[test]
    fn short_values_that_repeat_are_carried_along() {
        let columns = columns(&[
            ("year", &["1999", "1999", "2000", "2000"]),
            ("serial", &["1", "2", "3", "4"]),
            ("split", &["train"; 4]),
            ("rare", &["x", "x"]),
            ("Title", &["a", "b", "c", "d"]),
            ("volume", &["1", "2", "3", "4"]),
        ]);
        assert_eq!(metadata_of(&columns, &[]), ["year", "Title", "volume", "split"]);
        let taken = ["year", "Title"].map(|name| Some(name.to_owned()));
        assert_eq!(metadata_of(&columns, &[&taken[0], &taken[1]]), ["volume", "split"]);
    }
}
