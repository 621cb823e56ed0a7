//! Names that a person has given topics, and the file that has them.

use std::collections::BTreeMap;
use std::path::Path;

use csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};

use super::check::{Known, VerifyReport};
use super::records::{Record, table};
use super::rollup::check_rows;
use crate::failure::Failure;

table! {
    /// What a person has said about topics (`topicmill report --names`). One row per topic of which anything is said.
    "topic_names", sorted_by [topic], checked_by check;
    pub(crate) struct TopicNameRow {
        topic: i32,               /// The topic, from 0.
        #[serde(skip_serializing)]
        name: Option<String>,     /// Its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        hidden: bool,             /// Whether it is left out of lists and pictures.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        merged_into: Option<i32>, /// The topic that it is shown as a part of; no part of another itself.
        #[serde(skip_serializing_if = "Option::is_none")]
    }
}

/// The byte order mark with which spreadsheets begin a file in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

impl TopicNameRow {
    /// Reads the rows for a result of `topics` topics from a CSV file, in the order of the topics.
    ///
    /// # Errors
    /// The file cannot be read; it is not such a file; it contradicts itself or the result.
    pub(crate) fn read(path: &Path, topics: u64) -> Result<Vec<Self>, Failure> {
        let unread = |error| Failure::io(path)(error).help("name a file that the report saved");
        let bytes = std::fs::read(path).map_err(unread)?;
        parse(path, &bytes, topics)
    }

    fn says_something(&self) -> bool {
        self.name.is_some() || self.hidden || self.merged_into.is_some()
    }
}

fn parse(path: &Path, bytes: &[u8], topics: u64) -> Result<Vec<TopicNameRow>, Failure> {
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(bytes);
    let header = reader.headers().map_err(unreadable(path))?.clone();
    let place = |name: &str| header.iter().position(|column| column == name);
    let [Some(topic), Some(name), Some(hidden), Some(merged_into)] =
        ["topic", "name", "hidden", "merged_into"].map(place)
    else {
        return Err(other_columns(path));
    };
    if header.len() != TopicNameRow::COLUMNS.len() {
        return Err(other_columns(path));
    }
    let mut rows: BTreeMap<i32, (u64, TopicNameRow)> = BTreeMap::new();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(unreadable(path))? {
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |place: usize| Some(&record[place]).filter(|text| !text.is_empty());
        let number = |text: &str| {
            let number: Option<i32> = text.parse().ok();
            number.filter(|&it| u64::try_from(it).is_ok_and(|it| it < topics)).ok_or_else(|| {
                let last = topics.saturating_sub(1);
                let message = format!("there is no topic {text:?}");
                Failure::line(path, line, message).help(format!("the topics are 0 to {last}"))
            })
        };
        let row = TopicNameRow {
            topic: number(&record[topic])?,
            name: cell(name).map(str::to_owned),
            hidden: match cell(hidden).unwrap_or("false").to_ascii_lowercase().as_str() {
                "true" => true,
                "false" => false,
                other => {
                    let message = format!("hidden is {other:?}");
                    return Err(
                        Failure::line(path, line, message).help("write true, false or nothing")
                    );
                }
            },
            merged_into: cell(merged_into).map(number).transpose()?,
        };
        if let Some((earlier, row)) = rows.insert(row.topic, (line, row)) {
            let message = format!("topic {} is on line {earlier} too", row.topic);
            return Err(Failure::line(path, line, message).help("write one line for each topic"));
        }
    }
    merge(path, &mut rows)?;
    Ok(rows.into_values().map(|(_, row)| row).filter(TopicNameRow::says_something).collect())
}

/// Where a topic is merged into one that is merged itself, replaces it by the last one.
fn merge(path: &Path, rows: &mut BTreeMap<i32, (u64, TopicNameRow)>) -> Result<(), Failure> {
    let into = |(&topic, (_, row)): (&i32, &(u64, TopicNameRow))| Some((topic, row.merged_into?));
    let targets: BTreeMap<i32, i32> = rows.iter().filter_map(into).collect();
    for (topic, (line, row)) in rows {
        let Some(mut last) = row.merged_into else {
            continue;
        };
        let mut steps = 0;
        while let Some(&next) = targets.get(&last) {
            (last, steps) = (next, steps + 1);
            if steps > targets.len() {
                let message = format!("topic {topic} is merged into a circle of topics");
                let help = "leave merged_into empty for one of them";
                return Err(Failure::line(path, line, message).help(help));
            }
        }
        row.merged_into = Some(last);
    }
    Ok(())
}

fn other_columns(path: &Path) -> Failure {
    let columns = TopicNameRow::COLUMNS.join(",");
    Failure::line(path, 1, "these are not the columns of a file of names")
        .help(format!("write the header {columns}, with commas, in any order"))
}

fn unreadable(path: &Path) -> impl Fn(csv::Error) -> Failure {
    move |error| {
        let line = error.position().map_or(1, csv::Position::line);
        match error.kind() {
            ErrorKind::UnequalLengths { expected_len, len, .. } => {
                let message = format!("{len} values for {expected_len} columns");
                Failure::line(path, line, message)
                    .help("put a name that has a comma in double quotes")
            }
            ErrorKind::Utf8 { .. } => {
                Failure::line(path, line, "is not UTF-8").help("save the file as CSV in UTF-8")
            }
            _ => Failure::line(path, line, error),
        }
    }
}

/// Checks the table.
fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let is_topic = |topic: i32| usize::try_from(topic).is_ok_and(|it| it < known.topic_count());
    check_rows(known, report, |last: Option<&TopicNameRow>, row| {
        last.is_none_or(|last| last.topic < row.topic)
            && is_topic(row.topic)
            && row.merged_into.is_none_or(|it| it != row.topic && is_topic(it))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<TopicNameRow>, Failure> {
        parse(Path::new("names.csv"), text.as_bytes(), 9)
    }

    #[test]
    fn files_of_the_page_and_of_spreadsheets_are_read() {
        let row = |topic, name: &str, hidden, merged_into| TopicNameRow {
            topic,
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            hidden,
            merged_into,
        };
        let text = "\u{feff}name,topic,merged_into,hidden\r\n\"Boats, \"\"big\"\"\",3,,TRUE\r\n,2,3,\r\n\
                    ,1,2,false\r\n,0,,\r\n";
        let expected = [row(1, "", false, Some(3)), row(2, "", false, Some(3))];
        let expected = [&expected[..], &[row(3, "Boats, \"big\"", true, None)]].concat();
        assert_eq!(read(text).unwrap(), expected);
        assert_eq!(read("topic,name,hidden,merged_into\n").unwrap(), []);
    }

    #[test]
    fn errors_name_the_line_and_the_remedy() {
        let header = "topic,name,hidden,merged_into\n";
        for (lines, line, words, remedy) in [
            ("9,Sea,,", 2, "no topic \"9\"", "0 to 8"),
            ("0,,,\n-1,Sea,,", 3, "no topic \"-1\"", "0 to 8"),
            ("0,Sea,,x", 2, "no topic \"x\"", "0 to 8"),
            ("0,Sea,yes,", 2, "hidden is \"yes\"", "true, false"),
            ("0,Sea,,\n0,Lake,,", 3, "topic 0 is on line 2 too", "one line"),
            ("0,Sea,,0", 2, "circle", "merged_into empty"),
            ("5,,,0\n0,,,1\n1,,,0", 3, "circle", "merged_into empty"),
            ("0,Sea, wide,,", 2, "5 values for 4 columns", "double quotes"),
        ] {
            let error = read(&format!("{header}{lines}\n")).unwrap_err();
            let (said, help) = (error.to_string(), error.help.unwrap_or_default());
            assert!(said.contains(&format!("names.csv, line {line}: ")), "{lines}: {said}");
            assert!(said.contains(words) && help.contains(remedy), "{lines}: {said}; {help}");
        }
        for header in ["", "topic,name\n", "topic;name;hidden;merged_into\n", "topic,name,hidden,merged_into,x\n"] {
            let error = read(header).unwrap_err();
            assert!(error.to_string().contains("names.csv, line 1: "), "{header}: {error}");
        }
        let latin = [b"topic,name,hidden,merged_into\n0,M", &b"\xe4dchen,,\n"[..]].concat();
        let error = parse(Path::new("names.csv"), &latin, 9).unwrap_err();
        assert!(error.to_string().contains("line 2: is not UTF-8"), "{error}");
    }
}
