//! Comparisons of small results: values computed by hand, joins by number and by id, topics that swap places.

use super::*;
use crate::tables::compare::compare;
use corpus::sample::Split;
use lda::evaluate::comparison::{Measures, kl_divergence};

/// A document of a result: id, split, topics and their weights; none for one without terms.
type Document<'a> = (&'a str, Split, &'a [(i32, f32)]);

const P: Split = Split::Projected;
const H: Split = Split::HeldOut;

/// The content of a result.
struct Made<'a> {
    input: &'a str,
    model: &'a str,
    terms: &'a [&'a str],
    /// For each topic, the weights of the terms, in order.
    topics: &'a [&'a [f32]],
    documents: &'a [Document<'a>],
}

impl Made<'_> {
    fn write(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::lead(folder.path()).unwrap();
        let metadata = FileMetadata { model_hash: Some(self.model.to_owned()), ..metadata() };
        self.write_documents(&output, &metadata);
        self.write_model(&output, &metadata);
        let mut manifest = Manifest::new("job-1", 7, self.input);
        manifest.documents_by_status = [("ok".to_owned(), self.documents.len() as u64)].into();
        manifest.describe(&output, &Default::default()).unwrap();
        output.complete(&manifest).unwrap();
        folder
    }

    fn write_documents(&self, output: &Output, metadata: &FileMetadata) {
        let paths = ["documents", "document_topics"].map(|name| output.temporary_path(name));
        let mut documents = TableWriter::create(&paths[0], &DocumentRow::SPEC, metadata).unwrap();
        let mut weights =
            TableWriter::create(&paths[1], &DocumentTopicRow::SPEC, metadata).unwrap();
        for (doc_id, (source_id, split, topics)) in self.documents.iter().enumerate() {
            let listed: f32 = topics.iter().map(|t| t.1).sum();
            let row = DocumentRow {
                doc_id: doc_id as i64,
                source_id: (*source_id).to_owned(),
                status: "ok".to_owned(),
                split: split.name().to_owned(),
                tokens_total: 10,
                tokens_in_vocabulary: 10,
                top_topic: topics.first().map(|t| t.0),
                top_weight: topics.first().map(|t| t.1),
                dropped_mass: (!topics.is_empty()).then_some((1.0 - listed).max(0.0)),
                ..DocumentRow::default()
            };
            documents.push(&row).unwrap();
            for (place, &(topic, weight)) in topics.iter().enumerate() {
                let (doc_id, rank) = (doc_id as i64, place as i32 + 1);
                let row = DocumentTopicRow { doc_id, topic, weight, rank };
                weights.push(&row).unwrap();
            }
        }
        documents.finish().unwrap();
        weights.finish().unwrap();
        for (path, table) in paths.iter().zip(["documents", "document_topics"]) {
            let target = format!("{table}/part-00000.parquet");
            output.publish(path, &target).unwrap();
        }
    }

    fn write_model(&self, output: &Output, metadata: &FileMetadata) {
        let topics = (0..self.topics.len() as i32).map(topic_row);
        output.write_table(metadata, topics).unwrap();
        let rows = self.topics.iter().enumerate().flat_map(|(topic, weights)| {
            let weights = weights.iter().enumerate();
            weights.map(move |(term, &weight)| TopicTermRow {
                topic: topic as i32,
                term_id: term as i32,
                term: self.terms[term].to_owned(),
                weight,
                count: 1.0,
                rank: term as i32 + 1,
            })
        });
        part!(output, "topic_terms", rows);
        let rows = self.terms.iter().enumerate();
        let rows = rows.map(|(id, term)| VocabularyRow {
            term_id: Some(id as i32),
            term: (*term).to_owned(),
            count: 10,
            document_count: 8,
            status: "kept".to_owned(),
        });
        part!(output, "vocabulary", rows);
    }
}

fn topic_row(topic: i32) -> TopicRow {
    TopicRow { topic, alpha: 0.1, tokens: 13, share: 1.0 / 3.0, ..TopicRow::default() }
}

const TERMS: &[&str] = &["sea", "ship", "law", "court"];
const SEA: &[f32] = &[0.5, 0.5, 0.0, 0.0];
const LAW: &[f32] = &[0.0, 0.0, 0.5, 0.5];
const BOTH: &[f32] = &[0.25, 0.25, 0.25, 0.25];

fn reference() -> Made<'static> {
    Made {
        input: "one",
        model: "m",
        terms: TERMS,
        topics: &[SEA, LAW, BOTH],
        documents: &[
            ("a", P, &[(0, 0.75), (1, 0.125)]),
            ("b", H, &[(1, 1.0)]),
            ("c", P, &[]),
            ("d", P, &[(2, 0.5), (0, 0.25), (1, 0.25)]),
            ("e", P, &[(1, 0.5), (2, 0.5)]),
        ],
    }
}

#[test]
fn a_result_is_like_itself() {
    let result = reference().write();
    let found = compare(result.path(), result.path()).unwrap();
    assert_eq!((found.documents, found.unmatched, found.ambiguous), (4, 0, 0));
    assert!((found.cosine.mean - 1.0).abs() < 1e-12);
    assert_eq!((found.kl_divergence.mean, found.f1.mean), (0.0, 1.0));
    assert_eq!(found.topics, None, "one model");
}

#[test]
fn proportions_are_compared_as_the_measures_say() {
    let other = Made {
        documents: &[
            ("a", P, &[(1, 0.75), (0, 0.125)]),
            ("b", P, &[(0, 1.0)]),
            ("c", P, &[(0, 1.0)]),
            ("d", P, &[(0, 0.5), (1, 0.5)]),
        ],
        ..reference()
    };
    let (first, second) = (reference().write(), other.write());
    let found = compare(first.path(), second.path()).unwrap();
    // c has no topics in the first, and the second lacks e.
    assert_eq!((found.documents, found.unmatched), (3, 1));
    let mut expected = Measures::default();
    // The 1/8 that a does not list belongs to its third topic in both.
    expected.add(&[0.75, 0.125, 0.125], &[0.125, 0.75, 0.125]);
    expected.add(&[0.0, 1.0, 0.0], &[1.0, 0.0, 0.0]);
    expected.add(&[0.25, 0.25, 0.5], &[0.5, 0.5, 0.0]);
    assert_eq!(found.cosine, expected.cosine());
    assert_eq!(found.kl_divergence, expected.kl_divergence());
    assert_eq!(found.f1, expected.f1());
}

#[test]
fn topics_of_another_model_take_their_partners_places() {
    let other = Made {
        model: "another",
        terms: &["court", "law", "sea", "ship", "extra"],
        topics: &[
            &[0.45, 0.45, 0.0, 0.0, 0.1],
            &[0.0, 0.0, 0.0, 0.0, 1.0],
            &[0.0, 0.0, 0.5, 0.5, 0.0],
            &[0.2, 0.2, 0.2, 0.2, 0.2],
        ],
        documents: &[
            ("a", P, &[(2, 0.75), (0, 0.25)]),
            ("b", P, &[(1, 1.0)]),
            ("c", P, &[]),
            ("d", P, &[(3, 0.5), (2, 0.25), (0, 0.25)]),
            ("e", P, &[(0, 0.5), (3, 0.5)]),
        ],
        ..reference()
    };
    let (first, second) = (reference().write(), other.write());
    let found = compare(first.path(), second.path()).unwrap();
    let topics = found.topics.unwrap();
    let partners: Vec<_> = topics.partners.iter().map(|p| p.unwrap().0).collect();
    assert_eq!(partners, [2, 0, 3]);
    assert_eq!((topics.same, topics.shared_terms), (3, 4));
    assert!(topics.mean_distance < 1e-3);
    assert_eq!(found.documents, 4);
    // d and e are the same in both; b has moved to a topic that the first model lacks.
    let a = kl_divergence(&[0.75, 0.125, 0.125, 0.0], &[0.75, 0.25, 0.0, 0.0]);
    let b = kl_divergence(&[0.0, 1.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 1.0]);
    assert!((found.kl_divergence.mean - (a + b) / 4.0).abs() < 1e-9);
}

#[test]
fn results_of_different_inputs_are_joined_by_id() {
    let other = Made {
        input: "two",
        documents: &[
            ("e", P, &[(1, 0.5), (2, 0.5)]),
            ("twice", P, &[(0, 1.0)]),
            ("d", P, &[(2, 0.5), (0, 0.25), (1, 0.25)]),
            ("twice", P, &[(1, 1.0)]),
            ("elsewhere", P, &[(0, 1.0)]),
        ],
        ..reference()
    };
    let first = Made {
        documents: &[
            ("d", P, &[(2, 0.5), (0, 0.25), (1, 0.25)]),
            ("twice", P, &[(0, 1.0)]),
            ("alone", P, &[(0, 1.0)]),
            ("e", P, &[(1, 0.5), (2, 0.5)]),
            ("e", P, &[(0, 1.0)]),
        ],
        ..reference()
    };
    let (first, second) = (first.write(), other.write());
    let found = compare(first.path(), second.path()).unwrap();
    assert_eq!((found.documents, found.unmatched, found.ambiguous), (1, 1, 3));
    assert_eq!((found.f1.mean, found.kl_divergence.mean), (1.0, 0.0));
}

#[test]
fn what_cannot_be_compared_says_why() {
    let first = reference().write();
    let empty = tempfile::tempdir().unwrap();
    assert!(compare(first.path(), empty.path()).is_err());
    let foreign =
        Made { model: "another", terms: &["mer", "navire", "loi", "cour"], ..reference() };
    let error = compare(first.path(), foreign.write().path()).unwrap_err();
    assert!(error.to_string().contains("no kept term in common"), "{error}");
    let unknown = Made { documents: &[("a", P, &[(9, 1.0)])], ..reference() };
    let error = compare(first.path(), unknown.write().path()).unwrap_err();
    assert!(error.to_string().contains("topic 9"), "{error}");
}
