use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::shapes::{Shape, shape};
use super::*;

fn small() -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(3, 5, 8, 2));
    let red = Style::new().fg(Color::Rgb(255, 0, 0));
    buffer.set_string(3, 5, "╭─╮ a b", Style::new());
    buffer.set_string(3, 6, "██▌⣿ x", red);
    buffer
}

#[test]
fn a_small_screen_is_this_document() {
    let got = svg(&small(), &Theme::default(), "a <small> screen");
    let want = r##"<svg xmlns="http://www.w3.org/2000/svg" width="96" height="60" viewBox="0 0 96 60" role="img">
<title>a &lt;small&gt; screen</title>
<rect width="96" height="60" rx="8" fill="#11151c"/>
<g transform="translate(12 12)">
<path fill="#f00" d="M0 18h22.5v18h-22.5z"/>
<path fill="none" stroke="#d3dae6" stroke-width="1.2" d="M4.5 18v-4.5q0-4.5 4.5-4.5M9 9h9M22.5 18v-4.5q0-4.5-4.5-4.5"/>
<path fill="none" stroke="#f00" stroke-width="2.9" stroke-linecap="round" stroke-dasharray="0 4.5" d="M29.25 20.25h4.6M29.25 24.75h4.6M29.25 29.25h4.6M29.25 33.75h4.6"/>
<g font-family="ui-monospace,'SF Mono',Menlo,'Cascadia Mono','DejaVu Sans Mono',Consolas,monospace" font-size="15" fill="#d3dae6">
<text x="36" y="13.5" textLength="27">a b</text>
<text x="45" y="31.5" fill="#f00">x</text>
</g>
</g>
</svg>
"##;
    assert_eq!(got, want);
}

#[test]
fn text_has_the_lines_without_trailing_blanks() {
    assert_eq!(text(&small()), "╭─╮ a b\n██▌⣿ x\n");
    assert_eq!(text(&Buffer::empty(Rect::ZERO)), "");
}

#[test]
fn modifiers_change_inks_and_runs() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
    let style = |modifier| Style::new().fg(Color::Rgb(0, 255, 0)).add_modifier(modifier);
    buffer.set_string(0, 0, "ab", style(Modifier::BOLD));
    buffer.set_string(2, 0, "cd", style(Modifier::REVERSED));
    buffer.set_string(4, 0, "ef", style(Modifier::DIM));
    buffer.set_string(6, 0, "gh", style(Modifier::UNDERLINED));
    buffer.set_string(8, 0, "ij", style(Modifier::HIDDEN));
    let got = svg(&buffer, &Theme::default(), "");
    assert!(got.contains(r##"fill="#0f0" font-weight="bold">ab<"##), "{got}");
    assert!(
        got.contains(r##"<path fill="#0f0" d="M18 0h18v18h-18z"##),
        "reversed cells are filled: {got}"
    );
    assert!(
        got.contains(r##"fill="#11151c">cd<"##),
        "reversed text has the background's colour: {got}"
    );
    assert!(got.contains("M54 15.5h18v1h-18z"), "one line below both letters: {got}");
    assert!(!got.contains("ij"));
    let dim = got.lines().find(|line| line.contains(">ef<")).unwrap();
    assert!(!dim.contains("#0f0"));
}

#[test]
fn wide_characters_take_two_cells_once() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 1));
    buffer.set_string(0, 0, "日本x", Style::new());
    assert_eq!(text(&buffer), "日本x\n");
    let got = svg(&buffer, &Theme::default(), "");
    assert!(got.contains(r#"<text x="9" y="13.5" text-anchor="middle">日</text>"#), "{got}");
    assert!(got.contains(r#"<text x="36" y="13.5">x</text>"#), "{got}");
}

/// Checks what XML asks of this document: one root, tags closed in order, attributes quoted, nothing
/// raw that must be escaped.
fn assert_well_formed(document: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = document;
    let mut roots = 0;
    while let Some(start) = rest.find('<') {
        assert_text(&rest[..start]);
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<'), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let name = tag.split([' ', '/']).next().unwrap();
            assert!(
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{tag}"
            );
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            roots += usize::from(open.is_empty());
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && roots == 1 && rest.trim().is_empty());
}

fn assert_text(text: &str) {
    let escapes = ["amp;", "lt;", "gt;", "quot;"];
    for (at, _) in text.match_indices('&') {
        assert!(escapes.iter().any(|escape| text[at + 1..].starts_with(escape)), "{text}");
    }
    let bad =
        |c: char| (c.is_control() && c != '\n') || c == '\u{ffff}' || c == '\u{fffe}' || c == '>';
    assert!(!text.contains(bad), "{text:?}");
}

#[test]
fn the_check_itself_can_fail() {
    for broken in ["<a><b></a></b>", "<a>&</a>", "<a/><a/>", "<a>\u{1b}</a>", "<a b=\"></a>"] {
        assert!(std::panic::catch_unwind(|| assert_well_formed(broken)).is_err(), "{broken}");
    }
}

#[test]
fn hostile_text_stays_text() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 3));
    buffer.set_string(0, 0, "</text><script>alert('&\"')</script>", Style::new());
    let cells =
        ["\u{1b}", "\u{1b}[31m", "\0", "\u{ffff}", "", "<b>", "&#x41;", "e\u{301}", "\u{202e}"];
    for (x, symbol) in cells.iter().enumerate() {
        buffer[(x as u16 * 2, 1)].set_symbol(symbol);
    }
    let got = svg(&buffer, &Theme::default(), "</title><script>\u{1b}");
    assert_well_formed(&got);
    assert!(!got.contains("<script"));
    assert!(!text(&buffer).contains('\u{1b}'));
}

#[test]
fn every_glyph_makes_a_well_formed_picture_and_no_symbol_is_left_to_fonts() {
    use crate::widgets::glyphs::Glyphs;
    for (field, glyph) in Glyphs::unicode().all() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 3, 1));
        buffer.set_string(1, 0, glyph, Style::new());
        let got = svg(&buffer, &Theme::default(), field);
        assert_well_formed(&got);
        let code = glyph.chars().next().map_or(0, u32::from);
        let symbol = (0x2500..0x2800).contains(&code);
        assert!(!symbol || !got.contains("<text"), "{field} {glyph} is text");
    }
    for (_, _, glyph, ..) in crate::engine::OUTCOMES {
        let code = glyph.chars().next().map_or(0, u32::from);
        assert!(
            code < 0x2500 || !matches!(shape(char::from_u32(code).unwrap()), Shape::None),
            "{glyph}"
        );
    }
}

#[test]
fn blocks_cover_what_their_name_says() {
    let area = |character| match shape(character) {
        Shape::Rects(rects) => {
            rects.iter().flatten().map(|[_, _, w, h]| w * h).sum::<f64>() / 162.0
        }
        _ => f64::NAN,
    };
    for (eighth, character) in "▁▂▃▄▅▆▇█".chars().enumerate() {
        assert_eq!(area(character), (eighth + 1) as f64 / 8.0, "{character}");
    }
    for (eighth, character) in "▏▎▍▌▋▊▉█".chars().enumerate() {
        assert_eq!(area(character), (eighth + 1) as f64 / 8.0, "{character}");
    }
    for (character, share) in [
        ('▀', 0.5),
        ('▐', 0.5),
        ('▔', 0.125),
        ('▕', 0.125),
        ('▖', 0.25),
        ('▙', 0.75),
        ('▚', 0.5),
        ('▟', 0.75),
    ] {
        assert_eq!(area(character), share, "{character}");
    }
}

#[test]
fn equal_screens_give_equal_bytes() {
    let theme = Theme::default();
    assert_eq!(svg(&small(), &theme, "t"), svg(&small(), &theme, "t"));
}
