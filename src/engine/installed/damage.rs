//! Packages whose files are not as they were installed: their code says nothing until they are repaired.

use warpscope_kernels::Sm;
use warpscope_kernels::image::Isa;
use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::inspect::binary::Coverage;
use warpscope_probes::inspect::env::Package;

use super::target_coverage::{TargetCoverage, short_name, target_coverage};
use crate::engine::verdict::Outcome;

/// Judges an installed package: what its binaries can run on, unless one of them is missing or was cut short.
pub fn package_coverage(
    scan: &EnvironmentScan,
    package: &Package,
    (device, driver): (Sm, Option<Isa>),
    runtime: Option<(u32, u32)>,
) -> Option<TargetCoverage> {
    let name = format!("{} {}", package.name, package.full_version());
    let scans = scan.device_code(package);
    let reach = target_coverage(&name, scans, (device, driver), runtime);
    let Some(damage) = scan.damage(package) else { return reach };
    let outcome = if damage.is_main { Outcome::Fails } else { Outcome::Partial };
    let sound = reach.unwrap_or_else(|| TargetCoverage {
        outcome,
        detail: String::new(),
        library: damage.path.to_owned(),
        coverage: Coverage::default(),
        libraries: Vec::new(),
    });
    let all = package.libraries.iter().map(|one| one.path.as_path());
    let file =
        short_name(damage.path, all.chain(package.missing.iter().map(|one| one.path.as_path())));
    let pip = package.normalized.as_str();
    let is_plain = pip.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let reinstall = if is_plain {
        format!(": pip install --force-reinstall --no-deps {pip}")
    } else {
        String::new()
    };
    let detail = format!("{file} of {name} {}; reinstall it{reinstall}", damage.what);
    // What fails for want of code fails after a repair as well.
    if sound.outcome == Outcome::Fails && !sound.detail.is_empty() {
        return Some(sound);
    }
    Some(TargetCoverage { outcome, detail, library: damage.path.to_owned(), ..sound })
}
