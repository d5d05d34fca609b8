//! Live probes on a GPU in view: what was found before is recalled once, a key finds it anew.

use std::collections::BTreeSet;
use std::sync::Arc;

use warpscope_probes::Frame;
use warpscope_probes::gpu::{Gpu, Presence};
use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::live::{Answer, CublasCopies, ProbeReport};
use warpscope_probes::trust::{self, Vetted};

use super::{Cmd, Compat};
use crate::engine::Target;
use crate::features::{Effect, Feature, Shared, say};
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

impl Compat {
    /// What was found before on GPUs that are new in view. A recording shows other GPUs, or another day.
    pub(super) fn recall(&mut self, shared: &Shared) -> Option<Effect> {
        if shared.replay.is_some() {
            return None;
        }
        let frame = &shared.frame;
        let known = &mut self.probed.recalled;
        let named = frame.gpus.iter().filter_map(|gpu| named(frame, gpu));
        let new: Vec<_> = named.filter(|one| known.insert(one.clone())).collect();
        (!new.is_empty()).then(|| Cmd::ReadProbes(new).into())
    }

    /// Probes the selected GPU, unless others use it.
    pub(super) fn probe(&mut self, shared: &Shared) -> Vec<Effect> {
        let probing = match self.wanted(shared) {
            Ok(probing) => probing,
            Err(why) => return say(why),
        };
        self.probed.running = Some(probing.uuid.clone());
        self.probed.refused.clear();
        let mut effects = say("Probes are running; their results take precedence over the rules.");
        effects.push(Cmd::Probe(probing).into());
        effects
    }

    fn wanted(&self, shared: &Shared) -> Result<Probing, String> {
        if shared.replay.is_some() {
            return Err("A recording cannot be probed.".to_owned());
        }
        if self.probed.running.is_some() {
            return Err("Probes are already running.".to_owned());
        }
        let frame = &shared.frame;
        let selected = self.gpu().and_then(|at| frame.gpus.get(at));
        let gpu = selected.ok_or("There is no GPU to probe.")?;
        if let Some(why) = conditions(frame, gpu, &[]).blocker {
            return Err(format!("Not probed: {why}."));
        }
        let (uuid, driver) = named(frame, gpu).ok_or("Not probed: its driver reports no UUID.")?;
        let target = Target::from_gpu(gpu, &frame.driver);
        let copies = |survey: &Arc<EnvironmentScan>| {
            let (cuda, user) = (target.cuda.as_deref(), trust::user());
            CublasCopies::of(&survey.inventory, cuda, target.sm, user)
        };
        let cublas = self.verdicts.survey().map(copies).unwrap_or_default();
        Ok(Probing { uuid, driver, cublas })
    }

    /// Says which libraries the probes are about to load, and which not.
    pub(super) fn announce(&mut self, cublas: &Vetted) -> Vec<Effect> {
        self.probed.refused = cublas.refusals().collect();
        match cublas.lines("cuBLAS", "run `warpscope probe --cublas PATH`") {
            lines if lines.is_empty() => Vec::new(),
            lines => say(lines.join("; ")),
        }
    }

    /// Takes what was found before, or now.
    pub(super) fn take_probed(
        &mut self,
        uuid: &str,
        found: Result<Vec<ProbeReport>, String>,
    ) -> Vec<Effect> {
        let now = self.probed.running.as_deref() == Some(uuid);
        if now {
            self.probed.running = None;
        }
        let reports = match found {
            Ok(reports) => reports,
            Err(why) => return say(why),
        };
        let said =
            now.then(|| [&[summary(&reports)], self.probed.refused.as_slice()].concat().join(" "));
        self.keep_selection(|tab| tab.verdicts.set_measured(reports));
        said.map_or_else(Vec::new, say)
    }
}

/// UUID and driver of a GPU that is there.
fn named(frame: &Frame, gpu: &Gpu) -> Option<(String, String)> {
    let real = gpu.presence == Presence::Present;
    let uuid = gpu.identity.uuid.last().filter(|_| real)?;
    Some((uuid.clone(), frame.driver.versions.driver.last()?.clone()))
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
