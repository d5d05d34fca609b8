//! What the terminal shows, and the fewest bytes that bring it in line with a new frame.
//!
//! Own code rather than ratatui's `Terminal` over its crossterm backend: that keeps a second buffer of
//! 40 bytes a cell where 16 do, sends both colours again whenever one of them changes, knows no
//! erasing, and looks up the window's size twice a frame. Drawing stays ratatui's `Buffer`.

mod cursor;
mod runs;
mod shift;
mod shown;
mod style;
mod term;
#[cfg(test)]
mod tests;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};
use ratatui::style::Color;

use self::cursor::sequence;
use self::runs::{Means, Run, Runs};
use self::shown::{Shown, printed};
use self::style::{CellStyle, Codes, VISIBLE_ON_BLANK};
pub(crate) use self::term::{erases_in_color, knows_links};
use crate::shell::draw::Link;

/// Blanks that cost more than erasing them and moving on.
const WORTH_ERASING: usize = 12;

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
    /// The row that is looked at, as it should be.
    wanted: Vec<Shown>,
    /// Its columns that are shown otherwise.
    stale: Vec<usize>,
    runs: Runs,
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
            wanted: Vec::new(),
            stale: Vec::new(),
            runs: Runs::default(),
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
        let mut runs = std::mem::take(&mut self.runs);
        runs.drain(self.style, |run| self.send(run, buffer));
        self.runs = runs;
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

    /// Finds what a row needs; parts that moved are moved at once.
    fn row(&mut self, y: u16, cells: &[Cell]) {
        let start = usize::from(y) * cells.len();
        self.compare(start, cells);
        let (Some(first), Some(last)) = (self.stale.first(), self.stale.last()) else { return };
        let (mut x, mut end) = (*first, last + 1);
        end = end.max(self.shift(y, start));
        while x < end {
            let wanted = self.wanted[x];
            x += if wanted.is(self.shown[start + x]) {
                1 + self.covered(start + x + 1, start + cells.len())
            } else if wanted.is_blank() {
                self.blanks((x, y), start)
            } else {
                self.character((x, y), start, &cells[x])
            };
        }
    }

    /// Notes a row as it should be, and the columns in which it differs.
    fn compare(&mut self, start: usize, cells: &[Cell]) {
        self.wanted.clear();
        self.wanted.extend(cells.iter().map(Shown::of));
        self.stale.clear();
        let shown = &self.shown[start..start + cells.len()];
        let mut is_same = false;
        for (x, (wanted, shown)) in self.wanted.iter().zip(shown).enumerate() {
            // The right half of a wide character is as good as the left one.
            is_same = if shown.is_covered() { is_same } else { wanted.is(*shown) };
            if !is_same {
                self.stale.push(x);
            }
        }
    }

    /// Has the terminal move what only went left, by deleting characters before it and inserting as many behind it. Tells where the
    /// last part ends.
    ///
    /// What lies further right moves there and back, so no wide character may be cut in two, and no link be in the way.
    /// Terminals known to erase in colour are known to do this too.
    fn shift(&mut self, y: u16, start: usize) -> usize {
        let row = start..start + self.wanted.len();
        let may_help = self.erases_in_color && self.links.is_empty() && self.stale.len() > 4;
        if !may_help || self.shown[row.clone()].iter().any(|shown| shown.is_covered()) {
            return 0;
        }
        let parts = shift::find(&self.shown[row.clone()], &self.wanted, &self.stale);
        for part in &parts {
            let by = [part.by as u16];
            let by = if part.by == 1 { &[][..] } else { &by };
            for (x, end) in [(part.begin, b'P'), (part.end, b'@')] {
                self.go(x, y);
                sequence(&mut self.out, by, end);
            }
            part.apply(&mut self.shown[row.clone()]);
        }
        parts.last().map_or(0, |part| part.end + part.by)
    }

    /// How many cells from one on, up to another, are right halves of a wide character.
    fn covered(&self, from: usize, to: usize) -> usize {
        let halves = self.shown[from..to].iter().take_while(|shown| shown.is_covered());
        halves.count()
    }

    /// Notes one character to send; tells how many cells it takes.
    fn character(&mut self, (x, y): (usize, u16), start: usize, cell: &Cell) -> usize {
        let wanted = self.wanted[x];
        let columns = printed(cell).1.min(self.wanted.len() - x);
        self.shown[start + x] = wanted;
        self.shown[start + x + 1..start + x + columns].fill(Shown::COVERED);
        self.runs.push(Run::new((x, y), columns, wanted, Means::Text));
        columns
    }

    /// Notes the blanks of one background from a cell on; tells how many.
    fn blanks(&mut self, (x, y): (usize, u16), start: usize) -> usize {
        let wanted = self.wanted[x];
        let run = self.wanted[x..].iter().take_while(|cell| **cell == wanted).count();
        let to_the_end = x + run == self.wanted.len();
        let stale = |shown: &Shown| *shown != wanted;
        let shown = &mut self.shown[start + x..start + x + run];
        let changed = shown.iter().rposition(stale).map_or(1, |last| last + 1);
        let stretch = shown[..changed].iter().take_while(|shown| stale(shown)).count();
        let erases = self.erases_in_color || wanted.style.bg == Color::Reset;
        let (columns, means) = match (erases && changed >= WORTH_ERASING, to_the_end) {
            (true, true) => (run, Means::EraseRest),
            (true, false) => (changed, Means::EraseCells),
            _ => (stretch, Means::Text),
        };
        shown[..columns].fill(wanted);
        self.runs.push(Run::new((x, y), columns, wanted, means));
        columns
    }

    fn send(&mut self, run: &Run, buffer: &Buffer) {
        self.go(run.x, run.y);
        match run.is_blank {
            true => self.dip_blank(run.style.bg),
            false => self.dip(run.style),
        }
        match run.means {
            Means::Text => self.write(run, buffer),
            Means::EraseCells => self.erase(&[run.columns as u16], b'X'),
            Means::EraseRest => self.erase(&[], b'K'),
        }
    }

    fn erase(&mut self, columns: &[u16], end: u8) {
        self.point_to(None);
        sequence(&mut self.out, columns, end);
    }

    fn write(&mut self, run: &Run, buffer: &Buffer) {
        let mut x = run.x;
        while x < run.x + run.columns {
            let cell = &buffer[(x as u16, run.y)];
            let (symbol, columns) = printed(cell);
            let shown = Shown::of(cell);
            let link = if shown.is_blank() { None } else { self.link_at(x, run.y) };
            self.go(x, run.y);
            self.point_to(link);
            self.out.extend_from_slice(symbol.as_bytes());
            // Terminals disagree on the width of everything but the plain case, also of the replacement character.
            let plain = columns == 1 && symbol != "\u{fffd}" && shown.glyph.is_some();
            x += columns;
            let is_known = plain && x < usize::from(self.area.width);
            self.cursor = is_known.then_some((x as u16, run.y));
        }
    }

    /// Moves the cursor, if it is not there already.
    fn go(&mut self, x: usize, y: u16) {
        let to = (x as u16, y);
        if self.cursor != Some(to) {
            cursor::go(&mut self.out, self.cursor, to);
            self.cursor = Some(to);
        }
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
        sequence(&mut self.out, codes.numbers(), b'm');
        self.style = Some(wanted);
    }
}
