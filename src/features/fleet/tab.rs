use warpscope_probes::text::printable;

use super::{Fleet, Popup, panel};
use crate::features::{Effect, Feature, Input, PopupEvent, Shared};
use crate::widgets::{Hit, Shown, Surface};

impl Feature for Fleet {
    fn draw(&self, shared: &Shared, on: Surface<'_>) {
        panel::render(self, shared, on);
    }

    fn follow(&mut self, _shared: &Shared, _in_view: bool) -> Vec<Effect> {
        self.rules.let_go();
        let Some(at) = self.opening.take() else { return Vec::new() };
        let mut effects = self.show(at);
        effects.push(Effect::GoToOverview);
        effects
    }

    fn step(&mut self, step: isize, _shared: &Shared) {
        let columns = isize::try_from(self.shown.column.max(1)).unwrap_or(1);
        self.cursor.step(step.saturating_mul(columns), self.summary.order.len());
    }

    fn step_aside(&mut self, step: isize, _shared: &Shared) {
        self.cursor.step(step, self.summary.order.len());
    }

    fn page(&self) -> Option<usize> {
        Some(self.shown.lines)
    }

    fn open(&mut self, _shared: &Shared) {
        self.opening = self.selected();
    }

    fn click(&mut self, hit: Hit, shared: &Shared) {
        if let Hit::Row(row) = hit
            && self.cursor.hit(row)
        {
            self.open(shared);
        }
    }

    fn shown(&mut self, part: Shown) {
        self.shown = part;
    }

    fn copy(&self, _shared: &Shared) -> Option<(&'static str, String)> {
        let machine = self.machines.as_ref()?.machines.get(self.selected()?)?;
        Some(("name of the machine", printable(&machine.name)))
    }

    fn offers(&self, key: &str, shared: &Shared) -> bool {
        match key {
            "copy" => self.copy(shared).is_some(),
            "open" | "filter_fleet" | "map_value" | "sort_fleet" | "fleet_runs" => {
                self.machines.is_some()
            }
            _ => true,
        }
    }

    fn filter_hint(&self) -> &'static str {
        "words of host, model, owner or problem, or util<5 mem>90"
    }

    fn filter(&self) -> Option<&Input> {
        Some(&self.filter)
    }

    fn filter_mut(&mut self) -> Option<&mut Input> {
        Some(&mut self.filter)
    }

    fn edit_filter(&mut self, edit: &dyn Fn(&mut Input)) {
        self.change(|tab| edit(&mut tab.filter));
    }

    fn has_popup(&self) -> bool {
        self.popup.is_some()
    }

    fn draw_popup(&self, _shared: &Shared, on: Surface<'_>) {
        if let Some(Popup::Runs(runs, scroll)) = &self.popup {
            panel::runs(runs, scroll.0, on);
        }
    }

    fn on_popup(&mut self, event: PopupEvent, _shared: &Shared) -> Vec<Effect> {
        let Some(Popup::Runs(runs, mut scroll)) = self.popup.take() else { return Vec::new() };
        scroll.on(event).keep(Popup::Runs(runs, scroll), &mut self.popup)
    }
}
