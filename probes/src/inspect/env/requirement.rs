//! What packages ask of each other, and where that disagrees with what is installed.
//!
//! A package with compiled code that pins torch was built against that torch: with another its import fails with an undefined symbol,
//! which no message of the loader explains. Only what is certain is told: a marker or a version that cannot be read is no conflict.

use std::fmt::Write as _;

use super::inventory::Package;
use super::marker::{self, Target};
use super::metadata::normalized;
use crate::rules::{Version, VersionRange};

/// Problems told of one environment; more are counted.
const MOST: usize = 24;

/// Packages whose binary interface changes from release to release, so that compiled code fits one only.
const BINARY_INTERFACES: &[&str] = &["torch", "tensorflow", "jaxlib", "paddlepaddle-gpu"];

/// Names of the package whose tensors others compute with: as Python and as conda write it.
const TORCH: &[&str] = &["torch", "pytorch"];

/// One `Requires-Dist`: name, versions, when it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement<'a> {
    pub(super) name: &'a str,
    pub(super) versions: &'a str,
    pub(super) marker: &'a str,
}

impl<'a> Requirement<'a> {
    /// Reads PEP 508's `name[extra] (>=1,<2) ; marker`, with or without brackets. A URL pins nothing that could be compared.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (text, marker) = text.split_once(';').unwrap_or((text, ""));
        let text = text.trim();
        let end = text
            .find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c))
            .unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let rest = rest.trim_start();
        let rest = match rest.strip_prefix('[') {
            Some(extras) => extras.split_once(']')?.1.trim_start(),
            None => rest,
        };
        if name.is_empty() || rest.starts_with('@') {
            return None;
        }
        let versions = rest.trim_start_matches('(').trim_end_matches(')').trim();
        Some(Self { name, versions, marker: marker.trim() })
    }

    /// Whether an installed version is allowed; `None` when that cannot be told.
    pub(super) fn allows(&self, package: &Package) -> Option<bool> {
        let version: Version = package.version.parse().ok()?;
        let clauses = self.versions.split(',').map(str::trim).filter(|clause| !clause.is_empty());
        let each = clauses.map(|clause| allows(clause, &version, package.local.as_deref()));
        let answers: Vec<_> = each.collect();
        // One clause that is surely broken decides, whatever the others are.
        match answers.contains(&Some(false)) {
            true => Some(false),
            false => answers.iter().all(Option::is_some).then_some(true),
        }
    }
}

/// One clause of PEP 440.
fn allows(clause: &str, version: &Version, local: Option<&str>) -> Option<bool> {
    if let Some(base) = clause.strip_prefix("~=") {
        let (prefix, _) = base.trim().rsplit_once('.')?;
        let range: VersionRange = format!(">={},=={prefix}.*", base.trim()).parse().ok()?;
        return range.contains(Some(version));
    }
    let clause =
        clause.strip_prefix("===").map_or_else(|| clause.to_owned(), |rest| format!("=={rest}"));
    // With a local part only that very build counts; without one any build will do.
    let (clause, wanted) = match clause.split_once('+') {
        Some((public, wanted)) => (public.to_owned(), Some(wanted.to_owned())),
        None => (clause, None),
    };
    let public = clause.parse::<VersionRange>().ok()?.contains(Some(version))?;
    let Some(wanted) = wanted else { return Some(public) };
    let same = local.is_some_and(|local| normalized(local) == normalized(wanted.trim()));
    match () {
        () if clause.starts_with("!=") => Some(public || !same),
        () => Some(public && same),
    }
}

/// Notes at every package that asks for torch why it can use no GPU: there is none, or one without CUDA. `is_whole`: whether what was not
/// found is not there.
pub(super) fn note_obstacles(packages: &mut [Package], target: &Target, is_whole: bool) {
    let torch = packages.iter().find(|one| TORCH.contains(&one.normalized.as_str()));
    let bare = torch.filter(|torch| torch.without_cuda).map(Package::full_version);
    if torch.map_or(!is_whole, |torch| !torch.without_cuda) {
        return;
    }
    for package in packages {
        let requirements = package.requires.iter().filter_map(|text| Requirement::parse(text));
        let mut needed = requirements
            .filter(|one| normalized(one.name) == TORCH[0])
            .filter(|one| marker::holds(one.marker, target) == Some(true));
        let Some(Requirement { name: wanted, versions, .. }) = needed.next() else { continue };
        let name = format!("{} {}", package.name, package.full_version());
        package.obstacle = Some(match &bare {
            Some(bare) => format!(
                "{name} stands on torch {bare}, which is built without CUDA, so that no GPU is used"
            ),
            None => format!(
                "{name} asks for {wanted}{versions}, and no {wanted} is installed in its environment: its import fails"
            ),
        });
    }
}

/// Sentences about requirements that what is installed does not meet, those that break imports first.
pub(super) fn conflicts(packages: &[Package], target: &Target) -> Vec<String> {
    let mut serious = Vec::new();
    let mut others = Vec::new();
    for package in packages {
        for text in &package.requires {
            let Some(requirement) = Requirement::parse(text) else { continue };
            let wanted = normalized(requirement.name);
            let Ok(at) = packages.binary_search_by(|one| one.normalized.as_str().cmp(&wanted))
            else {
                continue;
            };
            let holds = marker::holds(requirement.marker, target) == Some(true);
            if !holds || requirement.allows(&packages[at]) != Some(false) {
                continue;
            }
            let compiled =
                !package.libraries.is_empty() && BINARY_INTERFACES.contains(&wanted.as_str());
            let sentence = sentence(package, &requirement, &packages[at], compiled);
            if compiled { serious.push(sentence) } else { others.push(sentence) }
        }
    }
    serious.append(&mut others);
    let more = serious.len().saturating_sub(MOST);
    serious.truncate(MOST);
    if more > 0 {
        serious.push(format!("{more} more requirements are not met; see them all with: pip check"));
    }
    serious
}

fn sentence(
    package: &Package,
    requirement: &Requirement<'_>,
    installed: &Package,
    compiled: bool,
) -> String {
    let (name, version) = (&package.name, package.full_version());
    let (wanted, versions, got) =
        (requirement.name, requirement.versions, installed.full_version());
    let mut text =
        format!("{name} {version} asks for {wanted}{versions}, but {wanted} {got} is installed");
    if compiled {
        let _ = write!(
            text,
            ": its compiled code was built for another {wanted} and may fail at import with \"undefined symbol\""
        );
    }
    let _ = write!(
        text,
        ". Install one that fits: pip install \"{wanted}{versions}\", or a release of {name} made for {wanted} {}.",
        installed.version
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, requires: &[&str], libraries: usize) -> Package {
        let (version, local) = super::super::metadata::split_version(version);
        Package {
            name: name.to_owned(),
            normalized: normalized(name),
            version,
            local,
            requires: requires.iter().map(|&text| text.to_owned()).collect(),
            libraries: vec![super::super::inventory::Library::default(); libraries],
            ..Package::default()
        }
    }

    fn target() -> Target {
        Target { python: Some("3.11".to_owned()), machine: "x86_64" }
    }

    /// Examples of PEP 508 and of real METADATA.
    #[test]
    fn requirements_are_read_as_packages_write_them() {
        for (text, name, versions, marker) in [
            ("torch==2.8.0", "torch", "==2.8.0", ""),
            ("torch (>=1.11.0)", "torch", ">=1.11.0", ""),
            (
                "requests [security,tests] >= 2.8.1, == 2.8.* ; python_version < \"2.7\"",
                "requests",
                ">= 2.8.1, == 2.8.*",
                "python_version < \"2.7\"",
            ),
            (
                "nvidia-cublas-cu12==12.8.4.1; platform_system == \"Linux\" and platform_machine == \"x86_64\"",
                "nvidia-cublas-cu12",
                "==12.8.4.1",
                "platform_system == \"Linux\" and platform_machine == \"x86_64\"",
            ),
            ("einops", "einops", "", ""),
        ] {
            let expected = Requirement { name, versions, marker };
            assert_eq!(Requirement::parse(text), Some(expected), "{text}");
        }
        for text in ["pip @ https://example.org/pip.whl", "", "==1", "a[b"] {
            assert_eq!(Requirement::parse(text), None, "{text}");
        }
    }

    /// Cases of PEP 440, "Version specifiers".
    #[test]
    fn versions_are_compared_as_pep_440_says() {
        for (versions, installed, allowed) in [
            ("==2.8.0", "2.8.0+cu128", Some(true)),
            ("==2.8.0+cu128", "2.8.0+cu128", Some(true)),
            ("==2.8.0+cu128", "2.8.0", Some(false)),
            ("==2.8.0+cu126", "2.8.0+cu128", Some(false)),
            ("!=2.8.0+cu126", "2.8.0+cu128", Some(true)),
            ("===2.8.0", "2.8.1", Some(false)),
            ("~=2.2", "2.8.0", Some(true)),
            ("~=2.2", "3.0", Some(false)),
            ("~=1.4.5", "1.4.9", Some(true)),
            ("~=1.4.5", "1.5.0", Some(false)),
            (">=1.0,<2.0", "2.1", Some(false)),
            ("==1.1.*", "1.1.2", Some(true)),
            ("<2.0,>=strange", "2.1", Some(false)),
            (">=strange", "2.1", None),
            ("", "1", Some(true)),
        ] {
            let requirement = Requirement { name: "x", versions, marker: "" };
            assert_eq!(
                requirement.allows(&package("x", installed, &[], 0)),
                allowed,
                "{installed} {versions}"
            );
        }
    }

    #[test]
    fn compiled_code_for_another_torch_is_told_first_and_with_its_symptom() {
        let mut packages = vec![
            package("torch", "2.9.0+cu128", &[], 9),
            package("torchvision", "0.23.0", &["torch==2.8.0", "numpy"], 2),
            package("accelerate", "1.0", &["torch>=2.0", "numpy<2"], 0),
            package("numpy", "2.1.0", &[], 1),
            package("docs", "1", &["numpy<1; extra == 'doc'", "numpy<1; python_version < '3'"], 0),
        ];
        packages.sort_by(|a, b| a.normalized.cmp(&b.normalized));
        let found = conflicts(&packages, &target());
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains(
                "torchvision 0.23.0 asks for torch==2.8.0, but torch 2.9.0+cu128 is installed"
            ),
            "{found:?}"
        );
        assert!(found[0].contains("undefined symbol"));
        assert!(found[1].contains("numpy<2") && !found[1].contains("undefined symbol"));
    }

    /// First figures: with no torch, and with one for CPUs, both packages had no word said of it.
    #[test]
    fn what_stands_on_torch_says_where_it_is_missing_or_has_no_cuda() {
        let all = |torch: Option<bool>| {
            let torch = torch.map(|without_cuda| Package {
                without_cuda,
                ..package("torch", "2.9.1+cpu", &[], 2)
            });
            let others = [
                package("accelerate", "1.0", &["numpy", "torch; extra == 'dev'"], 0),
                package("xformers", "0.0.35", &["torch>=2.10"], 3),
            ];
            torch.into_iter().chain(others).collect::<Vec<_>>()
        };
        let told = |torch, is_whole| {
            let mut packages = all(torch);
            note_obstacles(&mut packages, &target(), is_whole);
            let told = packages.into_iter().filter_map(|one| one.obstacle);
            told.collect::<Vec<_>>()
        };
        let missing = told(None, true);
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(missing[0].contains("xformers 0.0.35 asks for torch>=2.10, and no torch"));
        assert!(
            told(Some(true), false)[0].contains("torch 2.9.1+cpu, which is built without CUDA")
        );
        // Not all that it sees is known, or all is well.
        assert_eq!((told(None, false), told(Some(false), true)), (vec![], vec![]));
    }

    #[test]
    fn a_flood_of_conflicts_is_counted() {
        let requires: Vec<_> = (0..100).map(|n| format!("x>{n}.5,<0")).collect();
        let requires: Vec<_> = requires.iter().map(String::as_str).collect();
        let packages = [package("a", "1", &requires, 0), package("x", "1", &[], 0)];
        let found = conflicts(&packages, &target());
        assert_eq!(found.len(), MOST + 1);
        assert!(found[MOST].starts_with("76 more"), "{}", found[MOST]);
    }
}
