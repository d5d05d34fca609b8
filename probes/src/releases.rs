//! What was published: releases with their dates, the versions they pin, what the index installs, and which code their wheels hold.
//!
//! The tables are those of `releases/`, packed into the program and read on first use. What they do not say is not known: they hold no
//! guesses between two wheels that differ.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::ZlibDecoder;
use warpscope_kernels::Sm;

use crate::inspect::env::normalized;
use crate::rules::{Version, VersionRange};

macro_rules! packed {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/releases/", $name, ".csv.z"))
    };
}

/// A version that a release asks for of another package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The package, or `cuda`: the toolkit it was built with.
    pub package: String,
    /// As it is written: `==2.6.0`, `>=4.28.0`, `11.8 12.1`.
    pub value: String,
    /// Where: `vllm-project/vllm@v0.8.1:requirements/cuda.txt`.
    pub source: String,
}

impl Pin {
    /// The one version that fits, where there is only one.
    pub fn exact(&self) -> Option<&str> {
        let version = self.value.strip_prefix("==").unwrap_or(&self.value);
        let single = version.starts_with(|c: char| c.is_ascii_digit())
            && !version.contains([',', '*', ' ', '<', '>']);
        single.then_some(version)
    }

    /// The version that a fresh install takes, where that can be told: the only one, or the highest that is allowed.
    pub fn taken(&self) -> Option<&str> {
        let highest = || {
            let mut parts = self.value.split(',').map(str::trim);
            let most = parts.find_map(|part| part.strip_prefix("<="))?.trim();
            let is_excluded = self.value.contains(&format!("!={most}"));
            (!is_excluded && exists(&self.package, most) == Some(true)).then_some(most)
        };
        self.exact().or_else(highest)
    }
}

/// One library in a published wheel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its path in the wheel.
    pub name: String,
    /// What it holds machine code for.
    pub code: Vec<Sm>,
    /// What it holds PTX for.
    pub ptx: Vec<Sm>,
    /// The wheel that was read; of the releases that agree with it, the first.
    pub wheel: String,
}

/// What the package index has of a release for Arm CPUs, where it has no wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutArm {
    /// Its source, which pip builds.
    Source,
    /// Nothing.
    Nothing,
}

/// Rows of one framework or package that hold from a release to another.
struct Span {
    name: String,
    first: Version,
    last: Option<Version>,
    /// The columns behind.
    row: Vec<String>,
}

impl Span {
    fn contains(&self, version: &Version) -> bool {
        is(self.first.compare(version), Ordering::is_le)
            && self.last.as_ref().is_none_or(|last| is(last.compare(version), Ordering::is_ge))
    }
}

/// The tables, each read when it is needed: most answers need the releases only.
/// Releases stay text: a string for each field takes four times as much.
static TAGS: LazyLock<String> = LazyLock::new(|| unpacked(packed!("tags")));
/// The rows of each framework, which stand together.
static TAGS_OF: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
    let table: &'static str = &TAGS;
    let name = |row: &'static str| row.split(',').next().unwrap_or_default();
    let mut rest = table.split_once('\n').map_or("", |(_, rows)| rows);
    let mut of = BTreeMap::new();
    while let Some(framework) = rest.lines().next().map(name) {
        let rows = rest.split_inclusive('\n').take_while(|row| name(row) == framework);
        let (own, others) = rest.split_at(rows.map(str::len).sum());
        of.insert(framework, own);
        rest = others;
    }
    of
});
static INSTALLS: LazyLock<Vec<[String; 2]>> =
    LazyLock::new(|| rows(packed!("installs")).filter_map(|row| row.try_into().ok()).collect());
static PINS: LazyLock<Vec<Span>> =
    LazyLock::new(|| rows(packed!("pins")).filter_map(span).collect());
static WHEELS: LazyLock<Vec<Span>> =
    LazyLock::new(|| rows(packed!("wheels")).filter_map(span).collect());

static ARM: LazyLock<Vec<[String; 3]>> =
    LazyLock::new(|| rows(packed!("arm")).filter_map(|row| row.try_into().ok()).collect());

/// The day the files for Arm CPUs were looked up.
pub const ARM_READ: &str = "2026-11-28";

/// The day the newest of the wheels were read.
pub const WHEELS_READ: &str = "2026-11-23";

fn is(order: Option<Ordering>, wanted: fn(Ordering) -> bool) -> bool {
    order.is_some_and(wanted)
}

fn unpacked(packed: &[u8]) -> String {
    let mut text = String::new();
    ZlibDecoder::new(packed).read_to_string(&mut text).expect("the build packed it");
    text
}

/// Rows of a packed table below its head.
fn rows(packed: &'static [u8]) -> impl Iterator<Item = Vec<String>> {
    unpacked(packed).lines().skip(1).map(fields).collect::<Vec<_>>().into_iter()
}

fn span(row: Vec<String>) -> Option<Span> {
    let mut row = row.into_iter();
    let (name, first, last) = (row.next()?, row.next()?, row.next()?);
    let last = if last.is_empty() { None } else { Some(last.parse().ok()?) };
    Some(Span { name: normalized(&name), first: first.parse().ok()?, last, row: row.collect() })
}

/// The fields of a line of a table.
pub fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().expect("never empty").push(letter),
        }
    }
    fields
}

/// What a release of a framework asks for. A release outside the table asks for nothing that is known.
pub fn pins(framework: &str, version: &str) -> Vec<Pin> {
    let Ok(version) = version.parse::<Version>() else { return Vec::new() };
    let newest = newest(framework);
    let known = newest.is_none_or(|newest| is(version.compare(&newest), Ordering::is_le));
    let of = PINS.iter().filter(|one| known && one.name == framework);
    let pin = |one: &Span| match one.row.as_slice() {
        [_, package, value, source] => {
            Some(Pin { package: package.clone(), value: value.clone(), source: source.clone() })
        }
        _ => None,
    };
    of.filter(|one| one.contains(&version)).filter_map(pin).collect()
}

/// Releases of a framework with their dates, oldest first.
fn tags(framework: &str) -> impl Iterator<Item = (&'static str, Version)> {
    written(framework).filter_map(|(version, date)| Some((version, date.parse().ok()?)))
}

/// The same as it is written.
fn written(framework: &str) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    let rows = TAGS_OF.get(framework).copied().unwrap_or_default().lines();
    rows.filter_map(|row| row.split_once(',')?.1.split_once(','))
}

fn newest(framework: &str) -> Option<Version> {
    written(framework).next_back()?.0.parse().ok()
}

/// The release somebody had who installed the framework on a day, or at the end of a month: `2025-03`.
pub fn release_on(framework: &str, date: &str) -> Option<&'static str> {
    let Ok(Version::Date(year, month, day)) = date.parse() else { return None };
    let day = Version::Date(year, month, if day == 0 { 31 } else { day });
    let published = tags(framework).filter(|(_, on)| is(on.compare(&day), Ordering::is_le));
    published.map(|(version, _)| version).last()
}

/// The day a release of a framework was made.
pub fn date_of(framework: &str, version: &Version) -> Option<&'static str> {
    let is_it = |text: &str| text.parse().is_ok_and(|one| same(&one, version));
    written(framework).find(|(text, _)| is_it(text)).map(|one| one.1)
}

/// The first release of a framework in the month that a date without a day names.
pub fn first_of_month(framework: &str, date: &str) -> Option<&'static str> {
    let Ok(Version::Date(_, _, 0)) = date.parse() else { return None };
    written(framework).find(|(_, day)| day.starts_with(date)).map(|one| one.0)
}

/// The versions of a package that pip can install, with blanks between them; `None` where the package is not listed.
fn installs(package: &str) -> Option<&'static str> {
    INSTALLS.iter().find(|row| row[0] == package).map(|row| row[1].as_str())
}

/// Whether some version of a package in this range can be installed: a fix names no other. `None` where the package is not listed.
pub fn is_installable(package: &str, range: &VersionRange) -> Option<bool> {
    let mut versions = installs(package)?.split(' ').filter_map(|text| text.parse().ok());
    Some(versions.any(|version: Version| range.contains(Some(&version)) == Some(true)))
}

/// Whether a package, or a framework without one, has a release of this version; `None` where its releases are not known.
pub fn exists(package: &str, version: &str) -> Option<bool> {
    let wanted: Version = version.parse().ok()?;
    let same = |one: &str| {
        one.parse::<Version>().is_ok_and(|one| is(one.compare(&wanted), Ordering::is_eq))
    };
    let name = normalized(package);
    let installs = installs(&name).map(|versions| versions.split(' ').any(same));
    let mut tags = tags(&name).map(|(version, _)| version).peekable();
    let tagged = tags.peek().is_some().then(|| tags.any(same));
    match (installs, tagged) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (installs, tagged) => installs.or(tagged),
    }
}

/// The libraries with device code in the wheel of a release for Linux on a CPU, as `uname -m` calls it. `None` where that wheel was not
/// read and its neighbours that were differ.
pub fn wheel(package: &str, version: &str, cpu: &str) -> Option<Vec<Library>> {
    let (name, version) = (normalized(package), version.parse::<Version>().ok()?);
    let here = |one: &Span| one.row[0].strip_prefix("linux ") == Some(cpu);
    let of = || WHEELS.iter().filter(|one| one.name == name && here(one));
    let changes = || of().flat_map(|one| [Some(&one.first), one.last.as_ref()]).flatten();
    let at = |wanted: fn(Ordering) -> bool| {
        changes().filter(|one| is(one.compare(&version), wanted)).collect::<Vec<_>>().into_iter()
    };
    let by = |a: &&Version, b: &&Version| a.compare(b).unwrap_or(Ordering::Equal);
    let read = at(Ordering::is_eq).next().is_some();
    if !read {
        let (before, after) = (at(Ordering::is_lt).max_by(by)?, at(Ordering::is_gt).min_by(by)?);
        let ends = |one: &Span| one.last.as_ref().is_some_and(|last| same(last, before));
        if of().any(|one| ends(one) || same(&one.first, after)) {
            return None;
        }
    }
    let found: Vec<_> = of().filter(|one| one.contains(&version)).filter_map(library).collect();
    (!found.is_empty()).then_some(found)
}

/// What there is instead of a wheel for Arm CPUs; `None` where there is one, or where nobody looked.
pub fn without_arm(package: &str, version: &str) -> Option<WithoutArm> {
    let (name, version) = (normalized(package), version.parse::<Version>().ok()?);
    let [_, first, source] = ARM.iter().find(|row| row[0] == name)?;
    let older = |first: Version| is(version.compare(&first), Ordering::is_lt);
    let missing = first.is_empty() || older(first.parse().ok()?);
    let there = if source == "yes" { WithoutArm::Source } else { WithoutArm::Nothing };
    missing.then_some(there)
}

fn same(a: &Version, b: &Version) -> bool {
    is(a.compare(b), Ordering::is_eq)
}

fn library(one: &Span) -> Option<Library> {
    let [_, name, code, ptx, wheel] = one.row.as_slice() else { return None };
    let list = |text: &str| text.split_whitespace().filter_map(|sm| sm.parse().ok()).collect();
    Some(Library { name: name.clone(), code: list(code), ptx: list(ptx), wheel: wheel.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_asks_for_what_its_files_say() {
        let asked = |framework, version, package: &str| {
            let pins = pins(framework, version);
            pins.iter().find(|one| one.package == package).and_then(Pin::exact).map(str::to_owned)
        };
        assert_eq!(asked("vllm", "0.8.1", "torch").as_deref(), Some("2.6.0"));
        assert_eq!(asked("vllm", "0.8.1", "xformers").as_deref(), Some("0.0.29.post2"));
        assert_eq!(asked("vllm", "99.0", "torch"), None);
        assert_eq!(asked("lmdeploy", "0.18.0", "torch"), None, "a range is no version");
        let taken = |framework, version, package: &str| {
            let pins = pins(framework, version);
            pins.iter().find(|one| one.package == package).and_then(Pin::taken).map(str::to_owned)
        };
        // InternLM/lmdeploy@v0.9.1:requirements/runtime_cuda.txt: triton<=3.3.1,>=3.0.0.
        assert_eq!(taken("lmdeploy", "0.9.1", "triton").as_deref(), Some("3.3.1"));
        assert_eq!(
            taken("unsloth", "2025.10.2", "triton"),
            None,
            "what is newest then is not known"
        );
    }

    /// As `pip index versions ktransformers` lists them: 0.3.1 was tagged and never uploaded.
    #[test]
    fn a_tag_is_no_upload() {
        let range = |text: &str| text.parse().expect("a range");
        assert_eq!(is_installable("ktransformers", &range("==0.3.1")), Some(false));
        assert_eq!(is_installable("ktransformers", &range(">=0.2,<0.3")), Some(true));
        assert_eq!(is_installable("nobody's-package", &range(">=0.1")), None);
    }

    /// Rows of a framework elsewhere, or in quotes, would be lost.
    #[test]
    fn releases_of_a_framework_stand_together() {
        let rows = || TAGS.lines().skip(1).map(|row| row.split(',').next().unwrap_or_default());
        let frameworks: std::collections::BTreeSet<&str> = rows().collect();
        let found: usize = frameworks.iter().map(|framework| tags(framework).count()).sum();
        assert_eq!(found, rows().count());
        assert!(!TAGS.contains('"'));
    }

    #[test]
    fn a_date_stands_for_the_newest_release_of_its_time() {
        assert_eq!(release_on("vllm", "2025-03"), Some("0.8.2"));
        assert_eq!(release_on("vllm", "2025-03-19"), Some("0.8.1"));
        assert_eq!(first_of_month("vllm", "2025-03"), Some("0.8.0"));
        assert_eq!(first_of_month("vllm", "2025-03-19"), None);
        assert_eq!(date_of("vllm", &"0.8.1".parse().expect("a version")), Some("2025-03-19"));
        assert_eq!(release_on("vllm", "2019-01"), None);
        assert_eq!(release_on("vllm", "0.8.1"), None);
        assert_eq!(release_on("nobody", "2025-03"), None);
    }

    #[test]
    fn what_exists_is_told_from_what_does_not() {
        assert_eq!(exists("vllm", "0.8.1"), Some(true));
        assert_eq!(exists("vllm", "0.8.99"), Some(false));
        assert_eq!(exists("flash_attn", "2.7.3"), Some(true));
        assert_eq!(exists("nobody", "1.0"), None);
    }

    /// As `pip download --only-binary=:all: --platform manylinux_2_28_aarch64` lists them.
    #[test]
    fn wheels_for_arm_begin_late_or_never() {
        assert_eq!(without_arm("vllm", "0.10.1.1"), Some(WithoutArm::Source));
        assert_eq!(without_arm("vllm", "0.10.2"), None);
        assert_eq!(without_arm("sgl_kernel", "0.3.11"), Some(WithoutArm::Nothing));
        assert_eq!(without_arm("lmdeploy", "0.15.0"), Some(WithoutArm::Nothing));
        assert_eq!(without_arm("nobody", "1.0"), None);
    }

    #[test]
    fn wheels_are_known_where_both_neighbours_agree() {
        let targets = |package, version| {
            let libraries = wheel(package, version, "x86_64")?;
            Some(libraries.iter().map(|one| one.code.len()).max().unwrap_or_default())
        };
        assert_eq!(targets("autoawq_kernels", "0.0.9"), Some(6));
        assert_eq!(targets("autoawq-kernels", "0.0.10"), None);
        assert_eq!(targets("lmdeploy", "0.15.0"), Some(8));
        assert_eq!(targets("nobody", "1.0"), None);
        assert_eq!(wheel("autoawq-kernels", "0.0.9", "aarch64"), None);
    }
}
