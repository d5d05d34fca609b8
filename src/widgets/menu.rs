use ratatui::layout::Rect;

use super::{Hit, Popup, Surface, text_width};
use crate::widgets::theme::Role;

/// A popup one chooses a row from.
pub(crate) struct Menu<'a> {
    /// In the frame.
    pub(crate) title: &'a str,
    /// The line above the rows.
    pub(crate) head: &'a str,
    /// What there is to choose from.
    pub(crate) rows: &'a [String],
    /// What stands where there is no row.
    pub(crate) empty: &'a str,
    /// The selected row.
    pub(crate) selected: usize,
}

impl Menu<'_> {
    /// Draws it; `first` says from which row on, by how many are in view.
    pub(crate) fn render(&self, first: impl Fn(usize) -> usize, on: Surface<'_>) {
        let Surface { look, area, buffer, hits } = on;
        let rows = self.rows;
        let name = [look.piece(self.title, Role::Title)];
        let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(3).clamp(4, 20);
        let longest = rows.iter().map(|row| text_width(row)).max().unwrap_or(0);
        let frame = Popup::new(look, longest.saturating_add(4).max(70), height)
            .titled(|card| card.left(&name));
        let inner = frame.render(area, buffer);
        if inner.height == 0 {
            return;
        }
        let width = usize::from(inner.width);
        buffer.set_stringn(inner.x, inner.y, self.head, width, look.style(Role::Accent));
        let visible = usize::from(inner.height - 1);
        let shown = rows.iter().enumerate().skip(first(visible)).take(visible);
        for ((at, row), y) in shown.zip(inner.y + 1..) {
            let selected = at == self.selected;
            let style = if selected { look.theme.selection() } else { look.style(Role::Text) };
            let line = Rect::new(inner.x, y, inner.width, 1);
            buffer.set_style(line, style);
            buffer.set_stringn(inner.x, y, row, width, style);
            hits.add(line, Hit::Row(at));
        }
        if rows.is_empty() && inner.height > 1 {
            buffer.set_stringn(inner.x, inner.y + 1, self.empty, width, look.style(Role::Warn));
        }
    }
}
