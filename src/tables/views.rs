//! `views.sql`: for DuckDB, a view per table, a few frequently needed joins, and questions with an argument, as
//! table macros.

use super::{TABLES, output::Output};
use crate::failure::Failure;

/// A view or macro: its comment, the tables that it needs, and the statement.
type Statement = (&'static str, &'static [&'static str], &'static str);

/// The joined views, and the questions with an argument.
const STATEMENTS: [Statement; 7] = [
    (
        "topic_words: one line per topic, largest first",
        &["topics"],
        "CREATE OR REPLACE VIEW topic_words AS
SELECT COLUMNS('^(topic|name)$'), share, tokens, array_to_string(top_terms, ' ') AS words,
       coherence_npmi
FROM topics ORDER BY share DESC, topic;",
    ),
    (
        "document_words: each document's topics with their words",
        &["documents", "document_topics", "topics"],
        "CREATE OR REPLACE VIEW document_words AS
SELECT d.doc_id, d.source_id, d.group_id, t.rank, t.topic, t.weight,
       array_to_string(p.top_terms, ' ') AS words
FROM document_topics t JOIN documents d USING (doc_id) JOIN topics p ON p.topic = t.topic;",
    ),
    (
        "document_statuses: documents by status and split",
        &["documents"],
        "CREATE OR REPLACE VIEW document_statuses AS
SELECT status, split, count(*) AS documents, sum(tokens_total) AS tokens
FROM documents GROUP BY ALL ORDER BY ALL;",
    ),
    (
        "documents_about(7): the documents with topic 7, largest proportion first",
        &["documents", "document_topics"],
        "CREATE OR REPLACE MACRO documents_about(subject) AS TABLE
SELECT t.weight, d.* FROM document_topics t JOIN documents d USING (doc_id)
WHERE t.topic = subject ORDER BY t.weight DESC, d.doc_id;",
    ),
    (
        "topic_trend('year'): each topic's share of the tokens, by the values of a metadata column",
        &["documents", "document_topics"],
        "CREATE OR REPLACE MACRO topic_trend(name) AS TABLE
SELECT v.value, t.topic, sum(t.weight * v.tokens) / any_value(v.all_tokens) AS share,
       any_value(v.documents) AS documents
FROM (SELECT *, sum(tokens) OVER same AS all_tokens, count(*) OVER same AS documents
      FROM (SELECT doc_id, tokens_in_vocabulary AS tokens, COLUMNS(lambda c: c = name) AS value
            FROM documents WHERE top_topic IS NOT NULL)
      WINDOW same AS (PARTITION BY value)) v
JOIN document_topics t USING (doc_id)
GROUP BY v.value, t.topic ORDER BY t.topic, v.value;",
    ),
    (
        "similar_documents(42): the documents that share a topic with document 42, nearest first\n\
         -- (Hellinger distance of the listed proportions)",
        &["documents", "document_topics"],
        "CREATE OR REPLACE MACRO similar_documents(document) AS TABLE
SELECT sqrt(greatest(0, 1 - s.affinity)) AS distance, d.*
FROM (SELECT b.doc_id, sum(sqrt(a.weight::DOUBLE * b.weight)) AS affinity
      FROM document_topics a JOIN document_topics b USING (topic)
      WHERE a.doc_id = document AND b.doc_id <> document GROUP BY b.doc_id) s
JOIN documents d USING (doc_id) ORDER BY distance, d.doc_id;",
    ),
    (
        "telling_words(3, 7): the terms that tell topics 3 and 7 apart, by their part in the\n\
         -- symmetric Kullback-Leibler divergence (nats)",
        &["topics", "topic_terms"],
        "CREATE OR REPLACE MACRO telling_words(one, other) AS TABLE
SELECT term, in_one, in_other, (in_one - in_other) * ln(in_one / in_other) AS difference
FROM (SELECT coalesce(a.term, b.term) AS term,
             coalesce(a.weight, (SELECT absent_weight FROM topics WHERE topic = one)) AS in_one,
             coalesce(b.weight, (SELECT absent_weight FROM topics WHERE topic = other)) AS in_other
      FROM (SELECT term, weight::DOUBLE AS weight FROM topic_terms WHERE topic = one) a
      FULL JOIN (SELECT term, weight::DOUBLE AS weight FROM topic_terms WHERE topic = other) b
        ON a.term = b.term)
ORDER BY difference DESC, term;",
    ),
];

/// Returns the text of `views.sql` for the tables of the output.
///
/// Errors: the store does not respond.
pub(crate) fn views_sql(output: &Output) -> Result<String, Failure> {
    let mut standing = Vec::new();
    for table in TABLES {
        if output.is_published(table.name)? {
            standing.push(table.name);
        }
    }
    Ok(views_of(|table| standing.contains(&table)))
}

fn views_of(stands: impl Fn(&str) -> bool) -> String {
    let mut sql = String::from(
        "-- Views over this result. From this folder: duckdb -init views.sql\n\
         -- Paths are relative to the folder duckdb is started in. From others, or for several results in one\n\
         -- session, each in a schema of its own, make them absolute: sed \"/^CREATE/s|FROM '|FROM '$PWD/|\" views.sql\n\
         -- doc_id numbers the documents of one result: join those of two by source_id.\n",
    );
    for table in TABLES.iter().filter(|table| stands(table.name)) {
        let name = table.name;
        // `name` is a column of other tables, which are joined with this one.
        let [columns, names] = if name == "topics" && stands("topic_names") {
            [
                "t.*, n.name AS topic_name, coalesce(n.hidden, false) AS hidden, n.merged_into",
                " t LEFT JOIN topic_names n USING (topic)",
            ]
        } else {
            ["*", ""]
        };
        sql.push_str(&format!(
            "CREATE OR REPLACE VIEW {name} AS SELECT {columns} FROM '{name}/*.parquet'{names};\n"
        ));
    }
    for (comment, needs, view) in &STATEMENTS {
        if needs.iter().all(|table| stands(table)) {
            sql.push_str(&format!("\n-- {comment}\n{view}\n"));
        }
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_need_only_tables_that_stand() {
        let all = views_of(|_| true);
        assert_eq!(all.matches("CREATE OR REPLACE VIEW").count(), 32);
        assert!(all.contains("'topics/*.parquet' t LEFT JOIN topic_names n USING (topic);"));
        let trained = views_of(|table| ["topics", "topic_terms"].contains(&table));
        assert_eq!(trained.matches("CREATE OR REPLACE VIEW").count(), 3);
        assert!(trained.contains("FROM 'topic_terms/*.parquet'"));
        let macros = |sql: &str| sql.matches("CREATE OR REPLACE MACRO").count();
        assert_eq!([macros(&all), macros(&trained)], [4, 1]);
    }
}
