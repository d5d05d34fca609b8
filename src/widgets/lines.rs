//! Lines at the edges of the screen: tabs, key hints, notices.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Widget;

use super::{CellWriter, Look, text_width};
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
    /// Hints that fit, with their column and width.
    fn places(&self, width: u16) -> impl Iterator<Item = (u16, u16, &Hint<'_>)> {
        let limit = self.lowest_rank_left_out(width);
        let mut x = 0u16;
        self.hints.iter().filter(move |hint| u16::from(hint.rank) < limit).map(move |hint| {
            let at = x;
            x = x.saturating_add(hint.width() + GAP);
            (at, hint.width(), hint)
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
        self.places(area.width).filter_map(move |(at, width, found)| {
            let index = self.hints.iter().position(|hint| std::ptr::eq(hint, found))?;
            Some((
                index,
                Rect { x: area.x.saturating_add(at), width, height: 1, ..area }.intersection(area),
            ))
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

/// Tabs on one line: ` 1 Overview  2 Compat `. The active one is reversed out of the accent colour.
#[derive(Clone, Copy, Debug)]
pub struct Tabs<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// Key and title of each.
    pub tabs: &'a [(&'a str, &'a str)],
    /// Index of the active one.
    pub active: usize,
}

impl Tabs<'_> {
    /// Column and width of each tab. Titles shrink to their key where the line is too short.
    fn places(&self, width: u16) -> impl Iterator<Item = (u16, u16, usize)> {
        let full = |tab: &(&str, &str)| text_width(tab.0) + text_width(tab.1) + 3;
        let short = self.tabs.iter().fold(0u16, |sum, tab| sum.saturating_add(full(tab))) > width;
        let mut x = 0u16;
        self.tabs.iter().enumerate().map(move |(index, tab)| {
            let shown =
                if short && index != self.active { text_width(tab.0) + 2 } else { full(tab) };
            let at = x;
            x = x.saturating_add(shown);
            (at, shown, index)
        })
    }

    /// Index of the tab under a column of the screen, as drawn in `area`.
    pub fn hit(&self, area: Rect, x: u16) -> Option<usize> {
        let column = x.checked_sub(area.x).filter(|column| *column < area.width)?;
        let found =
            self.places(area.width).find(|(at, width, _)| (*at..at + width).contains(&column));
        found.map(|(.., index)| index)
    }

    /// Columns that the tabs take of so many, to know where the line is free.
    pub fn width(&self, width: u16) -> u16 {
        self.places(width).last().map_or(0, |(at, shown, _)| at.saturating_add(shown).min(width))
    }

    fn draw_tab(&self, index: usize, pen: &mut CellWriter<'_>) {
        let (key, title) = self.tabs[index];
        let with_title = pen.rest() > text_width(key) + 2;
        let (key_style, title_style) = if index == self.active {
            let active =
                self.look.style(Role::Accent).add_modifier(Modifier::REVERSED | Modifier::BOLD);
            (active, active)
        } else {
            (self.look.style(Role::Key), self.look.style(Role::Muted))
        };
        let pad = if index == self.active { title_style } else { Style::new() };
        pen.glyph(" ", pad).put(key, key_style).glyph(" ", pad);
        if with_title {
            pen.put(title, title_style).glyph(" ", pad);
        }
    }
}

impl Widget for &Tabs<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        for (x, width, index) in self.places(area.width) {
            let room = area.width.saturating_sub(x).min(width);
            let at = Rect {
                x: area.x.saturating_add(x),
                width: room,
                height: area.height.min(1),
                ..area
            };
            self.draw_tab(index, &mut self.look.pen(buffer, at));
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

/// A sentence on one line, with a symbol before it.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// How urgent.
    pub severity: Severity,
    /// The sentence.
    pub text: &'a str,
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
        let mut pen = self.look.pen(buffer, area);
        pen.glyph(glyph, self.look.style(role)).skip(1).fit(self.text, self.look.style(Role::Text));
    }
}
