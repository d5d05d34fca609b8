//! A screen as a picture, and as plain text.
//!
//! Whatever must meet its neighbours (blocks, shades, frames, Braille, symbols) is drawn as
//! geometry, since no two fonts agree on it; only letters are text, in runs that are told how long
//! they are. Drawing everything by font was rejected: bars get gaps and symbols turn into emoji.

mod shapes;

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::style::{Color, Modifier};

use self::shapes::{Fill, Shape, shape};
use super::theme::{Rgb, Theme};

/// Size of a cell. Whole numbers, so that neighbouring rectangles meet on pixels.
const CELL: (f64, f64) = (9.0, 18.0);
/// Distance of Braille dots, both ways.
const PITCH: f64 = 4.5;
const BASELINE: f64 = 13.5;
const MARGIN: f64 = 12.0;
const FONT: &str =
    "ui-monospace,'SF Mono',Menlo,'Cascadia Mono','DejaVu Sans Mono',Consolas,monospace";

/// The screen line by line, without trailing blanks.
pub fn text(buffer: &Buffer) -> String {
    let mut out = String::with_capacity(buffer.content.len() * 2);
    for row in rows(buffer) {
        let start = out.len();
        for (_, cell) in cells(row) {
            out.extend(cell.symbol().chars().map(printable));
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

/// What neither a terminal nor XML may be given becomes the replacement character.
fn printable(character: char) -> char {
    let bad = character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}');
    if bad { char::REPLACEMENT_CHARACTER } else { character }
}

/// A colour and everything drawn with it.
struct Layer<T> {
    ink: Rgb,
    items: Vec<T>,
}

/// Rectangles and lines that grow while their neighbour continues them.
struct Segment {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// A run of text in one style.
struct Run {
    x: f64,
    end: f64,
    y: f64,
    ink: Rgb,
    modifier: Modifier,
    text: String,
    /// Whether this is a lone symbol, which is centred in its cell.
    symbol: bool,
}

struct Picture {
    colors: (Rgb, Rgb),
    back: Vec<Layer<Segment>>,
    fills: Vec<Layer<Segment>>,
    paths: Vec<(Fill, Layer<String>)>,
    /// Row and column of Braille dots.
    dots: Vec<Layer<(u32, u32)>>,
    runs: Vec<Run>,
    /// Whether the last run may go on.
    open: bool,
}

fn layer<T>(layers: &mut Vec<Layer<T>>, ink: Rgb) -> &mut Vec<T> {
    let index = layers.iter().position(|layer| layer.ink == ink).unwrap_or_else(|| {
        layers.push(Layer { ink, items: Vec::new() });
        layers.len() - 1
    });
    &mut layers[index].items
}

fn add_segment(segments: &mut Vec<Segment>, new: Segment) {
    if let Some(last) = segments.last_mut()
        && (last.y, last.height) == (new.y, new.height)
        && last.x + last.width == new.x
    {
        last.width += new.width;
        return;
    }
    let above = segments.iter_mut().rev().take(256).find(|above| {
        (above.x, above.width) == (new.x, new.width) && above.y + above.height == new.y
    });
    match above.filter(|above| above.width < CELL.0) {
        Some(above) => above.height += new.height,
        None => segments.push(new),
    }
}

impl Picture {
    fn new(theme: &Theme) -> Self {
        Self {
            colors: theme.backdrop(),
            back: Vec::new(),
            fills: Vec::new(),
            paths: Vec::new(),
            dots: Vec::new(),
            runs: Vec::new(),
            open: false,
        }
    }

    /// Foreground and background as they end up on the screen.
    fn inks(&self, cell: &Cell) -> (Rgb, Rgb) {
        let of = |color: Color, default: Rgb| Rgb::of(color).unwrap_or(default);
        let (mut fg, mut bg) = (of(cell.fg, self.colors.0), of(cell.bg, self.colors.1));
        if cell.modifier.contains(Modifier::REVERSED) {
            (fg, bg) = (bg, fg);
        }
        if cell.modifier.contains(Modifier::DIM) {
            fg = fg.mix(bg, 0.4);
        }
        (fg, bg)
    }

    fn add(&mut self, x: f64, y: f64, cell: &Cell) {
        let (ink, back) = self.inks(cell);
        let width = width(cell.symbol()) as f64 * CELL.0;
        if back != self.colors.1 {
            add_segment(layer(&mut self.back, back), Segment { x, y, width, height: CELL.1 });
        }
        if cell.modifier.contains(Modifier::HIDDEN) {
            return;
        }
        for (modifier, at) in [(Modifier::UNDERLINED, BASELINE + 2.0), (Modifier::CROSSED_OUT, 9.0)]
        {
            if cell.modifier.contains(modifier) {
                let line = Segment { x, y: y + at, width, height: 1.0 };
                add_segment(layer(&mut self.fills, ink), line);
            }
        }
        let mut characters = cell.symbol().chars();
        let lone = characters.next().filter(|_| characters.next().is_none());
        match lone.map_or(Shape::None, shape) {
            Shape::None => self.add_text(x, y, cell, ink),
            Shape::Rects(rects) => {
                for [left, top, width, height] in rects.iter().flatten() {
                    let rect = Segment { x: x + left, y: y + top, width: *width, height: *height };
                    add_segment(layer(&mut self.fills, ink), rect);
                }
            }
            Shape::Shade(share) => {
                let rect = Segment { x, y, width: CELL.0, height: CELL.1 };
                add_segment(layer(&mut self.fills, back.mix(ink, share)), rect);
            }
            Shape::Dots(bits) => self.add_dots(x, y, bits, ink),
            Shape::Paths(paths) => {
                for (fill, left, top, path) in paths {
                    let path = format!("M{} {}{path}", round(x + left), round(y + top));
                    self.add_path(*fill, ink, path);
                }
            }
        }
    }

    fn add_dots(&mut self, x: f64, y: f64, bits: u8, ink: Rgb) {
        /// Column and row of the dots, in the order of their bits.
        const PLACES: [(u8, u8); 8] =
            [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
        let set = PLACES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        for (_, (column, row)) in set {
            // Counted in dots of the whole screen, so that neighbours are recognised exactly.
            let dot = (y / PITCH) as u32 + u32::from(*row);
            layer(&mut self.dots, ink).push((dot, (x / PITCH) as u32 + u32::from(*column)));
        }
    }

    fn add_path(&mut self, fill: Fill, ink: Rgb, path: String) {
        let found = self.paths.iter_mut().find(|(kind, layer)| *kind == fill && layer.ink == ink);
        match found {
            Some((_, layer)) => layer.items.push(path),
            None => self.paths.push((fill, Layer { ink, items: vec![path] })),
        }
    }

    fn end_run(&mut self) {
        self.open = false;
    }

    /// Appends to the run before it, or begins one. A single blank stays inside its run.
    fn add_text(&mut self, x: f64, y: f64, cell: &Cell, ink: Rgb) {
        let symbol = cell.symbol();
        if symbol.trim().is_empty() {
            return;
        }
        let modifier = cell.modifier & (Modifier::BOLD | Modifier::ITALIC);
        let end = x + width(symbol) as f64 * CELL.0;
        let letter =
            symbol.chars().all(|c| c < '\u{250}' || "\u{2013}\u{2026}\u{2260}\u{2265}".contains(c));
        if let Some(run) = self.runs.last_mut().filter(|run| {
            self.open
                && letter
                && !run.symbol
                && (run.ink, run.modifier) == (ink, modifier)
                && x - run.end <= CELL.0
        }) {
            if x > run.end {
                run.text.push(' ');
            }
            run.text.push_str(symbol);
            run.end = end;
            return;
        }
        self.open = true;
        self.runs.push(Run { x, end, y, ink, modifier, text: symbol.to_owned(), symbol: !letter });
    }

    fn document(&self, (width, height): (f64, f64), title: &str) -> String {
        let (text, back) = (hex(self.colors.0), hex(self.colors.1));
        let (outer_width, outer_height) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
        let mut out = String::with_capacity(64 * self.runs.len() + 4096);
        let title = escape(title);
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{outer_width}\" height=\"{outer_height}\" \
             viewBox=\"0 0 {outer_width} {outer_height}\" role=\"img\">\n<title>{title}</title>\n\
             <rect width=\"{outer_width}\" height=\"{outer_height}\" rx=\"8\" fill=\"{back}\"/>\n\
             <g transform=\"translate({MARGIN} {MARGIN})\">\n"
        );
        write_segments(&mut out, &self.back);
        write_segments(&mut out, &self.fills);
        self.write_paths(&mut out);
        self.write_dots(&mut out);
        let _ = writeln!(out, "<g font-family=\"{FONT}\" font-size=\"15\" fill=\"{text}\">");
        for run in &self.runs {
            self.write_run(&mut out, run);
        }
        out.push_str("</g>\n</g>\n</svg>\n");
        out
    }

    fn write_paths(&self, out: &mut String) {
        for (fill, layer) in &self.paths {
            let (ink, path) = (hex(layer.ink), layer.items.concat());
            let _ = match fill.stroke() {
                None => writeln!(out, "<path fill=\"{ink}\" d=\"{path}\"/>"),
                Some(stroke) => {
                    writeln!(out, "<path fill=\"none\" stroke=\"{ink}\" {stroke} d=\"{path}\"/>")
                }
            };
        }
    }

    /// Dots beside each other are one line, dashed with dashes of no length and round ends.
    fn write_dots(&self, out: &mut String) {
        for layer in &self.dots {
            let mut dots = layer.items.clone();
            dots.sort_unstable();
            let lines = dots.chunk_by(|a, b| a.0 == b.0 && a.1 + 1 == b.1);
            let _ = write!(
                out,
                "<path fill=\"none\" stroke=\"{}\" stroke-width=\"2.9\" stroke-linecap=\"round\" \
                 stroke-dasharray=\"0 {PITCH}\" d=\"",
                hex(layer.ink)
            );
            for line in lines {
                let (row, column) = line[0];
                let [x, y] = [column, row].map(|n| (f64::from(n) + 0.5) * PITCH);
                // A little longer than it is: a line without length is not dashed, and rounding
                // must not lose the last dot.
                let length = (line.len() - 1) as f64 * PITCH + 0.1;
                let _ = write!(out, "M{x} {y}h{length}");
            }
            out.push_str("\"/>\n");
        }
    }

    fn write_run(&self, out: &mut String, run: &Run) {
        let y = round(run.y + BASELINE);
        let _ = if run.symbol {
            write!(
                out,
                "<text x=\"{}\" y=\"{y}\" text-anchor=\"middle\"",
                round((run.x + run.end) / 2.0)
            )
        } else {
            write!(out, "<text x=\"{}\" y=\"{y}\"", round(run.x))
        };
        if !run.symbol && run.end - run.x > CELL.0 {
            let _ = write!(out, " textLength=\"{}\"", round(run.end - run.x));
        }
        if run.ink != self.colors.0 {
            let _ = write!(out, " fill=\"{}\"", hex(run.ink));
        }
        if run.modifier.contains(Modifier::BOLD) {
            out.push_str(" font-weight=\"bold\"");
        }
        if run.modifier.contains(Modifier::ITALIC) {
            out.push_str(" font-style=\"italic\"");
        }
        let _ = writeln!(out, ">{}</text>", escape(&run.text));
    }
}

fn write_segments(out: &mut String, layers: &[Layer<Segment>]) {
    for layer in layers {
        let _ = write!(out, "<path fill=\"{}\" d=\"", hex(layer.ink));
        for Segment { x, y, width, height } in &layer.items {
            let [x, y, width, height] = [*x, *y, *width, *height].map(round);
            let _ = write!(out, "M{x} {y}h{width}v{height}h-{width}z");
        }
        out.push_str("\"/>\n");
    }
}

/// Two decimals at most.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// `#rrggbb`, or `#rgb` where that says the same.
fn hex(Rgb(r, g, b): Rgb) -> String {
    if [r, g, b].iter().all(|byte| byte >> 4 == byte & 15) {
        format!("#{:x}{:x}{:x}", r & 15, g & 15, b & 15)
    } else {
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars().map(printable) {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;
