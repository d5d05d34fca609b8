//! How things look and which keys do what.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::typed::Typed;
use crate::config::Id;

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorChoice {
    /// As the terminal can.
    Auto,
    /// Also when output is no terminal.
    Always,
    /// Not at all.
    Never,
}

/// How things look and which keys do what.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewOptions {
    /// Theme by name.
    pub theme: OsString,
    /// When to use colour.
    pub color: ColorChoice,
    /// ASCII characters only.
    pub ascii: bool,
    /// Whether the mouse is used.
    pub mouse: bool,
    /// Tab to start on, one of [`TABS`](crate::config::TABS).
    pub start_tab: String,
    /// Whether processes may not be signalled.
    pub readonly: bool,
    /// Whether to look at what is installed.
    pub inspect: bool,
    /// Keys by action, as the file has them; the keymap checks them.
    pub keys: BTreeMap<String, Vec<String>>,
}

impl ViewOptions {
    pub(crate) fn of(get: &Typed<'_>, keys: BTreeMap<String, Vec<String>>) -> Self {
        Self {
            theme: get.path(Id::Theme).unwrap_or_default().into_os_string(),
            color: match get.text(Id::Color).as_str() {
                "always" => ColorChoice::Always,
                "never" => ColorChoice::Never,
                _ => ColorChoice::Auto,
            },
            ascii: get.switch(Id::Ascii),
            mouse: get.switch(Id::Mouse),
            start_tab: get.text(Id::StartTab),
            readonly: get.switch(Id::Readonly),
            inspect: get.switch(Id::Inspect),
            keys,
        }
    }
}
