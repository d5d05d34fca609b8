//! How things look, and the configuration that says so.

use std::ffi::OsString;
use std::path::PathBuf;

use strum::{EnumString, VariantNames};

use super::spec::{Arg, ArgSpec, EnvRule, option, switch};
use crate::config::value::Kind;

/// Tabs the dashboard may start on.
const TABS: &[&str] = &["overview", "compat", "bench", "processes", "history", "fleet"];

/// Spans of the graphs, as the store keeps them.
const SPANS: &[&str] = &["1min", "5min", "15min", "1h", "6h", "24h"];
/// Panels of Overview that can be left out.
pub const PANEL_WORDS: &[&str] = &["host", "formats", "processes", "none"];
/// Graphs of a GPU.
pub const GRAPH_WORDS: &[&str] =
    &["utilization", "memory", "power", "temperature", "clock", "tensor", "pcie", "nvlink", "none"];
/// Columns of the Processes tab.
pub const COLUMN_WORDS: &[&str] = &[
    "gpu",
    "pid",
    "user",
    "kind",
    "gpu-memory",
    "sm",
    "encoder",
    "decoder",
    "cpu",
    "memory",
    "age",
    "container",
    "uses",
    "command",
];

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
        .setting("WARPSCOPE_THEME", "theme")
        .key_help("Theme by name; auto follows COLORFGBG and is dark without it")
        .help("Theme by name or file; auto follows COLORFGBG and is dark without it");
    COLOR: ColorChoice = option("color", "WHEN", ColorChoice::KIND)
        .default("auto")
        .setting("WARPSCOPE_COLOR", "color")
        .implied_by(&[("NO_COLOR", EnvRule::Means("never")), ("CLICOLOR_FORCE", EnvRule::OneShotMeans("always"))])
        .key_help("When to use colour")
        .help("When to use colour; auto asks the terminal");
    ASCII: bool = switch(&[("ascii", "on"), ("no-ascii", "off")])
        .setting("WARPSCOPE_ASCII", "ascii")
        .help("Draw with ASCII characters only");
    MOUSE: bool = switch(&[("no-mouse", "off"), ("mouse", "on")])
        .default("on")
        .setting("WARPSCOPE_MOUSE", "mouse")
        .key_help("Use the mouse")
        .help("Leave the mouse to the terminal");
    START_TAB: String = option("tab", "NAME", Kind::OneOf(TABS))
        .default("overview")
        .setting("WARPSCOPE_TAB", "start_tab")
        .help("Tab to start on");
    UNITS: String = option("units", "UNITS", Kind::OneOf(&["binary", "decimal"]))
        .default("binary")
        .setting("WARPSCOPE_UNITS", "units")
        .help("Units of memory: binary (GiB) or decimal (GB)");
    TEMPERATURE: String = option("temperature", "UNIT", Kind::OneOf(&["celsius", "fahrenheit"]))
        .default("celsius")
        .setting("WARPSCOPE_TEMPERATURE", "temperature")
        .help("Unit of temperatures");
    CLOCK: String = option("clock", "ZONE", Kind::OneOf(&["utc", "local"]))
        .default("utc")
        .setting("WARPSCOPE_CLOCK", "clock")
        .help("Time zone of the clock in the header");
    GRAPH_SPAN: String = option("graph-span", "SPAN", Kind::OneOf(SPANS))
        .default("1min")
        .setting("WARPSCOPE_GRAPH_SPAN", "graph_span")
        .help("Time the graphs cover");
    GRAPHS: Vec<String> = option("graphs", "LIST", Kind::AnyOf(GRAPH_WORDS))
        .default("utilization,memory,power,temperature,clock,tensor,pcie,nvlink")
        .setting("WARPSCOPE_GRAPHS", "graphs")
        .help("Graphs of each GPU, comma-separated; as many as fit are drawn");
    PANELS: Vec<String> = option("panels", "LIST", Kind::AnyOf(PANEL_WORDS))
        .default("host,formats,processes")
        .setting("WARPSCOPE_PANELS", "panels")
        .help("Panels shown on Overview beside the GPUs, comma-separated");
    COLUMNS: Vec<String> = option("columns", "LIST", Kind::AnyOf(COLUMN_WORDS))
        .default("gpu,pid,user,kind,gpu-memory,sm,encoder,decoder,cpu,memory,age,container,uses,command")
        .setting("WARPSCOPE_COLUMNS", "columns")
        .help("Columns of the Processes tab in their order, comma-separated");
    READONLY: bool = switch(&[("readonly", "on"), ("no-readonly", "off")])
        .setting("WARPSCOPE_READONLY", "readonly")
        .help("Never send a signal to a process");
    INSPECT: bool = switch(&[("no-inspect", "off"), ("inspect", "on")])
        .default("on")
        .setting("WARPSCOPE_INSPECT", "inspect")
        .key_help("Scan in the background for installed packages and the GPUs their binaries support")
        .help("Do not scan for installed packages in the background; the key i does");
    CONFIG: Option<PathBuf> = option("config", "PATH", Kind::Path)
        .variable("WARPSCOPE_CONFIG")
        .help("Read this configuration file instead of the default one; it must exist");
}
