use std::path::PathBuf;

use ratatui::layout::{Position, Rect};

use super::glyphs::Glyphs;
use super::theme::{ColorDepth, Theme};
use super::widgets::Look;
use crate::app::Hit;

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

/// How everything looks: the theme at this terminal's depth, and the glyphs.
#[derive(Debug)]
pub struct Skin {
    name: String,
    /// Colours by meaning.
    pub theme: Theme,
    /// Every character that is not a letter.
    pub glyphs: &'static Glyphs,
}

impl Skin {
    /// The theme with this name or path; the default one when it cannot be read, which the
    /// command line has refused before.
    pub fn new(options: &LookOptions, theme: &str) -> Self {
        let read = |path: &std::path::Path| std::fs::read_to_string(path).ok();
        let found = Theme::load(theme, &options.folders, read).unwrap_or_default();
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
    pub fn theme_name(&self) -> &str {
        &self.name
    }
}

/// What can be clicked, where.
#[derive(Debug, Default)]
pub struct Hits(Vec<(Rect, Hit)>);

impl Hits {
    /// Makes an area clickable; a later one lies over an earlier one.
    pub fn add(&mut self, area: Rect, hit: Hit) {
        self.0.push((area, hit));
    }

    /// Puts everything so far out of reach, as a popup does; tabs stay.
    pub fn cover(&mut self) {
        self.0.retain(|(_, hit)| matches!(hit, Hit::Tab(_)));
    }

    /// What lies at a cell.
    pub fn at(&self, column: u16, row: u16) -> Option<Hit> {
        let here = Position::new(column, row);
        self.0.iter().rev().find(|(area, _)| area.contains(here)).map(|(_, hit)| *hit)
    }
}
