//! Packages whose files are not as they were installed: their code says nothing until they are repaired.

use warpscope_kernels::Sm;
use warpscope_kernels::image::Isa;
use warpscope_probes::inspect::env::Package;
use warpscope_probes::inspect::{Damage, EnvironmentScan};

use super::target_coverage::{TargetCoverage, short_name, target_coverage};
use crate::engine::verdict::Outcome;

/// Judges an installed package: what its binaries can run on, unless one of them is missing, was cut short or cannot be read.
pub fn package_coverage(
    scan: &EnvironmentScan,
    package: &Package,
    gpu: (Sm, Option<Isa>),
    runtime: Option<(u32, u32)>,
) -> Option<TargetCoverage> {
    let reach = target_coverage(&named(package), scan.device_code(package), gpu, runtime);
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
    Some(TargetCoverage { outcome, detail, library, coverage, libraries })
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
    let pip = package.normalized.as_str();
    let is_plain = pip.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let how = format!(": pip install --force-reinstall --no-deps {pip}");
    format!("{file} of {name} {what}; reinstall it{}", if is_plain { how.as_str() } else { "" })
}
