//! What live probes found before on the GPUs that are here.

use warpscope_probes::live::{Answer, ProbeReport};

use super::Finding;
use super::checks::{pass, skip, warn};
use super::installed::Here;
use crate::commands::answer::findings::kept;
use crate::engine::{Target, contradicted_rules};

/// Answers of each GPU with their day; wrong results and answers that contradict a rule are named.
pub(crate) fn probed(here: &Here) -> Finding {
    if here.gpus.is_empty() {
        return skip("no GPU here");
    }
    let each = here.gpus.iter().map(|gpu| (gpu, kept(std::slice::from_ref(gpu))));
    let found: Vec<_> = each.filter(|(_, reports)| !reports.is_empty()).collect();
    if found.is_empty() {
        return skip("none were run; run `warpscope probe`");
    }
    let (lines, troubles) = told(here, &found);
    if troubles.is_empty() {
        return pass(lines.join("\n"));
    }
    let remedy =
        "run `warpscope probe` again; if the result is the same, the rule or the GPU is at fault";
    warn([lines, troubles].concat().join("\n"), remedy)
}

fn told(here: &Here, found: &[(&Target, Vec<ProbeReport>)]) -> (Vec<String>, Vec<String>) {
    let (mut lines, mut troubles) = (Vec::new(), Vec::new());
    for (gpu, reports) in found {
        let day = reports.iter().map(|report| &*report.measured).max().unwrap_or_default();
        let works = reports.iter().filter(|report| report.answer == Answer::Works).count();
        lines.push(format!("{}: {works} of {} work, last {day}", gpu.label, reports.len()));
        for report in reports {
            if report.answer == Answer::WrongOutput {
                troubles.push(format!("{}: {}", report.id, report.detail));
            }
            for rule in contradicted_rules(&here.base, report, gpu) {
                let (id, reason) = (&rule.id, &rule.reason);
                troubles.push(format!(
                    "{}: {}; rule {id} contradicts it: {reason}",
                    report.id, report.detail
                ));
            }
        }
    }
    (lines, troubles)
}
