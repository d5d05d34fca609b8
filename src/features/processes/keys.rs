//! What the keys of the Processes tab do.

use warpscope_probes::Origin;
use warpscope_probes::process::Visibility;

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
        if shared.settings.readonly {
            return say("Signals are off: warpscope runs with --readonly.");
        }
        if shared.frame.origin != Origin::Local {
            return say(
                "These processes are not running on this machine now; no signal is sent to them.",
            );
        }
        let Some(process) = self.selected(&shared.frame) else { return Vec::new() };
        match process.visibility {
            Visibility::Visible => {}
            Visibility::Gone => return say("This process has ended."),
            Visibility::OtherNamespace => {
                return say("This process runs in another PID namespace; no signal can reach it.");
            }
            Visibility::Unknown => {
                return say("Whether this process can be reached is not known yet.");
            }
        }
        self.popup = Some(Popup::Signal(SignalMenu::new(process)));
        Vec::new()
    }
}
