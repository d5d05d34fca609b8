mod links;
mod shift;

use proptest::prelude::*;
use ratatui::buffer::CellWidth;
use ratatui::style::{Modifier, Style};
use warpscope_probes::text::is_hostile;

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
        Just("e\u{301} 漢 x".to_owned()),
    ];
    let color = || prop::sample::select(COLORS.to_vec());
    let modifier = (0..1u16 << 9).prop_map(|bits| {
        // The stand-in knows no others, and takes dim and bold for two ends of one scale.
        let known = Modifier::BOLD | Modifier::ITALIC | Modifier::UNDERLINED | Modifier::REVERSED;
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

fn text(line: &str) -> Buffer {
    let mut buffer = Buffer::empty(AREA);
    buffer.set_string(0, 0, line, Style::new());
    buffer
}

fn sent(canvas: &mut Canvas, buffer: &Buffer) -> String {
    let bytes = String::from_utf8(canvas.update(buffer, &[]).to_vec()).unwrap();
    let inside = bytes.strip_prefix("\x1b[?2026h").and_then(|it| it.strip_suffix("\x1b[?2026l"));
    inside.unwrap_or(&bytes).to_owned()
}

#[test]
fn only_what_differs_is_sent() {
    let mut canvas = Canvas::new(AREA, true);
    canvas.update(&text("cpu 10% fan 30%"), &[]);
    assert_eq!(sent(&mut canvas, &text("cpu 10% fan 30%")), "");
    assert_eq!(sent(&mut canvas, &text("cpu 12% fan 31%")), "\x1b[1;6H2\x1b[7C1");
    assert_eq!(sent(&mut canvas, &text("")), "\x1b[14D\x1b[K");
    canvas.forget(AREA);
    assert_eq!(
        sent(&mut canvas, &text("")),
        "\x1b[1;1H\x1b[0m\x1b[K\x1b[B\x1b[K\x1b[B\x1b[K\x1b[B\x1b[K"
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
    // The background in use comes first, then everything of the other.
    let colors = "\x1b[1;3H\x1b[1;94ma\x1b[3D\x1b[0;38;2;1;2;3;48;2;4;5;6ma\x1b[94ma";
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

#[test]
fn a_cell_never_sends_what_a_terminal_obeys() {
    let mut buffer = Buffer::empty(AREA);
    for (x, symbol) in
        ["\u{1b}", "a\u{e0041}", "\u{3164}", "\u{9b}", "x\u{200d}", "\n", "\r"].iter().enumerate()
    {
        buffer[(2 * x as u16, 0)].set_symbol(symbol);
    }
    let mut canvas = Canvas::new(AREA, true);
    let text = String::from_utf8(canvas.update(&buffer, &[]).to_vec()).unwrap();
    assert_eq!(text.matches('\u{fffd}').count(), 7, "{text:?}");
    assert!(!text.chars().any(|letter| letter != '\x1b' && is_hostile(letter)), "{text:?}");
    // Where the next character lands is not taken for granted.
    assert!(
        text.contains("\u{fffd}\u{1b}[1;2H") || text.contains("\u{fffd}\u{1b}[1;3H"),
        "{text:?}"
    );
}
