//! Popups one chooses from: the catalogue and the signals.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::features::processes::SIGNALS;
use crate::shell::draw::Hits;
use crate::shell::popups::found;
use crate::shell::view::{Cursor, Popup};
use crate::shell::{App, Hit};
use crate::widgets::Look;
use crate::widgets::Popup as Frame;
use crate::widgets::format;
use crate::widgets::theme::Role;

/// Draws the picker or the signal menu.
pub(crate) fn render(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    match &app.view.popup {
        Some(Popup::Picker { input, cursor }) => {
            let head = format!("/{}{}", input.text, look.glyphs.cursor);
            let parts = found(&input.text);
            let rows: Vec<_> = parts.iter().map(|part| part_row(part)).collect();
            list(look, ("Add a what-if GPU", &head), &rows, *cursor, area, buffer, hits);
        }
        Some(Popup::Signal { pid, name, cursor, confirm, .. }) => {
            let head = if *confirm {
                format!(
                    "Send SIG{} to {pid} {name}?  y sends, any other key does not",
                    SIGNALS[cursor.at].1
                )
            } else {
                format!("Signal for {pid} {name}; enter chooses")
            };
            let rows: Vec<_> = SIGNALS
                .iter()
                .map(|row| format!("{:>2} SIG{:<5} {}", row.0, row.1, row.2))
                .collect();
            list(look, ("Signal", &head), &rows, *cursor, area, buffer, hits);
        }
        _ => {}
    }
}

fn part_row(part: &warpscope_probes::catalogue::Part) -> String {
    let memory = format!("{} GB", part.memory_gb);
    let rate = format::rate(part.bandwidth_gbs * 1e9);
    format!("{:<34} {:<7} {memory:>8} {rate:>10}", part.market_name, part.sm)
}

fn list(
    look: Look<'_>,
    (title, head): (&str, &str),
    rows: &[String],
    cursor: Cursor,
    area: Rect,
    buffer: &mut Buffer,
    hits: &mut Hits,
) {
    let name = [look.piece(title, Role::Title)];
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(3).clamp(4, 20);
    let inner = Frame::new(look, 70, height).titled(|card| card.left(&name)).render(area, buffer);
    if inner.height == 0 {
        return;
    }
    let width = usize::from(inner.width);
    buffer.set_stringn(inner.x, inner.y, head, width, look.style(Role::Accent));
    let visible = usize::from(inner.height - 1);
    let first = cursor.first(visible, rows.len());
    let shown = rows.iter().enumerate().skip(first).take(visible);
    for ((at, row), y) in shown.zip(inner.y + 1..) {
        let style = if at == cursor.at { look.theme.selection() } else { look.style(Role::Text) };
        let line = Rect::new(inner.x, y, inner.width, 1);
        buffer.set_style(line, style);
        buffer.set_stringn(inner.x, y, row, width, style);
        hits.add(line, Hit::Row(at));
    }
    if rows.is_empty() && inner.height > 1 {
        buffer.set_stringn(
            inner.x,
            inner.y + 1,
            "Nothing in the catalogue matches.",
            width,
            look.style(Role::Warn),
        );
    }
}
