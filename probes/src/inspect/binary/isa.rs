//! Versions of the PTX language, and which of them a driver understands.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;

/// A version of PTX: `8.7`. A driver compiles PTX up to the version of its own CUDA release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxIsa {
    /// `8` in 8.7.
    pub major: u8,
    /// `7` in 8.7.
    pub minor: u8,
}

impl PtxIsa {
    /// A version.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// The newest PTX a driver is known to compile, from the CUDA version it reports (`12.4`). For a driver newer than the tables it is
    /// what their newest toolkit writes, which such a driver compiles too.
    pub fn of_driver(cuda: &str) -> Option<Self> {
        let driver: Self = cuda.parse().ok()?;
        let toolkits = Catalogue::load().toolkits().iter();
        let known = toolkits.filter(|t| t.cuda.parse::<Self>().is_ok_and(|cuda| cuda <= driver));
        known.filter_map(|t| t.ptx_isa.parse().ok()).max()
    }

    /// The oldest CUDA release that understands this version, and the oldest driver known to come with it.
    pub fn first_toolkit(self) -> Option<(&'static str, Option<&'static str>)> {
        let enough = |isa: &str| isa.parse::<Self>().is_ok_and(|isa| isa >= self);
        let toolkits = Catalogue::load().toolkits().iter();
        let first = toolkits
            .filter(|t| enough(&t.ptx_isa))
            .min_by_key(|t| t.cuda.parse().ok().map(|v: Self| v))?;
        Some((&first.cuda, first.min_driver.as_deref()))
    }
}

impl fmt::Display for PtxIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}", self.major, self.minor))
    }
}

/// The text was not a version like `8.7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseIsaError(pub String);

impl fmt::Display for ParseIsaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a version with one dot; write 8.7", self.0)
    }
}

impl std::error::Error for ParseIsaError {}

impl FromStr for PtxIsa {
    type Err = ParseIsaError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| {
            let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| part.parse().ok()).flatten()
        };
        let parts = text.split_once('.').and_then(|(a, b)| Some((number(a)?, number(b)?)));
        let (major, minor) = parts.ok_or_else(|| ParseIsaError(text.to_owned()))?;
        Ok(Self { major, minor })
    }
}

impl Serialize for PtxIsa {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PtxIsa {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_understands_what_its_cuda_release_writes() {
        // PTX ISA release notes, table "PTX Release History".
        for (cuda, isa) in [
            ("10.2", (6, 5)),
            ("11.8", (7, 8)),
            ("12.4", (8, 4)),
            ("12.6", (8, 5)),
            ("12.9", (8, 8)),
            ("13.0", (9, 0)),
        ] {
            assert_eq!(PtxIsa::of_driver(cuda), Some(PtxIsa::new(isa.0, isa.1)), "CUDA {cuda}");
        }
        // Between two releases it is the older one's; 12.7 came with a driver only.
        assert_eq!(PtxIsa::of_driver("12.7"), Some(PtxIsa::new(8, 5)));
        assert!(PtxIsa::of_driver("99.9") >= PtxIsa::of_driver("13.5"));
        for none in ["6.5", "", "unknown", "12"] {
            assert_eq!(PtxIsa::of_driver(none), None, "{none}");
        }
    }

    #[test]
    fn the_first_toolkit_of_a_version_names_its_driver() {
        assert_eq!(PtxIsa::new(8, 5).first_toolkit(), Some(("12.5", Some("555.42.02"))));
        // No public toolkit wrote 8.6: the next one understands it.
        assert_eq!(PtxIsa::new(8, 6).first_toolkit(), Some(("12.8", Some("570.26"))));
        assert_eq!(PtxIsa::new(200, 0).first_toolkit(), None);
    }

    #[test]
    fn ten_is_after_nine() {
        assert!("8.10".parse::<PtxIsa>().unwrap() > "8.9".parse::<PtxIsa>().unwrap());
        for text in ["", "8", "8.", ".8", "8.8.8", "+8.8", "8.256", "v8.8"] {
            assert!(text.parse::<PtxIsa>().is_err(), "{text}");
        }
    }
}
