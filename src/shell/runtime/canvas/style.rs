//! Colours and modifiers, and the numbers (SGR) by which a terminal is told to switch to them.

use ratatui::style::{Color, Modifier};

use crate::widgets::theme::ansi_index;

/// Modifiers that can be seen on a blank.
pub(crate) const VISIBLE_ON_BLANK: Modifier = Modifier::REVERSED
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

/// Colours and modifiers of text to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CellStyle {
    pub(crate) fg: Color,
    pub(crate) bg: Color,
    pub(crate) modifier: Modifier,
}

/// Numbers of one SGR sequence: a reset, every modifier and two colours at most.
#[derive(Default)]
pub(crate) struct Codes {
    list: [u16; 1 + MODIFIERS.len() + 10],
    len: usize,
}

impl Codes {
    /// What switches to `wanted`, by naming only what changes; everything where it is not known what was before.
    pub(crate) fn between(before: Option<CellStyle>, wanted: CellStyle) -> Self {
        let kept = before.filter(|style| wanted.modifier.contains(style.modifier));
        let now = kept.unwrap_or_default();
        let mut codes = Self::default();
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
        codes
    }

    /// The numbers, in order.
    pub(crate) fn numbers(&self) -> &[u16] {
        &self.list[..self.len]
    }

    fn push(&mut self, codes: &[u16]) {
        self.list[self.len..self.len + codes.len()].copy_from_slice(codes);
        self.len += codes.len();
    }

    /// `base` is 30 for the foreground, 40 for the background.
    fn color(&mut self, color: Color, base: u16) {
        match color {
            Color::Reset => self.push(&[base + 9]),
            Color::Rgb(r, g, b) => self.push(&[base + 8, 2, r.into(), g.into(), b.into()]),
            Color::Indexed(index) => self.push(&[base + 8, 5, index.into()]),
            named => {
                let at = ansi_index(named).unwrap_or_default() as u16;
                self.push(&[if at < 8 { base + at } else { base + 52 + at }]);
            }
        }
    }
}
