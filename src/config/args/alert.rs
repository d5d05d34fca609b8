//! What the dashboard alerts to, and how.

use std::time::Duration;

use super::spec::{Arg, ArgSpec, option, switch};
use crate::config::value::Kind;

/// Events that may raise an alert.
const EVENTS: &[&str] = &["hardware", "throttle", "process", "none"];
/// How a terminal is told.
const SIGNALS: &[&str] = &["none", "bell", "osc9", "osc777"];

args! {
    ALERTS: Vec<String> = option("alerts", "LIST", Kind::AnyOf(EVENTS))
        .default("hardware")
        .setting("WARPSCOPE_ALERTS", "alerts")
        .help("Events to alert to: hardware is a lost GPU, an uncorrected ECC error or an Xid error that no program causes, throttle a GPU slowed by heat or hardware, process one that ended");
    ALERT_TEMPERATURE: u64 = option("alert-temperature", "CELSIUS", Kind::Count)
        .default("0")
        .setting("WARPSCOPE_ALERT_TEMPERATURE", "alert_temperature")
        .help("Alert when a GPU reaches this temperature in degrees Celsius; 0 turns it off");
    ALERT_MEMORY: u64 = option("alert-memory", "PERCENT", Kind::Count)
        .default("0")
        .setting("WARPSCOPE_ALERT_MEMORY", "alert_memory")
        .help("Alert when so many percent of a GPU's memory are in use; 0 turns it off");
    ALERT_IDLE: Duration = option("alert-idle", "TIME", Kind::Span)
        .default("0s")
        .setting("WARPSCOPE_ALERT_IDLE", "alert_idle")
        .help("Alert when processes hold memory of a GPU that has been idle for this long; 0s turns it off");
    ALERT_SIGNAL: String = option("alert-signal", "HOW", Kind::OneOf(SIGNALS))
        .default("none")
        .setting("WARPSCOPE_ALERT_SIGNAL", "alert_signal")
        .help("Tell the terminal of an alert: by its bell or a desktop notification (OSC 9 or OSC 777)");
    ALERT_COMMAND: Vec<String> = option("alert-command", "WORDS", Kind::List)
        .setting("WARPSCOPE_ALERT_COMMAND", "alert_command")
        .help("Run this command for every alert, with the alert as its last argument: notify-send,warpscope");
    ALERT_LOG: bool = switch(&[("alert-log", "on"), ("no-alert-log", "off")])
        .setting("WARPSCOPE_ALERT_LOG", "alert_log")
        .help("Append alerts to alerts.log in $XDG_STATE_HOME/warpscope");
}
