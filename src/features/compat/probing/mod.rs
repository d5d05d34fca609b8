//! Live probes on a GPU in view: what was found before is recalled once, a key finds it anew.

use std::collections::BTreeSet;

use warpscope_probes::Frame;
use warpscope_probes::gpu::{Gpu, Presence};
use warpscope_probes::live::{Answer, CublasCopies, ProbeReport};
use warpscope_probes::trust::{self, Vetted};

use crate::engine::Target;
use crate::shell::{App, Cmd};
use crate::worker::scheduler::conditions;

/// A GPU to be probed, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probing {
    /// UUID of the GPU.
    pub uuid: String,
    /// Version of its driver.
    pub driver: String,
    /// Copies of cuBLAS that were found.
    pub cublas: CublasCopies,
}

/// Which GPUs were asked about.
#[derive(Clone, Debug, Default)]
pub struct Probed {
    /// UUIDs and drivers of which everything found before is known.
    recalled: BTreeSet<(String, String)>,
    /// The GPU on which probes run.
    pub running: Option<String>,
    /// Libraries that are not loaded for them, each with the reason.
    refused: Vec<String>,
}

/// What was found before on GPUs that are new in view. A recording shows other GPUs, or another day.
pub(crate) fn recall(app: &mut App) -> Option<Cmd> {
    if app.replay.is_some() {
        return None;
    }
    let known = &mut app.compat.probed.recalled;
    let frame = &app.frame;
    let named = frame.gpus.iter().filter_map(|gpu| named(frame, gpu));
    let new: Vec<_> = named.filter(|one| known.insert(one.clone())).collect();
    (!new.is_empty()).then_some(Cmd::ReadProbes(new))
}

/// UUID and driver of a GPU that is there.
fn named(frame: &Frame, gpu: &Gpu) -> Option<(String, String)> {
    let real = gpu.presence == Presence::Present;
    let uuid = gpu.identity.uuid.last().filter(|_| real)?;
    Some((uuid.clone(), frame.driver.versions.driver.last()?.clone()))
}

/// Probes the selected GPU, unless others use it.
pub(crate) fn start(app: &mut App) -> Vec<Cmd> {
    match wanted(app) {
        Ok(probing) => {
            app.compat.probed.running = Some(probing.uuid.clone());
            app.compat.probed.refused.clear();
            app.view.say("The probes run; what they find goes before the rules.");
            vec![Cmd::Probe(probing)]
        }
        Err(why) => {
            app.view.say(why);
            Vec::new()
        }
    }
}

fn wanted(app: &App) -> Result<Probing, String> {
    if app.replay.is_some() {
        return Err("A recording cannot be probed.".to_owned());
    }
    if app.compat.probed.running.is_some() {
        return Err("The probes are running.".to_owned());
    }
    let gpu = app.frame.gpus.get(app.view.compat.column.at).ok_or("There is no GPU to probe.")?;
    if let Some(why) = conditions(&app.frame, gpu, &[]).blocker {
        return Err(format!("Not probed: {why}."));
    }
    let (uuid, driver) =
        named(&app.frame, gpu).ok_or("Not probed: its driver does not say which it is.")?;
    let target = Target::from_gpu(gpu, &app.frame.driver);
    let copies = |survey: &warpscope_probes::inspect::Survey| {
        let (cuda, user) = (target.cuda.as_deref(), trust::user());
        CublasCopies::of(&survey.inventory, cuda, target.sm, user)
    };
    let cublas = app.compat.survey().map(copies).unwrap_or_default();
    Ok(Probing { uuid, driver, cublas })
}

/// Says which libraries the probes are about to load, and which not.
pub(crate) fn announce(app: &mut App, cublas: &Vetted) {
    let lines = cublas.lines("cuBLAS", "run `warpscope probe --cublas PATH`");
    if !lines.is_empty() {
        app.view.say(lines.join("; "));
    }
    app.compat.probed.refused = cublas.refusals().collect();
}

/// Takes what was found before, or now.
pub(crate) fn take(app: &mut App, uuid: &str, found: Result<Vec<ProbeReport>, String>) {
    let now = app.compat.probed.running.as_deref() == Some(uuid);
    if now {
        app.compat.probed.running = None;
    }
    match found {
        Ok(reports) => {
            if now {
                let refused = &app.compat.probed.refused;
                app.view.say([&[summary(&reports)], refused.as_slice()].concat().join(" "));
            }
            app.compat.set_measured(reports);
        }
        Err(why) => app.view.say(why),
    }
}

/// One line on what was found.
fn summary(reports: &[ProbeReport]) -> String {
    let count = |is_it: fn(Answer) -> bool| reports.iter().filter(|one| is_it(one.answer)).count();
    let good = count(|answer| answer == Answer::Works);
    let unknown = count(|answer| answer == Answer::Unknown);
    let other = reports.len() - good - unknown;
    let simulated = reports.iter().any(|report| report.simulated);
    let note = if simulated { " Simulated: no evidence." } else { "" };
    format!(
        "{} probes: {good} work, {other} do not, {unknown} could not be tried.{note}",
        reports.len()
    )
}

#[cfg(test)]
mod tests;
