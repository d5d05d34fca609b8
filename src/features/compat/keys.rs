//! What the keys of the Compat tab do.

use std::time::Duration;

use super::lines::Line;
use super::model::Dialog;
use super::picker::Picker;
use super::view::{ONLY, ORDERS, Only};
use super::{Cmd, Compat, Popup, Verdicts};
use crate::engine::plan::Demand;
use crate::features::keys::keys;
use crate::features::orders::{next, words};
use crate::features::{Effect, Key, Shared, say};

/// Most tokens of a context, and most requests, that are planned for.
const MOST: u64 = 1 << 22;

impl Compat {
    /// The keys of the tab.
    pub const KEYS: &'static [Key<Self>] = keys! {
        "filter", ["/"], "filter", "Show only rows that contain the typed words.", |_, _| vec![Effect::TypeFilter];
        "only", ["f"], "show", "Show all rows, only problems, only what works, or only what works and fits.", Self::choose_rows;
        "mark_gpu", ["space"], "more GPUs", "Take one more GPU of the column into the group that a model is spread over; after the last, none.", |tab, _| tab.group(|verdicts, column| verdicts.mark(column));
        "unmark_gpu", ["backspace"], "", "Take a GPU out of the group.", |tab, _| tab.group(|verdicts, _| verdicts.unmark());
        "older_version", ["<", ","], "older", "Ask about an older version of the framework.", |tab, _| tab.step_version(-1);
        "newer_version", [">", "."], "newer", "Ask about a newer version of the framework.", |tab, _| tab.step_version(1);
        "pick_version", ["v"], "version", "Pick or type a version of the framework, with the outcome at each.", Self::ask_version;
        "reset_version", ["V"], "", "Reset the version.", Self::reset_version;
        "model", ["m"], "model", "Pick or name a model; every row then answers for it.", Self::ask_model;
        "longer_context", ["c"], "context", "Plan for twice the context.", |tab, _| tab.ask_for(|demand| &mut demand.context, 2.0);
        "shorter_context", ["C"], "", "Plan for half the context.", |tab, _| tab.ask_for(|demand| &mut demand.context, 0.5);
        "more_requests", ["u"], "requests", "Plan for twice as many requests at once.", |tab, _| tab.ask_for(|demand| &mut demand.concurrency, 2.0);
        "fewer_requests", ["U"], "", "Plan for half as many requests at once.", |tab, _| tab.ask_for(|demand| &mut demand.concurrency, 0.5);
        "inspect", ["i"], "", "Scan this machine for installed packages again.", Self::look_again;
        "probe", ["p"], "", "Run instructions and library calls on the selected GPU to check the rules.", Self::probe;
        "fold", ["z"], "fold", "Fold or unfold the rows of the framework.", |tab, _| tab.fold();
        "fold_all", ["Z"], "", "Fold or unfold every framework.", Self::fold_all;
        "sort_compat", ["s", "f6"], "sort", "Usual order, by name, what fails on most GPUs first, or what works and fits first.", Self::sort;
    };

    fn choose_rows(&mut self, _shared: &Shared) -> Vec<Effect> {
        self.keep_selection(|tab| {
            tab.view.only = next(ONLY, tab.view.only);
            if tab.view.only == Only::Fits && !tab.verdicts.planned.is_there() {
                tab.view.only = next(ONLY, tab.view.only);
            }
        });
        Vec::new()
    }

    /// Changes the group, and goes to it: what was asked for is what is answered.
    fn group(&mut self, change: impl FnOnce(&mut Verdicts, usize)) -> Vec<Effect> {
        let (column, had) = (self.view.column.at, self.verdicts.columns.has_group());
        self.keep_selection(|tab| {
            change(&mut tab.verdicts, column);
            if had || tab.verdicts.columns.has_group() {
                tab.view.column.at = tab.verdicts.columns.of_marked();
            }
        });
        let columns = &self.verdicts.columns;
        let Some(group) = columns.all().first().filter(|first| first.is_group) else {
            return say("No GPU is in a group; space takes one.");
        };
        let name = columns.name(0);
        say(match group.gpus.len() {
            1 => format!("Group of 1 GPU: {name}; space takes more, backspace fewer."),
            count => format!("Group of {count} GPUs: {name}; space takes more, backspace fewer."),
        })
    }

    /// Changes the context or the number of requests, within what people serve.
    fn ask_for(&mut self, part: fn(&mut Demand) -> &mut u64, factor: f64) -> Vec<Effect> {
        if !self.verdicts.planned.is_there() {
            return say("Plans need a model: m picks one.");
        }
        let mut demand = self.verdicts.planned.demand.clone();
        let value = part(&mut demand);
        *value = ((*value as f64 * factor) as u64).clamp(1, MOST);
        self.keep_selection(|tab| tab.verdicts.ask_for(demand));
        Vec::new()
    }

    fn sort(&mut self, _shared: &Shared) -> Vec<Effect> {
        self.keep_selection(|tab| {
            tab.view.order = next(ORDERS, tab.view.order);
            tab.verdicts.settle();
        });
        say(format!("Sorted: {}.", words(ORDERS, &self.view.order)))
    }

    /// Folds or unfolds the framework under the cursor.
    pub(super) fn fold(&mut self) -> Vec<Effect> {
        if let Some(framework) = self.framework() {
            self.keep_selection(|tab| {
                if !tab.view.folded.remove(&framework) {
                    tab.view.folded.insert(framework);
                }
            });
        }
        Vec::new()
    }

    /// Folds every framework, or unfolds all when none is open.
    fn fold_all(&mut self, _shared: &Shared) -> Vec<Effect> {
        let groups = self.verdicts.groups();
        let all = groups.iter().map(|group| group.framework.clone()).collect();
        self.keep_selection(|tab| {
            let folded = &mut tab.view.folded;
            if *folded == all { folded.clear() } else { *folded = all }
        });
        Vec::new()
    }

    /// The framework under the cursor.
    fn framework(&self) -> Option<String> {
        let group = self.verdicts.group_of(&self.selected_line()?)?;
        Some(group.framework.clone())
    }

    fn step_version(&mut self, step: isize) -> Vec<Effect> {
        let (Some(line), Some(framework)) = (self.selected_line(), self.framework()) else {
            return Vec::new();
        };
        let now = match line {
            Line::Row(row) => self.verdicts.all_rows()[row].question.version.clone(),
            Line::Head { .. } => {
                let given = self.verdicts.given(&framework).map(|given| given.version.clone());
                given.or_else(|| self.verdicts.known_version(&framework))
            }
        };
        if self.keep_selection(|tab| tab.verdicts.step_version(&framework, now.as_deref(), step)) {
            return Vec::new();
        }
        let side = if step < 0 { "older" } else { "newer" };
        let of = now.unwrap_or_else(|| "any".to_owned());
        say(format!("The rules know no {side} version of {} than {of}; v takes any.", self.name()))
    }

    /// The name of the framework under the cursor.
    fn name(&self) -> String {
        let group = self.selected_line().and_then(|line| self.verdicts.group_of(&line).cloned());
        group.map_or_else(String::new, |group| group.name)
    }

    fn ask_version(&mut self, _shared: &Shared) -> Vec<Effect> {
        let picker = Picker::new(self);
        if picker.is_some() {
            self.popup = picker.map(Popup::Versions);
        }
        Vec::new()
    }

    fn reset_version(&mut self, _shared: &Shared) -> Vec<Effect> {
        let Some(framework) = self.framework() else { return Vec::new() };
        if self.keep_selection(|tab| tab.verdicts.reset_version(&framework)) {
            return Vec::new();
        }
        say(format!("No version of {} is selected; v picks one.", self.name()))
    }

    fn ask_model(&mut self, _shared: &Shared) -> Vec<Effect> {
        let model = self.verdicts.assumptions().model.as_ref();
        self.popup = Some(Popup::Model(Dialog::new(model.map(|model| model.name.as_str()))));
        vec![Cmd::ListModels.into()]
    }

    fn look_again(&mut self, shared: &Shared) -> Vec<Effect> {
        if shared.replay.is_some() {
            return say("Packages installed here say nothing about a recording.");
        }
        vec![self.look_at_everything(&shared.frame, Duration::ZERO).into()]
    }
}
