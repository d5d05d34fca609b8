//! The tabs: adding one is a line below, and the folder of its feature.

use std::sync::Arc;

use warpscope_probes::rules::RuleBase;

use crate::features::{Effect, Feature, KeySpec, Shared};

macro_rules! tabs {
    ($($tab:ident $field:ident $id:literal $help:literal;)*) => {
        $(use crate::features::$field::$tab;)*

        /// A screen of its own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Tab {
            $(#[doc = $help] $tab,)*
        }

        /// Every tab with its stable id and title, in the order of their keys.
        pub const TABS: &[(Tab, &str, &str)] = &[$((Tab::$tab, $id, stringify!($tab)),)*];

        /// The features behind the tabs.
        #[derive(Debug, Default)]
        pub struct Tabs {
            $(#[doc = $help] pub $field: $tab,)*
        }

        impl Tab {
            /// One line of help.
            pub const fn help(self) -> &'static str {
                match self {
                    $(Self::$tab => $help,)*
                }
            }

            /// How the keys of its own are listed.
            pub fn keys(self) -> Vec<KeySpec> {
                match self {
                    $(Self::$tab => $tab::KEYS.iter().map(|key| key.spec).collect(),)*
                }
            }
        }

        impl Tabs {
            /// The feature behind a tab.
            pub fn get(&self, tab: Tab) -> &dyn Feature {
                match tab {
                    $(Tab::$tab => &self.$field,)*
                }
            }

            /// The same, to be changed.
            pub fn get_mut(&mut self, tab: Tab) -> &mut dyn Feature {
                match tab {
                    $(Tab::$tab => &mut self.$field,)*
                }
            }

            /// Does what a key of a tab asks for, by the key's place in its table.
            pub fn act(&mut self, tab: Tab, key: usize, shared: &Shared) -> Vec<Effect> {
                match tab {
                    $(Tab::$tab => ($tab::KEYS[key].act)(&mut self.$field, shared),)*
                }
            }
        }
    };
}

tabs! {
    Overview overview "overview" "Overview: every GPU.";
    Compat compat "compat" "Compat: what runs where, and why not.";
    Bench bench "bench" "Bench: the micro decoder at work.";
    Processes processes "processes" "Processes on the GPUs.";
    History history "history" "History: kernels over recorded runs.";
    Fleet fleet "fleet" "Fleet: the machines of --prometheus or --host at once.";
}

impl Default for Tab {
    fn default() -> Self {
        TABS[0].0
    }
}

impl Tab {
    fn position(self) -> usize {
        TABS.iter().position(|row| row.0 == self).expect("every tab is listed")
    }

    /// The tab `step` further, around the end.
    pub fn step(self, step: isize) -> Self {
        let count = TABS.len().cast_signed();
        let at = (self.position().cast_signed() + step).rem_euclid(count);
        TABS[at.unsigned_abs()].0
    }

    /// The tab with this id.
    pub fn from_id(id: &str) -> Option<Self> {
        TABS.iter().find(|row| row.1 == id).map(|row| row.0)
    }
}

impl Tabs {
    /// Before anything has happened; verdicts are by these rules.
    pub fn new(rules: Arc<RuleBase>) -> Self {
        let mut tabs = Self { compat: Compat::new(Arc::clone(&rules)), ..Self::default() };
        tabs.fleet.set_rules(rules);
        tabs
    }

    /// Whether a tab has anything to show: one of many machines has not on one.
    pub fn has(&self, tab: Tab) -> bool {
        tab != Tab::Fleet || self.fleet.is_there()
    }

    /// The tab `step` further that has something to show, around the end.
    pub fn step(&self, from: Tab, step: isize) -> Tab {
        let next = from.step(step);
        if self.has(next) { next } else { next.step(step) }
    }

    /// Asks every feature, in the order of the tabs.
    pub fn each(
        &mut self,
        mut ask: impl FnMut(Tab, &mut dyn Feature) -> Vec<Effect>,
    ) -> Vec<Effect> {
        TABS.iter().flat_map(|row| ask(row.0, self.get_mut(row.0))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_go_around() {
        assert_eq!(Tab::Overview.step(-1), Tab::Fleet);
        assert_eq!(Tab::Fleet.step(1), Tab::Overview);
        assert_eq!(Tabs::default().step(Tab::Overview, -1), Tab::History);
        assert_eq!(Tabs::default().step(Tab::History, 1), Tab::Overview);
        for (tab, id, _) in TABS {
            assert_eq!(Tab::from_id(id), Some(*tab));
        }
    }
}
