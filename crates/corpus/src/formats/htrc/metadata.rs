//! The metadata of a volume: values under our names and HathiTrust's, whether the job leaves the volume out, and which
//! volumes are copies of each other.
//!
//! Metadata come before the pages in a volume's file, so that they can be read without them.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::formats::context::read_all;
use crate::formats::{BYTE_ORDER_MARK, InputFile, without_mark};
use crate::settings::{CorpusSettings, HtrcSettings};

/// Our names for keys that schemas 1.5 and 2.0 name differently.
const OUR_KEYS: [&str; 4] = ["record", "author", "year", "rights"];

/// The metadata of a volume.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Metadata(Map<String, Value>);

impl Metadata {
    /// Returns why the job leaves the volume out, if it does.
    pub(super) fn reason_to_filter(&self, filters: &HtrcSettings) -> Option<String> {
        let mut wanted = filters.languages.iter().filter(|code| is_of_volumes(code));
        let languages = self.languages();
        if wanted.clone().next().is_some() && !wanted.any(|code| languages.contains(code)) {
            return Some(match &languages[..] {
                [] => "its language is unknown".to_owned(),
                known => format!("its language is {}", known.join(" and ")),
            });
        }
        let filter = filters.first_year..=filters.last_year;
        if filter == HtrcSettings::ANY_YEAR {
            return None;
        }
        let year = self.value("year").unwrap_or_default();
        match years(&year) {
            Some([first, last]) if first <= *filter.end() && last >= *filter.start() => None,
            Some(_) => Some(format!("its year is {year}")),
            None => Some("its year is unknown".to_owned()),
        }
    }

    /// Returns the codes of the volume's languages.
    fn languages(&self) -> Vec<String> {
        match self.0.get("language") {
            Some(Value::Array(codes)) => codes.iter().filter_map(plain).collect(),
            code => code.and_then(plain).into_iter().collect(),
        }
    }

    /// Returns the value under a key of the volume's metadata, or under one of our names for such keys.
    pub(super) fn value(&self, key: &str) -> Option<String> {
        let keys: &[&str] = match key {
            "record" => return self.record(),
            "author" => &["contributor", "names"],
            "year" => &["pubDate"],
            "rights" => &["accessRights", "rightsAttributes"],
            key => &[key],
        };
        let mut found = keys.iter().filter_map(|key| self.0.get(*key));
        found.find_map(plain)
    }

    /// Returns the number of the volume's record in HathiTrust's catalogue.
    fn record(&self) -> Option<String> {
        let addresses = self.0.get("mainEntityOfPage").and_then(Value::as_array);
        let number = addresses.into_iter().flatten().find_map(record_number);
        let number = number.map(str::to_owned);
        let number = number.or_else(|| plain(self.0.get("hathitrustRecordNumber")?));
        // Schema 1.5 omits leading zeros.
        number.map(|number| format!("{number:0>9}"))
    }
}

/// Returns the first and the last year in a text such as `1850`, `[1850?]`, `c1850` or `1850-1855`; `None` without one.
fn years(text: &str) -> Option<[u32; 2]> {
    if let Ok(year) = text.parse() {
        return Some([year; 2]);
    }
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    let years = numbers.filter_map(|digits| digits.get(..4)?.parse().ok());
    years.fold(None, |span, year: u32| {
        let [first, last] = span.unwrap_or([year; 2]);
        Some([first.min(year), last.max(year)])
    })
}

/// Returns the number at the end of the address of a record in HathiTrust's catalogue.
fn record_number(address: &Value) -> Option<&str> {
    let (site, number) = address.as_str()?.rsplit_once('/')?;
    site.ends_with("/Record").then_some(number)
}

/// Returns a value of the metadata as text: the name of an object, the last part of a URI of the Library of Congress,
/// the only element of a list, or a longer list as JSON.
fn plain(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => match text.strip_prefix("http://id.loc.gov/") {
            Some(path) => path.rsplit('/').next().unwrap_or(path).to_owned(),
            None => text.trim().to_owned(),
        },
        Value::Object(object) if object.contains_key("name") => return plain(&object["name"]),
        Value::Array(items) => {
            let mut items: Vec<String> = items.iter().filter_map(plain).collect();
            match items.len() {
                0 | 1 => items.pop()?,
                _ => Value::from(items).to_string(),
            }
        }
        other => other.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

/// Returns whether a language code is that of a volume (MARC, `eng`); else it is that of a page (`en`).
pub(super) fn is_of_volumes(code: &str) -> bool {
    code.len() == 3
}

/// A volume that may have copies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Its id.
    pub htid: String,
    /// Whether it has a value for each of the keys in `htrc.unique_by`.
    pub has: Vec<bool>,
    /// A digest of the values that copies share; `None` if it has no value for the first key.
    pub edition: Option<[u64; 2]>,
}

/// Reads the metadata by which copies of a volume are found; `None` for a volume that the job leaves out, or
/// that cannot be read.
pub fn candidate(file: &InputFile, settings: &CorpusSettings) -> Option<Candidate> {
    let filters = &settings.htrc;
    let head = Head::of(file, settings.max_document_bytes)?;
    let htid = head.htid.or(head.id)?.trim().to_owned();
    let metadata = head.metadata?;
    if htid.is_empty() || metadata.reason_to_filter(filters).is_some() {
        return None;
    }
    let values = filters.unique_by.iter().map(|key| {
        let value = metadata.value(key).unwrap_or_default();
        let letters = value.chars().filter(|char| char.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect::<String>()
    });
    let values: Vec<String> = values.collect();
    let has: Vec<bool> = values.iter().map(|value| !value.is_empty()).collect();
    let digest = Sha256::digest(values.join("\n"));
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|place| digest[at + place]));
    Some(Candidate { htid, edition: has.first()?.then(|| [word(0), word(8)]), has })
}

/// Returns the keys of a volume's metadata that `htrc.unique_by` can name, ascending; none if it cannot be read.
pub fn metadata_keys(file: &InputFile, settings: &CorpusSettings) -> Vec<String> {
    let head = Head::of(file, settings.max_document_bytes);
    let metadata = head.and_then(|head| head.metadata);
    let metadata = metadata.unwrap_or_default();
    let ours = OUR_KEYS.map(str::to_owned).into_iter();
    let mut keys: Vec<String> = metadata.0.keys().cloned().chain(ours).collect();
    keys.retain(|key| metadata.value(key).is_some());
    keys.sort_unstable();
    keys
}

/// The part of a volume before the pages.
#[derive(Default)]
struct Head {
    htid: Option<String>,
    id: Option<String>,
    metadata: Option<Metadata>,
}

impl Head {
    /// Reads it from up to `limit` bytes of a file; if they are not UTF-8, with such bytes replaced.
    fn of(file: &InputFile, limit: u64) -> Option<Self> {
        let mut head = Self::default();
        let read = head.read(file.compression.open(&file.path).ok()?.take(limit));
        // Bytes that are not UTF-8 are a syntax error.
        if head.metadata.is_none() && read.is_err_and(|error| error.is_syntax()) {
            let mut bytes = Vec::new();
            read_all(file, limit, &mut bytes).ok()?.ok()?;
            let _ = head.read(String::from_utf8_lossy(&bytes).as_bytes());
        }
        Some(head)
    }

    /// Reads as much of it as there is. The visitor stops at the pages, and the parser reports that something follows.
    fn read(&mut self, mut file: impl Read) -> serde_json::Result<()> {
        let mut start = Vec::new();
        // An error occurs again below.
        let _ = file.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut start);
        let buffered = std::io::BufReader::new(without_mark(&start).chain(file));
        let mut parser = serde_json::Deserializer::from_reader(buffered);
        serde::Deserializer::deserialize_map(&mut parser, self)
    }
}

impl<'de> Visitor<'de> for &mut Head {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a volume")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "htid" => self.htid = map.next_value()?,
                "id" => self.id = map.next_value()?,
                "metadata" => self.metadata = Some(map.next_value()?),
                "features" if self.metadata.is_some() => break,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}
