use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use warpscope_probes::bounded::{self, Accept};

use crate::widgets::glyphs::Glyphs;
use crate::widgets::theme::{ColorDepth, Theme};
use crate::widgets::{Look, theme};

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
pub struct Appearance {
    name: OsString,
    /// Colours by meaning.
    pub theme: Theme,
    /// Every character that is not a letter.
    pub glyphs: &'static Glyphs,
}

impl Appearance {
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
