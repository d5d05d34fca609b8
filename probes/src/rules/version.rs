//! Versions as people and trackers write them.
//!
//! Releases are those of PEP 440, in its order. Beside them stand two notations of trackers: tags with a letter in front, and bare dates,
//! which compare with dates only.

use std::cmp::Ordering;
use std::str::FromStr;

use pep440_rs::Version as Release;

/// One version: a release such as `0.9.0.1` or `2.1.0a0+cu121`, or a date where a report names nothing better.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// A numbered release. Trailing zeros do not count: `0.9` equals `0.9.0`.
    Release(Release),
    /// Year, month and, where known, day (0 = the whole month).
    Date(u16, u8, u8),
}

/// The text is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version; write 0.9.1, 0.4.0.post1, 2.7rc1 or 2025-03")]
pub struct ParseVersionError(pub String);

impl Version {
    /// Order of two releases or of two dates; `None` when a release meets a date, or when one date lies within the other.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Release(a), Self::Release(b)) => Some(a.cmp(b)),
            (Self::Date(y1, m1, d1), Self::Date(y2, m2, d2)) => {
                let months = (y1, m1).cmp(&(y2, m2));
                let vague = months.is_eq() && (*d1 == 0) != (*d2 == 0);
                (!vague).then(|| months.then(d1.cmp(d2)))
            }
            _ => None,
        }
    }

    /// The numbered release, if it is one.
    pub(super) fn release(&self) -> Option<&Release> {
        match self {
            Self::Release(release) => Some(release),
            Self::Date(..) => None,
        }
    }
}

impl FromStr for Version {
    type Err = ParseVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseVersionError(text.chars().take(64).collect());
        if text.len() > 64 {
            return Err(error());
        }
        if let Some(date) = date(text) {
            return Ok(date);
        }
        // A local part names a build, not a release.
        let public = text.trim().split('+').next().unwrap_or_default();
        let body = public.strip_prefix(['b', 'B', 'r', 'R']).unwrap_or(public);
        body.parse().map(Self::Release).map_err(|_| error())
    }
}

/// The build that PyTorch's index and those who follow it write behind a version: `2.7.0+cu128`, `2.5.1+cpu`, `2.6.0+rocm6.2`.
pub fn build_of(version: &str) -> Option<&str> {
    let (_, local) = version.split_once('+')?;
    let cuda = local.strip_prefix("cu").is_some_and(|rest| rest.parse::<u16>().is_ok());
    let other = ["cpu", "rocm", "xpu"].into_iter().find(|name| local.starts_with(name));
    other.or_else(|| cuda.then_some(local))
}

/// `2025-03` or `2025-03-14`.
fn date(text: &str) -> Option<Version> {
    let mut parts = text.split('-');
    let mut next = |length: usize| {
        let part = parts.next()?;
        let plain = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| part.parse::<u16>().ok()).flatten()
    };
    let (year, month) = (next(4)?, next(2)?);
    let day = if text.len() > 7 { next(2)? } else { 0 };
    let valid = year >= 1970 && (1..=12).contains(&month) && day <= 31 && parts.next().is_none();
    valid.then(|| {
        Version::Date(year, u8::try_from(month).unwrap_or(0), u8::try_from(day).unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect("a version")
    }

    /// The ordering example of PEP 440, "Summary of permitted suffixes and relative ordering", without local parts.
    #[test]
    fn orders_as_pep_440_does() {
        let ascending = [
            "1.dev0",
            "1.0.dev456",
            "1.0a1",
            "1.0a2.dev456",
            "1.0a12.dev456",
            "1.0a12",
            "1.0b1.dev456",
            "1.0b2",
            "1.0b2.post345.dev456",
            "1.0b2.post345",
            "1.0rc1.dev456",
            "1.0rc1",
            "1.0",
            "1.0.post456.dev34",
            "1.0.post456",
            "1.1.dev1",
        ];
        for pair in ascending.windows(2) {
            let order = version(pair[0]).compare(&version(pair[1]));
            assert_eq!(order, Some(Ordering::Less), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn reads_the_spellings_found_in_trackers() {
        for (a, b) in [
            ("0.9", "0.9.0"),
            ("v0.1.1", "0.1.1"),
            ("b2725", "2725"),
            ("0.4.0-post1", "0.4.0.post1"),
            ("1.0-RC.1", "1.0rc1"),
            ("2.4.1+cu121", "2.4.1"),
            ("2.1.0a0+29c30b1", "2.1.0a"),
            ("0.15.0.dev", "0.15.0.dev0"),
        ] {
            assert_eq!(version(a).compare(&version(b)), Some(Ordering::Equal), "{a} = {b}");
        }
        for (less, more) in [
            ("0.9.0", "0.9.0.1"),
            ("0.9.9", "0.10.0"),
            ("535.288.01", "570.26"),
            ("0.36.0", "0.36.0.post2"),
            ("0.11.2.dev393", "0.11.2"),
        ] {
            assert_eq!(
                version(less).compare(&version(more)),
                Some(Ordering::Less),
                "{less} < {more}"
            );
        }
    }

    #[test]
    fn a_date_compares_with_dates_only() {
        assert_eq!(version("2025-03").compare(&version("2025-04")), Some(Ordering::Less));
        assert_eq!(version("2025-03-02").compare(&version("2025-03-14")), Some(Ordering::Less));
        assert_eq!(version("2025-03").compare(&version("2025-03-14")), None);
        assert_eq!(version("2025-03").compare(&version("2025.3")), None);
    }

    #[test]
    fn a_build_stands_behind_the_version() {
        for (version, build) in [
            ("2.7.0+cu128", Some("cu128")),
            ("2.5.1+cpu", Some("cpu")),
            ("2.6.0+cpu.cxx11.abi", Some("cpu")),
            ("2.6.0+rocm6.2", Some("rocm")),
            ("2.6.0+xpu", Some("xpu")),
            ("2.8.3+cu12torch2.8cxx11abiTRUE", None),
            ("0.6.3.post2.dev174+g51c24c97", None),
            ("2.7.0", None),
        ] {
            assert_eq!(build_of(version), build, "{version}");
        }
    }

    #[test]
    fn refuses_what_is_no_version() {
        for text in ["", "main", "1..2", "1.0x", "1.", "99999999999999999999", "1.0-é", ">=1"] {
            assert!(text.parse::<Version>().is_err(), "{text:?}");
        }
    }
}
