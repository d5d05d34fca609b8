//! When to look at what is installed: once the driver has answered, by key, and at processes that are new on a GPU.
//!
//! Looking at everything again for each new process was rejected: most processes use an environment that is known already, and the maps
//! of one process are read in milliseconds.

use std::collections::BTreeSet;
use std::time::Duration;

use warpscope_probes::driver::DriverState;
use warpscope_probes::inspect::ScanProgress;
use warpscope_probes::process::Visibility;
use warpscope_probes::{Frame, Timestamp};

use super::{Cmd, Compat};
use crate::features::{Effect, Shared, say};

/// How long the first look lets the first screens go before it.
pub(crate) const SETTLING: Duration = Duration::from_secs(3);
/// Shortest time between two looks at new processes, in seconds.
const PAUSE: f64 = 30.0;

/// Which processes have been looked at.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    pids: BTreeSet<u32>,
    /// When new ones were looked at last.
    at: Option<Timestamp>,
}

impl Compat {
    /// What to look at after a frame. On battery the first look waits.
    pub(super) fn look_around(&mut self, shared: &Shared, unplugged: bool) -> Vec<Effect> {
        let looking = self.looking.is_some();
        if unplugged && looking {
            self.looking = None;
            let mut effects = say("On battery: the scan for installed packages waits.");
            effects.push(Cmd::StopInspecting.into());
            return effects;
        }
        let answered = shared.frame.driver.status != DriverState::Starting;
        let here = shared.settings.inspect && shared.replay.is_none();
        if !here || !answered || shared.on_battery() || looking {
            return Vec::new();
        }
        let cmd = match self.verdicts.survey() {
            None => Some(self.look_at_everything(&shared.frame, SETTLING)),
            Some(_) => self.looked.newcomers(&shared.frame),
        };
        cmd.into_iter().map(Effect::from).collect()
    }

    /// Everything, with every process on a GPU, once this time has passed.
    pub(super) fn look_at_everything(&mut self, frame: &Frame, after: Duration) -> Cmd {
        self.looking = Some(ScanProgress::default());
        self.looked.pids = on_gpus(frame);
        Cmd::Inspect(self.looked.pids.iter().copied().collect(), after)
    }

    /// A report of the look in progress. One that was stopped may have sent its last a moment later.
    pub(super) fn report(&mut self, advance: ScanProgress) {
        if self.looking.is_some() {
            self.looking = Some(advance);
        }
    }
}

impl Looked {
    /// Processes that were not there at the last look.
    fn newcomers(&mut self, frame: &Frame) -> Option<Cmd> {
        let now = on_gpus(frame);
        // A number that was gone may come back as somebody else's.
        self.pids.retain(|pid| now.contains(pid));
        let new: Vec<u32> = now.difference(&self.pids).copied().collect();
        let rested = self.at.is_none_or(|at| frame.at.seconds_since(at).abs() >= PAUSE);
        if new.is_empty() || !rested {
            return None;
        }
        self.at = Some(frame.at);
        self.pids = now;
        Some(Cmd::InspectProcesses(new))
    }
}

/// Processes on the GPUs that are the ones these numbers mean here: those of another namespace only share them.
fn on_gpus(frame: &Frame) -> BTreeSet<u32> {
    let here = frame.processes.iter().filter(|one| one.visibility == Visibility::Visible);
    here.map(|process| process.pid).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpscope_probes::inspect::EnvironmentScan;
    use warpscope_probes::inspect::env::ProcessUse;
    use warpscope_probes::process::Process;
    use warpscope_probes::rules::RuleBase;

    use super::*;
    use crate::features::compat;
    use crate::features::what_if::WhatIf;
    use crate::shell::keymap::Keymap;
    use crate::shell::update::update;
    use crate::shell::{App, Cmd, Msg, Settings};

    fn app() -> App {
        let settings = Settings {
            interval: Duration::from_secs(1),
            readonly: false,
            inspect: true,
            theme: "dark".into(),
        };
        App::new(settings, Keymap::default(), WhatIf::default(), Arc::new(RuleBase::default()))
    }

    fn frame(seconds: u64, pids: &[u32]) -> Msg {
        let process = |pid: &u32| Process {
            pid: *pid,
            visibility: if *pid > 4_000_000 {
                Visibility::OtherNamespace
            } else {
                Visibility::Visible
            },
            ..Process::default()
        };
        let mut frame = Frame { at: Timestamp(seconds * 1000), ..Frame::default() };
        frame.driver.status = DriverState::Ready;
        frame.processes = pids.iter().map(process).collect();
        Msg::Frame(Box::new(frame))
    }

    fn seen(pids: &[u32]) -> Arc<EnvironmentScan> {
        let mut survey = EnvironmentScan::default();
        let of = |pid: &u32| ProcessUse { pid: *pid, ..ProcessUse::default() };
        survey.inventory.processes = pids.iter().map(of).collect();
        Arc::new(survey)
    }

    #[test]
    fn new_processes_are_looked_at_alone_and_not_too_often() {
        let mut app = app();
        assert_eq!(
            update(&mut app, frame(0, &[7, 4_200_001])),
            [Cmd::Compat(compat::Cmd::Inspect(vec![7], SETTLING))]
        );
        assert_eq!(update(&mut app, frame(1, &[7, 8])), [], "one look is in progress");
        update(
            &mut app,
            Msg::Compat(compat::Msg::EnvironmentScan(seen(&[7]), "2026-11-21".into())),
        );
        assert_eq!(
            update(&mut app, frame(2, &[7, 8])),
            [Cmd::Compat(compat::Cmd::InspectProcesses(vec![8]))]
        );
        update(&mut app, Msg::Compat(compat::Msg::Processes(seen(&[8]), "2026-11-21".into())));
        let known = |app: &App, pid| {
            app.tabs.compat.verdicts.survey().and_then(|all| all.process(pid)).is_some()
        };
        assert!(known(&app, 7) && known(&app, 8));
        assert_eq!(update(&mut app, frame(3, &[7, 8, 9])), []);
        assert_eq!(
            update(&mut app, frame(32, &[7, 8, 9])),
            [Cmd::Compat(compat::Cmd::InspectProcesses(vec![9]))]
        );
        assert_eq!(update(&mut app, frame(33, &[8, 9])), []);
        assert_eq!(
            update(&mut app, frame(70, &[7, 8, 9])),
            [Cmd::Compat(compat::Cmd::InspectProcesses(vec![7]))]
        );
    }
}
