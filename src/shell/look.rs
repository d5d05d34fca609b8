use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ratatui::layout::{Position, Rect};
use warpscope_probes::bounded::{self, Accept};

use crate::shell::{Hit, Shown};
use crate::widgets::Look;
use crate::widgets::glyphs::Glyphs;
use crate::widgets::theme;
use crate::widgets::theme::{ColorDepth, Theme};

/// What decides how things look, beside the theme's name.
#[derive(Clone, Debug)]
pub struct LookOptions {
    /// How many colours the terminal shows.
    pub depth: ColorDepth,
    /// Nothing but ASCII.
    pub ascii: bool,
    /// Paint the theme's background instead of leaving it to the terminal.
    pub paint: bool,
    /// Where the user's own themes lie.
    pub folders: Vec<PathBuf>,
}

/// The text of a theme file; nothing where there is none.
pub fn read_theme(path: &Path) -> Result<Option<String>, String> {
    match bounded::text(path, Accept::Pipes, theme::LIMIT) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error.to_string()),
    }
}

/// How everything looks: the theme at this terminal's depth, and the glyphs.
#[derive(Debug)]
pub struct Skin {
    name: OsString,
    /// Colours by meaning.
    pub theme: Theme,
    /// Every character that is not a letter.
    pub glyphs: &'static Glyphs,
}

impl Skin {
    /// The theme with this name or path; the default one when it cannot be read, which the
    /// command line has refused before.
    pub fn new(options: &LookOptions, theme: impl AsRef<OsStr>) -> Self {
        let theme = theme.as_ref();
        let found = Theme::load(theme, &options.folders, read_theme).unwrap_or_default();
        Self {
            name: theme.to_owned(),
            theme: found.at_depth(options.depth).painted(options.paint),
            glyphs: Glyphs::choose(options.ascii),
        }
    }

    /// What widgets draw with.
    pub fn look(&self) -> Look<'_> {
        Look::new(&self.theme, self.glyphs)
    }

    /// The name this look was asked for with.
    pub fn theme_name(&self) -> &OsStr {
        &self.name
    }
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

    /// Puts everything so far out of reach, as a popup does; tabs stay.
    pub fn cover(&mut self) {
        self.places.retain(|(_, hit)| matches!(hit, Hit::Tab(_)));
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
