//! What is found out for the answers, and what the outside is asked to find out.

use std::sync::Arc;
use std::time::Duration;

use warpscope_probes::inspect::{EnvironmentScan, ScanProgress};
use warpscope_probes::live::ProbeReport;
use warpscope_probes::model::Model;
use warpscope_probes::rules::RuleBase;
use warpscope_probes::trust::Vetted;

use super::Compat;
use super::model::Choice;
use super::probing::Probing;
use super::served::Peak;
use crate::features::{Effect, Shared};

/// What was found out.
#[derive(Debug)]
pub enum Msg {
    /// The rules to answer by, once they are read.
    Rules(Arc<RuleBase>),
    /// How far the look at what is installed has come.
    Inspecting(ScanProgress),
    /// What is installed on this machine, and the day it was looked at.
    EnvironmentScan(Arc<EnvironmentScan>, String),
    /// What processes that are new on a GPU use, and the day they were looked at.
    Processes(Arc<EnvironmentScan>, String),
    /// What probes found on a GPU, by its UUID: before, or now, or why not now.
    Probed(String, Result<Vec<ProbeReport>, String>),
    /// Copies of cuBLAS that probes are about to load, and those they leave alone.
    ProbeLibraries(Vetted),
    /// What became of reading a model: its path as asked for, the model or why there is none.
    Model(String, Result<Box<Model>, String>),
    /// What models were seen to take before.
    Served(Vec<Peak>),
    /// Models that can be picked: those asked about before, then those found on this machine.
    Models(Vec<Choice>),
}

/// What the outside is asked to find out.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Read the model with a name, and remember that it was asked about.
    ReadModel(String),
    /// Keep what models were seen to take.
    KeepServed(Vec<Peak>),
    /// Look for models on this machine, and read what they were seen to take.
    ListModels,
    /// Look at what is installed, also in the environments of these processes, and not before this time has passed.
    Inspect(Vec<u32>, Duration),
    /// Stop looking.
    StopInspecting,
    /// Look at what these processes use, and at nothing else.
    InspectProcesses(Vec<u32>),
    /// Read what probes found before on these GPUs: UUID and driver.
    ReadProbes(Vec<(String, String)>),
    /// Run the live probes on a GPU.
    Probe(Probing),
}

impl Compat {
    /// What models take now. A recording shows another machine, or another day.
    pub(super) fn watch(&mut self, shared: &Shared) -> Vec<Effect> {
        if shared.replay.is_some() {
            return Vec::new();
        }
        let new = self.served.look(&shared.frame);
        new.map(Cmd::KeepServed).map(Effect::from).into_iter().collect()
    }

    /// Takes what was found out.
    pub fn update(&mut self, msg: Msg) -> Vec<Effect> {
        match msg {
            Msg::Rules(rules) => self.keep_selection(|tab| tab.verdicts.set_rules(rules)),
            Msg::Inspecting(advance) => self.report(advance),
            Msg::EnvironmentScan(survey, today) => {
                self.looking = None;
                self.keep_selection(|tab| tab.verdicts.set_survey(survey, today));
            }
            Msg::Processes(seen, today) => {
                self.keep_selection(|tab| tab.verdicts.join_survey(&seen, today));
            }
            Msg::Probed(uuid, found) => return self.take_probed(&uuid, found),
            Msg::ProbeLibraries(cublas) => return self.announce(&cublas),
            Msg::Served(before) => self.served = std::mem::take(&mut self.served).with(before),
            Msg::Models(found) => self.take_choices(found),
            Msg::Model(path, read) => return self.take_model(&path, read.map(|model| *model)),
        }
        Vec::new()
    }
}
