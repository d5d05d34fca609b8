//! How many colours the terminal shows: decided once, from values that the caller looked up.

use ratatui::style::Color;

use super::rgb::Rgb;

/// How many colours may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorDepth {
    /// No colour at all; bold, dim, underline and reverse still tell things apart.
    None,
    /// The sixteen colours that the user's terminal defines.
    Ansi16,
    /// The fixed palette of 256.
    Indexed256,
    /// 24 bits.
    TrueColor,
}

/// What the user asked for with `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// Decide by the environment.
    #[default]
    Auto,
    /// Colours even when the output is no terminal or `NO_COLOR` is set.
    Always,
    /// No colours.
    Never,
    /// Exactly this depth.
    Exactly(ColorDepth),
}

/// Values of `--color`, in the order in which help lists them.
pub const COLOR_CHOICES: &[(&str, ColorChoice)] = &[
    ("auto", ColorChoice::Auto),
    ("always", ColorChoice::Always),
    ("never", ColorChoice::Never),
    ("16", ColorChoice::Exactly(ColorDepth::Ansi16)),
    ("256", ColorChoice::Exactly(ColorDepth::Indexed256)),
    ("truecolor", ColorChoice::Exactly(ColorDepth::TrueColor)),
];

/// The facts that decide, as looked up by the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColorFacts<'a> {
    /// `--color`, or the configuration's `color`.
    pub choice: ColorChoice,
    /// `NO_COLOR`; any value but an empty one counts (no-color.org).
    pub no_color: Option<&'a str>,
    /// `COLORTERM`.
    pub colorterm: Option<&'a str>,
    /// `TERM`.
    pub term: Option<&'a str>,
    /// Whether the output is a terminal.
    pub is_terminal: bool,
}

/// Values of `TERM` that promise 24 bits without saying so in `COLORTERM`.
const TRUE_COLOR_TERMS: &[&str] =
    &["alacritty", "contour", "foot", "ghostty", "kitty", "rio", "wezterm"];

impl ColorDepth {
    /// The depth to use. An explicit choice wins over the environment.
    pub fn detect(facts: &ColorFacts<'_>) -> Self {
        let set = |value: Option<&str>| value.is_some_and(|value| !value.is_empty());
        let dumb = facts.term == Some("dumb");
        match facts.choice {
            ColorChoice::Exactly(depth) => depth,
            ColorChoice::Never => Self::None,
            ColorChoice::Auto if set(facts.no_color) || dumb || !facts.is_terminal => Self::None,
            ColorChoice::Auto | ColorChoice::Always => Self::promised(facts).max(Self::Ansi16),
        }
    }

    fn promised(facts: &ColorFacts<'_>) -> Self {
        let term = facts.term.unwrap_or_default();
        let indexed = term.contains("256color");
        let wide = matches!(facts.colorterm, Some("truecolor" | "24bit"));
        if term.starts_with("screen") {
            // GNU screen passes COLORTERM on without passing the colours on.
            return if indexed || wide { Self::Indexed256 } else { Self::Ansi16 };
        }
        if wide
            || term.ends_with("-direct")
            || TRUE_COLOR_TERMS.iter().any(|name| term.contains(name))
        {
            Self::TrueColor
        } else if indexed {
            Self::Indexed256
        } else {
            Self::Ansi16
        }
    }

    /// The colour as this depth can show it. `bright` picks the bright half of the sixteen.
    pub fn degrade(self, color: Color, bright: bool) -> Color {
        match (self, color) {
            (Self::None, _) => Color::Reset,
            (Self::TrueColor, color) => color,
            (Self::Indexed256, Color::Rgb(r, g, b)) => {
                Color::Indexed(Rgb(r, g, b).nearest_indexed())
            }
            (Self::Ansi16, Color::Rgb(r, g, b)) => Rgb(r, g, b).nearest_ansi(bright),
            (_, color) => color,
        }
    }
}

impl ColorChoice {
    /// Reads a value of `--color`.
    pub fn parse(text: &str) -> Option<Self> {
        COLOR_CHOICES.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides_unless_told_otherwise() {
        use ColorDepth::{Ansi16, Indexed256, None as Mono, TrueColor};
        let xterm = ColorFacts { term: Some("xterm"), is_terminal: true, ..ColorFacts::default() };
        let choice = |name| ColorChoice::parse(name).unwrap();
        let rows = [
            (xterm, Ansi16),
            (ColorFacts { term: Some("xterm-256color"), ..xterm }, Indexed256),
            (ColorFacts { term: Some("xterm-kitty"), ..xterm }, TrueColor),
            (ColorFacts { term: Some("xterm-direct"), ..xterm }, TrueColor),
            (ColorFacts { colorterm: Some("truecolor"), ..xterm }, TrueColor),
            (ColorFacts { colorterm: Some("24bit"), ..xterm }, TrueColor),
            (ColorFacts { colorterm: Some("yes"), ..xterm }, Ansi16),
            (
                ColorFacts { colorterm: Some("truecolor"), term: Some("screen"), ..xterm },
                Indexed256,
            ),
            (ColorFacts { term: None, ..xterm }, Ansi16),
            (ColorFacts { term: Some("dumb"), colorterm: Some("truecolor"), ..xterm }, Mono),
            (ColorFacts { no_color: Some("1"), colorterm: Some("truecolor"), ..xterm }, Mono),
            (ColorFacts { no_color: Some(""), ..xterm }, Ansi16),
            (ColorFacts { is_terminal: false, ..xterm }, Mono),
            (
                ColorFacts {
                    choice: choice("always"),
                    is_terminal: false,
                    no_color: Some("1"),
                    ..xterm
                },
                Ansi16,
            ),
            (ColorFacts { choice: choice("never"), colorterm: Some("truecolor"), ..xterm }, Mono),
            (ColorFacts { choice: choice("256"), no_color: Some("1"), ..xterm }, Indexed256),
            (ColorFacts { choice: choice("truecolor"), term: Some("dumb"), ..xterm }, TrueColor),
        ];
        for (facts, want) in rows {
            assert_eq!(ColorDepth::detect(&facts), want, "{facts:?}");
        }
        assert_eq!(ColorChoice::parse("yes"), None);
    }
}
