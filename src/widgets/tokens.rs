//! The text that a model writes, token by token.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{Look, text_width};
use crate::widgets::theme::Role;

/// What is known about a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is the token of the reference.
    Good,
    /// It is another one.
    Bad,
    /// It has not been compared.
    Pending,
}

/// Tokens wrapped to the area, the newest always visible. A wrong token differs by more than colour.
#[derive(Clone, Copy, Debug)]
pub struct DecodedTokens<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// Tokens in order.
    pub tokens: &'a [(&'a str, Mark)],
}

struct Placed<'a> {
    line: usize,
    column: u16,
    text: &'a str,
    mark: Mark,
}

impl<'a> DecodedTokens<'a> {
    /// Lines needed at a width.
    pub fn height(&self, width: u16) -> usize {
        self.place(width).last().map_or(0, |placed| placed.line + 1)
    }

    /// Wraps from the very first token, so that a line once written stays where it is.
    fn place(&self, width: u16) -> impl Iterator<Item = Placed<'a>> {
        let (mut line, mut column) = (0, 0u16);
        self.tokens.iter().map(move |(token, mark)| {
            let needed = text_width(token);
            if column > 0 && column.saturating_add(needed) > width {
                (line, column) = (line + 1, 0);
            }
            let text = if column == 0 && line > 0 { token.trim_start_matches(' ') } else { token };
            let placed = Placed { line, column, text, mark: *mark };
            column = column.saturating_add(text_width(text)).min(width);
            placed
        })
    }
}

impl Widget for &DecodedTokens<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let hidden = self.height(area.width).saturating_sub(area.height.into());
        for placed in self.place(area.width).filter(|placed| placed.line >= hidden) {
            let style = self.look.style(match placed.mark {
                Mark::Good => Role::TapeGood,
                Mark::Bad => Role::TapeBad,
                Mark::Pending => Role::TapePending,
            });
            let style = match placed.mark {
                Mark::Bad => style.add_modifier(ratatui::style::Modifier::REVERSED),
                _ => style,
            };
            let at = Rect {
                x: area.x + placed.column,
                y: area.y + (placed.line - hidden) as u16,
                width: area.width - placed.column,
                height: 1,
            };
            let mut pen = self.look.pen(buffer, at);
            for (index, part) in placed.text.split('\n').enumerate() {
                if index > 0 {
                    pen.glyph(self.look.glyphs.newline, style);
                }
                pen.put(part, style);
            }
        }
    }
}
