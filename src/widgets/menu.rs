use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{Hit, Popup, Scrollbar, Surface, text_width};
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
    /// Whether it leaves the left of a wide screen in view.
    pub(crate) aside: bool,
}

/// Fewest columns.
const WIDTH: u16 = 70;

impl Menu<'_> {
    /// Draws it, the selected row in the middle where there are rows on both sides.
    pub(crate) fn render(&self, on: Surface<'_>) {
        let Surface { look, area, buffer, hits } = on;
        let rows = self.rows;
        let name = [look.piece(self.title, Role::Title)];
        let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(3).clamp(4, 20);
        let longest = rows.iter().map(|row| text_width(row)).max().unwrap_or(0);
        let longest = longest.saturating_add(4);
        let (width, area) = match self.aside && area.width >= 2 * WIDTH {
            true => (longest, Rect { x: area.right() - longest, width: longest, ..area }),
            false => (longest.max(WIDTH), area),
        };
        let frame = Popup::new(look, width, height).titled(|card| card.left(&name));
        let inner = frame.render(area, buffer);
        if inner.height == 0 {
            return;
        }
        let width = usize::from(inner.width);
        buffer.set_stringn(inner.x, inner.y, self.head, width, look.style(Role::Accent));
        let visible = usize::from(inner.height - 1);
        let first = first(self.selected, visible, rows.len());
        let shown = rows.iter().enumerate().skip(first).take(visible);
        for ((at, row), y) in shown.zip(inner.y + 1..) {
            let selected = at == self.selected;
            let style = if selected { look.theme.selection() } else { look.style(Role::Text) };
            let line = Rect::new(inner.x, y, inner.width, 1);
            buffer.set_style(line, style);
            buffer.set_stringn(inner.x, y, row, width, style);
            hits.add(line, Hit::Row(at));
        }
        let bar = Rect {
            x: inner.right().saturating_sub(1),
            y: inner.y + 1,
            width: 1,
            height: inner.height - 1,
        };
        (&Scrollbar { look, total: rows.len(), offset: first }).render(bar, buffer);
        if rows.is_empty() && inner.height > 1 {
            buffer.set_stringn(inner.x, inner.y + 1, self.empty, width, look.style(Role::Warn));
        }
    }
}

/// The first row to draw so that the selected one is in view.
fn first(selected: usize, visible: usize, count: usize) -> usize {
    selected.saturating_sub(visible / 2).min(count.saturating_sub(visible))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_is_always_in_view() {
        for count in 0..40_usize {
            for visible in 1..12 {
                for at in 0..count {
                    let first = first(at, visible, count);
                    assert!(first <= at && at < first + visible, "{at} of {count} in {visible}");
                }
            }
        }
    }
}
