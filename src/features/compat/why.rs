use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::features::compat::panel::{page, title};
use crate::shell::App;
use crate::shell::draw::Hits;
use crate::shell::popup::draw_sheet;
use crate::widgets::Look;

/// Why a verdict is what it is: the chain, the evidence, the message, the ways out.
pub(crate) fn render(
    app: &App,
    look: Look<'_>,
    (scroll, fix, follow): (usize, usize, bool),
    (area, width): (Rect, usize),
    buffer: &mut Buffer,
    hits: &mut Hits,
) {
    let Some(verdict) = app.selected_verdict() else { return };
    let sheet = page(look, &verdict, fix, width);
    let title = title(look, &verdict);
    let pieces = [look.piece(&title[0].0, title[0].1), look.piece(&title[1].0, title[1].1)];
    let focus = if follow { sheet.lines_of(crate::shell::Hit::Row(fix)) } else { None };
    draw_sheet(look, &pieces, &sheet, (scroll, focus), area, buffer, hits);
}
