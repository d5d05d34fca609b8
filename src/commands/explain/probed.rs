//! Live probes that tell causes apart, run by `warpscope probe`.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use warpscope_probes::live::{Answer, ProbeReport};

use crate::commands::cli::Result;
use crate::commands::output;
use crate::engine::explain::{Facts, state_probes};

#[derive(Deserialize)]
struct Probed {
    gpus: Vec<OneGpu>,
}

#[derive(Deserialize)]
struct OneGpu {
    probes: Vec<ProbeReport>,
    paused: Option<String>,
}

/// Runs the probes and adds what they found; one that fails on any GPU counts as failing.
pub(super) fn state(facts: &mut Facts, wanted: &[String], library: Option<&Path>) -> Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["probe", "--json", "--only", &wanted.join(",")]);
    if let Some(library) = library {
        command.arg("--library").arg(library);
    }
    let ended = command.output()?;
    let Ok(found) = serde_json::from_slice::<Probed>(&ended.stdout) else {
        output::note(String::from_utf8_lossy(&ended.stderr).trim());
        return Ok(());
    };
    found.gpus.iter().filter_map(|gpu| gpu.paused.as_ref()).for_each(output::note);
    let mut reports: Vec<&ProbeReport> = found.gpus.iter().flat_map(|gpu| &gpu.probes).collect();
    reports.retain(|report| report.answer != Answer::Unknown);
    reports.sort_by_key(|report| report.answer != Answer::Fails);
    let simulated = if reports.iter().any(|report| report.simulated) { " (simulated)" } else { "" };
    for report in &reports {
        output::note(format_args!("probe {}{simulated}: {}", report.id, report.detail));
    }
    state_probes(
        facts,
        reports.iter().map(|report| (report.id.as_str(), report.answer != Answer::Fails)),
    );
    Ok(())
}
