//! What the terminal shows, and the fewest bytes that bring it in line with a new frame.
//!
//! Own code rather than ratatui's `Terminal` over its crossterm backend: that keeps a second buffer of
//! 40 bytes a cell where 16 do, sends both colours again whenever one of them changes, knows no
//! erasing, and looks up the window's size twice a frame. Drawing stays ratatui's `Buffer`.

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier};

use crate::ui::Link;

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

/// Values of `TERM`, up to the first hyphen, of terminals that print what they do not understand, or cannot follow a link.
const WITHOUT_LINKS: &[&str] = &["", "ansi", "dumb", "linux", "vt100", "vt220"];

/// Blanks that cost more than erasing them and moving on.
const WORTH_ERASING: usize = 12;

/// Whether a terminal of this `TERM` erases with the background colour in use.
pub(super) fn erases_in_color(term: &str) -> bool {
    ERASES_IN_COLOR.contains(&term.split('-').next().unwrap_or_default())
}

/// Whether a terminal of this `TERM` may be sent links (OSC 8). Those that do not know them pass over them.
pub(super) fn knows_links(term: &str) -> bool {
    !WITHOUT_LINKS.contains(&term.split('-').next().unwrap_or_default())
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
    /// Links of what is shown.
    links: Vec<Link>,
    /// The link, by its place in `links`, that text to come belongs to.
    open: Option<usize>,
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
            links: Vec::new(),
            open: None,
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
    ///
    /// No link is left open at the end, so that nothing else on the terminal can become part of one.
    pub(super) fn update(&mut self, buffer: &Buffer, links: &[Link]) -> &[u8] {
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
        self.point_to(self.link_at(x, y));
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::Style;

    use super::*;

    const AREA: Rect = Rect::new(0, 0, 30, 4);

    const COLORS: [Color; 7] = [
        Color::Reset,
        Color::Red,
        Color::DarkGray,
        Color::White,
        Color::Indexed(203),
        Color::Rgb(1, 22, 255),
        Color::Rgb(100, 0, 9),
    ];

    /// A text somewhere, in some style.
    fn stroke() -> impl Strategy<Value = (u16, u16, String, Style)> {
        let texts = prop_oneof![
            "[ -~]{0,12}",
            " {0,30}",
            "[a-c漢字━▌⣿ ]{0,12}",
            Just("e\u{301} ⚠\u{fe0f} x".to_owned()),
        ];
        let color = || prop::sample::select(COLORS.to_vec());
        let modifier = (0..1u16 << 9).prop_map(|bits| {
            // The stand-in knows no others, and takes dim and bold for two ends of one scale.
            let known =
                Modifier::BOLD | Modifier::ITALIC | Modifier::UNDERLINED | Modifier::REVERSED;
            Modifier::from_bits_truncate(bits) & known
        });
        let style = (color(), color(), prop::option::weighted(0.3, modifier));
        let style = style.prop_map(|(fg, bg, modifier)| {
            Style::new().fg(fg).bg(bg).add_modifier(modifier.unwrap_or_default())
        });
        (0..AREA.width, 0..AREA.height, texts, style)
    }

    fn terminal_color(color: vt100::Color) -> Color {
        match color {
            vt100::Color::Default => Color::Reset,
            vt100::Color::Idx(1) => Color::Red,
            vt100::Color::Idx(8) => Color::DarkGray,
            vt100::Color::Idx(15) => Color::White,
            vt100::Color::Idx(index) => Color::Indexed(index),
            vt100::Color::Rgb(r, g, b) => Color::Rgb(r, g, b),
        }
    }

    /// What a terminal makes of the bytes must be what was drawn.
    fn compare(buffer: &Buffer, terminal: &vt100::Parser) -> Result<(), TestCaseError> {
        for y in 0..AREA.height {
            let mut x = 0;
            while x < AREA.width {
                let (drawn, shown) = (&buffer[(x, y)], terminal.screen().cell(y, x).unwrap());
                let text = if shown.has_contents() { shown.contents() } else { " " };
                prop_assert_eq!(text, drawn.symbol(), "at {},{}", x, y);
                let blank = Shown::of(drawn).is_blank();
                prop_assert_eq!(terminal_color(shown.bgcolor()), drawn.bg, "at {},{}", x, y);
                if !blank {
                    prop_assert_eq!(terminal_color(shown.fgcolor()), drawn.fg, "at {},{}", x, y);
                    let modifier = drawn.modifier;
                    prop_assert_eq!(shown.bold(), modifier.contains(Modifier::BOLD));
                    prop_assert_eq!(shown.italic(), modifier.contains(Modifier::ITALIC));
                }
                prop_assert_eq!(shown.inverse(), drawn.modifier.contains(Modifier::REVERSED));
                prop_assert_eq!(shown.underline(), drawn.modifier.contains(Modifier::UNDERLINED));
                x += drawn.cell_width().max(1);
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_terminal_shows_what_was_drawn(
            frames in prop::collection::vec(prop::collection::vec(stroke(), 0..6), 1..6),
            erases_in_color: bool,
            keeps: bool,
        ) {
            let [rows, columns] = [AREA.height, AREA.width].map(|size| size.try_into().unwrap());
            let mut terminal = vt100::Parser::new(rows, columns, 0);
            let mut canvas = Canvas::new(AREA, erases_in_color);
            let mut buffer = Buffer::empty(AREA);
            for strokes in frames {
                if !keeps {
                    buffer.reset();
                }
                for (x, y, text, style) in strokes {
                    let room = usize::from(AREA.width - x);
                    buffer.set_stringn(x, y, text, room, style);
                }
                terminal.process(canvas.update(&buffer, &[]));
                compare(&buffer, &terminal)?;
            }
        }
    }

    /// Which cells of a terminal belong to which link, read from what it is sent.
    struct Links {
        terminal: vt100::Parser,
        at: std::collections::HashMap<(u16, u16), String>,
        open: String,
    }

    impl Links {
        fn new() -> Self {
            let [rows, columns] = [AREA.height, AREA.width].map(|size| size.try_into().unwrap());
            let terminal = vt100::Parser::new(rows, columns, 0);
            Self { terminal, at: Default::default(), open: String::new() }
        }

        fn read(&mut self, bytes: &[u8]) {
            let text = std::str::from_utf8(bytes).unwrap();
            let mut rest = text;
            while let Some(first) = rest.chars().next() {
                let token = match rest.as_bytes() {
                    [b'\x1b', b']', ..] => &rest[..=rest.find('\x07').expect("ends")],
                    [b'\x1b', b'[', tail @ ..] => {
                        let end = tail.iter().position(|byte| (b'@'..=b'~').contains(byte));
                        &rest[..3 + end.expect("ends")]
                    }
                    _ => &rest[..first.len_utf8()],
                };
                self.take(token);
                rest = &rest[token.len()..];
            }
        }

        fn take(&mut self, token: &str) {
            let (y, x) = self.terminal.screen().cursor_position();
            if let Some(address) = token.strip_prefix("\x1b]8;;") {
                self.open = address.trim_end_matches('\x07').to_owned();
            } else if !token.starts_with('\x1b') {
                let wide = ratatui::text::Span::raw(token).width();
                // What is written on the last column stays there, wherever the cursor says it is.
                if wide > 0 {
                    self.at.insert((x.min(AREA.width - 1), y), self.open.clone());
                }
            } else if let Some(erased) = erased(token) {
                (x..x.saturating_add(erased)).for_each(|x| drop(self.at.remove(&(x, y))));
            }
            self.terminal.process(token.as_bytes());
        }
    }

    /// Cells that a sequence erases from the cursor on.
    fn erased(token: &str) -> Option<u16> {
        let inner = token.strip_prefix("\x1b[")?;
        match inner.strip_suffix('X') {
            Some(count) => Some(count.parse().unwrap_or(1)),
            None => (inner == "K").then_some(AREA.width),
        }
    }

    fn links() -> impl Strategy<Value = Vec<Link>> {
        let link =
            (0..AREA.width, 0..AREA.height, 1..12u16, 0..3u8).prop_map(|(x, y, width, to)| {
                let area = Rect::new(x, y, width, 1).intersection(AREA);
                Link { area, address: format!("https://example.com/{to}") }
            });
        prop::collection::vec(link, 0..3)
    }

    proptest! {
        #[test]
        fn a_terminal_links_what_was_drawn_as_a_link_and_nothing_else(
            frames in prop::collection::vec(
                (prop::collection::vec(stroke(), 0..6), links()),
                1..6,
            ),
            erases_in_color: bool,
            keeps: bool,
        ) {
            let mut terminal = Links::new();
            let mut canvas = Canvas::new(AREA, erases_in_color);
            let mut buffer = Buffer::empty(AREA);
            for (strokes, links) in frames {
                if !keeps {
                    buffer.reset();
                }
                for (x, y, text, style) in strokes {
                    let room = usize::from(AREA.width - x);
                    buffer.set_stringn(x, y, text, room, style);
                }
                terminal.read(canvas.update(&buffer, &links));
                compare(&buffer, &terminal.terminal)?;
                prop_assert_eq!(&terminal.open, "", "nothing stays open");
                for y in 0..AREA.height {
                    let mut x = 0;
                    while x < AREA.width {
                        let drawn = &buffer[(x, y)];
                        let here = |link: &&Link| link.area.contains(Position::new(x, y));
                        let wanted = links.iter().rev().find(here).map_or("", |link| &link.address);
                        let shown = terminal.at.get(&(x, y)).map_or("", String::as_str);
                        let plain = drawn.cell_width() == 1 && !Shown::of(drawn).is_blank();
                        prop_assert!(!plain || shown == wanted, "{},{}: {} {}", x, y, shown, wanted);
                        x += drawn.cell_width().max(1);
                    }
                }
            }
        }
    }

    #[test]
    fn a_link_is_sent_once_and_closed_and_costs_nothing_where_there_is_none() {
        let address = "https://example.com/a".to_owned();
        let links = [Link { area: Rect::new(4, 0, 4, 1), address }];
        let mut canvas = Canvas::new(AREA, true);
        canvas.update(&text("see here now"), &[]);
        let linked =
            String::from_utf8(canvas.update(&text("see here now"), &links).to_vec()).unwrap();
        assert_eq!(
            linked,
            "\x1b[?2026h\x1b[1;5H\x1b]8;;https://example.com/a\x07here\x1b]8;;\x07\x1b[?2026l"
        );
        assert_eq!(canvas.update(&text("see here now"), &links), b"");
        // What changes beside the link does not send it again; what changes within does.
        let beside =
            String::from_utf8(canvas.update(&text("see here too"), &links).to_vec()).unwrap();
        assert!(!beside.contains("\x1b]8"), "{beside:?}");
        let gone = String::from_utf8(canvas.update(&text("see here too"), &[]).to_vec()).unwrap();
        assert_eq!(gone, "\x1b[?2026h\x1b[1;5Hhere\x1b[?2026l");
    }

    #[test]
    fn links_go_to_terminals_that_know_them_or_pass_over_them() {
        assert!(knows_links("xterm-256color") && knows_links("tmux-256color"));
        assert!(!knows_links("dumb") && !knows_links("linux") && !knows_links(""));
    }

    fn text(line: &str) -> Buffer {
        let mut buffer = Buffer::empty(AREA);
        buffer.set_string(0, 0, line, Style::new());
        buffer
    }

    fn sent(canvas: &mut Canvas, buffer: &Buffer) -> String {
        let bytes = String::from_utf8(canvas.update(buffer, &[]).to_vec()).unwrap();
        let inside =
            bytes.strip_prefix("\x1b[?2026h").and_then(|it| it.strip_suffix("\x1b[?2026l"));
        inside.unwrap_or(&bytes).to_owned()
    }

    #[test]
    fn only_what_differs_is_sent() {
        let mut canvas = Canvas::new(AREA, true);
        canvas.update(&text("cpu 10% fan 30%"), &[]);
        assert_eq!(sent(&mut canvas, &text("cpu 10% fan 30%")), "");
        assert_eq!(sent(&mut canvas, &text("cpu 12% fan 31%")), "\x1b[1;6H2\x1b[7C1");
        assert_eq!(sent(&mut canvas, &text("")), "\x1b[1;1H\x1b[K");
        canvas.forget(AREA);
        assert_eq!(
            sent(&mut canvas, &text("")),
            "\x1b[1;1H\x1b[0m\x1b[K\x1b[2;1H\x1b[K\x1b[3;1H\x1b[K\x1b[4;1H\x1b[K"
        );
    }

    #[test]
    fn a_color_is_named_when_it_changes_and_only_the_one_that_does() {
        let mut canvas = Canvas::new(AREA, true);
        canvas.update(&text("aaa"), &[]);
        let mut buffer = text("aaa");
        buffer[(0, 0)].set_fg(Color::Rgb(1, 2, 3)).set_bg(Color::Rgb(4, 5, 6));
        buffer[(1, 0)].set_fg(Color::LightBlue).set_bg(Color::Rgb(4, 5, 6));
        buffer[(2, 0)].set_fg(Color::LightBlue).set_style(Modifier::BOLD);
        let colors = "\x1b[1;1H\x1b[38;2;1;2;3;48;2;4;5;6ma\x1b[94ma\x1b[1;49ma";
        assert_eq!(sent(&mut canvas, &buffer), colors);
    }

    #[test]
    fn a_background_is_erased_only_where_the_terminal_is_known_to_do_it() {
        assert!(erases_in_color("xterm-256color") && erases_in_color("linux"));
        assert!(!erases_in_color("screen.xterm-256color") && !erases_in_color(""));
        let mut painted = Buffer::empty(AREA);
        painted.set_style(AREA, Style::new().bg(Color::Rgb(9, 9, 9)));
        let blanks = |erases| {
            let mut canvas = Canvas::new(AREA, erases);
            sent(&mut canvas, &painted).matches(' ').count()
        };
        assert_eq!((blanks(true), blanks(false)), (0, AREA.area() as usize));
    }
}
