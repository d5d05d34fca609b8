//! Colours by meaning. Drawing code names a [`Role`] and never a colour.
//!
//! A theme is resolved once, for one colour depth, into flat arrays: looking a style up while
//! drawing is an array access. Reading the files is left to the caller, so that this stays pure.

mod depth;
mod file;
mod rgb;
mod role;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ratatui::style::{Color, Modifier, Style};

pub use depth::{COLOR_CHOICES, ColorChoice, ColorDepth, ColorFacts};
pub use file::{LIMIT, ThemeError};
pub(crate) use rgb::ansi_index;
pub use rgb::{NAMED, Rgb};
pub use role::{RAMPS, ROLES, Ramp, Role, RoleInfo};

/// The themes that come with the program: name and text.
pub const BUILTIN: &[(&str, &str)] = &[
    ("dark", include_str!("../../../themes/dark.toml")),
    ("light", include_str!("../../../themes/light.toml")),
    ("contrast", include_str!("../../../themes/contrast.toml")),
    ("colorblind", include_str!("../../../themes/colorblind.toml")),
    ("dusk", include_str!("../../../themes/dusk.toml")),
    ("terminal", include_str!("../../../themes/terminal.toml")),
];

/// Whether a theme is made for a dark or a light background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Light text on dark.
    Dark,
    /// Dark text on light.
    Light,
}

const STEPS: usize = 32;

/// A theme, resolved for one colour depth.
#[derive(Clone, Debug)]
pub struct Theme {
    name: String,
    kind: Kind,
    background: Color,
    paint: bool,
    depth: ColorDepth,
    declared: [Color; Role::COUNT],
    styles: [Style; Role::COUNT],
    ramps: [[Style; STEPS]; RAMPS.len()],
    selection: Style,
}

impl Theme {
    /// The built-in theme with this name.
    pub fn builtin(name: &str) -> Option<Self> {
        let (file, text) = BUILTIN.iter().find(|(builtin, _)| *builtin == name)?;
        Some(Self::parse(text, file).expect("built-in themes are tested to parse"))
    }

    /// Reads the text of a theme file; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, ThemeError> {
        file::parse(text, file)
    }

    /// The theme with this name or at this path. A file `<name>.toml` in one of `folders` comes
    /// before a built-in theme of the same name. `read` gives the text of a file, if it exists, or
    /// says why it cannot be read.
    pub fn load(
        choice: impl AsRef<OsStr>,
        folders: &[PathBuf],
        read: impl Fn(&Path) -> Result<Option<String>, String>,
    ) -> Result<Self, ThemeError> {
        let choice = choice.as_ref();
        for path in candidates(choice, folders) {
            let file = path.display().to_string();
            if let Some(text) = read(&path).map_err(|why| ThemeError::unreadable(&file, why))? {
                return Self::parse(&text, &file);
            }
        }
        let name = choice.to_string_lossy();
        Self::builtin(&name).ok_or_else(|| ThemeError::no_such_theme(&name))
    }

    fn new(name: String, kind: Kind, background: Color, declared: [Color; Role::COUNT]) -> Self {
        let theme = Self {
            name,
            kind,
            background,
            paint: false,
            depth: ColorDepth::TrueColor,
            declared,
            styles: [Style::new(); Role::COUNT],
            ramps: [[Style::new(); STEPS]; RAMPS.len()],
            selection: Style::new(),
        };
        theme.at_depth(ColorDepth::TrueColor)
    }

    /// The same theme for a terminal with this many colours.
    #[must_use]
    pub fn at_depth(mut self, depth: ColorDepth) -> Self {
        self.depth = depth;
        for info in ROLES {
            let bright = self.kind == Kind::Dark;
            let color = depth.degrade(self.declared[info.role as usize], bright);
            let plain = if color == Color::Reset { info.plain } else { Modifier::empty() };
            let always = if info.role == Role::Title { Modifier::BOLD } else { Modifier::empty() };
            self.styles[info.role as usize] = Style::new().fg(color).add_modifier(plain | always);
        }
        self.selection = self.resolve_selection();
        for (ramp, stops) in RAMPS {
            self.ramps[*ramp as usize] = std::array::from_fn(|step| self.resolve_ramp(stops, step));
        }
        self
    }

    /// The same theme, painting its background or leaving it to the terminal.
    #[must_use]
    pub fn painted(mut self, paint: bool) -> Self {
        self.paint = paint;
        self
    }

    /// A line that is selected. Sixteen unknown colours promise no contrast, so it is reversed there.
    fn resolve_selection(&self) -> Style {
        let [fg, bg] =
            [Role::SelectionFg, Role::SelectionBg].map(|role| self.declared[role as usize]);
        if self.depth <= ColorDepth::Ansi16 || bg == Color::Reset {
            return Style::new().fg(Color::Reset).bg(Color::Reset).add_modifier(Modifier::REVERSED);
        }
        Style::new().fg(self.depth.degrade(fg, true)).bg(self.depth.degrade(bg, true))
    }

    /// Where the stops have no known mixture, the ramp has three steps: to 60%, to 85%, above.
    fn resolve_ramp(&self, stops: &[Role; 3], step: usize) -> Style {
        let share = step as f64 / (STEPS - 1) as f64;
        let rgb = stops.map(|role| match self.declared[role as usize] {
            Color::Rgb(r, g, b) => Some(Rgb(r, g, b)),
            _ => None,
        });
        match rgb {
            [Some(low), Some(mid), Some(high)] if self.depth >= ColorDepth::Indexed256 => {
                let mixed = if share < 0.5 {
                    low.mix(mid, share * 2.0)
                } else {
                    mid.mix(high, share * 2.0 - 1.0)
                };
                Style::new().fg(self.depth.degrade(mixed.color(), true))
            }
            _ => self.style(stops[usize::from(share > 0.6) + usize::from(share > 0.85)]),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Dark or light.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The colours it is resolved for.
    pub fn depth(&self) -> ColorDepth {
        self.depth
    }

    /// How text with this meaning is drawn. Sets no background.
    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    /// How a share of a whole is drawn; beyond 0 and 1 the ends.
    pub fn ramp(&self, ramp: Ramp, share: f32) -> Style {
        // A NaN casts to 0.
        let step = (share * (STEPS - 1) as f32 + 0.5) as usize;
        self.ramps[ramp as usize][step.min(STEPS - 1)]
    }

    /// How a selected line is drawn, over whatever its cells were.
    pub fn selection(&self) -> Style {
        self.selection
    }

    /// What an empty screen is filled with.
    pub fn base(&self) -> Style {
        let paint = self.paint && self.depth >= ColorDepth::Indexed256;
        let background =
            if paint { self.depth.degrade(self.background, false) } else { Color::Reset };
        self.style(Role::Text).bg(background)
    }

    /// Foreground and background for pictures, where no terminal stands behind.
    pub fn backdrop(&self) -> (Rgb, Rgb) {
        let (text, background) = match self.kind {
            Kind::Dark => (Rgb(0xd4, 0xd9, 0xe1), Rgb(0x0f, 0x11, 0x15)),
            Kind::Light => (Rgb(0x1f, 0x24, 0x2d), Rgb(0xfc, 0xfc, 0xfd)),
        };
        let declared = self.declared[Role::Text as usize];
        (Rgb::of(declared).unwrap_or(text), Rgb::of(self.background).unwrap_or(background))
    }
}

impl Default for Theme {
    fn default() -> Self {
        Self::builtin(BUILTIN[0].0).expect("the first built-in theme exists")
    }
}

/// The built-in theme after the one with this name; the first one after a theme of the user's own.
pub fn next(name: &OsStr) -> &'static str {
    let at = BUILTIN.iter().position(|(builtin, _)| *builtin == name).map_or(0, |at| at + 1);
    BUILTIN[at % BUILTIN.len()].0
}

/// Files to try for a choice, in order: the path itself, or the name in each folder.
fn candidates(choice: &OsStr, folders: &[PathBuf]) -> Vec<PathBuf> {
    let path = Path::new(choice);
    let has_folder = choice.as_encoded_bytes().contains(&b'/');
    if has_folder || path.extension().is_some_and(|end| end == "toml") {
        return vec![path.to_owned()];
    }
    let mut file = choice.to_owned();
    file.push(".toml");
    folders.iter().map(|folder| folder.join(&file)).collect()
}
