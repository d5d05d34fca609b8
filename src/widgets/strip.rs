//! The number formats of a device, on as many lines as they need.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{Look, text_width};
use crate::widgets::theme::Role;

/// Labels with a symbol each: `FP64 ●  FP32 ○`. Wraps between items.
#[derive(Clone, Copy, Debug)]
pub struct DtypeStrip<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// Label, symbol, colour of the symbol.
    pub items: &'a [(&'a str, &'a str, Role)],
}

impl DtypeStrip<'_> {
    /// Column and line of every item.
    fn places(&self, width: u16) -> impl Iterator<Item = (u16, u16, &(&str, &str, Role))> {
        let (mut x, mut y) = (0u16, 0u16);
        self.items.iter().map(move |item| {
            let needed = text_width(item.0) + 1 + text_width(item.1);
            if x > 0 && x.saturating_add(needed) > width {
                (x, y) = (0, y.saturating_add(1));
            }
            let place = (x, y, item);
            x = x.saturating_add(needed + 2);
            place
        })
    }
}

impl Widget for &DtypeStrip<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        for (x, y, (label, symbol, role)) in self.places(area.width) {
            if y >= area.height || x >= area.width {
                continue;
            }
            let at = Rect { x: area.x + x, y: area.y + y, width: area.width - x, height: 1 };
            let label_role = if *role == Role::Faint { Role::Faint } else { Role::Muted };
            let mut pen = self.look.pen(buffer, at);
            pen.put(label, self.look.style(label_role)).skip(1).put(symbol, self.look.style(*role));
        }
    }
}
