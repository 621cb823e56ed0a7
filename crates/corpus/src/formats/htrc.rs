//! HathiTrust Extracted Features, schemas 1.5 and 2.0: a file is a volume, its pages' tokens are counted by part of
//! speech, and a document is a section of its pages.
//!
//! Only the bodies of pages are read, not headers and footers. A file that is not a volume, and a volume that the job
//! filters out, is one document with a status. Sections are cut by position (or by words) before pages are filtered by
//! language, so that they have the same names with and without filters of pages. A token that stands for a bracket
//! (`-LRB-`, from the Penn Treebank) is read as the bracket, and the ends of contractions (`n't`, `'s`) are left out.

use super::context::read_all;
use super::counts::Pairs;
use super::{BYTE_ORDER_MARK, Context, Cutting, DocumentSink, Format, InputFile, without_mark};
use crate::error::InputError;
use crate::settings::{CorpusSettings, HtrcSettings, SectionSize};
use crate::{Body, DocumentStatus, RawDocument};
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt;
use std::io::Read;

/// `corpus.format = "htrc"`.
pub static HTRC: Format = Format {
    name: "htrc",
    endings: &["json.bz2"],
    document: "a section of a volume: [below](#hathitrust-extracted-features)",
    id: "`<htid>#p0021-0030`",
    keys: &["htrc"],
    is_counts: true,
    cutting: Cutting::Whole(read),
    ..Format::PLAIN
};

/// Bytes of memory for each byte of a volume's file while it is parsed: 5.1 and 5.5 with volumes of 5 and 20 MB in
/// sections of pages.
pub const VOLUME_BYTES: u64 = 8;

/// The largest file that [`words_of`] reads.
const WORDS_BYTES: u64 = 16 << 20;

/// Reads the sections of a volume; `held` is a buffer for one file after the other.
fn read(
    file: &InputFile,
    settings: &CorpusSettings,
    held: &mut Vec<u8>,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let context = Context::new(file, settings);
    let limit = settings.max_document_bytes / VOLUME_BYTES;
    if let Some(bytes) = context.read_whole(limit, held, emit)? {
        read_volume(bytes, &context, emit);
    }
    Ok(())
}

/// Reads the sections of a volume from the content of its file.
fn read_volume(bytes: &[u8], context: &Context<'_>, emit: DocumentSink<'_>) {
    let file = context.file;
    let json = String::from_utf8_lossy(without_mark(bytes));
    let volume = serde_json::from_str::<Volume<'_>>(&json).map_err(|error| error.to_string());
    match volume.and_then(|volume| Ok((volume.htid()?.to_owned(), volume))) {
        Ok((htid, volume)) => {
            let repaired = matches!(json, Cow::Owned(_));
            volume.emit_sections(&htid, repaired, context, emit);
        }
        Err(error) => {
            let problem = format!(
                "not a volume of Extracted Features, schema 1.5 or 2.0: {error}; download it again, or set \
                 corpus.format if it holds something else"
            );
            let body = Body::missing(DocumentStatus::ParseError, &file.name, problem);
            emit(context.without_values(&file.name, body));
        }
    }
}

/// Returns the tokens of a volume as one text, in no order, to identify its language; `None` for a large one.
pub fn words_of(file: &InputFile) -> Option<String> {
    let mut bytes = Vec::new();
    read_all(file, WORDS_BYTES, &mut bytes).ok()?.ok()?;
    let json = String::from_utf8_lossy(without_mark(&bytes));
    let volume: Volume<'_> = serde_json::from_str(&json).ok()?;
    let counts = volume.features.pages.iter().flat_map(VolumePage::counts);
    // A corrupt count must not fill the memory.
    let words = counts.flat_map(|(token, _, count)| [token, " "].repeat(count.min(1000) as usize));
    Some(words.collect())
}

/// The parts of a file that are read.
#[derive(Deserialize)]
struct Volume<'a> {
    /// The volume's id in schema 2.0.
    #[serde(borrow)]
    htid: Option<Cow<'a, str>>,
    /// The same in schema 1.5.
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    metadata: Metadata,
    #[serde(borrow)]
    features: Features<'a>,
}

#[derive(Deserialize)]
struct Features<'a> {
    #[serde(borrow)]
    pages: Vec<VolumePage<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VolumePage<'a> {
    /// The page's number in the volume, from 1, with leading zeros.
    #[serde(borrow)]
    seq: Cow<'a, str>,
    #[serde(borrow)]
    body: Option<PageBody<'a>>,
    /// The page's language in schema 2.0.
    #[serde(borrow)]
    calculated_language: Option<Cow<'a, str>>,
    /// The same in schema 1.5, with probabilities, the likeliest first.
    #[serde(borrow, default)]
    languages: Vec<Pairs<'a, IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageBody<'a> {
    /// How often each token occurs as each part of speech.
    #[serde(borrow)]
    token_pos_count: Option<Pairs<'a, Pairs<'a, u32>>>,
}

impl Volume<'_> {
    fn htid(&self) -> Result<&str, String> {
        let id = self.htid.as_ref().or(self.id.as_ref());
        let id = id.map(|id| id.trim()).filter(|id| !id.is_empty());
        id.ok_or_else(|| "no `htid` and no `id`".to_owned())
    }

    fn emit_sections(
        &self,
        htid: &str,
        repaired: bool,
        context: &Context<'_>,
        emit: DocumentSink<'_>,
    ) {
        let settings = context.settings;
        let filters = &settings.htrc;
        let metadata: Vec<_> =
            settings.metadata.iter().map(|key| self.metadata.value(key)).collect();
        let group = settings.group.as_ref();
        let group = group.map_or(Some(htid.to_owned()), |key| self.metadata.value(key));
        let mut hand_over = |source_id: String, body| {
            emit(RawDocument {
                source_id: source_id.into(),
                group: group.as_deref().map(Cow::Borrowed),
                metadata: (metadata.iter())
                    .map(|value| value.as_deref().map(Cow::Borrowed))
                    .collect(),
                body,
            });
        };
        let copy = || "a copy of another volume, by htrc.unique_by".to_owned();
        let is_copy = context.file.is_copy.then(copy);
        if let Some(why) = self.metadata.reason_to_filter(filters).or(is_copy) {
            let body = Body::missing(DocumentStatus::Filtered, htid, why);
            return hand_over(htid.to_owned(), body);
        }
        let pages = &self.features.pages;
        let end = pages.len().saturating_sub(filters.skip_last_pages);
        let pages = pages[..end].get(filters.skip_first_pages..).unwrap_or(&[]);
        if pages.is_empty() {
            let why = format!("none of its {} pages is left", self.features.pages.len());
            let body = Body::missing(DocumentStatus::Empty, htid, why);
            return hand_over(htid.to_owned(), body);
        }
        for section in sections(pages, filters.section) {
            let counts: Vec<_> = section
                .iter()
                .filter(|page| page.is_kept(filters))
                .flat_map(|page| page.tokens(filters))
                .map(|(token, count)| (Cow::Borrowed(token), count))
                .collect();
            let id = section_id(htid, section, filters.section);
            let body = if counts.is_empty() {
                Body::missing(DocumentStatus::Empty, &id, "no tokens")
            } else {
                Body::Counts { counts, words: true, repaired }
            };
            hand_over(id, body);
        }
    }
}

impl VolumePage<'_> {
    fn is_kept(&self, filters: &HtrcSettings) -> bool {
        let languages = || filters.languages.iter().filter(|code| !is_of_volumes(code));
        let of_list = self.languages.first().and_then(|of| of.0.first());
        let language = self.calculated_language.as_ref();
        let language = language.or(of_list.map(|(language, _)| language));
        let is_its = |code: &String| language.is_some_and(|language| language == code);
        languages().next().is_none() || languages().any(is_its)
    }

    /// Returns each token and part of speech in its body, and how often they occur together.
    fn counts(&self) -> impl Iterator<Item = (&str, &str, u32)> {
        let counts = self.body.iter().flat_map(|body| &body.token_pos_count);
        counts.flat_map(|tokens| &tokens.0).flat_map(|(token, tags)| {
            let token = bracket(token).unwrap_or(token);
            tags.0.iter().map(move |(tag, count)| (token, &**tag, *count))
        })
    }

    /// Returns the tokens with one of the job's parts of speech, and how often each occurs with it.
    fn tokens(&self, filters: &HtrcSettings) -> impl Iterator<Item = (&str, u32)> {
        let wanted = &filters.parts_of_speech;
        let kept = self.counts().filter(|(token, tag, _)| {
            let fits = |wanted: &String| match wanted.strip_suffix('*') {
                Some(start) => tag.starts_with(start),
                None => tag == wanted,
            };
            !is_clitic(token) && (wanted.is_empty() || wanted.iter().any(fits))
        });
        kept.map(|(token, _, count)| (token, count))
    }

    /// Counts its tokens with a letter.
    fn words(&self) -> u64 {
        let words = self.counts().filter(|(token, ..)| token.chars().any(char::is_alphabetic));
        words.map(|(_, _, count)| u64::from(count)).sum()
    }
}

/// Returns the bracket that a token of the Penn Treebank denotes.
fn bracket(token: &str) -> Option<&'static str> {
    Some(match token {
        "-LRB-" => "(",
        "-RRB-" => ")",
        "-LSB-" => "[",
        "-RSB-" => "]",
        "-LCB-" => "{",
        "-RCB-" => "}",
        _ => return None,
    })
}

/// Returns whether a token of the Penn Treebank is a quotation mark, or what an apostrophe joins to a word.
fn is_clitic(token: &str) -> bool {
    const CLITICS: [&str; 9] = ["n't", "'s", "'ll", "'re", "'ve", "'d", "'m", "''", "``"];
    let is_short = token.len() <= "n’t".len();
    is_short && CLITICS.contains(&&*token.replace('’', "'").to_ascii_lowercase())
}

/// Cuts pages into sections of a number of pages, or of at least a number of words; the last may be shorter.
fn sections<'p, 'a>(pages: &'p [VolumePage<'a>], size: SectionSize) -> Vec<&'p [VolumePage<'a>]> {
    match size {
        SectionSize::Volume => vec![pages],
        SectionSize::Pages(count) => pages.chunks(count).collect(),
        SectionSize::Words(wanted) => {
            let mut words = 0;
            let ends = |page: &VolumePage<'_>| {
                words += page.words();
                let is_full = words >= wanted;
                words *= u64::from(!is_full);
                is_full
            };
            pages.split_inclusive(ends).collect()
        }
    }
}

/// Returns `<htid>#p<first>-<last>`, or the volume's own id if a section is a volume.
fn section_id(htid: &str, section: &[VolumePage<'_>], size: SectionSize) -> String {
    let number = |page: Option<&VolumePage<'_>>| {
        let seq = page.map_or("", |page| page.seq.trim_start_matches('0'));
        format!("{seq:0>4}")
    };
    match size {
        SectionSize::Volume => htid.to_owned(),
        _ => format!("{htid}#p{}-{}", number(section.first()), number(section.last())),
    }
}

// The metadata of a volume: values under our names and HathiTrust's, whether the job leaves the volume out, and which
// volumes are copies of each other.
//
// Metadata come before the pages in a volume's file, so that they can be read without them.

/// Our names for keys that schemas 1.5 and 2.0 name differently.
const OUR_KEYS: [&str; 4] = ["record", "author", "year", "rights"];

/// The metadata of a volume.
#[derive(Default, Deserialize)]
#[serde(transparent)]
struct Metadata(Map<String, Value>);

impl Metadata {
    /// Returns why the job leaves the volume out, if it does.
    fn reason_to_filter(&self, filters: &HtrcSettings) -> Option<String> {
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
    fn value(&self, key: &str) -> Option<String> {
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
fn is_of_volumes(code: &str) -> bool {
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
