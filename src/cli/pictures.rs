//! Pictures made of characters: bars and curves, and the width of the window they must fit.

use std::io;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

/// Parts of a character that a bar can end with, the smallest first.
const PARTS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// Heights of a point in a curve, the lowest first.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Maximum number of points of a curve.
const MOST_POINTS: usize = 24;
/// Width of a page if that of the window is unknown.
const WIDTH: usize = 100;

/// Draws a bar over a share, from 0 to 1, of `width` characters.
pub(super) fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let whole = PARTS[7].to_string().repeat(eighths / 8);
    match eighths % 8 {
        0 => whole,
        part => format!("{whole}{}", PARTS[part - 1]),
    }
}

/// Draws a curve of these values, or of some of them, evenly spread, from the lowest to the highest; empty
/// for fewer than two.
pub(super) fn curve(values: &[f64]) -> String {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let points = finite.len().min(MOST_POINTS);
    if points < 2 {
        return String::new();
    }
    let least = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let most = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |value: f64| {
        if most > least { (7.0 * (value - least) / (most - least)).round() as usize } else { 0 }
    };
    let value = |point: usize| finite[point * (finite.len() - 1) / (points - 1)];
    (0..points).map(|point| HEIGHTS[height(value(point))]).collect()
}

/// Returns the width of the window, from `COLUMNS` or the terminal; `None` unless from 40 to 400.
pub(super) fn window() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.parse().ok());
    let terminal = || Some(usize::from(terminal_size::terminal_size_of(io::stdout())?.0.0));
    columns.or_else(terminal).filter(|width| (40..=400).contains(width))
}

/// Returns the width of a page in characters: that of the window, if there is one.
pub(super) fn page_width() -> usize {
    window().unwrap_or(WIDTH)
}

/// Returns the number of rows to show, where 0 means all.
pub(super) fn at_most(count: usize) -> usize {
    match count {
        0 => usize::MAX,
        count => count,
    }
}

/// Creates an empty table without lines; `|` separates the columns, and those that begin with `>` are aligned
/// to the right.
pub(super) fn table(columns: &str) -> Table {
    let columns: Vec<&str> = columns.split('|').collect();
    let names = columns.iter().map(|name| name.trim_start_matches('>'));
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(names);
    for (place, name) in columns.iter().enumerate() {
        if name.starts_with('>')
            && let Some(column) = table.column_mut(place)
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.56, 4), "██▎");
        assert_eq!(bar(7.0, 4), "████");
        assert_eq!(bar(f64::NAN, 4), "");
    }

    #[test]
    fn a_curve_goes_from_the_lowest_to_the_highest() {
        assert_eq!(curve(&[-9.0, -8.0, -7.5, -7.0]), "▁▅▆█");
        assert_eq!(curve(&[1.0]), "");
        assert_eq!(curve(&[1.0, f64::NAN, 1.0]), "▁▁");
        let long: Vec<f64> = (0..1000).map(f64::from).collect();
        let curve = curve(&long);
        assert_eq!(curve.chars().count(), MOST_POINTS);
        assert!(curve.starts_with('▁') && curve.ends_with('█'), "{curve}");
    }
}
