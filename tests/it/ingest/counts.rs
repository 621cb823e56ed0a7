//! The same collection has the same bags of words in every format.

use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use topicmill::corpus::ShardDocument;
use topicmill::plan::survey::survey;

use super::fixture::{Fixture, documents, texts};

/// Documents as distinct terms with counts, some without terms; the terms are those of [`texts`].
type Bags = Vec<Vec<(String, u32)>>;

fn bags() -> Bags {
    let bag = |text: String| {
        let mut bag = std::collections::BTreeMap::new();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            *bag.entry(word.to_owned()).or_insert(0) += 1;
        }
        bag.into_iter().collect()
    };
    texts(60).into_iter().map(bag).collect()
}

/// Returns a line for each document, made from its number, from 1, and its joined terms.
fn lines(
    bags: &Bags,
    term: impl Fn(&str, u32) -> String,
    line: impl Fn(usize, usize, String) -> String,
) -> String {
    let document = |(number, bag): (usize, &Vec<(String, u32)>)| {
        let terms: Vec<String> = bag.iter().map(|(word, n)| term(word, *n)).collect();
        line(number + 1, bag.len(), terms.join(" ")) + "\n"
    };
    bags.iter().enumerate().map(document).collect()
}

/// Reads the only input of a fixture, and its vocabulary.
fn ingest(fixture: &Fixture, overrides: &[&str]) -> (Vec<ShardDocument>, String) {
    // Small blocks, and every word unchanged.
    let own = [
        "corpus.block_mib=0.001",
        "tokens.rule=whitespace",
        "tokens.min_length=1",
        "tokens.lower_case=false",
        "vocabulary.stop_words=none",
    ];
    let job = fixture.job("out", &[&own, overrides].concat());
    let ingested = fixture.ingest(2, &job).unwrap();
    let vocabulary = fs::read_to_string(job.output.path.join("corpus/vocabulary.tsv")).unwrap();
    (documents(&job, &ingested.collection), vocabulary)
}

/// Returns the collection in the formats that name terms; `i` has a volume per line.
fn files_of_words(bags: &Bags) -> Vec<(&'static str, String)> {
    let repeated = |word: &str, n: u32| vec![word; n as usize].join(" ");
    let quoted = |word: &str, n: u32| format!("{word:?}: {n},");
    let object = |terms: &str| format!("{{{}}}", terms.trim_end_matches(','));
    let text = |d, _, t| format!(r#"{{"id": {d}, "text": "{t}"}}"#);
    let counts = |d, _, t: String| format!(r#"{{"id": {d}, "n": {}}}"#, object(&t));
    let volume = |d, _, t: String| {
        let tagged = t.replace(": ", ": {\"NN\": ").replace(',', "},");
        format!(
            "{{\"htid\": \"{d}\", \"metadata\": {{}}, \"features\": {{\"pages\": [{{\"seq\": \"1\", \
             \"body\": {{\"tokenPosCount\": {}}}}}]}}}}",
            object(&tagged)
        )
    };
    let named = |word: &str, n| format!("{word}:{n}");
    vec![
        ("a.jsonl", lines(bags, repeated, text)),
        ("b.jsonl", lines(bags, quoted, counts)),
        ("c.txt", lines(bags, repeated, |d, _, t| format!("{d} - {t}"))),
        ("f.vw", lines(bags, named, |d, _, t| format!("0 '{d}| {t}"))),
        ("i", lines(bags, quoted, volume)),
    ]
}

/// Returns the collection in the formats that number terms, with their vocabulary.
fn files_of_numbers(bags: &Bags) -> (Vec<(&'static str, String)>, String) {
    let mut terms: Vec<&String> = bags.iter().flatten().map(|(word, _)| word).collect();
    terms.sort();
    terms.dedup();
    let number = |word: &str| terms.iter().position(|term| *term == word).unwrap();
    let entry = |first: usize| move |word: &str, n| format!("{}:{n}", number(word) + first);
    let matrix: String = (1..)
        .zip(bags)
        .flat_map(|(document, bag)| bag.iter().map(move |(word, n)| (document, word, n)))
        .map(|(document, word, n)| format!("{document} {} {n}\n", number(word) + 1))
        .collect();
    let entries = matrix.lines().count();
    let sizes = [bags.len(), terms.len(), entries].map(|size| size.to_string());
    let banner = "%%MatrixMarket matrix coordinate integer general";
    let files = vec![
        ("d.svm", lines(bags, entry(1), |d, _, t| format!("0 {t} # {d}"))),
        ("e.ldac", lines(bags, entry(0), |_, n, t| format!("{n} {t}"))),
        ("docword.g.txt", format!("{}\n{matrix}", sizes.join("\n"))),
        ("h.mtx", format!("{banner}\n{}\n{matrix}", sizes.join(" "))),
    ];
    (files, terms.iter().map(|term| format!("{term}\n")).collect())
}

/// Returns the collection as columnar files: a row for each document, or for each of its terms.
fn columnar_files(bags: &Bags) -> Vec<(&'static str, Vec<u8>)> {
    let text = |bag: &Vec<(String, u32)>| {
        let words = bag.iter().map(|(word, n)| vec![&word[..]; *n as usize].join(" "));
        words.collect::<Vec<_>>().join(" ")
    };
    let ids = (1..=bags.len() as i64).collect::<Int64Array>();
    let texts = bags.iter().map(|bag| Some(text(bag))).collect::<StringArray>();
    let wide = [("id", Arc::new(ids) as ArrayRef), ("text", Arc::new(texts))];
    let none = |bag: &[(String, u32)]| bag.is_empty().then_some((None, None));
    let rows: Vec<(i64, Option<&str>, Option<u32>)> = (1..)
        .zip(bags)
        .flat_map(|(id, bag)| {
            let terms = bag.iter().map(|(word, n)| (Some(&word[..]), Some(*n)));
            terms.chain(none(bag)).map(move |(term, n)| (id, term, n))
        })
        .collect();
    let ids: Int64Array = rows.iter().map(|row| Some(row.0)).collect();
    let terms: StringArray = rows.iter().map(|row| row.1).collect();
    let counts: UInt32Array = rows.iter().map(|row| row.2).collect();
    let long =
        [("d", Arc::new(ids) as ArrayRef), ("term", Arc::new(terms)), ("n", Arc::new(counts))];
    let batch =
        |columns: &[(&str, ArrayRef)]| RecordBatch::try_from_iter(columns.iter().cloned()).unwrap();
    // Groups of seven rows end within documents.
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(7)).build();
    let parquet = |batch: &RecordBatch| {
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.clone())).unwrap();
        writer.write(batch).unwrap();
        writer.into_inner().unwrap()
    };
    let arrow = |batch: &RecordBatch| {
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        for row in (0..batch.num_rows()).step_by(7) {
            let rows = 7.min(batch.num_rows() - row);
            writer.write(&batch.slice(row, rows)).unwrap();
        }
        writer.into_inner().unwrap()
    };
    vec![
        ("j.parquet", parquet(&batch(&wide))),
        ("k.arrow", arrow(&batch(&wide))),
        ("l.parquet", parquet(&batch(&long))),
        ("m.arrow", arrow(&batch(&long))),
    ]
}

#[test]
fn every_format_of_counts_gives_the_bags_of_the_texts() {
    let bags = bags();
    let (numbered, vocabulary) = files_of_numbers(&bags);
    let is_numbered = |name| numbered.iter().any(|(numbered, _)| *numbered == name);
    let texts = [files_of_words(&bags), numbered.clone()].concat();
    let texts = texts.into_iter().map(|(name, text)| (name, text.into_bytes()));
    let files = texts.chain(columnar_files(&bags));
    let mut expected: Option<(Vec<ShardDocument>, String)> = None;
    for (name, content) in files {
        let fixture = Fixture::new();
        let mut overrides = vec![];
        match name {
            "b.jsonl" => overrides.push("corpus.counts=n"),
            "c.txt" => overrides.push("corpus.format=mallet"),
            "l.parquet" | "m.arrow" => {
                overrides.extend(["corpus.id=d", "corpus.text=term", "corpus.counts=n"]);
            }
            "i" => overrides.extend(["corpus.format=htrc", "htrc.section_pages=0"]),
            _ => {}
        }
        if name != "i" {
            fixture.write(name, content);
        } else {
            let content = String::from_utf8(content).unwrap();
            for (number, volume) in content.lines().enumerate() {
                fixture.write(&format!("{number:03}.json"), volume);
            }
        }
        if is_numbered(name) {
            fixture.write("vocab.txt", &vocabulary);
        }
        if ["j", "k", "l", "m"].contains(&&name[..1]) {
            let survey = survey(&fixture.job("plan", &overrides).corpus).unwrap();
            assert_eq!(survey.documents, bags.len() as u64, "{name}");
        }
        let (mut documents, vocabulary) = ingest(&fixture, &overrides);
        for (number, document) in (1..).zip(&mut documents) {
            // Volumes set groups, and lda-c has no ids.
            document.group = None;
            if name == "e.ldac" {
                assert!(document.source_id.starts_with("in/e.ldac@"));
                document.source_id = number.to_string();
            }
        }
        match &expected {
            None => expected = Some((documents, vocabulary)),
            Some(expected) => assert_eq!(&(documents, vocabulary), expected, "{name}"),
        }
    }
    let (documents, _) = expected.unwrap();
    assert!(documents.iter().any(|document| document.tokens_total == 0));
}
