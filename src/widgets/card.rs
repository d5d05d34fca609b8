//! Frames: around a panel, and in front of everything.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::layout::inset;
use super::{Look, StyledText, Surface, pieces_width, text_width};
use crate::widgets::theme::Role;

/// A frame with titles: left and right above, left and right below.
///
/// The left title names the thing and gives way last. Right titles are facts, the most important
/// first; those at the end are left out until the rest fits.
#[derive(Clone, Copy, Debug)]
pub struct Card<'a> {
    look: Look<'a>,
    border: Role,
    left: &'a [StyledText<'a>],
    right: &'a [StyledText<'a>],
    foot_left: &'a [StyledText<'a>],
    foot: &'a [StyledText<'a>],
}

impl<'a> Card<'a> {
    /// A frame without titles.
    pub fn new(look: Look<'a>) -> Self {
        Self { look, border: Role::Border, left: &[], right: &[], foot_left: &[], foot: &[] }
    }

    /// What the frame means, [`Role::BorderFocus`] for one.
    #[must_use]
    pub fn border(mut self, role: Role) -> Self {
        self.border = role;
        self
    }

    /// Title on the left, its pieces one after the other.
    #[must_use]
    pub fn left(mut self, pieces: &'a [StyledText<'a>]) -> Self {
        self.left = pieces;
        self
    }

    /// Facts on the right; separators are drawn between them.
    #[must_use]
    pub fn right(mut self, facts: &'a [StyledText<'a>]) -> Self {
        self.right = facts;
        self
    }

    /// Facts in the lower border, on the left.
    #[must_use]
    pub fn foot_left(mut self, facts: &'a [StyledText<'a>]) -> Self {
        self.foot_left = facts;
        self
    }

    /// Facts in the lower border, on the right: a count, a position.
    #[must_use]
    pub fn foot(mut self, facts: &'a [StyledText<'a>]) -> Self {
        self.foot = facts;
        self
    }

    /// Draws the frame and returns what is inside.
    pub fn render(&self, area: Rect, buffer: &mut Buffer) -> Rect {
        let area = area.intersection(buffer.area);
        if area.width < 2 || area.height < 2 {
            return Rect { width: 0, height: 0, ..area };
        }
        self.draw_frame(area, buffer);
        let top = Rect { x: area.x + 1, width: area.width - 2, height: 1, ..area };
        self.draw_titles(top, buffer);
        let bottom = Rect { y: area.bottom() - 1, ..top };
        let used = self.draw_facts(self.foot, bottom.width, bottom, buffer);
        let left = Rect { width: bottom.width.saturating_sub(used), ..bottom };
        self.draw_left_facts(left, buffer);
        Rect { y: area.y + 1, height: area.height - 2, ..top }
    }

    fn draw_frame(&self, area: Rect, buffer: &mut Buffer) {
        let glyphs = self.look.glyphs;
        let style = self.look.style(self.border);
        let lines = [
            (area.y, glyphs.top_left, glyphs.top_right),
            (area.bottom() - 1, glyphs.bottom_left, glyphs.bottom_right),
        ];
        for (y, left, right) in lines {
            let mut pen = self.look.pen(buffer, Rect { y, height: 1, ..area });
            pen.glyph(left, style)
                .repeat(glyphs.horizontal, area.width - 2, style)
                .glyph(right, style);
        }
        for y in area.top() + 1..area.bottom() - 1 {
            for x in [area.left(), area.right() - 1] {
                buffer[(x, y)].set_symbol(glyphs.vertical).set_style(style);
            }
        }
    }

    fn draw_titles(&self, line: Rect, buffer: &mut Buffer) {
        let left = pieces_width(self.left);
        let room = line.width.saturating_sub(if left > 0 { left + 3 } else { 0 });
        self.draw_facts(self.right, room, line, buffer);
        if left == 0 || line.width < 3 {
            return;
        }
        let mut pen = self.look.pen(buffer, Rect { width: line.width, ..line });
        pen.glyph(" ", Style::new());
        for (text, style) in self.left {
            let rest = pen.rest().saturating_sub(1);
            pen.elide(text, rest.min(text_width(text)), *style);
        }
        pen.glyph(" ", Style::new());
    }

    /// Draws the first facts that fit into `room` at the right end of a line; returns their width.
    fn draw_facts(
        &self,
        facts: &[StyledText<'_>],
        room: u16,
        line: Rect,
        buffer: &mut Buffer,
    ) -> u16 {
        let (shown, width) = self.fitting(facts, room);
        if shown == 0 {
            return 0;
        }
        let at = Rect { x: line.right() - width, width, ..line };
        self.write_facts(&facts[..shown], at, buffer);
        width
    }

    fn draw_left_facts(&self, line: Rect, buffer: &mut Buffer) {
        let (shown, width) = self.fitting(self.foot_left, line.width);
        if shown > 0 {
            self.write_facts(&self.foot_left[..shown], Rect { width, ..line }, buffer);
        }
    }

    /// How many facts fit with the blanks around them, and the columns they take.
    fn fitting(&self, facts: &[StyledText<'_>], room: u16) -> (usize, u16) {
        let mut fit = (0, 0);
        let mut width = 1u16;
        for (index, (text, _)) in facts.iter().enumerate() {
            let separator = if index == 0 { 0 } else { 3 };
            width = width.saturating_add(text_width(text)).saturating_add(separator);
            if width >= room {
                break;
            }
            fit = (index + 1, width + 1);
        }
        fit
    }

    fn write_facts(&self, facts: &[StyledText<'_>], at: Rect, buffer: &mut Buffer) {
        let faint = self.look.style(Role::Faint);
        let mut pen = self.look.pen(buffer, at);
        pen.glyph(" ", Style::new());
        for (index, (text, style)) in facts.iter().enumerate() {
            if index > 0 {
                pen.glyph(" ", faint).glyph(self.look.glyphs.separator, faint).glyph(" ", faint);
            }
            pen.put(text, *style);
        }
        pen.glyph(" ", Style::new());
    }
}

/// Columns and rows beside a popup that are worth showing.
const SLIVER: (u16, u16) = (4, 3);

/// A frame in the middle of the screen, in front of what was there.
#[derive(Clone, Copy, Debug)]
pub struct Popup<'a> {
    card: Card<'a>,
    width: u16,
    height: u16,
}

impl<'a> Popup<'a> {
    /// A popup of a size, frame included, or as much of it as there is room for.
    pub fn new(look: Look<'a>, width: u16, height: u16) -> Self {
        Self { card: Card::new(look).border(Role::BorderFocus), width, height }
    }

    /// Gives the frame its titles.
    #[must_use]
    pub fn titled(mut self, title: impl FnOnce(Card<'a>) -> Card<'a>) -> Self {
        self.card = title(self.card);
        self
    }

    /// Where it will be in an area: all of it, where a few columns or rows would be left of what lies behind.
    pub fn place(&self, area: Rect) -> Rect {
        let stretched = |size: u16, room: u16, rest: u16| match room.saturating_sub(size) {
            left if left < rest => room,
            _ => size,
        };
        let width = stretched(self.width, area.width, SLIVER.0);
        let height = stretched(self.height, area.height, SLIVER.1);
        let x = area.x + (area.width - width) / 2;
        Rect { x, y: area.y + (area.height - height) / 2, width, height }
    }

    /// Clears the place, draws the frame, and returns what is inside, one column in from the frame.
    pub fn render(&self, area: Rect, buffer: &mut Buffer) -> Rect {
        let place = self.place(area).intersection(buffer.area);
        let base = self.card.look.theme.base();
        for position in place.positions() {
            let cell = &mut buffer[position];
            cell.reset();
            cell.set_style(base);
        }
        let inner = self.card.render(place, buffer);
        Rect {
            x: inner.x + u16::from(inner.width > 2),
            width: inner.width.saturating_sub(2),
            ..inner
        }
    }
}

impl Surface<'_> {
    /// Draws a frame around it and goes on inside, one column in from the frame.
    pub(crate) fn frame(&mut self, card: Card<'_>) {
        self.area = inset(card.render(self.area, self.buffer));
    }
}
