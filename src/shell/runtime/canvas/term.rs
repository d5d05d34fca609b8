//! What terminals can do, by what `TERM` says they are.

/// Values of `TERM`, up to the first hyphen, of terminals that erase with the background colour in use.
/// GNU screen and what is not listed gets blanks instead.
const ERASES_IN_COLOR: &[&str] = &[
    "alacritty",
    "foot",
    "ghostty",
    "kitty",
    "konsole",
    "linux",
    "rxvt",
    "tmux",
    "wezterm",
    "xterm",
];

/// Values of `TERM`, up to the first hyphen, of terminals that print what they do not understand, or cannot follow a link.
const WITHOUT_LINKS: &[&str] = &["", "ansi", "dumb", "linux", "vt100", "vt220"];

/// Whether a terminal of this `TERM` erases with the background colour in use.
pub(crate) fn erases_in_color(term: &str) -> bool {
    ERASES_IN_COLOR.contains(&term.split('-').next().unwrap_or_default())
}

/// Whether a terminal of this `TERM` may be sent links (OSC 8). Those that do not know them pass over them.
pub(crate) fn knows_links(term: &str) -> bool {
    !WITHOUT_LINKS.contains(&term.split('-').next().unwrap_or_default())
}
