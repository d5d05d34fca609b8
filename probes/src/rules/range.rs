//! Ranges in rules: of versions, of compute capabilities, of numbers. Each is written as text and refused when it says nothing.

use std::cmp::Ordering;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use warpscope_kernels::{Sm, Suffix};

use super::condition::both;
use super::version::Version;

/// A comparison sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Less,
    LessEqual,
    Equal,
    NotEqual,
    MoreEqual,
    More,
}

impl Sign {
    const ALL: &[(&str, Self)] = &[
        ("<=", Self::LessEqual),
        (">=", Self::MoreEqual),
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("<", Self::Less),
        (">", Self::More),
    ];

    /// The sign in front of `text`, and the rest; no sign reads as equal.
    fn split(text: &str) -> (Self, &str) {
        let text = text.trim();
        let found =
            Self::ALL.iter().find_map(|(sign, value)| Some((*value, text.strip_prefix(sign)?)));
        let (sign, rest) = found.unwrap_or((Self::Equal, text));
        (sign, rest.trim())
    }

    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::MoreEqual => order.is_ge(),
            Self::More => order.is_gt(),
        }
    }
}

/// Versions a rule speaks of: `all`, or comparisons that all hold, as in PEP 440: `>=0.9.1,<0.20`, `==0.1.1`, `!=0.3.*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionRange {
    text: Box<str>,
    clauses: Box<[VersionClause]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct VersionClause {
    sign: Sign,
    version: Version,
    prefix: bool,
}

impl VersionRange {
    /// Whether the version lies within; `None` when that cannot be told: no version, or a date against releases.
    pub fn contains(&self, version: Option<&Version>) -> Option<bool> {
        if self.clauses.is_empty() {
            return Some(true);
        }
        let version = version?;
        let each = self.clauses.iter().map(|clause| clause.holds(version));
        each.fold(Some(true), both)
    }

    /// Whether it holds for every version.
    pub fn is_all(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Whether it goes on for every later version: nobody has written down yet where it ends.
    pub fn is_open_above(&self) -> bool {
        !self
            .clauses
            .iter()
            .any(|one| matches!(one.sign, Sign::Less | Sign::LessEqual | Sign::Equal))
    }

    /// The bounds named in the range: where what it says may change.
    pub fn bounds(&self) -> impl Iterator<Item = &Version> {
        self.clauses.iter().map(|clause| &clause.version)
    }

    /// The bounds as written, without their signs.
    pub fn bound_texts(&self) -> impl Iterator<Item = &str> {
        self.text
            .split(',')
            .map(|text| text.trim().trim_start_matches(['<', '>', '=', '!', ' ']))
            .map(|text| text.trim_end_matches(".*"))
            .filter(|text| !text.is_empty())
    }

    /// The range as written.
    pub fn as_str(&self) -> &str {
        if self.text.is_empty() { "all" } else { &self.text }
    }
}

impl VersionClause {
    fn holds(&self, version: &Version) -> Option<bool> {
        let order = version.compare(&self.version)?;
        let (Some(given), Some(bound)) = (version.release(), self.version.release()) else {
            return Some(self.sign.holds(order));
        };
        if self.prefix {
            // By hand: the specifiers of pep440_rs take 1 for one of 1.1.*, and leave 2.0rc1 out of <2.0rc2.
            let number = |at| given.release().get(at).copied().unwrap_or(0);
            let within = bound.release().iter().enumerate().all(|(at, want)| number(at) == *want);
            return Some(within == (self.sign == Sign::Equal));
        }
        // PEP 440: "<2.0" leaves out 2.0rc1, and ">2.0" leaves out 2.0.post1, unless the bound is such a release itself.
        let sibling = || given.only_release() == bound.only_release();
        let skipped = match self.sign {
            Sign::Less => given.any_prerelease() && !bound.any_prerelease() && sibling(),
            Sign::More => given.is_post() && !bound.is_post() && sibling(),
            _ => false,
        };
        Some(!skipped && self.sign.holds(order))
    }
}

impl FromStr for VersionRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text == "all" {
            return Ok(Self::default());
        }
        let clauses = text.split(',').map(version_clause).collect::<Result<_, _>>()?;
        Ok(Self { text: text.into(), clauses })
    }
}

fn version_clause(text: &str) -> Result<VersionClause, String> {
    let (sign, rest) = Sign::split(text);
    let (body, prefix) = rest.strip_suffix(".*").map_or((rest, false), |body| (body, true));
    if prefix && !matches!(sign, Sign::Equal | Sign::NotEqual) {
        return Err(format!("{text:?}: \".*\" goes with == and != only"));
    }
    let version = body.parse().map_err(|error| format!("{error}, or \"all\""))?;
    Ok(VersionClause { sign, version, prefix })
}

/// Compute capabilities a rule speaks of: any of the alternatives, in each of which every comparison holds.
///
/// Without a sign a bare target means the devices its code runs on natively: `9.0` exactly 9.0, `9.0a` exactly 9.0,
/// `10.0f` the family 10.x from 10.0 on, `12.x` every 12.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmSet(Box<[Box<[SmClause]>]>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum SmClause {
    Sign(Sign, Sm),
    Family(Sm),
    Major(u8),
}

impl SmSet {
    /// Whether a device of this compute capability is included.
    pub fn contains(&self, sm: Sm) -> bool {
        let device = Sm::new(sm.major, sm.minor);
        self.0.iter().any(|all| all.iter().all(|clause| clause.holds(device)))
    }
}

impl SmClause {
    fn holds(&self, device: Sm) -> bool {
        match self {
            Self::Sign(sign, bound) => sign.holds(device.cmp(bound)),
            Self::Family(from) => device.major == from.major && device.minor >= from.minor,
            Self::Major(major) => device.major == *major,
        }
    }
}

impl FromStr for SmSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let clauses = text.split(',').map(sm_clause).collect::<Result<_, _>>()?;
        Ok(Self(Box::new([clauses])))
    }
}

fn sm_clause(text: &str) -> Result<SmClause, String> {
    let (sign, rest) = Sign::split(text);
    if let Some(major) = rest.strip_suffix(".x") {
        let major = major.parse().map_err(|_| format!("{rest:?} is not a compute capability"))?;
        return match sign {
            Sign::Equal => Ok(SmClause::Major(major)),
            _ => Err(format!("{text:?}: write >=12.0 instead of a sign before 12.x")),
        };
    }
    let sm: Sm =
        rest.parse().map_err(|error: warpscope_kernels::ParseSmError| error.to_string())?;
    let device = Sm::new(sm.major, sm.minor);
    match (sign, sm.suffix) {
        (Sign::Equal, Suffix::Family) => Ok(SmClause::Family(device)),
        (Sign::Equal, _) | (_, Suffix::None) => Ok(SmClause::Sign(sign, device)),
        _ => {
            Err(format!("{text:?}: a target with suffix has no greater or lesser; write it alone"))
        }
    }
}

/// Numbers a rule speaks of: `<65536`, `>=48 KiB,<64 KiB`, `<24 GiB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberRange(Box<[(Sign, u64)]>);

impl NumberRange {
    /// Whether the number lies within.
    pub fn contains(&self, number: u64) -> bool {
        self.0.iter().all(|(sign, bound)| sign.holds(number.cmp(bound)))
    }
}

impl FromStr for NumberRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',').map(number_clause).collect::<Result<_, _>>().map(Self)
    }
}

fn number_clause(text: &str) -> Result<(Sign, u64), String> {
    const UNITS: &[(&str, u64)] = &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let (sign, rest) = Sign::split(text);
    let unit = UNITS.iter().find_map(|(unit, size)| Some((rest.strip_suffix(unit)?, *size)));
    let (digits, size) = unit.unwrap_or((rest, 1));
    let number: Option<u64> = digits.trim().parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(size));
    bytes.map(|bytes| (sign, bytes)).ok_or_else(|| format!("{text:?} is not a size; write <48 KiB"))
}

warpscope_kernels::text_deserialize!(VersionRange);
warpscope_kernels::text_deserialize!(NumberRange);

impl<'de> Deserialize<'de> for SmSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let alternatives = super::keys::one_or_many(deserializer)?;
        let sets = alternatives.iter().map(|text| text.parse::<Self>());
        let sets = sets.collect::<Result<Vec<_>, _>>().map_err(Error::custom)?;
        Ok(Self(sets.into_iter().flat_map(|set| set.0).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of the PEP 440 text, section "Version specifiers".
    #[test]
    fn version_ranges_follow_pep_440() {
        for (range, version, want) in [
            ("all", "0.1", true),
            (">=0.9.1,<0.20", "0.9.1", true),
            (">=0.9.1,<0.20", "0.20", false),
            (">=0.9.1,<0.20", "0.9.0.1", false),
            ("==1.1", "1.1.0", true),
            ("==1.1", "1.1.post1", false),
            ("==1.1.*", "1.1.post1", true),
            ("!=1.1.*", "1.1.post1", false),
            ("==1.1.*", "1.1a1", true),
            (">1.7", "1.7.1", true),
            (">1.7", "1.7.0.post1", false),
            (">1.7.post2", "1.7.0.post3", true),
            ("<2.0", "2.0rc1", false),
            ("<2.0", "2.0.dev3", false),
            ("<2.0rc2", "2.0rc1", true),
            ("<=0.3.1", "0.3.1", true),
            ("==1.1.*", "1", false),
            ("==1.0.*", "1", true),
        ] {
            let parsed: VersionRange = range.parse().expect("a range");
            let version = version.parse().expect("a version");
            assert_eq!(parsed.contains(Some(&version)), Some(want), "{version:?} in {range}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_neither_yes_nor_no() {
        let range: VersionRange = ">=0.9".parse().expect("a range");
        assert_eq!(range.contains(None), None);
        assert_eq!(range.contains("2025-03".parse().ok().as_ref()), None);
        assert_eq!(VersionRange::default().contains(None), Some(true));
    }

    #[test]
    fn a_range_without_an_upper_bound_is_open_above() {
        for (range, open) in [
            ("all", true),
            (">=0.9", true),
            (">0.9,!=0.10.1", true),
            (">=0.9,<0.20", false),
            ("<=0.3.1", false),
            ("==1.1.*", false),
        ] {
            let parsed: VersionRange = range.parse().expect("a range");
            assert_eq!(parsed.is_open_above(), open, "{range}");
        }
        let range: VersionRange = ">= 0.9, !=1.1.*,<2".parse().expect("a range");
        assert_eq!(range.bound_texts().collect::<Vec<_>>(), ["0.9", "1.1", "2"]);
        assert_eq!(VersionRange::default().bound_texts().count(), 0);
    }

    #[test]
    fn sm_sets_know_suffixes_and_families() {
        for (set, inside, outside) in [
            ("<7.0", vec!["5.2", "6.1"], vec!["7.0", "12.0"]),
            (">=8.0,!=8.7", vec!["8.6", "9.0"], vec!["8.7", "7.5"]),
            ("9.0a", vec!["9.0"], vec!["8.9", "10.0"]),
            ("10.0f", vec!["10.0", "10.3"], vec!["9.0", "12.0"]),
            ("12.x", vec!["12.0", "12.1"], vec!["10.0"]),
        ] {
            let set: SmSet = set.parse().expect("a set");
            for sm in inside {
                assert!(set.contains(sm.parse().expect("an sm")), "{sm} in {set:?}");
            }
            for sm in outside {
                assert!(!set.contains(sm.parse().expect("an sm")), "{sm} not in {set:?}");
            }
        }
    }

    #[test]
    fn sizes_carry_units() {
        let range: NumberRange = ">=48 KiB,<64KiB".parse().expect("a range");
        assert!(range.contains(49152) && !range.contains(65536) && !range.contains(49151));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!("".parse::<VersionRange>().is_err());
        assert!(">=1.*".parse::<VersionRange>().is_err());
        assert!("2024 or so".parse::<VersionRange>().is_err());
        assert!(">=9.0a".parse::<SmSet>().is_err());
        assert!("<12.x".parse::<SmSet>().is_err());
        assert!("7".parse::<SmSet>().is_err());
        assert!("<many".parse::<NumberRange>().is_err());
    }
}
