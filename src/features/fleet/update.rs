//! What comes from the server, and what is asked of it.

use std::sync::Arc;

use warpscope_probes::Timestamp;
use warpscope_probes::fleet::Fleet as Machines;

use super::Fleet;
use crate::features::Effect;
pub use crate::io::source::FleetNews as Msg;

/// What the outside is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Bring a machine into view, with its past.
    LookAt(String),
}

impl Fleet {
    /// Takes what came.
    pub fn update(&mut self, msg: Msg) -> Vec<Effect> {
        match msg {
            Msg::Fleet(fleet) => self.take(fleet),
            Msg::Trouble(why) => {
                self.trouble = Some(why);
                Vec::new()
            }
            Msg::Past(frames) => vec![Effect::Past(frames)],
        }
    }

    /// Shows these machines. The first time, one of them comes into view for the other tabs.
    pub fn take(&mut self, machines: Arc<Machines>) -> Vec<Effect> {
        let is_first = self.machines.is_none();
        self.trouble = None;
        self.change(|tab| tab.machines = Some(machines));
        let first = self.selected().filter(|_| is_first);
        first.map(|at| self.show(at)).unwrap_or_default()
    }

    /// Shows machines that are read one by one.
    pub fn gather(&mut self, machines: Machines) {
        self.one_by_one = true;
        self.change(|tab| tab.machines = Some(Arc::new(machines)));
    }

    /// How many machines are shown.
    pub fn count(&self) -> usize {
        self.machines.as_ref().map_or(0, |machines| machines.machines.len())
    }

    /// When what is shown was told.
    pub fn at(&self) -> Timestamp {
        self.machines.as_ref().map_or(Timestamp(0), |machines| machines.at)
    }

    /// Brings a machine into view.
    pub(super) fn show(&self, at: usize) -> Vec<Effect> {
        if self.one_by_one {
            let machine = self.machines.as_ref().and_then(|machines| machines.machines.get(at));
            return machine.map(|it| Effect::ShowHost(it.name.clone())).into_iter().collect();
        }
        let frame = self.machines.as_ref().and_then(|machines| machines.frame(at));
        let Some(frame) = frame else { return Vec::new() };
        let name = crate::features::shared::machine_name(&frame).to_owned();
        vec![Effect::ShowFrame(Box::new(frame)), Cmd::LookAt(name).into()]
    }
}
