//! What a driver understands, from the CUDA version it reports.
//!
//! The releases as NVIDIA's documents have them, with their sources, are test data of `probes`, and a test there holds the two together.

use std::fmt;
use std::str::FromStr;

/// A version of PTX: `8.7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Isa {
    /// `8` in 8.7.
    pub major: u8,
    /// `7` in 8.7.
    pub minor: u8,
}

impl Isa {
    /// A version.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// The newest PTX that a driver is known to compile, from the CUDA version it reports (`12080`): that of its own CUDA release, or of
    /// the newest one known here.
    pub fn of_driver(cuda: u32) -> Option<Self> {
        RELEASES.iter().rev().find(|release| release.cuda <= cuda).map(|release| release.isa)
    }

    /// The same from the version as people write it: `12.4`.
    pub fn of_cuda(text: &str) -> Option<Self> {
        let Self { major, minor } = text.parse().ok()?;
        Self::of_driver(u32::from(major) * 1000 + u32::from(minor) * 10)
    }

    /// The first CUDA release that understands it.
    pub fn first_release(self) -> Option<&'static Release> {
        RELEASES.iter().find(|release| release.isa >= self)
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}", self.major, self.minor))
    }
}

impl FromStr for Isa {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| {
            let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| part.parse().ok()).flatten()
        };
        let parts = text.split_once('.').and_then(|(a, b)| Some((number(a)?, number(b)?)));
        let error = || format!("{text:?} is not a version of PTX; write 8.7");
        parts.map(|(major, minor)| Self { major, minor }).ok_or_else(error)
    }
}

crate::text_serde!(Isa);

/// A CUDA release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version as a driver reports it: `12080`.
    pub cuda: u32,
    /// PTX it writes, which its driver compiles.
    pub isa: Isa,
    /// Oldest Linux driver that came with it, where known.
    pub driver: Option<&'static str>,
}

const fn release(cuda: u32, isa: (u8, u8), driver: Option<&'static str>) -> Release {
    Release { cuda, isa: Isa::new(isa.0, isa.1), driver }
}

/// CUDA releases, oldest first. Drivers: CUDA 13.2 release notes, table 3, and for 13.3 those of 13.3; PTX: the history in the PTX manual,
/// and from 11.7 on what each release's ptxas accepts. Read in November 2026. No toolkit 12.7 was published.
pub const RELEASES: &[Release] = &[
    release(7_000, (4, 2), Some("346.46")),
    release(7_050, (4, 3), Some("352.31")),
    release(8_000, (5, 0), Some("367.48")),
    release(9_000, (6, 0), Some("384.81")),
    release(9_010, (6, 1), Some("390.46")),
    release(9_020, (6, 2), Some("396.26")),
    release(10_000, (6, 3), Some("410.48")),
    release(10_010, (6, 4), Some("418.39")),
    release(10_020, (6, 5), Some("440.33")),
    release(11_000, (7, 0), Some("450.51.05")),
    release(11_010, (7, 1), Some("455.23")),
    release(11_020, (7, 2), Some("460.27.03")),
    release(11_030, (7, 3), Some("465.19.01")),
    release(11_040, (7, 4), Some("470.42.01")),
    release(11_050, (7, 5), Some("495.29.05")),
    release(11_060, (7, 6), Some("510.39.01")),
    release(11_070, (7, 7), Some("515.43.04")),
    release(11_080, (7, 8), Some("520.61.05")),
    release(12_000, (8, 0), Some("525.60.13")),
    release(12_010, (8, 1), Some("530.30.02")),
    release(12_020, (8, 2), Some("535.54.03")),
    release(12_030, (8, 3), Some("545.23.06")),
    release(12_040, (8, 4), Some("550.54.14")),
    release(12_050, (8, 5), Some("555.42.02")),
    release(12_060, (8, 5), Some("560.28.03")),
    release(12_080, (8, 7), Some("570.26")),
    release(12_090, (8, 8), Some("575.51.03")),
    release(13_000, (9, 0), Some("580.65.06")),
    release(13_010, (9, 1), Some("590.44.01")),
    release(13_020, (9, 2), Some("595.45.04")),
    release(13_030, (9, 3), Some("610.43.02")),
    release(13_040, (9, 4), None),
    release(13_050, (9, 5), None),
];

/// A CUDA version as people write it: `12.8` of `12080`.
pub fn cuda_text(cuda: u32) -> String {
    format!("{}.{}", cuda / 1000, cuda % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PTX ISA manual, release history: 6.5 with CUDA 10.2 and driver r440, 7.8 with 11.8 and r520, 8.0 with 12.0 and r525, 8.8 with 12.9 and r575.
    #[test]
    fn a_driver_compiles_what_its_release_writes() {
        for (cuda, isa) in [
            (9_010, (6, 1)),
            (10_020, (6, 5)),
            (11_080, (7, 8)),
            (12_000, (8, 0)),
            (12_060, (8, 5)),
            (12_070, (8, 5)),
            (12_090, (8, 8)),
            (99_000, (9, 5)),
        ] {
            assert_eq!(Isa::of_driver(cuda), Some(Isa::new(isa.0, isa.1)), "CUDA {cuda}");
        }
        assert_eq!(Isa::of_cuda("12.7"), Some(Isa::new(8, 5)));
        for none in ["6.5", "", "unknown", "12"] {
            assert_eq!(Isa::of_cuda(none), None, "{none}");
        }
        assert_eq!(Isa::of_driver(6_050), None);
        assert_eq!(Isa::of_driver(0), None);
    }

    #[test]
    fn releases_stand_in_order() {
        assert!(RELEASES.windows(2).all(|pair| pair[0].cuda < pair[1].cuda));
        assert!(RELEASES.windows(2).all(|pair| pair[0].isa <= pair[1].isa));
    }

    #[test]
    fn the_first_release_of_a_version_names_its_driver() {
        let driver = |major, minor| Isa::new(major, minor).first_release().map(|r| r.driver);
        assert_eq!(driver(6, 0), Some(Some("384.81")));
        assert_eq!(driver(8, 6), Some(Some("570.26")));
        assert_eq!(driver(9, 9), None);
    }

    #[test]
    fn only_versions_are_read() {
        assert_eq!("8.10".parse(), Ok(Isa::new(8, 10)));
        for text in ["", "8", "8.", ".8", "8.8.8", "+8.8", "8.256", "v8.8"] {
            assert!(text.parse::<Isa>().is_err(), "{text}");
        }
        assert_eq!(cuda_text(12_080), "12.8");
    }
}
