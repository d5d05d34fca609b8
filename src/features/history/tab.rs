use warpscope_probes::Frame;
use warpscope_probes::text::printable;

use super::{History, Popup, panel, run};
use crate::features::popup::{CLOSE_HINTS, PopupHint};
use crate::features::{Effect, Feature, Input, PopupEvent, Scroll, Shared};
use crate::widgets::{Hit, Surface};

impl Feature for History {
    fn draw(&self, _shared: &Shared, on: Surface<'_>) {
        panel::render(self, on);
    }

    fn frame(&mut self, _shared: &Shared, _before: &Frame) -> Vec<Effect> {
        self.follow_recordings()
    }

    fn follow(&mut self, _shared: &Shared, in_view: bool) -> Vec<Effect> {
        self.visit(in_view)
    }

    fn step(&mut self, step: isize, _shared: &Shared) {
        self.cursor.step(step, self.rows().len());
    }

    /// Moves over the runs of the selected kernel.
    fn step_aside(&mut self, step: isize, _shared: &Shared) {
        let Some(trend) = self.selected_trend() else { return };
        let last = trend.run_medians.len().saturating_sub(1);
        let at = self.moment(trend).saturating_add_signed(step).min(last);
        self.run = trend.run_medians.get(at).map(|moment| moment.run.hash);
    }

    fn open(&mut self, _shared: &Shared) {
        self.popup = self.selected_run().map(|run| Popup::Run(run.hash, Scroll::default()));
    }

    fn click(&mut self, hit: Hit, shared: &Shared) {
        if let Hit::Row(row) = hit
            && self.cursor.hit(row)
        {
            self.open(shared);
        }
    }

    fn copy(&self, _shared: &Shared) -> Option<(&'static str, String)> {
        if matches!(self.popup, Some(Popup::Compared(_))) {
            return run::in_turn(self).map(|command| ("command", command));
        }
        let commit = self.selected_run()?.identity.commit.as_ref()?;
        Some(("selected line", printable(commit)))
    }

    fn offers(&self, key: &str, shared: &Shared) -> bool {
        match key {
            "open" | "mark_run" | "compare_runs" => self.selected_run().is_some(),
            "copy" => self.copy(shared).is_some(),
            "filter_history" | "sort_history" => !self.trends.is_empty(),
            _ => true,
        }
    }

    fn filter(&self) -> Option<&Input> {
        Some(&self.filter)
    }

    fn filter_mut(&mut self) -> Option<&mut Input> {
        Some(&mut self.filter)
    }

    fn has_popup(&self) -> bool {
        self.popup.is_some()
    }

    fn popup_hints(&self) -> &'static [PopupHint] {
        let is_compared = matches!(self.popup, Some(Popup::Compared(_)));
        match is_compared && run::in_turn(self).is_some() {
            true => &[("y", "copy"), ("esc", "close")],
            false => CLOSE_HINTS,
        }
    }

    fn draw_popup(&self, _shared: &Shared, on: Surface<'_>) {
        if let Some(popup) = &self.popup {
            popup.draw(self, on);
        }
    }

    fn on_popup(&mut self, event: PopupEvent, _shared: &Shared) -> Vec<Effect> {
        let Some(mut popup) = self.popup.take() else { return Vec::new() };
        popup.on(event).keep(popup, &mut self.popup)
    }
}
