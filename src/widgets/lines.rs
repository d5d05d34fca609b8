//! Lines at the edges of the screen: key hints, notices.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{Look, NO_BREAK, text_width, wrap};
use crate::widgets::theme::Role;

/// A key and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Hint<'a> {
    /// The key as printed on it.
    pub key: &'a str,
    /// What it does, in a word or two.
    pub words: &'a str,
    /// Importance; the lowest rank stays longest.
    pub rank: u8,
}

/// Key hints on one line. Where they do not all fit, the least important ones are left out.
#[derive(Clone, Copy, Debug)]
pub struct Footer<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// Hints in the order shown.
    pub hints: &'a [Hint<'a>],
}

const GAP: u16 = 2;

impl Footer<'_> {
    /// Hints that fit, with their index and their column.
    fn places(&self, width: u16) -> impl Iterator<Item = (usize, u16, &Hint<'_>)> {
        let limit = self.lowest_rank_left_out(width);
        let mut x = 0u16;
        let hints = self.hints.iter().enumerate();
        hints.filter(move |(_, hint)| u16::from(hint.rank) < limit).map(move |(index, hint)| {
            let at = x;
            x = x.saturating_add(hint.width() + GAP);
            (index, at, hint)
        })
    }

    fn lowest_rank_left_out(&self, width: u16) -> u16 {
        let taken = |limit: u16| {
            let kept = self.hints.iter().filter(|hint| u16::from(hint.rank) < limit);
            kept.fold(0u16, |sum, hint| sum.saturating_add(hint.width() + GAP))
        };
        let highest = self.hints.iter().map(|hint| u16::from(hint.rank)).max().unwrap_or(0);
        (0..=highest + 1)
            .rev()
            .find(|limit| taken(*limit) <= width.saturating_add(GAP))
            .unwrap_or(0)
    }

    /// Where each hint that fits is drawn in `area`, by its index.
    pub fn areas(&self, area: Rect) -> impl Iterator<Item = (usize, Rect)> {
        self.places(area.width).map(move |(index, at, hint)| {
            let x = area.x.saturating_add(at);
            let place = Rect { x, width: hint.width(), height: 1, ..area };
            (index, place.intersection(area))
        })
    }
}

impl Hint<'_> {
    fn width(&self) -> u16 {
        text_width(self.key).saturating_add(1).saturating_add(text_width(self.words)).min(1000)
    }
}

impl Widget for &Footer<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let mut pen = self.look.pen(buffer, area);
        for (_, _, hint) in self.places(area.width) {
            pen.put(hint.key, self.look.style(Role::Key)).skip(1);
            pen.put(hint.words, self.look.style(Role::Muted)).skip(GAP);
        }
    }
}

/// How urgent a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Done as asked.
    Done,
    /// Worth knowing.
    Info,
    /// Worth a look.
    Warning,
    /// Something failed.
    Error,
}

/// A sentence with a symbol before it, on as many lines as it needs and has.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// How urgent.
    pub severity: Severity,
    /// The sentence.
    pub text: &'a str,
}

impl Notice<'_> {
    /// Lines it takes in so many columns.
    pub fn height(&self, width: u16) -> u16 {
        let lines = wrap(self.text, width.saturating_sub(2).into()).len();
        u16::try_from(lines).unwrap_or(u16::MAX).max(1)
    }
}

impl Widget for &Notice<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let glyphs = self.look.glyphs;
        let (glyph, role) = match self.severity {
            Severity::Done => (glyphs.check, Role::Good),
            Severity::Info => (glyphs.info, Role::Info),
            Severity::Warning => (glyphs.warning, Role::Warn),
            Severity::Error => (glyphs.cross, Role::Bad),
        };
        self.look.pen(buffer, area).glyph(glyph, self.look.style(role));
        let x = area.x.saturating_add(2).min(area.right());
        let area = Rect { x, width: area.right() - x, ..area };
        let text = self.look.style(Role::Text);
        if area.height < 2 || text_width(self.text) <= area.width {
            self.look.pen(buffer, area).fit(&self.text.replace(NO_BREAK, " "), text);
            return;
        }
        for (line, row) in wrap(self.text, area.width.into()).iter().zip(area.rows()) {
            self.look.pen(buffer, row).fit(line, text);
        }
    }
}
