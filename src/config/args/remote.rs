//! What is told to others over the network.

use std::path::PathBuf;

use super::spec::{Arg, ArgSpec, option, switch};
use crate::config::value::Kind;

args! {
    LISTEN: Vec<String> = option("listen", "ADDRESS", Kind::List)
        .help("Where to listen: 127.0.0.1:9836 unless given, [::1]:9836, unix:/run/warpscope.sock; may be repeated. An address others can reach needs --token-file");
    TOKEN_FILE: Option<PathBuf> = option("token-file", "PATH", Kind::Path)
        .help("Answer only requests with the token in this file: Authorization: Bearer TOKEN");
    TEXTFILE: Option<PathBuf> = option("textfile", "PATH", Kind::Path)
        .help("Write the metrics into this file after every frame, for the textfile collector of node_exporter, instead of listening");
    BY_USER: bool = switch(&[("by-user", "on")])
        .help("Also tell how much GPU memory each user's processes hold");
}
