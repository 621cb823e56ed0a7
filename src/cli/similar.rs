//! `topicmill similar OUT`: the documents nearest to a document, a topic or a text.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use serde_json::{Value, json};

use super::machine::cores;
use super::pictures::page_width;
use super::summary::words_within;
use super::{Exit, Failure, figures};
use crate::stream::{Source, StreamModel, answer};
use crate::tables::output::{View, Wanted};
use crate::tables::projected::ProjectedDocument;
use crate::tables::read::{TopicLine, topic_lines};
use crate::tables::similar::{find_documents, similar_documents};

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill similar out/newsgroups --document 42
  topicmill similar out/newsgroups --source-id talk.politics.guns/54323
  topicmill similar out/newsgroups --topic 7 --limit 50
  echo 'the rocket left the launch pad' | topicmill similar out/newsgroups --text -

Distances are Hellinger distances of the listed topics, from 0 to 1. The search reads all documents
of the result and needs little memory.";

/// Flags of similar.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("subject").required(true))]
pub(crate) struct SimilarArgs {
    /// The output folder of a finished run
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Nearest to the document with this number (`doc_id`)
    #[arg(long, value_name = "N", group = "subject")]
    pub(crate) document: Option<i64>,
    /// Nearest to the document with this id in the input (`source_id`)
    #[arg(long, value_name = "ID", group = "subject")]
    pub(crate) source_id: Option<String>,
    /// Nearest to a document that has only this topic
    #[arg(long, value_name = "TOPIC", group = "subject")]
    pub(crate) topic: Option<i32>,
    /// Nearest to the text in this file, inferred with the result's model; `-` is standard input
    #[arg(long, value_name = "FILE", group = "subject")]
    pub(crate) text: Option<PathBuf>,
    /// Maximum number of documents to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Topics of a document that are shown.
const TOPICS: usize = 3;
/// Maximum number of documents with the same `source_id` that an error lists.
const MOST_ALIKE: usize = 10;

/// The subject that documents are compared with.
struct Subject {
    /// Its topics and their proportions, the largest first.
    topics: Vec<(i32, f32)>,
    /// The document, if it is one.
    doc_id: Option<i64>,
}

/// Shows the nearest documents.
///
/// # Errors
/// There is no finished result, no such document or topic, no topic in the text; a table cannot be read; stdout
/// cannot be written.
pub(super) fn run(args: &SimilarArgs) -> Result<(), Failure> {
    super::check_finished(&args.output)?;
    let view = View::open(&args.output, Wanted::All)?;
    let root = view.path();
    let topics = topic_lines(root)?;
    let subject = match (args.topic, &args.text) {
        (Some(topic), _) => of_topic(topic, &topics)?,
        (_, Some(file)) => of_text(&args.output, file)?,
        _ => of_document(args, root)?,
    };
    let limit = args.limit as usize;
    let similar = similar_documents(root, &subject.topics, subject.doc_id, limit, cores())?;
    match args.json {
        true => super::print_json(&as_json(&subject, &similar)),
        false => super::print(&as_text(&subject, &similar, &topics, page_width())),
    }
}

fn of_topic(topic: i32, topics: &[TopicLine]) -> Result<Subject, Failure> {
    if !topics.iter().any(|line| line.topic == topic) {
        let failure = Failure::usage(format!("there is no topic {topic}"));
        return Err(match topics.len().checked_sub(1) {
            Some(last) => failure.help(format!("topics are numbered from 0 to {last}")),
            None => failure.help("this result has no topics: pass the result of a run"),
        });
    }
    Ok(Subject { topics: vec![(topic, 1.0)], doc_id: None })
}

/// Infers the topics of a text with the result's model.
fn of_text(root: &Path, file: &Path) -> Result<Subject, Failure> {
    let mut bytes = Vec::new();
    let (name, read) = match file == Path::new("-") {
        true => {
            let read = io::stdin().lock().read_to_end(&mut bytes);
            ("standard input".to_owned(), read.map(|_| ()))
        }
        false => {
            let read = std::fs::read(file).map(|read| bytes = read);
            (file.display().to_string(), read)
        }
    };
    read.map_err(|error| {
        let exit = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => Exit::Usage,
            _ => Exit::Io,
        };
        let failure = Failure::new(exit, error).context(format!("--text {name}"));
        failure.help("pass a text file, or - for standard input")
    })?;
    let model = StreamModel::load(&Source::find(root, &[])?)?;
    let topics = answer::topics_of(&model, &bytes)?;
    if topics.is_empty() {
        let message = format!("{name}: none of its words is in the vocabulary");
        return Err(Failure::data(message).help("pass a longer text"));
    }
    let topics = topics.into_iter().map(|it| (it.topic.into(), it.weight));
    Ok(Subject { topics: topics.collect(), doc_id: None })
}

fn of_document(args: &SimilarArgs, root: &Path) -> Result<Subject, Failure> {
    let is_it = |document: &ProjectedDocument| match (args.document, &args.source_id) {
        (Some(doc_id), _) => document.doc_id == doc_id,
        (None, source_id) => source_id.as_ref() == Some(&document.source_id),
    };
    let limit = args.document.map_or(MOST_ALIKE, |_| 1);
    let found = find_documents(root, limit, is_it)?;
    let refuse = |message: &str| Failure::usage(message);
    match &found[..] {
        [] => Err(refuse("there is no such document").help(
            "the table `documents` lists all documents: use `doc_id` with --document, `source_id` with --source-id",
        )),
        [document] if document.topics.is_empty() => {
            Err(refuse("the document has no topics: it has no words in the vocabulary, or none that reaches \
                        project.threshold")
                .help("pass another one"))
        }
        [document] => Ok(Subject {
            topics: document.topics.clone(),
            doc_id: Some(document.doc_id),
        }),
        several => {
            let ids: Vec<String> = several.iter().map(|it| it.doc_id.to_string()).collect();
            Err(refuse("several documents have this id")
                .help(format!("pass --document with one of {}", ids.join(", "))))
        }
    }
}

fn as_text(
    subject: &Subject,
    similar: &[(f64, ProjectedDocument)],
    topics: &[TopicLine],
    width: usize,
) -> String {
    let mut text = String::new();
    for &(topic, weight) in subject.topics.iter().take(TOPICS) {
        let line = topics.iter().find(|line| line.topic == topic);
        let words = line.map_or_else(Vec::new, TopicLine::words);
        let words = words_within(&words, words.len(), width.saturating_sub(24));
        text += &format!("topic {topic:>5}  {:>5.1} %  {words}\n", 100.0 * weight);
    }
    text.push('\n');
    for (distance, document) in similar {
        let (doc_id, source_id) = (document.doc_id, &document.source_id);
        text += &format!("  {distance:.3}  {doc_id:>9}  {source_id}\n");
    }
    text
}

fn as_json(subject: &Subject, similar: &[(f64, ProjectedDocument)]) -> Value {
    let topics = |topics: &[(i32, f32)]| {
        let topic = |&(topic, weight): &(i32, f32)| json!({ "topic": topic, "weight": figures::single(weight) });
        topics.iter().map(topic).collect::<Vec<_>>()
    };
    let document = |(distance, it): &(f64, ProjectedDocument)| {
        json!({
            "doc_id": it.doc_id,
            "source_id": it.source_id,
            "distance": distance,
            "topics": topics(&it.topics),
        })
    };
    json!({
        "doc_id": subject.doc_id,
        "topics": topics(&subject.topics),
        "documents": similar.iter().map(document).collect::<Vec<_>>(),
    })
}
