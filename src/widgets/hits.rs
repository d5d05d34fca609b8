//! What a drawing says besides its cells: what can be clicked, what is a link, which part of a page is shown.

use ratatui::layout::{Position, Rect};

/// The part of something that scrolls which a drawing showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// First line.
    pub line: usize,
    /// Number of lines there was room for.
    pub lines: usize,
    /// First column.
    pub column: usize,
}

/// Something on the screen that can be clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A tab's title, by its place.
    Tab(usize),
    /// A row of the tab, or of the popup over it.
    Row(usize),
    /// A cell of a matrix.
    Cell {
        /// Row.
        row: usize,
        /// GPU.
        column: usize,
    },
    /// A GPU: the head of its column, or its line.
    Gpu(usize),
    /// The answer below or beside a matrix.
    Answer,
    /// A way to sort: the head of its column, by its place among all.
    Sort(usize),
    /// A key hint at the bottom, by its place among all.
    Hint(usize),
}

/// A part of one line that leads somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it is drawn.
    pub area: Rect,
    /// Where it leads.
    pub address: String,
}

/// Longest address that is sent: what a terminal keeps per link.
const LONGEST_ADDRESS: usize = 1024;

/// Whether an address is an https URL of characters that mean nothing to a terminal.
///
/// The list is RFC 3986's without those that a terminal, a shell or a URL parser may take for something else.
pub(crate) fn is_safe(address: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&+,;=%()".contains(&byte);
    let host = address.strip_prefix("https://").and_then(|rest| rest.split(['/', '?', '#']).next());
    let named = |host: &str| {
        host.contains('.')
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:".contains(&byte))
    };
    address.len() <= LONGEST_ADDRESS && host.is_some_and(named) && address.bytes().all(plain)
}

/// What can be clicked, where, and what the drawing has to tell besides.
#[derive(Debug, Default)]
pub struct Hits {
    places: Vec<(Rect, Hit)>,
    links: Vec<Link>,
    shown: Option<Shown>,
    has_details: bool,
}

impl Hits {
    /// Makes an area clickable; a later one lies over an earlier one.
    pub fn add(&mut self, area: Rect, hit: Hit) {
        self.places.push((area, hit));
    }

    /// Makes an area on one line a link of the terminal, if the address is one that can be sent to any.
    pub fn link(&mut self, area: Rect, address: &str) {
        if area.height == 1 && area.width > 0 && is_safe(address) {
            self.links.push(Link { area, address: address.to_owned() });
        }
    }

    /// Every link.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Tells which part of something that scrolls is shown, so that the next drawing can start from there.
    pub fn show(&mut self, part: Shown) {
        self.shown = Some(part);
    }

    /// The part that is shown of what scrolls, if something does.
    pub fn shown(&self) -> Option<Shown> {
        self.shown
    }

    /// Tells that values are shown which no summary has, so that they have to be as young as the rest.
    pub fn show_details(&mut self) {
        self.has_details = true;
    }

    /// Whether such values are shown.
    pub fn has_details(&self) -> bool {
        self.has_details
    }

    /// Puts everything so far out of reach, as a popup does; tabs and key hints stay.
    pub fn cover(&mut self) {
        self.places.retain(|(_, hit)| matches!(hit, Hit::Tab(_) | Hit::Hint(_)));
        self.links.clear();
        self.shown = None;
    }

    /// What lies at a cell.
    pub fn at(&self, column: u16, row: u16) -> Option<Hit> {
        let here = Position::new(column, row);
        self.places.iter().rev().find(|(area, _)| area.contains(here)).map(|(_, hit)| *hit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_https_addresses_become_links() {
        for good in [
            "https://github.com/vllm-project/vllm/issues/19542",
            "https://docs.nvidia.com/cuda/?a=b#sec-1",
            "https://huggingface.co/THUDM/glm-4-9b/discussions/1",
        ] {
            assert!(is_safe(good), "{good}");
        }
        for bad in [
            "http://example.com",
            "file:///etc/passwd",
            "https://",
            "https:///etc/passwd",
            "https://localhost/x",
            "https://user@evil.example.com/",
            "https://example.com/a b",
            "https://example.com/\x1b]8;;https://evil.com",
            "https://example.com/\x07",
            "https://example.com/\u{202e}gpj.exe",
            "https://ex\u{e4}mple.com/",
        ] {
            assert!(!is_safe(bad), "{bad:?}");
        }
        assert!(!is_safe(&format!("https://example.com/{}", "a".repeat(LONGEST_ADDRESS))));
    }

    #[test]
    fn a_popup_covers_links_and_what_can_be_clicked_but_the_tabs() {
        let mut hits = Hits::default();
        let line = Rect::new(0, 0, 4, 1);
        hits.add(line, Hit::Row(1));
        hits.link(line, "https://example.com/a");
        hits.link(Rect { height: 2, ..line }, "https://example.com/a");
        let part = Shown { line: 3, lines: 5, column: 4 };
        hits.show(part);
        assert_eq!((hits.links().len(), hits.shown()), (1, Some(part)));
        hits.cover();
        assert_eq!((hits.at(0, 0), hits.links(), hits.shown()), (None, &[][..], None));
    }
}
