use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::features::compat::model::State;
use crate::shell::popup::wrap;
use crate::shell::view::Input;
use crate::widgets::theme::Role;
use crate::widgets::{Look, Popup as Frame, text_width};

/// The line a model's path is typed in, and what became of it.
pub(crate) fn render(
    look: Look<'_>,
    input: &Input,
    state: &State,
    area: Rect,
    buffer: &mut Buffer,
) {
    let (text, role) = match state {
        State::Empty => (
            "A folder with a config.json, or a file of a model. Enter reads it; every row then asks about that model.".to_owned(),
            Role::Muted,
        ),
        State::Hint(text) => (text.clone(), Role::Muted),
        State::Reading(path) => (format!("Reading {path}"), Role::Info),
        State::Failed(why) => (why.clone(), Role::Bad),
    };
    let width = area.width.saturating_sub(4).min(90);
    let lines = wrap(&text, usize::from(width.saturating_sub(4)).max(1));
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(4);
    let title = [look.piece("Model", Role::Title)];
    let foot = [look.piece("enter reads", Role::Muted), look.piece("esc closes", Role::Muted)];
    let frame = Frame::new(look, width, height).titled(|card| card.left(&title).foot(&foot));
    let inner = frame.render(area, buffer);
    let mut rows = inner.rows();
    if let Some(line) = rows.next() {
        let mut pen = look.pen(buffer, line);
        let room = line.width.saturating_sub(1);
        pen.put(tail(&input.text, room), look.style(Role::Text));
        pen.glyph(look.glyphs.cursor, look.style(Role::Accent));
    }
    for (row, text) in rows.skip(1).zip(&lines) {
        look.pen(buffer, row).put(text, look.style(role));
    }
}

/// As much of the end of a text as fits.
fn tail(text: &str, columns: u16) -> &str {
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let fits = |at: &usize| text_width(&text[*at..]) <= columns;
    &text[starts.into_iter().find(fits).unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_path_stays_in_view() {
        assert_eq!(tail("/models/qwen", 20), "/models/qwen");
        assert_eq!(tail("/models/qwen", 4), "qwen");
        assert_eq!(tail("/\u{6f22}\u{6f22}", 3), "\u{6f22}");
        assert_eq!(tail("abc", 0), "");
    }
}
