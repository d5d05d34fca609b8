//! Where to listen.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// An address of the network, or a socket in the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Network(SocketAddr),
    Unix(PathBuf),
}

impl Address {
    /// Whether others than this machine can reach it.
    pub(super) fn is_public(&self) -> bool {
        matches!(self, Self::Network(address) if !address.ip().is_loopback())
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let text = text.replacen("localhost:", "127.0.0.1:", 1);
        text.parse().map(Self::Network).map_err(|_| {
            format!("--listen {text:?}: write an address and a port, 127.0.0.1:9836, or unix:/path")
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(address) => write!(f, "http://{address}/metrics"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_can_reach_is_public() {
        for (text, public) in [
            ("127.0.0.1:9836", false),
            ("[::1]:1", false),
            ("localhost:80", false),
            ("unix:/run/x.sock", false),
            ("0.0.0.0:9836", true),
            ("[::]:9836", true),
            ("10.0.0.1:1", true),
        ] {
            assert_eq!(text.parse::<Address>().map(|one| one.is_public()), Ok(public), "{text}");
        }
        for text in ["9836", "host", "unix:", ":9836", "127.0.0.1"] {
            assert!(text.parse::<Address>().is_err_and(|why| why.contains("--listen")), "{text}");
        }
    }
}
