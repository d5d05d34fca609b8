//! The Fleet tab: many machines at once, by a heat map, the worst first, and counts.

mod filter;
mod keys;
mod metrics;
mod panel;
mod problems;
mod runs;
mod summary;
mod tab;
mod update;

use std::sync::Arc;

use warpscope_probes::fleet::Fleet as Machines;
use warpscope_probes::rules::RuleBase;

use self::runs::Runs;
use self::summary::Summary;
use crate::features::{Cursor, Input, Rules, Scroll};
use crate::widgets::Shown;

pub use update::{Cmd, Msg};

/// How the machines are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    /// By name.
    #[default]
    Name,
    /// The one with the worst trouble first.
    Worst,
    /// By the value on the map, the highest first.
    Value,
}

const ORDERS: &[(Order, &str)] = &[
    (Order::Name, "by name"),
    (Order::Worst, "worst first"),
    (Order::Value, "highest value first"),
];

/// What lies over the tab.
#[derive(Debug)]
enum Popup {
    /// What runs on how many GPUs.
    Runs(Runs, Scroll),
}

/// How the tab is set.
#[derive(Debug, Default)]
pub struct Fleet {
    machines: Option<Arc<Machines>>,
    /// Whether they are read one by one: each has its own frames then.
    one_by_one: bool,
    /// Why nothing new comes.
    trouble: Option<String>,
    summary: Summary,
    /// What is on the map, by its place in the table.
    metric: usize,
    order: Order,
    filter: Input,
    cursor: Cursor,
    /// Which part of the map was drawn.
    shown: Shown,
    /// A machine that is to come into view.
    opening: Option<usize>,
    rules: Rules,
    popup: Option<Popup>,
}

impl Fleet {
    /// Whether there is anything to show, or a reason why not.
    pub fn is_there(&self) -> bool {
        self.machines.is_some() || self.trouble.is_some()
    }

    /// Whether no server tells of the machines.
    pub fn is_gathered(&self) -> bool {
        self.one_by_one || !self.is_there()
    }

    /// Counts configurations from now on by these rules.
    pub fn set_rules(&mut self, rules: Arc<RuleBase>) {
        self.rules = rules.into();
    }

    /// The place of the machine under the cursor.
    fn selected(&self) -> Option<usize> {
        self.summary.order.get(self.cursor.at).copied()
    }

    /// Changes something, and works out anew what is shown; the cursor stays on its machine.
    fn change(&mut self, change: impl FnOnce(&mut Self)) {
        let name_of = |at: usize| Some(self.machines.as_ref()?.machines.get(at)?.name.clone());
        let before = self.selected().and_then(name_of);
        change(self);
        let Some(machines) = &self.machines else { return };
        self.summary = Summary::of(machines, &self.filter.text, self.order, self.metric);
        let same = |at: &usize| Some(&machines.machines[*at].name) == before.as_ref();
        if let Some(at) = self.summary.order.iter().position(same) {
            self.cursor.at = at;
        }
        self.cursor.step(0, self.summary.order.len());
    }
}

#[cfg(test)]
mod tests;
