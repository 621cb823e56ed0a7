"""Opens a result as users do: in DuckDB, in pyarrow and pandas, and in polars.

    scripts/check_tables.py OUT [--documents N]

Joins and aggregates the tables in each of them, compares the results, and checks the promises of
docs/FORMATS.md: proportions, word distributions and token counts that add up, ids and ranks without
gaps. Shares no code with `topicmill verify`. Prints one line per check; the first failure ends the
script with status 1 and names the table and the row.
"""

import argparse
import json
import math
import os
import sys
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet

TABLES = [
    "documents",
    "document_topics",
    "topic_terms",
    "topics",
    "topic_documents",
    "topic_term_diagnostics",
    "vocabulary",
    "training_log",
    "evaluation",
    "drift",
]
# Tables that not every job writes; those in the manifest are read too.
SOME = [
    "group_topics",
    "labels",
    "phrases",
    "predictions",
    "topic_concentration",
    "topic_correlations",
    "topic_nodes",
    "topic_passages",
    "topic_trends",
]
# Types that every reader supports; lists contain strings.
TYPES = {"int32", "int64", "float", "double", "bool", "string", "date32[day]", "list<element: string not null>"}
# A document's weights are f32, rounded one by one; a topic's are many more.
DOCUMENT_TOLERANCE = 1e-4
TOPIC_TOLERANCE = 1e-3
# Tolerance for two readers' sums of the same f64, which they add in different orders.
READER_TOLERANCE = 1e-9


class Wrong(Exception):
    """A wrong result; the message names the table and the row."""


def expect(sound, message):
    """Fails with `message` unless `sound`."""
    if not sound:
        raise Wrong(message)


# All readers compute the same sums, so these three must return the same keys. Weights are f32 in the
# files and are summed as f64.


def sums_by_duckdb():
    """Returns DuckDB's sums, by the views of views.sql."""
    db = duckdb.connect()
    db.execute(Path("views.sql").read_text(encoding="utf-8"))
    sums = {f"{name} rows": db.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0] for name in TABLES}
    for table, column in summed():
        query = f"SELECT sum({column}::DOUBLE) FROM {table}"
        sums[f"{table}.{column}"] = db.execute(query).fetchall()[0][0] or 0.0
    by_topic = db.execute("""
        SELECT topic, sum(weight::DOUBLE * tokens_in_vocabulary)
        FROM document_topics JOIN documents USING (doc_id) GROUP BY topic""")
    sums.update({f"tokens of topic {topic}": tokens for topic, tokens in by_topic.fetchall()})
    counts = db.execute("SELECT status, count(*) FROM documents GROUP BY status")
    sums.update({f"documents {status}": number for status, number in counts.fetchall()})
    return sums


def sums_by_pandas():
    """Returns pandas' sums of the tables that pyarrow reads."""
    frames = {name: pyarrow.parquet.read_table(name).to_pandas() for name in TABLES}
    sums = {f"{name} rows": len(frame) for name, frame in frames.items()}
    for table, column in summed():
        sums[f"{table}.{column}"] = float(frames[table][column].astype("float64").sum())
    joined = frames["document_topics"].merge(frames["documents"], on="doc_id", how="inner")
    joined["tokens"] = joined["weight"].astype("float64") * joined["tokens_in_vocabulary"]
    by_topic = joined.groupby("topic")["tokens"].sum()
    sums.update({f"tokens of topic {topic}": tokens for topic, tokens in by_topic.items()})
    counts = frames["documents"].groupby("status").size()
    sums.update({f"documents {status}": number for status, number in counts.items()})
    return sums


def sums_by_polars():
    """Returns polars' sums, from scans."""
    scans = {name: polars.scan_parquet(f"{name}/*.parquet") for name in TABLES}
    sums = {f"{name} rows": scan.select(polars.len()).collect().item() for name, scan in scans.items()}
    for table, column in summed():
        total = polars.col(column).cast(polars.Float64).sum()
        sums[f"{table}.{column}"] = scans[table].select(total).collect().item()
    tokens = polars.col("weight").cast(polars.Float64) * polars.col("tokens_in_vocabulary")
    joined = scans["document_topics"].join(scans["documents"], on="doc_id", how="inner")
    by_topic = joined.group_by("topic").agg(tokens.sum().alias("tokens")).collect()
    sums.update({f"tokens of topic {topic}": tokens for topic, tokens in by_topic.iter_rows()})
    counts = scans["documents"].group_by("status").len().collect()
    sums.update({f"documents {status}": number for status, number in counts.iter_rows()})
    return sums


SUMMED = [
    ("documents", "tokens_total"),
    ("documents", "tokens_in_vocabulary"),
    ("documents", "dropped_mass"),
    ("document_topics", "weight"),
    ("topic_terms", "weight"),
    ("topic_terms", "count"),
    ("topics", "tokens"),
    ("topics", "share"),
    ("topics", "corpus_distance"),
    ("topic_documents", "weight"),
    ("vocabulary", "count"),
    ("vocabulary", "document_count"),
    ("training_log", "tokens_seen"),
    ("evaluation", "value"),
    ("topic_term_diagnostics", "cumulative"),
    ("topic_term_diagnostics", "exclusivity"),
    ("drift", "tokens"),
    ("drift", "known_terms"),
    ("group_topics", "weight"),
    ("labels", "documents"),
    ("phrases", "count"),
    ("phrases", "score"),
    ("predictions", "weight"),
    ("topic_correlations", "correlation"),
    ("topic_correlations", "documents"),
    ("topic_nodes", "weight"),
    ("topic_nodes", "count"),
    ("topic_trends", "share"),
]


def summed():
    """Returns the columns to sum, of existing tables."""
    return [(table, column) for table, column in SUMMED if table in TABLES]


def check_readers():
    """The three readers agree on every sum."""
    first = sums_by_duckdb()
    for name, others in [("pandas", sums_by_pandas()), ("polars", sums_by_polars())]:
        expect(first.keys() == others.keys(), f"{name} and duckdb find different topics or statuses")
        for key, value in first.items():
            near = math.isclose(value, others[key], rel_tol=READER_TOLERANCE, abs_tol=READER_TOLERANCE)
            expect(near, f"{key}: duckdb finds {value}, {name} finds {others[key]}")
    return f"{len(first)} sums agree"


def check_files():
    """Folders contain only parts, types are plain, and row counts match the manifest."""
    manifest = json.loads(Path("manifest.json").read_text(encoding="utf-8"))
    for name in TABLES:
        expect(Path(name).is_dir(), f"{name}: there is no such table")
        others = [path.name for path in Path(name).iterdir() if path.suffix != ".parquet"]
        expect(not others, f"{name}: {others} beside the parts breaks readers")
        table = pyarrow.parquet.ParquetDataset(name)
        for field in table.schema:
            expect(str(field.type) in TYPES, f"{name}.{field.name} is {field.type}")
        rows = sum(fragment.count_rows() for fragment in table.fragments)
        said = manifest["tables"][name]["rows"]
        expect(rows == said, f"{name} has {rows} rows, manifest.json says {said}")
    return f"{len(TABLES)} tables"


def check_documents(db, expected):
    """Every document has one row, in order, and its tokens add up."""
    manifest = json.loads(Path("manifest.json").read_text(encoding="utf-8"))
    statuses = dict(db.execute("SELECT status, count(*) FROM documents GROUP BY status").fetchall())
    said = {status: number for status, number in manifest["documents_by_status"].items() if number}
    expect(statuses == said, f"documents: statuses {statuses}, manifest.json says {said}")
    ids = polars.scan_parquet("documents/*.parquet").select("doc_id").collect()["doc_id"].to_list()
    wrong = next((row for row, doc_id in enumerate(ids) if doc_id != row), None)
    expect(wrong is None, f"documents: row {wrong} has doc_id {wrong is not None and ids[wrong]}")
    if expected is not None:
        expect(len(ids) == expected, f"documents: {len(ids)} rows for {expected} documents")
    none_of(db, "documents: document {}: {} tokens in all, but {} of the three kinds", """
        SELECT doc_id, tokens_total, tokens_in_vocabulary + tokens_stopped + tokens_unknown AS kinds
        FROM documents WHERE tokens_total <> kinds""")
    return f"{len(ids)} documents"


def check_proportions(db):
    """Each document's weights and dropped mass sum to 1; documents without terms have neither."""
    none_of(db, "document_topics: document {}: weights {} and dropped mass {} are not 1", f"""
        SELECT doc_id, sum(weight::DOUBLE) AS weights, any_value(dropped_mass) AS dropped
        FROM documents LEFT JOIN document_topics USING (doc_id) WHERE top_topic IS NOT NULL
        GROUP BY doc_id HAVING NOT abs(coalesce(weights, 0) + dropped - 1) <= {DOCUMENT_TOLERANCE}""")
    none_of(db, "documents: document {} has {} tokens in the vocabulary and top topic {}", """
        SELECT doc_id, tokens_in_vocabulary, top_topic FROM documents
        WHERE (tokens_in_vocabulary > 0) <> (top_topic IS NOT NULL)""")
    none_of(db, "document_topics: document {}, topic {}: the document has no terms, or is not there", """
        SELECT t.doc_id, t.topic FROM document_topics t LEFT JOIN documents d USING (doc_id)
        WHERE d.top_topic IS NULL""")
    none_of(db, "documents: document {}: top topic {} of weight {} is {} of {} in document_topics", """
        SELECT doc_id, top_topic, top_weight, topic, weight
        FROM documents JOIN document_topics USING (doc_id)
        WHERE rank = 1 AND (topic <> top_topic OR weight <> top_weight)""")
    ranks_are_sound(db, "document_topics", "doc_id")
    projected = "SELECT count(*) FROM documents WHERE top_topic IS NOT NULL"
    return f"{db.execute(projected).fetchall()[0][0]} documents' proportions are 1"


def check_topics(db):
    """Topics have the documents' tokens, and word distributions that sum to 1."""
    wrong = "topics: row {} has topic {}"
    none_of(db, wrong, "SELECT row - 1, topic FROM (SELECT row_number() OVER (ORDER BY topic) AS row, "
            "topic FROM topics) WHERE topic <> row - 1")
    topics, tokens, shares = db.execute("SELECT count(*), sum(tokens), sum(share) FROM topics").fetchall()[0]
    found = db.execute("SELECT sum(tokens_in_vocabulary) FROM documents WHERE top_topic IS NOT NULL")
    found = found.fetchall()[0][0] or 0
    slack = topics + 1e-6 * found
    expect(abs(tokens - found) <= slack, f"topics: {tokens} tokens, documents has {found}")
    expect(abs(shares - 1) <= TOPIC_TOLERANCE or not found, f"topics: the shares sum to {shares}")
    none_of(db, "topics: topic {} has {} tokens, but {} in document_topics, and {} at most", f"""
        SELECT topic, tokens, shown, shown + dropped AS most FROM topics JOIN (
            SELECT topic, sum(weight::DOUBLE * tokens_in_vocabulary) AS shown
            FROM document_topics JOIN documents USING (doc_id) GROUP BY topic) USING (topic),
            (SELECT sum(dropped_mass::DOUBLE * tokens_in_vocabulary) AS dropped FROM documents)
        WHERE tokens < shown - 1 - {DOCUMENT_TOLERANCE} * shown
           OR tokens > most + 1 + {DOCUMENT_TOLERANCE} * most""")
    none_of(db, "topics: topic {} is first in {} documents, documents says {}", """
        SELECT topic, rank1_documents, coalesce(number, 0) AS counted FROM topics LEFT JOIN
            (SELECT top_topic AS topic, count(*) AS number FROM documents GROUP BY top_topic) USING (topic)
        WHERE rank1_documents <> counted""")
    none_of(db, "topic_terms: topic {}: its {} rows and the absent terms sum to {}", f"""
        SELECT topic, count(term_id) AS rows, coalesce(sum(weight::DOUBLE), 0) + any_value(absent_weight)
            * ((SELECT count(term_id) FROM vocabulary) - rows) AS mass
        FROM topics LEFT JOIN topic_terms USING (topic)
        GROUP BY topic HAVING NOT abs(mass - 1) <= {TOPIC_TOLERANCE}""")
    none_of(db, "topic_terms: topic {}: term {} is {!r}, in vocabulary {!r}", """
        SELECT topic, t.term_id, t.term, v.term FROM topic_terms t LEFT JOIN vocabulary v USING (term_id)
        WHERE t.term IS DISTINCT FROM v.term""")
    none_of(db, "topics: topic {}: duplicate of {}, dead {}, junk {}", """
        SELECT topic, duplicate_of, dead, junk FROM topics
        WHERE (dead AND (junk OR duplicate_of IS NOT NULL)) OR NOT duplicate_of BETWEEN 0 AND topic - 1
           OR duplicate_of IN (SELECT topic FROM topics WHERE dead)""")
    none_of(db, "topics: topic {} is {} nats from the corpus", """
        SELECT topic, corpus_distance FROM topics WHERE NOT corpus_distance >= 0""")
    ranks_are_sound(db, "topic_terms", "topic")
    return f"{topics} topics, {tokens} tokens"


def check_topic_documents(db):
    """The documents listed under a topic match the documents' own rows."""
    none_of(db, "topic_documents: topic {}, document {}: {!r} is not the source_id in documents", """
        SELECT topic, t.doc_id, t.source_id FROM topic_documents t LEFT JOIN documents d USING (doc_id)
        WHERE t.source_id IS DISTINCT FROM d.source_id""")
    none_of(db, "topic_documents: topic {}, document {}: weight {}, in document_topics {}", """
        SELECT topic, doc_id, a.weight, b.weight
        FROM topic_documents a JOIN document_topics b USING (topic, doc_id) WHERE a.weight <> b.weight""")
    ranks_are_sound(db, "topic_documents", "topic")
    return "documents of each topic"


def check_diagnostics(db):
    """Top terms match topic_terms, and their figures are within bounds."""
    none_of(db, "topic_term_diagnostics: topic {}, rank {}: term {!r} of {}, in topic_terms {!r} of {}", """
        SELECT topic, rank, a.term, a.weight, b.term, b.weight
        FROM topic_term_diagnostics a LEFT JOIN topic_terms b USING (topic, rank)
        WHERE a.term IS DISTINCT FROM b.term OR a.weight <> b.weight OR a.count <> b.count""")
    none_of(db, "topic_term_diagnostics: topic {}, rank {}: {} characters, {} documents, exclusivity {}", f"""
        SELECT topic, rank, a.word_length, a.documents, a.exclusivity
        FROM topic_term_diagnostics a JOIN vocabulary v USING (term_id)
        WHERE a.word_length <> length(a.term)
           OR (a.documents > v.document_count AND EXISTS (FROM training_log)) -- otherwise trained on other documents
           OR NOT a.exclusivity BETWEEN 0 AND 1 + {TOPIC_TOLERANCE} OR a.coherence > 0""")
    none_of(db, "topics: topic {}: token_document_difference {}, its terms' parts sum to {}", f"""
        SELECT topic, any_value(t.token_document_difference) AS whole, sum(d.token_document_difference) AS parts
        FROM topics t JOIN topic_term_diagnostics d USING (topic)
        GROUP BY topic HAVING abs(whole - parts) > {READER_TOLERANCE}""")
    none_of(db, "topics: topic {}: rank1_share {}, allocation_ratio {}, allocation_count {}", """
        SELECT topic, rank1_share, allocation_ratio, allocation_count FROM topics
        WHERE NOT (rank1_share BETWEEN 0 AND 1 AND allocation_count BETWEEN 0 AND 1)
           OR NOT allocation_ratio BETWEEN 0 AND 1""")
    ranks_are_sound(db, "topic_term_diagnostics", "topic")
    return f"{db.execute('SELECT count(*) FROM topic_term_diagnostics').fetchall()[0][0]} top terms"


def check_drift(db):
    """The run and every group have the new documents and tokens of the table documents."""
    found = "count(*) AS documents, sum(tokens_total - tokens_stopped) AS tokens, sum(tokens_in_vocabulary) AS kept"
    new = "FROM documents WHERE top_topic IS NOT NULL AND split <> 'sample'"
    none_of(db, "drift: {} {!r}: {} documents, {} tokens, {} in the vocabulary; documents has {}, {}, {}", f"""
        SELECT a.scope, a.group_id, a.documents, a.tokens, a.tokens_in_vocabulary, b.documents, b.tokens, b.kept
        FROM drift a LEFT JOIN (
            SELECT 'run' AS scope, NULL AS group_id, {found} {new}
            UNION ALL SELECT 'group', group_id, {found} {new} AND group_id IS NOT NULL GROUP BY group_id) b
          ON a.scope = b.scope AND a.group_id IS NOT DISTINCT FROM b.group_id
        WHERE a.documents <> coalesce(b.documents, 0) OR a.tokens <> coalesce(b.tokens, 0)
           OR a.tokens_in_vocabulary <> coalesce(b.kept, 0)""")
    none_of(db, "drift: {} {!r}: {} of {} terms and {} of {} tokens are known", """
        SELECT scope, group_id, known_terms, terms, known_tokens, tokens FROM drift
        WHERE NOT (0 <= known_terms AND known_terms <= terms AND 0 <= known_tokens AND known_tokens <= tokens)
           OR retrain AND known_terms >= 0.7 * terms
           OR scope = 'group' AND NOT retrain AND known_terms < 0.7 * terms""")
    runs = db.execute("SELECT count(*) FROM drift WHERE scope = 'run'").fetchall()[0][0]
    rows = db.execute("SELECT count(*) FROM drift").fetchall()[0][0]
    expect(runs == 1, f"drift: {runs} rows of the run")
    return f"{rows - 1} groups"


def check_correlations(db):
    """The figures of pairs of topics follow from the documents."""
    none_of(db, "topic_correlations: topics {} and {}: {} and {} of {} documents, the documents say {} and {} of {}", """
        WITH p AS (SELECT t.doc_id, topic, weight::DOUBLE AS weight FROM document_topics t),
        n AS (SELECT count(*) AS n FROM documents WHERE top_topic IS NOT NULL),
        one AS (SELECT topic, sum(weight) AS s, sum(weight * weight) AS q, count(*) AS c FROM p GROUP BY topic),
        pair AS (SELECT a.topic, b.topic AS other, sum(a.weight * b.weight) AS s, count(*) AS c
                 FROM p a JOIN p b ON a.doc_id = b.doc_id AND a.topic < b.topic GROUP BY ALL),
        expected AS (SELECT pair.topic, other, pair.c AS documents,
            (n * pair.s - a.s * b.s) / nullif(sqrt((n * a.q - a.s * a.s) * (n * b.q - b.s * b.s)), 0) AS correlation,
            ln(pair.c * n / (a.c * b.c)) / nullif(-ln(pair.c / n), 0) AS npmi
            FROM pair JOIN one a ON a.topic = pair.topic JOIN one b ON b.topic = other, n)
        SELECT topic, other, f.correlation, f.npmi, f.documents, e.correlation, e.npmi, e.documents
        FROM topic_correlations f FULL JOIN expected e USING (topic, other)
        WHERE f.documents IS DISTINCT FROM e.documents OR abs(f.npmi - e.npmi) > 1e-9
           OR abs(f.correlation - e.correlation) > 1e-6""")
    return "correlations"


def check_rollups(db):
    """Sums by volume, by value of metadata and by pair of topics follow from the documents."""
    kinds = [check_correlations(db)] if "topic_correlations" in TABLES else []
    by_value = """
        SELECT c.{cell}, topic, sum(weight::DOUBLE * tokens_in_vocabulary) / any_value(c.tokens) AS share,
               any_value(c.tokens) AS tokens, any_value(c.documents) AS documents
        FROM document_topics JOIN documents USING (doc_id) JOIN (
            SELECT {cell}, sum(tokens_in_vocabulary) AS tokens, count(*) AS documents
            FROM documents WHERE top_topic IS NOT NULL GROUP BY ALL) c
          ON c.{cell} IS NOT DISTINCT FROM documents.{cell}
        GROUP BY ALL"""
    if "group_topics" in TABLES:
        none_of(db, "group_topics: {!r}, topic {}: {} of {} tokens, {} sections; documents has {} of {}, {}", f"""
            SELECT group_id, topic, f.weight, f.tokens, f.documents, e.share, e.tokens, e.documents
            FROM group_topics f FULL JOIN ({by_value.format(cell="group_id")} HAVING c.group_id IS NOT NULL) e
                 USING (group_id, topic)
            WHERE f.tokens IS DISTINCT FROM e.tokens OR f.documents <> e.documents OR abs(f.weight - e.share) > 1e-6""")
        kinds.append("volumes")
    if "topic_trends" in TABLES:
        for (name,) in db.execute("SELECT DISTINCT name FROM topic_trends ORDER BY name").fetchall():
            lists, others = (db.execute(query).fetchall()[0][0] for query in (
                # Lists, whose elements are counted, and dates, which are grouped.
                f"SELECT count(*) FROM documents WHERE \"{name}\"::VARCHAR LIKE '[%' OR typeof(\"{name}\") = 'DATE'",
                f"SELECT count(*) FROM topic_trends WHERE name = '{name}' AND value_count > 1"))
            if lists or others:
                continue
            none_of(db, "topic_trends: {!r}, topic {}: {} of {} tokens, {} documents; documents has {} of {}, {}", f"""
                SELECT f.value, f.topic, f.share, f.tokens, f.documents, e.share, e.tokens, e.documents
                FROM (SELECT * FROM topic_trends WHERE name = '{name}') f
                FULL JOIN ({by_value.format(cell=f'"{name}"')}) e
                  ON f.value IS NOT DISTINCT FROM e."{name}"::VARCHAR AND f.topic = e.topic
                WHERE f.tokens IS DISTINCT FROM e.tokens OR f.documents <> e.documents OR abs(f.share - e.share) > 1e-6""")
            kinds.append(f"trends by {name}")
    return ", ".join(kinds) or "none"


def check_phrases(db):
    """Phrases are sorted, found once per pass and join their words; figures are within bounds."""
    if "phrases" not in TABLES:
        return "none"
    none_of(db, "phrases: {!r}, of {!r} and {!r}: pass {}, {} times, score {}", """
        SELECT phrase, first, second, pass, count, score FROM phrases
        WHERE pass NOT IN (1, 2) OR count < 1 OR NOT score BETWEEN -1 AND 1""")
    none_of(db, "phrases: {!r} and {!r} are found {} times in pass {}", """
        SELECT first, second, count(*), pass FROM phrases GROUP BY first, second, pass HAVING count(*) > 1""")
    none_of(db, "phrases: {!r} is not made of {!r} and {!r}", """
        SELECT phrase, first, second FROM phrases WHERE phrase <> first || '_' || second""")
    rows = polars.scan_parquet("phrases/*.parquet").select("phrase", "first").collect()
    expect(rows.equals(rows.sort("phrase", "first")), "phrases: the rows are not sorted by phrase, first")
    joined = db.execute("SELECT count(*) FROM phrases JOIN vocabulary ON term = phrase").fetchall()[0][0]
    return f"{len(rows)} phrases, {joined} of them terms"


def check_topic_nodes(db):
    """A node has the sums of the nodes below it, and a term those of its leaves."""
    if "topic_nodes" not in TABLES:
        return "none"
    none_of(db, "topic_nodes: topic {}, node {}: below node {}, of weight {} with {} tokens", """
        SELECT topic, node, parent, weight, count FROM topic_nodes
        WHERE NOT (0 <= parent AND parent <> node AND weight BETWEEN 0 AND 1 AND count > 0)""")
    none_of(db, "topic_nodes: topic {}, node {}: {} tokens, but {} in the nodes below it", f"""
        SELECT topic, n.node, n.count, below FROM topic_nodes n JOIN (
            SELECT topic, parent AS node, sum(count) AS below FROM topic_nodes GROUP BY ALL) USING (topic, node)
        WHERE n.term IS NOT NULL OR abs(n.count - below) > {TOPIC_TOLERANCE} * (1 + n.count)""")
    none_of(db, "topic_nodes: topic {}, node {}: node {} above it has no row", """
        SELECT n.topic, n.node, n.parent FROM topic_nodes n LEFT JOIN topic_nodes p
            ON p.topic = n.topic AND p.node = n.parent
        WHERE n.parent <> 0 AND p.node IS NULL""")
    none_of(db, "topic_nodes: topic {}: {!r} has weight {} and {} tokens, in topic_terms {} and {}", f"""
        SELECT topic, term, n.weight, n.count, t.weight, t.count FROM topic_terms t JOIN (
            SELECT topic, term, sum(weight::DOUBLE) AS weight, sum(count) AS count
            FROM topic_nodes WHERE term IS NOT NULL GROUP BY ALL) n USING (topic, term)
        WHERE n.weight > t.weight + {DOCUMENT_TOLERANCE} OR abs(n.count - t.count) > {TOPIC_TOLERANCE} * (1 + t.count)""")
    none_of(db, "topic_nodes: topic {}: {!r} is not a term of the topic", """
        SELECT topic, term FROM topic_nodes n ANTI JOIN topic_terms t USING (topic, term) WHERE term IS NOT NULL""")
    rows = polars.scan_parquet("topic_nodes/*.parquet").select("topic", "node").collect()
    expect(rows.equals(rows.sort("topic", "node")), "topic_nodes: the rows are not sorted by topic, node")
    return f"{rows['node'].n_unique()} nodes"


def check_vocabulary(db):
    """Kept terms are numbered from 0, and have as many tokens as the documents."""
    none_of(db, "vocabulary: term {!r} has term_id {} and status {}", """
        SELECT term, term_id, status FROM vocabulary
        WHERE (term_id IS NOT NULL) <> (status = 'kept')
           OR status NOT IN ('kept', 'stop', 'rare', 'frequent', 'capped', 'unknown')""")
    kept, most, tokens = db.execute(
        "SELECT count(DISTINCT term_id), max(term_id), sum(count) FILTER (term_id IS NOT NULL) FROM vocabulary"
    ).fetchall()[0]
    rows = db.execute("SELECT count(*) FROM vocabulary WHERE term_id IS NOT NULL").fetchall()[0][0]
    expect(kept == rows == most + 1, f"vocabulary: {kept} term_ids on {rows} rows, up to {most}")
    found = db.execute("SELECT sum(tokens_in_vocabulary) FROM documents").fetchall()[0][0]
    expect(tokens == found, f"vocabulary: kept terms have {tokens} tokens, documents {found}")
    none_of(db, "vocabulary: term {!r} is {} times in {} documents", """
        SELECT term, count, document_count FROM vocabulary
        WHERE NOT (document_count BETWEEN 1 AND least(count, (SELECT count(*) FROM documents)))
          -- Terms of another collection may be absent from this one.
          AND NOT (status = 'kept' AND count = 0 AND document_count = 0)""")
    return f"{kept} terms, {tokens} tokens"


def check_views(db):
    """Each view of views.sql can be read from."""
    views = db.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1").fetchall()
    for (name,) in views:
        db.execute(f"SELECT * FROM {name}").fetchall()
    expect(len(views) > len(TABLES), f"views.sql: only {len(views)} views")
    return f"{len(views)} views"


def check_questions(db):
    """The macros of views.sql return the same as polars."""
    documents, weights, terms, topics = (
        polars.scan_parquet(f"{name}/*.parquet").collect()
        for name in ("documents", "document_topics", "topic_terms", "topics")
    )
    topic, document = weights.row(0, named=True)["topic"], weights.row(0, named=True)["doc_id"]

    about = weights.filter(polars.col("topic") == topic).sort("weight", "doc_id", descending=[True, False])
    found = db.execute(f"SELECT doc_id FROM documents_about({topic})").fetchall()
    expect(found == about.select("doc_id").rows(), f"documents_about({topic}): not the documents with it")

    theta = dict(weights.filter(polars.col("doc_id") == document).select("topic", "weight").iter_rows())
    affinity = polars.col("weight").cast(polars.Float64).sqrt() * polars.col("topic").replace_strict(
        {t: math.sqrt(w) for t, w in theta.items()}, default=0.0, return_dtype=polars.Float64)
    others = weights.filter(polars.col("doc_id") != document).group_by("doc_id").agg(affinity.sum().alias("a"))
    distances = {d: math.sqrt(max(0.0, 1 - a)) for d, a in others.filter(polars.col("a") > 0).iter_rows()}
    found = dict(db.execute(f"SELECT doc_id, distance FROM similar_documents({document})").fetchall())
    expect(found.keys() == distances.keys(), f"similar_documents({document}): {len(found)} of {len(distances)}")
    wrong = next((d for d in found if not math.isclose(found[d], distances[d], abs_tol=1e-6)), None)
    expect(wrong is None, f"similar_documents({document}): document {wrong} is not {found.get(wrong)} away")

    tokens = polars.col("tokens_in_vocabulary")
    with_topics = documents.filter(polars.col("top_topic").is_not_null())
    sizes = dict(with_topics.group_by("split").agg(tokens.sum()).iter_rows())
    joined = weights.join(with_topics, on="doc_id").group_by("split", "topic").agg(
        (polars.col("weight").cast(polars.Float64) * tokens).sum().alias("tokens"))
    trend = {(split, topic): tokens / sizes[split] for split, topic, tokens in joined.iter_rows()}
    found = db.execute("SELECT value, topic, share FROM topic_trend('split')").fetchall()
    expect({row[:2] for row in found} == trend.keys(), "topic_trend('split'): other topics")
    wrong = next((row for row in found if not math.isclose(row[2], trend[row[:2]], rel_tol=1e-6)), None)
    expect(wrong is None, f"topic_trend('split'): {wrong}")

    if len(topics) < 2:
        return "documents_about, similar_documents, topic_trend"
    phi = [dict(terms.filter(polars.col("topic") == k).select("term", "weight").iter_rows()) for k in (0, 1)]
    absent = topics["absent_weight"].to_list()
    found = db.execute("SELECT term, difference FROM telling_words(0, 1)").fetchall()
    expect({term for term, _ in found} == phi[0].keys() | phi[1].keys(), "telling_words(0, 1): other terms")
    for term, difference in found:
        a, b = (phi[k].get(term, absent[k]) for k in (0, 1))
        near = math.isclose(difference, (a - b) * math.log(a / b), rel_tol=1e-6, abs_tol=1e-12)
        expect(near, f"telling_words(0, 1): {term!r} makes a difference of {difference}")
    expect(found == sorted(found, key=lambda row: (-row[1], row[0])), "telling_words(0, 1): not in order")
    return "documents_about, similar_documents, topic_trend, telling_words"


def ranks_are_sound(db, table, group):
    """The ranks of a group are 1, 2, 3, …, and its weights do not increase."""
    none_of(db, f"{table}: {group} {{}}: rank {{}} of weight {{}} follows rank {{}} of {{}}", f"""
        SELECT {group}, rank, weight, last_rank, last_weight FROM (
            SELECT {group}, rank, weight, lag(rank, 1, 0) OVER one AS last_rank,
                   lag(weight) OVER one AS last_weight
            FROM {table} WINDOW one AS (PARTITION BY {group} ORDER BY rank))
        WHERE rank <> last_rank + 1 OR weight > last_weight""")
    keys = polars.scan_parquet(f"{table}/*.parquet").select(group, "rank").collect()
    in_order = keys.equals(keys.sort(group, "rank"))
    expect(in_order, f"{table}: its rows are not sorted by {group}, rank")


def none_of(db, message, query):
    """Fails with `message`, filled with the first row that `query` returns, if there is one."""
    for row in db.execute(query).fetchall()[:1]:
        raise Wrong(message.format(*row))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("output", metavar="OUT", help="a job's output folder")
    parser.add_argument("--documents", type=int, metavar="N", help="documents that the input has")
    args = parser.parse_args()
    os.chdir(args.output)
    expect(Path("_SUCCESS").exists(), f"{args.output}: not complete: it has no _SUCCESS")
    manifest = json.loads(Path("manifest.json").read_text(encoding="utf-8"))
    TABLES.extend(name for name in SOME if name in manifest["tables"])
    db = duckdb.connect()
    db.execute(Path("views.sql").read_text(encoding="utf-8"))
    checks = {
        "files": check_files,
        "readers": check_readers,
        "documents": lambda: check_documents(db, args.documents),
        "proportions": lambda: check_proportions(db),
        "topics": lambda: check_topics(db),
        "topic_documents": lambda: check_topic_documents(db),
        "diagnostics": lambda: check_diagnostics(db),
        "drift": lambda: check_drift(db),
        "rollups": lambda: check_rollups(db),
        "phrases": lambda: check_phrases(db),
        "topic_nodes": lambda: check_topic_nodes(db),
        "vocabulary": lambda: check_vocabulary(db),
        "views": lambda: check_views(db),
        "questions": lambda: check_questions(db),
    }
    for name, check in checks.items():
        print(f"{name}: {check()}", flush=True)
    versions = [duckdb.__version__, pyarrow.__version__, pandas.__version__, polars.__version__]
    print("sound, by duckdb {}, pyarrow {}, pandas {}, polars {}".format(*versions))


if __name__ == "__main__":
    try:
        main()
    except (Wrong, OSError, duckdb.Error, pyarrow.ArrowException) as error:
        sys.exit(f"check_tables: {error}")
