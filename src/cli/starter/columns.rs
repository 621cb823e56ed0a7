//! The keys of a proposed job that name columns: id, text, metadata, trends.

use super::excluded;
use crate::cli::{Failure, figures};
use crate::job::{Job, Template};
use crate::plan::preview::{Column, Preview};

/// The metadata columns of volumes of Extracted Features.
const VOLUME_METADATA: [&str; 6] = ["title", "author", "year", "language", "genre", "rights"];

type Row = (&'static str, String);

/// Sets the columns; without records, a document is a file.
pub(super) fn set(
    template: &mut Template,
    preview: &Preview,
    asked: &Job,
) -> Result<Vec<Row>, Failure> {
    if !preview.binary.is_empty() {
        template.set("corpus.exclude", excluded(asked, preview.binary.keys()))?;
    }
    let chosen = template.has("corpus.text").then(|| asked.corpus.text.clone());
    let text = preview.text_columns(&chosen.unwrap_or_default())?;
    if preview.formats[..] == ["htrc"] {
        if !template.has("corpus.metadata") {
            template.set("corpus.metadata", VOLUME_METADATA.to_vec())?;
            if !template.has("project.trends") {
                template.set("project.trends", vec!["year"])?;
            }
        }
        return Ok(vec![
            ("id", "the volume and its pages, as mdp.1#p0001-0010".to_owned()),
            ("metadata", VOLUME_METADATA.join(", ")),
        ]);
    }
    if text.is_empty() {
        return Ok(vec![("id", id_without_text(preview, asked))]);
    }
    let words = |name: &String| {
        let words = preview.column(name).map_or(0.0, |column| column.mean_words());
        format!("`{name}`, {} words on average", figures::rate(words))
    };
    let id = match template.has("corpus.id") {
        true => {
            preview.require(&asked.corpus.id)?;
            Some(&asked.corpus.id)
        }
        // A run reads the default, if there is such a column.
        false => {
            let default = preview.column(&asked.corpus.id);
            let default = default.filter(|column| column.values > 0);
            (preview.id.as_ref()).or(default.map(|column| &column.name))
        }
    };
    let mut rows = vec![
        ("id", id_row(preview, id)),
        ("text", text.iter().map(words).collect::<Vec<_>>().join("; ")),
    ];
    if let Some(help) = preview.help_with_words(&text) {
        rows.push(("note", format!("each text is one word; {help}")));
    }
    rows.extend(unread(preview, &text, asked));
    let is_free = |name: &&String| !text.contains(name) && Some(*name) != id;
    let metadata: Vec<String> = preview.metadata.iter().filter(is_free).cloned().collect();
    rows.extend(set_metadata(template, preview, metadata)?);
    if let Some(id) = id {
        template.set("corpus.id", id.clone())?;
    }
    template.set("corpus.text", text)?;
    let names = preview.names().join(", ");
    template.remark("corpus.text", format!("The columns are {names}."));
    Ok(rows)
}

/// Says what identifies a document, and which column does not, because its values repeat.
fn id_row(preview: &Preview, id: Option<&String>) -> String {
    let first = |column: &Column| figures::grouped(column.records as u64);
    if let Some(id) = id {
        let column = preview.column(id);
        let column = column.filter(|column| column.distinct < column.records);
        let shared = column.map(|column| {
            let repeated = figures::grouped((column.records - column.distinct) as u64);
            format!(", which {repeated} of the first {} records share or lack", first(column))
        });
        return format!("`{id}`{}", shared.unwrap_or_default());
    }
    let mut columns = preview.columns.iter();
    let repeating = columns.find(|column| column.is_id_name() && column.values > 0);
    let unused = repeating.map(|column| {
        let distinct = figures::grouped(column.distinct as u64);
        let name = &column.name;
        format!(": the first {} records have only {distinct} values of `{name}`", first(column))
    });
    format!("file and position{}", unused.unwrap_or_default())
}

/// Lists other columns of prose.
fn unread(preview: &Preview, text: &[String], asked: &Job) -> Option<Row> {
    let is_taken = |name: &String| text.contains(name) || asked.corpus.metadata.contains(name);
    let unread =
        preview.columns.iter().filter(|column| column.is_prose() && !is_taken(&column.name));
    let names: Vec<String> = unread.map(|column| format!("`{}`", column.name)).collect();
    (!names.is_empty())
        .then(|| ("not read", format!("{} (--text may be repeated)", names.join(", "))))
}

/// Sets the metadata columns, unless a flag does, and trends by those that are dates.
fn set_metadata(
    template: &mut Template,
    preview: &Preview,
    metadata: Vec<String>,
) -> Result<Option<Row>, Failure> {
    if metadata.is_empty() || template.has("corpus.metadata") {
        return Ok(None);
    }
    let is_date = |name: &&String| preview.column(name).is_some_and(Column::is_date);
    let dates: Vec<String> = metadata.iter().filter(is_date).cloned().collect();
    if !dates.is_empty() && !template.has("project.trends") {
        template.set("project.trends", dates)?;
    }
    let row = ("metadata", metadata.join(", "));
    template.set("corpus.metadata", metadata)?;
    Ok(Some(row))
}

/// Describes the id of documents that are counts, or files.
fn id_without_text(preview: &Preview, asked: &Job) -> String {
    if asked.corpus.counts.is_some() {
        return format!("`{}`", asked.corpus.id);
    }
    let id = match preview.formats[..] {
        ["uci" | "mtx"] => "the document's number",
        ["lda-c"] => "file and position",
        ["svmlight"] => "the comment on the line, or file and position",
        ["vw"] => "the example's tag, or file and position",
        _ => "the file's name",
    };
    id.to_owned()
}
