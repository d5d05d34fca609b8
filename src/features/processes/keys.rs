//! What the keys of the Processes tab do.

use warpscope_probes::Origin;
use warpscope_probes::process::{Process, Visibility};

use super::{Popup, Processes, SignalMenu};
use crate::features::keys::keys;
use crate::features::{Effect, Key, Shared, say};

/// What the outside is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Send a signal to a process, if it still is the one that was shown.
    Signal {
        /// Process id.
        pid: u32,
        /// Signal number.
        signal: i32,
        /// Start time in milliseconds since the epoch.
        started_at: Option<u64>,
    },
}

impl Processes {
    /// The keys of the tab.
    pub const KEYS: &'static [Key<Self>] = keys! {
        "filter_processes", ["/"], "filter", "Show only processes that contain the typed words; gpu 3 stands for those on GPU 3.", |_, _| vec![Effect::TypeFilter];
        "sort", ["s", "f6"], "sort", "Sort by the next column.", |tab, _| { tab.next_sort(); Vec::new() };
        "reverse", ["r"], "", "Reverse the sort order.", |tab, _| { tab.reverse = !tab.reverse; Vec::new() };
        "tree", ["t", "f5"], "tree", "Show processes as a tree.", |tab, _| { tab.tree = !tab.tree; Vec::new() };
        "signal", ["K", "f9"], "signal", "Send a signal to the selected process, after asking.", Self::ask_signal;
    };

    /// Asks which signal to send to the selected process.
    fn ask_signal(&mut self, shared: &Shared) -> Vec<Effect> {
        match (sends_none(shared), self.selected(&shared.frame)) {
            (Some(why), _) => say(why),
            (None, Some(process)) => self.ask_signal_to(process, shared),
            (None, None) => Vec::new(),
        }
    }

    /// Asks which signal to send to a process, or says why none reaches it.
    pub(super) fn ask_signal_to(&mut self, process: &Process, shared: &Shared) -> Vec<Effect> {
        if let Some(why) = sends_none(shared).or_else(|| out_of_reach(process)) {
            return say(why);
        }
        self.popup = Some(Popup::Signal(SignalMenu::new(process)));
        Vec::new()
    }
}

/// Why no signal is sent to any process, where that is so.
pub(super) fn sends_none(shared: &Shared) -> Option<&'static str> {
    if shared.settings.readonly {
        return Some("Signals are off: warpscope runs with --readonly.");
    }
    let elsewhere =
        "These processes are not running on this machine now; no signal is sent to them.";
    (shared.frame.origin != Origin::Local).then_some(elsewhere)
}

/// Why no signal reaches a process, where that is so.
pub(super) fn out_of_reach(process: &Process) -> Option<&'static str> {
    match process.visibility {
        Visibility::Visible => None,
        Visibility::Gone => Some("This process has ended."),
        Visibility::OtherNamespace => {
            Some("This process runs in another PID namespace; no signal can reach it.")
        }
        Visibility::Unknown => Some("Whether this process can be reached is not known yet."),
    }
}
