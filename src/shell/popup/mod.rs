//! What lies over a tab. Most popups are pages: lines of text that scroll.

mod choices;
mod help;
mod notices;

use crate::features::{compat, history, overview, processes};
use std::borrow::Cow;
use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::sheet::Sheet;
use crate::shell::draw::Hits;
use crate::shell::view::Popup;
use crate::shell::{App, Shown};
use crate::text::{clean, clean_lines};
use crate::widgets::Popup as Frame;
use crate::widgets::theme::Role;
use crate::widgets::{Look, Piece, pieces_width};

/// A page: its title and its lines for a width.
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) lines: Vec<Line<'static>>,
}

/// Draws the open popup over the body.
pub(crate) fn render(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let Some(popup) = &app.view.popup else { return };
    let width = usize::from(area.width.saturating_sub(6)).clamp(10, 100);
    let page = match popup {
        Popup::Help { .. } => help::page(app, look),
        Popup::Gpu { key, .. } => overview::details::page(app, look, key, width),
        Popup::Why { scroll, fix, follow } => {
            let set = (*scroll, *fix, *follow);
            return compat::why::render(app, look, set, (area, width), buffer, hits);
        }
        Popup::Model { input, state } => {
            return compat::model_popup::render(look, input, state, area, buffer);
        }
        Popup::Notices { .. } => notices::page(app, look, width),
        Popup::Process { pid, gpu, .. } => processes::details::page(app, look, (*pid, gpu), width),
        Popup::Run { run, .. } => history::run::page(app, look, *run, width),
        Popup::Compared { .. } => history::run::compared(app, look, width),
        Popup::Picker { .. } | Popup::Signal { .. } => {
            return choices::render(app, look, area, buffer, hits);
        }
    };
    let title = [look.piece(&page.title, Role::Title)];
    let sheet = Sheet::plain(page.lines);
    draw_sheet(look, &title, &sheet, (scroll_of(popup), None), area, buffer, hits);
}

fn scroll_of(popup: &Popup) -> usize {
    match popup {
        Popup::Help { scroll }
        | Popup::Gpu { scroll, .. }
        | Popup::Why { scroll, .. }
        | Popup::Notices { scroll }
        | Popup::Run { scroll, .. }
        | Popup::Compared { scroll }
        | Popup::Process { scroll, .. } => *scroll,
        Popup::Picker { .. } | Popup::Signal { .. } | Popup::Model { .. } => 0,
    }
}

/// Draws a sheet in a popup, from a line on, but so that the lines in `focus` are in view.
pub(crate) fn draw_sheet(
    look: Look<'_>,
    title: &[Piece<'_>],
    sheet: &Sheet,
    (scroll, focus): (usize, Option<Range<usize>>),
    area: Rect,
    buffer: &mut Buffer,
    hits: &mut Hits,
) {
    let lines = &sheet.lines;
    let widest = lines.iter().map(Line::width).max().unwrap_or(0);
    let widest = u16::try_from(widest).unwrap_or(u16::MAX).max(pieces_width(title));
    let size = (widest.saturating_add(4), rows(lines.len()));
    let visible = usize::from(size.1.min(area.height).saturating_sub(2));
    let first = match focus {
        Some(focus) if focus.start < scroll => focus.start,
        Some(focus) => scroll.max(focus.end.saturating_sub(visible)).min(focus.start),
        None => scroll,
    };
    let first = first.min(lines.len().saturating_sub(visible));
    let more = lines.len() - first - visible.min(lines.len() - first);
    let more = format!("{more} more");
    let foot = [look.piece(&more, Role::Muted)];
    let foot = if more.starts_with("0 ") { &foot[..0] } else { &foot[..] };
    let inner = Frame::new(look, size.0, size.1)
        .titled(|card| card.left(title).foot(foot))
        .render(area, buffer);
    sheet.draw(first, inner, buffer, hits);
    hits.show(Shown { line: first, lines: visible, column: 0 });
}

fn rows(lines: usize) -> u16 {
    u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2)
}

/// Breaks text into lines of at most `width` cells between words; a word that is longer is cut.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in clean_lines(text).lines() {
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
pub(crate) fn section(
    look: Look<'_>,
    label: &str,
    text: &str,
    role: Role,
    width: usize,
) -> Vec<Line<'static>> {
    const INDENT: usize = 10;
    let wrapped = wrap(text, width.saturating_sub(INDENT)).into_iter().enumerate();
    let line = |(at, text): (usize, String)| {
        let label = if at == 0 { clean(label, false) } else { Cow::default() };
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
