//! `views.sql`: a view per table for DuckDB, and a few joins that users often need.

use super::{TABLES, TableError, output::Output};

/// The joined views, with the tables each of them needs.
const JOINED: [(&str, &[&str], &str); 4] = [
    (
        "topic_words: one line per topic, largest first",
        &["topics"],
        "CREATE OR REPLACE VIEW topic_words AS
SELECT topic, share, tokens, array_to_string(top_terms, ' ') AS words, coherence_npmi
FROM topics ORDER BY share DESC, topic;",
    ),
    (
        "document_words: each document's topics with their words",
        &["documents", "document_topics", "topics"],
        "CREATE OR REPLACE VIEW document_words AS
SELECT d.doc_id, d.source_id, d.group_id, t.rank, t.topic, t.weight,
       array_to_string(p.top_terms, ' ') AS words
FROM document_topics t JOIN documents d USING (doc_id) JOIN topics p USING (topic);",
    ),
    (
        "group_topics: volumes as the token-weighted mean of their sections",
        &["documents", "document_topics"],
        "CREATE OR REPLACE VIEW group_topics AS
SELECT g.group_id, t.topic, sum(t.weight * d.tokens_in_vocabulary) / any_value(g.tokens) AS weight,
       any_value(g.tokens) AS tokens
FROM document_topics t JOIN documents d USING (doc_id)
JOIN (SELECT group_id, sum(tokens_in_vocabulary) AS tokens FROM documents GROUP BY group_id) g
  ON d.group_id = g.group_id
GROUP BY g.group_id, t.topic;",
    ),
    (
        "document_statuses: documents by status and split",
        &["documents"],
        "CREATE OR REPLACE VIEW document_statuses AS
SELECT status, split, count(*) AS documents, sum(tokens_total) AS tokens
FROM documents GROUP BY ALL ORDER BY ALL;",
    ),
];

/// The text of `views.sql` for the tables of the output.
///
/// Errors: the folder, or the store, cannot be asked.
pub fn views_sql(output: &Output) -> Result<String, TableError> {
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
         -- (paths are relative to the folder duckdb is started in).\n",
    );
    for table in TABLES.iter().filter(|table| stands(table.name)) {
        let name = table.name;
        sql.push_str(&format!(
            "CREATE OR REPLACE VIEW {name} AS SELECT * FROM '{name}/*.parquet';\n"
        ));
    }
    for (comment, needs, view) in JOINED {
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
        assert_eq!(all.matches("CREATE OR REPLACE VIEW").count(), 16);
        let trained = views_of(|table| ["topics", "topic_terms"].contains(&table));
        assert_eq!(trained.matches("CREATE OR REPLACE VIEW").count(), 3);
        assert!(trained.contains("FROM 'topic_terms/*.parquet'"));
    }
}
