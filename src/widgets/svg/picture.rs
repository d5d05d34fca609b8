//! What is on the screen, sorted by how it is drawn and by colour.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use super::shapes::{Fill, Shape, shape};
use super::write::round;
use super::{BASELINE, CELL, PITCH, width};
use crate::widgets::theme::{Rgb, Theme};

/// A colour and everything drawn with it.
pub(super) struct Layer<T> {
    pub(super) paint: Rgb,
    pub(super) items: Vec<T>,
}

/// Rectangles and lines that grow while their neighbour continues them.
pub(super) struct Segment {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A run of text in one style.
pub(super) struct Run {
    pub(super) x: f64,
    pub(super) end: f64,
    pub(super) y: f64,
    pub(super) paint: Rgb,
    pub(super) modifier: Modifier,
    pub(super) text: String,
    /// Whether this is a lone symbol, which is centred in its cell.
    pub(super) symbol: bool,
}

pub(super) struct Picture {
    pub(super) colors: (Rgb, Rgb),
    pub(super) back: Vec<Layer<Segment>>,
    pub(super) fills: Vec<Layer<Segment>>,
    pub(super) paths: Vec<(Fill, Layer<String>)>,
    /// Row and column of Braille dots.
    pub(super) dots: Vec<Layer<(u32, u32)>>,
    pub(super) runs: Vec<Run>,
    /// Whether the last run may go on.
    pub(super) open: bool,
}

fn layer<T>(layers: &mut Vec<Layer<T>>, paint: Rgb) -> &mut Vec<T> {
    let index = layers.iter().position(|layer| layer.paint == paint).unwrap_or_else(|| {
        layers.push(Layer { paint, items: Vec::new() });
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
    pub(super) fn new(theme: &Theme) -> Self {
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

    pub(super) fn add(&mut self, x: f64, y: f64, cell: &Cell) {
        let (paint, back) = self.inks(cell);
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
                add_segment(layer(&mut self.fills, paint), line);
            }
        }
        let mut characters = cell.symbol().chars();
        let lone = characters.next().filter(|_| characters.next().is_none());
        match lone.map_or(Shape::None, shape) {
            Shape::None => self.add_text(x, y, cell, paint),
            Shape::Rects(rects) => {
                for [left, top, width, height] in rects.iter().flatten() {
                    let rect = Segment { x: x + left, y: y + top, width: *width, height: *height };
                    add_segment(layer(&mut self.fills, paint), rect);
                }
            }
            Shape::Shade(share) => {
                let rect = Segment { x, y, width: CELL.0, height: CELL.1 };
                add_segment(layer(&mut self.fills, back.mix(paint, share)), rect);
            }
            Shape::Dots(bits) => self.add_dots(x, y, bits, paint),
            Shape::Paths(paths) => {
                for (fill, left, top, path) in paths {
                    let path = format!("M{} {}{path}", round(x + left), round(y + top));
                    self.add_path(*fill, paint, path);
                }
            }
        }
    }

    fn add_dots(&mut self, x: f64, y: f64, bits: u8, paint: Rgb) {
        /// Column and row of the dots, in the order of their bits.
        const PLACES: [(u8, u8); 8] =
            [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
        let set = PLACES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        for (_, (column, row)) in set {
            // Counted in dots of the whole screen, so that neighbours are recognised exactly.
            let dot = (y / PITCH) as u32 + u32::from(*row);
            layer(&mut self.dots, paint).push((dot, (x / PITCH) as u32 + u32::from(*column)));
        }
    }

    fn add_path(&mut self, fill: Fill, paint: Rgb, path: String) {
        let found =
            self.paths.iter_mut().find(|(kind, layer)| *kind == fill && layer.paint == paint);
        match found {
            Some((_, layer)) => layer.items.push(path),
            None => self.paths.push((fill, Layer { paint, items: vec![path] })),
        }
    }

    pub(super) fn end_run(&mut self) {
        self.open = false;
    }

    /// Appends to the run before it, or begins one. A single blank stays inside its run.
    fn add_text(&mut self, x: f64, y: f64, cell: &Cell, paint: Rgb) {
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
                && (run.paint, run.modifier) == (paint, modifier)
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
        self.runs.push(Run {
            x,
            end,
            y,
            paint,
            modifier,
            text: symbol.to_owned(),
            symbol: !letter,
        });
    }
}
