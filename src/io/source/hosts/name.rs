//! Names of other machines, as ssh takes them.

use std::fmt;
use std::str::FromStr;

/// Longest name of a host, with user and port.
const LONGEST: usize = 255;

/// What ssh is told to connect to: a host, `user@host`, `ssh://user@host:port`, or a name from its configuration.
///
/// Only characters that mean nothing to a shell: a `ProxyCommand` puts the name into one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HostName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_alphanumeric() || "._-@:/[]%+~=,".contains(c);
        match text {
            "" => Err("the name of a host is empty".to_owned()),
            _ if text.len() > LONGEST => {
                Err(format!("the name of a host is longer than {LONGEST} bytes"))
            }
            _ if text.starts_with('-') => {
                Err(format!("{text}: the name of a host does not begin with a dash"))
            }
            _ => match text.chars().find(|c| !is_plain(*c)) {
                Some(c) => Err(format!("{text}: the name of a host has no {c:?}")),
                None => Ok(Self(text.to_owned())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ssh_takes_is_taken_and_what_a_shell_would_run_is_not() {
        for good in ["gpu1", "ana@gpu-1.lab", "ssh://ana@10.0.0.7:2222", "ana@[fe80::1%eth0]"] {
            assert_eq!(good.parse::<HostName>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
        let long = "x".repeat(256);
        for bad in ["", "-oProxyCommand=x", "a b", "$(reboot)", "a;b", "a`b`", "a\u{1b}[2J", &long]
        {
            assert!(bad.parse::<HostName>().is_err(), "{bad:?}");
        }
    }
}
