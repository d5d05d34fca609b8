use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{Hit, Popup, Scrollbar, Surface, text_width};
use crate::widgets::theme::Role;

/// A popup one chooses a row from.
pub(crate) struct Menu<'a> {
    /// In the frame.
    title: &'a str,
    /// The line above the rows.
    head: &'a str,
    /// What there is to choose from.
    rows: &'a [String],
    /// What stands at the right end of each row.
    notes: &'a [String],
    /// What stands where there is no row.
    empty: &'a str,
    /// The selected row.
    selected: usize,
    /// How it takes its room.
    stand: Stand,
}

/// Where a menu stands, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// In the middle, as large as its rows need.
    Middle,
    /// Leaves the left of a wide screen in view.
    Aside,
    /// In the middle; rows that come and go while one types do not move it.
    Steady,
}

/// Columns before a note.
const GAP: u16 = 2;
/// Fewest columns.
const WIDTH: u16 = 70;
/// Columns and lines of a menu that keeps its size.
const STEADY: (u16, u16) = (88, 20);

impl<'a> Menu<'a> {
    /// One in the middle, with a line above its rows.
    pub(crate) fn new(title: &'a str, head: &'a str, rows: &'a [String], selected: usize) -> Self {
        Self { title, head, rows, notes: &[], empty: "", selected, stand: Stand::Middle }
    }

    /// With something at the right end of each row.
    pub(crate) fn notes(self, notes: &'a [String]) -> Self {
        Self { notes, ..self }
    }

    /// With a sentence where there is no row.
    pub(crate) fn or(self, empty: &'a str) -> Self {
        Self { empty, ..self }
    }

    /// Standing elsewhere.
    pub(crate) fn stand(self, stand: Stand) -> Self {
        Self { stand, ..self }
    }

    /// Columns that rows have in a menu that keeps its size, on a screen of so many.
    pub(crate) fn steady_room(columns: u16) -> u16 {
        columns.min(STEADY.0).saturating_sub(5)
    }

    /// Draws it, the selected row in the middle where there are rows on both sides.
    pub(crate) fn render(&self, on: Surface<'_>) {
        let Surface { look, area, buffer, hits } = on;
        let rows = self.rows;
        let name = [look.piece(self.title, Role::Title)];
        let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(3).clamp(4, 20);
        let longest = rows.iter().map(|row| text_width(row)).max().unwrap_or(0);
        let longest = longest.saturating_add(4).min(area.width);
        let (width, height, area) = match self.stand {
            Stand::Aside if area.width >= 2 * WIDTH => {
                let right = Rect { x: area.right() - longest, width: longest, ..area };
                (longest, height, right)
            }
            Stand::Aside | Stand::Middle => (longest.max(WIDTH), height, area),
            Stand::Steady => (STEADY.0, STEADY.1, area),
        };
        let frame = Popup::new(look, width, height).titled(|card| card.left(&name));
        let inner = frame.render(area, buffer);
        if inner.height == 0 {
            return;
        }
        look.pen(buffer, inner).fit(self.head, look.style(Role::Accent));
        let visible = usize::from(inner.height - 1);
        let bar_width = u16::from(rows.len() > visible);
        let first = first(self.selected, visible, rows.len());
        let shown = rows.iter().enumerate().skip(first).take(visible);
        for ((at, row), y) in shown.zip(inner.y + 1..) {
            let selected = at == self.selected;
            let style = if selected { look.theme.selection() } else { look.style(Role::Text) };
            let line = Rect::new(inner.x, y, inner.width, 1);
            buffer.set_style(line, style);
            let text = Rect { width: inner.width.saturating_sub(bar_width), ..line };
            let note = self.notes.get(at).filter(|note| !note.is_empty());
            let note_width = note.map_or(0, |note| text_width(note) + GAP + bar_width);
            let mut pen = look.pen(buffer, text);
            pen.elide(row, text.width.saturating_sub(note_width), style);
            if let Some(note) = note {
                let role = if selected { style } else { look.style(Role::Key) };
                pen.skip_to_last(text_width(note) + bar_width).put(note, role);
            }
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
            let below = Rect { y: inner.y + 1, height: 1, ..inner };
            look.pen(buffer, below).fit(self.empty, look.style(Role::Warn));
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
