//! How things look, and the configuration that says so.

use std::ffi::OsString;
use std::path::PathBuf;

use strum::{EnumString, VariantNames};

use super::spec::{Arg, ArgSpec, EnvRule, option, switch};
use crate::config::value::Kind;

/// Tabs the dashboard may start on.
const TABS: &[&str] = &["overview", "compat", "bench", "processes", "history"];

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum ColorChoice {
    /// As the terminal can.
    Auto,
    /// Also when output is no terminal.
    Always,
    /// Not at all.
    Never,
}

args! {
    THEME: OsString = option("theme", "NAME", Kind::Path)
        .default("auto")
        .variable("WARPSCOPE_THEME")
        .key("theme")
        .key_help("Theme by name; auto follows COLORFGBG and is dark without it")
        .help("Theme by name or file; auto follows COLORFGBG and is dark without it");
    COLOR: ColorChoice = option("color", "WHEN", ColorChoice::KIND)
        .default("auto")
        .variable("WARPSCOPE_COLOR")
        .implied_by(&[("NO_COLOR", EnvRule::Means("never")), ("CLICOLOR_FORCE", EnvRule::OneShotMeans("always"))])
        .key("color")
        .key_help("When to use colour")
        .help("When to use colour; auto asks the terminal");
    ASCII: bool = switch(&[("ascii", "on"), ("no-ascii", "off")])
        .variable("WARPSCOPE_ASCII")
        .key("ascii")
        .help("Draw with ASCII characters only");
    MOUSE: bool = switch(&[("no-mouse", "off"), ("mouse", "on")])
        .default("on")
        .variable("WARPSCOPE_MOUSE")
        .key("mouse")
        .key_help("Use the mouse")
        .help("Leave the mouse to the terminal");
    START_TAB: String = option("tab", "NAME", Kind::OneOf(TABS))
        .default("overview")
        .variable("WARPSCOPE_TAB")
        .key("start_tab")
        .help("Tab to start on");
    READONLY: bool = switch(&[("readonly", "on"), ("no-readonly", "off")])
        .variable("WARPSCOPE_READONLY")
        .key("readonly")
        .help("Never send a signal to a process");
    INSPECT: bool = switch(&[("no-inspect", "off"), ("inspect", "on")])
        .default("on")
        .variable("WARPSCOPE_INSPECT")
        .key("inspect")
        .key_help("Scan in the background for installed packages and the GPUs their binaries support")
        .help("Do not scan for installed packages in the background; the key i does");
    CONFIG: Option<PathBuf> = option("config", "PATH", Kind::Path)
        .variable("WARPSCOPE_CONFIG")
        .help("Read this configuration file instead of the default one; it must exist");
}
