//! Theme files: TOML in, a theme or an error with file, line and the nearest valid name out.
//!
//! Read through the spanned table, not through serde: errors then point at the line, and the
//! binary carries no derived deserialiser for four keys.

use std::fmt;

use ratatui::style::Color;
use strsim::levenshtein;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{BUILTIN, Kind, NAMED, ROLES, Rgb, Role, Theme};

/// Why a theme could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeError {
    /// The file, or the name that was asked for.
    pub file: String,
    /// Line in it, from 1; `None` where there is no line to blame.
    pub line: Option<usize>,
    /// What is wrong, and the way out.
    pub message: String,
}

impl ThemeError {
    pub(super) fn no_such_theme(name: &str) -> Self {
        let themes = BUILTIN.iter().map(|(name, _)| *name);
        let list = themes.clone().collect::<Vec<_>>().join(", ");
        let message = match nearest(name, themes) {
            Some(near) => format!("no such theme; did you mean \"{near}\"? There are: {list}"),
            None => format!("no such theme or file; there are: {list}"),
        };
        Self { file: name.to_owned(), line: None, message }
    }

    pub(super) fn unreadable(file: &str, why: String) -> Self {
        Self { file: file.to_owned(), line: None, message: why }
    }
}

impl fmt::Display for ThemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "theme {}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for ThemeError {}

/// Bytes of the longest theme file that is read.
pub const LIMIT: u64 = 64 << 10;

const KEYS: &[&str] = &["name", "kind", "background", "paint_background", "colors"];

type Item<'a> = (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>);

struct Reader<'a> {
    text: &'a str,
    file: &'a str,
}

pub(super) fn parse(text: &str, file: &str) -> Result<Theme, ThemeError> {
    let reader = Reader { text, file };
    if text.len() as u64 > LIMIT {
        return Err(reader.error(None, format!("longer than {LIMIT} bytes; is it a theme?")));
    }
    let table = DeTable::parse(text).map_err(|error| {
        reader.error(error.span().map(|span| span.start), error.message().into())
    })?;
    reader.theme(table.get_ref())
}

impl Reader<'_> {
    fn theme(&self, table: &DeTable<'_>) -> Result<Theme, ThemeError> {
        let mut name = self.file.to_owned();
        let mut kind = Kind::Dark;
        let mut background = Color::Reset;
        let mut paint = false;
        let mut named = [None; Role::COUNT];
        for item @ (key, value) in table {
            match key.get_ref().as_ref() {
                "name" => name = self.string(item)?.to_owned(),
                "kind" => kind = self.kind(item)?,
                "background" => background = self.color(item)?,
                "paint_background" => paint = self.boolean(item)?,
                "colors" => named = self.colors(value)?,
                other => {
                    return Err(self.unknown(key.span().start, "key", other, KEYS.iter().copied()));
                }
            }
        }
        Ok(Theme::new(name, kind, background, self.resolve(&named)?).painted(paint))
    }

    fn colors(
        &self,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<[Option<Color>; Role::COUNT], ThemeError> {
        let mut named = [None; Role::COUNT];
        let table = value.get_ref().as_table();
        let table = table.ok_or_else(|| self.expected(value, "colors", "a table"))?;
        for item @ (key, _) in table {
            let id = key.get_ref().as_ref();
            let role = Role::from_id(id).ok_or_else(|| {
                self.unknown(key.span().start, "role", id, ROLES.iter().map(|info| info.id))
            })?;
            named[role as usize] = Some(self.color(item)?);
        }
        Ok(named)
    }

    fn resolve(
        &self,
        named: &[Option<Color>; Role::COUNT],
    ) -> Result<[Color; Role::COUNT], ThemeError> {
        let mut colors = [Color::Reset; Role::COUNT];
        for info in ROLES {
            let own = info.role == info.fallback;
            colors[info.role as usize] = match named[info.role as usize] {
                Some(color) => color,
                None if own => {
                    return Err(self.error(None, format!("[colors] must name \"{}\"", info.id)));
                }
                None => colors[info.fallback as usize],
            };
        }
        Ok(colors)
    }

    fn string<'v>(&self, (key, value): Item<'v>) -> Result<&'v str, ThemeError> {
        value.get_ref().as_str().ok_or_else(|| self.expected(value, key.get_ref(), "a string"))
    }

    fn boolean(&self, (key, value): Item<'_>) -> Result<bool, ThemeError> {
        value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.expected(value, key.get_ref(), "true or false"))
    }

    fn kind(&self, item: Item<'_>) -> Result<Kind, ThemeError> {
        match self.string(item)? {
            "dark" => Ok(Kind::Dark),
            "light" => Ok(Kind::Light),
            _ => Err(self.expected(item.1, "kind", "\"dark\" or \"light\"")),
        }
    }

    fn color(&self, item: Item<'_>) -> Result<Color, ThemeError> {
        let text = self.string(item)?;
        let named = NAMED.iter().find(|(name, _)| *name == text).map(|(_, color)| *color);
        if let Some(color) = named.or_else(|| Rgb::parse(text).map(Rgb::color)) {
            return Ok(color);
        }
        let at = item.1.span().start;
        if text.starts_with('#') {
            let text = text.escape_debug();
            return Err(self.error(Some(at), format!("\"{text}\" is no colour: write \"#rrggbb\"")));
        }
        Err(self.unknown(at, "colour", text, NAMED.iter().map(|(name, _)| *name)))
    }

    fn expected(&self, value: &Spanned<DeValue<'_>>, key: &str, what: &str) -> ThemeError {
        self.error(Some(value.span().start), format!("\"{key}\" must be {what}"))
    }

    fn unknown(
        &self,
        at: usize,
        what: &str,
        name: &str,
        valid: impl Iterator<Item = &'static str>,
    ) -> ThemeError {
        let hint = nearest(name, valid).map(|near| format!("; did you mean \"{near}\"?"));
        let name = name.escape_debug();
        self.error(Some(at), format!("unknown {what} \"{name}\"{}", hint.unwrap_or_default()))
    }

    fn error(&self, at: Option<usize>, message: String) -> ThemeError {
        let line =
            at.map(|at| 1 + self.text.bytes().take(at).filter(|byte| *byte == b'\n').count());
        ThemeError { file: self.file.to_owned(), line, message }
    }
}

/// The valid name that is fewest edits away, if it is near enough to have been meant.
fn nearest(name: &str, valid: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    if name.len() > 64 {
        return None;
    }
    let (edits, near) =
        valid.map(|valid| (levenshtein(name, valid), valid)).min_by_key(|(edits, _)| *edits)?;
    (edits <= 1 + near.len() / 4).then_some(near)
}
