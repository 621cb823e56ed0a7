//! The language of texts: a column of their documents, and a filter.

use super::*;

const ENGLISH: &str = "There is no other way of saying what has been said before, and said better";
const GERMAN: &str = "Es gibt keinen anderen Weg, das zu sagen, was schon besser gesagt worden ist";

#[test]
fn a_language_is_the_last_column_and_others_are_left_out() {
    let jsonl = format!(
        "{{\"id\":\"a\",\"text\":\"{ENGLISH}\",\"m\":1}}\n{{\"id\":\"b\",\"text\":\"{GERMAN}\"}}\n\
         {{\"id\":\"c\",\"text\":\"42\"}}\n{{\"id\":\"d\"}}\nnot json\n"
    );
    let csv = format!("id,text,m\na,\"{ENGLISH}\",1\nb,\"{GERMAN}\",\nc,42,\n");
    for (name, content) in [("x.jsonl", &jsonl), ("x.csv", &csv)] {
        let (_folder, mut settings) = one_file(name, content.as_bytes());
        settings.metadata = vec!["m".into()];
        let mut read = |languages: &[&str]| {
            settings.languages = Some(languages.iter().map(|&code| code.into()).collect());
            assert_eq!(settings.columns(), ["m", "language"]);
            let seen = read_all(&settings).unwrap();
            let statuses: Vec<_> = seen.iter().map(|seen| seen.status).collect();
            let columns = seen.into_iter().map(|seen| seen.metadata);
            (columns.collect::<Vec<_>>(), statuses)
        };
        let of = |code: &str| vec![None, Some(code.to_owned())];
        let (columns, statuses) = read(&[]);
        let first = vec![columns[0][0].clone(), Some("en".to_owned())];
        assert_eq!(columns[..3], [first, of("de"), of("und")]);
        assert_eq!(statuses[..3], [None; 3]);
        // A document without text has no language, and its own status.
        assert!(columns[3..].iter().all(|columns| columns[1].is_none()));
        let others = statuses[3..].to_vec();
        let filtered = Some(DocumentStatus::Filtered);
        for (languages, expected) in [
            (&["de"][..], [filtered, None, filtered]),
            (&["en", "und"], [None, filtered, None]),
            (&["la"], [filtered; 3]),
        ] {
            let (same, statuses) = read(languages);
            assert_eq!((&same, &statuses[3..]), (&columns, &others[..]));
            assert_eq!(statuses[..3], expected);
        }
    }
}

#[test]
fn counts_of_terms_have_no_language_and_texts_no_counts() {
    let refusal = |name: &str, change: fn(&mut CorpusSettings)| {
        let (_folder, mut settings) = one_file(name, b"id,text\n");
        change(&mut settings);
        discover(&settings).map(|_| ()).map_err(|error| error.to_string())
    };
    let with_language = |settings: &mut CorpusSettings| settings.languages = Some(Vec::new());
    let with_counts = |settings: &mut CorpusSettings| settings.counts = Some("n".into());
    let error = refusal("x.svm", with_language).unwrap_err();
    assert!(error.contains("x.svm") && error.contains("corpus.languages"), "{error}");
    for name in ["x.csv", "x.tsv", "x.txt", "v.json.bz2", "x.svm"] {
        let error = refusal(name, with_counts).unwrap_err();
        assert!(error.contains(name) && error.contains("corpus.counts"), "{error}");
    }
    for name in ["x.jsonl", "v.json.bz2"] {
        assert_eq!(refusal(name, with_language), Ok(()));
    }
    assert_eq!(refusal("x.jsonl", with_counts), Ok(()));
}

#[test]
fn the_language_of_counted_words_is_that_of_the_frequent_ones() {
    let counts = |text: &str| {
        let words = text.split_whitespace().map(|word| format!("\"{word}\": 1"));
        words.collect::<Vec<_>>().join(",")
    };
    let line = |text: &str| format!("{{\"n\": {{{}}}}}\n", counts(text));
    let (_folder, mut settings) =
        one_file("x.jsonl", [ENGLISH, GERMAN].map(line).concat().as_bytes());
    (settings.counts, settings.languages) = (Some("n".into()), Some(Vec::new()));
    let columns = read_all(&settings).unwrap().into_iter().map(|seen| seen.metadata);
    let of = |code: &str| vec![Some(code.to_owned())];
    assert_eq!(columns.collect::<Vec<_>>(), [of("en"), of("de")]);
}
