//! Packages whose files are not as they were installed: their code says nothing until they are repaired.

use warpscope_kernels::Sm;
use warpscope_kernels::image::Isa;
use warpscope_probes::inspect::env::{Library, Package};
use warpscope_probes::inspect::{Damage, EnvironmentScan};

use super::host::{loadable, obstacle};
use super::names::short_name;
use super::target_coverage::{TargetCoverage, target_coverage};
use crate::engine::verdict::Outcome;

/// Judges an installed package: what its binaries can run on, unless one of them is missing, was cut short or cannot be read, or the package
/// cannot use a GPU for want of something else. `cpu`: the kind beside the GPU, where that is known.
pub fn package_coverage(
    scan: &EnvironmentScan,
    package: &Package,
    (sm, driver, cpu): (Sm, Option<Isa>, Option<&str>),
    runtime: Option<(u32, u32)>,
) -> Option<TargetCoverage> {
    if let Some(refused) = obstacle(package) {
        return Some(refused);
    }
    let name = named(package);
    let scans = match loadable(&name, scan.device_code(package), cpu) {
        Ok(scans) => scans,
        Err(refused) => return Some(*refused),
    };
    let reach = target_coverage(&name, scans.into_iter(), (sm, driver), runtime);
    let Some(damage) = scan.damage(package) else { return reach };
    let stays = |reach: &TargetCoverage| match reach.outcome {
        // What fails for want of code fails after a repair as well.
        Outcome::Fails => !(damage.is_unread && damage.is_main),
        Outcome::Partial => damage.is_unread && !damage.is_main,
        _ => false,
    };
    if reach.as_ref().is_some_and(stays) {
        return reach;
    }
    let outcome = match (damage.is_unread, damage.is_main) {
        (true, _) => Outcome::Unknown,
        (false, true) => Outcome::Fails,
        (false, false) => Outcome::Partial,
    };
    let (coverage, libraries) = reach.map(|one| (one.coverage, one.libraries)).unwrap_or_default();
    let (detail, library) = (sentence(package, &damage), damage.path.to_owned());
    let repair = reinstall(package).filter(|_| !damage.is_unread);
    Some(TargetCoverage { outcome, detail, library, coverage, libraries, repair })
}

/// That a binary of a package with device code is whole, but not of the size that its record gives.
pub fn replaced(scan: &EnvironmentScan, package: &Package) -> Option<String> {
    scan.device_code(package).next()?;
    let differs = |one: &&Library| one.recorded.is_some_and(|recorded| recorded != one.bytes);
    let is_whole = |one: &&Library| !scan.damaged.contains_key(&one.path);
    let one = package.libraries.iter().filter(is_whole).find(differs)?;
    let all = package.libraries.iter().map(|one| one.path.as_path());
    Some(format!(
        "{} of {} has {} bytes and its record lists {}: it is not the file that was installed{}",
        short_name(&one.path, all),
        named(package),
        one.bytes,
        one.recorded?,
        reinstall(package).map_or_else(String::new, |how| format!("; reinstall it: {how}"))
    ))
}

/// What is wrong with the files of a package.
pub fn package_damage(scan: &EnvironmentScan, package: &Package) -> Option<String> {
    let damage = scan.damage(package).filter(|damage| !damage.is_unread)?;
    Some(sentence(package, &damage))
}

fn named(package: &Package) -> String {
    format!("{} {}", package.name, package.full_version())
}

fn sentence(package: &Package, damage: &Damage<'_>) -> String {
    let all = package.libraries.iter().chain(&package.missing).map(|one| one.path.as_path());
    let (file, name, what) = (short_name(damage.path, all), named(package), damage.what);
    if damage.is_unread {
        return format!(
            "{file} of {name} could not be read ({what}), so nothing is known of its code"
        );
    }
    let how = reinstall(package).map_or_else(String::new, |how| format!(": {how}"));
    format!("{file} of {name} {what}; reinstall it{how}")
}

fn reinstall(package: &Package) -> Option<String> {
    let pip = package.normalized.as_str();
    let is_plain = pip.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_plain.then(|| format!("pip install --force-reinstall --no-deps {pip}"))
}
