//! Versions as people and trackers write them, ordered as PEP 440 orders them.
//!
//! Own code instead of a crate: three notations meet here (PEP 440, `v`- and `b`-prefixed tags, bare dates), epochs never occur,
//! and a date must not compare with a release at all, which no version crate offers.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// One version: a release such as `0.9.0.1` or `2.1.0a0+cu121`, or a date where a report names nothing better.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// A numbered release.
    Release(Release),
    /// Year, month and, where known, day (0 = the whole month).
    Date(u16, u8, u8),
}

/// The parts of a numbered release. Trailing zeros do not count: `0.9` equals `0.9.0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    numbers: Box<[u64]>,
    stage: Stage,
    post: Option<u64>,
    dev: Option<u64>,
}

/// Pre-release stage; the order is PEP 440's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Stage {
    /// Development release of the final version: before every pre-release.
    DevOnly,
    Alpha(u64),
    Beta(u64),
    Candidate(u64),
    Final,
}

/// The text is no version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseVersionError(pub String);

impl fmt::Display for ParseVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a version; write 0.9.1, 0.4.0.post1, 2.7rc1 or 2025-03", self.0)
    }
}

impl std::error::Error for ParseVersionError {}

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

impl Release {
    /// Whether it is a pre-release or development release.
    pub(super) fn is_pre(&self) -> bool {
        self.stage != Stage::Final || self.dev.is_some()
    }

    /// Whether it is a post-release.
    pub(super) fn is_post(&self) -> bool {
        self.post.is_some()
    }

    /// Whether both have the same release numbers, whatever their stage.
    pub(super) fn same_numbers(&self, other: &Self) -> bool {
        self.compare_numbers(other).is_eq()
    }

    /// Whether the release numbers begin with `prefix`: 0.11.2 begins with 0.11.
    pub(super) fn begins_with(&self, prefix: &[u64]) -> bool {
        prefix.iter().enumerate().all(|(at, want)| self.number(at) == *want)
    }

    /// The release numbers as written.
    pub(super) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    fn number(&self, at: usize) -> u64 {
        self.numbers.get(at).copied().unwrap_or(0)
    }

    fn compare_numbers(&self, other: &Self) -> Ordering {
        let longest = self.numbers.len().max(other.numbers.len());
        (0..longest)
            .map(|at| self.number(at).cmp(&other.number(at)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        // Without a development number a release follows all of its development releases.
        let dev = |release: &Self| release.dev.map_or((1, 0), |number| (0, number));
        self.compare_numbers(other)
            .then_with(|| self.stage.cmp(&other.stage))
            .then_with(|| self.post.cmp(&other.post))
            .then_with(|| dev(self).cmp(&dev(other)))
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
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
        let lower = text.trim().to_ascii_lowercase();
        let public = lower.split('+').next().unwrap_or_default();
        let body = public.strip_prefix(['v', 'b']).unwrap_or(public);
        release(body).map(Self::Release).ok_or_else(error)
    }
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

fn release(body: &str) -> Option<Release> {
    let end = body.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(body.len());
    let (numbers, mut rest) = body.split_at(end);
    if rest.is_empty() && numbers.ends_with('.') {
        return None;
    }
    let numbers = numbers
        .strip_suffix('.')
        .unwrap_or(numbers)
        .split('.')
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    let mut release = Release { numbers, stage: Stage::Final, post: None, dev: None };
    while !rest.is_empty() {
        rest = suffix(rest, &mut release)?;
    }
    if release.dev.is_some() && release.stage == Stage::Final && release.post.is_none() {
        release.stage = Stage::DevOnly;
    }
    Some(release)
}

/// Takes one of `a1`, `rc.2`, `-post3`, `.dev4` off the front.
fn suffix<'a>(text: &'a str, release: &mut Release) -> Option<&'a str> {
    let text = text.trim_start_matches(['.', '-', '_']);
    let letters = text.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(text.len());
    let (word, rest) = text.split_at(letters);
    let rest =
        rest.strip_prefix(['.', '-', '_']).filter(|rest| starts_with_digit(rest)).unwrap_or(rest);
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at(digits);
    let number = if number.is_empty() { 0 } else { number.parse().ok()? };
    match word {
        "a" | "alpha" => release.stage = Stage::Alpha(number),
        "b" | "beta" => release.stage = Stage::Beta(number),
        "rc" | "c" | "pre" | "preview" => release.stage = Stage::Candidate(number),
        "post" | "rev" | "r" => release.post = Some(number),
        "dev" => release.dev = Some(number),
        _ => return None,
    }
    Some(rest)
}

fn starts_with_digit(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
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
    fn refuses_what_is_no_version() {
        for text in
            ["", "main", "1..2", "1.0x", "1!1.0", "1.", "99999999999999999999", "1.0-é", ">=1"]
        {
            assert!(text.parse::<Version>().is_err(), "{text:?}");
        }
    }
}
