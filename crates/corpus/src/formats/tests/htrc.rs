//! Extracted Features: volumes, their sections, filters and metadata.

use super::*;
use crate::formats::htrc::{candidate, metadata_keys, words_of};

/// Returns a volume in schema 2.0: each page is a language and its body's counts as JSON, or `null`.
fn volume(pages: &[(&str, &str)]) -> String {
    let page = |(number, (language, counts)): (usize, &(&str, &str))| {
        let body = match *counts {
            "null" => "null".to_owned(),
            counts => format!(r#"{{"tokenCount": 9, "tokenPosCount": {counts}}}"#),
        };
        let page = number + 1;
        format!(
            r#"{{"seq": "{page:08}", "tokenCount": 1, "header": {{"tokenPosCount": {{"HEAD": {{"NN": 7}}}}}},
                "body": {body}, "footer": null, "calculatedLanguage": {language}}}"#
        )
    };
    let pages: Vec<String> = pages.iter().enumerate().map(page).collect();
    format!(
        r#"{{"htid": "uc2.ark:/13960/t1", "id": "https://data.example/1", "metadata": {{
            "title": "Whales /", "contributor": [{{"name": "A, B."}}, {{"name": "C"}}], "pubDate": 1851,
            "language": "eng", "accessRights": "pd", "pubPlace": {{"id": "x", "name": "London"}},
            "genre": ["http://id.loc.gov/vocabulary/marcgt/doc", "http://id.loc.gov/vocabulary/marcgt/fic"],
            "mainEntityOfPage": ["https://catalog.hathitrust.org/Record/006515802", "http://x.example/oclc/1.json"],
            "isbn": []}},
           "features": {{"pageCount": {}, "pages": [{}]}}}}"#,
        pages.len(),
        pages.join(",")
    )
}

const PAGES: [(&str, &str); 4] = [
    ("null", "null"),
    (
        "\"en\"",
        r#"{"Whale": {"NN": 2, "NNP": 1}, "-LRB-": {"-LRB-": 1}, "\u00e9t\u00e9": {"FW": 1}}"#,
    ),
    ("\"fr\"", r#"{"baleine": {"NC": 1}, "bleue": {"ADJ": 3}}"#),
    (
        "\"en\"",
        r#"{"swims": {"VBZ": 1}, ".": {".": 2}, "n't": {"RB": 1}, "'s": {"POS": 2}, "’LL": {"MD": 1}, "``": {"``": 1}}"#,
    ),
];

fn read(json: &str, change: impl FnOnce(&mut CorpusSettings)) -> Vec<Seen> {
    let (_folder, mut settings) = one_file("v.json.bz2", &bzip(json.as_bytes()));
    change(&mut settings);
    read_all(&settings).unwrap()
}

/// Returns ids with texts or statuses.
fn told(seen: &[Seen]) -> Vec<(&str, &str)> {
    let text = |seen: &Seen| seen.status.map_or("", |status| status.name());
    let told = seen.iter().map(|seen| match seen.status {
        None => (&*seen.id, &*seen.text),
        Some(_) => (&*seen.id, text(seen)),
    });
    told.collect()
}

#[test]
fn sections_are_pages_of_a_volume_without_headers() {
    let json = volume(&PAGES);
    let all = "Whale:2 Whale:1 (:1 été:1 baleine:1 bleue:3 swims:1 .:2";
    let ten = read(&json, |_| {});
    assert_eq!(told(&ten), [("uc2.ark:/13960/t1#p0001-0004", all)]);
    assert_eq!(ten[0].group.as_deref(), Some("uc2.ark:/13960/t1"));
    let cut = |section| read(&json, |settings| settings.htrc.section = section);
    let whole = cut(SectionSize::Volume);
    assert_eq!(told(&whole), [("uc2.ark:/13960/t1", all)]);
    let pages = cut(SectionSize::Pages(1));
    assert_eq!(pages.len(), 4);
    assert_eq!(told(&pages)[0], ("uc2.ark:/13960/t1#p0001-0001", "empty"));
    assert_eq!(told(&pages)[3], ("uc2.ark:/13960/t1#p0004-0004", "swims:1 .:2"));
    // Four words on the second page, four on the third.
    let words = cut(SectionSize::Words(5));
    let ids: Vec<_> = words.iter().map(|seen| &seen.id[18..]).collect();
    assert_eq!(ids, ["p0001-0003", "p0004-0004"]);
}

#[test]
fn filters_leave_out_volumes_pages_and_tokens() {
    let json = volume(&PAGES);
    let with = |change: fn(&mut HtrcSettings)| {
        let seen = read(&json, |settings| change(&mut settings.htrc));
        let told = told(&seen).into_iter();
        told.map(|(id, text)| format!("{} {text}", &id[17..])).collect::<Vec<_>>()
    };
    let english = with(|htrc| htrc.languages = vec!["eng".into(), "en".into()]);
    assert_eq!(english, ["#p0001-0004 Whale:2 Whale:1 (:1 été:1 swims:1 .:2"]);
    let middle = with(|htrc| (htrc.skip_first_pages, htrc.skip_last_pages) = (2, 1));
    assert_eq!(middle, ["#p0003-0003 baleine:1 bleue:3"]);
    assert_eq!(with(|htrc| htrc.skip_first_pages = 4), [" empty"]);
    assert_eq!(with(|htrc| htrc.skip_last_pages = 40), [" empty"]);
    let nothing = with(|htrc| {
        (htrc.skip_first_pages, htrc.section) = (9, SectionSize::Volume);
    });
    assert_eq!(nothing, [" empty"]);
    let nouns = with(|htrc| htrc.parts_of_speech = vec!["NN*".into(), "ADJ".into()]);
    assert_eq!(nouns, ["#p0001-0004 Whale:2 Whale:1 bleue:3"]);
    for filter in [
        (|htrc| htrc.languages = vec!["ger".into()]) as fn(&mut HtrcSettings),
        |htrc| htrc.first_year = 1852,
        |htrc| htrc.last_year = 1850,
    ] {
        assert_eq!(with(filter), [" filtered"]);
    }
    assert_eq!(with(|htrc| htrc.last_year = 1851).len(), 1);
}

#[test]
fn a_volume_in_several_languages_or_of_an_uncertain_year_is_filtered_by_each_of_them() {
    let json = volume(&PAGES).replace("\"language\": \"eng\"", "\"language\": [\"eng\", \"fre\"]");
    let status = |json: &str, change: fn(&mut HtrcSettings)| {
        let seen = read(json, |settings| change(&mut settings.htrc));
        seen[0].status.map(|status| status.name())
    };
    assert_eq!(status(&json, |htrc| htrc.languages = vec!["fre".into()]), None);
    assert_eq!(status(&json, |htrc| htrc.languages = vec!["ger".into(), "eng".into()]), None);
    assert_eq!(status(&json, |htrc| htrc.languages = vec!["ger".into()]), Some("filtered"));
    for (year, is_kept) in [
        ("[1850?]", true),
        ("c1851", true),
        ("1850-1855", true),
        ("1830-1855", true),
        ("1830-1849", false),
        ("[1856?]", false),
        ("185-?", false),
        ("n.d.", false),
        (" 1852 ", true),
    ] {
        let json = json.replace("1851", &format!("{year:?}"));
        let found = status(&json, |htrc| {
            (htrc.first_year, htrc.last_year) = (1850, 1852);
        });
        assert_eq!(found.is_none(), is_kept, "{year}: {found:?}");
    }
}

#[test]
fn metadata_are_texts_under_our_names_and_theirs() {
    let names = ["title", "author", "year", "genre", "rights", "pubPlace", "isbn", "record"];
    let seen = read(&volume(&PAGES), |settings| {
        settings.metadata = names.map(str::to_owned).to_vec();
        settings.group = Some("title".into());
    });
    let values: Vec<_> = seen[0].metadata.iter().map(Option::as_deref).collect();
    let authors = Some(r#"["A, B.","C"]"#);
    let genre = Some(r#"["doc","fic"]"#);
    let expected = [
        Some("Whales /"),
        authors,
        Some("1851"),
        genre,
        Some("pd"),
        Some("London"),
        None,
        Some("006515802"),
    ];
    assert_eq!(values, expected);
    assert_eq!(seen[0].group.as_deref(), Some("Whales /"));
}

#[test]
fn schema_1_5_names_some_things_differently() {
    let json = r#"{"id": "mdp.1", "metadata": {"title": "T", "names": ["Serao, Matilde. "], "pubDate": "1901",
        "language": "eng", "rightsAttributes": "pd", "hathitrustRecordNumber": "779974"}, "features": {"schemaVersion": "3.0", "pages": [
        {"seq": "00000001", "languages": [{"en": "0.86"}, {"fr": "0.14"}], "body": {"tokenPosCount": {"a": {"DT": 2}}}},
        {"seq": "00000002", "languages": [], "body": {"tokenPosCount": {}}}]}}"#;
    let (_folder, mut settings) = one_file("mdp.1.json", json.as_bytes());
    settings.format = Some("htrc".into());
    settings.metadata = ["author", "year", "rights", "record"].map(str::to_owned).to_vec();
    settings.htrc.languages = vec!["en".into()];
    let seen = &read_all(&settings).unwrap()[0];
    assert_eq!((seen.id.as_str(), seen.text.as_str()), ("mdp.1#p0001-0002", "a:2"));
    let values: Vec<_> = seen.metadata.iter().flatten().collect();
    assert_eq!(values, ["Serao, Matilde.", "1901", "pd", "000779974"]);
}

#[test]
fn a_volume_may_begin_with_a_byte_order_mark() {
    let json = format!("\u{feff}{}", volume(&PAGES));
    let (_folder, settings) = one_file("v.json.bz2", &bzip(json.as_bytes()));
    let file = &discover(&settings).unwrap().files[0];
    assert!(metadata_keys(file, &settings).contains(&"title".to_owned()));
    assert!(words_of(file).unwrap().contains("swims"));
}

#[test]
fn bytes_that_are_not_utf_8_hide_no_copy() {
    let editions = ["Whales", "Wha\0les"].map(|title| {
        let json = volume(&PAGES).replace("Whales", title);
        let bytes = json.bytes().map(|byte| if byte == 0 { 0xff } else { byte });
        let bytes: Vec<u8> = bytes.collect();
        let (_folder, mut settings) = one_file("v.json.bz2", &bzip(&bytes));
        settings.htrc.unique_by = vec!["title".into()];
        let file = &discover(&settings).unwrap().files[0];
        candidate(file, &settings).unwrap().edition.unwrap()
    });
    assert_eq!(editions[0], editions[1]);
}

#[test]
fn a_file_that_is_not_a_volume_is_a_row_that_says_why() {
    let whole = volume(&PAGES);
    for (json, what) in [
        (&whole[..whole.len() - 30], "EOF"),
        ("{\"htid\": \"a\", \"metadata\": {}}", "missing field `features`"),
        (&whole.replace("\"Whale\": {", "\"Whale\": {\"X\": -1, "), "integer `-1`"),
        (
            &whole.replace("\"htid\"", "\"x\"").replace("\"id\": \"https", "\"y\": \"https"),
            "no `htid`",
        ),
        ("[]", "invalid"),
    ] {
        let seen = read(json, |_| {});
        let status = (seen.len(), seen[0].status);
        assert_eq!(status, (1, Some(DocumentStatus::ParseError)), "{json}");
        assert!(seen[0].text.starts_with("v.json.bz2: not a volume"), "{}", seen[0].text);
        assert!(seen[0].text.contains(what), "{}", seen[0].text);
    }
    assert_eq!(told(&read("", |_| {})), [("v.json.bz2", "empty")]);
    let large = read(&whole, |settings| settings.max_document_bytes = 100);
    assert_eq!(told(&large), [("v.json.bz2", "too_large")]);
    let packed = bzip(whole.as_bytes());
    let (_folder, mut settings) = one_file("v.json.bz2", &packed[..packed.len() / 2]);
    let error = read_all(&settings).unwrap_err().to_string();
    assert!(error.contains("v.json.bz2: damaged") && error.contains("on_damage"), "{error}");
    settings.on_damage = OnDamage::Keep;
    assert_eq!(told(&read_all(&settings).unwrap()), [("v.json.bz2", "truncated")]);
}

#[test]
fn the_limit_of_a_document_counts_what_parsing_takes() {
    let json = volume(&PAGES);
    let taken = json.len() as u64 * crate::formats::htrc::VOLUME_BYTES;
    let seen = read(&json, |settings| settings.max_document_bytes = taken);
    assert!(seen.iter().all(|seen| seen.status != Some(DocumentStatus::TooLarge)));
    let seen = read(&json, |settings| settings.max_document_bytes = taken - 1);
    assert_eq!(told(&seen), [("v.json.bz2", "too_large")]);
}
