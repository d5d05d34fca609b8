//! Where one is in a list.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::layout::cut_right;
use super::{Look, Surface};
use crate::widgets::theme::Role;

/// A vertical scrollbar in the first column of its area; nothing when everything is visible.
#[derive(Clone, Copy, Debug)]
pub struct Scrollbar<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// Lines of the whole.
    pub total: usize,
    /// First visible line.
    pub offset: usize,
}

impl Scrollbar<'_> {
    /// Cuts its columns off the right of a list of so many visible lines, where one is needed, and draws it there.
    pub(crate) fn beside(&self, visible: usize, on: &mut Surface<'_>) {
        let columns = if self.total > visible { 2 } else { 0 };
        let mut bar = cut_right(&mut on.area, columns);
        let bar = cut_right(&mut bar, 1);
        on.at(bar).draw(self);
    }

    /// First line and length of the thumb in a bar of so many lines.
    fn thumb(&self, height: usize) -> (usize, usize) {
        let length = (height * height / self.total.max(1)).clamp(1, height);
        let hidden = self.total.saturating_sub(height).max(1);
        let offset = self.offset.min(hidden);
        ((offset * (height - length) + hidden / 2) / hidden, length)
    }
}

impl Widget for &Scrollbar<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = Rect { width: area.width.min(1), ..area }.intersection(buffer.area);
        let height = usize::from(area.height);
        if area.is_empty() || self.total <= height {
            return;
        }
        let (start, length) = self.thumb(height);
        for (line, row) in area.rows().enumerate() {
            let on = (start..start + length).contains(&line);
            let (glyph, role) = match on {
                true => (self.look.glyphs.scroll_thumb, Role::Muted),
                false => (self.look.glyphs.scroll_track, Role::Track),
            };
            self.look.pen(buffer, row).glyph(glyph, self.look.style(role));
        }
    }
}
