//! The shards have every token: of kept terms, of stop words, and of terms that the vocabulary leaves out.

use std::collections::BTreeSet;
use std::iter::zip;
use std::path::Path;

use topicmill::corpus::ShardDocument;
use topicmill::corpus::collection::Collection;
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::corpus::vocabulary::TermStatus::{
    self, Capped, Frequent, Kept, Rare, Stop, Unknown,
};
use topicmill::corpus::vocabulary_file::{self, VOCABULARY_FILE};

use super::fixture::texts;
use crate::workdir::Workdir;

const JOB: &str = r#"
[corpus]
input = "old.jsonl"
block_mib = 0.01
[phrases]
detect = true
min_count = 4
threshold = 0.1
[vocabulary]
stop_words = "stop.txt"
stop_top = 1
min_documents = 4
max_share = 0.2
max_terms = 60
[model]
topics = 2
[train]
passes = 4
[output]
path = "old"
"#;

fn lines(texts: &[String], tail: &str) -> String {
    texts.iter().map(|text| format!("{{\"text\": \"{text}{tail}\"}}\n")).collect()
}

/// Compares the sums over the documents with the counts in the vocabulary, term by term. Returns the statuses of terms
/// that occur.
fn check(out: &Path) -> BTreeSet<TermStatus> {
    let vocabulary = vocabulary_file::read(&out.join(VOCABULARY_FILE)).unwrap();
    let terms = vocabulary.terms();
    let mut sums = vec![[0, 0]; terms.len()];
    let mut document = ShardDocument::default();
    for number in 0..Collection::read(out).unwrap().shards.len() {
        let path = out.join(Collection::shard_name(number));
        let mut reader = ShardReader::open(&path, Columns::All).unwrap();
        while reader.read_into(&mut document).unwrap() {
            let (mut total, mut stop_words) = (0, 0);
            let ShardDocument { pruned, pruned_counts, stopped, stopped_counts, .. } = &document;
            for (ids, counts, statuses) in [
                (&document.terms, &document.counts, &[Kept][..]),
                (pruned, pruned_counts, &[Rare, Capped, Unknown]),
                (stopped, stopped_counts, &[Stop, Frequent]),
            ] {
                assert!(ids.is_sorted_by(|a, b| a < b) && ids.len() == counts.len());
                for (&id, &count) in zip(ids, counts) {
                    let status = terms[id as usize].status;
                    assert!(statuses.contains(&status));
                    total += count;
                    stop_words += if status == Stop { count } else { 0 };
                    let sum = &mut sums[id as usize];
                    *sum = [sum[0] + u64::from(count), sum[1] + 1];
                }
            }
            assert_eq!([total, stop_words], [document.tokens_total, document.tokens_stopped]);
        }
    }
    for (term, sums) in zip(terms, &sums) {
        assert_eq!([term.tokens, term.documents], *sums, "{}", term.term);
    }
    zip(terms, sums).filter(|(_, [tokens, _])| *tokens > 0).map(|(term, _)| term.status).collect()
}

#[test]
fn every_token_of_every_term_is_in_a_shard() {
    let ground = Workdir::new().with_job(JOB);
    ground.write("stop.txt", "w5é\nw7é\n");
    ground.write("old.jsonl", lines(&texts(300), " new york"));
    ground.write("new.jsonl", lines(&texts(400)[300..], " new york other"));
    ground.succeed("run job.toml --quiet -w 2");
    let pruned = [Kept, Stop, Rare, Frequent, Capped];
    assert_eq!(check(&ground.path("old")), BTreeSet::from(pruned));
    assert!(ground.table("old/phrases").iter().any(|row| row["phrase"] == "new_york"));
    for key in ["vocabulary.from", "model.from"] {
        let sets = format!("--set {key}=old --set output.path={key}");
        ground.write("new.toml", "[corpus]\ninput = \"new.jsonl\"\n[model]\ntopics = 2\n");
        ground.succeed(&format!("run new.toml --quiet -w 2 {sets}"));
        let found = check(&ground.path(key));
        assert!(found.contains(&Unknown) && found.is_superset(&pruned.into()), "{found:?}");
    }
}
