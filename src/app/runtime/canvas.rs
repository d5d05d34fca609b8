//! What the terminal shows, and the fewest bytes that bring it in line with a new frame.
//!
//! Own code rather than ratatui's `Terminal` over its crossterm backend: that keeps a second buffer of
//! 40 bytes a cell where 16 do, sends both colours again whenever one of them changes, knows no
//! erasing, and looks up the window's size twice a frame. Drawing stays ratatui's `Buffer`.

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

/// Modifiers that can be seen on a blank.
const VISIBLE_ON_BLANK: Modifier = Modifier::REVERSED
    .union(Modifier::UNDERLINED)
    .union(Modifier::SLOW_BLINK)
    .union(Modifier::RAPID_BLINK)
    .union(Modifier::CROSSED_OUT);

/// SGR codes that switch modifiers on.
const MODIFIERS: &[(Modifier, u16)] = &[
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::RAPID_BLINK, 6),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

/// Values of `TERM`, up to the first hyphen, of terminals that erase with the background colour in use.
/// GNU screen and what is not listed gets blanks instead.
const ERASES_IN_COLOR: &[&str] = &[
    "alacritty",
    "foot",
    "ghostty",
    "kitty",
    "konsole",
    "linux",
    "rxvt",
    "tmux",
    "wezterm",
    "xterm",
];

/// Blanks that cost more than erasing them and moving on.
const WORTH_ERASING: usize = 12;

/// Whether a terminal of this `TERM` erases with the background colour in use.
pub(super) fn erases_in_color(term: &str) -> bool {
    ERASES_IN_COLOR.contains(&term.split('-').next().unwrap_or_default())
}

/// Colours and modifiers of text to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ink {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

/// One cell as the terminal shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shown {
    /// `None`: not known, or more than one character; never the same as anything.
    glyph: Option<char>,
    ink: Ink,
}

impl Shown {
    const UNKNOWN: Self = Self {
        glyph: None,
        ink: Ink { fg: Color::Reset, bg: Color::Reset, modifier: Modifier::empty() },
    };
    /// The right half of a wide character.
    const COVERED: Self = Self { glyph: Some('\0'), ..Self::UNKNOWN };

    fn of(cell: &Cell) -> Self {
        let mut symbol = cell.symbol().chars();
        let glyph = symbol.next().filter(|_| symbol.next().is_none());
        let ink = Ink { fg: cell.fg, bg: cell.bg, modifier: cell.modifier };
        if glyph == Some(' ') && !cell.modifier.intersects(VISIBLE_ON_BLANK) {
            // What nobody can see must not count as a change.
            return Self { glyph, ink: Ink { bg: cell.bg, ..Ink::default() } };
        }
        Self { glyph, ink }
    }

    fn is_blank(self) -> bool {
        self.glyph == Some(' ') && !self.ink.modifier.intersects(VISIBLE_ON_BLANK)
    }

    fn is(self, other: Self) -> bool {
        self.glyph.is_some() && self == other
    }
}

/// The state of the terminal, as far as it follows from what was sent.
pub(super) struct Canvas {
    erases_in_color: bool,
    area: Rect,
    shown: Vec<Shown>,
    /// `None`: not known.
    ink: Option<Ink>,
    /// Where the next character goes; `None`: not known.
    cursor: Option<(u16, u16)>,
    out: Vec<u8>,
}

impl Canvas {
    /// A canvas of which nothing is known.
    pub(super) fn new(area: Rect, erases_in_color: bool) -> Self {
        let mut canvas = Self {
            erases_in_color,
            area,
            shown: Vec::new(),
            ink: None,
            cursor: None,
            out: Vec::new(),
        };
        canvas.forget(area);
        canvas
    }

    /// Forgets what is shown, so that the next update sends everything.
    pub(super) fn forget(&mut self, area: Rect) {
        self.area = area;
        self.shown.clear();
        self.shown.resize(area.area() as usize, Shown::UNKNOWN);
        self.ink = None;
        self.cursor = None;
    }

    /// The bytes that make the terminal show `buffer`, which has this canvas's area; none when it does.
    pub(super) fn update(&mut self, buffer: &Buffer) -> &[u8] {
        const BEGIN: &[u8] = b"\x1b[?2026h";
        const END: &[u8] = b"\x1b[?2026l";
        self.out.clear();
        self.out.extend_from_slice(BEGIN);
        let width = usize::from(self.area.width).max(1);
        for (y, row) in (0..self.area.height).zip(buffer.content.chunks(width)) {
            self.row(y, row);
        }
        if self.out.len() == BEGIN.len() {
            self.out.clear();
        } else {
            self.out.extend_from_slice(END);
        }
        &self.out
    }

    fn row(&mut self, y: u16, cells: &[Cell]) {
        let start = usize::from(y) * cells.len();
        let mut x = 0;
        while x < cells.len() {
            let wanted = Shown::of(&cells[x]);
            let covered = self.shown[start + x + 1..start + cells.len()]
                .iter()
                .take_while(|shown| **shown == Shown::COVERED)
                .count();
            x += if wanted.is(self.shown[start + x]) {
                1 + covered
            } else if wanted.is_blank() {
                self.blanks(y, x, cells)
            } else {
                self.character(y, x, cells, wanted)
            };
        }
    }

    /// Shows one character; tells how many cells it takes.
    fn character(&mut self, y: u16, x: usize, cells: &[Cell], wanted: Shown) -> usize {
        let start = usize::from(y) * cells.len();
        let cell = &cells[x];
        let columns = usize::from(cell.cell_width());
        let symbol = if columns == 0 { " " } else { cell.symbol() };
        let columns = columns.clamp(1, cells.len() - x);
        self.go(x, y);
        self.dip(wanted.ink);
        self.out.extend_from_slice(symbol.as_bytes());
        self.shown[start + x] = wanted;
        self.shown[start + x + 1..start + x + columns].fill(Shown::COVERED);
        // Terminals disagree on the width of everything but the plain case.
        let plain = columns == 1 && wanted.glyph.is_some();
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
        let erases = self.erases_in_color || wanted.ink.bg == Color::Reset;
        let (columns, erase) = match (erases && changed >= WORTH_ERASING, to_the_end) {
            (true, true) => (run, Some(b'K')),
            (true, false) => (changed, Some(b'X')),
            _ => (stretch, None),
        };
        shown[..columns].fill(wanted);
        self.go(x, y);
        self.dip_blank(wanted.ink.bg);
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
        let kept = self.ink.filter(|ink| !ink.modifier.intersects(VISIBLE_ON_BLANK));
        self.dip(Ink { bg, ..kept.unwrap_or_default() });
    }

    /// Switches to other colours and modifiers; names only what changes.
    fn dip(&mut self, wanted: Ink) {
        if self.ink == Some(wanted) {
            return;
        }
        let kept = self.ink.filter(|ink| wanted.modifier.contains(ink.modifier));
        let now = kept.unwrap_or_default();
        let mut codes = Codes::default();
        if kept.is_none() {
            codes.push(&[0]);
        }
        let more = wanted.modifier.difference(now.modifier);
        for (modifier, code) in MODIFIERS {
            if more.contains(*modifier) {
                codes.push(&[*code]);
            }
        }
        if wanted.fg != now.fg {
            codes.color(wanted.fg, 30);
        }
        if wanted.bg != now.bg {
            codes.color(wanted.bg, 40);
        }
        self.sequence(&codes.list[..codes.len], b'm');
        self.ink = Some(wanted);
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

/// Numbers of one SGR sequence: a reset, every modifier and two colours at most.
#[derive(Default)]
struct Codes {
    list: [u16; 1 + MODIFIERS.len() + 10],
    len: usize,
}

impl Codes {
    fn push(&mut self, codes: &[u16]) {
        self.list[self.len..self.len + codes.len()].copy_from_slice(codes);
        self.len += codes.len();
    }

    /// `base` is 30 for the foreground, 40 for the background.
    fn color(&mut self, color: Color, base: u16) {
        let named = |at: u16| if at < 8 { base + at } else { base + 52 + at };
        match color {
            Color::Reset => self.push(&[base + 9]),
            Color::Rgb(r, g, b) => self.push(&[base + 8, 2, r.into(), g.into(), b.into()]),
            Color::Indexed(index) => self.push(&[base + 8, 5, index.into()]),
            Color::Black => self.push(&[named(0)]),
            Color::Red => self.push(&[named(1)]),
            Color::Green => self.push(&[named(2)]),
            Color::Yellow => self.push(&[named(3)]),
            Color::Blue => self.push(&[named(4)]),
            Color::Magenta => self.push(&[named(5)]),
            Color::Cyan => self.push(&[named(6)]),
            Color::Gray => self.push(&[named(7)]),
            Color::DarkGray => self.push(&[named(8)]),
            Color::LightRed => self.push(&[named(9)]),
            Color::LightGreen => self.push(&[named(10)]),
            Color::LightYellow => self.push(&[named(11)]),
            Color::LightBlue => self.push(&[named(12)]),
            Color::LightMagenta => self.push(&[named(13)]),
            Color::LightCyan => self.push(&[named(14)]),
            Color::White => self.push(&[named(15)]),
        }
    }
}

fn push_number(out: &mut Vec<u8>, number: u16) {
    let digits = [10_000, 1_000, 100, 10, 1].map(|place| b'0' + (number / place % 10) as u8);
    let zeros = digits[..4].iter().take_while(|digit| **digit == b'0').count();
    out.extend_from_slice(&digits[zeros..]);
}
