//! What the terminal shows, and the fewest bytes that bring it in line with a new frame.
//!
//! Own code rather than ratatui's `Terminal` over its crossterm backend: that keeps a second buffer of
//! 40 bytes a cell where 16 do, sends both colours again whenever one of them changes, knows no
//! erasing, and looks up the window's size twice a frame. Drawing stays ratatui's `Buffer`.

mod style;
mod term;
#[cfg(test)]
mod tests;

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier};
use warpscope_probes::text::is_hostile;

use self::style::{CellStyle, Codes, VISIBLE_ON_BLANK};
pub(crate) use self::term::{erases_in_color, knows_links};
use crate::shell::draw::Link;

/// Blanks that cost more than erasing them and moving on.
const WORTH_ERASING: usize = 12;

/// One cell as the terminal shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shown {
    /// `None`: not known, or more than one character; never the same as anything.
    glyph: Option<char>,
    style: CellStyle,
}

impl Shown {
    const UNKNOWN: Self = Self {
        glyph: None,
        style: CellStyle { fg: Color::Reset, bg: Color::Reset, modifier: Modifier::empty() },
    };
    /// The right half of a wide character.
    const COVERED: Self = Self { glyph: Some('\0'), ..Self::UNKNOWN };

    // Ten thousand times a frame.
    #[inline(always)]
    fn of(cell: &Cell) -> Self {
        let glyph = match cell.symbol().as_bytes() {
            // Most of a screen.
            [ascii] => Some(char::from(*ascii)),
            _ => {
                let mut symbol = cell.symbol().chars();
                symbol.next().filter(|_| symbol.next().is_none())
            }
        };
        let style = CellStyle { fg: cell.fg, bg: cell.bg, modifier: cell.modifier };
        if glyph == Some(' ') && !cell.modifier.intersects(VISIBLE_ON_BLANK) {
            // What nobody can see must not count as a change.
            return Self { glyph, style: CellStyle { bg: cell.bg, ..CellStyle::default() } };
        }
        Self { glyph, style }
    }

    fn is_blank(self) -> bool {
        self.glyph == Some(' ') && !self.style.modifier.intersects(VISIBLE_ON_BLANK)
    }

    fn is(self, other: Self) -> bool {
        self.glyph.is_some() && self == other
    }
}

/// The state of the terminal, as far as it follows from what was sent.
pub(crate) struct Canvas {
    erases_in_color: bool,
    area: Rect,
    shown: Vec<Shown>,
    /// `None`: not known.
    style: Option<CellStyle>,
    /// Where the next character goes; `None`: not known.
    cursor: Option<(u16, u16)>,
    /// Links of what is shown.
    links: Vec<Link>,
    /// The link, by its place in `links`, that text to come belongs to.
    open: Option<usize>,
    out: Vec<u8>,
}

impl Canvas {
    /// A canvas of which nothing is known.
    pub(crate) fn new(area: Rect, erases_in_color: bool) -> Self {
        let mut canvas = Self {
            erases_in_color,
            area,
            shown: Vec::new(),
            style: None,
            cursor: None,
            links: Vec::new(),
            open: None,
            out: Vec::new(),
        };
        canvas.forget(area);
        canvas
    }

    /// Forgets what is shown, so that the next update sends everything.
    pub(crate) fn forget(&mut self, area: Rect) {
        self.area = area;
        self.shown.clear();
        self.shown.resize(area.area() as usize, Shown::UNKNOWN);
        self.style = None;
        self.cursor = None;
    }

    /// The bytes that make the terminal show `buffer`, which has this canvas's area; none when it does.
    ///
    /// No link is left open at the end, so that nothing else on the terminal can become part of one.
    pub(crate) fn update(&mut self, buffer: &Buffer, links: &[Link]) -> &[u8] {
        const BEGIN: &[u8] = b"\x1b[?2026h";
        const END: &[u8] = b"\x1b[?2026l";
        self.out.clear();
        self.out.extend_from_slice(BEGIN);
        self.relink(links);
        let width = usize::from(self.area.width).max(1);
        for (y, row) in (0..self.area.height).zip(buffer.content.chunks(width)) {
            self.row(y, row);
        }
        self.point_to(None);
        if self.out.len() == BEGIN.len() {
            self.out.clear();
        } else {
            self.out.extend_from_slice(END);
        }
        &self.out
    }

    /// Takes over the links of a new frame. Where one came, went or changed, what is shown counts as not known.
    fn relink(&mut self, links: &[Link]) {
        if links == self.links {
            return;
        }
        let before = std::mem::replace(&mut self.links, links.to_vec());
        let gone = before.iter().filter(|link| !links.contains(link));
        let come = links.iter().filter(|link| !before.contains(link));
        for link in gone.chain(come) {
            for place in link.area.intersection(self.area).positions() {
                let at = usize::from(place.y) * usize::from(self.area.width) + usize::from(place.x);
                // The right half of a wide character goes with its left one.
                if self.shown[at] != Shown::COVERED {
                    self.shown[at] = Shown::UNKNOWN;
                }
            }
        }
    }

    /// The link at a cell.
    fn link_at(&self, x: usize, y: u16) -> Option<usize> {
        let here = Position::new(x as u16, y);
        self.links.iter().rposition(|link| link.area.contains(here))
    }

    /// Makes text to come part of a link, or of none.
    fn point_to(&mut self, link: Option<usize>) {
        if self.open != link {
            let address = link.map_or("", |at| self.links[at].address.as_str());
            self.out.extend_from_slice(b"\x1b]8;;");
            self.out.extend_from_slice(address.as_bytes());
            self.out.push(b'\x07');
            self.open = link;
        }
    }

    fn row(&mut self, y: u16, cells: &[Cell]) {
        let start = usize::from(y) * cells.len();
        let mut x = 0;
        while x < cells.len() {
            let wanted = Shown::of(&cells[x]);
            x += if wanted.is(self.shown[start + x]) {
                1 + self.covered(start + x + 1, start + cells.len())
            } else if wanted.is_blank() {
                self.blanks(y, x, cells)
            } else {
                self.character(y, x, cells, wanted)
            };
        }
    }

    /// How many cells from one on, up to another, are right halves of a wide character.
    fn covered(&self, from: usize, to: usize) -> usize {
        let halves = self.shown[from..to].iter().take_while(|shown| **shown == Shown::COVERED);
        halves.count()
    }

    /// Shows one character; tells how many cells it takes.
    fn character(&mut self, y: u16, x: usize, cells: &[Cell], wanted: Shown) -> usize {
        let start = usize::from(y) * cells.len();
        let cell = &cells[x];
        let hostile = cell.symbol().contains(is_hostile);
        // A control character has no width to ask for.
        let controls = hostile && cell.symbol().contains(char::is_control);
        let columns = if controls { 1 } else { usize::from(cell.cell_width()) };
        let symbol = match columns {
            2.. if hostile => "\u{fffd} ",
            _ if hostile => "\u{fffd}",
            0 => " ",
            _ => cell.symbol(),
        };
        let columns = columns.clamp(1, cells.len() - x);
        self.go(x, y);
        self.dip(wanted.style);
        self.point_to(self.link_at(x, y));
        self.out.extend_from_slice(symbol.as_bytes());
        self.shown[start + x] = wanted;
        self.shown[start + x + 1..start + x + columns].fill(Shown::COVERED);
        // Terminals disagree on the width of everything but the plain case, also of the replacement character.
        let plain = columns == 1 && symbol != "\u{fffd}" && wanted.glyph.is_some();
        self.cursor = self.cursor.filter(|_| plain && x + 1 < cells.len()).map(|(x, y)| (x + 1, y));
        columns
    }

    /// Shows the blanks of one background from a cell on; tells how many.
    fn blanks(&mut self, y: u16, x: usize, cells: &[Cell]) -> usize {
        let row = usize::from(y) * cells.len();
        let wanted = Shown::of(&cells[x]);
        let run = cells[x..].iter().take_while(|cell| Shown::of(cell) == wanted).count();
        let to_the_end = x + run == cells.len();
        let stale = |shown: &Shown| *shown != wanted;
        let shown = &mut self.shown[row + x..row + x + run];
        let changed = shown.iter().rposition(stale).map_or(1, |last| last + 1);
        let stretch = shown[..changed].iter().take_while(|shown| stale(shown)).count();
        let erases = self.erases_in_color || wanted.style.bg == Color::Reset;
        let (columns, erase) = match (erases && changed >= WORTH_ERASING, to_the_end) {
            (true, true) => (run, Some(b'K')),
            (true, false) => (changed, Some(b'X')),
            _ => (stretch, None),
        };
        shown[..columns].fill(wanted);
        self.go(x, y);
        self.dip_blank(wanted.style.bg);
        self.point_to(None);
        match erase {
            Some(b'X') => self.sequence(&[columns as u16], b'X'),
            Some(end) => self.sequence(&[], end),
            None => {
                self.out.resize(self.out.len() + columns, b' ');
                let next = x + columns;
                self.cursor = (next < cells.len()).then_some((next as u16, y));
            }
        }
        columns
    }

    /// Moves the cursor, if it is not there already.
    fn go(&mut self, x: usize, y: u16) {
        let x = x as u16;
        match self.cursor {
            Some(here) if here == (x, y) => {}
            Some((from, row)) if row == y && from < x => match x - from {
                1 => self.sequence(&[], b'C'),
                columns => self.sequence(&[columns], b'C'),
            },
            _ => self.sequence(&[y + 1, x + 1], b'H'),
        }
        self.cursor = Some((x, y));
    }

    /// A blank shows its background only, so the rest stays as it is where that cannot be seen.
    fn dip_blank(&mut self, bg: Color) {
        let kept = self.style.filter(|style| !style.modifier.intersects(VISIBLE_ON_BLANK));
        self.dip(CellStyle { bg, ..kept.unwrap_or_default() });
    }

    /// Switches to other colours and modifiers; names only what changes.
    fn dip(&mut self, wanted: CellStyle) {
        if self.style == Some(wanted) {
            return;
        }
        let codes = Codes::between(self.style, wanted);
        self.sequence(codes.numbers(), b'm');
        self.style = Some(wanted);
    }

    fn sequence(&mut self, numbers: &[u16], end: u8) {
        self.out.extend_from_slice(b"\x1b[");
        for (at, number) in numbers.iter().enumerate() {
            if at > 0 {
                self.out.push(b';');
            }
            push_number(&mut self.out, *number);
        }
        self.out.push(end);
    }
}

fn push_number(out: &mut Vec<u8>, number: u16) {
    let digits = [10_000, 1_000, 100, 10, 1].map(|place| b'0' + (number / place % 10) as u8);
    let zeros = digits[..4].iter().take_while(|digit| **digit == b'0').count();
    out.extend_from_slice(&digits[zeros..]);
}
