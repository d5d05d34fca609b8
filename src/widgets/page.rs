//! Lines of text of which parts lead somewhere: written once, drawn in a pane or in a popup.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use warpscope_probes::text::printable;

use super::hits::is_safe;
use super::wrap::{chop, wrap};
use super::{Hit, Hits, Look, Popup, Shown, StyledText, Surface, pieces_width, text_width};
use crate::text::clean_lines;
use crate::widgets::theme::Role;

/// Columns of the labels on the left.
const INDENT: usize = 10;

/// Lines, and which parts of them are links or can be clicked.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// The lines.
    pub(crate) lines: Vec<Line<'static>>,
    /// Line, columns and address of each link.
    links: Vec<(usize, Range<u16>, String)>,
    /// Lines that can be clicked.
    hits: Vec<(Range<usize>, Hit)>,
}

impl Page {
    /// Lines that lead nowhere.
    pub(crate) fn plain(lines: Vec<Line<'static>>) -> Self {
        Self { lines, ..Self::default() }
    }

    /// Puts another page below.
    pub(crate) fn append(&mut self, below: Self) {
        let from = self.lines.len();
        self.lines.extend(below.lines);
        self.links.extend(below.links.into_iter().map(|(at, span, link)| (at + from, span, link)));
        self.hits
            .extend(below.hits.into_iter().map(|(at, hit)| (at.start + from..at.end + from, hit)));
    }

    /// Keeps the first lines only; what was cut off shows as an ellipsis within `width`.
    pub(crate) fn cut(&mut self, most: usize, look: Look<'_>, width: usize) {
        if self.lines.len() <= most {
            return;
        }
        self.lines.truncate(most);
        self.links.retain(|(at, ..)| *at < most);
        let Some(last) = self.lines.last_mut() else { return };
        while last.width() >= width.max(1) {
            let Some(span) = last.spans.last_mut().filter(|span| !span.content.is_empty()) else {
                break;
            };
            span.content.to_mut().pop();
        }
        last.push_span(Span::styled(look.glyphs.ellipsis, look.style(Role::Muted)));
    }

    /// Makes lines clickable.
    pub(crate) fn clickable(&mut self, lines: Range<usize>, hit: Hit) {
        self.hits.push((lines, hit));
    }

    /// The lines that lead to something.
    pub(crate) fn lines_of(&self, hit: Hit) -> Option<Range<usize>> {
        self.hits.iter().find(|(_, other)| *other == hit).map(|(lines, _)| lines.clone())
    }

    /// Draws from a line on; tells what can be clicked.
    pub(crate) fn draw(&self, first: usize, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
        for (line, y) in self.lines.iter().skip(first).zip(area.top()..area.bottom()) {
            buffer.set_line(area.x, y, line, area.width);
        }
        let place = |at: usize| {
            let below = u16::try_from(at.checked_sub(first)?).ok()?;
            (below < area.height).then(|| Rect { y: area.y + below, height: 1, ..area })
        };
        for (at, hit) in
            self.hits.iter().flat_map(|(lines, hit)| lines.clone().map(move |at| (at, hit)))
        {
            if let Some(line) = place(at) {
                hits.add(line, *hit);
            }
        }
        for (at, span, address) in &self.links {
            if let Some(line) = place(*at) {
                let x = area.x.saturating_add(span.start);
                let width = span.end.saturating_sub(span.start);
                hits.link(Rect { x, width, ..line }.intersection(line), address);
            }
        }
    }
}

/// Writes a page of a width.
pub(crate) struct PageWriter<'a> {
    /// Theme and glyphs.
    pub(crate) look: Look<'a>,
    /// Columns of a line.
    pub(crate) width: usize,
    /// What is written so far.
    pub(crate) page: Page,
}

impl<'a> PageWriter<'a> {
    pub(crate) fn new(look: Look<'a>, width: usize) -> Self {
        Self { look, width, page: Page::default() }
    }

    /// An empty line.
    pub(crate) fn gap(&mut self) {
        self.page.lines.push(Line::default());
    }

    /// A heading, with an empty line before it.
    pub(crate) fn heading(&mut self, text: &str) {
        self.gap();
        let style = self.look.style(Role::Header);
        self.page.lines.push(Line::styled(printable(text), style));
    }

    /// A paragraph beside its label; nothing for an empty text.
    pub(crate) fn labelled(&mut self, label: &str, text: &str, role: Role) {
        let label = [(label, self.look.style(Role::Muted))];
        self.beside(&label, INDENT, text, self.look.style(role));
    }

    /// A paragraph that begins at a column, with something before its first line.
    pub(crate) fn beside(
        &mut self,
        before: &[(&str, Style)],
        indent: usize,
        text: &str,
        style: Style,
    ) {
        for (at, part) in wrap(text, self.width.saturating_sub(indent)).into_iter().enumerate() {
            let mut spans = Vec::new();
            if at == 0 {
                spans.extend(
                    before.iter().map(|(text, style)| Span::styled((*text).to_owned(), *style)),
                );
            }
            let taken: usize = spans.iter().map(Span::width).sum();
            spans.push(Span::raw(" ".repeat(indent.saturating_sub(taken))));
            spans.push(Span::styled(part, style));
            self.page.lines.push(Line::from(spans));
        }
    }

    /// Where something can be read: parts divided by semicolons, addresses among them as links.
    pub(crate) fn sources(&mut self, text: &str, indent: usize) {
        for part in text.split("; ").map(str::trim).filter(|part| !part.is_empty()) {
            let from = self.page.lines.len();
            let safe = is_safe(part);
            let role = if safe { Role::Info } else { Role::Muted };
            self.beside(&[], indent, part, self.look.style(role));
            let lines = self.page.lines.iter().enumerate().skip(from).filter(|_| safe);
            let links = lines.map(|(at, line)| {
                let text = line.spans.last().map_or(0, |span| text_width(&span.content));
                let start = indent.min(usize::from(u16::MAX)) as u16;
                (at, start..start.saturating_add(text), part.to_owned())
            });
            let links: Vec<_> = links.collect();
            self.page.links.extend(links);
        }
    }

    /// Text to paste beside its label, its blanks as they are; what is longer than a line goes on below.
    pub(crate) fn pasted(&mut self, label: &str, text: &str, style: Style) {
        let from = self.page.lines.len();
        self.verbatim(text, INDENT, style);
        if let Some(first) = self.page.lines.get_mut(from) {
            let label = Span::styled(format!("{label:<INDENT$}"), self.look.style(Role::Muted));
            first.spans[0] = label;
        }
    }

    /// Text to paste, its blanks as they are; what is longer than a line goes on below.
    pub(crate) fn verbatim(&mut self, text: &str, indent: usize, style: Style) {
        for line in clean_lines(text).lines() {
            for part in chop(line, self.width.saturating_sub(indent).max(1)) {
                let part = Span::styled(part, style);
                self.page.lines.push(Line::from(vec![Span::raw(" ".repeat(indent)), part]));
            }
        }
    }
}

/// Draws a page in a popup, from a line on, but so that the lines in `focus` are in view.
pub(crate) fn draw_page(
    title: &[StyledText<'_>],
    page: &Page,
    (scroll, focus): (usize, Option<Range<usize>>),
    on: Surface<'_>,
) {
    let Surface { look, area, buffer, hits } = on;
    let lines = &page.lines;
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
    let inner = Popup::new(look, size.0, size.1)
        .titled(|card| card.left(title).foot(foot))
        .render(area, buffer);
    page.draw(first, inner, buffer, hits);
    hits.show(Shown { line: first, lines: visible, column: 0 });
}

/// A title, and plain lines below it.
pub(crate) type Titled = (String, Vec<Line<'static>>);

/// Draws plain lines in a popup, from a line on.
pub(crate) fn draw_text((title, lines): Titled, scroll: usize, on: Surface<'_>) {
    let title = [on.look.piece(&title, Role::Title)];
    draw_page(&title, &Page::plain(lines), (scroll, None), on);
}

fn rows(lines: usize) -> u16 {
    u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widgets::glyphs::Glyphs;
    use crate::widgets::theme::Theme;

    fn written(source: &str, width: usize) -> (Vec<String>, Vec<(Rect, String)>) {
        let theme = Theme::default();
        let mut writer = PageWriter::new(Look::new(&theme, Glyphs::unicode()), width);
        writer.sources(source, 2);
        let area = Rect::new(0, 0, width as u16, 10);
        let (mut buffer, mut hits) = (Buffer::empty(area), Hits::default());
        writer.page.draw(0, area, &mut buffer, &mut hits);
        let text = crate::widgets::svg::text(&buffer);
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
        let links = hits.links().iter().map(|link| (link.area, link.address.clone()));
        (lines.map(str::to_owned).collect(), links.collect())
    }

    #[test]
    fn each_source_stands_alone_and_addresses_are_links_over_all_their_lines() {
        let (lines, links) =
            written("a file@x.py; https://example.com/a/long/path; http://x.org", 22);
        assert_eq!(
            lines,
            ["  a file@x.py", "  https://example.com/", "  a/long/path", "  http://x.org"]
        );
        let address = "https://example.com/a/long/path".to_owned();
        let want = [(Rect::new(2, 1, 20, 1), address.clone()), (Rect::new(2, 2, 11, 1), address)];
        assert_eq!(links, want);
    }

    #[test]
    fn a_hostile_source_is_text_and_nothing_else() {
        let (lines, links) = written("https://example.com/\x1b]8;;https://evil.com\x07", 60);
        assert_eq!(lines, ["  https://example.com/\u{fffd}]8;;https://evil.com\u{fffd}"]);
        assert_eq!(links, []);
    }
}
