//! A screen as a picture, and as plain text.
//!
//! Whatever must meet its neighbours (blocks, shades, frames, Braille, symbols) is drawn as
//! geometry, since no two fonts agree on it; only letters are text, in runs that are told how long
//! they are. Drawing everything by font was rejected: bars get gaps and symbols turn into emoji.

mod picture;
mod shapes;
#[cfg(test)]
mod tests;
mod write;

use ratatui::buffer::{Buffer, Cell, CellWidth};
use warpscope_probes::text::shown_as;

use self::picture::Picture;
use super::theme::Theme;

/// Size of a cell. Whole numbers, so that neighbouring rectangles meet on pixels.
const CELL: (f64, f64) = (9.0, 18.0);
/// Distance of Braille dots, both ways.
const PITCH: f64 = 4.5;
const BASELINE: f64 = 13.5;

/// The screen line by line, without trailing blanks.
pub fn text(buffer: &Buffer) -> String {
    let mut out = String::with_capacity(buffer.content.len() * 2);
    for row in rows(buffer) {
        let start = out.len();
        for (_, cell) in cells(row) {
            out.extend(cell.symbol().chars().map(shown_as));
        }
        let kept = out[start..].trim_end().len();
        out.truncate(start + kept);
        out.push('\n');
    }
    out
}

/// The screen as an SVG document. The same screen always gives the same bytes.
pub fn svg(buffer: &Buffer, theme: &Theme, title: &str) -> String {
    let mut picture = Picture::new(theme);
    for (y, row) in rows(buffer).enumerate() {
        for (x, cell) in cells(row) {
            picture.add(x as f64 * CELL.0, y as f64 * CELL.1, cell);
        }
        picture.end_run();
    }
    let size = (f64::from(buffer.area.width) * CELL.0, f64::from(buffer.area.height) * CELL.1);
    picture.document(size, title)
}

fn rows(buffer: &Buffer) -> impl Iterator<Item = &[Cell]> {
    buffer.content.chunks(usize::from(buffer.area.width).max(1))
}

/// The cells that are seen, with their column: what a wide character covers is left out.
fn cells(row: &[Cell]) -> impl Iterator<Item = (usize, &Cell)> {
    let mut free = 0;
    row.iter().enumerate().filter(move |(x, cell)| {
        let seen = *x >= free;
        if seen {
            free = x + width(cell.symbol());
        }
        seen
    })
}

fn width(symbol: &str) -> usize {
    let measurable = !symbol.is_empty() && !symbol.contains(char::is_control);
    if measurable { usize::from(symbol.cell_width()).max(1) } else { 1 }
}
