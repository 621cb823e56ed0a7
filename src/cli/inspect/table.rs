//! A table, or one Parquet file: columns, origin, first rows.

use std::collections::BTreeMap;

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use serde_json::json;

use crate::cli::args::InspectArgs;
use crate::cli::pictures::page_width;
use crate::cli::{Failure, figures};
use crate::tables::read::{Rows, TableSchema, head, table_schema};

/// Characters of a cell that are shown.
const CELL: usize = 48;

/// Shows the table at the path.
///
/// # Errors
/// It cannot be read, or stdout cannot be written.
pub(super) fn show(args: &InspectArgs) -> Result<(), Failure> {
    let schema = table_schema(&args.path)?;
    let rows = head(&args.path, args.rows)?;
    if args.json {
        let metadata = schema.metadata.iter().map(|(key, it)| (key, it));
        return crate::cli::print_json(&json!({
            "rows": schema.rows,
            "parts": schema.parts,
            "columns": schema.columns,
            "metadata": metadata.collect::<BTreeMap<_, _>>(),
            "head": rows.rows,
        }));
    }
    crate::cli::print(&text_of(&schema, &rows))
}

fn text_of(schema: &TableSchema, rows: &Rows) -> String {
    let mut text = String::new();
    text += &format!(
        "{} in {}\n\n",
        figures::counted(schema.rows, "row"),
        figures::counted(schema.parts as u64, "part")
    );
    for column in &schema.columns {
        let null = if column.nullable { ", nullable" } else { "" };
        text += &format!("{:<20} {}{null}\n", column.name, column.kind);
    }
    if !schema.metadata.is_empty() {
        text.push('\n');
    }
    for (key, value) in &schema.metadata {
        text += &format!("{key:<20} {}\n", shortened(value));
    }
    if !rows.rows.is_empty() {
        text += &format!("\n{}\n", within(rows, page_width()));
    }
    text
}

/// Returns the rows as a table or, if that is wider than the page, each as a list of its values.
pub(super) fn within(rows: &Rows, width: usize) -> String {
    let grid = grid(rows);
    if grid.lines().all(|line| line.chars().count() <= width) { grid } else { lists(rows) }
}

fn lists(rows: &Rows) -> String {
    let list = |row: &Vec<String>| -> String {
        let cells = rows.columns.iter().zip(row);
        cells.map(|(name, cell)| format!("{name:<25} {}\n", shortened(cell))).collect()
    };
    let lists: Vec<String> = rows.rows.iter().map(list).collect();
    lists.join("\n")
}

fn grid(rows: &Rows) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(&rows.columns);
    for row in &rows.rows {
        table.add_row(row.iter().map(|cell| shortened(cell)));
    }
    table.trim_fmt()
}

/// Returns the start of a cell, on one line.
fn shortened(cell: &str) -> String {
    let line = cell.replace(['\n', '\r', '\t'], " ");
    match line.char_indices().nth(CELL) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_too_wide_becomes_lists() {
        let cells = |texts: [&str; 2]| texts.map(str::to_owned).to_vec();
        let rows = Rows {
            columns: cells(["doc_id", "source_id"]),
            rows: vec![cells(["1", "a long name"]), cells(["2", "b"])],
        };
        assert!(within(&rows, 80).starts_with(" doc_id  source_id"), "{}", within(&rows, 80));
        let lists = within(&rows, 16);
        let expected = format!("{:<25} 1\n{:<25} a long name\n\n", "doc_id", "source_id");
        assert!(lists.starts_with(&expected), "{lists}");
    }

    #[test]
    fn long_cells_are_cut_between_characters() {
        assert_eq!(shortened("a\nb"), "a b");
        let long = "ü".repeat(60);
        assert_eq!(shortened(&long), format!("{}…", "ü".repeat(48)));
        assert_eq!(shortened(&"x".repeat(48)).len(), 48);
    }
}
