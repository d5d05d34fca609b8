//! Tokens, number formats, notices, verdicts and the pen that writes them.

use super::*;
use crate::engine::{Cell, Confidence, Level, OUTCOMES, Outcome};

#[test]
fn the_dtype_strip_wraps_between_items() {
    let strip = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        let g = look.glyphs;
        let items = [
            ("FP16", g.record, Role::Good),
            ("INT4", g.info, Role::Warn),
            ("FP4", g.gap, Role::Faint),
        ];
        DtypeStrip { look, items: &items }.render(area, buffer);
    };
    assert_drawn((14, 2), strip, &["FP16 ●  INT4 •", "FP4 ·"], &["FP16 *  INT4 *", "FP4 ."]);
    assert_drawn((14, 1), strip, &["FP16 ●  INT4 •"], &["FP16 *  INT4 *"]);
}

const TOKENS: &[(&str, Mark)] = &[
    ("The", Mark::Good),
    (" quick", Mark::Good),
    (" brown", Mark::Good),
    ("!!", Mark::Bad),
    ("\n", Mark::Pending),
    ("\u{1b}[2Jx", Mark::Pending),
];

#[test]
fn the_tape_wraps_and_keeps_the_newest_visible() {
    let tape = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        DecodedTokens { look, tokens: TOKENS }.render(area, buffer);
    };
    assert_drawn(
        (10, 3),
        tape,
        &["The quick", "brown!!↵", "\u{fffd}[2Jx"],
        &["The quick", "brown!!$", "\u{fffd}[2Jx"],
    );
    assert_drawn((10, 2), tape, &["brown!!↵", "\u{fffd}[2Jx"], &["brown!!$", "\u{fffd}[2Jx"]);
}

#[test]
fn bad_tokens_differ_without_colour() {
    for theme in [plain(), Theme::default()] {
        let look = Look::new(&theme, Glyphs::unicode());
        let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 1));
        DecodedTokens { look, tokens: TOKENS }.render(buffer.area, &mut buffer);
        let reversed = |x: u16| buffer[(x, 0)].modifier.contains(Modifier::REVERSED);
        assert!(!reversed(14) && reversed(15) && reversed(16) && !reversed(17));
    }
}

#[test]
fn notices_and_verdicts_begin_with_their_symbol() {
    let notice = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        Notice { look, severity: Severity::Warning, text: "disk is full" }.render(area, buffer);
    };
    assert_drawn((12, 1), notice, &["▲ disk is f…"], &["! disk is f~"]);
    let verdicts = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        for (row, (outcome, ..)) in area.rows().zip(OUTCOMES) {
            let disputed = *outcome == Outcome::Slow;
            let confidence = (*outcome == Outcome::Fallback).then_some(Confidence::Medium);
            let cell = Cell { outcome: *outcome, level: Some(Level::Live), disputed, confidence };
            verdict_cell(look, &mut look.pen(buffer, row), &cell);
        }
    };
    assert_drawn(
        (4, 8),
        verdicts,
        &["✔m", "↪m?", "▽m!", "○m", "◐m", "≠m", "✖m", "?"],
        &["+m", ">m?", "vm!", "om", "%m", "#m", "xm", "?"],
    );
}

#[test]
fn pens_cut_at_the_end_and_replace_hostile_characters() {
    let pen = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        let mut pen = look.pen(buffer, area);
        pen.put("a\u{1b}[m\u{7}", Style::new())
            .elide("日本語", 5, Style::new())
            .put("cdef", Style::new());
    };
    assert_drawn((12, 1), pen, &["a\u{fffd}[m\u{fffd}日本…cd"], &["a\u{fffd}[m\u{fffd}日本~cd"]);
    assert_eq!(text_width("a\u{1b}b"), 3);
    assert_eq!(text_width("é\u{202e}日"), 4);
}
