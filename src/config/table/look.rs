//! How things look, and the configuration that says so.

use super::id::Id;
use super::row::{ArgSpec, EnvRule};
use crate::config::value::Kind;

/// Tabs the dashboard may start on.
pub const TABS: &[&str] = &["overview", "compat", "bench", "processes", "history"];
/// When to use colour.
pub const COLORS: &[&str] = &["auto", "always", "never"];

pub(super) const ROWS: &[ArgSpec] = &[
    ArgSpec {
        default: Some("auto"),
        env: &[("WARPSCOPE_THEME", EnvRule::Value)],
        key: Some("theme"),
        key_help: "Colours by name; auto follows COLORFGBG and is dark without it",
        help: "Colours by name or file; auto follows COLORFGBG and is dark without it",
        ..ArgSpec::option(Id::Theme, "theme", "NAME", Kind::Path)
    },
    ArgSpec {
        default: Some("auto"),
        env: &[
            ("WARPSCOPE_COLOR", EnvRule::Value),
            ("NO_COLOR", EnvRule::Means("never")),
            ("CLICOLOR_FORCE", EnvRule::OneShotMeans("always")),
        ],
        key: Some("color"),
        key_help: "When to use colour",
        help: "When to use colour; auto asks the terminal",
        ..ArgSpec::option(Id::Color, "color", "WHEN", Kind::OneOf(COLORS))
    },
    ArgSpec {
        env: &[("WARPSCOPE_ASCII", EnvRule::Value)],
        key: Some("ascii"),
        key_help: "Draw with ASCII characters only",
        ..ArgSpec::switch(
            Id::Ascii,
            &[("ascii", "on"), ("no-ascii", "off")],
            "Draw with ASCII characters only",
        )
    },
    ArgSpec {
        default: Some("on"),
        env: &[("WARPSCOPE_MOUSE", EnvRule::Value)],
        key: Some("mouse"),
        key_help: "Use the mouse",
        ..ArgSpec::switch(
            Id::Mouse,
            &[("no-mouse", "off"), ("mouse", "on")],
            "Leave the mouse to the terminal",
        )
    },
    ArgSpec {
        default: Some("overview"),
        env: &[("WARPSCOPE_TAB", EnvRule::Value)],
        key: Some("start_tab"),
        key_help: "Tab to start on",
        help: "Tab to start on",
        ..ArgSpec::option(Id::StartTab, "tab", "NAME", Kind::OneOf(TABS))
    },
    ArgSpec {
        env: &[("WARPSCOPE_READONLY", EnvRule::Value)],
        key: Some("readonly"),
        key_help: "Never send a signal to a process",
        ..ArgSpec::switch(
            Id::Readonly,
            &[("readonly", "on"), ("no-readonly", "off")],
            "Never send a signal to a process",
        )
    },
    ArgSpec {
        default: Some("on"),
        env: &[("WARPSCOPE_INSPECT", EnvRule::Value)],
        key: Some("inspect"),
        key_help: "Look in the background at what is installed and which GPUs its binaries run on",
        ..ArgSpec::switch(
            Id::Inspect,
            &[("no-inspect", "off"), ("inspect", "on")],
            "Do not look at what is installed; the key i does",
        )
    },
    ArgSpec {
        env: &[("WARPSCOPE_CONFIG", EnvRule::Value)],
        help: "Read this configuration file instead of the usual one; it must exist",
        ..ArgSpec::option(Id::Config, "config", "PATH", Kind::Path)
    },
];
