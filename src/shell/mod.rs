//! State and its one update function (pure), and the runtime around them.
//!
//! [`update::update`] knows no clock, file or device: what happens comes in as [`Msg`], what should happen
//! goes out as [`Cmd`].

pub mod alerts;
pub(crate) mod chrome;
pub mod draw;
pub mod hosts;
pub mod keymap;
pub mod keys;
pub(crate) mod look;
pub(crate) mod overlay;
mod recording;
pub mod runtime;
mod standing;
pub mod tabs;
pub mod update;

use std::sync::Arc;

use warpscope_probes::rules::RuleBase;

use self::alerts::Alerts;
use self::hosts::Hosts;
use self::keymap::Keymap;
use self::keys::Scope;
use self::overlay::Overlay;
use self::tabs::{Tab, Tabs};
use crate::features::what_if::WhatIf;
pub use crate::features::{Cmd, Msg, Recorded, Settings, Shared};
pub use crate::widgets::{Hit, Shown};

/// The whole state of the dashboard.
#[derive(Debug)]
pub struct App {
    /// What several features read.
    pub shared: Shared,
    /// The features behind the tabs.
    pub tabs: Tabs,
    /// Tab in view.
    pub tab: Tab,
    /// What lies over whatever tab is in view.
    pub overlay: Option<Overlay>,
    /// Whether a filter is being typed.
    pub typing: bool,
    /// Whether new frames are left out.
    pub frozen: bool,
    /// One line that answers the last key, and how many frames it stays.
    pub toast: Option<(String, u8)>,
    /// The recording being written.
    pub recorded: Option<Recorded>,
    /// Machines that are not in view.
    pub hosts: Hosts,
    /// What was worth interrupting the user for.
    pub alerts: Alerts,
    /// Which key does what.
    pub keymap: Keymap,
    /// Rows of the body, for page keys.
    pub page: usize,
}

impl App {
    /// The state before anything has happened.
    pub fn new(settings: Settings, keymap: Keymap, what_if: WhatIf, rules: Arc<RuleBase>) -> Self {
        Self {
            shared: Shared::new(settings, what_if),
            tabs: Tabs::new(rules),
            tab: Tab::default(),
            overlay: None,
            typing: false,
            frozen: false,
            toast: None,
            recorded: None,
            hosts: Hosts::default(),
            alerts: Alerts::default(),
            keymap,
            page: 0,
        }
    }

    /// Whether it is still to be asked if GPUs may be measured.
    pub(crate) fn asks_about_bench(&self) -> bool {
        self.shared.replay.is_none() && self.tabs.bench.devices.asks()
    }

    /// Whether a key of this scope means something now.
    pub(crate) fn is_active(&self, scope: Scope) -> bool {
        match scope {
            Scope::Global => true,
            Scope::On(tab) => self.tab == tab,
            Scope::Off(tab) => self.tab != tab,
            Scope::Replay => self.shared.replay.is_some(),
            Scope::Question => self.asks_about_bench(),
        }
    }

    /// Whether something lies over the tab.
    pub fn has_popup(&self) -> bool {
        self.overlay.is_some() || self.tabs.get(self.tab).has_popup()
    }

    /// Whether characters go into a text field: that of a filter, or of what lies over the tab.
    pub(crate) fn takes_text(&self) -> bool {
        self.typing
            || match &self.overlay {
                Some(overlay) => overlay.takes_text(),
                None => self.tabs.get(self.tab).popup_takes_text(),
            }
    }
}
