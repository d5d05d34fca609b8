//! Other machines: those that are read, and what is told to others.

use std::path::PathBuf;

use strum::{EnumString, VariantNames};

use super::spec::{Arg, ArgSpec, Form, operand, option, switch};
use crate::config::value::Kind;

/// What `host` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum HostAction {
    /// Sends this program.
    Install,
    /// Removes it.
    Forget,
}

/// When this program is sent to hosts that lack it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Install {
    /// When the user says so, who is asked once.
    Ask,
    /// Never.
    Never,
    /// Wherever it is missing.
    Always,
}

args! {
    HOST_ACTION: HostAction = operand(Form::RequiredOperand, "ACTION", HostAction::KIND)
        .help("install sends this program, forget removes it");
    HOST_NAMES: Vec<String> = operand(Form::RequiredOperand, "HOST", Kind::List)
        .several(true)
        .help("Hosts, as --host names them");
    HOSTS: Vec<String> = option("host", "NAME", Kind::List)
        .help("Work on this machine, over ssh, instead of here: a host, user@host, a name or pattern of ~/.ssh/config, or a group of the configuration; may be repeated");
    SSH: String = option("ssh", "COMMAND", Kind::Text)
        .default("ssh")
        .setting("WARPSCOPE_SSH", "ssh")
        .help("Command that connects to hosts, its words separated by spaces");
    INSTALL: Install = option("install", "WHEN", Install::KIND)
        .default("ask")
        .setting("WARPSCOPE_INSTALL", "install")
        .help("Send this program to hosts that lack it: ask once for each, never, or always");
    PROMETHEUS: Option<String> = option("prometheus", "URL", Kind::Text)
        .variable("WARPSCOPE_PROMETHEUS")
        .help("Show the machines that this server knows: Prometheus, VictoriaMetrics, Thanos or Mimir, such as http://host:9090");
    PROMETHEUS_MATCH: Option<String> = option("prometheus-match", "MATCHERS", Kind::Text)
        .help("Only series with these labels, as PromQL writes them: cluster=\"a\",namespace=~\"ml.*\"");
    PROMETHEUS_TOKEN_FILE: Option<PathBuf> = option("prometheus-token-file", "PATH", Kind::Path)
        .help("File with the token that the server asks for, or with Basic and user:password in base64; WARPSCOPE_PROMETHEUS_TOKEN holds it otherwise");
    PROMETHEUS_CA: Option<PathBuf> = option("prometheus-ca", "PATH", Kind::Path)
        .help("File of certificates that vouch for the server, instead of the public ones");
    END_WITH_INPUT: bool = switch(&[("end-with-input", "on")])
        .hidden(true)
        .help("Stop when standard input ends");
    LISTEN: Vec<String> = option("listen", "ADDRESS", Kind::List)
        .help("Where to listen: 127.0.0.1:9836 unless given, [::1]:9836, unix:/run/warpscope.sock; may be repeated. An address others can reach needs --token-file");
    TOKEN_FILE: Option<PathBuf> = option("token-file", "PATH", Kind::Path)
        .help("Answer only requests with the token in this file: Authorization: Bearer TOKEN");
    TLS_CERT: Option<PathBuf> = option("tls-cert", "PATH", Kind::Path)
        .help("Speak TLS with the chain of certificates in this PEM file; --tls-key goes with it");
    TLS_KEY: Option<PathBuf> = option("tls-key", "PATH", Kind::Path)
        .help("PEM file with the private key of --tls-cert");
    TEXTFILE: Option<PathBuf> = option("textfile", "PATH", Kind::Path)
        .help("Write the metrics into this file after every frame, for the textfile collector of node_exporter, instead of listening");
    BY_USER: bool = switch(&[("by-user", "on")])
        .help("Also tell how much GPU memory each user's processes hold");
}
