//! What live probes found before, and where it is kept.

use warpscope_probes::live::{ProbeReport, Store};
use warpscope_probes::rules::RuleBase;

use crate::engine::{Finding, Target, live_findings};

/// What was found before on these devices, each with the driver it has now.
pub(crate) fn kept(targets: &[Target]) -> Vec<ProbeReport> {
    let Some(store) = Store::of_user() else { return Vec::new() };
    let of = |target: &Target| {
        let uuid = target.uuid.as_deref().filter(|_| !target.what_if)?;
        Some(store.read(uuid, target.driver.as_deref()))
    };
    targets.iter().filter_map(of).flatten().collect()
}

/// The same as findings: what they settle goes before the rules.
pub(crate) fn findings(base: &RuleBase, targets: &[Target]) -> Vec<Finding> {
    let sm_of = |uuid: &str| {
        let mut same = targets.iter().filter(|target| target.uuid.as_deref() == Some(uuid));
        same.find_map(|target| target.sm)
    };
    let reports = kept(targets);
    reports.iter().flat_map(|report| live_findings(base, report, sm_of(&report.uuid))).collect()
}
