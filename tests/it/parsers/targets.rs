//! The parsers of external bytes, each as a function that accepts any bytes and asserts what must hold
//! for all of them; nothing may panic, hang or use up the memory.
//!
//! Used by the tests beside this file and by the fuzz targets.

#![allow(dead_code, reason = "each target uses one of these")]

use std::path::Path;
use std::sync::Arc;

use lda::constraints::Strengths;
use lda::infer::Bag;
use sha2::{Digest, Sha256};
use topicmill::checkpoint;
use topicmill::config::Job;
use topicmill::corpus::block::{BlockQueue, Share};
use topicmill::corpus::collection::Collection;
use topicmill::corpus::input::{self, InputError};
use topicmill::corpus::settings::{CorpusSettings, TokenSettings};
use topicmill::corpus::vocabulary::{TermStatus, Vocabulary, VocabularyTerm};
pub use topicmill::evaluate::foreign::{ForeignModel, mallet_state};
use topicmill::failure::Failure;
use topicmill::knowledge::{Content, Knowledge, constraints, outline};
use topicmill::mesh::environment;
use topicmill::mesh::frame::{Farewell, HEADER_BYTES, Header, MOST_FAREWELL};
use topicmill::mesh::hello::{FRAME_BYTES, Hello};
use topicmill::mesh::proof::{self, ANSWER_BYTES};
use topicmill::mesh::{ClusterSettings, Placement, hosts};
use topicmill::observe::status::ProcessStatus;
use topicmill::tables::manifest::Manifest;

/// The messages that a listener, a caller and a peer read: greeting, answer, header, farewell.
pub fn wire(bytes: &[u8]) {
    if let Some(frame) = bytes.first_chunk::<FRAME_BYTES>() {
        assert!(Hello::rest(frame).is_none_or(|rest| rest <= 1024));
    }
    if let Some(hello) = Hello::decode(bytes) {
        let own = Hello::new(&Placement::single(1), &ClusterSettings::default());
        let difference = own.difference(&hello).unwrap_or_default();
        assert!(difference.is_ascii(), "{difference}");
        assert_eq!(Hello::decode(&hello.encode()), Some(hello));
    }
    if let Some(answer) = bytes.first_chunk::<ANSWER_BYTES>() {
        let (verdict, proof) = proof::decode_answer(answer);
        let again = verdict.zip(proof.try_into().ok());
        assert!(
            again.is_none_or(|(verdict, proof)| proof::encode_answer(verdict, proof) == *answer)
        );
    }
    if let Some(header) = bytes.first_chunk::<HEADER_BYTES>() {
        let sound = Header::decode(*header);
        assert!(sound.is_none_or(|sound| sound.encode() == *header));
    }
    if let Some(farewell) = Farewell::decode(bytes) {
        assert!(!farewell.text.contains(char::is_control));
        let again = farewell.encode();
        assert!(again.len() <= MOST_FAREWELL);
        let again = Farewell::decode(&again).expect("what is written is read");
        assert!(farewell.text.starts_with(&again.text));
    }
}

/// Host files, and the variable with the same content in one line.
pub fn hosts(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let file = Path::new("hosts.txt");
    for addresses in [hosts::parse(file, text), hosts::parse_list(text)] {
        match addresses {
            Ok(addresses) => {
                let again = hosts::parse(file, &addresses.join("\n"));
                assert_eq!(again.expect("addresses are a host file"), addresses);
                assert!(addresses.iter().all(|a| !hosts::host_of(a).is_empty()));
            }
            Err(error) => says(&error),
        }
    }
}

/// The variables of schedulers, one `NAME=value` per line.
pub fn environment(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let variables = text.lines().filter_map(|line| line.split_once('=').map(pair));
    let variables = variables.collect();
    match environment::find(&variables) {
        Ok(None) => {}
        Ok(Some(found)) => {
            assert!(found.process < found.processes && found.processes > 1);
            match found.addresses(&variables, None) {
                Ok(addresses) => assert_eq!(addresses.len(), found.processes),
                Err(error) => says(&error),
            }
        }
        Err(error) => says(&error),
    }
}

/// Job files; the lines after a line `---` are overrides.
pub fn job(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // A word list may be any file, but reading these would never end.
    if text.contains("/dev") || text.contains("/proc") {
        return;
    }
    let (text, overrides) = text.split_once("\n---\n").unwrap_or((text, ""));
    let overrides: Vec<String> = overrides.lines().map(str::to_owned).collect();
    match Job::parse(text, Path::new("job.toml"), &overrides) {
        Ok(job) => {
            let resolved = job.resolved_toml();
            let again = Job::parse(&resolved, Path::new("job.toml"), &[]);
            let again = again.unwrap_or_else(|error| panic!("{error}\n{resolved}"));
            assert_eq!(again.resolved_toml(), resolved);
        }
        Err(error) => says(&error),
    }
}

/// Models, checkpoints, classifiers and models of labels, unchanged and with a correct checksum.
pub fn model(bytes: &[u8]) {
    for bytes in [bytes, &sealed(bytes)] {
        match checkpoint::read_from(bytes, bytes.len() as u64) {
            Ok(saved) => {
                let (topics, terms) = (saved.header.topic_count, saved.header.vocabulary_size);
                for part_count in [1, 3] {
                    for part in 0..part_count {
                        let parameters = saved.parameters(part, part_count);
                        assert_eq!(parameters.totals().len(), topics);
                        let mut rows = parameters.terms().map(|term| parameters.row(term));
                        assert!(rows.all(|row| row.len() <= topics), "of {terms} rows");
                    }
                }
            }
            Err(error) => says(&error),
        }
        classifier(bytes);
        match checkpoint::labels::read_from(bytes, bytes.len() as u64) {
            Ok((_, model)) => {
                let mut alpha = Vec::new();
                if let Some(topics) = &model.topics {
                    topics.alpha(&vec![1.0; topics.labels], &mut alpha);
                    assert_eq!(alpha.len(), topics.labels);
                }
            }
            Err(error) => says(&error),
        }
    }
}

/// The classifier stored beside a model.
fn classifier(bytes: &[u8]) {
    match checkpoint::classifier::read_from(bytes, bytes.len() as u64) {
        Ok((header, classifier)) => {
            let (terms, counts) = (classifier.terms(), vec![1; header.term_count]);
            let mut proportions = Vec::new();
            classifier.predict(Bag { terms, counts: &counts }, 1.0, &mut proportions);
            assert_eq!(proportions.len(), header.topic_count);
        }
        Err(error) => says(&error),
    }
}

/// Remembered assignments of round 7 and five topics, unchanged and with a correct checksum.
pub fn assignments(bytes: &[u8]) {
    for bytes in [bytes, &sealed(bytes)] {
        let mut read = 0;
        let visit = |_, topics: &[u16], _| {
            assert!(topics.iter().all(|&topic| topic < 5));
            read += 2 * topics.len();
            Ok(())
        };
        let result = checkpoint::assignments::read_from(bytes, 7, 5, visit);
        assert!(read <= bytes.len());
        if let Err(error) = result {
            says(&error);
        }
    }
}

/// The records of an output folder: manifest, collection, a process's status.
pub fn records(bytes: &[u8]) {
    if let Some(status) = ProcessStatus::from_json(bytes) {
        let json = serde_json::to_vec(&status).expect("a status is JSON");
        let again = ProcessStatus::from_json(&json).expect("what is written is read");
        assert_eq!(again, status);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let path = Path::new("record.json");
    match Manifest::from_json(text, path) {
        Ok(manifest) => {
            let again = Manifest::from_json(&manifest.to_json(), path);
            assert_eq!(again.expect("what is written is read"), manifest);
        }
        Err(error) => says(&error),
    }
    match Collection::from_json(text, path) {
        Ok(collection) => {
            let again = Collection::from_json(&collection.to_json(), path);
            assert_eq!(again.expect("what is written is read"), collection);
        }
        Err(error) => says(&error),
    }
}

/// The name of an input file of each kind, and the keys that it needs.
const INPUTS: [(&str, &[&str]); 18] = [
    ("a.jsonl", &["corpus.counts=n"]),
    ("a.csv", &[]),
    ("a.tsv", &[]),
    ("a.mallet", &["corpus.format=mallet"]),
    ("a.svm", &[]),
    ("a.vw", &[]),
    ("a.ldac", &[]),
    ("docword.a.txt", &[]),
    ("a.mtx", &[]),
    ("a.json", &["corpus.format=htrc", "htrc.section_pages=1"]),
    ("a.arrow", &[]),
    ("a.arrow", &["corpus.counts=n"]),
    ("a.json", &["corpus.text=t.u"]),
    ("a.csv", &["corpus.header=false", "corpus.text=1", "corpus.encoding=gbk"]),
    ("a.html", &["corpus.markup=remove", "corpus.encoding=latin1"]),
    ("a.json", &["corpus.format=json", "corpus.text=t.u"]),
    ("a.mbox", &["corpus.metadata=[\"from\", \"date\"]"]),
    ("a.wet", &["corpus.metadata=[\"url\", \"language\"]"]),
];

/// Input files of the kind that the first byte selects: blocks of any size contain the same documents.
pub fn inputs(bytes: &[u8]) {
    let Some((kind, content)) = bytes.split_first() else {
        return;
    };
    let (name, keys) = INPUTS[usize::from(*kind) % INPUTS.len()];
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), content).expect("a file");
    if ["a.ldac", "docword.a.txt", "a.mtx"].contains(&name) {
        std::fs::write(folder.path().join("vocab.txt"), "a\nb\nc\n").expect("a vocabulary");
    }
    let text = "[corpus]\ninput = \".\"\n[model]\ntopics = 2\n[output]\npath = \"o\"\n";
    let read = |keys: &[&str]| {
        let keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
        let job = Job::parse(text, &folder.path().join("job"), &keys).expect("a job");
        documents(&job.corpus)
    };
    let whole = read(keys);
    let cut = read(&[keys, &["corpus.block_mib=0.00001"]].concat());
    match (whole, cut) {
        (Ok(whole), Ok(cut)) => assert_eq!(whole, cut),
        (Err(error), Err(_)) => says(&error),
        (whole, cut) => panic!("{whole:?}\n{cut:?}"),
    }
    let kept = read(&[keys, &["corpus.on_damage=keep"]].concat());
    kept.err().iter().for_each(|error| says(error));
}

/// Returns the documents of an input, as text.
fn documents(settings: &CorpusSettings) -> Result<Vec<String>, InputError> {
    let input = Arc::new(input::discover(settings)?);
    let queue = BlockQueue::new(input, settings, Share::ALL);
    let mut documents = Vec::new();
    while let Some(block) = queue.next_block()? {
        block.read(settings, &mut |document| {
            documents.push(format!("{document:?}"));
        })?;
    }
    Ok(documents)
}

/// MALLET's states.
pub fn foreign_state(bytes: &[u8]) {
    // A term's number may be anything up to 2²⁴, and all terms before it take memory.
    let is_long = |word: &[u8]| word.len() > 4 && word.iter().all(u8::is_ascii_digit);
    if bytes.split(|byte| *byte == b' ').any(is_long) {
        return;
    }
    topics(mallet_state::read(Path::new("state"), bytes));
}

/// Checks that an external model is valid: every topic is a distribution.
fn topics(read: Result<ForeignModel, Failure>) {
    let model = match read {
        Ok(model) => model,
        Err(error) => return says(&error),
    };
    assert!(!model.smoothing.is_empty() && model.rows.len() == model.terms.len());
    let of_smoothing = |h: &f64| h * model.terms.len() as f64;
    let mut sums: Vec<f64> = model.smoothing.iter().map(of_smoothing).collect();
    for row in &model.rows {
        assert!(row.is_sorted_by(|a, b| a.0 < b.0));
        for &(topic, weight) in row {
            assert!(weight > 0.0, "{weight}");
            sums[usize::from(topic)] += f64::from(weight);
        }
    }
    let wrong = sums.iter().find(|sum| (*sum - 1.0).abs() > 1e-3);
    assert_eq!(wrong, None, "the sum of a topic");
    let alpha = model.alpha.unwrap_or_default();
    assert!(alpha.is_empty() || alpha.len() == sums.len());
    assert!(alpha.iter().all(|a| a.is_finite() && *a > 0.0));
}

/// Users' knowledge of words, in both forms.
pub fn knowledge(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for content in [
        constraints::parse("file", text).map(Content::Constraints),
        outline::parse("file", text).map(Content::Outline),
    ] {
        let content = match content {
            Ok(content) => content,
            Err(error) => {
                says(&error);
                continue;
            }
        };
        if let Content::Constraints(lines) = &content {
            for (_, constraint) in lines {
                let again = constraints::parse("file", &constraint.to_string());
                assert_eq!(again.expect("it was one"), [(1, constraint.clone())]);
            }
        }
        let file = "file".to_owned();
        tree(&Knowledge { file, content });
    }
}

/// Builds the tree over a few terms.
fn tree(knowledge: &Knowledge) {
    let terms = ["bank", "money", "river", "dog", "cane", "città"].map(|term| VocabularyTerm {
        term: term.to_owned(),
        tokens: 2,
        documents: 1,
        status: TermStatus::Kept,
    });
    let vocabulary = Vocabulary::from_terms(terms.to_vec()).expect("all differ");
    let tokens =
        TokenSettings { min_length: 1, max_length: 64, numbers: true, ..TokenSettings::DEFAULT };
    let strengths = Strengths { ordinary: 0.01, must: 100.0, cannot: 1e-20 };
    match knowledge.tree(&vocabulary, &tokens, strengths) {
        Ok((tree, pruned)) => {
            assert!(tree.leaf_count() >= vocabulary.kept());
            assert!(pruned.unknown_words <= pruned.words);
            assert!(pruned.dropped_entries <= pruned.entries);
        }
        Err(error) => says(&error),
    }
}

/// Returns the bytes followed by their checksum.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    [bytes, &Sha256::digest(bytes)].concat()
}

/// Checks that an error has a message.
fn says(error: &dyn std::error::Error) {
    assert!(!error.to_string().is_empty());
}
