//! What lies over a tab. Most popups are pages: lines of text that scroll.

mod choices;
mod gpu;
mod help;
mod notices;
mod process;
mod why;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::Hits;
use super::theme::Role;
use super::widgets::Look;
use super::widgets::Popup as Frame;
use crate::app::App;
use crate::app::view::Popup;

/// A page: its title and its lines for a width.
pub(super) struct Page {
    title: String,
    lines: Vec<Line<'static>>,
}

/// Draws the open popup over the body.
pub(super) fn render(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let Some(popup) = &app.view.popup else { return };
    let width = usize::from(area.width.saturating_sub(6)).clamp(10, 100);
    let page = match popup {
        Popup::Help { .. } => help::page(app, look),
        Popup::Gpu { key, .. } => gpu::page(app, look, key, width),
        Popup::Why { .. } => why::page(app, look, width),
        Popup::Notices { .. } => notices::page(app, look, width),
        Popup::Process { pid, gpu, .. } => process::page(app, look, (*pid, gpu), width),
        Popup::Picker { .. } | Popup::Signal { .. } => {
            return choices::render(app, look, area, buffer, hits);
        }
    };
    draw_page(&page, scroll_of(popup), look, area, buffer);
}

fn scroll_of(popup: &Popup) -> usize {
    match popup {
        Popup::Help { scroll }
        | Popup::Gpu { scroll, .. }
        | Popup::Why { scroll }
        | Popup::Notices { scroll }
        | Popup::Process { scroll, .. } => *scroll,
        Popup::Picker { .. } | Popup::Signal { .. } => 0,
    }
}

fn draw_page(page: &Page, scroll: usize, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let widest = page.lines.iter().map(Line::width).max().unwrap_or(0).max(page.title.len() + 4);
    let size =
        (u16::try_from(widest).unwrap_or(u16::MAX).saturating_add(4), rows(page.lines.len()));
    let visible = usize::from(size.1.min(area.height).saturating_sub(2));
    let first = scroll.min(page.lines.len().saturating_sub(visible));
    let more = page.lines.len() - first - visible.min(page.lines.len() - first);
    let more = format!("{more} more");
    let title = [look.piece(&page.title, Role::Title)];
    let foot = [look.piece(&more, Role::Muted)];
    let foot = if more.starts_with("0 ") { &foot[..0] } else { &foot[..] };
    let inner = Frame::new(look, size.0, size.1)
        .titled(|card| card.left(&title).foot(foot))
        .render(area, buffer);
    for (line, y) in page.lines.iter().skip(first).zip(inner.top()..inner.bottom()) {
        buffer.set_line(inner.x, y, line, inner.width);
    }
}

fn rows(lines: usize) -> u16 {
    u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2)
}

/// Breaks text into lines of at most `width` cells between words; a word that is longer is cut.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let mut word: String = word.to_owned();
            if !line.is_empty() && cells(&line) + 1 + cells(&word) > width {
                lines.push(std::mem::take(&mut line));
            }
            while cells(&word) > width {
                let cut: String = word.chars().take(width).collect();
                word = word.chars().skip(width).collect();
                lines.push(cut);
            }
            if !line.is_empty() && !word.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push(line);
    }
    lines
}

fn cells(text: &str) -> usize {
    Span::raw(text).width()
}

/// A labelled paragraph, wrapped and indented under its label.
pub(super) fn section(
    look: Look<'_>,
    label: &str,
    text: &str,
    role: Role,
    width: usize,
) -> Vec<Line<'static>> {
    const INDENT: usize = 10;
    let wrapped = wrap(text, width.saturating_sub(INDENT)).into_iter().enumerate();
    let line = |(at, text): (usize, String)| {
        let label = if at == 0 { label } else { "" };
        Line::from(vec![
            Span::styled(format!("{label:<INDENT$}"), look.style(Role::Muted)),
            Span::styled(text, look.style(role)),
        ])
    };
    wrapped.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_between_words_and_cuts_what_has_none() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(wrap("x abcdef", 3), ["x", "abc", "def"]);
    }
}
